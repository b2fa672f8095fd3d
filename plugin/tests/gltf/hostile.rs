//! Files that are wrong on purpose. Each is refused, and the text says what is wrong and where.

use crate::builder::{chunk, floats, glb, read, refusal, sampled, walk};
use serde_json::{Value, json};
use sinew_plugin::gltf::{Document, ErrorKind, ReadOptions};

fn refuse_bytes(bytes: &[u8], part: &str) {
    let error =
        Document::from_bytes(bytes, "bad.glb", None, &ReadOptions::default()).map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("bad.glb: ") && text.contains(part), "{text:?} lacks {part:?}");
    assert_eq!(error.kind(), ErrorKind::Input);
}

/// Sets a value in the walk and expects a refusal that holds every one of `parts`.
fn refuse(pointer: &str, value: Value, parts: &[&str]) {
    let (mut json, bin) = walk();
    put(&mut json, pointer, value);
    let text = refusal(&json, &bin);
    for part in parts {
        assert!(text.contains(part), "{pointer}: {text:?} lacks {part:?}");
    }
}

/// Sets the value at a pointer, adding the last key when absent.
fn put(json: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match json.pointer_mut(parent).unwrap() {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        other => other[key] = value,
    }
}

#[test]
fn containers_that_lie_about_their_length() {
    let (json, bin) = walk();
    let good = glb(&json, Some(&bin));
    refuse_bytes(b"", "empty");
    refuse_bytes(b"\0\0\0", "empty");
    refuse_bytes(b"glTF", "header is cut short");
    refuse_bytes(b"gltf not json", "JSON cannot be read");
    for cut in [12, 16, 40, good.len() - 60, good.len() - 1] {
        refuse_bytes(&good[..cut], "cut short");
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    refuse_bytes(&with(4, &[1]), "version 1");
    refuse_bytes(&with(8, &[0xFF; 4]), "4294967295 bytes");
    refuse_bytes(&with(8, &[11, 0, 0, 0]), "11 bytes");
    refuse_bytes(&with(12, &[0xFF; 4]), "chunk 0 states 4294967295");
    refuse_bytes(&with(16, b"BIN\0"), "not JSON");
    refuse_bytes(b"glTF\x02\0\0\0\x0C\0\0\0", "no JSON chunk");
    let mut two_headers = b"glTF\x02\0\0\0\x1C\0\0\0".to_vec();
    two_headers.extend(chunk(0x4E4F_534A, b"{}  "));
    two_headers.extend([0, 0, 0, 0]);
    refuse_bytes(&two_headers, "chunk 1 has no whole header");
}

#[test]
fn texts_that_are_not_gltf() {
    refuse_bytes(b"\xFF\xFE{\0}\0", "byte 0 is not UTF-8");
    refuse_bytes(b"[]", "not an object");
    refuse_bytes(b"{}", "`asset` is missing");
    refuse_bytes(br#"{"asset":{"version":"1.0"}}"#, "version \"1.0\"");
    refuse_bytes(br#"{"asset":{"version":"2.0","minVersion":"2.7"}}"#, "2.7");
    let deep = format!(r#"{{"asset":{{"version":"2.0"}},"extras":{}"#, "[".repeat(1_000_000));
    refuse_bytes(deep.as_bytes(), "recursion limit");
    refuse_bytes(br#"{"asset":{"version":"2.0"},"nodes":[{"translation":[1e999,0,0]}]}"#, "out of range");
}

#[test]
fn a_byte_order_mark_is_overlooked() {
    let text = b"\xEF\xBB\xBF{\"asset\":{\"version\":\"2.0\"}}";
    Document::from_bytes(text, "bom.gltf", None, &ReadOptions::default()).unwrap();
}

#[test]
fn hierarchies_that_are_no_trees() {
    let nodes = |nodes: Value, part: &str, name: &str| refuse("/nodes", nodes, &[part, name]);
    nodes(json!([{ "name": "Ouroboros", "children": [0] }]), "its own ancestor", "Ouroboros");
    nodes(
        json!([{ "children": [1] }, { "name": "B", "children": [2] }, { "children": [1] }]),
        "both",
        "node 1 \"B\"",
    );
    nodes(json!([{}, { "name": "B", "children": [2] }, { "children": [1] }]), "its own ancestor", "node");
    nodes(json!([{ "name": "A", "children": [7] }]), "refers to node 7", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "children": [1, 1] }, {}]), "both", "node 1");
    nodes(json!([{ "name": "A", "children": [-1] }]), "-1", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "children": 3 }]), "must be an array", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "mesh": 0 }]), "refers to mesh 0", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "skin": 1.5 }]), "1.5", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "rotation": [0, 0, 0, 0] }]), "length zero", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "translation": [0, 0] }]), "3 numbers", "node 0 \"A\"");
    nodes(json!([{ "name": "A", "scale": [0, 0, 1e300] }]), "single precision", "node 0 \"A\"");
    let projective: Vec<f64> = (0..16).map(|i| if i % 4 == 3 { 1.0 } else { 0.0 }).collect();
    nodes(json!([{ "name": "A", "matrix": projective }]), "0 0 0 1", "node 0 \"A\"");
    nodes(json!([4]), "must be an object", "node 0");
    refuse("/skins", json!([{ "name": "S", "joints": [0, 9] }]), &["skin 0 \"S\"", "node 9"]);
}

