//! Contacts as people and hosts see them: one ball on one floor, told alike by the command, by Rust and over the C
//! interface, and as the closed form has it.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use serde_json::Value;
use sinew_core::motion::{points, touching};
use sinew_core::scene::Scene;
use sinew_plugin::document::Document;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::job::{Outcome, SetupSource, load_setup, simulate};
use sinew_tests::host::compile;
use sinew_tests::program::{Finished, Program};
use sinew_tests::{built, repository, scratch};
use std::fs;
use std::path::Path;

/// A floor and a ball above it, without keys or meshes.
const BALL: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
  "nodes": [{"name": "Floor"}, {"name": "Ball", "translation": [0.5, 1.1, -0.25]}]
}"#;

/// The ball falls a metre, and bounces as `bounce` says.
fn setup(bounce: f64) -> String {
    format!(
        r#"{{"sinew":1,"bake":{{"frames":[0,60]}},"world":{{"frames_per_second":24,"substeps":4}},"bodies":[
        {{"node":"Floor","behaviour":"static","shape":{{"kind":"plane"}}}},
        {{"node":"Ball","behaviour":"free","mass":2,"shape":{{"kind":"sphere","radius":0.1}},
          "velocity":[0.3,0,0],"contact":{{"bounce":{bounce}}}}}]}}"#
    )
}

fn folder(name: &str, bounce: f64) -> tempfile::TempDir {
    let folder = scratch::folder(name);
    fs::write(folder.path().join("ball.gltf"), BALL).unwrap();
    fs::write(folder.path().join("ball.sinew.json"), setup(bounce)).unwrap();
    folder
}

