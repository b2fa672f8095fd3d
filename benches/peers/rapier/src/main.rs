//! Rapier on the neutral scenes: `rapier-peer SCENES OUT.json [WORDS]`. Impulse joints, double precision, one thread.

mod world;

use rapier3d_f64::math::Vector;
use serde_json::{Value, json};
use std::path::Path;
use world::{Start, World, load};

/// Repetitions stop after so many seconds of one scene, but there are always two.
const PATIENCE_S: f64 = 8.0;
/// When shaken scenes are compared, before chaos has its way.
const EARLY_S: f64 = 0.25;
const MOST_REPETITIONS: usize = 7;
/// How often figures are timed and noted, about: after so many whole steps as make that.
const NOTES_PER_SECOND: usize = 30;

/// Seconds that this thread has computed.
fn now() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, scenes, out, words @ ..] = &arguments[..] else {
        panic!("usage: rapier-peer SCENES OUT.json [WORDS]")
    };
    let chosen = |word: &str| words.is_empty() || words.iter().any(|w| w == word);
    let mut rows = Vec::new();
    if chosen("chains") {
        for kind in ["hinge", "ball"] {
            for links in [10, 20, 100, 300, 1000] {
                let scene = load(scenes, &format!("chain_{kind}_{links}"));
                for iterations in [4, 50] {
                    rows.push(chain(&scene, iterations));
                }
            }
        }
    }
    if chosen("energy") {
        for iterations in [4, 50] {
            rows.push(energy(&load(scenes, "chain_ball_10"), iterations));
        }
    }
    for scalars in [108, 261, 759] {
        let scene = load(scenes, &format!("net_{scalars}"));
        for iterations in if chosen("assembly") { &[4, 20][..] } else { &[] } {
            rows.push(assemble(&scene, *iterations));
        }
        for iterations in if chosen("shake") { &[4, 20, 100][..] } else { &[] } {
            rows.push(shake(&scene, format!("shake_net_{scalars}"), 600, 1, *iterations));
        }
    }
    for links in if chosen("swung") { &[9, 100][..] } else { &[] } {
        let scene = load(scenes, &format!("swung_{links}"));
        rows.push(shake(&scene, format!("swung_{links}"), 250, 4, 4));
        rows.push(shake(&scene, format!("swung_{links}"), 250, 10, 10));
    }
    for name in ["pile", "islands"] {
        if chosen(name) {
            for start in [Start::Free, Start::Drowsy] {
                rows.push(pile(&load(scenes, name), start, Path::new(out)));
            }
        }
    }
    for copies in if chosen("figures") { &[1, 16, 64][..] } else { &[] } {
        let scene = load(scenes, &format!("figure_{copies}"));
        for rate in scene["rates"].as_array().expect("rates").iter().filter_map(Value::as_u64) {
            for iterations in if *copies == 1 { &[4, 20][..] } else { &[4] } {
                rows.push(figures(&scene, rate as usize, *copies, *iterations, Path::new(out)));
            }
        }
    }
    std::fs::write(out, Value::from(rows).to_string()).expect("the file can be written");
}

/// Repeats a run of `parts` parts and returns the least seconds of each; `look` sees the first run.
fn least(
    parts: usize,
    begin: impl Fn() -> World,
    part: impl Fn(&mut World, usize),
    mut look: impl FnMut(usize, &World),
) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; parts];
    let began = now();
    for repetition in 0..MOST_REPETITIONS {
        let mut world = begin();
        for (k, least) in least.iter_mut().enumerate() {
            let from = now();
            part(&mut world, k);
            *least = least.min(now() - from);
            if repetition == 0 {
                look(k + 1, &world);
            }
        }
        if repetition > 0 && now() - began > PATIENCE_S {
            break;
        }
    }
    least
}

fn mean(seconds: &[f64]) -> f64 {
    seconds.iter().sum::<f64>() / seconds.len() as f64
}

fn worst(seconds: &[f64]) -> f64 {
    seconds.iter().fold(0.0, |m, s| m.max(*s))
}

fn name(iterations: usize) -> String {
    format!("Rapier, {iterations} iterations")
}

/// 240 steps in parts of 12.
fn chain(scene: &Value, iterations: usize) -> Value {
    let (mut opening, mut tip) = (0.0_f64, [0.0; 3]);
    let seconds = least(
        20,
        || World::new(scene, iterations, Start::Free),
        |world, _| (0..12).for_each(|_| world.step()),
        |done, world| {
            opening = opening.max(world.opening());
            if done == 10 {
                tip = world.last();
            }
        },
    );
    let ms = mean(&seconds) * 1e3 / 12.0;
    json!({"scene": scene["name"], "peer": name(iterations), "ms": ms, "opening": opening, "tip": tip})
}

