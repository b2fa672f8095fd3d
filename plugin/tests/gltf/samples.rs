//! Every real file, opened, saved in both containers and opened again: what it says stays the same, and a clip
//! added to it disturbs nothing.

use crate::builder::{channel, unglb};
use serde_json::{Value, json};
use sinew_core::curve::Segments;
use sinew_core::scene::{Channel, Local, Property, Scene};
use sinew_plugin::gltf::{ClipToAdd, Document, ReadOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of real files: `SINEW_TEST_DATA`, or `shared/data` beside the workspace. Absent, tests that need
/// it pass with a note, except where `CI` is set.
pub fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("SINEW_TEST_DATA").map_or(beside, PathBuf::from).join("gltf");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no sample files in {}; set SINEW_TEST_DATA", folder.display());
    println!("skipped: no sample files in {}", folder.display());
    None
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "gltf" || e == "glb") {
            out.push(path);
        }
    }
}

/// The characters beside the folder, by name.
pub fn characters() -> Vec<PathBuf> {
    let mut out = Vec::new();
    if let Some(folder) = folder() {
        collect(&folder.with_file_name("characters"), &mut out);
    }
    out.sort();
    out
}

/// All scenes in the folder, by name.
pub fn files() -> Vec<PathBuf> {
    let mut out = Vec::new();
    if let Some(folder) = folder() {
        collect(&folder, &mut out);
        assert!(out.len() >= 13, "{} sample files", out.len());
    }
    out.sort();
    out
}

/// Opens a sample, or checks that the refusal is the one it deserves.
pub fn open(path: &Path) -> Option<Document> {
    match Document::open(path, &ReadOptions::default()) {
        Ok(document) => Some(document),
        Err(e) => {
            assert!(path.to_string_lossy().contains("-Meshopt"), "{e}");
            assert!(e.to_string().contains("KHR_meshopt_compression"), "{e}");
            None
        }
    }
}

/// A file's JSON and the bytes of each of its buffers, read without the code under test.
pub fn raw(path: &Path) -> (Value, Vec<Vec<u8>>) {
    use base64::Engine;
    let bytes = std::fs::read(path).unwrap();
    let (json, bin): (Value, _) = match path.extension().unwrap().to_str() {
        Some("glb") => unglb(&bytes),
        _ => (serde_json::from_slice(&bytes).unwrap(), Vec::new()),
    };
    let load = |buffer: &Value| match buffer["uri"].as_str() {
        None => bin.clone(),
        Some(uri) => match uri.strip_prefix("data:").and_then(|u| u.split_once("base64,")) {
            Some((_, data)) => base64::prelude::BASE64_STANDARD.decode(data).unwrap(),
            None => std::fs::read(path.parent().unwrap().join(uri)).unwrap(),
        },
    };
    let buffers = json["buffers"].as_array().unwrap().iter().map(load).collect();
    (json, buffers)
}

/// The bytes that a bufferView, or a compression extension inside one, refers to.
fn bytes_of<'a>(reference: &Value, buffers: &'a [Vec<u8>]) -> &'a [u8] {
    let size = |key: &str| reference[key].as_u64().unwrap_or(0) as usize;
    &buffers[size("buffer")][size("byteOffset")..][..size("byteLength")]
}

/// Checks that `after` says all that `before` says: the same JSON apart from where buffers are and what was
/// appended, and the same bytes behind every view.
fn assert_kept(before: &Path, after: &Path, appended: &[&str]) {
    let ((old, old_buffers), (new, new_buffers)) = (raw(before), raw(after));
    let keys = |json: &Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in keys(&old) {
        match key.as_str() {
            "buffers" => {}
            "bufferViews" => {
                let views = |json: &Value| json["bufferViews"].as_array().unwrap().clone();
                for (i, (a, b)) in views(&old).iter().zip(views(&new)).enumerate() {
                    assert_eq!(bytes_of(a, &old_buffers), bytes_of(&b, &new_buffers), "view {i}");
                    for (name, extension) in a["extensions"].as_object().into_iter().flatten() {
                        let moved = &b["extensions"][name];
                        assert_eq!(bytes_of(extension, &old_buffers), bytes_of(moved, &new_buffers), "{i}");
                    }
                    assert_eq!(without_place(a), without_place(&b), "view {i}");
                }
                let grown = usize::from(appended.contains(&"bufferViews"));
                assert_eq!(views(&old).len() + grown, views(&new).len());
            }
            "nodes" if !appended.is_empty() => {
                for (old, new) in
                    old["nodes"].as_array().unwrap().iter().zip(new["nodes"].as_array().unwrap())
                {
                    // A matrix under a new curve became channels; the scene, compared elsewhere, says the same.
                    let freed = old.get("matrix").is_some() && new.get("matrix").is_none();
                    assert_eq!(unplaced(old, freed), unplaced(new, freed));
                }
            }
            key if appended.contains(&key) => {
                let list = |json: &Value| json[key].as_array().unwrap().clone();
                assert!(list(&new).len() > list(&old).len(), "{key}");
                assert_eq!(list(&old)[..], list(&new)[..list(&old).len()], "{key}");
            }
            key => assert_eq!(old[key], new[key], "{key}"),
        }
    }
    for key in keys(&new) {
        assert!(old.get(&key).is_some() || appended.contains(&key.as_str()), "{key} is new");
    }
}

