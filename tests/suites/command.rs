//! The `sinew` command as a TD types it: results, exit codes, messages, and what is left on disk.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use serde_json::Value;
use sinew_tests::document::RawDocument;
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::{Finished, Program};
use sinew_tests::{built, made, repository, sample, scratch};
use std::fs;
use std::path::{Path, PathBuf};

/// A ball that hops along x, as small as a file can be: four keys, no mesh, data inside.
const HOP: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
  "nodes": [{"name": "Ball", "extras": {"mine": 1.5}}],
  "buffers": [{"byteLength": 64, "uri": "data:application/octet-stream;base64,AAAAAAAAgD8AAABAAABAQAAAAAAAAAAAAAAAAAAAgD8AAABAAAAAAAAAAEAAAAAAAAAAAAAAQEAAAABAAAAAAA=="}],
  "bufferViews": [{"buffer": 0, "byteLength": 64}],
  "accessors": [
    {"bufferView": 0, "componentType": 5126, "count": 4, "type": "SCALAR", "min": [0], "max": [3]},
    {"bufferView": 0, "byteOffset": 16, "componentType": 5126, "count": 4, "type": "VEC3"}],
  "animations": [{"name": "Hop", "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
    "samplers": [{"input": 0, "output": 1}]}]
}"#;

fn sinew(arguments: &[&str], folder: &Path) -> Finished {
    let command = built::command().expect("the command is built");
    Program::new(command).args(arguments).folder(folder).run().expect("the command ends by itself")
}

fn json(f: &Finished) -> Value {
    serde_json::from_str(&f.stdout).unwrap_or_else(|e| panic!("{e}: {}", f.stdout))
}

fn hop(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = scratch::folder(name);
    let scene = folder.path().join("hop.gltf");
    fs::write(&scene, HOP).expect("the scratch folder can be written");
    (folder, scene)
}

/// File names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be listed").flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_bake_adds_a_clip_and_keeps_the_rest() {
    let (folder, scene) = hop("bake");
    let done = sinew(&["bake", "hop.gltf"], folder.path()).success().unwrap();
    assert!(done.stdout.contains("wrote clip \"Hop (Sinew)\" to hop.sinew.gltf"), "{}", done.stdout);
    assert!(done.stdout.contains("  Ball "), "{}", done.stdout);
    assert_eq!(names(folder.path()), ["hop.gltf", "hop.sinew.gltf"]);
    assert_eq!(fs::read_to_string(&scene).unwrap(), HOP, "the input is untouched");
    let out = RawDocument::open(&folder.path().join("hop.sinew.gltf")).unwrap();
    let clips: Vec<&str> = out.array("animations").iter().filter_map(|a| a["name"].as_str()).collect();
    assert_eq!(clips, ["Hop", "Hop (Sinew)"]);
    assert_eq!(out.array("nodes")[0]["extras"]["mine"], 1.5);
}

#[test]
fn the_report_as_json_says_what_was_done() {
    let (folder, _) = hop("json");
    let r = json(&sinew(&["bake", "hop.gltf", "--json", "-o", "out.glb"], folder.path()).success().unwrap());
    assert_eq!((r["status"].as_str(), r["output"].as_str()), (Some("done"), Some("out.glb")));
    assert_eq!((r["frames"].as_u64(), r["frames_per_second"].as_f64()), (Some(73), Some(24.0)));
    assert!(r["bodies"][0]["max_distance"].as_f64().unwrap() > 0.0);
    assert!(r["keys"].as_u64().unwrap() * 2 < r["samples"].as_u64().unwrap());
}

#[test]
fn inspect_says_what_is_there_and_what_would_be_simulated() {
    let (folder, _) = hop("inspect");
    let text = sinew(&["inspect", "hop.gltf"], folder.path()).success().unwrap().stdout;
    assert!(
        text.contains("clip #0 \"Hop\"") && text.contains("  Ball ") && text.contains("chases them"),
        "{text}"
    );
    let i = json(&sinew(&["inspect", "hop.gltf", "--json"], folder.path()).success().unwrap());
    assert_eq!(i["clips"][0]["keys"], 4);
    assert_eq!(i["bodies"][0]["node"], "Ball");
}

