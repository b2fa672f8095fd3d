//! `sinew assemble`: broken scenes are put together, and nothing else in them changes.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_core::scene::{Placement, Pose};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::document::{RawDocument, same_meaning};
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::{Finished, Program};
use sinew_tests::{built, repository, scratch};
use std::fs;
use std::path::Path;

/// An arm that came apart: its bars have slid off the wall and off each other. One is placed by a matrix.
const ARM: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1, 4]}],
  "nodes": [
    {"name": "Wall", "translation": [0, 1, 0]},
    {"name": "Upper", "translation": [0.7, 1.2, 0.1], "scale": [2, 2, 2], "children": [2, 3], "extras": {"mine": 1.5}},
    {"name": "Upper root", "translation": [-0.25, 0, 0]},
    {"name": "Upper tip", "translation": [0.25, 0, 0]},
    {"name": "Lower", "matrix": [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 1.3, 1.9, -0.2, 1], "children": [5]},
    {"name": "Lower root", "translation": [-0.5, 0, 0]}]
}"#;

const ARM_SETUP: &str = r#"{"sinew": 1,
  "bodies": [{"node": "Upper", "mass": 2, "inertia": [0.1, 0.2, 0.2]}, {"node": "Lower", "behaviour": "free", "mass": 1, "inertia": [0.05, 0.1, 0.1]}],
  "joints": [
    {"name": "shoulder", "kind": "universal", "between": ["Wall", "Upper"], "at": ["Wall", "Upper root"]},
    {"name": "elbow", "kind": "universal", "between": ["Upper", "Lower"], "at": ["Upper tip", "Lower root"]}]}"#;

/// A bar of one metre between two posts that are three apart.
const BAR: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1, 2]}],
  "nodes": [
    {"name": "Left", "translation": [-1.5, 0, 0]}, {"name": "Right", "translation": [1.5, 0, 0]},
    {"name": "Bar", "translation": [0.3, 0.4, 0], "children": [3, 4]},
    {"name": "A", "translation": [-0.5, 0, 0]}, {"name": "B", "translation": [0.5, 0, 0]}]
}"#;

const BAR_SETUP: &str = r#"{"sinew": 1, "bodies": [{"node": "Bar", "mass": 1, "inertia": [0.01, 0.08, 0.08]}],
  "joints": [
    {"name": "left pin", "kind": "universal", "between": ["Left", "Bar"], "at": ["Left", "A"]},
    {"name": "right pin", "kind": "universal", "between": ["Right", "Bar"], "at": ["Right", "B"]}]}"#;

fn sinew(arguments: &[&str], folder: &Path) -> Finished {
    let command = built::command().expect("the command is built");
    Program::new(command).args(arguments).folder(folder).run().expect("the command ends by itself")
}

fn json(f: &Finished) -> Value {
    serde_json::from_str(&f.stdout).unwrap_or_else(|e| panic!("{e}: {}", f.stdout))
}

fn scene(name: &str, text: &str, setup: &str) -> tempfile::TempDir {
    let folder = scratch::folder(name);
    fs::write(folder.path().join("s.gltf"), text).unwrap();
    fs::write(folder.path().join("s.sinew.json"), setup).unwrap();
    folder
}

fn open(path: &Path) -> Document {
    Document::open(path, &ReadOptions::default()).unwrap()
}

/// Where nodes are at rest, by name.
fn places(path: &Path) -> impl Fn(&str) -> DVec3 {
    let document = open(path);
    move |name| {
        let scene = document.scene();
        let mut pose = Pose::new(scene, None);
        pose.evaluate(0.0);
        pose.placement(scene.nodes.iter().position(|n| n.name == name).unwrap()).position
    }
}

fn valid(out: &Path, original: &Path) {
    if oracle::are_installed() {
        khronos::judge(out, original).unwrap();
    }
}

#[test]
fn a_broken_pose_is_put_together_and_the_rest_kept() {
    let folder = scene("pose", ARM, ARM_SETUP);
    let out = folder.path().join("s.sinew.gltf");
    let mut rounds = Vec::new();
    for flags in [&["--json"][..], &["--json", "--nearest"]] {
        let arguments = [&["assemble", "s.gltf"], flags].concat();
        let report = json(&sinew(&arguments, folder.path()).success().unwrap());
        assert_eq!(report["status"], "done");
        rounds.push(report["rounds"].as_u64().unwrap());
        assert!(report["joints"][0]["opening_before"].as_f64().unwrap() > 0.1, "{report}");
        let at = places(&out);
        for [a, b] in [["Wall", "Upper root"], ["Upper tip", "Lower root"]] {
            assert!((at(a) - at(b)).length() < 1e-8, "{a} {} {b} {}", at(a), at(b));
        }
        valid(&out, &folder.path().join("s.gltf"));
    }
    assert!(rounds[0] < rounds[1], "the nearest pose takes more: {rounds:?}");

    let (before, after) =
        (RawDocument::open(&folder.path().join("s.gltf")).unwrap(), RawDocument::open(&out).unwrap());
    for (i, (old, new)) in before.array("nodes").iter().zip(after.array("nodes")).enumerate() {
        let (mut old, mut new) = (old.clone(), new.clone());
        if [1, 4].contains(&i) {
            assert!(new.get("translation").is_some() && new.get("rotation").is_some());
            for key in ["translation", "rotation", "matrix"] {
                old.as_object_mut().unwrap().remove(key);
                new.as_object_mut().unwrap().remove(key);
            }
        }
        if i == 4 {
            let scale = new.as_object_mut().unwrap().remove("scale").unwrap();
            assert!(same_meaning(&scale, &serde_json::json!([1, 1, 1])), "{scale}");
        }
        assert!(same_meaning(&old, &new), "{old} {new}");
    }

    // What is together stays as it is.
    let setup = folder.path().join("s.sinew.json");
    let again =
        ["assemble", "s.sinew.gltf", "--setup", &setup.to_string_lossy(), "-o", "again.gltf", "--json"];
    let report = json(&sinew(&again, folder.path()).success().unwrap());
    for body in report["bodies"].as_array().unwrap() {
        assert!(body["max_moved"].as_f64().unwrap() < 1e-9, "{body}");
    }
}