/// Largest difference of the energy over ten seconds.
fn energy(scene: &Value, iterations: usize) -> Value {
    let mut world = World::new(scene, iterations, Start::Free);
    let (start, scale) = (world.energy(), scene["energy_scale"].as_f64().expect("chains have one"));
    let (mut most, mut end) = (0.0_f64, 0.0);
    for _ in 0..2400 {
        world.step();
        end = (world.energy() - start) / scale;
        most = if end.abs() > most.abs() { end } else { most };
    }
    json!({"scene": "energy", "peer": name(iterations), "drift": most, "drift_end": end})
}

/// Steps without gravity, velocities taken away after each, until the joints are closed to a micrometre.
fn assemble(scene: &Value, iterations: usize) -> Value {
    let (mut best, mut steps, mut opening) = (f64::INFINITY, 0, 0.0);
    for _ in 0..MOST_REPETITIONS {
        let mut world = World::new(scene, iterations, Start::Perturbed);
        world.gravity = Vector::ZERO;
        world.parameters.warmstart_joints = false;
        let began = now();
        steps = 0;
        loop {
            world.step();
            world.stand_still();
            steps += 1;
            opening = world.opening();
            if opening < 1e-6 || steps >= 5000 || now() - began > PATIENCE_S {
                break;
            }
        }
        best = best.min(now() - began);
    }
    json!({
        "scene": format!("assemble_{}", scene["name"].as_str().unwrap_or_default()), "peer": name(iterations),
        "ms": best * 1e3, "rounds": steps, "opening": opening, "ok": opening < 1e-6,
    })
}

/// Body 0 moves as the scene says.
fn shake(scene: &Value, label: String, frames: usize, substeps: usize, iterations: usize) -> Value {
    let (mut opening, mut early) = (0.0_f64, [0.0; 3]);
    let early_frame = (EARLY_S / scene["dt"].as_f64().expect("scenes have a step")).round() as usize;
    let dt = scene["dt"].as_f64().expect("scenes have a step") / substeps as f64;
    let seconds = least(
        frames,
        || {
            let mut world = World::new(scene, iterations, Start::Shaken);
            world.parameters.dt = dt;
            world
        },
        |world, frame| {
            for k in 0..substeps {
                world.shake(scene, (frame * substeps + k + 1) as f64 * dt);
                world.step();
            }
        },
        |done, world| {
            opening = opening.max(world.opening());
            if done == early_frame {
                early = world.last();
            }
        },
    );
    let by = if substeps > 1 { format!(", {substeps} steps") } else { String::new() };
    json!({
        "scene": label, "peer": format!("{}{by}", name(iterations)), "ms": mean(&seconds) * 1e3,
        "worst_ms": worst(&seconds) * 1e3, "opening": opening, "early": early,
    })
}

/// Bodies dropped. Leaves where they were beside the results, for `overlaps`.
fn pile(scene: &Value, start: Start, out: &Path) -> Value {
    let index = |v: &Value| v.as_u64().expect("a whole number") as usize;
    let span = |name: &str| index(&scene[name][0])..index(&scene[name][1]);
    let mut poses = Vec::new();
    let seconds = least(
        index(&scene["frames"]),
        || World::new(scene, 4, start),
        |world, _| world.step(),
        |_, world| world.note(&mut poses),
    );
    let (label, sleep) = (scene["name"].as_str().expect("a name"), start == Start::Drowsy);
    let file = format!("rapier_{label}{}.poses", if sleep { "_sleep" } else { "" });
    std::fs::write(out.with_file_name(&file), poses).expect("the file can be written");
    json!({
        "scene": label, "peer": format!("{}{}", name(4), if sleep { ", may sleep" } else { "" }),
        "ms": mean(&seconds[span("settled")]) * 1e3, "falling_ms": mean(&seconds[span("falling")]) * 1e3,
        "worst_ms": worst(&seconds) * 1e3, "poses": file,
    })
}

/// Figures that move and fall, at so many steps a second, timed and noted thirty times a second.
fn figures(scene: &Value, rate: usize, copies: usize, iterations: usize, out: &Path) -> Value {
    let part = rate / NOTES_PER_SECOND;
    let frames = scene["seconds"].as_f64().expect("a number") as usize * rate / part;
    let mut poses = Vec::new();
    let seconds = least(
        frames,
        || {
            let mut world = World::new(scene, iterations, Start::Free);
            world.parameters.dt = 1.0 / rate as f64;
            world
        },
        |world, frame| {
            for k in 0..part {
                world.aim((frame * part + k + 1) as f64 / rate as f64);
                world.step();
            }
        },
        |_, world| world.note(&mut poses),
    );
    let label = scene["name"].as_str().expect("a name");
    let file = format!("rapier_{label}_{rate}_{iterations}.poses");
    std::fs::write(out.with_file_name(&file), poses).expect("the file can be written");
    let ms = mean(&seconds) * 1e3 / part as f64;
    json!({
        "scene": format!("{label}_{rate}"), "peer": name(iterations), "ms": ms,
        "second_ms": ms * rate as f64 / copies as f64, "worst_ms": worst(&seconds) * 1e3 / part as f64,
        "poses": file,
    })
}