#[test]
fn setup_writes_a_file_that_bake_uses() {
    let (folder, _) = hop("setup");
    let said = sinew(&["setup", "hop.gltf"], folder.path()).success().unwrap().stdout;
    assert!(said.ends_with("then: sinew bake hop.gltf\n") && said.contains("(1 body)"), "{said}");
    let elsewhere =
        sinew(&["setup", "hop.gltf", "-o", "other.json"], folder.path()).success().unwrap().stdout;
    // What it prints is what finds the file again.
    let line = elsewhere.split("then: sinew ").nth(1).expect("it says what to do next").trim().to_owned()
        + " --json";
    let r = json(&sinew(&line.split(' ').collect::<Vec<_>>(), folder.path()).success().unwrap());
    assert_eq!(r["setup"], "other.json", "{elsewhere}");
    let again = sinew(&["setup", "hop.gltf"], folder.path()).code_is(2).unwrap();
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let file = folder.path().join("hop.sinew.json");
    let same = json(&sinew(&["bake", "hop.gltf", "--json"], folder.path()).success().unwrap());
    let auto = json(
        &sinew(&["bake", "hop.gltf", "--json", "--auto", "--name", "Other"], folder.path())
            .success()
            .unwrap(),
    );
    assert_eq!(same["bodies"], auto["bodies"], "the written set-up is the automatic one");
    assert_eq!(same["setup"], "hop.sinew.json");
    let mut edited: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(edited["bodies"][0]["actuator"]["preset"], "reactive", "the sliders are there: {edited}");
    for slider in ["strength", "damping", "compensation", "blend"] {
        assert_eq!(edited["groups"][0][slider], 1, "{slider} in {edited}");
    }
    edited["bodies"][0]["actuator"]["preset"] = "limp".into();
    fs::write(&file, edited.to_string()).unwrap();
    let limp = json(&sinew(&["bake", "hop.gltf", "--json"], folder.path()).success().unwrap());
    let far = |r: &Value| r["bodies"][0]["max_distance"].as_f64().unwrap();
    assert!(far(&limp) > 1.5 * far(&same));
}

/// How far the quickest body of a clip goes in a second at most, by its baked translation keys.
fn top_speed(out: &RawDocument, clip: &str) -> f64 {
    let clip = out.array("animations").iter().find(|a| a["name"] == clip).unwrap();
    let floats = |accessor: &Value| -> Vec<f64> {
        let accessor = &out.array("accessors")[accessor.as_u64().unwrap() as usize];
        let view = &out.array("bufferViews")[accessor["bufferView"].as_u64().unwrap() as usize];
        let buffer = out.buffer(view["buffer"].as_u64().unwrap() as usize).unwrap().unwrap();
        let from =
            [view, accessor].iter().map(|v| v["byteOffset"].as_u64().unwrap_or(0)).sum::<u64>() as usize;
        let wide = if accessor["type"] == "VEC3" { 3 } else { 1 };
        let count = accessor["count"].as_u64().unwrap() as usize * wide;
        let number = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().unwrap()));
        buffer[from..from + 4 * count].chunks_exact(4).map(number).collect()
    };
    let mut fastest = 0.0_f64;
    for channel in clip["channels"].as_array().unwrap() {
        if channel["target"]["path"] != "translation" {
            continue;
        }
        let sampler = &clip["samplers"][channel["sampler"].as_u64().unwrap() as usize];
        let (times, values) = (floats(&sampler["input"]), floats(&sampler["output"]));
        for i in 1..times.len() {
            let moved: f64 = (0..3).map(|k| (values[3 * i + k] - values[3 * i - 3 + k]).powi(2)).sum();
            fastest = fastest.max(moved.sqrt() / (times[i] - times[i - 1]));
        }
    }
    fastest
}

