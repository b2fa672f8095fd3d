//! Files that point where they should not: nothing outside the scene's folder is read.

use crate::builder::walk;
use serde_json::json;
use sinew_plugin::gltf::{Document, Error, ErrorKind, ReadOptions};
use std::fs;
use std::path::Path;

/// A folder `scene` beside a folder `secret`, both with the walk's data in `data.bin`.
fn house() -> tempfile::TempDir {
    let house = tempfile::tempdir().unwrap();
    for room in ["scene", "secret"] {
        fs::create_dir(house.path().join(room)).unwrap();
        fs::write(house.path().join(room).join("data.bin"), walk().1).unwrap();
    }
    house
}

fn open(house: &Path, uri: &str, options: &ReadOptions) -> Result<Document, Error> {
    let (mut json, _) = walk();
    json["buffers"][0]["uri"] = json!(uri);
    let path = house.join("scene/walk.gltf");
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    Document::open(&path, options)
}

fn refused(house: &Path, uri: &str, part: &str) {
    let error = open(house, uri, &ReadOptions::default()).map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("buffer 0") && text.contains(part), "{uri}: {text}");
    assert!(text.contains("walk.gltf"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Input, "{text}");
}

#[test]
fn files_beside_the_scene_are_read_however_they_are_spelt() {
    let house = house();
    fs::create_dir(house.path().join("scene/sub dir")).unwrap();
    fs::write(house.path().join("scene/sub dir/d é.bin"), walk().1).unwrap();
    for uri in [
        "data.bin",
        "./data.bin",
        "%64ata.bin",
        "sub%20dir/d%20%C3%A9.bin",
        "sub dir/d é.bin",
        "sub dir/../data.bin",
    ] {
        let document = open(house.path(), uri, &ReadOptions::default()).unwrap();
        assert_eq!(document.scene().clips[0].channels.len(), 1, "{uri}");
    }
}

#[test]
fn ways_out_of_the_folder_are_closed() {
    let house = house();
    let absolute = house.path().join("secret/data.bin");
    for uri in
        ["../secret/data.bin", "%2e%2e/secret/data.bin", "..%2Fsecret%2Fdata.bin", "x/../../secret/data.bin"]
    {
        refused(house.path(), uri, "outside the scene's folder");
    }
    refused(house.path(), absolute.to_str().unwrap(), "outside the scene's folder");
    refused(house.path(), &absolute.to_str().unwrap().replace('/', "%2F"), "outside the scene's folder");
    for uri in ["http://localhost/data.bin", "HTTPS://x/d", "C:/data.bin"] {
        refused(house.path(), uri, "scheme");
    }
    refused(house.path(), &format!("file://{}", absolute.display()), "scheme");
    refused(house.path(), "..\\secret\\data.bin", "character");
    refused(house.path(), "data.bin%00.png", "character");
    refused(house.path(), "%FF.bin", "UTF-8");
    refused(house.path(), "", "names no file");
    refused(house.path(), ".", "names no file");
    refused(house.path(), "data:;base64,!!!!", "base64");
    refused(house.path(), "data:;base64,AAAA", "cut short");
}

#[cfg(unix)]
#[test]
fn links_devices_folders_and_pipes_are_not_followed() {
    use std::os::unix::fs::symlink;
    let house = house();
    let scene = house.path().join("scene");
    symlink(house.path().join("secret/data.bin"), scene.join("link.bin")).unwrap();
    symlink(house.path().join("secret"), scene.join("room")).unwrap();
    symlink("/dev/zero", scene.join("zero.bin")).unwrap();
    symlink("data.bin", scene.join("inside.bin")).unwrap();
    symlink("loop.bin", scene.join("loop.bin")).unwrap();
    fs::create_dir(scene.join("folder.bin")).unwrap();
    refused(house.path(), "link.bin", "outside the scene's folder");
    refused(house.path(), "room/data.bin", "outside the scene's folder");
    refused(house.path(), "zero.bin", "outside the scene's folder");
    refused(house.path(), "folder.bin", "not a regular file");
    open(house.path(), "inside.bin", &ReadOptions::default()).unwrap();
    open(house.path(), "loop.bin", &ReadOptions::default()).map(|_| ()).unwrap_err();
    if std::process::Command::new("mkfifo").arg(scene.join("pipe.bin")).status().is_ok_and(|s| s.success()) {
        refused(house.path(), "pipe.bin", "not a regular file");
    }
    let device = Document::open(Path::new("/dev/zero"), &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert!(device.to_string().contains("/dev/zero is not a regular file"));
    // Even with the root permitted, a device is none.
    let anywhere = ReadOptions { asset_root: Some("/".into()), ..ReadOptions::default() };
    let error = open(house.path(), "zero.bin", &anywhere).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn an_asset_root_opens_that_folder_and_no_other() {
    let house = house();
    fs::create_dir(house.path().join("other")).unwrap();
    fs::write(house.path().join("other/data.bin"), walk().1).unwrap();
    let options = ReadOptions { asset_root: Some(house.path().join("secret")), ..ReadOptions::default() };
    open(house.path(), "../secret/data.bin", &options).unwrap();
    open(house.path(), "data.bin", &options).unwrap();
    let error = open(house.path(), "../other/data.bin", &options).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("outside"), "{error}");
}

#[test]
fn a_missing_file_is_the_systems_fault_and_a_short_one_the_documents() {
    let house = house();
    let error = open(house.path(), "gone.bin", &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("buffer 0: \"gone.bin\""), "{error}");
    fs::write(house.path().join("scene/short.bin"), [0; 47]).unwrap();
    refused(house.path(), "short.bin", "only 47 are there");
    let gone =
        Document::open(&house.path().join("nothing.glb"), &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Io);
    assert!(gone.to_string().contains("nothing.glb"), "{gone}");
}

#[test]
fn a_document_from_memory_reads_no_files() {
    let (mut json, _) = walk();
    json["buffers"][0]["uri"] = json!("data.bin");
    let bytes = serde_json::to_vec(&json).unwrap();
    let error = Document::from_bytes(&bytes, "live", None, &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("without a folder"), "{error}");
}
