//! What an added clip looks like in the file.

use crate::builder::{channel, chunk, glb, read, unglb, walk};
use serde_json::{Value, json};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Property};
use sinew_plugin::gltf::{ClipToAdd, Document, ErrorKind, ReadOptions};

fn bake<'a>(name: &'a str, channels: &'a [Channel]) -> ClipToAdd<'a> {
    ClipToAdd { name, source: None, replace: false, channels }
}

fn translation(times: Vec<f64>, values: Vec<f64>) -> Channel {
    let curve = Curve::new(Kind::Vector, 3, times, values, Segments::Linear).unwrap();
    Channel { node: 0, property: Property::Translation, curve }
}

fn saved(document: &Document) -> (Value, Vec<u8>) {
    unglb(&document.to_glb().unwrap())
}

#[test]
fn the_bin_chunk_grows_at_its_end_only() {
    let (mut json, mut bin) = walk();
    bin.extend([0xAB, 0xCD, 0xEF]);
    json["buffers"][0]["byteLength"] = json!(bin.len());
    // An odd length, padded as it should be and left unpadded as some writers do.
    let mut unpadded = glb(&json, None);
    unpadded.extend(chunk(0x004E_4942, &bin));
    let length = (unpadded.len() as u32).to_le_bytes();
    unpadded[8..12].copy_from_slice(&length);
    for file in [glb(&json, Some(&bin)), unpadded] {
        let mut document = Document::from_bytes(&file, "odd.glb", None, &ReadOptions::default()).unwrap();
        document.add_clip(&bake("New", &[channel(0, Property::Translation, Segments::Linear)])).unwrap();
        let (after, data) = saved(&document);
        assert_eq!(data[..bin.len()], bin);
        let view = &after["bufferViews"][2];
        assert_eq!(view["byteOffset"], json!(52));
        assert!(view.get("target").is_none() && view.get("byteStride").is_none());
        assert_eq!(after["buffers"][0]["byteLength"], json!(data.len()));
        assert_eq!(after["asset"], json["asset"]);
    }
}

#[test]
fn equal_times_share_an_accessor_with_exact_bounds() {
    let (json, bin) = walk();
    let mut document = read(&json, &bin).unwrap();
    let third = 1.0 / 3.0;
    let mut rotation = channel(0, Property::Rotation, Segments::Linear);
    let values = rotation.curve.values().to_vec();
    rotation.curve = Curve::new(Kind::Rotation, 4, vec![0.1, third], values, Segments::Linear).unwrap();
    let channels =
        [translation(vec![0.1, third], vec![0.0; 6]), rotation, channel(0, Property::Scale, Segments::Step)];
    document.add_clip(&bake("New", &channels)).unwrap();
    let (after, _) = saved(&document);
    let samplers = &after["animations"][1]["samplers"];
    assert_eq!(samplers[0]["input"], samplers[1]["input"]);
    assert_ne!(samplers[0]["input"], samplers[2]["input"]);
    assert_eq!(samplers[2]["interpolation"], json!("STEP"));
    let times = &after["accessors"][samplers[0]["input"].as_u64().unwrap() as usize];
    assert_eq!(times["min"][0].as_f64().unwrap() as f32, 0.1_f32);
    assert_eq!(times["max"][0].as_f64().unwrap(), f64::from(third as f32));
    assert_eq!(after["accessors"].as_array().unwrap().len(), 2 + 5);
}

#[test]
fn a_clip_comes_back_as_it_went() {
    let (json, bin) = walk();
    let mut document = read(&json, &bin).unwrap();
    let cubic = Segments::Cubic { arriving: vec![0.25; 6], leaving: vec![-0.5; 6] };
    let channels = [channel(0, Property::Translation, cubic), channel(0, Property::Rotation, Segments::Step)];
    let at = document.add_clip(&bake("New", &channels)).unwrap();
    let again =
        Document::from_bytes(&document.to_glb().unwrap(), "x", None, &ReadOptions::default()).unwrap();
    assert_eq!(at, 1);
    for scene in [document.scene(), again.scene()] {
        let clip = &scene.clips[at];
        assert_eq!(clip.channels.len(), 2);
        assert_eq!(clip.curve(0, Property::Translation).unwrap().segments(), channels[0].curve.segments());
    }
    assert_eq!(again.scene().clips[0].channels[0].curve, document.scene().clips[0].channels[0].curve);
}

/// The walk with another node, a scale channel on it, a pointer channel and one without a node.
fn busy_walk() -> (Value, Vec<u8>) {
    let (mut json, bin) = walk();
    json["nodes"].as_array_mut().unwrap().push(json!({ "name": "Head" }));
    json["animations"][0]["extras"] = json!({ "mood": "brisk" });
    let channels = json["animations"][0]["channels"].as_array_mut().unwrap();
    channels.push(json!({ "sampler": 0, "target": { "node": 1, "path": "scale" }, "extras": 7 }));
    for pointer in ["/materials/0/alphaCutoff", "/nodes/0/translation"] {
        channels.push(json!({ "sampler": 0, "target": { "path": "pointer",
            "extensions": { "KHR_animation_pointer": { "pointer": pointer } } } }));
    }
    (json, bin)
}

