//! Data that exists only compressed, made in memory; the samples have the real ones.

use crate::builder::{read, refusal, walk};
use serde_json::{Value, json};

/// The walk, with view `view` moved into a buffer that only the compression could fill.
fn compress(view: usize, extension: &str) -> (Value, Vec<u8>) {
    let (mut json, bin) = walk();
    json["buffers"].as_array_mut().unwrap().push(json!({ "byteLength": 100,
        "extensions": { extension: { "fallback": true } } }));
    json["bufferViews"][view]["buffer"] = json!(1);
    json["bufferViews"][view]["extensions"] = json!({ extension: { "buffer": 0, "byteLength": 12 } });
    (json, bin)
}

#[test]
fn compressed_keys_are_refused_by_the_extensions_name() {
    for extension in ["KHR_meshopt_compression", "EXT_meshopt_compression"] {
        for view in [0, 1] {
            let (json, bin) = compress(view, extension);
            let text = refusal(&json, &bin);
            assert!(text.contains(extension) && text.contains("channel 0, node \"Tail\""), "{text}");
        }
    }
}

#[test]
fn a_compressed_mesh_keeps_its_bounds() {
    let (mut json, bin) = compress(1, "EXT_meshopt_compression");
    json["animations"] = json!([]);
    json["accessors"][1]["min"] = json!([-1, -2, -3]);
    json["accessors"][1]["max"] = json!([1, 2, 3]);
    json["meshes"] = json!([{ "name": "Hide", "primitives": [{ "attributes": { "POSITION": 1 } }] }]);
    let document = read(&json, &bin).unwrap();
    let mesh = &document.scene().meshes[0];
    assert_eq!(mesh.positions, [glam::DVec3::new(-1.0, -2.0, -3.0), glam::DVec3::new(1.0, 2.0, 3.0)]);
    assert!(mesh.triangles.is_empty());
    assert!(document.warnings()[0].contains("mesh 0 \"Hide\""), "{:?}", document.warnings());
    assert!(document.warnings()[0].contains("EXT_meshopt_compression"));
}

#[test]
fn a_missing_fallback_file_is_no_error_until_it_is_needed() {
    let (mut json, bin) = compress(1, "KHR_meshopt_compression");
    json["buffers"][1]["uri"] = json!("not-there.bin");
    assert!(refusal(&json, &bin).contains("KHR_meshopt_compression"));
    json["animations"] = json!([]);
    read(&json, &bin).unwrap();
}
