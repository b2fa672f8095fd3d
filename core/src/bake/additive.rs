//! The difference of a bake to the keys, for hosts that play it on top of them.
//!
//! With k the keyed and f the baked local channels, the layer is `f - k` for translations and `k^-1 f` for rotations,
//! so that `k + layer` and `k layer` give the bake back. Keys often bend where a bake runs smoothly, so the
//! difference is taken several times per frame: the two agree between frames as well as at them.

use super::{How, Wanted};
use crate::curve::make_continuous;
use crate::scene::{Channel, Clip, Pose, Property, Scene};
use crate::setup::BakedKeys;

/// Samples per frame of fitted layers.
const PER_FRAME: usize = 4;

pub(super) struct Layer {
    pub times: Vec<f64>,
    pub wanted: Vec<Wanted>,
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
    let times: Vec<f64> = match how.keys {
        BakedKeys::EveryFrame => frames.to_vec(),
        BakedKeys::Fitted => {
            let part = |pair: &[f64], i: usize| pair[0] + (pair[1] - pair[0]) * i as f64 / PER_FRAME as f64;
            let inside = frames.windows(2).flat_map(|pair| (0..PER_FRAME).map(move |i| part(pair, i)));
            inside.chain(frames.last().copied()).collect()
        }
    };
    let mut wanted: Vec<Wanted> = of.iter().map(|w| Wanted { values: Vec::new(), ..*w }).collect();
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
