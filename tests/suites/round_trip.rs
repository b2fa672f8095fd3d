//! Saving keeps what we did not touch, adds what we did, and never makes a file less valid.
#![forbid(unsafe_code)]

use glam::DMat4;
use serde_json::{Map, Value};
use sinew_core::bake::Deformation;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Node, Property, Scene};
use sinew_core::setup::{Setup, automatic};
use sinew_plugin::gltf::{ClipToAdd, Document, PhysicsDialect, ReadOptions};
use sinew_tests::document::{RawDocument, same_meaning};
use sinew_tests::oracle::{self, khronos, three};
use sinew_tests::{sample, scratch};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// As in the evaluation suite.
const TOLERANCE: f64 = 1e-6;

/// Arrays that a new clip makes longer; what was there stays in front, or indices elsewhere would lie.
const GROWING: [&str; 4] = ["accessors", "animations", "bufferViews", "buffers"];

#[test]
fn saving_unchanged_changes_nothing() {
    if !oracle::are_installed() {
        return;
    }
    let made = scratch::folder("made");
    sample::each(&sample::gltf_files(made.path()), |path| {
        let document = match open(path) {
            Ok(document) => document,
            Err(error) => return sample::may_be_refused(path, &error),
        };
        let folder = scratch::folder("unchanged");
        let saved = save(&document, folder.path(), path)?;
        let errors = khronos::judge(&saved, path)?;
        let (before, after) = (RawDocument::open(path)?, RawDocument::open(&saved)?);
        for key in GROWING {
            if before.array(key).len() != after.array(key).len() {
                return Err(format!("{key} has {} entries now", after.array(key).len()));
            }
        }
        kept(&before, &after)?;
        same_clips(document.scene(), open(&saved)?.scene())?;
        Ok(format!("{errors} validator errors, as before"))
    });
}

#[test]
fn an_added_clip_is_there_and_all_else_as_before() {
    if !oracle::are_installed() {
        return;
    }
    let made = scratch::folder("made");
    sample::each(&sample::gltf_files(made.path()), |path| {
        let document = match open(path) {
            Ok(document) => document,
            Err(error) => return sample::may_be_refused(path, &error),
        };
        let before = RawDocument::open(path)?;
        let node = node_with_matrix(&before, false).ok_or("every node has a matrix")?;
        let folder = scratch::folder("added");
        let saved = add_clip(document, node, folder.path(), path)?;
        kept(&before, &RawDocument::open(&saved)?)?;
        let found = three::compare(&saved, open(&saved)?.scene())?.within(TOLERANCE)?;
        Ok(format!("{:>7} values as three.js has them, worst {:.1e}", found.samples, found.worst))
    });
}

/// glTF forbids curves on a node that has a matrix, so the matrix must become channels of the same meaning.
#[test]
fn a_clip_on_a_matrix_node_keeps_the_rest_pose() {
    if !oracle::are_installed() {
        return;
    }
    let with_matrix = |path: &PathBuf| {
        let raw = RawDocument::open(path).unwrap_or_else(|e| panic!("{e}"));
        node_with_matrix(&raw, true).is_some()
    };
    let made = scratch::folder("made");
    let files: Vec<_> = sample::gltf_files(made.path()).into_iter().filter(with_matrix).collect();
    sample::each(&files, |path| {
        let mut before = RawDocument::open(path)?;
        let node = node_with_matrix(&before, true).ok_or("no node has a matrix")?;
        let rest: [f64; 16] = serde_json::from_value(before.json["nodes"][node]["matrix"].clone())
            .map_err(|e| e.to_string())?;
        let folder = scratch::folder("matrix");
        let saved = add_clip(open(path)?, node, folder.path(), path)?;

        let now = DMat4::from(open(&saved)?.scene().nodes[node].local.affine());
        let off = (DMat4::from_cols_array(&rest) - now).abs();
        let off = off.to_cols_array().into_iter().fold(0.0, f64::max);
        if off > TOLERANCE {
            return Err(format!("the rest pose of node {node} is off by {off:.1e}"));
        }
        let mut after = RawDocument::open(&saved)?;
        for raw in [&mut before, &mut after] {
            let node = raw.json["nodes"][node].as_object_mut().ok_or("a node is no object")?;
            node.retain(|key, _| !["matrix", "translation", "rotation", "scale"].contains(&key.as_str()));
        }
        kept(&before, &after)?;
        Ok(format!("node {node}, off by {off:.1e}"))
    });
}

