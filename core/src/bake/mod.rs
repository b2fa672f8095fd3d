//! From a motion to curves for the host's channels: local space, continuous quaternions, few keys or all frames.

mod deformation;
mod morph;

pub use deformation::{Deformation, deformations};

use crate::curve::{Curve, CurveError, FitOptions, Kind, Segments, fit_with, make_continuous};
use crate::motion::Motion;
use crate::rig::{Rig, Solid};
use crate::scene::{Channel, Channels, Clip, Local, Pose, Property, Scene};
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

    let curves = clip.map(Clip::keyed).unwrap_or_default();
    let mut wanted = Vec::with_capacity(2 * solids);
    for (s, solid) in rig.solids.iter().enumerate() {
        let keyed = |p| curves.contains(&(solid.node, p));
        let Local::Channels(rest) = scene.nodes[solid.node].local else { continue };
        // A tolerance in world units means less under a scaled parent, but never more than asked.
        let scale = pose.parent_scale(solid.node).max(1e-12);
        if solid.simulate.position() {
            let values = std::mem::take(&mut translations[s]);
            let still = values.chunks_exact(3).all(|v| rest.translation.to_array() == *v);
            if keyed(Property::Translation) || !still {
                let tolerance = options.tolerance.unwrap_or(solid.radius * DEFAULT_TOLERANCE_SHARE) / scale;
                wanted.push(Wanted { solid: s, property: Property::Translation, values, tolerance, scale });
            }
        }
        if solid.simulate.orientation() {
            let mut values = std::mem::take(&mut rotations[s]);
            make_continuous(&mut values);
            let still = values.chunks_exact(4).all(|v| rest.rotation.to_array() == *v);
            if keyed(Property::Rotation) || !still {
                let tolerance = options.tolerance_deg.unwrap_or(DEFAULT_TOLERANCE_DEG).to_radians();
                wanted.push(Wanted { solid: s, property: Property::Rotation, values, tolerance, scale: 1.0 });
            }
        }
    }
    let times = motion.times();
    let fitted = in_parallel(&wanted, |w| w.curve(times, options.keys, single));
    let mut baked = Baked::default();
    for (w, result) in wanted.iter().zip(fitted) {
        let solid = &rig.solids[w.solid];
        let (curve, error) = result.map_err(|error| BakeError::Curve { node: solid.label.clone(), error })?;
        match w.property {
            Property::Rotation => baked.max_error_deg = baked.max_error_deg.max(error.to_degrees()),
            _ => baked.max_error = baked.max_error.max(error * w.scale),
        }
        baked.keys += curve.times().len();
        baked.samples += frames;
        baked.channels.push(Channel { node: solid.node, property: w.property, curve });
    }
    Ok(baked)
}

/// The rest transforms that put the bodies of `rig`, compiled from `scene` at rest, where the first frame of `motion`
/// has them: nodes and their new channels.
pub fn pose(scene: &Scene, rig: &Rig, motion: &Motion) -> Result<Vec<(usize, Channels)>, BakeError> {
    let mut pose = Pose::new(scene, None);
    let samples = motion.frame(0);
    pose.evaluate_with(rig.range.start(), |node| {
        rig.solid_of_node(node).map(|s| (samples[s].node, rig.solids[s].simulate))
    });
    let local = |solid: &Solid| {
        let local = *pose.local(solid.node);
        match local.translation.is_finite() && local.rotation.is_finite() {
            true => Ok((solid.node, local)),
            false => Err(BakeError::FlatParent { node: solid.label.clone(), frame: 0 }),
        }
    };
    rig.solids.iter().map(local).collect()
}

/// A channel that is to become a curve.
struct Wanted {
    solid: usize,
    property: Property,
    values: Vec<f64>,
    tolerance: f64,
    /// World units per unit of the channel.
    scale: f64,
}

impl Wanted {
    /// The curve, and its largest error at a frame.
    fn curve(&self, times: &[f64], keys: BakedKeys, single: bool) -> Result<(Curve, f64), CurveError> {
        let (kind, width) = match self.property {
            Property::Rotation => (Kind::Rotation, 4),
            _ => (Kind::Vector, 3),
        };
        match keys {
            BakedKeys::Fitted => {
                let options = FitOptions { tolerance: self.tolerance, single };
                let fit = fit_with(kind, width, times, &self.values, &options)?;
                Ok((fit.curve, fit.max_error))
            }
            BakedKeys::EveryFrame => {
                let curve = Curve::new(kind, width, times.to_vec(), self.values.clone(), Segments::Linear)?;
                Ok((curve, 0.0))
            }
        }
    }
}

/// Fewer channels than this are fitted sooner than a thread starts.
const WORTH_A_THREAD: usize = 16;

/// `work` on every item, on all cores, results in order: which core did what makes no difference.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len() / WORTH_A_THREAD).max(1);
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    let lot = items.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = items
            .chunks(lot)
            .map(|lot| scope.spawn(move || lot.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let joined = running.into_iter().map(|r| r.join());
        joined.flat_map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
