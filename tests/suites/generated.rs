//! Characters that nobody has seen, by the thousand: whatever the body, the clip, the unit, the preset, and looped or not, no bake
//! that says it is done is torn, jerks, opens its joints, or moves a foot that stands.
//!
//! SINEW_RANDOM_CHARACTERS says how many (default 200), SINEW_FIRST_RANDOM_CHARACTER with which seed to begin.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::motion::Motion;
use sinew_core::rig::Rig;
use sinew_core::setup::{Preset, Setup, automatic};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_plugin::job::{Outcome, Status, simulate};
use sinew_tests::made::character::Character;
use sinew_tests::scratch;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Joints are open by less than this part of the figure's height.
const OPEN: f64 = 1e-3;

/// Joints are nearer to their keys than this part of the height, unless they are limp or ragdolls.
const DISPLACED: f64 = 0.6;

/// Squared jerk of the whole figure, in multiples of the keys'.
const JERK: f64 = 3.0;

/// Feet that stand in the keys are nearer to them than this part of the height.
const FOOT: f64 = 0.04;

/// This part of the bakes that are no loops may say that it fell short, with its reason. Loops of clips that are no cycles, and
/// of what swings for longer than a turn, say that they do not repeat.
const MAY_FALL_SHORT: f64 = 0.03;

/// What is smaller than this part of the height, frame by frame, is not seen to tremble.
const UNSEEN: f64 = 5e-4;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().map_or(otherwise, |v| v.parse().expect("a number"))
}

/// How a seed's character is baked: every preset, every third one as a loop.
fn wishes(seed: u64) -> (Option<Preset>, bool) {
    let presets = [
        None,
        None,
        None,
        Some(Preset::Subtle),
        Some(Preset::Weighty),
        Some(Preset::Loose),
        Some(Preset::Limp),
        Some(Preset::Ragdoll),
    ];
    let preset = presets[(seed % 8) as usize];
    // What falls comes to no end that meets its start.
    (preset, seed.is_multiple_of(3) && preset != Some(Preset::Ragdoll) && preset != Some(Preset::Limp))
}

#[derive(Default)]
struct Seen {
    done: usize,
    fell_short: Vec<String>,
    wrong: Vec<String>,
}

fn height(rig: &Rig, motion: &Motion) -> f64 {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for (solid, s) in rig.solids.iter().zip(motion.frame(0)) {
        (low, high) = (low.min(s.keys.position - solid.radius), high.max(s.keys.position + solid.radius));
    }
    (high - low).max_element()
}

/// The largest distance from the keys, with its body and frame.
fn displaced(rig: &Rig, motion: &Motion) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for f in 0..motion.frames() {
        for (solid, s) in rig.solids.iter().zip(motion.frame(f)) {
            let off = (s.node.position - s.keys.position).length();
            if off > worst.0 || off.is_nan() {
                worst = (off, format!("{} at frame {f}", solid.name));
            }
        }
    }
    worst
}

fn jerk(motion: &Motion, height: f64) -> f64 {
    let (mut bake, mut keys, mut samples) = (0.0, 0.0, 0.0);
    for f in 3..motion.frames() {
        for i in 0..motion.solids() {
            let third = |of: &dyn Fn(usize) -> DVec3| {
                (of(f) - of(f - 3) + (of(f - 2) - of(f - 1)) * 3.0).length_squared()
            };
            bake += third(&|f| motion.frame(f)[i].node.position);
            keys += third(&|f| motion.frame(f)[i].keys.position);
            samples += 1.0;
        }
    }
    bake / (keys + samples * (8.0 * UNSEEN * height).powi(2))
}

/// The largest distance of a foot from its keys while it is pinned there, once the pin has hold of it.
fn feet(rig: &Rig, setup: &Setup, motion: &Motion) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for (i, solid) in rig.solids.iter().enumerate() {
        let Some(body) = setup.bodies.iter().find(|b| b.node == solid.name) else { continue };
        for (f, &time) in motion.times().iter().enumerate() {
            let stands = body.pins.iter().any(|p| time >= p.from + p.over && time <= p.to - p.over);
            let s = &motion.frame(f)[i];
            let off = (s.node.position - s.keys.position).length();
            if stands && off > worst.0 {
                worst = (off, format!("{} at frame {f}", solid.name));
            }
        }
    }
    worst
}