#[test]
fn joints_that_fight_are_named_and_share_the_gap() {
    let folder = scene("fight", BAR, BAR_SETUP);
    let f = sinew(&["assemble", "s.gltf"], folder.path()).code_is(1).unwrap();
    for says in ["\"left pin\" by 1.000000", "\"right pin\" by 1.000000", "wrote the pose"] {
        assert!(f.stdout.contains(says), "{}", f.stdout);
    }
    let report = json(&sinew(&["assemble", "s.gltf", "--json"], folder.path()).code_is(1).unwrap());
    assert_eq!((report["status"].as_str(), report["open_frames"].as_u64()), (Some("fell_short"), Some(1)));
    let out = folder.path().join("s.sinew.gltf");
    assert!(places(&out)("Bar").length() < 1e-8, "centred");
    valid(&out, &folder.path().join("s.gltf"));
}

#[test]
fn a_clip_is_put_together_frame_by_frame() {
    // A crank is keyed through two turns; coupler and rocker have no keys and stay behind.
    let folder = scratch::folder("clip");
    let original = repository::root().join("examples/scenes/linkage.gltf");
    let out = folder.path().join("out.glb");
    let arguments =
        ["assemble", &original.to_string_lossy(), "-o", &out.to_string_lossy(), "--name", "Whole", "--json"];
    let report = json(&sinew(&arguments, folder.path()).success().unwrap());
    assert_eq!((report["name"].as_str(), report["open_frames"].as_u64()), (Some("Whole"), Some(0)));
    assert!(report["joints"][0]["opening_before"].as_f64().unwrap() > 0.5);
    assert!(report["keys"].as_u64().unwrap() < report["frames"].as_u64().unwrap() * 2, "few keys: smooth");
    valid(&out, &original);

    let document = open(&out);
    let scene = document.scene();
    let node = |name: &str| scene.nodes.iter().position(|n| n.name == name).unwrap();
    let (crank, coupler, rocker) = (node("Crank"), node("Coupler"), node("Rocker"));
    let clip = &scene.clips[scene.find_clip("Whole").unwrap()];
    let pose = Pose::new(scene, Some(clip));
    // The pins in the bars' own terms, from the pose at rest.
    let rest = Pose::new(scene, Some(&scene.clips[0]));
    let pin = |name: &str, bar: usize| {
        let pin = rest.placement_at(node(name), 0.0);
        rest.placement_at(bar, 0.0).to(&Placement { rotation: DQuat::IDENTITY, ..pin })
    };
    let joints = [
        (crank, pin("Pin B", crank), coupler, pin("Pin B", coupler)),
        (coupler, pin("Pin C", coupler), rocker, pin("Pin C", rocker)),
    ];
    let mut before: Option<DVec3> = None;
    for frame in 0..=96 {
        let time = f64::from(frame) / 24.0;
        let at = |bar: usize, pin: &Placement| pose.placement_at(bar, time).then(pin).position;
        for (a, in_a, b, in_b) in &joints {
            let apart = (at(*a, in_a) - at(*b, in_b)).length();
            assert!(apart < 5e-3, "frame {frame}: {apart}");
        }
        let c = at(rocker, &joints[1].3);
        assert!(before.is_none_or(|b| (c - b).length() < 0.15), "frame {frame}: the rocker flips");
        before = Some(c);
    }
}

#[test]
fn a_picture_shows_before_and_after_and_is_an_svg() {
    let folder = scene("picture", ARM, ARM_SETUP);
    let drawn = |plot: &str| sinew(&["assemble", "s.gltf", "--json", "--plot", plot], folder.path());
    let report = json(&drawn("s.svg").success().unwrap());
    assert_eq!(report["plot"], "s.svg");
    let picture = fs::read_to_string(folder.path().join("s.svg")).unwrap();
    assert!(picture.contains(">before<") && picture.contains(">after<"), "{picture}");
    drawn("s.gltf").code_is(2).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("s.gltf")).unwrap(), ARM);
}

#[test]
fn nothing_to_assemble_is_said() {
    let folder = scene("none", BAR, r#"{"sinew": 1, "bodies": [{"node": "Bar", "mass": 1}]}"#);
    let f = sinew(&["assemble", "s.gltf"], folder.path()).code_is(3).unwrap();
    assert!(f.stderr.contains("joints: there are none"), "{}", f.stderr);
    let f = sinew(&["assemble", "s.gltf", "-o", "./s.gltf"], folder.path()).code_is(2).unwrap();
    assert!(f.stderr.contains("is the scene itself"), "{}", f.stderr);
    assert!(!folder.path().join("s.sinew.gltf").exists());
}
