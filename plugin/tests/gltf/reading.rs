//! What each construct of the format means, on documents small enough to know the answer.

use crate::builder::{floats, read, sampled, walk};
use glam::{DMat4, DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::curve::Segments;
use sinew_core::scene::{Local, Property};
use sinew_plugin::gltf::Document;

fn values(document: &Document) -> &[f64] {
    document.scene().clips[0].channels[0].curve.values()
}

#[test]
fn linear_keys_step_keys_and_cubic_tangents_are_told_apart() {
    let output = json!({ "componentType": 5126, "count": 2, "type": "VEC3" });
    let two = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (json, bin) = sampled("translation", "STEP", &[0.5, 2.0], output, &two);
    let document = read(&json, &bin).unwrap();
    let curve = &document.scene().clips[0].channels[0].curve;
    assert_eq!((curve.segments(), curve.start(), curve.end()), (&Segments::Step, 0.5, 2.0));
    assert_eq!(curve.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

    let output = json!({ "componentType": 5126, "count": 6, "type": "VEC3" });
    let six: Vec<f32> = (0..18).map(|i| i as f32).collect();
    let (json, bin) = sampled("scale", "CUBICSPLINE", &[0.0, 1.0], output, &floats(&six));
    let document = read(&json, &bin).unwrap();
    let curve = &document.scene().clips[0].channels[0].curve;
    assert_eq!(curve.values(), [3.0, 4.0, 5.0, 12.0, 13.0, 14.0]);
    let tangents = Segments::Cubic {
        arriving: vec![0.0, 1.0, 2.0, 9.0, 10.0, 11.0],
        leaving: vec![6.0, 7.0, 8.0, 15.0, 16.0, 17.0],
    };
    assert_eq!(curve.segments(), &tangents);
}

#[test]
fn every_normalised_integer_type_gives_the_same_rotation() {
    // A half turn about y and the identity, in each type's own units.
    let cases: [(u32, Vec<u8>); 4] = [
        (5120, [0_i8, 127, 0, 0, 0, 0, 0, 127].map(|v| v as u8).to_vec()),
        (5121, vec![0, 255, 0, 0, 0, 0, 0, 255]),
        (5122, [0_i16, 32767, 0, 0, 0, 0, 0, 32767].iter().flat_map(|v| v.to_le_bytes()).collect()),
        (5123, [0_u16, 65535, 0, 0, 0, 0, 0, 65535].iter().flat_map(|v| v.to_le_bytes()).collect()),
    ];
    for (component, bytes) in cases {
        let output = json!({ "componentType": component, "normalized": true, "count": 2, "type": "VEC4" });
        let (json, bin) = sampled("rotation", "LINEAR", &[0.0, 1.0], output, &bytes);
        let document = read(&json, &bin).unwrap();
        assert_eq!(values(&document), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "{component}");
    }
    // The most negative integer stands for -1, not for a little more.
    let output = json!({ "componentType": 5120, "normalized": true, "count": 2, "type": "SCALAR" });
    let (json, bin) = sampled("weights", "LINEAR", &[0.0, 1.0], output, &[0x80, 0x40]);
    assert_eq!(values(&read(&json, &bin).unwrap()), [-1.0, 64.0 / 127.0]);
}

#[test]
fn weights_have_as_many_numbers_per_key_as_the_counts_say() {
    let output = json!({ "componentType": 5126, "count": 6, "type": "SCALAR" });
    let numbers = floats(&[0.0, 0.1, 0.2, 1.0, 0.9, 0.8]);
    let (json, bin) = sampled("weights", "LINEAR", &[0.0, 1.0], output, &numbers);
    let document = read(&json, &bin).unwrap();
    assert_eq!(document.scene().clips[0].channels[0].curve.width(), 3);
    assert_eq!(document.scene().clips[0].channels[0].property, Property::Weights);
}

#[test]
fn strided_and_offset_data_is_picked_out() {
    let output = json!({ "componentType": 5126, "count": 2, "type": "VEC3", "byteOffset": 4 });
    let row = |a: f32| [-1.0, a, a + 1.0, a + 2.0, -2.0];
    let (mut json, bin) =
        sampled("translation", "LINEAR", &[0.0, 1.0], output, &floats(&[row(1.0), row(5.0)].concat()));
    json["bufferViews"][1]["byteStride"] = json!(20);
    assert_eq!(values(&read(&json, &bin).unwrap()), [1.0, 2.0, 3.0, 5.0, 6.0, 7.0]);
}

/// Adds a sparse part that replaces element 1 by 7 8 9.
fn with_sparse(mut json: Value, mut bin: Vec<u8>) -> (Value, Vec<u8>) {
    let at = bin.len();
    bin.extend([1, 0, 0, 0]);
    bin.extend(floats(&[7.0, 8.0, 9.0]));
    json["buffers"][0]["byteLength"] = json!(bin.len());
    let views = json["bufferViews"].as_array_mut().unwrap();
    views.push(json!({ "buffer": 0, "byteOffset": at, "byteLength": 4 }));
    views.push(json!({ "buffer": 0, "byteOffset": at + 4, "byteLength": 12 }));
    json["accessors"][1]["sparse"] = json!({
        "count": 1,
        "indices": { "bufferView": 2, "componentType": 5123 },
        "values": { "bufferView": 3 }
    });
    (json, bin)
}

#[test]
fn sparse_values_replace_those_of_the_view_or_zeros() {
    let (json, bin) = walk();
    let (mut json, bin) = with_sparse(json, bin);
    assert_eq!(values(&read(&json, &bin).unwrap()), [0.0, 0.0, 0.0, 7.0, 8.0, 9.0, 4.0, 5.0, 6.0]);
    json["accessors"][1].as_object_mut().unwrap().remove("bufferView");
    assert_eq!(values(&read(&json, &bin).unwrap()), [0.0, 0.0, 0.0, 7.0, 8.0, 9.0, 0.0, 0.0, 0.0]);
}

#[test]
fn channels_we_do_not_read_are_named_and_the_rest_is_read() {
    let (mut json, bin) = walk();
    let channels = json["animations"][0]["channels"].as_array_mut().unwrap();
    channels.push(json!({ "sampler": 0, "target": { "path": "translation" } }));
    channels.push(json!({ "sampler": 0, "target": { "path": "pointer",
        "extensions": { "KHR_animation_pointer": { "pointer": "/materials/0/emissiveFactor" } } } }));
    channels.push(json!({ "sampler": 0, "target": { "node": 0, "path": "translation" } }));
    let document = read(&json, &bin).unwrap();
    assert_eq!(document.scene().clips[0].channels.len(), 1);
    let warnings = document.warnings();
    assert_eq!(warnings.len(), 3);
    assert!(warnings[0].starts_with("animation 0 \"Walk\", channel 1: it targets no node"), "{warnings:?}");
    assert!(
        warnings[1].contains("channel 2") && warnings[1].contains("KHR_animation_pointer"),
        "{warnings:?}"
    );
    assert!(
        warnings[2].contains("channel 3, node \"Tail\"") && warnings[2].contains("earlier"),
        "{warnings:?}"
    );
}

#[test]
fn a_clip_without_a_name_has_an_empty_one() {
    let (mut json, bin) = walk();
    json["animations"][0].as_object_mut().unwrap().remove("name");
    assert_eq!(read(&json, &bin).unwrap().scene().clips[0].name, "");
}

#[test]
fn sloppy_quaternions_are_made_unit() {
    let (mut json, bin) = walk();
    json["nodes"][0]["rotation"] = json!([0.0, 0.0, 0.7072, 0.7072]);
    let document = read(&json, &bin).unwrap();
    let Local::Channels(channels) = document.scene().nodes[0].local else { panic!() };
    assert!((channels.rotation.length() - 1.0).abs() < 1e-15);
}

#[test]
fn matrices_become_channels_unless_sheared() {
    let rotation = DQuat::from_rotation_x(0.7);
    let make = |scale: DVec3| {
        DMat4::from_scale_rotation_translation(scale, rotation, DVec3::new(1.0, 2.0, 3.0)).to_cols_array()
    };
    let (mut json, bin) = walk();
    json["animations"] = json!([]);
    for scale in [DVec3::new(1.0, 2.0, 0.5), DVec3::new(1.0, -2.0, 0.5), DVec3::new(-1.0, -1.0, -3.0)] {
        json["nodes"][0]["matrix"] = json!(make(scale));
        let document = read(&json, &bin).unwrap();
        let local = document.scene().nodes[0].local;
        assert!(matches!(local, Local::Channels(_)), "{scale}");
        let back = DMat4::from(local.affine());
        assert!(back.abs_diff_eq(DMat4::from_cols_array(&make(scale)), 1e-9), "{scale}");
    }
    let mut sheared = DMat4::IDENTITY;
    sheared.y_axis.x = 0.3;
    json["nodes"][0]["matrix"] = json!(sheared.to_cols_array());
    assert!(matches!(read(&json, &bin).unwrap().scene().nodes[0].local, Local::Matrix(m) if m == sheared));
}

fn triangles(mode: u64, indices: Option<&[u8]>) -> Vec<[u32; 3]> {
    let positions: Vec<f32> = (0..15).map(|i| (i * i % 7) as f32).collect();
    let (mut json, _) = walk();
    let mut bin = floats(&positions);
    bin.extend(indices.unwrap_or(&[]));
    json["buffers"][0]["byteLength"] = json!(bin.len());
    json["bufferViews"] = json!([
        { "buffer": 0, "byteLength": 60 },
        { "buffer": 0, "byteOffset": 60, "byteLength": bin.len() - 60 }
    ]);
    json["accessors"] = json!([
        { "bufferView": 0, "componentType": 5126, "count": 5, "type": "VEC3" },
        { "bufferView": 1, "componentType": 5121, "count": indices.map_or(1, <[u8]>::len), "type": "SCALAR" }
    ]);
    json["animations"] = json!([]);
    json["meshes"] = json!([{ "primitives": [{ "attributes": { "POSITION": 0 }, "mode": mode }] }]);
    if indices.is_some() {
        json["meshes"][0]["primitives"][0]["indices"] = json!(1);
    }
    read(&json, &bin).unwrap().scene().meshes[0].triangles.clone()
}

#[test]
fn lists_strips_and_fans_are_wound_alike() {
    assert_eq!(triangles(4, Some(&[0, 1, 2, 2, 1, 3])), [[0, 1, 2], [2, 1, 3]]);
    assert_eq!(triangles(4, None), [[0, 1, 2]]);
    assert_eq!(triangles(5, None), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
    assert_eq!(triangles(6, None), [[1, 2, 0], [2, 3, 0], [3, 4, 0]]);
    assert_eq!(triangles(5, Some(&[4, 3, 2, 1])), [[4, 3, 2], [3, 1, 2]]);
    assert!(triangles(1, None).is_empty());
}

#[test]
fn quantised_positions_are_what_they_stand_for() {
    let cases: [(u32, bool, Vec<u8>, [f64; 3]); 5] = [
        (5120, false, vec![0xFF, 2, 3], [-1.0, 2.0, 3.0]),
        (5120, true, vec![0x81, 127, 0], [-1.0, 1.0, 0.0]),
        (5121, true, vec![255, 0, 51], [1.0, 0.0, 0.2]),
        (5122, false, [-300_i16, 5, 9].iter().flat_map(|v| v.to_le_bytes()).collect(), [-300.0, 5.0, 9.0]),
        (5123, true, [65535_u16, 0, 13107].iter().flat_map(|v| v.to_le_bytes()).collect(), [1.0, 0.0, 0.2]),
    ];
    for (component, normalized, bytes, expected) in cases {
        let (mut json, _) = walk();
        json["buffers"][0]["byteLength"] = json!(bytes.len());
        json["bufferViews"] = json!([{ "buffer": 0, "byteLength": bytes.len() }]);
        json["accessors"] = json!([{ "bufferView": 0, "componentType": component, "normalized": normalized,
            "count": 1, "type": "VEC3" }]);
        json["animations"] = json!([]);
        json["meshes"] = json!([{ "primitives": [{ "attributes": { "POSITION": 0 } }] }]);
        let document = read(&json, &bytes).unwrap();
        assert!(document.scene().meshes[0].positions[0].abs_diff_eq(DVec3::from_array(expected), 1e-12));
    }
}

#[test]
fn primitives_that_share_positions_do_not_multiply_them() {
    let (mut json, bin) = walk();
    let primitive = json!({ "attributes": { "POSITION": 1 } });
    json["meshes"] = json!([{ "primitives": [primitive, primitive, primitive] }]);
    let document = read(&json, &bin).unwrap();
    let mesh = &document.scene().meshes[0];
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (3, 3));
}

#[test]
fn required_extensions_that_are_not_known_are_mentioned() {
    let (mut json, bin) = walk();
    json["extensionsRequired"] = json!(["KHR_materials_unlit", "KHR_texture_basisu", "ACME_gravity"]);
    let document = read(&json, &bin).unwrap();
    assert_eq!(document.warnings().len(), 1);
    assert!(document.warnings()[0].contains("ACME_gravity"));
}
