//! A glTF file full of what Sinew does not use and must not lose: an extension nobody knows, notes in every place, a picture,
//! a camera, a node with a matrix, a buffer in a file with a space in its name, and keys of which one is replaced.

use super::{Maker, cubic};
use base64::Engine;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The extension nobody knows.
pub const UNKNOWN: &str = "EXT_made_up";

/// A red pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Writes it, its buffer and its picture into `folder`.
pub fn kept(folder: &Path) -> PathBuf {
    let mut maker = Maker::default();
    cubic(&mut maker);
    let (mut json, mut bytes) = maker.finish_apart();

    // One of the first clip's key times is another in the second clip.
    let replaced =
        push(&mut json, "bufferViews", json!({"buffer": 0, "byteOffset": bytes.len(), "byteLength": 1}));
    bytes.extend([1, 0, 0, 0]);
    let by = push(&mut json, "bufferViews", json!({"buffer": 0, "byteOffset": bytes.len(), "byteLength": 4}));
    bytes.extend(0.5_f32.to_le_bytes());
    let mut times = json["accessors"][0].clone();
    times["sparse"] = json!({
        "count": 1,
        "indices": {"bufferView": replaced, "componentType": 5121},
        "values": {"bufferView": by},
    });
    let times = push(&mut json, "accessors", times);
    let mut clip = json["animations"][0].clone();
    clip["name"] = json!("sparse");
    for sampler in clip["samplers"].as_array_mut().into_iter().flatten() {
        sampler["input"] = json!(times);
    }
    push(&mut json, "animations", clip);

    let matrix = [0.0, 2.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 3.0, -1.0, 0.5, 1.0];
    let framed = push(&mut json, "nodes", json!({"name": "framed", "matrix": matrix}));
    let eye = push(&mut json, "nodes", json!({"name": "eye", "camera": 0, "translation": [0.0, 1.0, 5.0]}));
    json["scenes"][0]["nodes"].as_array_mut().expect("a scene has nodes").extend([json!(framed), json!(eye)]);
    json["cameras"] = json!([{"type": "perspective", "perspective": {"yfov": 0.8, "znear": 0.1}}]);
    json["images"] = json!([{"uri": "a%20spot.png"}]);
    json["textures"] = json!([{"source": 0}]);
    json["materials"] = json!([{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]);

    let told = json!({UNKNOWN: {"anything": [1, 2.5, {"deep": true}], "nothing": null}});
    json["extensionsUsed"] = json!([UNKNOWN]);
    json["extensions"] = told.clone();
    for place in [
        "/asset",
        "/scenes/0",
        "/nodes/0",
        "/nodes/4",
        "/meshes/0",
        "/materials/0",
        "/animations/0",
        "/accessors/0",
    ] {
        let entry = json.pointer_mut(place).expect("these are there");
        entry["extensions"] = told.clone();
        entry["extras"] = json!({"note": place, "list": [null, 1e-7, "ü"]});
    }
    json["buffers"] = json!([{"byteLength": bytes.len(), "uri": "kept%20data.bin"}]);
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("the scratch folder can be written");
    };
    write("kept data.bin", &bytes);
    let picture = base64::engine::general_purpose::STANDARD.decode(PICTURE).expect("it is a picture");
    write("a spot.png", &picture);
    write("kept.gltf", json.to_string().as_bytes());
    folder.join("kept.gltf")
}

fn push(json: &mut Value, list: &str, entry: Value) -> usize {
    let list = json[list].as_array_mut().expect("it is a list");
    list.push(entry);
    list.len() - 1
}
