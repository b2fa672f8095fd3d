//! Where files go when a document is saved, and that they go whole or not at all.

use crate::builder::{channel, glb, unglb, walk};
use serde_json::{Value, json};
use sinew_core::curve::Segments;
use sinew_core::scene::Property;
use sinew_plugin::gltf::{ClipToAdd, Document, ErrorKind, ReadOptions};
use std::fs;
use std::path::Path;

/// A folder `in` with the walk in `walk.gltf`, `walk.bin` and two images, and an empty folder `out`.
fn house() -> tempfile::TempDir {
    let house = tempfile::tempdir().unwrap();
    let folder = house.path().join("in");
    fs::create_dir_all(folder.join("tex tures")).unwrap();
    fs::create_dir(house.path().join("out")).unwrap();
    let (mut json, bin) = walk();
    json["buffers"][0]["uri"] = json!("walk.bin");
    json["images"] =
        json!([{ "uri": "tex%20tures/a.png" }, { "uri": "b.png" }, { "uri": "tex%20tures/a.png" }]);
    fs::write(folder.join("walk.gltf"), serde_json::to_vec(&json).unwrap()).unwrap();
    fs::write(folder.join("walk.bin"), bin).unwrap();
    fs::write(folder.join("tex tures/a.png"), b"image a").unwrap();
    fs::write(folder.join("b.png"), b"image b").unwrap();
    house
}

fn open(path: &Path) -> Document {
    Document::open(path, &ReadOptions::default()).unwrap()
}

fn add(document: &mut Document) {
    let channels = [channel(0, Property::Translation, Segments::Linear)];
    document
        .add_clip(&ClipToAdd { name: "Baked", source: None, replace: false, channels: &channels })
        .unwrap();
}

/// All files below a folder, relative and sorted.
fn listing(folder: &Path) -> Vec<String> {
    fn collect(folder: &Path, root: &Path, out: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, out);
            }
            out.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
    let mut out = Vec::new();
    collect(folder, folder, &mut out);
    out.sort();
    out
}

/// The file of a document's buffer.
fn data_of(document: &Path, buffer: usize) -> String {
    text(document)["buffers"][buffer]["uri"].as_str().unwrap().replace("%20", " ")
}