fn sinew(arguments: &[&str], folder: &Path) -> Finished {
    let command = built::command().expect("the command is built");
    Program::new(command).args(arguments).folder(folder).run().expect("the command ends by itself")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The same job in Rust, and its scene.
fn in_rust(folder: &Path) -> (Scene, Outcome) {
    let scene = folder.join("ball.gltf");
    let document = Document::open(&scene, &ReadOptions::default()).unwrap();
    let loaded = load_setup(&scene, &document, &SetupSource::Beside, None).unwrap();
    let outcome = simulate(document.scene(), &loaded.setup, "set-up", true, &mut |_| true).unwrap();
    (document.scene().clone(), outcome)
}

/// Every number of a JSON value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(n) => vec![n.as_f64().unwrap()],
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_report_tells_of_strikes_as_the_closed_form_has_them() {
    let folder = folder("strikes", 0.5);
    let r = json(&sinew(&["bake", "ball.gltf", "--json"], folder.path()).success().unwrap().stdout);
    let strikes = r["contacts"]["strikes"].as_array().unwrap();
    let g = 9.81_f64;
    let (fall, speed) = ((2.0 / g).sqrt(), (2.0 * g).sqrt());
    let (mut time, mut share) = (fall, 1.0);
    for strike in &strikes[..3] {
        let number = |key: &str| strike[key].as_f64().unwrap();
        assert_eq!((&strike["a"], &strike["b"]), (&"Floor".into(), &"Ball".into()), "{strike}");
        assert!((number("time") - time).abs() < 1e-3, "{strike}, at {time} s");
        assert!((number("frame") - 24.0 * number("time")).abs() < 1e-9);
        assert!((number("speed") - speed * share).abs() < 0.03 * speed, "{strike}");
        let push = numbers(&strike["impulse_on_b_ns"]);
        let normal = 2.0 * 1.5 * speed * share;
        assert!((push[1] - normal).abs() < 0.01 * normal, "{strike}, {normal} N s");
        let size = push.iter().map(|p| p * p).sum::<f64>().sqrt();
        assert!((number("impulse_ns") - size).abs() < 1e-9 * size);
        assert_eq!(numbers(&strike["normal"]), [0.0, 1.0, 0.0]);
        assert!(numbers(&strike["point"])[1].abs() < 0.01, "{strike}");
        share *= 0.5;
        time += 2.0 * fall * share;
    }
    let body = &r["contacts"]["bodies"][0];
    assert_eq!((&body["node"], &body["strikes"]), (&"Ball".into(), &strikes.len().into()));
    assert_eq!(body["hardest"]["impulse_ns"], strikes[0]["impulse_ns"]);
    assert_eq!(
        (&body["hardest"]["with"], &body["hardest"]["frame"]),
        (&"Floor".into(), &strikes[0]["frame"])
    );
    let touching = body["touching"].as_f64().unwrap();
    assert!(touching > 0.2 && touching < 0.8, "{touching}");

    let said = sinew(&["bake", "ball.gltf", "--name", "again"], folder.path()).success().unwrap().stdout;
    let line = format!("  Ball hit Floor {} times, hardest ", strikes.len());
    assert!(said.contains(&line) && said.contains(" N s at frame 10.8\n"), "{line}: {said}");
}

#[test]
fn points_of_contact_go_to_a_file_of_their_own() {
    let folder = folder("points", 0.0);
    let arguments = ["bake", "ball.gltf", "--json", "--contacts", "ball.contacts.json"];
    let r = json(&sinew(&arguments, folder.path()).success().unwrap().stdout);
    assert_eq!(r["contacts_file"], "ball.contacts.json");
    let file = json(&fs::read_to_string(folder.path().join("ball.contacts.json")).unwrap());
    assert_eq!(file["strikes"], r["contacts"]["strikes"]);
    assert_eq!((&file["frames_per_second"], &file["metres_per_unit"]), (&24.0.into(), &1.0.into()));
    let frames = file["frames"].as_array().unwrap();
    assert_eq!(frames.len() as u64, r["frames"].as_u64().unwrap());
    let touching = frames.iter().filter(|f| !f["points"].as_array().unwrap().is_empty()).count();
    let share = r["contacts"]["bodies"][0]["touching"].as_f64().unwrap();
    assert!((touching as f64 / frames.len() as f64 - share).abs() < 1e-9, "{touching} frames, {share}");
    let last = frames.last().unwrap();
    assert_eq!((&last["frame"], &last["time"]), (&60.0.into(), &2.5.into()));
    let [point] = last["points"].as_array().unwrap().as_slice() else { panic!("{last}") };
    assert_eq!((&point["a"], &point["b"]), (&"Floor".into(), &"Ball".into()));
    let load = point["load_n"].as_f64().unwrap();
    assert!((load - 2.0 * 9.81).abs() < 1e-6 * load, "{load} N");
    assert_eq!(numbers(&point["friction_n"]).len(), 3);

    for (name, says) in [
        ("ball.sinew.json", "set-up"),
        ("other.sinew.json", "set-up"),
        ("ball.gltf", ".json file"),
        ("contacts", "contacts.json"),
    ] {
        let refused = sinew(&["bake", "ball.gltf", "--contacts", name], folder.path()).code_is(2).unwrap();
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    assert_eq!(fs::read_to_string(folder.path().join("ball.sinew.json")).unwrap(), setup(0.0));
}

#[test]
fn command_rust_and_c_tell_the_same_numbers() {
    let folder = folder("alike", 0.4);
    let arguments = ["bake", "ball.gltf", "--json", "--contacts", "points.json"];
    let of_command = json(&sinew(&arguments, folder.path()).success().unwrap().stdout);
    let file = json(&fs::read_to_string(folder.path().join("points.json")).unwrap());

    let (scene, outcome) = in_rust(folder.path());
    let (rig, motion) = (&outcome.compiled.rig, &outcome.motion);
    assert_eq!(serde_json::to_value(touching(rig, motion)).unwrap(), of_command["contacts"]);
    let frames: Vec<Value> = file["frames"].as_array().unwrap().iter().map(|f| f["points"].clone()).collect();
    assert_eq!(serde_json::to_value(points(rig, motion)).unwrap(), Value::Array(frames.clone()));

    // In C: `strike` or `contact`, who says so, the numbers.
    let library = built::library().unwrap();
    let source = repository::root().join("tests/hosts/contacts.c");
    let host = compile(&source, &library, folder.path()).unwrap_or_else(|e| panic!("{e}"));
    let files = ["ball.gltf", "ball.sinew.json"].map(|f| folder.path().join(f));
    let run = Program::new(&host).arg(&files[0]).arg(&files[1]).run().unwrap();
    let said = run.success().unwrap_or_else(|e| panic!("{e}")).stdout;
    let told = |what: &str, by: &str| -> Vec<Vec<f64>> {
        let mut found = Vec::new();
        for line in said.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if words[..2] == [what, by] {
                found.push(words[2..].iter().map(|w| w.parse().unwrap()).collect());
            }
        }
        found
    };
    let node = |name: &Value| scene.find(name.as_str().unwrap()).unwrap() as f64;
    let mut strikes: Vec<Vec<f64>> = Vec::new();
    for s in of_command["contacts"]["strikes"].as_array().unwrap() {
        let parts = ["time", "frame", "point", "normal", "impulse_on_b_ns", "speed"];
        let all = parts.iter().flat_map(|key| numbers(&s[*key]));
        strikes.push([node(&s["a"]), node(&s["b"])].into_iter().chain(all).collect());
    }
    let mut contacts: Vec<Vec<f64>> = Vec::new();
    for (frame, all) in frames.iter().enumerate() {
        for p in all.as_array().unwrap() {
            let parts = ["point", "normal", "load_n", "friction_n"];
            let numbers = parts.iter().flat_map(|key| numbers(&p[*key]));
            contacts.push([frame as f64, node(&p["a"]), node(&p["b"])].into_iter().chain(numbers).collect());
        }
    }
    assert!(strikes.len() > 2 && contacts.len() > 10, "{said}");
    for by in ["job", "session"] {
        assert_eq!(told("strike", by), strikes, "strikes of the {by}");
        assert_eq!(told("contact", by), contacts, "contacts of the {by}");
    }
}