/// Scenes with physics give it back from either family; others get that of their automatic set-up.
#[test]
fn written_physics_is_valid_and_reads_as_the_same() {
    if !oracle::are_installed() {
        return;
    }
    let made = scratch::folder("made");
    sample::each(&sample::gltf_files(made.path()), |path| {
        let document = match open(path) {
            Ok(document) => document,
            Err(error) => return sample::may_be_refused(path, &error),
        };
        let read = |d: &Document| d.physics(None).map_err(|e| e.to_string());
        let own = read(&document)?.map(|p| p.setup);
        let setup = match &own {
            Some(setup) => setup.clone(),
            None => automatic(document.scene(), None).map_err(|e| e.to_string())?,
        };
        if setup.bodies.is_empty() {
            return Ok("nothing to simulate".to_owned());
        }
        let mut said = 0;
        for dialect in [PhysicsDialect::Khronos, PhysicsDialect::Omi] {
            let mut changed = document.clone();
            said += changed.set_physics(&setup, dialect).map_err(|e| e.to_string())?.len();
            let folder = scratch::folder("physics");
            let saved = save(&changed, folder.path(), path)?;
            khronos::judge(&saved, path)?;
            let (before, after) = (RawDocument::open(path)?, RawDocument::open(&saved)?);
            let nodes = before.array("nodes").len();
            kept(&without_physics(before, nodes), &without_physics(after, nodes))?;
            let again = read(&open(&saved)?)?.ok_or("there is no physics in it")?.setup;
            if own.as_ref().is_some_and(|own| *own != again) {
                return Err(format!("{dialect:?} reads as {again:#?}"));
            }
            let nodes = |s: &Setup| s.bodies.iter().map(|b| b.node.clone()).collect::<HashSet<_>>();
            if nodes(&again) != nodes(&setup) {
                return Err(format!("{dialect:?} reads as bodies {:?}", nodes(&again)));
            }
        }
        Ok(format!("{} bodies, {} joints, {said} warnings", setup.bodies.len(), setup.joints.len()))
    });
}

/// Shapes for the first mesh of triangles, whatever else the file has: targets, keyed weights, shared accessors.
#[test]
fn added_shapes_are_valid_and_all_else_as_before() {
    if !oracle::are_installed() {
        return;
    }
    let made = scratch::folder("made");
    sample::each(&sample::gltf_files(made.path()), |path| {
        let mut document = match open(path) {
            Ok(document) => document,
            Err(error) => return sample::may_be_refused(path, &error),
        };
        let scene = document.scene().clone();
        let solid = |n: &Node| n.mesh.is_some_and(|m| !scene.meshes[m].triangles.is_empty());
        let Some(node) = scene.nodes.iter().position(solid) else {
            return Ok("no mesh".to_owned());
        };
        let mesh = &scene.meshes[scene.nodes[node].mesh.expect("it has one")];
        let bump = |k: f64| mesh.positions.iter().map(|p| *p * (0.1 * (k * p.x).sin())).collect::<Vec<_>>();
        let shapes = Deformation {
            node,
            targets: vec![bump(3.0), bump(7.0)],
            times: vec![0.0, 0.5, 1.0],
            weights: vec![0.0, 0.0, 1.0, -0.5, 0.0, 0.25],
            frames: 2,
            error: 0.0,
        };
        let channel = document.add_deformation(&shapes, None, &shapes.times).map_err(|e| e.to_string())?;
        let channels = [channel];
        let clip = ClipToAdd { name: "shapes", source: None, replace: false, channels: &channels };
        let index = document.add_clip(&clip).map_err(|e| e.to_string())?;
        let folder = scratch::folder("shapes");
        let saved = save(&document, folder.path(), path)?;
        khronos::judge(&saved, path)?;
        let (before, after) = (RawDocument::open(path)?, RawDocument::open(&saved)?);
        let meshes = before.array("meshes").len();
        kept(&without_shapes(before, meshes), &without_shapes(after, meshes))?;
        let again = open(&saved)?;
        let read = again.scene().clips[index].curve(node, Property::Weights).cloned();
        if read.as_ref() != Some(&channels[0].curve) {
            return Err(format!("the weights read as {read:?}"));
        }
        let found = three::compare(&saved, again.scene())?.within(TOLERANCE)?;
        Ok(format!("{:>7} values as three.js has them, worst {:.1e}", found.samples, found.worst))
    });
}

