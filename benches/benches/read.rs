//! Reading glTF: milliseconds for a whole document, beside what other people's code needs for the same bytes: the `gltf`
//! crate for typed JSON and numbers, serde_json for the value that keeps what nobody here knows.
//!
//! `cargo bench -p sinew-benches --bench read -- FILE.glb ...` prints a line for every file; without files there is nothing to
//! do.

use gltf::animation::util::ReadOutputs;
use serde_json::Value;
use sinew_benches::least;
use sinew_plugin::gltf::{Document, ReadOptions};
use std::error::Error;
use std::hint::black_box;

/// The least of so many counts, those that are compared in turns.
const REPETITIONS: usize = 25;

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        let bytes = std::fs::read(&file)?;
        let json = gltf::Glb::from_slice(&bytes)?.json.into_owned();
        Document::from_bytes(&bytes, &file, None, &ReadOptions::default())?;
        numbers(&bytes)?;
        let (mut ours, mut typed, mut value) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..REPETITIONS {
            ours =
                ours.min(once(|| Document::from_bytes(&bytes, &file, None, &ReadOptions::default()).is_ok()));
            typed = typed.min(once(|| numbers(&bytes).is_ok()));
            value = value.min(once(|| serde_json::from_slice::<Value>(&json).is_ok()));
        }
        println!(
            "{file}: {ours:.2} ms; the gltf crate {typed:.2} ms and serde_json::Value {value:.2} ms: {:.2} times both",
            ours / (typed + value)
        );
    }
    Ok(())
}

/// Milliseconds that something takes, dropping what it made included.
fn once(mut run: impl FnMut() -> bool) -> f64 {
    least(1, || {
        black_box(run());
    })
    .as_secs_f64()
        * 1e3
}

/// Everything that Sinew reads of a file, read by the `gltf` crate: how many numbers that is.
fn numbers(bytes: &[u8]) -> Result<usize, gltf::Error> {
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(bytes)?;
    let data = |_: gltf::Buffer<'_>| blob.as_deref();
    let mut count = 0;
    for mesh in document.meshes() {
        for primitive in mesh.primitives() {
            let reader = primitive.reader(data);
            let positions: Vec<[f32; 3]> = reader.read_positions().into_iter().flatten().collect();
            let indices: Vec<u32> = reader.read_indices().into_iter().flat_map(|i| i.into_u32()).collect();
            let joints: Vec<[u16; 4]> =
                reader.read_joints(0).into_iter().flat_map(|j| j.into_u16()).collect();
            let weights: Vec<[f32; 4]> =
                reader.read_weights(0).into_iter().flat_map(|w| w.into_f32()).collect();
            count += positions.len() + indices.len() + joints.len() + weights.len();
            black_box((positions, indices, joints, weights));
        }
    }
    for skin in document.skins() {
        let bound: Vec<[[f32; 4]; 4]> =
            skin.reader(data).read_inverse_bind_matrices().into_iter().flatten().collect();
        count += bound.len();
        black_box(bound);
    }
    for channel in document.animations().flat_map(|a| a.channels()) {
        let reader = channel.reader(data);
        let times: Vec<f32> = reader.read_inputs().into_iter().flatten().collect();
        let values: Vec<f32> = match reader.read_outputs() {
            Some(ReadOutputs::Translations(v) | ReadOutputs::Scales(v)) => v.flatten().collect(),
            Some(ReadOutputs::Rotations(v)) => v.into_f32().flatten().collect(),
            Some(ReadOutputs::MorphTargetWeights(v)) => v.into_f32().collect(),
            None => Vec::new(),
        };
        count += times.len() + values.len();
        black_box((times, values));
    }
    Ok(count)
}