#[test]
fn the_source_clips_other_channels_are_carried_without_copies_of_their_data() {
    let (json, bin) = busy_walk();
    let mut document = read(&json, &bin).unwrap();
    let channels = [channel(0, Property::Translation, Segments::Linear)];
    let add = ClipToAdd { name: "Baked", source: Some(0), replace: false, channels: &channels };
    document.add_clip(&add).unwrap();
    let (after, _) = saved(&document);
    assert_eq!(after["animations"][0], json["animations"][0]);
    let clip = &after["animations"][1];
    let channels = clip["channels"].as_array().unwrap();
    // The scale and the material; the pointer to what is baked would contradict it.
    assert_eq!(channels.len(), 3);
    assert_eq!(channels[0], json["animations"][0]["channels"][1]);
    assert_eq!(channels[1]["target"], json["animations"][0]["channels"][2]["target"]);
    assert_eq!(channels[2]["target"], json!({ "node": 0, "path": "translation" }));
    assert_eq!(clip["samplers"].as_array().unwrap().len(), 2);
    assert_eq!(clip["samplers"][0], json["animations"][0]["samplers"][0]);
    assert_eq!(after["accessors"].as_array().unwrap().len(), 4);
    assert_eq!(document.scene().clips[1].channels.len(), 2);
}

#[test]
fn replacing_keeps_the_place_and_the_remarks() {
    let (json, bin) = busy_walk();
    let channels = [channel(0, Property::Translation, Segments::Linear)];
    for (name, source) in [("Walk", None), ("Stroll", Some(0))] {
        let mut document = read(&json, &bin).unwrap();
        let add = ClipToAdd { name, source, replace: true, channels: &channels };
        assert_eq!(document.add_clip(&add).unwrap(), 0);
        let (after, _) = saved(&document);
        assert_eq!(after["animations"].as_array().unwrap().len(), 1);
        assert_eq!(after["animations"][0]["name"], json!(name));
        assert_eq!(after["animations"][0]["extras"], json!({ "mood": "brisk" }));
        let count = if source.is_some() { 3 } else { 1 };
        assert_eq!(after["animations"][0]["channels"].as_array().unwrap().len(), count);
        assert_eq!(document.scene().clips.len(), 1);
    }
    let mut document = read(&json, &bin).unwrap();
    let add = ClipToAdd { name: "Nobody", source: None, replace: true, channels: &channels };
    assert_eq!(document.add_clip(&add).unwrap(), 1);
    // A clip without a name is not "the clip of that name".
    let unnamed = ClipToAdd { name: "", source: None, replace: true, channels: &channels };
    assert_eq!(document.add_clip(&unnamed).unwrap(), 2);
    assert_eq!(document.add_clip(&unnamed).unwrap(), 3);
    assert!(saved(&document).0["animations"][3].get("name").is_none());
}

