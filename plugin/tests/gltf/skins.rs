//! Bones, how they are bound, and what they pull at.

use crate::builder::{floats, read, refusal};
use crate::samples;
use glam::DVec3;
use serde_json::{Value, json};
use sinew_core::scene::{Influence, Pose};
use sinew_tests::made::character::Character;
use sinew_tests::scratch;

/// Three vertices on two bones, the second bound a metre along x. `joints` and `weights` are accessors without views.
fn skinned(joints: Value, joint_bytes: &[u8], weights: Value, weight_bytes: &[u8]) -> (Value, Vec<u8>) {
    let positions = floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let mut matrices =
        [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0_f32]; 2];
    matrices[1][12] = -1.0;
    let parts = [positions, floats(&matrices.concat()), joint_bytes.to_vec(), weight_bytes.to_vec()];
    let (mut views, mut bin) = (Vec::new(), Vec::new());
    for part in &parts {
        views.push(json!({ "buffer": 0, "byteOffset": bin.len(), "byteLength": part.len() }));
        bin.extend_from_slice(part);
        bin.resize(bin.len().next_multiple_of(4), 0);
    }
    let mut accessors = vec![
        json!({ "componentType": 5126, "count": 3, "type": "VEC3" }),
        json!({ "componentType": 5126, "count": 2, "type": "MAT4" }),
        joints,
        weights,
    ];
    accessors.iter_mut().enumerate().for_each(|(i, a)| a["bufferView"] = json!(i));
    let json = json!({
        "asset": { "version": "2.0" },
        "nodes": [
            { "name": "Hip", "children": [1] },
            { "name": "Knee", "translation": [1.0, 0.0, 0.0] },
            { "name": "Leg", "mesh": 0, "skin": 0 }
        ],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3 } }] }],
        "skins": [{ "joints": [0, 1], "inverseBindMatrices": 1 }],
        "buffers": [{ "byteLength": bin.len() }],
        "bufferViews": views,
        "accessors": accessors
    });
    (json, bin)
}

const BYTES: [u8; 12] = [0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0];

fn bytes() -> Value {
    json!({ "componentType": 5121, "count": 3, "type": "VEC4" })
}

fn shares() -> Value {
    json!({ "componentType": 5126, "count": 3, "type": "VEC4" })
}

