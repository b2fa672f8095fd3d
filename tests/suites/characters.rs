//! Skeletons without a set-up: they bake, stay near their keys, keep their joints closed and their feet on the floor; and
//! with all the strength there is, they are their keys.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_core::bake::bake;
use sinew_core::rig::{compile, frame_rate};
use sinew_core::scene::{Channels, Clip, Local, Node, Pose, Property, Scene};
use sinew_core::setup::{BakedKeys, Limit, Setup, automatic, choose_clip};
use sinew_core::{rotation, simulate};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{built, sample, scratch};
use std::collections::HashSet;
use std::path::Path;

/// The figures whose tracking is promised, and their clips.
const FIGURES: [(&str, &str); 4] =
    [("Fox.glb", "Survey"), ("Fox.glb", "Walk"), ("Fox.glb", "Run"), ("RiggedFigure.glb", "#0")];

/// Mean angle between baked and keyed joints, degrees.
const MEAN_ANGLE: f64 = 5.0;

/// Joints are open by no more than this part of the figure's size.
const OPEN: f64 = 1e-5;

/// How much lower than the clip's lowest vertex a vertex may come, as a part of the figure's size.
const SUNK: f64 = 0.002;

fn open(path: &Path) -> Document {
    Document::open(path, &ReadOptions::default()).unwrap()
}

fn bones(scene: &Scene) -> Vec<usize> {
    let set: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    scene.parents_first().into_iter().filter(|n| set.contains(n)).collect()
}

/// Every vertex that is drawn, in the world.
fn vertices(scene: &Scene, clip: &Clip, time: f64) -> Vec<DVec3> {
    let mut pose = Pose::new(scene, Some(clip));
    pose.evaluate(time);
    (0..scene.nodes.len()).flat_map(|n| pose.vertices(scene, n)).collect()
}

fn times(clip: &Clip) -> Vec<f64> {
    let ((start, end), rate) = (clip.range().unwrap(), frame_rate(clip));
    (0..=((end - start) * rate + 1e-6) as usize).map(|k| start + k as f64 / rate).collect()
}

fn extent(points: &[DVec3]) -> (DVec3, DVec3) {
    points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(*p), hi.max(*p)))
}

/// How a bake differs from its keys.
#[derive(Debug)]
struct Differs {
    /// Degrees, over all bones and frames.
    mean: f64,
    most: f64,
    /// How far bones with keyed places, which lead the others, are from their keys, as a part of the size.
    root: f64,
    /// How much lower the lowest vertex is, as a part of the size.
    sunk: f64,
    size: f64,
}

fn compare(scene: &Scene, keys: &Clip, baked: &Clip) -> Differs {
    let [from, to] = [keys, baked].map(|clip| Pose::new(scene, Some(clip)));
    let bones = bones(scene);
    let (mut sum, mut count, mut most, mut root) = (0.0, 0, 0.0_f64, 0.0_f64);
    let mut low = [f64::INFINITY; 2];
    let first = vertices(scene, keys, keys.range().unwrap().0);
    let (lo, hi) = extent(&first);
    let size = (hi - lo).max_element();
    for time in times(keys) {
        for &bone in &bones {
            let of = |pose: &Pose| pose.placement_below(scene.nodes[bone].parent, bone, time).rotation;
            let angle = rotation::distance(of(&from), of(&to)).to_degrees();
            assert!(angle.is_finite(), "{} at {time} s", scene.label(bone));
            (sum, count, most) = (sum + angle, count + 1, most.max(angle));
            if keys.curve(bone, Property::Translation).is_some() {
                let at = |pose: &Pose| pose.placement_at(bone, time).position;
                root = root.max((at(&from) - at(&to)).length() / size);
            }
        }
        for (low, clip) in low.iter_mut().zip([keys, baked]) {
            *low = low.min(extent(&vertices(scene, clip, time)).0.y);
        }
    }
    Differs { mean: sum / f64::from(count), most, root, sunk: (low[0] - low[1]) / size, size }
}