/// A door and a load, without keys or meshes.
const DOOR: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1, 2]}],
  "nodes": [{"name": "Hinge"}, {"name": "Door", "translation": [0.5, 0, 0]}, {"name": "Load", "translation": [0, -3, 0]}]
}"#;

#[test]
fn joints_are_reported_as_the_set_up_has_them() {
    let folder = scratch::folder("door");
    fs::write(folder.path().join("door.gltf"), DOOR).unwrap();
    let setup = |pitch: &str| {
        format!(
            r#"{{"sinew":1,"bake":{{"frames":[0,48]}},"bodies":[
            {{"node":"Door","behaviour":"free","mass":2,"shape":{{"kind":"box","size":[1,2,0.1]}}}},
            {{"node":"Load","behaviour":"free","mass":10,"shape":{{"kind":"sphere","radius":0.2}}}}],
            "joints":[
            {{"kind":"pin","between":["world","Door"],"at":"Hinge","axis":[0,0,1],{pitch}
              "turn_deg":{{"limits":[-40,40],"stiffness":3,"damping":0.5}}}},
            {{"name":"thread","kind":"universal","between":["world","Load"],"break_force":150,
              "on":{{"keys":[[0,1],[1.5,0]],"between":"step"}}}},
            {{"name":"weak","kind":"distance","between":["world","Load"],"at":["Hinge","Load"],"break_force":50,
              "on":{{"keys":[[0,0],[1,1]],"between":"step"}}}}]}}"#
        )
    };
    let file = folder.path().join("door.sinew.json");
    fs::write(&file, setup("")).unwrap();
    let r = json(&sinew(&["bake", "door.gltf", "--json"], folder.path()).success().unwrap());
    let names: Vec<&str> =
        r["joints"].as_array().unwrap().iter().filter_map(|j| j["name"].as_str()).collect();
    assert_eq!(names, ["world - Door", "thread", "weak"], "springs and limits are no joints of their own");
    for j in r["joints"].as_array().unwrap() {
        assert!(
            j["max_opening"].as_f64().unwrap() < 1e-6 && j["max_angle_deg"].as_f64().unwrap() < 1e-4,
            "{j}"
        );
    }
    // The thread lets go at 1.5 s: frame 36, and what is left breaks at once.
    assert_eq!(
        (&r["joints"][0]["broke_at_frame"], &r["joints"][1]["broke_at_frame"]),
        (&Value::Null, &Value::Null)
    );
    let frame = r["joints"][2]["broke_at_frame"].as_f64().unwrap();
    assert!((36.0..=37.0).contains(&frame), "{frame}");
    assert!(r["warnings"].to_string().contains("\\\"weak\\\" broke at frame"), "{}", r["warnings"]);

    fs::write(&file, setup("\"pitch\":1,")).unwrap();
    let refused = sinew(&["bake", "door.gltf"], folder.path());
    let said = &refused.stderr;
    assert!(said.contains("joints[0]") && said.contains("pitch") && said.contains("\"pin\""), "{said}");
}

#[test]
fn physics_in_the_scene_is_the_set_up_when_there_is_no_file() {
    let folder = scratch::folder("rope");
    let made = made::rope(folder.path());
    rope_falls(folder.path(), &made, "Piece 1");
    if let Some(rope) = sample::file("gltf/hanging_rope/hanging_rope.gltf") {
        for file in ["hanging_rope.gltf", "hanging_rope0.bin"] {
            fs::copy(rope.with_file_name(file), folder.path().join(file)).unwrap();
        }
        rope_falls(folder.path(), &folder.path().join("hanging_rope.gltf"), "RopeSegmentTop");
    }
}

