//! From a motion to curves for the host's channels: local space, continuous quaternions, few keys or all frames.

use crate::curve::{Curve, CurveError, FitOptions, Kind, Segments, fit_with, make_continuous};
use crate::motion::Motion;
use crate::rig::Rig;
use crate::scene::{Channel, Clip, Local, Pose, Property, Scene};
use crate::setup::{Bake, BakedKeys};

/// What a bake gave.
#[derive(Clone, Debug, Default)]
pub struct Baked {
    /// Curves for the simulated nodes only; the source clip's other channels are the writer's to carry along.
    pub channels: Vec<Channel>,
    /// Keys written, and samples they stand for.
    pub keys: usize,
    /// Frames times channels.
    pub samples: usize,
    /// Largest distance of a fitted curve from the simulation at a frame, scene units.
    pub max_error: f64,
    /// The same for rotations, degrees.
    pub max_error_deg: f64,
}

/// Why a bake cannot be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BakeError {
    /// A parent is flat, so no local transform puts the child where it should be.
    #[error(
        "{node}: its parent has a scale of zero at frame {frame}, so no key can place it; scale the parent by a small number instead"
    )]
    FlatParent {
        /// The node.
        node: String,
        /// Frame, counted from the first.
        frame: usize,
    },
    /// The samples are no curve.
    #[error("{node}: {error}")]
    Curve {
        /// The node.
        node: String,
        /// Why.
        error: CurveError,
    },
}

/// Default tolerance for rotations, degrees: a twentieth of what an eye sees on a long limb.
const DEFAULT_TOLERANCE_DEG: f64 = 0.05;

/// Default tolerance for positions as a share of the body's radius.
const DEFAULT_TOLERANCE_SHARE: f64 = 2e-3;

/// Bakes a motion of `rig`, which was compiled from `scene` under `clip`. `single`: whether curves will be stored
/// as f32, in which case the tolerance holds for the rounded numbers.
pub fn bake(
    scene: &Scene,
    clip: Option<&Clip>,
    rig: &Rig,
    motion: &Motion,
    options: &Bake,
    single: bool,
) -> Result<Baked, BakeError> {
    let frames = motion.frames();
    let solids = rig.solids.len();
    let mut translations = vec![vec![0.0; frames * 3]; solids];
    let mut rotations = vec![vec![0.0; frames * 4]; solids];
    let mut solid_of_node = vec![None; scene.nodes.len()];
    for (s, solid) in rig.solids.iter().enumerate() {
        solid_of_node[solid.node] = Some(s);
    }

    let mut pose = Pose::new(scene, clip);
    for (f, &time) in motion.times().iter().enumerate() {
        let samples = motion.frame(f);
        pose.evaluate_with(time, |node| {
            solid_of_node[node].map(|s| (samples[s].node, rig.solids[s].simulate))
        });
        for (s, solid) in rig.solids.iter().enumerate() {
            let local = pose.local(solid.node);
            if !(local.translation.is_finite() && local.rotation.is_finite()) {
                return Err(BakeError::FlatParent { node: solid.label.clone(), frame: f });
            }
            local.translation.write_to_slice(&mut translations[s][f * 3..]);
            local.rotation.write_to_slice(&mut rotations[s][f * 4..]);
        }
    }

    let mut baked = Baked::default();
    let curves = clip.map(Clip::keyed).unwrap_or_default();
    for (s, solid) in rig.solids.iter().enumerate() {
        let keyed = |p| curves.contains(&(solid.node, p));
        let Local::Channels(rest) = scene.nodes[solid.node].local else { continue };
        let failed = |error| BakeError::Curve { node: solid.label.clone(), error };
        // A tolerance in world units means less under a scaled parent, but never more than asked.
        let scale = pose.parent_scale(solid.node).max(1e-12);
        if solid.simulate.position() {
            let values = &translations[s];
            let tolerance = options.tolerance.unwrap_or(solid.radius * DEFAULT_TOLERANCE_SHARE) / scale;
            let still = values.chunks_exact(3).all(|v| rest.translation.to_array() == *v);
            if keyed(Property::Translation) || !still {
                let (curve, error) =
                    channel(Kind::Vector, 3, motion.times(), values, options.keys, tolerance, single)
                        .map_err(failed)?;
                baked.add(solid.node, Property::Translation, curve, frames);
                baked.max_error = baked.max_error.max(error * scale);
            }
        }
        if solid.simulate.orientation() {
            let values = &mut rotations[s];
            make_continuous(values);
            let tolerance = options.tolerance_deg.unwrap_or(DEFAULT_TOLERANCE_DEG).to_radians();
            let still = values.chunks_exact(4).all(|v| rest.rotation.to_array() == *v);
            if keyed(Property::Rotation) || !still {
                let (curve, error) =
                    channel(Kind::Rotation, 4, motion.times(), values, options.keys, tolerance, single)
                        .map_err(failed)?;
                baked.add(solid.node, Property::Rotation, curve, frames);
                baked.max_error_deg = baked.max_error_deg.max(error.to_degrees());
            }
        }
    }
    Ok(baked)
}

impl Baked {
    fn add(&mut self, node: usize, property: Property, curve: Curve, frames: usize) {
        self.keys += curve.times().len();
        self.samples += frames;
        self.channels.push(Channel { node, property, curve });
    }
}

/// One channel as a curve, and its largest error at a frame.
fn channel(
    kind: Kind,
    width: usize,
    times: &[f64],
    values: &[f64],
    keys: BakedKeys,
    tolerance: f64,
    single: bool,
) -> Result<(Curve, f64), CurveError> {
    match keys {
        BakedKeys::Fitted => {
            let fit = fit_with(kind, width, times, values, &FitOptions { tolerance, single })?;
            Ok((fit.curve, fit.max_error))
        }
        BakedKeys::EveryFrame => {
            let curve = Curve::new(kind, width, times.to_vec(), values.to_vec(), Segments::Linear)?;
            Ok((curve, 0.0))
        }
    }
}
