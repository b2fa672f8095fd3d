//! Scenes to measure on, and the least time of several repetitions.
//!
//! `cargo bench -p sinew-benches` prints every figure. Machines are noisy, so the least of many runs counts, and
//! what is compared is run in turns in one process.

pub mod clock;
pub mod figure;
pub mod neutral;
pub mod overlap;
pub mod pile;

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rotation;
use sinew_core::scene::{Channel, Clip, Node, Property, Scene};
use std::time::{Duration, Instant};

/// The least time of `repetitions` runs.
pub fn least(repetitions: usize, mut run: impl FnMut()) -> Duration {
    let timed = |run: &mut dyn FnMut()| {
        let began = Instant::now();
        run();
        began.elapsed()
    };
    (0..repetitions).map(|_| timed(&mut run)).min().unwrap_or_default()
}

/// `count` nodes side by side, each with `keys` keys of translation and rotation over `seconds`, cubic and slerped.
///
/// # Panics
/// Never: the keys are in order.
pub fn crowd(count: usize, keys: usize, seconds: f64) -> Scene {
    let times: Vec<f64> = (0..keys).map(|k| seconds * k as f64 / (keys - 1) as f64).collect();
    let mut scene = Scene { name: "crowd".into(), frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    for node in 0..count {
        scene.nodes.push(Node { name: format!("Node {node}"), ..Node::default() });
        let phase = node as f64 * 0.37;
        let at = |t: f64| DVec3::new((t * 2.0 + phase).sin(), (t * 3.0).sin(), node as f64 * 0.1);
        let turned = |t: f64| rotation::exp(DVec3::new(0.3 * t, (t + phase).sin(), 0.2));
        let values: Vec<f64> = times.iter().flat_map(|&t| at(t).to_array()).collect();
        let turns: Vec<f64> = times.iter().flat_map(|&t| DQuat::to_array(&turned(t))).collect();
        let translation = Curve::catmull_rom(Kind::Vector, 3, times.clone(), values);
        let rotation = Curve::new(Kind::Rotation, 4, times.clone(), turns, Segments::Linear);
        for (property, curve) in [(Property::Translation, translation), (Property::Rotation, rotation)] {
            match curve {
                Ok(curve) => clip.channels.push(Channel { node, property, curve }),
                Err(e) => unreachable!("{e}"),
            }
        }
    }
    scene.clips.push(clip);
    scene
}