fn rope_falls(folder: &Path, rope: &Path, piece: &str) {
    let name = rope.file_name().unwrap().to_str().unwrap();
    let bake = |more: &[&str]| {
        let arguments = [&["bake", name, "--json"], more].concat();
        json(&sinew(&arguments, folder).success().unwrap())
    };
    let r = bake(&["--every-frame", "-o", "out.gltf"]);
    assert_eq!((r["setup"].as_str(), r["frames"].as_u64()), (Some("physics of the scene"), Some(121)));
    assert_eq!(r["bodies"].as_array().map(Vec::len), Some(3));
    let open = r["joints"].as_array().unwrap().iter().map(|j| j["max_opening"].as_f64().unwrap());
    assert!(open.clone().count() == 3 && open.fold(0.0, f64::max) < 1e-6, "{}", r["joints"]);
    assert!(r["warnings"].to_string().contains("soft joint limits"), "{}", r["warnings"]);
    let out = folder.join("out.gltf");
    let baked = RawDocument::open(&out).unwrap();
    // It falls 1.5 m at most: no piece of it can be much faster than a whip of that drop.
    let speed = top_speed(&baked, "Sinew");
    assert!(speed > 1.0 && speed < 15.0, "{speed} m/s");
    if oracle::are_installed() {
        khronos::judge(&out, rope).unwrap();
    }
    // A file that somebody wrote wins, and an option wins over both.
    let beside = rope.with_extension("sinew.json");
    let setup = format!(
        r#"{{"sinew":1,"bodies":[{{"node":"{piece}","behaviour":"free"}}],"bake":{{"frames":[0,10]}}}}"#
    );
    fs::write(&beside, setup).unwrap();
    let r = bake(&[]);
    let beside = beside.file_name().unwrap().to_str();
    assert_eq!((r["setup"].as_str(), r["frames"].as_u64()), (beside, Some(11)));
    let r = bake(&["--auto", "--frames", "0", "24"]);
    assert_eq!((r["setup"].as_str(), r["frames"].as_u64()), (Some("physics of the scene"), Some(25)));
}