#[test]
fn a_matrix_under_a_curve_becomes_channels() {
    let (mut json, bin) = walk();
    json["animations"] = json!([]);
    json["nodes"][0]["matrix"] = json!([0, 0, -2, 0, 0, 1, 0, 0, 3, 0, 0, 0, 4, 5, 6, 1]);
    let mut document = read(&json, &bin).unwrap();
    let before = document.scene().nodes[0].local.affine();
    document.add_clip(&bake("New", &[channel(0, Property::Rotation, Segments::Linear)])).unwrap();
    let (after, bin) = saved(&document);
    assert!(after["nodes"][0].get("matrix").is_none());
    let again = read(&after, &bin).unwrap();
    assert!(again.scene().nodes[0].local.affine().abs_diff_eq(before, 1e-12));

    json["nodes"][0]["matrix"] = json!([1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    let mut document = read(&json, &bin[..48]).unwrap();
    let error =
        document.add_clip(&bake("New", &[channel(0, Property::Rotation, Segments::Linear)])).unwrap_err();
    assert!(error.to_string().contains("node \"Tail\" has a sheared matrix"), "{error}");
}

#[test]
fn what_cannot_be_written_is_refused_and_changes_nothing() {
    let (mut json, bin) = walk();
    json["nodes"][0]["matrix"] = json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    let mut document = read(&json, &bin).unwrap();
    let before = document.to_glb().unwrap();
    let good = channel(0, Property::Translation, Segments::Linear);
    let mut refuse = |channels: &[Channel], parts: &[&str]| {
        let error = document.add_clip(&bake("New", channels)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        for part in parts {
            assert!(error.to_string().contains(part), "{error} lacks {part}");
        }
        assert_eq!(document.to_glb().unwrap(), before);
    };
    let place = "test.glb: clip \"New\": translation of node \"Tail\"";
    let huge = translation(vec![0.0, 1.0], vec![0.0, 0.0, 0.0, 0.0, 1e39, 0.0]);
    refuse(&[huge], &[place, "key 1 is not a finite number in single precision"]);
    refuse(&[translation(vec![-0.5, 1.0], vec![0.0; 6])], &[place, "-0.5 s", "shift"]);
    refuse(&[translation(vec![1.0, 1.0 + 1e-12], vec![0.0; 6])], &[place, "coincide"]);
    refuse(&[translation(vec![0.0, 1e300], vec![0.0; 6])], &[place, "time of key 1"]);
    refuse(&[good.clone(), good.clone()], &[place, "twice"]);
    refuse(&[], &["no curves"]);
    refuse(&[Channel { node: 9, ..good.clone() }], &["node 9"]);
    refuse(
        &[Channel { property: Property::Rotation, ..good.clone() }],
        &["rotation of node \"Tail\"", "where 4"],
    );
    refuse(&[Channel { property: Property::Weights, ..good.clone() }], &["no mesh with morph targets"]);
    let add = ClipToAdd { name: "New", source: Some(5), replace: false, channels: &[good] };
    assert!(document.add_clip(&add).unwrap_err().to_string().contains("source is clip 5"));
}

#[test]
fn a_single_cubic_key_is_written_as_one_that_holds() {
    let (json, bin) = walk();
    let mut document = read(&json, &bin).unwrap();
    let segments = Segments::Cubic { arriving: vec![1.0; 3], leaving: vec![1.0; 3] };
    let curve = Curve::new(Kind::Vector, 3, vec![0.5], vec![1.0, 2.0, 3.0], segments).unwrap();
    let channels = [Channel { node: 0, property: Property::Scale, curve }];
    document.add_clip(&bake("New", &channels)).unwrap();
    let (after, _) = saved(&document);
    assert_eq!(after["animations"][1]["samplers"][0]["interpolation"], json!("LINEAR"));
}

#[test]
fn glb_without_bin_gets_one_even_behind_other_buffers() {
    let bare = json!({ "asset": { "version": "2.0" }, "nodes": [{}], "scenes": [{ "nodes": [0] }] });
    let mut document =
        Document::from_bytes(&glb(&bare, None), "bare.glb", None, &ReadOptions::default()).unwrap();
    document.add_clip(&bake("New", &[channel(0, Property::Translation, Segments::Linear)])).unwrap();
    let (after, bin) = saved(&document);
    assert_eq!(after["buffers"], json!([{ "byteLength": bin.len() }]));

    // A data URI first: the BIN chunk must belong to buffer 0, so the other one moves back.
    let (mut json, _) = walk();
    json["buffers"] = json!([{ "byteLength": 48, "uri": format!("data:;base64,{}", "A".repeat(64)) }]);
    json["animations"] = json!([]);
    let mut document =
        Document::from_bytes(&glb(&json, None), "uri.glb", None, &ReadOptions::default()).unwrap();
    document.add_clip(&bake("New", &[channel(0, Property::Translation, Segments::Linear)])).unwrap();
    let (after, bin) = saved(&document);
    assert_eq!(after["buffers"][0], json!({ "byteLength": bin.len() }));
    assert_eq!(after["buffers"][1], json["buffers"][0]);
    assert_eq!(after["bufferViews"][0]["buffer"], json!(1));
    assert_eq!(after["bufferViews"][2]["buffer"], json!(0));
}

#[test]
fn a_loose_bin_chunk_and_foreign_chunks_survive() {
    let bare = json!({ "asset": { "version": "2.0" }, "nodes": [{}] });
    let mut file = glb(&bare, Some(&[1, 2, 3, 4]));
    file.extend(chunk(0x1234_5678, &[5, 6, 7, 8]));
    let length = (file.len() as u32).to_le_bytes();
    file[8..12].copy_from_slice(&length);
    let mut document = Document::from_bytes(&file, "loose.glb", None, &ReadOptions::default()).unwrap();
    assert_eq!(document.to_glb().unwrap(), file);
    document.add_clip(&bake("New", &[channel(0, Property::Translation, Segments::Linear)])).unwrap();
    let saved = document.to_glb().unwrap();
    assert!(saved.ends_with(&[0x78, 0x56, 0x34, 0x12, 5, 6, 7, 8]));
    let (after, bin) = unglb(&saved);
    assert_eq!(bin[..4], [1, 2, 3, 4]);
    assert_eq!(after["bufferViews"][0]["byteOffset"], json!(4));
}

#[test]
fn what_nobody_here_knows_is_written_back() {
    let (mut json, bin) = walk();
    json["ACME_top"] = json!({ "n": [1, 2.5, -0.0, 1e-7, 12345678901234567890_u64, "x", null, true] });
    json["nodes"][0]["extras"] = json!({ "deep": [[[{ "é": 0.1 }]]] });
    json["extensionsUsed"] = json!(["ACME_thing"]);
    json["extensions"] = json!({ "ACME_thing": { "buffer": 3 } });
    let mut document = read(&json, &bin).unwrap();
    assert_eq!(saved(&document), (json.clone(), bin));
    document.add_clip(&bake("New", &[channel(0, Property::Translation, Segments::Linear)])).unwrap();
    let (after, _) = saved(&document);
    for key in ["ACME_top", "nodes", "extensionsUsed", "extensions", "asset", "scenes"] {
        assert_eq!(after[key], json[key]);
    }
}