/// Simulates in memory and puts the baked curves over the keys.
fn baked(scene: &Scene, setup: &Setup, clip: &Clip) -> Clip {
    let made = compile(scene, setup, Some(clip)).unwrap();
    let (motion, _) = simulate::run(&made.rig, |_, _| true);
    let channels = bake(scene, Some(clip), &made.rig, &motion, &setup.bake, false).unwrap().channels;
    let replaced: HashSet<_> = channels.iter().map(|c| (c.node, c.property)).collect();
    let kept = clip.channels.iter().filter(|c| !replaced.contains(&(c.node, c.property))).cloned();
    Clip { name: clip.name.clone(), channels: kept.chain(channels).collect() }
}

fn automatic_of(scene: &Scene, clip: &str) -> Setup {
    let mut setup = automatic(scene, Some(clip)).unwrap();
    setup.bake.keys = BakedKeys::EveryFrame;
    setup
}

#[test]
fn every_skinned_sample_bakes_without_a_set_up() {
    let animated = |path: &Path| match Document::open(path, &ReadOptions::default()) {
        Ok(d) => !d.scene().skins.is_empty() && !d.scene().clips.is_empty(),
        Err(_) => false,
    };
    let files: Vec<_> = sample::gltf_files().into_iter().filter(|f| animated(f)).collect();
    sample::each(&files, |path| {
        let clips = open(path).scene().clips.len();
        let mut worst = 0.0_f64;
        for clip in 0..clips {
            let folder = scratch::folder("character");
            let output = folder.path().join("out.glb");
            let done = Program::new(built::command()?)
                .args([
                    Path::new("bake"),
                    path,
                    Path::new("--auto"),
                    Path::new("--json"),
                    Path::new("-o"),
                    &output,
                ])
                .args(["--clip", &format!("#{clip}")])
                .run()?
                .success()?;
            let report: Value = serde_json::from_str(&done.stdout).map_err(|e| e.to_string())?;
            if oracle::are_installed() {
                khronos::judge(&output, path)?;
            }
            let document = open(&output);
            let scene = document.scene();
            let differs = compare(scene, &scene.clips[clip], scene.clips.last().ok_or("no clip")?);
            let opening =
                report["joints"].as_array().into_iter().flatten().filter_map(|j| j["max_opening"].as_f64());
            let opening = opening.fold(0.0, f64::max) / differs.size;
            if opening > OPEN && differs.size.is_finite() {
                return Err(format!("clip {clip}: joints are open by {opening:.1e} of its size"));
            }
            worst = worst.max(differs.mean);
        }
        Ok(format!("{clips} clips, at worst {worst:.2} degrees off in the mean"))
    });
}

#[test]
fn figures_stay_near_their_keys_and_on_their_floor() {
    for (file, clip) in FIGURES {
        let Some(path) = sample::file(&format!("gltf/{file}")) else { return };
        let document = open(&path);
        let scene = document.scene();
        let keys = choose_clip(scene, Some(clip)).unwrap().unwrap().1;
        let differs = compare(scene, keys, &baked(scene, &automatic_of(scene, clip), keys));
        println!("  {file} {clip}: {differs:?}");
        assert!(differs.mean < MEAN_ANGLE && differs.sunk < SUNK, "{file} {clip}: {differs:?}");
    }
}

/// Whatever unit a file is in, and wherever it stands: what is promised of it holds.
#[test]
fn sizes_and_places_do_not_matter() {
    let Some(path) = sample::file("gltf/RiggedFigure.glb") else { return };
    let document = open(&path);
    let moved = |scale: f64, translation: DVec3, rotation: DQuat| {
        let mut scene = document.scene().clone();
        let above = scene.nodes.len();
        scene.nodes.iter_mut().filter(|n| n.parent.is_none()).for_each(|n| n.parent = Some(above));
        let local = Local::Channels(Channels { translation, rotation, scale: DVec3::splat(scale) });
        scene.nodes.push(Node { name: "above".into(), local, ..Node::default() });
        scene
    };
    let turned = DQuat::from_rotation_y(2.0);
    let far = DVec3::new(10_000.0, 0.0, -10_000.0);
    for (scale, at, turn) in [
        (0.01, DVec3::ZERO, DQuat::IDENTITY),
        (100.0, DVec3::ZERO, DQuat::IDENTITY),
        (1.0, far, turned),
        (1.0, DVec3::Y * 5.0, DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2)),
    ] {
        let scene = moved(scale, at, turn);
        let differs =
            compare(&scene, &scene.clips[0], &baked(&scene, &automatic_of(&scene, "#0"), &scene.clips[0]));
        println!("  scaled {scale}, at {at}: {differs:?}");
        assert!(differs.mean < MEAN_ANGLE, "scaled {scale}, at {at}: {differs:?}");
    }
}