#[test]
fn a_very_long_chain_is_no_trouble() {
    let (mut json, bin) = walk();
    let count = 200_000;
    let chain = (0..count).map(|i| if i + 1 < count { json!({ "children": [i + 1] }) } else { json!({}) });
    json["nodes"] = chain.collect();
    assert_eq!(read(&json, &bin).unwrap().scene().parents_first().len(), count);
}

#[test]
fn indices_out_of_range() {
    let channel = "animation 0 \"Walk\", channel 0";
    refuse("/animations/0/channels/0/sampler", json!(1), &[channel, "sampler 1"]);
    refuse("/animations/0/channels/0/target/node", json!(1), &[channel, "node 1"]);
    let sampler = "sampler 0";
    refuse("/animations/0/samplers/0/input", json!(9), &[channel, "node \"Tail\"", sampler, "accessor 9"]);
    refuse("/animations/0/samplers/0/output", json!(u64::MAX), &[sampler, "accessor 18446744073709551615"]);
    refuse("/accessors/1/bufferView", json!(2), &["accessor 1", "bufferView 2"]);
    refuse("/bufferViews/1/buffer", json!(3), &["bufferView 1", "buffer 3"]);
    refuse(
        "/meshes",
        json!([{ "primitives": [{ "attributes": { "POSITION": 5 } }] }]),
        &["mesh 0, primitive 0", "accessor 5"],
    );
}

#[test]
fn ranges_outside_their_bytes() {
    refuse("/buffers/0/byteLength", json!(1000), &["buffer 0", "1000", "cut short"]);
    refuse("/buffers/0/byteLength", json!(-1), &["buffer 0", "-1"]);
    refuse("/bufferViews/1/byteLength", json!(37), &["bufferView 1", "buffer 0", "48"]);
    refuse("/bufferViews/1/byteOffset", json!(u64::MAX), &["bufferView 1", "18446744073709551615"]);
    refuse("/bufferViews/1/byteOffset", json!(-4), &["bufferView 1", "-4"]);
    refuse("/bufferViews/1/byteStride", json!(4), &["bufferView 1", "byteStride"]);
    refuse("/bufferViews/1/byteStride", json!(u64::MAX), &["accessor 1", "do not fit"]);
    refuse("/accessors/1/byteOffset", json!(1), &["accessor 1", "do not fit"]);
    refuse("/accessors/1/byteOffset", json!(u64::MAX), &["accessor 1", "do not fit"]);
    refuse("/accessors/1/count", json!(4_000_000_000_u64), &["accessor 1", "4000000000"]);
    refuse("/accessors/1/count", json!(0), &["accessor 1", "zero"]);
    refuse("/accessors/1/count", json!(2), &["accessor 1", "2 elements for 3 keys"]);
}

