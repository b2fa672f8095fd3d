//! Small documents made in memory.

use serde_json::{Value, json};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Property};
use sinew_plugin::gltf::{Document, Error, ReadOptions};

/// Bytes of numbers as glTF stores them.
pub fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A GLB file from its parts.
pub fn glb(json: &Value, bin: Option<&[u8]>) -> Vec<u8> {
    let mut text = serde_json::to_vec(json).unwrap();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut chunks = chunk(0x4E4F_534A, &text);
    if let Some(bin) = bin {
        let mut bin = bin.to_vec();
        bin.resize(bin.len().next_multiple_of(4), 0);
        chunks.extend(chunk(0x004E_4942, &bin));
    }
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend((12 + chunks.len() as u32).to_le_bytes());
    file.extend(chunks);
    file
}

/// One GLB chunk.
pub fn chunk(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut out = (data.len() as u32).to_le_bytes().to_vec();
    out.extend(kind.to_le_bytes());
    out.extend(data);
    out
}

/// The JSON and BIN of a GLB file, taken apart without the code under test.
pub fn unglb(file: &[u8]) -> (Value, Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(&file[..4], b"glTF");
    assert_eq!(word(8), file.len(), "the header's length");
    let end = 20 + word(12);
    let json = serde_json::from_slice(&file[20..end]).unwrap();
    if end == file.len() {
        return (json, Vec::new());
    }
    assert_eq!(end % 4, 0);
    assert_eq!(word(end + 4), 0x004E_4942);
    let bin = file[end + 8..end + 8 + word(end)].to_vec();
    assert_eq!(bin.len() % 4, 0);
    (json, bin)
}

/// A document of one node "Tail" and one clip "Walk" that moves it: three LINEAR translation keys. The bytes are
/// times (12), values (36).
pub fn walk() -> (Value, Vec<u8>) {
    let bin = [floats(&[0.0, 0.5, 1.0]), floats(&[0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])].concat();
    let json = json!({
        "asset": { "version": "2.0", "generator": "by hand" },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "name": "Tail" }],
        "buffers": [{ "byteLength": bin.len() }],
        "bufferViews": [
            { "buffer": 0, "byteLength": 12 },
            { "buffer": 0, "byteOffset": 12, "byteLength": 36 }
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 3, "type": "SCALAR", "min": [0.0], "max": [1.0] },
            { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC3" }
        ],
        "animations": [{
            "name": "Walk",
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 0, "output": 1, "interpolation": "LINEAR" }]
        }]
    });
    (json, bin)
}

/// A document of one clip whose only sampler is as given: times from a float accessor, values from `output`
/// (an accessor without its view) over `values`.
pub fn sampled(
    path: &str,
    interpolation: &str,
    times: &[f32],
    output: Value,
    values: &[u8],
) -> (Value, Vec<u8>) {
    let (mut json, _) = walk();
    let times_bytes = floats(times);
    let bin = [&times_bytes[..], values].concat();
    json["buffers"][0]["byteLength"] = json!(bin.len());
    json["bufferViews"] = json!([
        { "buffer": 0, "byteLength": times_bytes.len() },
        { "buffer": 0, "byteOffset": times_bytes.len(), "byteLength": values.len() }
    ]);
    json["accessors"][0]["count"] = json!(times.len());
    json["accessors"][1] = output;
    json["accessors"][1]["bufferView"] = json!(1);
    json["animations"][0]["channels"][0]["target"]["path"] = json!(path);
    json["animations"][0]["samplers"][0]["interpolation"] = json!(interpolation);
    (json, bin)
}

/// Reads a GLB made from the parts.
pub fn read(json: &Value, bin: &[u8]) -> Result<Document, Error> {
    Document::from_bytes(&glb(json, Some(bin)), "test.glb", None, &ReadOptions::default())
}

/// The text of the refusal of a GLB made from the parts.
pub fn refusal(json: &Value, bin: &[u8]) -> String {
    read(json, bin).map(|_| ()).expect_err("must be refused").to_string()
}

/// A channel with a curve of two keys a second apart, or three values cubic.
pub fn channel(node: usize, property: Property, segments: Segments) -> Channel {
    let (kind, width) = match property {
        Property::Rotation => (Kind::Rotation, 4),
        Property::Weights => (Kind::Vector, 1),
        _ => (Kind::Vector, 3),
    };
    let values = (0..2 * width).map(|i| if i % width == width - 1 { 1.0 } else { 0.1 * i as f64 }).collect();
    Channel { node, property, curve: Curve::new(kind, width, vec![0.25, 1.25], values, segments).unwrap() }
}