/// A document but for what shapes change: targets, their weights, and the copy of a mesh.
fn without_shapes(mut raw: RawDocument, meshes: usize) -> RawDocument {
    let entries = |json: &mut Value, key: &str, strip: fn(&mut Map<String, Value>)| {
        let list = json.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
        list.filter_map(Value::as_object_mut).for_each(strip);
    };
    if let Some(list) = raw.json.get_mut("meshes").and_then(Value::as_array_mut) {
        list.truncate(meshes);
    }
    entries(&mut raw.json, "nodes", |node| node.retain(|key, _| key != "weights" && key != "mesh"));
    entries(&mut raw.json, "meshes", |mesh| {
        mesh.retain(|key, _| key != "weights" && key != "extras");
        let primitives = mesh.get_mut("primitives").and_then(Value::as_array_mut).into_iter().flatten();
        primitives.filter_map(Value::as_object_mut).for_each(|p| {
            p.remove("targets");
        });
    });
    // Curves are compared by their values.
    entries(&mut raw.json, "animations", |clip| clip.retain(|key, _| key != "samplers" && key != "channels"));
    raw
}

/// A document but for what physics changes: extensions of its own, and nodes for shapes and joints.
/// Frames of joints and parts of shapes are nodes of their own, after the `count` that there were.
fn without_physics(mut raw: RawDocument, count: usize) -> RawDocument {
    let old = |index: &Value| index.as_u64().is_some_and(|i| i < count as u64);
    if let Some(nodes) = raw.json.get_mut("nodes").and_then(Value::as_array_mut) {
        nodes.truncate(count);
        for node in nodes.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(children) = node.get_mut("children").and_then(Value::as_array_mut) {
                children.retain(old);
                if children.is_empty() {
                    node.remove("children");
                }
            }
        }
    }
    for scene in raw.json.get_mut("scenes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(nodes) = scene.get_mut("nodes").and_then(Value::as_array_mut) {
            nodes.retain(old);
        }
    }
    let is_physics = |name: &str| name.contains("_physics_") || name == "KHR_implicit_shapes";
    let strip = |value: &mut Value| {
        if let Some(extensions) = value.get_mut("extensions").and_then(Value::as_object_mut) {
            extensions.retain(|name, _| !is_physics(name));
            if extensions.is_empty() {
                value.as_object_mut().map(|o| o.remove("extensions"));
            }
        }
    };
    strip(&mut raw.json);
    raw.json["nodes"].as_array_mut().into_iter().flatten().for_each(strip);
    if let Some(used) = raw.json.get_mut("extensionsUsed").and_then(Value::as_array_mut) {
        used.retain(|n| !n.as_str().is_some_and(is_physics));
        if used.is_empty() {
            raw.json.as_object_mut().map(|o| o.remove("extensionsUsed"));
        }
    }
    raw
}

/// Adds a clip on `node`, saves, and returns the saved file. An error unless the clip comes back as it was given,
/// those before it stay, and the file is as valid as before.
fn add_clip(mut document: Document, node: usize, folder: &Path, original: &Path) -> Result<PathBuf, String> {
    let channels = channels_on(node);
    let scene = document.scene().clone();
    let clip = ClipToAdd { name: "harness", source: None, replace: false, channels: &channels };
    let index = document.add_clip(&clip).map_err(|e| e.to_string())?;
    let saved = save(&document, folder, original)?;
    khronos::judge(&saved, original)?;

    let reopened = open(&saved)?.scene().clone();
    same_clips(&scene, &reopened)?;
    if reopened.clips.len() != scene.clips.len() + 1 || index != scene.clips.len() {
        return Err(format!("{} clips became {}", scene.clips.len(), reopened.clips.len()));
    }
    let added = &reopened.clips[index];
    if added.name != clip.name || added.channels.len() != channels.len() {
        return Err(format!("the new clip reads as \"{}\", {} channels", added.name, added.channels.len()));
    }
    // The keys are exact in 32 bits, so they must come back exactly.
    match channels.iter().find(|c| added.curve(c.node, c.property) != Some(&c.curve)) {
        Some(channel) => Err(format!("{:?} came back changed: {added:?}", channel.property)),
        None => Ok(saved),
    }
}

/// The first node that has a matrix, or the first that has none.
fn node_with_matrix(raw: &RawDocument, has: bool) -> Option<usize> {
    raw.array("nodes").iter().position(|node| node.get("matrix").is_some() == has)
}

fn open(path: &Path) -> Result<Document, String> {
    Document::open(path, &ReadOptions::default()).map_err(|e| e.to_string())
}

/// Saves under the original's name in `folder`, twice: the bytes must not depend on the run, and the original
/// must not be touched.
fn save(document: &Document, folder: &Path, original: &Path) -> Result<PathBuf, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let source = read(original)?;
    let mut files = Vec::new();
    for pass in ["first", "second"] {
        let folder = folder.join(pass);
        std::fs::create_dir(&folder).map_err(|e| e.to_string())?;
        let file = folder.join(original.file_name().ok_or("the sample has no name")?);
        document.save(&file).map_err(|e| e.to_string())?;
        files.push(file);
    }
    if read(&files[0])? != read(&files[1])? {
        return Err("saving twice gives different bytes".to_owned());
    }
    if read(original)? != source {
        return Err("saving changed the original".to_owned());
    }
    Ok(files.swap_remove(0))
}