#[test]
fn accessors_of_the_wrong_type() {
    refuse("/accessors/1/type", json!("VEC4"), &["channel 0", "accessor 1"]);
    refuse("/accessors/1/type", json!("VEC2"), &["accessor 1", "translation needs 3"]);
    refuse("/accessors/1/type", json!("VEC9"), &["accessor 1", "VEC9"]);
    refuse("/accessors/1/componentType", json!(5124), &["accessor 1", "5124"]);
    refuse("/accessors/0/componentType", json!(5125), &["accessor 0", "key times"]);
    refuse("/accessors/0/type", json!("VEC3"), &["accessor 0"]);
    refuse("/animations/0/samplers/0/interpolation", json!("BEZIER"), &["node \"Tail\"", "BEZIER"]);
    refuse(
        "/animations/0/samplers/0/interpolation",
        json!("CUBICSPLINE"),
        &["3 elements for 3 keys", "three values"],
    );
    let output = json!({ "componentType": 5120, "count": 2, "type": "VEC4" });
    let (json, bin) = sampled("rotation", "LINEAR", &[0.0, 1.0], output, &[0; 8]);
    assert!(refusal(&json, &bin).contains("normalized"));
}

#[test]
fn keys_that_are_no_numbers_or_go_backwards() {
    let three = json!({ "componentType": 5126, "count": 2, "type": "VEC3" });
    let keys = |times: &[f32], values: &[f32], part: &str| {
        let (json, bin) = sampled("translation", "LINEAR", times, three.clone(), &floats(values));
        let text = refusal(&json, &bin);
        assert!(
            text.contains(part) && text.contains("animation 0 \"Walk\", channel 0, node \"Tail\""),
            "{text}"
        );
    };
    let good = [0.0; 6];
    keys(&[0.0, f32::NAN], &good, "key 1 has a time");
    keys(&[0.0, f32::INFINITY], &good, "key 1 has a time");
    keys(&[1.0, 1.0], &good, "does not come after");
    keys(&[1.0, 0.5], &good, "does not come after");
    keys(&[0.0, 1.0], &[0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0], "key 1 has a value");
    let four = json!({ "componentType": 5126, "count": 2, "type": "VEC4" });
    let (json, bin) = sampled("rotation", "LINEAR", &[0.0, 1.0], four, &floats(&[0.0; 8]));
    assert!(refusal(&json, &bin).contains("length zero"));
}

#[test]
fn sparse_parts_that_do_not_add_up() {
    let sparse =
        |sparse: Value, part: &str| refuse("/accessors/1/sparse", sparse, &["accessor 1, sparse", part]);
    let indices = json!({ "bufferView": 0, "componentType": 5125 });
    let values = json!({ "bufferView": 1 });
    sparse(json!({ "count": 9, "indices": indices, "values": values }), "between 1 and the accessor's 3");
    sparse(json!({ "count": 1, "values": values }), "`indices` is missing");
    sparse(
        json!({ "count": 1, "indices": { "bufferView": 0, "componentType": 5126 }, "values": values }),
        "unsigned",
    );
    // Two equal indices (both zero), then one far outside (a float's bits).
    sparse(
        json!({ "count": 2, "indices": { "bufferView": 1, "componentType": 5121 }, "values": values }),
        "must increase",
    );
    let outside = json!({ "bufferView": 0, "byteOffset": 4, "componentType": 5125 });
    sparse(json!({ "count": 1, "indices": outside, "values": values }), "below the accessor's 3");
    sparse(
        json!({ "count": 1, "indices": { "bufferView": 7, "componentType": 5121 }, "values": values }),
        "bufferView 7",
    );
}