fn unplaced(node: &Value, freed: bool) -> Value {
    let mut node = node.clone();
    if freed {
        let object = node.as_object_mut().unwrap();
        ["matrix", "translation", "rotation", "scale"].iter().for_each(|key| drop(object.shift_remove(*key)));
    }
    node
}

fn without_place(view: &Value) -> Value {
    let mut view = view.clone();
    for key in ["buffer", "byteOffset"] {
        view.as_object_mut().unwrap().shift_remove(key);
    }
    for (_, extension) in view["extensions"].as_object_mut().into_iter().flatten() {
        *extension = without_place(extension);
    }
    if view["extensions"].is_null() {
        view.as_object_mut().unwrap().shift_remove("extensions");
    }
    view
}

fn assert_same_scene(a: &Scene, b: &Scene) {
    assert_eq!(format!("{:?}", a.nodes), format!("{:?}", b.nodes));
    assert_eq!(format!("{:?}", a.meshes), format!("{:?}", b.meshes));
    assert_eq!(format!("{:?}", a.skins), format!("{:?}", b.skins));
    assert_eq!(a.clips.len(), b.clips.len());
    for (a, b) in a.clips.iter().zip(&b.clips) {
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
    }
}

/// Where a test's files go: `SINEW_TEST_OUT` keeps them for the validator, else a folder that vanishes.
fn out_folder(name: &str) -> (PathBuf, Option<tempfile::TempDir>) {
    match std::env::var_os("SINEW_TEST_OUT") {
        Some(folder) => {
            let folder = PathBuf::from(folder).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            (folder, None)
        }
        None => {
            let folder = tempfile::tempdir().unwrap();
            (folder.path().to_owned(), Some(folder))
        }
    }
}

/// A name of its own for each sample's output.
fn label(path: &Path) -> String {
    let mut parts = path.iter().rev().map(|p| p.to_string_lossy().into_owned());
    let (file, parent) = (parts.next().unwrap(), parts.next().unwrap());
    format!("{parent}-{file}")
}

#[test]
fn every_sample_survives_both_containers() {
    for path in files() {
        let Some(document) = open(&path) else { continue };
        let (folder, _guard) = out_folder(&format!("plain-{}", label(&path)));
        for name in ["out.gltf", "out.glb"] {
            // A folder each: the data of one must not be found by the other.
            let folder = folder.join(&name[4..]);
            std::fs::create_dir_all(&folder).unwrap();
            let saved = folder.join(name);
            document.save(&saved).unwrap();
            assert_kept(&path, &saved, &[]);
            let again = Document::open(&saved, &ReadOptions::default()).unwrap();
            assert_same_scene(document.scene(), again.scene());
            if path.extension() == saved.extension() {
                assert_eq!(raw(&path), raw(&saved), "nothing at all changes in {}", path.display());
            }
        }
    }
}

#[test]
fn an_added_clip_disturbs_nothing_and_comes_back() {
    for path in files() {
        let Some(mut document) = open(&path) else { continue };
        let before = document.scene().clone();
        let movable = |n: &usize| matches!(before.nodes[*n].local, Local::Channels(_));
        let nodes: Vec<usize> = (0..before.nodes.len()).filter(movable).take(3).collect();
        let cubic =
            |width: usize| Segments::Cubic { arriving: vec![0.5; 2 * width], leaving: vec![-0.5; 2 * width] };
        let mut channels = vec![channel(nodes[0], Property::Rotation, Segments::Linear)];
        channels.push(channel(nodes[0], Property::Translation, cubic(3)));
        if let Some(&node) = nodes.get(1) {
            channels.push(channel(node, Property::Scale, Segments::Step));
        }
        let weights = |c: &&Channel| c.property == Property::Weights;
        channels.extend(before.clips.iter().flat_map(|c| &c.channels).find(weights).cloned());
        let source = (!before.clips.is_empty()).then_some(0);
        let bake = ClipToAdd { name: "Baked", source, replace: false, channels: &channels };
        let at = document.add_clip(&bake).unwrap();
        assert_eq!(at, before.clips.len());

        let has_matrix = |n: usize| document.json()["nodes"][n].get("matrix").is_some();
        assert!(!has_matrix(nodes[0]));
        for name in ["baked.gltf", "baked.glb"] {
            let (folder, _guard) = out_folder(&format!("{}-{}", &name[6..], label(&path)));
            let saved = folder.join(name);
            document.save(&saved).unwrap();
            let appended = ["bufferViews", "accessors", "animations"];
            assert_kept(&path, &saved, &appended);
            crate::judge::assert_agrees(&saved);
            let again = Document::open(&saved, &ReadOptions::default()).unwrap();
            let mut expected = before.clone();
            expected.clips.push(again.scene().clips[at].clone());
            assert_same_scene(&expected, again.scene());
            let clip = &again.scene().clips[at];
            assert_eq!(clip.name, "Baked");
            for c in &channels {
                let curve = clip.curve(c.node, c.property).unwrap();
                assert_eq!(curve.times(), c.curve.times());
                for (a, b) in curve.values().iter().zip(c.curve.values()) {
                    assert!((a - b).abs() < 1e-6);
                }
                assert_eq!(
                    std::mem::discriminant(curve.segments()),
                    std::mem::discriminant(c.curve.segments())
                );
            }
            if let Some(source) = source {
                for c in &before.clips[source].channels {
                    let baked = channels.iter().any(|b| b.node == c.node && b.property == c.property);
                    assert!(baked || clip.curve(c.node, c.property) == Some(&c.curve));
                }
            }
        }
    }
}