/// Every part of `before` is in `after`: JSON by its meaning, buffers and images by their bytes.
fn kept(before: &RawDocument, after: &RawDocument) -> Result<(), String> {
    let object = |raw: &RawDocument| raw.json.as_object().cloned().ok_or("the JSON is no object");
    let (old, new) = (object(before)?, object(after)?);
    for (key, old) in &old {
        let new = new.get(key).ok_or_else(|| format!("{key} is gone"))?;
        if old.is_array() && new.is_array() {
            kept_entries(key, before, after)?;
        } else if !same_meaning(&without(old, key), &without(new, key)) {
            return Err(format!("{key} changed from {old} to {new}"));
        }
    }
    if let Some(key) = new.keys().find(|key| !old.contains_key(*key) && !GROWING.contains(&key.as_str())) {
        return Err(format!("{key} is new"));
    }
    for index in 0..before.array("buffers").len() {
        if let Some(old) = before.buffer(index)? {
            let new = after.buffer(index)?.ok_or_else(|| format!("buffer {index} lost its data"))?;
            if !new.starts_with(&old) {
                return Err(format!("the bytes of buffer {index} changed"));
            }
        }
    }
    for (index, (old, new)) in before.array("images").iter().zip(after.array("images")).enumerate() {
        if let (Some(old), Some(new)) = (old["uri"].as_str(), new["uri"].as_str())
            && before.resource(old)? != after.resource(new)?
        {
            return Err(format!("the bytes of image {index} changed"));
        }
    }
    Ok(())
}

fn kept_entries(key: &str, before: &RawDocument, after: &RawDocument) -> Result<(), String> {
    let (old, new) = (before.array(key), after.array(key));
    if new.len() < old.len() || (new.len() > old.len() && !GROWING.contains(&key)) {
        return Err(format!("{key} had {} entries and has {}", old.len(), new.len()));
    }
    for (index, (old, new)) in old.iter().zip(new).enumerate() {
        if !same_meaning(&without(old, key), &without(new, key)) {
            return Err(format!("{key} {index} changed from {old} to {new}"));
        }
    }
    Ok(())
}

/// An entry without what may change: where bytes lie is judged by the bytes, and a program may sign its work.
fn without(entry: &Value, key: &str) -> Value {
    let may_change: &[&str] = match key {
        "buffers" => &["uri", "byteLength"],
        "images" => &["uri"],
        "asset" => &["generator"],
        _ => &[],
    };
    let mut entry = entry.clone();
    if let Some(object) = entry.as_object_mut() {
        object.retain(|name, _| !may_change.contains(&name.as_str()));
    }
    entry
}

/// The clips of `before` are the first of `after`.
fn same_clips(before: &Scene, after: &Scene) -> Result<(), String> {
    for (index, old) in before.clips.iter().enumerate() {
        let new = after.clips.get(index).ok_or_else(|| format!("clip {index} is gone"))?;
        let same = old.name == new.name
            && old.channels.len() == new.channels.len()
            && old.channels.iter().all(|c| new.curve(c.node, c.property) == Some(&c.curve));
        if !same {
            return Err(format!("clip {index} \"{}\" changed", old.name));
        }
    }
    Ok(())
}

/// One curve of each interpolation.
fn channels_on(node: usize) -> Vec<Channel> {
    let channel = |property, kind, width, values: &[f64], segments| Channel {
        node,
        property,
        curve: Curve::new(kind, width, vec![0.0, 0.25, 1.5], values.to_vec(), segments)
            .expect("these keys are good"),
    };
    let move_keys = [0.0, 0.0, 0.0, 1.0, 0.5, -2.0, 0.25, 0.0, 4.0];
    let (arriving, leaving) = (vec![0.5; 9], vec![-0.75; 9]);
    let turn_keys = [0.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0];
    let scale_keys = [1.0, 1.0, 1.0, 2.0, 0.5, 1.0, 1.0, 0.25, 1.0];
    vec![
        channel(Property::Translation, Kind::Vector, 3, &move_keys, Segments::Cubic { arriving, leaving }),
        channel(Property::Rotation, Kind::Rotation, 4, &turn_keys, Segments::Linear),
        channel(Property::Scale, Kind::Vector, 3, &scale_keys, Segments::Step),
    ]
}
