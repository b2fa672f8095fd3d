//! Bad input: a corpus that is made here, bytes that are changed at random, set-ups and flags at random. Nothing panics, aborts,
//! hangs, or gives a number that is none; and no wrong value passes in silence.
//!
//! SINEW_MUTANTS, SINEW_SETUPS and SINEW_FLAGS say how many there are (defaults: 600, 200, 60).
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

#[path = "hostile/corpus.rs"]
mod corpus;
#[path = "hostile/mutants.rs"]
mod mutants;
#[path = "hostile/random.rs"]
mod random;

use base64::Engine;
use serde_json::{Value, json};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::job::{BakeRequest, JobError, SetupSource, bake_file, set_limits};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A job that takes longer is ended, and is a failure.
const SECONDS: f64 = 600.0;

/// How many there are of something.
fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// What became of a scene.
#[derive(Debug)]
enum Outcome {
    /// Baked, with these warnings.
    Done(Vec<String>),
    /// Refused, with this text.
    Refused(String),
}

/// Bakes a few frames. Panics where the product does, hangs, or writes what is no number.
fn bake(scene: &Path, setup: Option<&Path>, request: BakeRequest) -> Outcome {
    set_limits(Some(SECONDS), 10_000_000);
    let output = scene.with_file_name("baked.glb");
    let _ = fs::remove_file(&output);
    let request = BakeRequest {
        scene: scene.to_owned(),
        output: Some(output.clone()),
        setup: setup.map_or(SetupSource::Beside, |f| SetupSource::File(f.to_owned())),
        ..request
    };
    let done = catch_unwind(AssertUnwindSafe(|| bake_file(&request, &mut |_| true)));
    match done.unwrap_or_else(|_| panic!("{} panics", scene.display())) {
        Ok(report) => {
            check_finite(&output);
            Outcome::Done(report.warnings)
        }
        Err(JobError::OverLimit(why)) => panic!("{} hangs: {why}", scene.display()),
        Err(e) => {
            assert!(!output.exists(), "{} was refused and written: {e}", scene.display());
            let text = e.to_string();
            assert!(!text.trim().is_empty());
            Outcome::Refused(text)
        }
    }
}

/// Every number of a file that we wrote is one.
fn check_finite(file: &Path) {
    let document = Document::open(file, &ReadOptions::default());
    let document = document.unwrap_or_else(|e| panic!("our own file is refused: {e}"));
    for clip in &document.scene().clips {
        for channel in &clip.channels {
            let numbers = channel.curve.times().iter().chain(channel.curve.values());
            assert!(numbers.clone().all(|v| v.is_finite()), "{}: {}", file.display(), clip.name);
        }
    }
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        (self.next() % sides.max(1) as u64) as usize
    }

    fn next(&mut self) -> u64 {
        // Steele, Lea and Flood 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }

    /// From `low` to `high`, as often small as large.
    fn wide(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        low * (high / low).powf(share)
    }
}

