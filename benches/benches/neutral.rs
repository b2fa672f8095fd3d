//! Sinew on the neutral scenes: chains released, nets put together and shaken, a chain swung, piles dropped, figures that
//! move and fall. One thread, but for `threads`: there, figures on one and on two.
//!
//! `cargo bench -p sinew-benches --bench neutral` prints a line for each; with a file's name after `--`, the same as
//! JSON for the table beside other engines (`benches/peers`). Words after that choose: `chains`, `energy`,
//! `assembly`, `shake`, `swung`, `pile`, `islands`, `figures`, `threads`; `once` repeats nothing.

use serde_json::{Value, json};
use sinew_benches::clock::{Least, timed};
use sinew_benches::figure::{
    BETWEEN, COARSE, COPIES, FINE, Figures, Motors, RATES, SECONDS, Watched, figures as figures_of,
};
use sinew_benches::least;
use sinew_benches::neutral::{LINKS, Neutral, chain, nets, swung};
use sinew_benches::overlap::Watch;
use sinew_benches::pile::{self, FALLING, FRAMES, Pile, SETTLED};
use sinew_core::assemble::{Assembly, Goal};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Placement, Scene};
use sinew_core::setup::Setup;
use sinew_core::simulate::{Leg, State, Workspace, advance, step};

/// Repetitions stop after so many seconds of one scene, but there are always two.
const PATIENCE_S: f64 = 8.0;
/// When shaken scenes are compared with other engines, before chaos has its way, s.
const EARLY_S: f64 = 0.25;
const MOST_REPETITIONS: usize = 7;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let file = words.iter().find(|w| w.ends_with(".json"));
    let chosen: Vec<&String> = words.iter().filter(|w| !w.ends_with(".json") && *w != "once").collect();
    let mut rows = Vec::new();
    for (name, run) in [
        ("chains", chains as fn(&mut Vec<Value>)),
        ("energy", energy),
        ("assembly", assembly),
        ("shake", shake),
        ("swung", swing),
        ("pile", heap),
        ("islands", islands),
        ("figures", figures),
        ("threads", threads),
    ] {
        if chosen.is_empty() || chosen.iter().any(|c| *c == name) {
            run(&mut rows);
        }
    }
    if let Some(file) = file
        && let Err(e) = std::fs::write(file, Value::from(rows).to_string())
    {
        eprintln!("{file}: {e}");
        std::process::exit(1);
    }
}

/// Prints a row and keeps it.
fn tell(rows: &mut Vec<Value>, row: Value) {
    let scene = row["scene"].as_str().unwrap_or_default();
    let mut line = format!("{scene:18}");
    for (key, unit) in [
        ("ms", " ms"),
        ("falling_ms", " ms while it falls"),
        ("worst_ms", " ms at worst"),
        ("bodies", " bodies"),
        ("deepest", " m deep at the end"),
        ("deepest_settled", " when settled"),
        ("deepest_run", " at worst"),
        ("speed", " m/s at the end"),
        ("rms_speed", " m/s in the mean when settled"),
        ("lost", " lost"),
        ("rounds", " rounds"),
        ("analysis_ms", " ms of analysis before"),
        ("opening", " m open"),
        ("tracking", " rad off"),
        ("pelvis", " m high after 1 s"),
        ("second_ms", " ms per second and figure"),
        ("drift", " of the energy at most"),
        ("drift_end", " at the end"),
    ] {
        if let Some(number) = row[key].as_f64() {
            let digits = if row[key].is_u64() {
                format!("{number:9}")
            } else if (1e-3..1e4).contains(&number.abs()) {
                format!("{number:9.4}")
            } else {
                format!("{number:9.1e}")
            };
            line += &format!("{digits}{unit}  ");
        }
    }
    println!("{line}");
    rows.push(row);
}

fn rig(scene: &Neutral) -> Rig {
    compiled(scene.rigged())
}

fn compiled((scene, setup): (Scene, Setup)) -> Rig {
    match compile(&scene, &setup, scene.clips.first()) {
        Ok(compiled) => compiled.rig,
        Err(e) => unreachable!("{e}"),
    }
}

/// Repeats a run of `steps` steps, timed in parts of `part` steps; `look` sees every state of the first one.
fn run(rig: &Rig, dt: f64, steps: usize, part: usize, mut look: impl FnMut(usize, &State)) -> Least {
    let mut least = Least::default();
    let mut spent = 0.0;
    let once = std::env::args().any(|a| a == "once");
    for repetition in 0..if once { 1 } else { MOST_REPETITIONS } {
        let mut state = State::new(rig);
        let mut work = Workspace::new(rig);
        least.again();
        spent += timed(|| {
            for block in 0..steps / part {
                let legs: Vec<Leg> = Leg::evenly(state.time, dt, part).collect();
                least.part(|| advance(rig, &mut state, &mut work, &legs));
                if repetition == 0 {
                    look((block + 1) * part, &state);
                }
            }
        });
        if repetition > 0 && spent > PATIENCE_S {
            break;
        }
    }
    least
}

