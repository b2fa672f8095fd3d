//! What added morph targets look like in the file.

use crate::builder::{floats, read, unglb};
use glam::DVec3;
use serde_json::{Value, json};
use sinew_core::bake::Deformation;
use sinew_core::curve::Segments;
use sinew_core::scene::Property;
use sinew_plugin::gltf::{ClipToAdd, Document};

/// Two nodes with one mesh, a tetrahedron with a target of its own whose weight a cubic clip keys on the first.
fn pair() -> (Value, Vec<u8>) {
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].concat();
    let normals = [[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let normals: Vec<f32> =
        normals.iter().flat_map(|n| DVec3::from(*n).normalize().as_vec3().to_array()).collect();
    let raised = [[0.0; 3], [0.0; 3], [0.0, 0.5, 0.0], [0.0; 3]].concat();
    let indices: Vec<u8> =
        [0u16, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3].iter().flat_map(|i| i.to_le_bytes()).collect();
    let weights = [0.0, 0.0, 0.5, 1.0, 1.0, 0.0];
    let parts = [
        floats(&corners),
        floats(&normals),
        floats(&raised),
        floats(&[0.0; 12]),
        indices,
        floats(&[0.0, 1.0]),
        floats(&weights),
    ];
    let mut views = Vec::new();
    let mut offset = 0;
    for part in &parts {
        views.push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": part.len() }));
        offset += part.len();
    }
    let vectors = |view: usize| json!({ "bufferView": view, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-1, -1, -1], "max": [1, 1, 1] });
    let json = json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "name": "A", "mesh": 0, "weights": [0.25] }, { "name": "B", "mesh": 0 }],
        "meshes": [{
            "weights": [0.75],
            "extras": { "targetNames": ["Raised"], "mine": 1 },
            "primitives": [{
                "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 4,
                "targets": [{ "POSITION": 2, "NORMAL": 3 }]
            }]
        }],
        "buffers": [{ "byteLength": offset }],
        "bufferViews": views,
        "accessors": [
            vectors(0), vectors(1), vectors(2), vectors(3),
            { "bufferView": 4, "componentType": 5123, "count": 12, "type": "SCALAR" },
            { "bufferView": 5, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1] },
            { "bufferView": 6, "componentType": 5126, "count": 6, "type": "SCALAR" }
        ],
        "animations": [{
            "name": "Raise",
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }],
            "samplers": [{ "input": 5, "output": 6, "interpolation": "CUBICSPLINE" }]
        }]
    });
    (json, parts.concat())
}

fn deformation() -> Deformation {
    let up = |v: usize| (0..4).map(|i| if i == v { DVec3::Z * 0.25 } else { DVec3::ZERO }).collect();
    Deformation {
        node: 0,
        targets: vec![up(1), up(3)],
        times: vec![0.0, 0.5, 1.0],
        weights: vec![0.0, 0.0, 1.0, 0.5, 0.0, 0.0],
        frames: 1,
        error: 0.0,
    }
}

fn with_shapes(source: Option<usize>) -> (Document, Value, Vec<u8>) {
    let (json, bin) = pair();
    let mut document = read(&json, &bin).unwrap();
    let channel = document.add_deformation(&deformation(), source, &[0.0, 0.25, 0.5, 0.75, 1.0]).unwrap();
    document.add_clip(&ClipToAdd { name: "Soft", source, replace: false, channels: &[channel] }).unwrap();
    let (after, data) = unglb(&document.to_glb().unwrap());
    (document, after, data)
}

#[test]
fn targets_come_behind_and_a_shared_mesh_is_copied() {
    let (before, bin) = pair();
    let (_, after, data) = with_shapes(None);
    assert_eq!(data[..bin.len()], bin);
    assert_eq!(after["meshes"][0], before["meshes"][0]);
    assert_eq!((&after["nodes"][0]["mesh"], &after["nodes"][1]["mesh"]), (&json!(1), &json!(0)));
    let mesh = &after["meshes"][1];
    assert_eq!(mesh["weights"], json!([0.75, 0.0, 0.0]));
    assert_eq!(after["nodes"][0]["weights"], json!([0.25, 0.0, 0.0]));
    assert_eq!(mesh["extras"], json!({ "targetNames": ["Raised", "Sinew 2", "Sinew 3"], "mine": 1 }));
    let targets = mesh["primitives"][0]["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 3);
    assert_eq!(targets[0], before["meshes"][0]["primitives"][0]["targets"][0]);
    let accessor = |i: &Value| &after["accessors"][i.as_u64().unwrap() as usize];
    let added = accessor(&targets[1]["POSITION"]);
    assert_eq!((&added["min"], &added["max"]), (&json!([0.0, 0.0, 0.0]), &json!([0.0, 0.0, 0.25])));
    // The normal of the raised corner turns; the tetrahedron has no vertex that all its faces leave alone.
    let turned = accessor(&targets[1]["NORMAL"]);
    assert!(turned["max"][0].as_f64().unwrap() > 0.01, "{turned}");
}

#[test]
fn keyed_weights_stay_and_go_along() {
    let (document, after, data) = with_shapes(Some(0));
    let again = read(&after, &data).unwrap();
    for scene in [document.scene(), again.scene()] {
        let old = scene.clips[0].curve(0, Property::Weights).unwrap();
        assert_eq!((old.width(), old.values()), (3, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0][..]));
        assert!(
            matches!(old.segments(), Segments::Cubic { arriving, .. } if *arriving == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        );
        let new = scene.clips[1].curve(0, Property::Weights).unwrap();
        assert_eq!((new.width(), new.times().len()), (3, 5));
        for (k, &time) in new.times().iter().enumerate() {
            let mut expected = [0.0; 3];
            old.evaluate(time, &mut expected);
            let key = &new.values()[3 * k..3 * k + 3];
            assert!((key[0] - expected[0]).abs() < 1e-6, "{key:?} {expected:?}");
        }
        assert_eq!(new.values()[6..9][1..], [1.0, 0.5]);
    }
}

#[test]
fn without_keys_the_resting_weights_go_along() {
    let (document, ..) = with_shapes(None);
    let curve = document.scene().clips[1].curve(0, Property::Weights).unwrap();
    assert_eq!(curve.values(), [0.25, 0.0, 0.0, 0.25, 1.0, 0.5, 0.25, 0.0, 0.0]);
}

#[test]
fn shapes_of_another_mesh_are_refused_and_change_nothing() {
    let (json, bin) = pair();
    let mut document = read(&json, &bin).unwrap();
    let mut wrong = deformation();
    wrong.targets[0].pop();
    let error = document.add_deformation(&wrong, None, &[0.0]).unwrap_err().to_string();
    assert!(error.contains("4 vertices"), "{error}");
    assert_eq!(document.json()["meshes"], json["meshes"]);
}
