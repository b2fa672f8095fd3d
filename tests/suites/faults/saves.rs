//! Saving is all or nothing, whatever fails.

use super::*;
use sinew_tests::scratch;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_rename_that_fails_leaves_every_file_as_it_was() {
    let folder = scratch::folder("rename");
    hop(folder.path());
    let bake =
        ["bake", "hop.gltf", "-o", "o.gltf", "--plot", "p.svg", "--contacts", "c.json", "--every-frame"];
    let short = [&bake[..], &["--frames", "0", "10"]].concat();
    let long = [&bake[..], &["--frames", "0", "30"]].concat();
    sinew(&short, folder.path()).success().unwrap();
    let before = contents(folder.path());
    for nth in 1..=4 {
        for error in ["EACCES", "EIO"] {
            let fault = format!("/^rename:error={error}:when={nth}");
            let Some(done) = failing(&[&fault], &long, folder.path()) else { return };
            done.code_is(4).unwrap();
            assert!(before == contents(folder.path()), "rename {nth} {error}");
        }
    }
    let Some(done) = failing(&["fsync:error=EIO:when=1"], &long, folder.path()) else { return };
    done.code_is(4).unwrap();
    assert!(before == contents(folder.path()));
    // And without a fault all of them are new.
    sinew(&long, folder.path()).success().unwrap();
    let after = contents(folder.path());
    assert_eq!(before.len(), after.len(), "{:?}", after.keys());
    for name in ["o.gltf", "p.svg", "c.json"] {
        assert_ne!(before[name], after[name], "{name}");
    }
}

#[test]
fn somebody_elses_data_of_the_same_name_is_left_alone() {
    let folder = scratch::folder("theirs");
    hop(folder.path());
    fs::write(folder.path().join("walk.bin"), b"other").unwrap();
    sinew(&["bake", "hop.gltf", "-o", "walk.gltf"], folder.path()).success().unwrap();
    assert_eq!(fs::read(folder.path().join("walk.bin")).unwrap(), b"other");
    let walk = json_of(&folder.path().join("walk.gltf"));
    let data = walk["buffers"][1]["uri"].as_str().unwrap();
    assert!(data.starts_with("walk.") && folder.path().join(data).is_file(), "{data}");
}

#[test]
fn a_scene_that_somebody_saves_meanwhile_is_theirs() {
    let folder = scratch::folder("meanwhile");
    let scene = hop(folder.path());
    let theirs = fs::read_to_string(&scene).unwrap().replace("\"Ball\"", "\"Their ball\"");
    // Held up when the first temporary file is flushed: by then the scene has been read.
    let held = ["fsync:delay_enter=3000000:when=1"];
    let done = std::thread::scope(|scope| {
        let bake = scope.spawn(|| failing(&held, &["bake", "hop.gltf", "--in-place"], folder.path()));
        while strays(folder.path()).is_empty() && !bake.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(&scene, &theirs).unwrap();
        bake.join().unwrap()
    });
    let Some(done) = done else { return };
    let done = done.code_is(4).unwrap();
    assert!(done.stderr.contains("changed by somebody else"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&scene).unwrap(), theirs);
    assert_eq!(contents(folder.path()).len(), 2);
}

#[test]
fn in_place_keeps_links_and_modes_and_refuses_what_is_locked() {
    let folder = scratch::folder("in-place");
    let scene = hop(folder.path());
    let link = folder.path().join("link.gltf");
    symlink("hop.gltf", &link).unwrap();
    fs::set_permissions(&scene, fs::Permissions::from_mode(0o640)).unwrap();
    sinew(&["bake", "link.gltf", "--in-place"], folder.path()).success().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(json_of(&scene)["animations"].as_array().unwrap().len(), 2);
    assert_eq!(fs::metadata(&scene).unwrap().permissions().mode() & 0o7777, 0o640);

    fs::set_permissions(&scene, fs::Permissions::from_mode(0o444)).unwrap();
    let before = contents(folder.path());
    let done = sinew(&["bake", "hop.gltf", "--in-place"], folder.path()).code_is(4).unwrap();
    assert!(done.stderr.contains("read-only"), "{}", done.stderr);
    assert!(before == contents(folder.path()));
}

#[test]
fn a_contacts_file_that_cannot_be_written_leaves_the_scene_unwritten() {
    let folder = scratch::folder("contacts");
    hop(folder.path());
    let contacts = folder.path().join("c.json");
    fs::write(&contacts, b"locked").unwrap();
    fs::set_permissions(&contacts, fs::Permissions::from_mode(0o444)).unwrap();
    let before = contents(folder.path());
    sinew(&["bake", "hop.gltf", "-o", "o.glb", "--contacts", "c.json"], folder.path()).code_is(4).unwrap();
    assert!(before == contents(folder.path()));
}

#[test]
fn replacing_again_and_again_does_not_grow() {
    let folder = scratch::folder("replace");
    hop(folder.path());
    let bake = ["bake", "hop.gltf", "--in-place", "--name", "Soft hop", "--layer", "both", "--clip", "Hop"];
    let replace = [&bake[..], &["--replace"]].concat();
    sinew(&bake, folder.path()).success().unwrap();
    // The first time, data moves within its file, which takes a few letters more to say.
    sinew(&replace, folder.path()).success().unwrap();
    let size = || contents(folder.path()).values().map(Vec::len).sum::<usize>();
    let once = size();
    for _ in 0..4 {
        sinew(&replace, folder.path()).success().unwrap();
        assert_eq!(size(), once);
    }
}

#[test]
fn the_same_input_gives_the_same_archive() {
    let folder = scratch::folder("archive");
    hop(folder.path());
    let bake = || {
        sinew(&["bake", "hop.gltf", "-o", "o.usdz"], folder.path()).success().unwrap();
        fs::read(folder.path().join("o.usdz")).unwrap()
    };
    let once = bake();
    assert!(once == bake());
    let name = b"o.usdc";
    assert!(once.windows(name.len()).any(|w| w == name));
    assert_eq!(strays(folder.path()), [""; 0]);
}

#[test]
fn a_name_that_is_too_long_is_noticed_before_anything_is_read() {
    let folder = scratch::folder("long");
    let name = format!("{}.glb", "n".repeat(247));
    fs::write(folder.path().join(&name), b"no scene").unwrap();
    let done = sinew(&["bake", &name], folder.path()).code_is(4).unwrap();
    assert!(done.stderr.contains("too long"), "{}", done.stderr);
}

#[test]
fn files_that_may_not_grow_are_an_error_and_leave_nothing() {
    let folder = scratch::folder("cramped");
    hop(folder.path());
    let before = contents(folder.path());
    for output in ["o.gltf", "o.glb", "o.usda"] {
        let line = format!("ulimit -f 1; exec \"$0\" bake hop.gltf --every-frame --frames 0 200 -o {output}");
        let done = Program::new("sh").args(["-c", &line]).arg(command()).folder(folder.path()).run().unwrap();
        done.code_is(4).unwrap();
        assert!(before == contents(folder.path()), "{output}");
    }
}

#[test]
fn neither_pipe_nor_folder_is_taken_for_an_output() {
    let folder = scratch::folder("pipe");
    hop(folder.path());
    let pipe = folder.path().join("o.glb");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(folder.path().join("d.glb")).unwrap();
    for output in ["o.glb", "d.glb"] {
        sinew(&["bake", "hop.gltf", "-o", output], folder.path()).code_is(4).unwrap();
    }
    assert!(!fs::metadata(&pipe).unwrap().is_file());
    assert_eq!(strays(folder.path()), [""; 0]);
}