#[test]
fn a_count_of_thousands_of_millions_is_refused_before_it_is_allocated() {
    let (mut json, bin) = walk();
    for accessor in [0, 1] {
        json["accessors"][accessor].as_object_mut().unwrap().remove("bufferView");
        json["accessors"][accessor]["count"] = json!(4_000_000_000_u64);
    }
    let text = refusal(&json, &bin);
    assert!(text.contains("accessor 0") && text.contains("out of proportion"), "{text}");
    json["accessors"][0]["count"] = json!(u64::MAX);
    json["accessors"][1]["count"] = json!(u64::MAX);
    assert!(refusal(&json, &bin).contains("out of proportion"));
}

#[test]
fn the_same_bytes_cannot_be_asked_for_without_end() {
    // 100 kB of keys, referred to by two thousand nodes.
    let times: Vec<f32> = (0..6000).map(|i| i as f32).collect();
    let output = json!({ "componentType": 5126, "count": 6000, "type": "VEC3" });
    let (mut json, bin) = sampled("translation", "LINEAR", &times, output, &floats(&vec![0.0; 18000]));
    let nodes = 2000;
    json["nodes"] = (0..nodes).map(|_| json!({})).collect();
    json["animations"][0]["channels"] =
        (0..nodes).map(|n| json!({ "sampler": 0, "target": { "node": n, "path": "translation" } })).collect();
    let text = refusal(&json, &bin);
    assert!(text.contains("out of proportion"), "{text}");
}

#[test]
fn long_names_do_not_multiply() {
    let (mut json, bin) = walk();
    json["animations"][0]["name"] = json!("é".repeat(2_000_000));
    let channel = json!({ "sampler": 0, "target": { "path": "scale" } });
    json["animations"][0]["channels"] = (0..20_000).map(|_| channel.clone()).collect();
    let document = read(&json, &bin).unwrap();
    assert_eq!(document.warnings().len(), 20_000);
    assert!(document.warnings()[0].len() < 400);
}

#[test]
fn meshes_that_do_not_add_up() {
    let mesh = |primitive: Value, part: &str| {
        refuse(
            "/meshes",
            json!([{ "name": "M", "primitives": [primitive] }]),
            &["mesh 0 \"M\", primitive 0", part],
        );
    };
    let position = json!({ "POSITION": 1 });
    mesh(json!({ "attributes": position, "mode": 7 }), "`mode` 7");
    mesh(json!({ "mode": 4 }), "`attributes` is missing");
    mesh(json!({ "attributes": { "POSITION": 0 } }), "VEC3");
    mesh(json!({ "attributes": position, "indices": 1 }), "SCALAR of unsigned");
    mesh(json!({ "attributes": position, "indices": 2 }), "accessor 2");
    let (mut json, bin) = walk();
    json["accessors"][0]["componentType"] = json!(5125);
    json["animations"] = json!([]);
    json["meshes"] = json!([{ "primitives": [{ "attributes": position, "indices": 0 }] }]);
    assert!(refusal(&json, &bin).contains("there are 3 positions"));
    let mut bin = bin;
    bin[12..16].copy_from_slice(&f32::NAN.to_le_bytes());
    json["meshes"] = json!([{ "primitives": [{ "attributes": position }] }]);
    assert!(refusal(&json, &bin).contains("accessor 1: position 0 is not a finite number"));
}

#[test]
fn names_cannot_drive_the_terminal() {
    let (mut json, bin) = walk();
    json["nodes"][0]["name"] = json!("\u{1b}[2J\nTail");
    json["animations"][0]["samplers"][0]["interpolation"] = json!("X");
    let text = refusal(&json, &bin);
    assert!(!text.contains('\u{1b}') && !text.contains('\n'), "{text:?}");
}

#[test]
fn a_scene_of_nodes_that_the_file_does_not_have() {
    for index in [1_u64, 1 << 32, u64::MAX] {
        refuse(
            "/scenes/0/nodes",
            json!([0, index]),
            &["scene 0", "`nodes`", &format!("node {index}"), "has 1"],
        );
    }
    refuse("/scenes/0/nodes", json!([-1]), &["scene 0", "no index"]);
    refuse("/scenes/0", json!(7), &["scene 0", "must be an object"]);
}