/// Released chains over a second: ms per step of 1/240 s, the largest opening at the end of any timed part, and
/// where the last link is after half a second.
fn chains(rows: &mut Vec<Value>) {
    let (steps, part) = (240, 12);
    for hinged in [true, false] {
        for links in LINKS {
            let scene = chain(links, hinged);
            let rig = rig(&scene);
            let (mut opening, mut tip) = (0.0_f64, [f64::NAN; 3]);
            let least = run(&rig, scene.dt, steps, part, |done, state| {
                let placements = scene.placements(&rig, state);
                opening = opening.max(scene.opening(&placements));
                if done == steps / 2 {
                    tip = placements[links - 1].position.to_array();
                }
            });
            let ms = least.mean() * 1e3 / part as f64;
            tell(
                rows,
                json!({"scene": scene.name, "peer": "Sinew", "ms": ms, "opening": opening, "tip": tip}),
            );
        }
    }
}

/// The energy of the chain of ten links over ten seconds: the largest difference from the start, and the last.
fn energy(rows: &mut Vec<Value>) {
    let scene = chain(10, false);
    let rig = rig(&scene);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let (start, scale) = (scene.energy(&rig, &state), scene.energy_scale.unwrap_or(1.0));
    let (mut most, mut end) = (0.0_f64, 0.0);
    for _ in 0..2400 {
        step(&rig, &mut state, &mut work, scene.dt);
        end = (scene.energy(&rig, &state) - start) / scale;
        most = if end.abs() > most.abs() { end } else { most };
    }
    tell(rows, json!({"scene": "energy", "peer": "Sinew", "drift": most, "drift_end": end}));
}

/// Nets put together to a micrometre: ms, rounds, the opening after each; and the analysis that is done once.
fn assembly(rows: &mut Vec<Value>) {
    for scene in nets() {
        let scene = scene.unshaken();
        let rig = rig(&scene);
        let scattered = scene.scattered(&rig);
        let goal = Goal { opening: 1e-6, angle: 1e-6, ..Goal::default() };
        let mut bodies = scattered.clone();
        let (mut analysis, mut least) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            analysis = analysis.min(timed(|| drop(Assembly::new(&rig.joints, rig.solids.len()))));
        }
        let mut assembly = Assembly::new(&rig.joints, rig.solids.len());
        let mut openings = Vec::new();
        let world = |_| Placement::IDENTITY;
        let outcome =
            assembly.assemble(&rig.joints, &mut bodies, world, &goal, |_, opening, _| openings.push(opening));
        for _ in 0..50 {
            bodies.copy_from_slice(&scattered);
            least = least.min(timed(|| {
                assembly.assemble(&rig.joints, &mut bodies, world, &goal, |_, _, _| {});
            }));
        }
        let mut placements = scene.perturbed.clone();
        for (solid, body) in rig.solids.iter().zip(&bodies) {
            placements[solid.node] = body.placement.then(&solid.offset.to(&Placement::IDENTITY));
        }
        tell(
            rows,
            json!({
                "scene": format!("assemble_{}", scene.name), "peer": "Sinew", "ms": least * 1e3,
                "rounds": outcome.rounds, "opening": scene.opening(&placements), "ok": outcome.reached(),
                "openings": openings, "analysis_ms": analysis * 1e3,
            }),
        );
    }
}

/// Nets shaken for ten seconds: ms per step of 1/60 s, mean and worst, and the largest opening.
fn shake(rows: &mut Vec<Value>) {
    for scene in nets() {
        shaken(rows, &scene, format!("shake_{}", scene.name), 600, 1);
    }
}

/// Chains swung for 250 frames, with the set-up's four steps per frame: ms per frame, and the largest opening.
fn swing(rows: &mut Vec<Value>) {
    for links in [9, 100] {
        let scene = swung(links);
        shaken(rows, &scene, scene.name.clone(), 250, 4);
    }
}