#[test]
fn samples_read_as_their_authors_meant() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| Document::open(&folder.join(name), &ReadOptions::default()).unwrap();

    let fox = read("Fox.glb");
    let names: Vec<&str> = fox.scene().clips.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Survey", "Walk", "Run"]);
    assert_eq!(fox.scene().skins[0].joints.len(), 24);
    assert_eq!(fox.scene().meshes[0].triangles.len(), 576);
    assert_eq!(fox.scene().frames_per_second, 24.0);
    assert_eq!(fox.scene().name, "Fox");
    assert!(fox.warnings().is_empty(), "{:?}", fox.warnings());

    let robot = read("RobotExpressive.glb");
    assert_eq!(robot.scene().clips.len(), 14);
    let weights = |s: &Scene| {
        s.clips.iter().flat_map(|c| &c.channels).filter(|c| c.property == Property::Weights).count()
    };
    assert!(weights(robot.scene()) > 0);

    let interpolation = read("InterpolationTest.glb");
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for channel in interpolation.scene().clips.iter().flat_map(|c| &c.channels) {
        let kind = format!("{:?}", channel.curve.segments());
        *kinds.entry(kind.chars().take(4).collect()).or_default() += 1;
    }
    let expected = [("Cubi", 3), ("Line", 3), ("Step", 3)].map(|(k, n)| (k.to_owned(), n));
    assert_eq!(kinds, BTreeMap::from(expected));

    // A sparse accessor replaces one key time.
    let sparse = read("Accessor_Sparse_00/Accessor_Sparse_00.gltf");
    assert_eq!(sparse.scene().clips[0].channels.len(), 2);
    let times = |i: usize| sparse.scene().clips[0].channels[i].curve.times().to_vec();
    assert_ne!(times(0), times(1));

    // Normalised integers are unit quaternions already, to their own precision.
    for name in [
        "Animation_SamplerType_01/Animation_SamplerType_01.gltf",
        "Accessor_SparseType_04/Accessor_SparseType_04.gltf",
    ] {
        let document = read(name);
        let curve = &document.scene().clips[0].channels[0].curve;
        assert_eq!(curve.width(), 4);
        assert!(curve.values().iter().any(|&v| v.abs() > 0.1 && v.abs() < 0.99), "{:?}", curve.values());
    }

    let rope = read("hanging_rope/hanging_rope.gltf");
    assert!(rope.json()["extensions"]["OMI_physics_joint"].is_object());
    assert!(rope.scene().clips.is_empty());
}

#[test]
fn compressed_samples_give_what_they_can_and_name_the_extension() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| Document::open(&folder.join(name), &ReadOptions::default());

    let draco = read("RiggedSimple-Draco/RiggedSimple.gltf").unwrap();
    let mesh = &draco.scene().meshes[0];
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (2, 0));
    assert!(mesh.positions[0].cmplt(mesh.positions[1]).all(), "{:?}", mesh.positions);
    assert!(!draco.scene().clips[0].channels.is_empty());
    assert!(
        draco.warnings().iter().any(|w| w.contains("KHR_draco_mesh_compression")),
        "{:?}",
        draco.warnings()
    );

    let fallback = read("MeshoptCubeTest/MeshoptCubeTest.gltf").unwrap();
    assert!(fallback.scene().meshes.iter().all(|m| !m.triangles.is_empty()));
    assert!(!fallback.scene().clips.is_empty());

    let error = read("MeshoptCubeTest-Meshopt/MeshoptCubeTest.gltf").map(|_| ()).unwrap_err();
    let text = error.to_string();
    for part in ["MeshoptCubeTest.gltf", "animation 0", "channel", "KHR_meshopt_compression", "export"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(json!(text.lines().count()), json!(1));
}
