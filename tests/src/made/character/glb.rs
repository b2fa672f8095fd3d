//! Writes a character as .glb: one skin, a clip for every take, keys on frames.

use super::Character;
use super::pose::Pose;
use super::skeleton::Skeleton;
use super::take::Take;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use serde_json::{Value, json};

const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_BYTE: u32 = 5121;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Bytes and what they are.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Chunk {
    fn add(&mut self, kind: &str, code: u32, count: usize, data: &[u8], target: Option<u32>) -> usize {
        let start = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(start, 0);
        self.bytes.extend(data);
        let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": data.len()});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.views.push(view);
        let view = self.views.len() - 1;
        self.accessors.push(json!({"bufferView": view, "componentType": code, "type": kind, "count": count}));
        self.accessors.len() - 1
    }

    fn floats<const N: usize>(&mut self, kind: &str, values: &[[f64; N]], target: Option<u32>) -> usize {
        let stored: Vec<[f32; N]> = values.iter().map(|v| v.map(|c| c as f32)).collect();
        let data: Vec<u8> = stored.iter().flatten().flat_map(|c| c.to_le_bytes()).collect();
        let index = self.add(kind, FLOAT, values.len(), &data, target);
        if N < 4 {
            let bound = |pick: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..N).filter_map(|c| stored.iter().map(|v| v[c]).reduce(pick)).collect()
            };
            self.accessors[index]["min"] = json!(bound(f32::min));
            self.accessors[index]["max"] = json!(bound(f32::max));
        }
        index
    }
}

/// The whole file.
pub fn write(character: &Character) -> Vec<u8> {
    let skeleton = character.skeleton();
    let mut chunk = Chunk::default();
    let mesh = mesh(character, &mut chunk);
    let animations: Vec<Value> =
        character.takes.iter().map(|t| animation(character, &skeleton, t, &mut chunk)).collect();
    let rest = character.rest();
    let units = character.units_per_metre;
    let mut nodes: Vec<Value> = Vec::new();
    let mut roots = Vec::new();
    for (i, bone) in skeleton.bones.iter().enumerate() {
        let (at, turn) = rest[i];
        nodes.push(json!({"name": bone.name, "translation": at.to_array(), "rotation": turn.to_array()}));
        let children: Vec<usize> =
            (0..skeleton.bones.len()).filter(|k| skeleton.bones[*k].parent == Some(i)).collect();
        if !children.is_empty() {
            nodes[i]["children"] = json!(children);
        }
        if bone.parent.is_none() {
            roots.push(i);
        }
    }
    let count = skeleton.bones.len();
    let back: Vec<[f64; 16]> = skeleton
        .bones
        .iter()
        .map(|b| DAffine3::from_rotation_translation(b.rest_turn(), b.head * units).inverse())
        .map(|m| DMat4::from(m).to_cols_array())
        .collect();
    let back = chunk.floats("MAT4", &back, None);
    nodes.push(json!({"name": "Armature", "children": roots}));
    nodes.push(json!({"name": character.name, "mesh": 0, "skin": 0}));
    let joints: Vec<usize> = (0..count).collect();
    let document = json!({
        "asset": {"version": "2.0", "generator": "made characters"},
        "scene": 0,
        "scenes": [{"nodes": [count, count + 1]}],
        "nodes": nodes,
        "meshes": [mesh],
        "skins": [{"joints": joints, "inverseBindMatrices": back}],
        "animations": animations,
        "accessors": chunk.accessors,
        "bufferViews": chunk.views,
        "buffers": [{"byteLength": chunk.bytes.len()}],
    });
    container(document.to_string().into_bytes(), chunk.bytes)
}

/// JSON and bytes in one file.
pub fn container(mut text: Vec<u8>, mut bytes: Vec<u8>) -> Vec<u8> {
    text.resize(text.len().next_multiple_of(4), b' ');
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let whole = 12 + 8 + text.len() + 8 + bytes.len();
    let mut file = b"glTF".to_vec();
    for number in [2, whole as u32, text.len() as u32] {
        file.extend(number.to_le_bytes());
    }
    file.extend(b"JSON");
    file.extend(text);
    file.extend((bytes.len() as u32).to_le_bytes());
    file.extend(b"BIN\0");
    file.extend(bytes);
    file
}

