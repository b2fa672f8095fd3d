//! Files come in by one door: regular ones, from where they may.

use super::*;
use sinew_tests::scratch;
use std::os::unix::fs::symlink;

#[test]
fn a_set_up_is_a_regular_file_in_the_scenes_folder() {
    let folder = scratch::folder("setup");
    let inside = folder.path().join("in");
    fs::create_dir_all(inside.join("deep")).unwrap();
    hop(&inside);
    let beside = inside.join("hop.sinew.json");
    let good = json!({ "sinew": 1, "bodies": [{ "node": "Ball" }] }).to_string();
    let bake = || sinew(&["bake", "hop.gltf", "-o", "o.glb"], &inside);

    fs::write(folder.path().join("secret.json"), json!({ "sinew": 1, "the secret": 1 }).to_string()).unwrap();
    symlink("../secret.json", &beside).unwrap();
    let done = bake().code_is(3).unwrap();
    assert!(done.stderr.contains("outside") && !done.stderr.contains("the secret"), "{}", done.stderr);
    // Somebody who names it means it.
    fs::write(folder.path().join("mine.json"), &good).unwrap();
    sinew(&["bake", "hop.gltf", "--setup", "../mine.json", "-o", "o.glb"], &inside).success().unwrap();

    fs::remove_file(&beside).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success());
    assert!(bake().code_is(3).unwrap().stderr.contains("regular file"));
    let done =
        sinew(&["bake", "hop.gltf", "--setup", "hop.sinew.json", "-o", "o.glb"], &inside).code_is(3).unwrap();
    assert!(done.stderr.contains("regular file"), "{}", done.stderr);
    sinew(&["bake", "hop.gltf", "--setup", "/dev/zero", "-o", "o.glb"], &inside).code_is(3).unwrap();

    fs::remove_file(&beside).unwrap();
    symlink("/dev/zero", &beside).unwrap();
    bake().code_is(3).unwrap();
    // A link that leads nowhere is no reason to make something up.
    fs::remove_file(&beside).unwrap();
    symlink("nowhere.json", &beside).unwrap();
    bake().code_is(4).unwrap();
    // One that stays inside is fine.
    fs::remove_file(&beside).unwrap();
    fs::write(inside.join("deep/mine.json"), &good).unwrap();
    symlink("deep/mine.json", &beside).unwrap();
    bake().success().unwrap();
    // More than any set-up has.
    fs::remove_file(&beside).unwrap();
    fs::File::create(&beside).unwrap().set_len(1 << 40).unwrap();
    let done = bake().code_is(3).unwrap();
    assert!(done.stderr.contains("1099511627776 bytes"), "{}", done.stderr);
}

#[test]
fn a_scene_is_a_regular_file() {
    let folder = scratch::folder("scene");
    for ending in ["gltf", "glb", "usda", "usdc", "usdz"] {
        let pipe = format!("pipe.{ending}");
        assert!(
            std::process::Command::new("mkfifo").arg(folder.path().join(&pipe)).status().unwrap().success()
        );
        symlink("/dev/zero", folder.path().join(format!("zero.{ending}"))).unwrap();
        for name in [pipe, format!("zero.{ending}")] {
            let done = sinew(&["inspect", &name], folder.path()).code_is(3).unwrap();
            assert!(done.stderr.contains("regular file"), "{name}: {}", done.stderr);
        }
    }
}

#[test]
fn a_link_that_is_flipped_meanwhile_leads_nowhere() {
    let folder = scratch::folder("flip");
    let inside = folder.path().join("in");
    fs::create_dir(&inside).unwrap();
    hop(&inside);
    let good = fs::read(inside.join("hop-data.bin")).unwrap();
    fs::write(folder.path().join("secret.bin"), vec![0x41; good.len()]).unwrap();
    let (data, other) = (inside.join("hop-data.bin"), inside.join("other.bin"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::write(&other, &good);
                let _ = fs::rename(&other, &data);
                let _ = symlink("../secret.bin", &other);
                let _ = fs::rename(&other, &data);
            }
        });
        for _ in 0..100 {
            let done = sinew(&["bake", "hop.gltf", "-o", "../o.glb"], &inside);
            if done.code == Some(0) {
                let baked = fs::read(folder.path().join("o.glb")).unwrap();
                assert!(!baked.windows(16).any(|w| w == [0x41; 16]), "the secret is in it");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn names_move_no_terminal() {
    let folder = scratch::folder("escape");
    let scene = hop(folder.path());
    let evil = "\\u001b[31mred\\u009b2J\\u202e";
    let text = fs::read_to_string(&scene).unwrap().replace("\"Ball\"", &format!("\"{evil}\""));
    fs::write(&scene, text.replace("\"Hop\"", "\"a\\u001b]0;title\\u0007\"")).unwrap();
    for arguments in [
        vec!["bake", "hop.gltf", "-o", "o.glb"],
        vec!["inspect", "hop.gltf"],
        vec!["inspect", "hop.gltf", "--json"],
        vec!["bake", "hop.gltf", "--clip", "no\u{1b}[2J"],
        vec!["setup", "hop.gltf", "--json"],
    ] {
        let done = sinew(&arguments, folder.path());
        let said = done.stdout + &done.stderr;
        assert!(!said.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']), "{arguments:?}: {said:?}");
        assert!(said.contains("\\u001b"), "{arguments:?}: {said:?}");
    }
    // JSON means the same.
    let done = sinew(&["setup", "hop.gltf", "--json"], folder.path()).success().unwrap();
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["bodies"][0]["node"], "\u{1b}[31mred\u{9b}2J\u{202e}");
}
