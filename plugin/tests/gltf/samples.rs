//! Every file, made or real, opened, saved in both containers and opened again: what it says stays the same, and a clip
//! added to it disturbs nothing.

use crate::builder::channel;
use serde_json::{Value, json};
use sinew_core::curve::Segments;
use sinew_core::rig::frame_rate;
use sinew_core::scene::{Channel, Local, Property, Scene};
use sinew_plugin::gltf::{ClipToAdd, Document, ReadOptions};
use sinew_tests::document::RawDocument;
use sinew_tests::made::character::Character;
use sinew_tests::{made, sample, scratch, skip};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of real glTF files, where there is one.
pub fn folder() -> Option<PathBuf> {
    sample::folder().map(|f| f.join("gltf"))
}

/// The real characters, where there are any, by name.
pub fn characters() -> Vec<PathBuf> {
    sample::folder()
        .map_or_else(Vec::new, |f| sample::with_extension(&f.join("characters"), &["glb", "gltf"]))
}

/// Opens a file, or checks that the refusal is the one it deserves.
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
    let raw = RawDocument::open(path).unwrap();
    let count = raw.array("buffers").len();
    let buffers = (0..count).map(|i| raw.buffer(i).unwrap().unwrap_or_default()).collect();
    (raw.json, buffers)
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
fn every_file_survives_both_containers() {
    let made = scratch::folder("containers");
    for path in sample::gltf_files(made.path()) {
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
    let made = scratch::folder("added");
    for path in sample::gltf_files(made.path()) {
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
            let appended = ["buffers", "bufferViews", "accessors", "animations"];
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
fn made_files_read_as_they_were_meant() {
    let made = scratch::folder("meant");
    let read = |path: &Path| Document::open(path, &ReadOptions::default()).unwrap();
    for character in Character::all() {
        let document = read(&character.write(made.path()));
        let scene = document.scene();
        let names: Vec<&str> = scene.clips.iter().map(|c| c.name.as_str()).collect();
        let takes: Vec<&str> = character.takes.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, takes, "{}", character.name);
        let (skeleton, skin) = (character.skeleton(), character.skin());
        assert_eq!(scene.skins[0].joints.len(), skeleton.bones.len(), "{}", character.name);
        assert_eq!(scene.meshes[0].triangles.len(), skin.triangles.len(), "{}", character.name);
        assert!(document.warnings().is_empty(), "{}: {:?}", character.name, document.warnings());
        // Every key of every bone, to the precision of a file.
        for (take, clip) in character.takes.iter().zip(&scene.clips) {
            let (keys, every) = (character.keys(take), take.held.unwrap_or(1));
            if every == 1 {
                assert_eq!(frame_rate(clip), character.frames_per_second, "{} {}", character.name, take.name);
            }
            for (bone, b) in skeleton.bones.iter().enumerate() {
                let curve = clip.curve(scene.find(&b.name).unwrap(), Property::Rotation).unwrap();
                let stepped = matches!(curve.segments(), Segments::Step);
                assert_eq!(stepped, take.held.is_some(), "{} {}", character.name, take.name);
                assert_eq!(
                    curve.times().len(),
                    keys.len().div_ceil(every),
                    "{} {}",
                    character.name,
                    take.name
                );
                for (k, time) in curve.times().iter().enumerate() {
                    let exact = keys[k * every][bone].1;
                    let off = 1.0 - curve.quaternion(*time).dot(exact).abs();
                    assert!(off < 1e-6, "{} {} {} at {time} s", character.name, take.name, b.name);
                }
            }
        }
    }

    let kept = read(&made::kept(made.path()));
    let times = |clip: usize| kept.scene().clips[clip].channels[0].curve.times().to_vec();
    let single = |t: &[f32]| t.iter().map(|t| f64::from(*t)).collect::<Vec<f64>>();
    assert_eq!((times(0), times(1)), (single(&[0.0, 0.3, 0.7, 2.0]), single(&[0.0, 0.5, 0.7, 2.0])));
    assert!(kept.json()["extensions"][made::UNKNOWN].is_object());

    let rope = read(&made::rope(made.path()));
    assert!(rope.json()["extensions"]["OMI_physics_joint"].is_object() && rope.scene().clips.is_empty());
}

#[test]
fn samples_read_as_their_authors_meant() {
    let Some(folder) = folder() else { return skip::rightly("there are no sample files") };
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
    let Some(folder) = folder() else { return skip::rightly("there are no sample files") };
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