/// Place and turn of a bone on its parent, as files have them.
pub fn local(skeleton: &Skeleton, pose: &Pose, bone: usize, units: f64) -> (DVec3, DQuat) {
    let own = &skeleton.bones[bone];
    let (from, back) = match own.parent {
        Some(p) => (skeleton.bones[p].head, skeleton.bones[p].rest_turn().conjugate()),
        None => (DVec3::ZERO, DQuat::IDENTITY),
    };
    let at = back * (own.head - from + pose.shift[bone]) * units;
    (at, (back * pose.turn[bone] * own.rest_turn()).normalize())
}

fn mesh(character: &Character, chunk: &mut Chunk) -> Value {
    let skin = character.skin();
    let units = character.units_per_metre;
    let places: Vec<[f64; 3]> = skin.positions.iter().map(|p| (*p * units).to_array()).collect();
    let normals: Vec<[f64; 3]> = skin.normals.iter().map(|n| n.to_array()).collect();
    let positions = chunk.floats("VEC3", &places, Some(VERTICES));
    let normals = chunk.floats("VEC3", &normals, Some(VERTICES));
    // A bone that holds nothing of a vertex is said to be the first.
    let joints: Vec<u8> = skin
        .held
        .iter()
        .flat_map(|([a, b], w)| [*a as u8, if w[1] > 0.0 { *b as u8 } else { 0 }, 0, 0])
        .collect();
    let joints = chunk.add("VEC4", UNSIGNED_BYTE, skin.held.len(), &joints, Some(VERTICES));
    let weights: Vec<[f64; 4]> = skin.held.iter().map(|(_, [a, b])| [*a, *b, 0.0, 0.0]).collect();
    let weights = chunk.floats("VEC4", &weights, Some(VERTICES));
    let indices: Vec<u8> = skin.triangles.iter().flatten().flat_map(|i| (*i as u16).to_le_bytes()).collect();
    let indices = chunk.add("SCALAR", UNSIGNED_SHORT, 3 * skin.triangles.len(), &indices, Some(INDICES));
    json!({"name": character.name, "primitives": [{
        "attributes": {"POSITION": positions, "NORMAL": normals, "JOINTS_0": joints, "WEIGHTS_0": weights},
        "indices": indices,
    }]})
}

fn animation(character: &Character, skeleton: &Skeleton, take: &Take, chunk: &mut Chunk) -> Value {
    let (rate, units) = (character.frames_per_second, character.units_per_metre);
    let poses = character.keys(take);
    let every = take.held.unwrap_or(1);
    let frames: Vec<usize> = (0..poses.len()).step_by(every).collect();
    let times: Vec<[f64; 1]> = frames.iter().map(|f| [*f as f64 / rate]).collect();
    let times = chunk.floats("SCALAR", &times, None);
    let interpolation = if take.held.is_some() { "STEP" } else { "LINEAR" };
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    for (bone, _) in skeleton.bones.iter().enumerate() {
        let keys: Vec<(DVec3, DQuat)> = frames.iter().map(|f| poses[*f][bone]).collect();
        // Whether it leaves its place at all: most bones only turn.
        let moves = keys.iter().any(|k| (k.0 - keys[0].0).length() > 1e-9 * units);
        let mut turns: Vec<[f64; 4]> = keys.iter().map(|k| k.1.to_array()).collect();
        for k in 1..turns.len() {
            let dot: f64 = turns[k].iter().zip(turns[k - 1]).map(|(a, b)| a * b).sum();
            if dot < 0.0 {
                turns[k] = turns[k].map(|c| -c);
            }
        }
        let mut channel = |path: &str, output: usize| {
            channels.push(json!({"sampler": samplers.len(), "target": {"node": bone, "path": path}}));
            samplers.push(json!({"input": times, "output": output, "interpolation": interpolation}));
        };
        if moves || bone == skeleton.mover {
            let places: Vec<[f64; 3]> = keys.iter().map(|k| k.0.to_array()).collect();
            channel("translation", chunk.floats("VEC3", &places, None));
        }
        channel("rotation", chunk.floats("VEC4", &turns, None));
    }
    json!({"name": take.name, "samplers": samplers, "channels": channels})
}