fn judge(
    what: &str,
    setup: &Setup,
    outcome: &Outcome,
    preset: Option<Preset>,
    looped: bool,
    seen: &mut Seen,
) {
    let (rig, motion) = (&outcome.compiled.rig, &outcome.motion);
    if outcome.report.status == Status::FellShort {
        let why = outcome.report.warnings.first().cloned().unwrap_or_default();
        if why.is_empty() {
            seen.wrong.push(format!("{what} fell short without a word"));
        }
        seen.fell_short.push(format!("{what}: {why}"));
        return;
    }
    seen.done += 1;
    let height = height(rig, motion);
    let limp = matches!(preset, Some(Preset::Limp | Preset::Ragdoll));
    let open = outcome.report.joints.iter().map(|j| j.max_opening).fold(0.0, f64::max) / height;
    if open > OPEN {
        seen.wrong.push(format!("{what}: a joint is open by {:.2} % of the height", 100.0 * open));
    }
    let (off, who) = displaced(rig, motion);
    if !(off / height < DISPLACED || limp && off.is_finite()) {
        seen.wrong.push(format!("{what}: {who} is {:.0} % of the height off its keys", 100.0 * off / height));
    }
    let jerk = jerk(motion, height);
    if jerk > JERK && !limp {
        seen.wrong.push(format!("{what}: jerks {jerk:.1} times as hard as its keys"));
    }
    let (foot, who) = feet(rig, setup, motion);
    if foot / height > FOOT && !limp && !looped {
        seen.wrong.push(format!(
            "{what}: {who}, which stands, is {:.1} % of the height off",
            100.0 * foot / height
        ));
    }
}

fn bake(seed: u64, folder: &Path, seen: &mut Seen) {
    let character = Character::random(seed);
    let path = character.write(folder);
    let document = Document::open(&path, &ReadOptions::default()).unwrap();
    let (preset, looped) = wishes(seed);
    let mut setup = automatic(document.scene(), None).unwrap();
    if let Some(preset) = preset {
        setup.use_preset(preset);
    }
    setup.bake.looped = looped;
    setup.world.solver.threads = Some(1);
    let name = preset.map_or("default", Preset::name);
    let what = format!("seed {seed} ({name}{})", if looped { ", looped" } else { "" });
    match simulate(document.scene(), &setup, "automatic", true, &mut |_| true) {
        Ok(outcome) => judge(&what, &setup, &outcome, preset, looped, seen),
        Err(error) => seen.wrong.push(format!("{what}: {error}")),
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn characters_that_nobody_has_seen_hold_together() {
    let (count, first) = (number("SINEW_RANDOM_CHARACTERS", 200), number("SINEW_FIRST_RANDOM_CHARACTER", 0));
    let folder = scratch::folder("generated");
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let all: Vec<Seen> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = Seen::default();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= first + count {
                            return seen;
                        }
                        bake(seed, folder.path(), &mut seen);
                    }
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let done: usize = all.iter().map(|s| s.done).sum();
    let mut fell_short: Vec<&String> = all.iter().flat_map(|s| &s.fell_short).collect();
    let mut wrong: Vec<&String> = all.iter().flat_map(|s| &s.wrong).collect();
    fell_short.sort();
    wrong.sort();
    println!("{count} characters: {done} done, {} fell short, {} wrong", fell_short.len(), wrong.len());
    fell_short.iter().for_each(|w| println!("  fell short: {w}"));
    assert!(done > 0, "nothing was baked");
    let text: Vec<&str> = wrong.iter().map(|w| w.as_str()).collect();
    assert!(wrong.is_empty(), "{} of {count} went wrong in silence\n{}", wrong.len(), text.join("\n"));
    let once = fell_short.iter().filter(|w| !w.contains(", looped)")).count();
    let most = (MAY_FALL_SHORT * count as f64).max(1.0);
    assert!(once as f64 <= most, "{once} of {count} fell short, loops aside: more than {most}");
}