/// So many frames of the scene's step, each in `substeps` steps.
fn shaken(rows: &mut Vec<Value>, scene: &Neutral, name: String, frames: usize, substeps: usize) {
    let rig = rig(scene);
    let early_step = (EARLY_S / scene.dt).round() as usize * substeps;
    let (mut opening, mut early) = (0.0_f64, None);
    let least = run(&rig, scene.dt / substeps as f64, frames * substeps, substeps, |done, state| {
        let placements = scene.placements(&rig, state);
        opening = opening.max(scene.opening(&placements));
        if done == early_step {
            early = placements.last().map(|p| p.position.to_array());
        }
    });
    let (ms, worst) = (least.mean() * 1e3, least.worst() * 1e3);
    tell(
        rows,
        json!({
            "scene": name, "peer": "Sinew", "ms": ms, "worst_ms": worst, "opening": opening, "early": early,
        }),
    );
}

/// A heap of 1500: ms per step of 1/60 s while it falls and when it has settled, and how well it is kept apart.
fn heap(rows: &mut Vec<Value>) {
    piled(rows, &pile::pile(1000, 500));
}

/// 64 heaps of 20, the same.
fn islands(rows: &mut Vec<Value>) {
    piled(rows, &pile::islands(8));
}

fn piled(rows: &mut Vec<Value>, scene: &Pile) {
    let rig = compiled(scene.rigged());
    let mut watch = Watch::new(scene);
    let least = run(&rig, scene.dt, FRAMES, 1, |_, state| watch.see(&scene.placements(&rig, state)));
    let mut row = json!({
        "scene": scene.name, "peer": "Sinew", "ms": least.mean_of(SETTLED) * 1e3,
        "falling_ms": least.mean_of(FALLING) * 1e3, "worst_ms": least.worst() * 1e3,
        "bodies": scene.bodies.len(),
    });
    for (key, figure) in watch.figures() {
        row[key] = figure;
    }
    tell(rows, row);
}

/// Figures: ms per step and per second of one figure, and how well they are simulated, at several steps.
fn figures(rows: &mut Vec<Value>) {
    for copies in COPIES {
        let scene = figures_of(copies);
        for rate in RATES {
            guided(rows, &scene, Motors::Muscles, rate);
            if copies == 1 {
                guided(rows, &scene, Motors::Springs, rate);
            }
        }
        if copies == 1 {
            BETWEEN
                .into_iter()
                .chain(COARSE)
                .chain([FINE])
                .for_each(|rate| guided(rows, &scene, Motors::Muscles, rate));
        }
    }
}

fn guided(rows: &mut Vec<Value>, scene: &Figures, motors: Motors, rate: usize) {
    let rig = compiled(scene.rigged(motors, 1));
    // Looked at thirty times a second, or after every step.
    let (steps, part) = ((SECONDS * rate as f64) as usize, (rate / RATES[RATES.len() - 1]).max(1));
    let mut watched = Watched::default();
    let least = run(&rig, 1.0 / rate as f64, steps, part, |done, state| {
        watched.see(scene, done as f64 / rate as f64, &scene.placements(&rig, state));
    });
    let ms = least.mean() * 1e3 / part as f64;
    let mut row = json!({
        "scene": format!("{}_{rate}", scene.name()), "ms": ms,
        "peer": if motors == Motors::Muscles { "Sinew" } else { "Sinew, springs" },
        "second_ms": ms * rate as f64 / scene.copies as f64, "worst_ms": least.worst() * 1e3 / part as f64,
    });
    for (key, figure) in watched.figures() {
        row[key] = figure;
    }
    tell(rows, row);
}

/// 64 figures for a second on one thread and on two, in turns: the time that passes, and whether all digits agree.
fn threads(_: &mut Vec<Value>) {
    let scene = figures_of(64);
    let rig = compiled(scene.rigged(Motors::Muscles, 1));
    let run = |threads: usize| {
        let (mut state, mut work) = (State::new(&rig), Workspace::with_threads(&rig, threads));
        let time = least(1, || {
            let (rate, notes) = (RATES[0], RATES[RATES.len() - 1]);
            for _ in 0..notes {
                let legs: Vec<Leg> = Leg::evenly(state.time, 1.0 / rate as f64, rate / notes).collect();
                advance(&rig, &mut state, &mut work, &legs);
            }
        });
        (time.as_secs_f64(), state)
    };
    let [mut one, mut two] = [f64::INFINITY; 2];
    let mut same = true;
    for _ in 0..5 {
        let (first, second) = (run(1), run(2));
        (one, two) = (one.min(first.0), two.min(second.0));
        same &= first.1.solids == second.1.solids;
    }
    let digits = if same { "the same digits" } else { "OTHER DIGITS" };
    println!(
        "64 figures: {one:.3} s on one thread, {two:.3} s on two, {:.2} times as fast, {digits}",
        one / two
    );
}