fn halves() -> Vec<u8> {
    floats(&[1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
}

fn whole() -> Vec<Influence> {
    let pull = |vertex, joint, weight| Influence { vertex, joint, weight };
    vec![pull(0, 0, 1.0), pull(1, 0, 0.5), pull(1, 1, 0.5), pull(2, 1, 1.0)]
}

#[test]
fn bones_and_weights_of_every_width_read_the_same() {
    let wide: Vec<u8> = BYTES.iter().flat_map(|b| u16::from(*b).to_le_bytes()).collect();
    let quantised = [255, 0, 0, 0, 100, 100, 0, 0, 254, 0, 0, 0];
    let quantised_wide: Vec<u8> =
        quantised.iter().flat_map(|b| (u16::from(*b) * 257).to_le_bytes()).collect();
    let normalized = |component: u32| json!({ "componentType": component, "normalized": true, "count": 3, "type": "VEC4" });
    let words = json!({ "componentType": 5123, "count": 3, "type": "VEC4" });
    let cases = [
        skinned(bytes(), &BYTES, shares(), &halves()),
        skinned(words.clone(), &wide, normalized(5121), &quantised),
        skinned(words, &wide, normalized(5123), &quantised_wide),
    ];
    for (json, bin) in cases {
        let document = read(&json, &bin).unwrap();
        let scene = document.scene();
        // Quantised weights need not sum to 1, and do here.
        assert_eq!(scene.meshes[0].influences, whole());
        assert_eq!(scene.skins[0].inverse_bind[1].translation, -DVec3::X);
        let mut pose = Pose::new(scene, None);
        pose.evaluate(0.0);
        assert_eq!(pose.vertices(scene, 2), scene.meshes[0].positions);
    }
}

#[test]
fn a_second_set_adds_to_the_first() {
    let (mut json, bin) = skinned(bytes(), &BYTES, shares(), &halves());
    json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_1"] = json!(2);
    json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_1"] = json!(3);
    let document = read(&json, &bin).unwrap();
    let of_second: Vec<f64> =
        document.scene().meshes[0].influences.iter().filter(|i| i.vertex == 1).map(|i| i.weight).collect();
    assert_eq!(of_second, [0.25; 4]);
}

#[test]
fn bones_that_the_skin_has_not_are_said_and_dropped() {
    let mut wrong = BYTES;
    wrong[8] = 7;
    let (json, bin) = skinned(bytes(), &wrong, shares(), &halves());
    let document = read(&json, &bin).unwrap();
    assert!(document.scene().meshes[0].influences.is_empty());
    let said = document.warnings().join(" ");
    assert!(said.contains("\"Leg\"") && said.contains("bone 7") && said.contains("has 2"), "{said}");
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Value), weights: &[u8], part: &str| {
        let (mut json, bin) = skinned(bytes(), &BYTES, shares(), weights);
        change(&mut json);
        let text = refusal(&json, &bin);
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    };
    let mut bad = halves();
    bad[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
    refused(&|_| (), &bad, "a weight of vertex 1");
    bad[16..20].copy_from_slice(&(-0.5_f32).to_le_bytes());
    refused(&|_| (), &bad, "a weight of vertex 1");
    let attributes = "/meshes/0/primitives/0/attributes";
    let set = |pointer: String, value: Value| {
        move |json: &mut Value| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            json.pointer_mut(parent).unwrap()[key] = value.clone();
        }
    };
    refused(&set(format!("{attributes}/JOINTS_0"), json!(99)), &halves(), "accessor 99");
    refused(&set(format!("{attributes}/JOINTS_0"), json!(0)), &halves(), "JOINTS_0 must be");
    refused(&set(format!("{attributes}/WEIGHTS_0"), json!(2)), &halves(), "WEIGHTS_0 must be");
    refused(&set(format!("{attributes}/JOINTS_1"), json!(2)), &halves(), "come together");
    refused(&set("/accessors/2/count".into(), json!(2)), &halves(), "2 elements for 3 positions");
    refused(&set("/accessors/1/count".into(), json!(1)), &halves(), "1 `inverseBindMatrices` for 2");
    refused(&set("/skins/0/inverseBindMatrices".into(), json!(0)), &halves(), "MAT4");
    let nan = |json: &mut Value| json["bufferViews"][1]["byteOffset"] = json!(224);
    let mut bin = halves();
    bin.resize(256, 0xFF);
    refused(&nan, &bin, "matrix");
}

/// The bind pose of these files is their rest pose, so the skin leaves the vertices where the mesh has them.
#[test]
fn samples_at_rest_are_as_they_were_bound() {
    let made = scratch::folder("bound");
    let mut files: Vec<_> =
        Character::all().into_iter().map(|c| (c.write(made.path()), c.name.clone())).collect();
    if let Some(folder) = samples::folder() {
        files.extend([("Fox.glb", "fox"), ("SimpleSkin.gltf", "")].map(|(f, n)| (folder.join(f), n.into())));
    }
    for (path, node) in &files {
        let (file, document) = (path.display(), samples::open(path).unwrap());
        let scene = document.scene();
        let shown = if node.is_empty() { 0 } else { scene.find(node).unwrap() };
        let mut pose = Pose::new(scene, None);
        pose.evaluate(0.0);
        let mesh = &scene.meshes[scene.nodes[shown].mesh.unwrap()];
        let size = mesh.positions.iter().fold(0.0, |m: f64, p| m.max(p.length()));
        let placed = pose.vertices(scene, shown);
        let off = placed.iter().zip(&mesh.positions).map(|(a, b)| (*a - *b).length());
        let off = off.fold(0.0, f64::max);
        assert!(!mesh.influences.is_empty() && off < 0.01 * size, "{file}: off by {off} of {size}");
    }
}