/// A skinned strip of two bones, a cube with physics, a camera and a clip: something of everything, in one file.
fn scene() -> Value {
    let corners: Vec<f32> =
        (0..8).flat_map(|i: u32| [i & 1, i >> 1 & 1, i >> 2 & 1].map(|bit| bit as f32 - 0.5)).collect();
    let triangles: [u16; 36] = [
        0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3,
        7, 5,
    ];
    let times: [f32; 4] = [0.0, 0.25, 0.5, 1.0];
    let places: [f32; 12] = [0., 2., 0., 1., 3., 0., 2., 2., 0., 3., 2., 0.];
    let mut bind: Vec<f32> = Vec::new();
    (0..2).for_each(|_| bind.extend((0..16).map(|i| f32::from(u8::from(i % 5 == 0)))));
    let joints: Vec<u8> = (0..8).flat_map(|i| [i % 2, 0, 0, 0]).collect();
    let weights: Vec<f32> = (0..8).flat_map(|_| [1.0, 0.0, 0.0, 0.0]).collect();
    let mut data = Vec::new();
    let mut views = Vec::new();
    let mut view = |bytes: Vec<u8>| {
        views.push(json!({ "buffer": 0, "byteOffset": data.len(), "byteLength": bytes.len() }));
        data.extend(bytes);
    };
    let floats = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    view(floats(&corners));
    view(triangles.iter().flat_map(|t| t.to_le_bytes()).collect());
    view(floats(&times));
    view(floats(&places));
    view(floats(&bind));
    view(joints);
    view(floats(&weights));
    let uri = format!("data:;base64,{}", base64::engine::general_purpose::STANDARD.encode(&data));
    json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0, 1, 4] }],
        "extensionsUsed": ["KHR_physics_rigid_bodies", "KHR_implicit_shapes"],
        "extensions": { "KHR_implicit_shapes": { "shapes": [{ "type": "box", "box": { "size": [1, 1, 1] } }] },
            "KHR_physics_rigid_bodies": { "physicsJoints": [{ "limits": [{ "linearAxes": [0, 1, 2], "min": 0, "max": 0 }] }] } },
        "nodes": [
            { "name": "Cube", "mesh": 0, "translation": [0, 2, 0],
              "extensions": { "KHR_physics_rigid_bodies": { "motion": { "mass": 2.0 },
                  "collider": { "geometry": { "shape": 0 } } } } },
            { "name": "Strip", "mesh": 1, "skin": 0, "children": [2] },
            { "name": "Hip", "children": [3] },
            { "name": "Knee", "translation": [0, 1, 0] },
            { "name": "Hook", "translation": [0, 3, 0], "camera": 0,
              "extensions": { "KHR_physics_rigid_bodies": { "joint": { "connectedNode": 0, "joint": 0 } } } }],
        "cameras": [{ "type": "perspective", "perspective": { "yfov": 1, "znear": 0.1 } }],
        "meshes": [
            { "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] },
            { "primitives": [{ "attributes": { "POSITION": 0, "JOINTS_0": 5, "WEIGHTS_0": 6 }, "indices": 1 }] }],
        "skins": [{ "joints": [2, 3], "inverseBindMatrices": 4 }],
        "animations": [{ "name": "Move",
            "channels": [{ "sampler": 0, "target": { "node": 2, "path": "translation" } },
                { "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 2, "output": 3 }] }],
        "buffers": [{ "byteLength": data.len(), "uri": uri }],
        "bufferViews": views,
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": [-0.5, -0.5, -0.5], "max": [0.5, 0.5, 0.5] },
            { "bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR" },
            { "bufferView": 2, "componentType": 5126, "count": 4, "type": "SCALAR", "min": [0], "max": [1] },
            { "bufferView": 3, "componentType": 5126, "count": 4, "type": "VEC3" },
            { "bufferView": 4, "componentType": 5126, "count": 2, "type": "MAT4" },
            { "bufferView": 5, "componentType": 5121, "count": 8, "type": "VEC4" },
            { "bufferView": 6, "componentType": 5126, "count": 8, "type": "VEC4" }]
    })
}

/// The scene as GLB.
fn glb(json: &Value, bin: &[u8]) -> Vec<u8> {
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bin = bin.to_vec();
    bin.resize(bin.len().next_multiple_of(4), 0);
    let mut out = b"glTF".to_vec();
    let chunk = |out: &mut Vec<u8>, kind: &[u8; 4], bytes: &[u8]| {
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(kind);
        out.extend(bytes);
    };
    out.extend(2_u32.to_le_bytes());
    out.extend(((12 + 8 + text.len() + 8 + bin.len()) as u32).to_le_bytes());
    chunk(&mut out, b"JSON", &text);
    chunk(&mut out, b"BIN\0", &bin);
    out
}

fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// A few frames, of whatever there is.
fn few() -> BakeRequest {
    BakeRequest { frames: Some([0.0, 8.0]), ..BakeRequest::default() }
}