#[test]
fn without_weight_and_with_all_strength_a_figure_is_its_keys() {
    for (file, clip) in FIGURES {
        let Some(path) = sample::file(&format!("gltf/{file}")) else { return };
        let document = open(&path);
        let scene = document.scene();
        let keys = choose_clip(scene, Some(clip)).unwrap().unwrap().1;
        let mut setup = automatic_of(scene, clip);
        setup.world.gravity = [0.0; 3];
        setup.world.collisions = false;
        for body in &mut setup.bodies {
            body.actuator.max_force = Some(Limit::Unlimited);
            body.actuator.max_torque = Some(Limit::Unlimited);
            body.actuator.keep_up = Some(1.0.into());
        }
        setup.groups.iter_mut().for_each(|g| g.strength = 1e4.into());
        let differs = compare(scene, keys, &baked(scene, &setup, keys));
        println!("  {file} {clip}: {differs:?}");
        assert!(differs.most < 0.5 && differs.root < 0.005, "{file} {clip}: {differs:?}");
    }
}

#[test]
fn blended_out_a_figure_is_its_keys_to_the_digit() {
    for (file, clip) in FIGURES {
        let Some(path) = sample::file(&format!("gltf/{file}")) else { return };
        let document = open(&path);
        let scene = document.scene();
        let keys = choose_clip(scene, Some(clip)).unwrap().unwrap().1;
        let mut setup = automatic_of(scene, clip);
        setup.groups.iter_mut().for_each(|g| g.blend = 0.0.into());
        let differs = compare(scene, keys, &baked(scene, &setup, keys));
        assert!(differs.most < 1e-3 && differs.root < 1e-6, "{file} {clip}: {differs:?}");
    }
}

#[test]
fn a_figure_is_decided_alike_on_both_sides() {
    let Some(path) = sample::file("gltf/Fox.glb") else { return };
    let document = open(&path);
    let setup = automatic_of(document.scene(), "Walk");
    let mut pairs = 0;
    for left in setup.bodies.iter().filter(|b| b.node.contains("Left")) {
        let stem = left.node.trim_end_matches(char::is_numeric).replace("Left", "Right");
        let right = setup.bodies.iter().find(|b| b.node.starts_with(&stem)).unwrap();
        let (a, b) = (left.mass.unwrap(), right.mass.unwrap());
        assert!((a - b).abs() < 0.02 * a, "{} {a} kg, {} {b} kg", left.node, right.node);
        assert_eq!(left.groups[0].replace("left", "right"), right.groups[0]);
        pairs += 1;
    }
    assert_eq!(pairs, 7);
    let tail = setup.groups.iter().find(|g| g.name == "tail").unwrap();
    let spine = setup.groups.iter().find(|g| g.name == "spine").unwrap();
    assert!(tail.strength.first() < spine.strength.first());
    let mass: f64 = setup.bodies.iter().filter_map(|b| b.mass).sum();
    assert!((10.0..90.0).contains(&mass), "the fox weighs {mass} kg");
}

#[test]
fn a_human_figure_weighs_what_its_skin_encloses() {
    let Some(path) = sample::file("gltf/RiggedFigure.glb") else { return };
    let document = open(&path);
    let scene = document.scene();
    let setup = automatic_of(scene, "#0");
    let mass: f64 = setup.bodies.iter().filter_map(|b| b.mass).sum();
    // Its skin encloses 60.7 litres.
    assert!((mass - 60.7).abs() < 0.1 * 60.7, "{mass} kg");
}