#[test]
fn a_set_up_goes_into_the_scene_as_physics() {
    let (folder, scene) = hop("into");
    let physics = |file: &str| {
        let out = RawDocument::open(&folder.path().join(file)).unwrap();
        out.array("nodes")[0]["extensions"].clone()
    };
    let into = |more: &[&str]| sinew(&[&["setup", "hop.gltf", "--into"], more].concat(), folder.path());
    let done = into(&["auto.gltf"]).success().unwrap();
    assert!(done.stdout.contains("wrote them as KHR_physics_rigid_bodies to auto.gltf"), "{}", done.stdout);
    assert!(physics("auto.gltf")["KHR_physics_rigid_bodies"]["motion"].is_object());
    // The file beside the scene wins over the automatic set-up, and one that is named wins over that.
    let with = |mass: f64| {
        format!(r#"{{"sinew":1,"bodies":[{{"node":"Ball","mass":{mass}}}],"world":{{"gravity":[0,-2,0]}}}}"#)
    };
    fs::write(folder.path().join("hop.sinew.json"), with(2.0)).unwrap();
    fs::write(folder.path().join("other.json"), with(3.0)).unwrap();
    let r = json(&into(&["beside.glb", "--physics", "khr", "--json"]).success().unwrap());
    assert_eq!(
        (&r["setup"], &r["bodies"], &r["status"]),
        (&"hop.sinew.json".into(), &1.into(), &"done".into())
    );
    assert!(r["warnings"].to_string().contains("gravity is left out"), "{r}");
    assert_eq!(physics("beside.glb")["KHR_physics_rigid_bodies"]["motion"]["mass"], 2.0);
    let r = json(
        &into(&["named.gltf", "--setup", "other.json", "--physics", "omi", "--json"]).success().unwrap(),
    );
    assert_eq!(
        (&r["physics"], r["warnings"].as_array().map(Vec::len)),
        (&"OMI_physics_body".into(), Some(0))
    );
    assert_eq!(physics("named.gltf")["OMI_physics_body"]["motion"]["mass"], 3.0);
    // It bakes as the set-up does.
    let r = json(&sinew(&["bake", "named.gltf", "--json"], folder.path()).success().unwrap());
    assert_eq!((&r["setup"], &r["bodies"][0]["mass_kg"]), (&"physics of the scene".into(), &3.0.into()));

    fs::write(folder.path().join("none.json"), r#"{"sinew":1}"#).unwrap();
    for (arguments, code, says) in [
        (&["hop.gltf"][..], 2, "is the scene itself"),
        (&["out.txt"], 2, "must end in .gltf, .glb"),
        (&["out.gltf", "--setup", "none.json"], 3, "none.json: bodies: nothing is simulated"),
        (&["out.gltf", "--setup", "gone.json"], 4, "gone.json"),
    ] {
        let refused = into(arguments).code_is(code).unwrap();
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    sinew(&["setup", "hop.gltf", "--physics", "omi"], folder.path()).code_is(2).unwrap();
    assert!(!folder.path().join("out.gltf").exists());
    assert_eq!(fs::read_to_string(&scene).unwrap(), HOP, "the input is untouched");
}

#[test]
fn a_linkage_moves_the_same_by_the_physics_in_it() {
    let scenes = repository::root().join("examples/scenes");
    let folder = scratch::folder("linkage");
    for file in ["linkage.gltf", "linkage.sinew.json"] {
        fs::copy(scenes.join(file), folder.path().join(file)).unwrap();
    }
    let bake = |file: &str| json(&sinew(&["bake", file, "--json"], folder.path()).success().unwrap());
    let by_set_up = bake("linkage.gltf");
    for family in ["khr", "omi"] {
        let out = format!("{family}.gltf");
        let arguments = ["setup", "linkage.gltf", "--into", &out, "--physics", family, "--json"];
        let written = json(&sinew(&arguments, folder.path()).success().unwrap());
        assert_eq!((&written["joints"], written["warnings"].as_array().map(Vec::len)), (&3.into(), Some(0)));
        if oracle::are_installed() {
            khronos::judge(&folder.path().join(&out), &scenes.join("linkage.gltf")).unwrap();
        }
        let by_physics = bake(&out);
        assert_eq!(by_physics["setup"], "physics of the scene");
        let bodies = |r: &Value| r["bodies"].as_array().unwrap().clone();
        assert_eq!(bodies(&by_set_up).len(), 2);
        for (a, b) in bodies(&by_set_up).iter().zip(&bodies(&by_physics)) {
            for key in ["mass_kg", "rms_distance", "max_distance", "rms_angle_deg", "max_angle_deg"] {
                let (a, b) = (a[key].as_f64().unwrap(), b[key].as_f64().unwrap());
                assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{family}: {key} {a} {b}");
            }
        }
    }
}

#[test]
fn a_broken_setup_is_refused_with_place_and_proposal() {
    let (folder, _) = hop("broken");
    fs::write(folder.path().join("hop.sinew.json"), r#"{"sinew":1,"bodies":[{"node":"Ball","gide":{}}]}"#)
        .unwrap();
    let f = sinew(&["bake", "hop.gltf", "--json"], folder.path()).code_is(3).unwrap();
    assert!(
        f.stderr.contains("hop.sinew.json: bodies[0]") && f.stderr.contains("did you mean \"guide\"?"),
        "{}",
        f.stderr
    );
    assert_eq!(json(&f)["exit_code"], 3);
    assert_eq!(names(folder.path()), ["hop.gltf", "hop.sinew.json"], "nothing was written");
}

#[test]
fn clips_are_replaced_only_when_asked() {
    let (folder, _) = hop("replace");
    let f = sinew(&["bake", "hop.gltf", "--name", "Hop"], folder.path()).code_is(2).unwrap();
    assert!(
        f.stderr.contains("already has a clip \"Hop\"") && f.stderr.contains("--replace"),
        "{}",
        f.stderr
    );
    sinew(&["bake", "hop.gltf", "--name", "Hop", "--replace"], folder.path()).success().unwrap();
    let out = RawDocument::open(&folder.path().join("hop.sinew.gltf")).unwrap();
    assert_eq!(out.array("animations").len(), 1);
    // Baking a bake makes a clip of yet another name.
    sinew(&["bake", "hop.gltf", "-o", "a.gltf"], folder.path()).success().unwrap();
    let text = sinew(&["bake", "a.gltf", "--clip", "Hop"], folder.path()).success().unwrap().stdout;
    assert!(text.contains("\"Hop (Sinew) 2\""), "{text}");
}

#[test]
fn the_input_is_overwritten_only_when_asked() {
    let (folder, scene) = hop("in-place");
    let f = sinew(&["bake", "hop.gltf", "-o", "./hop.gltf"], folder.path()).code_is(2).unwrap();
    assert!(f.stderr.contains("--in-place"), "{}", f.stderr);
    assert_eq!(fs::read_to_string(&scene).unwrap(), HOP);
    sinew(&["bake", "hop.gltf", "--in-place"], folder.path()).success().unwrap();
    assert_eq!(RawDocument::open(&scene).unwrap().array("animations").len(), 2);
    assert_eq!(names(folder.path()), ["hop.gltf"]);
}

/// A figure that walks is held by its keys, by its feet, or by nothing.
#[test]
fn the_root_and_the_detail_of_a_figure_are_flags() {
    let folder = scratch::folder("root");
    let scene = repository::root().join("examples/scenes/figure_ball.gltf");
    let out = folder.path().join("out.glb");
    let baked = |flags: &[&str]| {
        let fixed = ["bake", scene.to_str().unwrap(), "--auto", "--json", "-o", out.to_str().unwrap()];
        let done = sinew(&[&fixed[..], flags].concat(), folder.path());
        let report: Value = serde_json::from_str(&done.success().unwrap().stdout).unwrap();
        let bodies = report["bodies"].as_array().unwrap();
        let farthest = bodies.iter().filter_map(|b| b["max_distance"].as_f64()).fold(0.0, f64::max);
        (bodies.len(), farthest, fs::read(&out).unwrap())
    };
    let guided = baked(&["--root", "guided"]);
    let [planted, free] = ["planted", "free"].map(|root| baked(&["--root", root]));
    println!("  off: guided {}, planted {}, free {}", guided.1, planted.1, free.1);
    assert!(free.1 > 2.0 * guided.1, "what is free falls: {} against {}", free.1, guided.1);
    assert_ne!(planted.2, free.2);
    assert!(baked(&["--detail", "0.5"]).0 < guided.0);
    assert!(baked(&["--threads", "2"]).2 == baked(&["--threads", "1"]).2);
}

#[test]
fn exit_codes_tell_use_from_input_from_disk() {
    let (folder, _) = hop("codes");
    fs::write(folder.path().join("broken.glb"), b"glTF\x02\0\0\0").unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (code, arguments, says) in [
        (2, &["bake"][..], "SCENE"),
        (2, &["bake", "hop.gltf", "--preset", "strong"], "subtle"),
        (2, &["bake", "hop.gltf", "--root", "loose"], "planted"),
        (2, &["bake", "hop.gltf", "--root", "free"], "no group \"root\""),
        (2, &["bake", "hop.gltf", "--detail", "1.5"], "--detail: 1.5 is out of range; give 0 to 1"),
        (2, &["bake", "hop.gltf", "--threads", "0"], "--threads: "),
        (2, &["bake", "hop.gltf", "--tolerance=-1"], "--tolerance: "),
        (2, &["bake", "hop.gltf", "--tolerance-deg=-1"], "--tolerance-deg: "),
        (2, &["bake", "hop.gltf", "--on", "0"], "--on: "),
        (2, &["bake", "hop.gltf", "--hold", "nan"], "--hold: "),
        (2, &["bake", "hop.gltf", "--only", "Bell"], "--only: "),
        (2, &["frobnicate"], "frobnicate"),
        (3, &["bake", "broken.glb"], "broken.glb"),
        (2, &["bake", "hop.gltf", "--clip", "Hip"], "--clip: "),
        (2, &["inspect", "hop.gltf", "--clip", "Hip"], "did you mean \"Hop\"?"),
        (2, &["setup", "hop.gltf", "--clip", "Hip"], "did you mean \"Hop\"?"),
        (2, &["assemble", "hop.gltf", "--clip", "Hip"], "did you mean \"Hop\"?"),
        (2, &["bake", "hop.gltf", "--frames", "9", "3"], "--frames: "),
        (2, &["bake", "."], "is a folder with 2 scenes in it"),
        (2, &["inspect", "empty"], "is a folder without a scene in it"),
        (2, &["bake", "hop.gltf", "-o", "out.fbx"], ".glb"),
        (4, &["bake", "absent.glb"], "absent.glb"),
        (4, &["bake", "hop.gltf", "-o", "no/such/folder.glb"], "no/such"),
        (4, &["bake", "hop.gltf", "--setup", "absent.json"], "absent.json"),
    ] {
        let f = sinew(arguments, folder.path()).code_is(code).unwrap();
        assert!(f.stderr.contains(says), "{arguments:?}: {}", f.stderr);
        assert!(!f.stderr.contains("panicked"), "{}", f.stderr);
    }
    // The same values in a set-up file are bad input.
    let setup = r#"{"sinew":1,"world":{"detail":1.5},"bodies":[{"node":"Ball"}]}"#;
    fs::write(folder.path().join("detail.json"), setup).unwrap();
    sinew(&["bake", "hop.gltf", "--setup", "detail.json"], folder.path()).code_is(3).unwrap();
    assert_eq!(
        names(folder.path()),
        ["broken.glb", "detail.json", "empty", "hop.gltf"],
        "nothing was left behind"
    );
}

#[test]
fn a_path_guide_that_cannot_arrive_is_a_named_shortfall() {
    let (folder, _) = hop("short");
    let setup = r#"{"sinew":1,"bodies":[{"node":"Ball","mass":1,"guide":{"timing":"path","base_distance":0.1},
      "actuator":{"alpha":1e-6,"max_force":{"absolute":0.001}}}]}"#;
    fs::write(folder.path().join("hop.sinew.json"), setup).unwrap();
    let f = sinew(&["bake", "hop.gltf"], folder.path()).code_is(1).unwrap();
    assert!(f.stdout.contains("had not arrived") && f.stdout.contains("wrote clip"), "{}", f.stdout);
}

#[cfg(unix)]
#[test]
fn terminating_a_job_leaves_nothing_behind() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let (folder, _) = hop("cancel");
    let command = built::command().unwrap();
    let mut child = Command::new(command)
        .args(["bake", "hop.gltf", "--frames", "0", "900000"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It runs once it says how far it is.
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut said).unwrap();
    assert!(said.starts_with("simulating "), "{said}");
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    std::io::copy(&mut stderr, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "exit code of a cancelled job");
    assert_eq!(names(folder.path()), ["hop.gltf"]);
}

#[test]
fn every_file_that_moves_bakes_to_a_valid_file() {
    if !oracle::are_installed() {
        return;
    }
    let made = scratch::folder("made");
    let files = sample::gltf_files(made.path());
    sample::each(&files, |path| {
        let folder = scratch::folder("samples");
        let inspected = sinew(&["inspect", &path.to_string_lossy(), "--json"], folder.path());
        if inspected.code == Some(3) {
            return sample::may_be_refused(path, &inspected.stderr);
        }
        let found = json(&inspected);
        let clips = found["clips"].as_array().map_or(0, Vec::len);
        let mut told = format!("{clips} clips");
        for clip in 0..clips {
            let out = folder.path().join(format!("out{clip}.glb"));
            let arguments = [
                "bake",
                &path.to_string_lossy(),
                "--clip",
                &format!("#{clip}"),
                "-o",
                &out.to_string_lossy(),
                "--json",
            ];
            let baked = sinew(&arguments, folder.path());
            if baked.code == Some(3) && baked.stderr.contains("nothing moves") {
                continue;
            }
            // One of the made files scales a parent to nothing.
            if path.ends_with("edges.gltf") {
                baked.code_is(3)?;
                return Ok("refused, as it must be".into());
            }
            let report = json(&baked.success()?);
            khronos::judge(&out, path)?;
            told += &format!(
                ", {} bodies {} keys",
                report["bodies"].as_array().map_or(0, Vec::len),
                report["keys"]
            );
        }
        Ok(told)
    });
}
