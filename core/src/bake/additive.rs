//! The difference of a bake to the keys, for hosts that play it on top of them.
//!
//! With k the keyed and f the baked local channels, the layer is `f - k` for translations and `k^-1 f` for rotations,
//! so that `k + layer` and `k layer` give the bake back. Keys often bend where a bake runs smoothly, so the
//! difference is taken several times per frame: the two agree between frames as well as at them.

use super::{How, Wanted};
use crate::curve::{Curve, Segments, make_continuous};
use crate::scene::{Channel, Clip, Pose, Property, Scene};
use crate::setup::BakedKeys;

/// Samples per frame of fitted layers.
const PER_FRAME: usize = 8;

/// Share of the tolerance that samples may use up; what lies between them has the rest.
const FOR_SAMPLES: f64 = 0.8;

pub(super) struct Layer {
    pub times: Vec<f64>,
    pub wanted: Vec<Wanted>,
}

/// Times (s) at which the difference is taken: parts of frames, and where keys bend between them.
fn samples(clip: Option<&Clip>, frames: &[f64]) -> Vec<f64> {
    let part = |pair: &[f64], i: usize| pair[0] + (pair[1] - pair[0]) * i as f64 / PER_FRAME as f64;
    let inside = frames.windows(2).flat_map(|pair| (0..PER_FRAME).map(move |i| part(pair, i)));
    let mut times: Vec<f64> = inside.chain(frames.last().copied()).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    // Closer than this to a sample, a bend is on it: files round times.
    let near = 0.02 * (last - first) / times.len() as f64;
    let bends = clip.iter().flat_map(|c| &c.channels).flat_map(|c| c.curve.times());
    let mut bends: Vec<f64> = bends.copied().filter(|t| *t > first && *t < last).collect();
    bends.sort_by(f64::total_cmp);
    bends.dedup_by(|b, a| *b - *a < near);
    bends.retain(|t| {
        let after = times.partition_point(|s| s < t);
        times[after] - t > near && t - times[after - 1] > near
    });
    times.extend(bends);
    times.sort_by(f64::total_cmp);
    times
}

/// Times (s) of the keys at which a curve may bend.
fn bends(curve: &Curve) -> Vec<f64> {
    let (w, times) = (curve.width(), curve.times());
    match curve.segments() {
        Segments::Cubic { arriving, leaving } => {
            let smooth = |k: usize| arriving[k * w..(k + 1) * w] == leaving[k * w..(k + 1) * w];
            (0..times.len()).filter(|&k| !smooth(k)).map(|k| times[k]).collect()
        }
        _ => times.to_vec(),
    }
}

/// The samples that these times are nearest to, in order.
fn on_samples(times: &[f64], at: impl Iterator<Item = f64>) -> Vec<usize> {
    let nearest = |t: f64| {
        if times.len() < 2 {
            return 0;
        }
        let after = times.partition_point(|s| *s < t).clamp(1, times.len() - 1);
        if times[after] - t < t - times[after - 1] { after } else { after - 1 }
    };
    let mut found: Vec<usize> = at.map(nearest).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What becomes the layer under the curves `full` of the channels `of`, which were baked at `frames` (s).
pub(super) fn wanted(
    scene: &Scene,
    clip: Option<&Clip>,
    frames: &[f64],
    of: &[Wanted],
    full: &[Channel],
    how: &How,
) -> Layer {
    let times = match how.keys {
        BakedKeys::EveryFrame => frames.to_vec(),
        BakedKeys::Fitted | BakedKeys::Linear => samples(clip, frames),
    };
    let mut wanted: Vec<Wanted> = of
        .iter()
        .zip(full)
        .map(|(w, channel)| {
            let source = clip.and_then(|c| c.curve(w.node, w.property));
            let bends = source.into_iter().chain([&channel.curve]).flat_map(bends);
            let tolerance = FOR_SAMPLES * w.tolerance;
            Wanted { values: Vec::new(), bends: on_samples(&times, bends), tolerance, ..*w }
        })
        .collect();
    let mut pose = Pose::new(scene, clip);
    for &time in &times {
        pose.evaluate(time);
        for (w, channel) in wanted.iter_mut().zip(full) {
            let keyed = pose.local(w.node);
            match w.property {
                Property::Rotation => {
                    let turn = keyed.rotation.conjugate() * channel.curve.quaternion(time);
                    w.values.extend(turn.normalize().to_array());
                }
                _ => w.values.extend((channel.curve.vector(time) - keyed.translation).to_array()),
            }
        }
    }
    for w in &mut wanted {
        if w.property == Property::Rotation {
            make_continuous(&mut w.values);
        }
        w.settle(None, how.cyclic);
    }
    Layer { times, wanted }
}
