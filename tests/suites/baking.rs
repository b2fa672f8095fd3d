//! Bakes of whole characters: loops that close, layers that add up, few keys that stay within their tolerance.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DQuat;
use serde_json::Value;
use sinew_core::curve::{Curve, Segments};
use sinew_core::rotation;
use sinew_core::scene::{Pose, Property};
use sinew_core::setup::{BakedLayer, Preset, Setup};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::job::{Outcome, SetupSource, load_setup, simulate};
use sinew_tests::made::character::Character;
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{built, sample, scratch};
use std::path::{Path, PathBuf};

fn open(file: &Path, clip: &str) -> (Document, Setup) {
    let document = Document::open(file, &ReadOptions::default()).unwrap();
    let setup = load_setup(file, &document, &SetupSource::Automatic, Some(clip)).unwrap().setup;
    (document, setup)
}

fn bake(document: &Document, setup: &Setup) -> Outcome {
    simulate(document.scene(), setup, "test", true, &mut |_| true).unwrap()
}

/// A made character in a folder, or a sample where there are any, and one of its clips.
fn characters(
    folder: &Path,
    made: &[(Character, &'static str)],
    samples: &[(&str, &'static str)],
) -> Vec<(PathBuf, &'static str)> {
    let mut all: Vec<_> = made.iter().map(|(c, clip)| (c.write(folder), *clip)).collect();
    let there = |(file, clip): &(&str, &'static str)| Some((sample::file(&format!("gltf/{file}"))?, *clip));
    all.extend(samples.iter().filter_map(there));
    all
}

#[test]
fn cycles_close() {
    let folder = scratch::folder("cycles");
    let made = [
        (Character::biped(), "Walk"),
        (Character::biped(), "Idle"),
        (Character::quadruped(), "Walk"),
        (Character::quadruped(), "Run"),
        (Character::snake(), "Slither"),
        (Character::bird(), "Fly"),
    ];
    let samples =
        [("Fox.glb", "Walk"), ("Fox.glb", "Run"), ("Fox.glb", "Survey"), ("RiggedFigure.glb", "#0")];
    for (path, clip) in characters(folder.path(), &made, &samples) {
        let file = sample::label(&path);
        let (document, mut setup) = open(&path, clip);
        setup.bake.looped = true;
        for preset in [Preset::Subtle, Preset::Reactive, Preset::Limp] {
            setup.use_preset(preset);
            let done = bake(&document, &setup);
            let report = done.report.looped.unwrap();
            println!(
                "  {file} {clip} {preset:?}: {} turns, {:?} then {:?}",
                report.turns, report.first, report.after
            );
            let after = &report.after;
            assert!(
                after.angle_deg < 0.1 && after.velocity_percent.unwrap() < 1.0,
                "{file} {clip}: {after:?}"
            );
            // RiggedFigure goes from one pose to another: no cycle, and said so.
            let warned =
                done.report.warnings.iter().any(|w| w.contains("no whole cycle") && w.contains(" deg)"));
            assert_eq!(warned, file.contains("Figure"), "{file} {clip}: {:?}", done.report.warnings);
            // The report is about the curves: look at them.
            for c in &done.baked.channels {
                assert_seamless(&c.curve, &format!("{file} {clip} node {}", c.node));
            }
            let still = done.baked.channels.iter().all(|c| c.curve.times().len() == 1);
            assert!(!still, "{clip} {preset:?}: nothing is left of the motion");
        }
    }
}

fn assert_seamless(curve: &Curve, what: &str) {
    let Segments::Cubic { arriving, leaving } = curve.segments() else { panic!("{what}: a fit is cubic") };
    let (w, n) = (curve.width(), curve.values().len());
    // The same numbers, or all of them with the other sign.
    let same = |a: &[f64], b: &[f64], sign: f64| a.iter().zip(b).all(|(a, b)| *a == sign * b);
    let seamless = |sign: f64| {
        same(&curve.values()[..w], &curve.values()[n - w..], sign)
            && same(&leaving[..w], &arriving[n - w..], sign)
    };
    assert!(seamless(1.0) || w == 4 && seamless(-1.0), "{what}: values or tangents differ at the seam");
}

/// The whole of a simulation, frame by frame, and again at every substep: the same steps, seen four times as often.
#[test]
fn few_keys_stay_within_their_tolerance_at_and_between_frames() {
    let folder = scratch::folder("few-keys");
    let made = Character::quadruped().write(folder.path());
    // The last whole frame of the clip, s; and keys per sample at most.
    within_tolerance(&made, 1.0, [0.75, 0.65, 0.5, 0.45]);
    if let Some(fox) = sample::file("gltf/Fox.glb") {
        within_tolerance(&fox, 27.0 / 24.0, [0.46, 0.4, 0.3, 0.26]);
    }
}

fn within_tolerance(path: &Path, last: f64, shares: [f64; 4]) {
    let cases = [(Preset::Reactive, 24.0), (Preset::Limp, 24.0), (Preset::Limp, 48.0), (Preset::Limp, 60.0)];
    // Without the blows of feet on the floor. Between frames a bake knows nothing of the simulation: that is only said.
    for ((preset, rate), most) in cases.into_iter().zip(shares) {
        let (document, mut setup) = open(path, "Run");
        setup.use_preset(preset);
        setup.world.frames_per_second = Some(rate);
        setup.world.collisions = false;
        (setup.bake.tolerance_deg, setup.bake.tolerance) =
            (Some(0.1), Some(1e-4 / setup.world.metres_per_unit));
        let fitted = bake(&document, &setup);
        let share = fitted.baked.keys as f64 / fitted.baked.samples as f64;
        setup.world.frames_per_second = Some(rate * f64::from(setup.world.substeps));
        setup.world.substeps = 1;
        setup.bake.keys = sinew_core::setup::BakedKeys::EveryFrame;
        let dense = bake(&document, &setup);
        let (mut at, mut between, mut plain) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (few, all) in fitted.baked.channels.iter().zip(&dense.baked.channels) {
            assert_eq!((few.node, few.property), (all.node, all.property));
            if few.property != Property::Rotation {
                continue;
            }
            for (k, (&t, q)) in all.curve.times().iter().zip(all.curve.values().chunks_exact(4)).enumerate() {
                let error = rotation::distance(few.curve.quaternion(t), DQuat::from_slice(q)).to_degrees();
                // The range ends between two frames, where the steps of the two runs differ.
                if t > last + 1e-9 {
                    break;
                }
                if k % 4 == 0 {
                    at = at.max(error);
                    continue;
                }
                between = between.max(error);
                // A key on every frame, straight in between.
                let (from, to) = (k - k % 4, (k - k % 4 + 4).min(all.curve.times().len() - 1));
                let key = |k: usize| DQuat::from_slice(&all.curve.values()[4 * k..4 * k + 4]);
                let straight = rotation::slerp(key(from), key(to), (k - from) as f64 / (to - from) as f64);
                plain = plain.max(rotation::distance(straight, DQuat::from_slice(q)).to_degrees());
            }
            let keys: Vec<&[f64]> = few.curve.values().chunks_exact(4).collect();
            assert!(keys.windows(2).all(|k| k[0].iter().zip(k[1]).map(|(a, b)| a * b).sum::<f64>() > 0.0));
        }
        println!(
            "  Run {preset:?} at {rate} fps: {} keys of {} ({share:.3}), {at:.3} deg at frames, {between:.3} between (keys on every frame {plain:.3})",
            fitted.baked.keys, fitted.baked.samples
        );
        assert!(share <= most, "{preset:?} {rate}: {share}");
        assert!(at < 0.1005, "{preset:?} {rate}: {at} deg at frames");
    }
}

#[test]
fn keys_and_layer_make_the_whole() {
    let folder = scratch::folder("layers");
    let made = [(Character::quadruped(), "Run"), (Character::biped(), "Attack")];
    for (path, clip) in characters(folder.path(), &made, &[("Fox.glb", "Run")]) {
        keys_and_layer(&path, clip);
    }
}

fn keys_and_layer(path: &Path, clip: &str) {
    let (document, mut setup) = open(path, clip);
    setup.bake.layer = BakedLayer::Both;
    setup.bake.tolerance_deg = Some(0.1);
    let done = bake(&document, &setup);
    let scene = document.scene();
    let mut pose = Pose::new(scene, done.source.map(|s| &scene.clips[s]));
    let mut worst = 0.0_f64;
    // Three times as often as the layer was made from, up to the last whole frame.
    let frames = done.motion.frames() as u32 - 1;
    for i in 0..=(frames - 1) * 24 {
        let t = f64::from(i) / (24.0 * 24.0);
        pose.evaluate(t);
        let pairs = done.baked.channels.iter().zip(&done.baked.additive);
        for (full, layer) in pairs.filter(|(f, _)| f.property == Property::Rotation) {
            let sum = pose.local(full.node).rotation * layer.curve.quaternion(t);
            worst = worst.max(rotation::distance(sum, full.curve.quaternion(t)).to_degrees());
        }
    }
    println!("  {clip}: keys and layer are {worst:.3} deg from the whole at most");
    assert!(worst < 0.12, "{worst}");
}

#[test]
fn the_command_writes_loops_layers_and_chosen_nodes() {
    let folder = scratch::folder("written");
    let made = Character::quadruped().write(folder.path());
    written(&made, ["Tail", "Neck", "Tail3"], 19);
    if let Some(fox) = sample::file("gltf/Fox.glb") {
        written(&fox, ["b_Tail", "b_Neck_04", "b_Tail03_014"], 9);
    }
}

/// What the command writes of a walk, on these bones, with so many keys on twos.
fn written(path: &Path, [tails, neck, tail]: [&str; 3], twos: usize) {
    let folder = scratch::folder("baking");
    let run = |arguments: &[&str]| -> Value {
        let scene = path.to_string_lossy();
        let all = [&["bake", &scene, "--clip", "Walk", "--json", "-o", "out.glb"], arguments].concat();
        let done = Program::new(built::command().unwrap()).args(&all).folder(folder.path()).run().unwrap();
        serde_json::from_str(&done.success().unwrap().stdout).unwrap()
    };
    let out = folder.path().join("out.glb");
    let r = run(&[
        "--loop",
        "--layer",
        "both",
        "--only",
        &format!("{tails}*"),
        "--only",
        neck,
        "--tolerance-deg",
        "0.1",
    ]);
    assert_eq!(
        (r["name"].as_str(), r["additive"].as_str()),
        (Some("Walk (Sinew)"), Some("Walk (Sinew) additive"))
    );
    assert!(r["loop"]["after"]["angle_deg"].as_f64().unwrap() < 0.1, "{}", r["loop"]);
    assert!(r["loop"]["after"]["velocity_percent"].as_f64().unwrap() < 1.0, "{}", r["loop"]);
    let document = Document::open(&out, &ReadOptions::default()).unwrap();
    let scene = document.scene();
    let clip = |name: &str| &scene.clips[scene.find_clip(name).unwrap()];
    let (walk, full, layer) = (clip("Walk"), clip("Walk (Sinew)"), clip("Walk (Sinew) additive"));
    assert_eq!(full.channels.len(), walk.channels.len());
    for c in &walk.channels {
        let name = &scene.nodes[c.node].name;
        let chosen = c.property == Property::Rotation && (name.starts_with(tails) || name == neck);
        let kept = full.curve(c.node, c.property).unwrap() == &c.curve;
        assert_eq!(kept, !chosen, "{name} {:?}", c.property);
        assert_eq!(layer.curve(c.node, c.property).is_some(), chosen, "{name}");
    }
    if oracle::are_installed() {
        khronos::judge(&out, path).unwrap();
    }

    let r = run(&["--on", "2", "--hold", "8"]);
    assert_eq!((r["loop"].is_null(), r["additive"].is_null()), (true, true));
    let document = Document::open(&out, &ReadOptions::default()).unwrap();
    let baked = document.scene().clips.last().unwrap();
    let tail = document.scene().find(tail).unwrap();
    let tail = baked.curve(tail, Property::Rotation).unwrap();
    assert_eq!((tail.segments(), tail.times().len()), (&Segments::Step, twos));
    assert_eq!(tail.quaternion(0.34), tail.quaternion(0.7));
}