fn text(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn elsewhere_the_files_come_along_and_ours_stand_beside() {
    let house = house();
    let mut document = open(&house.path().join("in/walk.gltf"));
    add(&mut document);
    let out = house.path().join("out");
    document.save(&out.join("my bake.gltf")).unwrap();
    let data = data_of(&out.join("my bake.gltf"), 1);
    assert!(data.starts_with("my bake.") && data.len() == "my bake.0123456789abcdef.bin".len(), "{data}");
    assert_eq!(
        listing(&out),
        ["b.png", data.as_str(), "my bake.gltf", "tex tures", "tex tures/a.png", "walk.bin"]
    );
    assert_eq!(fs::read(out.join("walk.bin")).unwrap(), walk().1);
    let json = text(&out.join("my bake.gltf"));
    assert_eq!(json["buffers"][0], json!({ "byteLength": 48, "uri": "walk.bin" }));
    assert_eq!(open(&out.join("my bake.gltf")).scene().clips.len(), 2);
    // Again: the same bytes are there, and that is fine.
    document.save(&out.join("my bake.gltf")).unwrap();
}

#[test]
fn a_glb_elsewhere_takes_only_the_images() {
    let house = house();
    let mut document = open(&house.path().join("in/walk.gltf"));
    add(&mut document);
    let out = house.path().join("out");
    document.save(&out.join("walk.GLB")).unwrap();
    assert_eq!(listing(&out), ["b.png", "tex tures", "tex tures/a.png", "walk.GLB"]);
    let (json, bin) = unglb(&fs::read(out.join("walk.GLB")).unwrap());
    assert_eq!(json["buffers"], json!([{ "byteLength": bin.len() }]));
    assert_eq!(bin[..48], walk().1);
    assert_eq!(json["images"][1], json!({ "uri": "b.png" }));
}

#[test]
fn the_scenes_own_data_is_never_overwritten() {
    let house = house();
    let path = house.path().join("in/walk.gltf");
    let mut document = open(&path);
    add(&mut document);
    document.save(&path).unwrap();
    assert_eq!(fs::read(house.path().join("in/walk.bin")).unwrap(), walk().1);
    let first = data_of(&path, 1);
    // Once more, on what was just written: what an earlier bake added grows, in a file of its own.
    let mut document = open(&path);
    add(&mut document);
    document.save(&path).unwrap();
    assert_eq!(text(&path)["buffers"].as_array().unwrap().len(), 2);
    assert_ne!(data_of(&path, 1), first);
    assert_eq!(open(&path).scene().clips.len(), 3);
    // Nothing refers to the older one any more.
    assert!(!house.path().join("in").join(&first).exists());
    assert_eq!(fs::read(house.path().join("in/walk.bin")).unwrap(), walk().1);
    // An image that is called as the output would be.
    fs::write(house.path().join("in/odd.glb"), b"an image").unwrap();
    let mut json = text(&path);
    json["images"] = json!([{ "uri": "odd.glb" }]);
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let error = open(&path).save(&house.path().join("in/odd.glb")).unwrap_err();
    assert!(error.to_string().contains("odd.glb") && error.to_string().contains("own data"), "{error}");
}

#[test]
fn data_of_ours_goes_only_when_no_document_refers_to_it() {
    let house = house();
    let path = house.path().join("in/walk.gltf");
    let bake = || {
        let mut document = open(&path);
        add(&mut document);
        document.save(&path).unwrap();
        data_of(&path, 1)
    };
    let first = bake();
    fs::copy(&path, house.path().join("in/version 1.gltf")).unwrap();
    let second = bake();
    assert!(house.path().join("in").join(&first).exists());
    assert_eq!(open(&house.path().join("in/version 1.gltf")).scene().clips.len(), 2);
    bake();
    assert!(!house.path().join("in").join(&second).exists());
    // Somebody else's file of such a name, which holds something else, is not ours.
    let foreign = house.path().join("in/walk.0123456789abcdef.bin");
    fs::write(&foreign, b"theirs").unwrap();
    let mut json = text(&path);
    json["extras"] = json!("walk.0123456789abcdef.bin");
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let mut document = open(&path);
    add(&mut document);
    document.save(&house.path().join("in/x.glb")).unwrap();
    fs::copy(house.path().join("in/version 1.gltf"), &path).unwrap();
    assert!(foreign.exists());
}

#[test]
fn a_file_that_somebody_changed_meanwhile_is_not_overwritten() {
    let house = house();
    let path = house.path().join("in/walk.gltf");
    let mut document = open(&path);
    add(&mut document);
    let mut theirs = text(&path);
    theirs["extras"] = json!("their work");
    fs::write(&path, serde_json::to_vec(&theirs).unwrap()).unwrap();
    let before = listing(&house.path().join("in"));
    let error = document.save(&path).unwrap_err();
    assert!(error.to_string().contains("changed by somebody else"), "{error}");
    assert_eq!((text(&path), listing(&house.path().join("in"))), (theirs, before));
    // One's own saves are not somebody else's.
    let mut document = open(&path);
    add(&mut document);
    document.save(&path).unwrap();
    document.save(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_saved_file_keeps_its_link_and_mode_and_a_read_only_one_is_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let house = house();
    let (real, link) = (house.path().join("in/walk.gltf"), house.path().join("in/link.gltf"));
    symlink("walk.gltf", &link).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let mut document = open(&link);
    add(&mut document);
    document.save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(open(&real).scene().clips.len(), 2);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o600);

    fs::set_permissions(&real, fs::Permissions::from_mode(0o444)).unwrap();
    let before = fs::read(&real).unwrap();
    let mut document = open(&real);
    add(&mut document);
    let error = document.save(&real).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(fs::read(&real).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn files_are_not_taken_along_through_a_link_to_elsewhere() {
    let house = house();
    let out = house.path().join("out");
    fs::create_dir(house.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(house.path().join("elsewhere"), out.join("tex tures")).unwrap();
    let error = open(&house.path().join("in/walk.gltf")).save(&out.join("x.gltf")).unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
    assert!(listing(&house.path().join("elsewhere")).is_empty());
    assert_eq!(listing(&out), ["tex tures"]);
}

#[test]
fn a_clip_is_replaced_time_and_again_and_the_file_does_not_grow() {
    let house = tempfile::tempdir().unwrap();
    let (json, bin) = walk();
    let path = house.path().join("walk.glb");
    fs::write(&path, glb(&json, Some(&bin))).unwrap();
    let replace = |names: &[&str]| {
        let mut document = open(&path);
        for name in names {
            let channels = [channel(0, Property::Translation, Segments::Linear)];
            let clip = ClipToAdd { name, source: None, replace: true, channels: &channels };
            document.add_clip(&clip).unwrap();
        }
        document.save(&path).unwrap();
        fs::read(&path).unwrap()
    };
    let once = replace(&["A", "B"]);
    for _ in 0..4 {
        assert_eq!(replace(&["A", "B"]).len(), once.len());
    }
    // What it does not replace is as it was.
    let (before, after) = (unglb(&once).0, unglb(&fs::read(&path).unwrap()).0);
    assert_eq!(before["animations"][0], after["animations"][0]);
    let (first, again) =
        (open(&path), Document::from_bytes(&once, "x", None, &ReadOptions::default()).unwrap());
    assert_eq!(format!("{:?}", first.scene().clips), format!("{:?}", again.scene().clips));
}

#[test]
fn data_uris_stay_data_uris() {
    let house = tempfile::tempdir().unwrap();
    let (mut json, _) = walk();
    json["buffers"][0]["uri"] = json!(format!("data:application/gltf-buffer;base64,{}", "A".repeat(64)));
    json["animations"] = json!([]);
    let path = house.path().join("one.gltf");
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let mut document = open(&path);
    add(&mut document);
    document.save(&house.path().join("two.gltf")).unwrap();
    assert_eq!(listing(house.path()), ["one.gltf", "two.gltf"]);
    let after = text(&house.path().join("two.gltf"));
    assert_eq!(after["buffers"][0], json["buffers"][0]);
    assert!(
        after["buffers"][1]["uri"].as_str().unwrap().starts_with("data:application/octet-stream;base64,")
    );
    assert_eq!(open(&house.path().join("two.gltf")).scene().clips.len(), 1);
}

#[test]
fn glb_becomes_gltf_with_its_data_beside() {
    let house = tempfile::tempdir().unwrap();
    let (json, bin) = walk();
    fs::write(house.path().join("walk.glb"), glb(&json, Some(&bin))).unwrap();
    let document = open(&house.path().join("walk.glb"));
    document.save(&house.path().join("walk.gltf")).unwrap();
    let data = data_of(&house.path().join("walk.gltf"), 0);
    assert_eq!(listing(house.path()), [data.as_str(), "walk.glb", "walk.gltf"]);
    assert_eq!(fs::read(house.path().join(data)).unwrap(), bin);
}

#[test]
fn buffers_with_remarks_of_their_own_keep_their_home() {
    let house = house();
    let path = house.path().join("in/walk.gltf");
    let mut json = text(&path);
    fs::write(house.path().join("in/extra.bin"), [9; 8]).unwrap();
    fs::write(house.path().join("in/more.bin"), [7; 5]).unwrap();
    let buffers = json["buffers"].as_array_mut().unwrap();
    buffers.push(json!({ "uri": "extra.bin", "byteLength": 8, "extras": { "keep": true } }));
    buffers.push(json!({ "uri": "more.bin", "byteLength": 5 }));
    let views = json["bufferViews"].as_array_mut().unwrap();
    views.push(json!({ "buffer": 1, "byteLength": 8 }));
    views.push(json!({ "buffer": 2, "byteOffset": 1, "byteLength": 4,
        "extensions": { "EXT_meshopt_compression": { "buffer": 2, "byteLength": 5 }, "ACME": { "x": 1 } } }));
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let out = house.path().join("out/walk.glb");
    open(&path).save(&out).unwrap();
    let (after, bin) = unglb(&fs::read(&out).unwrap());
    assert_eq!(after["buffers"][1], json["buffers"][1]);
    assert!(house.path().join("out/extra.bin").exists() && !house.path().join("out/more.bin").exists());
    assert_eq!(after["bufferViews"][2], json!({ "buffer": 1, "byteLength": 8 }));
    assert_eq!(
        after["bufferViews"][3],
        json!({ "buffer": 0, "byteOffset": 49, "byteLength": 4,
        "extensions": { "EXT_meshopt_compression": { "buffer": 0, "byteLength": 5, "byteOffset": 48 }, "ACME": { "x": 1 } } })
    );
    assert_eq!(bin[48..53], [7; 5]);
    open(&out);
}

#[test]
fn a_different_file_in_the_way_is_an_error_and_nothing_is_left() {
    let house = house();
    let out = house.path().join("out");
    fs::write(out.join("b.png"), b"another image").unwrap();
    let mut document = open(&house.path().join("in/walk.gltf"));
    add(&mut document);
    for name in ["baked.gltf", "baked.glb"] {
        let error = document.save(&out.join(name)).unwrap_err();
        assert!(error.to_string().contains("b.png") && error.to_string().contains("differs"), "{error}");
        assert_eq!(listing(&out), ["b.png"]);
    }
    assert_eq!(fs::read(out.join("b.png")).unwrap(), b"another image");
}

#[test]
fn a_place_that_cannot_be_written_is_named_and_nothing_is_left() {
    let house = house();
    let mut document = open(&house.path().join("in/walk.gltf"));
    add(&mut document);
    let error = document.save(&house.path().join("nowhere/x.glb")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("nowhere"), "{error}");

    fs::create_dir(house.path().join("out/x.gltf")).unwrap();
    let error = document.save(&house.path().join("out/x.gltf")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("x.gltf"), "{error}");
    assert_eq!(listing(&house.path().join("out")), ["x.gltf"]);

    let error = document.save(&house.path().join("out/x.obj")).unwrap_err();
    assert!(error.to_string().contains(".gltf or .glb"), "{error}");

    // The image vanishes between opening and saving.
    fs::remove_file(house.path().join("in/b.png")).unwrap();
    let error = document.save(&house.path().join("out/y.gltf")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("b.png"), "{error}");
    assert_eq!(listing(&house.path().join("out")), ["x.gltf"]);
}

/// The folder in which this very test, run again as a child that may write only 512 bytes per file, saves.
#[cfg(target_os = "linux")]
const CRAMPED: &str = "SINEW_TEST_CRAMPED";

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_leaves_nothing() {
    if let Some(folder) = std::env::var_os(CRAMPED) {
        let folder = Path::new(&folder);
        let mut document = open(&folder.join("in/walk.gltf"));
        add(&mut document);
        for name in ["x.gltf", "x.glb"] {
            let error = document.save(&folder.join("out").join(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains(name), "{error}");
        }
        return;
    }
    let house = house();
    let child = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact saving::a_disk_that_fills_up_leaves_nothing",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(CRAMPED, house.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(listing(&house.path().join("out")).is_empty(), "{:?}", listing(&house.path().join("out")));
}

#[test]
fn images_that_lead_astray_are_left_alone() {
    let house = house();
    let path = house.path().join("in/walk.gltf");
    fs::write(house.path().join("secret.png"), b"secret").unwrap();
    let mut json = text(&path);
    json["images"] = json!([{ "uri": "../secret.png" }, { "uri": "https://x/y.png" }, { "uri": "gone.png" }, { "uri": "tex%20tures" }]);
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let document = open(&path);
    assert_eq!(document.warnings().len(), 4);
    assert!(document.warnings().iter().any(|w| w.contains("not a regular file")));
    assert!(document.warnings().iter().any(|w| w.contains("../secret.png") && w.contains("not copied")));
    let out = house.path().join("out");
    document.save(&out.join("x.gltf")).unwrap();
    assert_eq!(listing(&out), ["walk.bin", "x.gltf"]);
    assert_eq!(text(&out.join("x.gltf"))["images"], json["images"]);
}

#[test]
fn what_lies_outside_the_folder_is_not_carried_outside_another() {
    let house = house();
    fs::create_dir(house.path().join("library")).unwrap();
    fs::write(house.path().join("library/walk.bin"), walk().1).unwrap();
    let path = house.path().join("in/walk.gltf");
    let mut json = text(&path);
    json["buffers"][0]["uri"] = json!("../library/walk.bin");
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let options = ReadOptions { asset_root: Some(house.path().join("library")), ..ReadOptions::default() };
    let document = Document::open(&path, &options).unwrap();
    let error = document.save(&house.path().join("out/x.gltf")).unwrap_err();
    assert!(error.to_string().contains("../library/walk.bin"), "{error}");
    assert!(listing(&house.path().join("out")).is_empty());
    // Beside the original, and inside a GLB, it is no trouble.
    document.save(&house.path().join("in/x.gltf")).unwrap();
    document.save(&house.path().join("out/x.glb")).unwrap();
}
