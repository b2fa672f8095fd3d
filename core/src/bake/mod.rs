//! From a motion to curves for the host's channels: local space, continuous quaternions, few keys or all frames.

mod additive;
mod deformation;
mod morph;
mod parallel;
mod seam;
mod tolerance;

pub use deformation::{Deformation, deformations};
pub use tolerance::{Tolerance, tolerances};

use crate::curve::{
    Curve, CurveError, FitOptions, Kind, Segments, fit_bent, fit_straight, make_continuous, straight_error,
};
use crate::cycle::{Gap, travel};
use crate::motion::Motion;
use crate::rig::{Rig, Solid};
use crate::scene::{Channel, Channels, Clip, Local, Pose, Property, Scene};
use crate::setup::{Bake, BakedKeys};
use glam::DVec3;
use parallel::in_parallel;

/// What a bake gave.
#[derive(Clone, Debug, Default)]
pub struct Baked {
    /// Curves for the simulated nodes only; the source clip's other channels are the writer's to carry along.
    pub channels: Vec<Channel>,
    /// Curves that make the whole motion when they are added to the source clip's, where such a layer was asked for.
    pub additive: Vec<Channel>,
    /// Keys written, and samples they stand for.
    pub keys: usize,
    /// Frames times channels.
    pub samples: usize,
    /// Largest distance of a fitted curve from the simulation at a frame, scene units.
    pub max_error: f64,
    /// The same for rotations, degrees.
    pub max_error_deg: f64,
    /// How far a reader that drops tangents is off, scene units.
    pub straight_error: f64,
    /// The same for rotations, degrees.
    pub straight_error_deg: f64,
    /// Of a loop, what is between the end and the start of its curves.
    pub seam: Option<Gap>,
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
    /// The callback said stop.
    #[error("cancelled")]
    Cancelled,
}

/// What moves by less than this share of the tolerance does not move.
const HAIR: f64 = 1e-2;

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
    bake_while(scene, clip, rig, motion, (options, single), &mut || true)
}

/// The same for as long as `go_on`, which is asked now and then on this thread, says so.
pub fn bake_while(
    scene: &Scene,
    clip: Option<&Clip>,
    rig: &Rig,
    motion: &Motion,
    (options, single): (&Bake, bool),
    go_on: &mut dyn FnMut() -> bool,
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

    let held = options.hold.map(|frame| held_from(motion, frame / rig.range.frames_per_second));
    let mut wanted = wanted(scene, clip, rig, &pose, options, translations, rotations);
    for w in &mut wanted {
        w.settle(held, rig.range.turns > 1);
    }
    let how = How { keys: options.keys, every: options.every(), single, cyclic: rig.range.turns > 1 };
    let times = motion.times();
    let fitted = in_parallel(&wanted, |w| w.curve(times, &how), go_on).ok_or(BakeError::Cancelled)?;
    let mut baked = Baked { seam: how.cyclic.then(Gap::default), ..Baked::default() };
    let travel = if how.cyclic { travel(rig) } else { vec![DVec3::ZERO; solids] };
    for (w, result) in wanted.iter().zip(fitted) {
        let solid = &rig.solids[w.solid];
        let fit = result.map_err(|error| BakeError::Curve { node: solid.label.clone(), error })?;
        if let Some(seam) = &mut baked.seam {
            // What hangs on a body beside it is keyed in the world as that is.
            let mut above = std::iter::successors(scene.nodes[w.node].parent, |&p| scene.nodes[p].parent);
            let travels = above.all(|p| solid_of_node[p].is_none()) && travel[w.solid] != DVec3::ZERO;
            seam::widen(seam, w, &fit.curve, times, travels, &solid.name);
        }
        baked.add(w, solid, fit, frames);
    }
    if options.layer.additive() {
        let full = std::mem::take(&mut baked.channels);
        let layer = additive::wanted(scene, clip, times, &wanted, &full, &how);
        let fitted = in_parallel(&layer.wanted, |w| w.curve(&layer.times, &how), go_on);
        let fitted = fitted.ok_or(BakeError::Cancelled)?;
        for (w, result) in layer.wanted.iter().zip(fitted) {
            let solid = &rig.solids[w.solid];
            let fit = result.map_err(|error| BakeError::Curve { node: solid.label.clone(), error })?;
            baked.add(w, solid, fit, frames);
        }
        baked.additive = std::mem::take(&mut baked.channels);
        if options.layer.full() {
            baked.channels = full;
        } else {
            baked.keys -= full.iter().map(|c| c.curve.times().len()).sum::<usize>();
            baked.samples -= full.len() * frames;
        }
    }
    Ok(baked)
}

/// The channels that get curves, from local translations and rotations of every solid at every frame.
fn wanted(
    scene: &Scene,
    clip: Option<&Clip>,
    rig: &Rig,
    pose: &Pose<'_>,
    options: &Bake,
    mut translations: Vec<Vec<f64>>,
    mut rotations: Vec<Vec<f64>>,
) -> Vec<Wanted> {
    let curves = clip.map(Clip::keyed).unwrap_or_default();
    let mut wanted = Vec::with_capacity(2 * rig.solids.len());
    let tolerances = tolerances(rig, options);
    for (s, solid) in rig.solids.iter().enumerate().filter(|(_, s)| s.baked) {
        let keyed = |p| curves.contains(&(solid.node, p));
        let Local::Channels(rest) = scene.nodes[solid.node].local else { continue };
        // A tolerance in world units means less under a scaled parent, but never more than asked.
        let scale = pose.parent_scale(solid.node).max(1e-12);
        if solid.simulate.position() {
            let values = std::mem::take(&mut translations[s]);
            let tolerance = tolerances[s].place / scale;
            // Bones on joints stay where they are on their parents, but for what joints are open by.
            let hair = tolerance * HAIR;
            let there = |v: &[f64]| (DVec3::from_slice(v) - rest.translation).abs().max_element() <= hair;
            let still = values.chunks_exact(3).all(there);
            if keyed(Property::Translation) || !still {
                let size = solid.radius;
                wanted.push(Wanted {
                    solid: s,
                    node: solid.node,
                    property: Property::Translation,
                    values,
                    bends: Vec::new(),
                    tolerance,
                    scale,
                    size,
                });
            }
        }
        if solid.simulate.orientation() {
            let mut values = std::mem::take(&mut rotations[s]);
            make_continuous(&mut values);
            let still = values.chunks_exact(4).all(|v| rest.rotation.to_array() == *v);
            if keyed(Property::Rotation) || !still {
                let tolerance = tolerances[s].degrees.to_radians();
                wanted.push(Wanted {
                    solid: s,
                    node: solid.node,
                    property: Property::Rotation,
                    values,
                    bends: Vec::new(),
                    tolerance,
                    scale: 1.0,
                    size: 1.0,
                });
            }
        }
    }
    wanted
}

/// The frame, counted from the first, at which everything stops at `time` (s): the first that is not before it.
fn held_from(motion: &Motion, time: f64) -> usize {
    motion.times().partition_point(|t| *t < time - 1e-9)
}

impl Baked {
    /// Takes a fitted channel over.
    fn add(&mut self, w: &Wanted, solid: &Solid, Kept { curve, error, straight }: Kept, frames: usize) {
        match w.property {
            Property::Rotation => {
                self.max_error_deg = self.max_error_deg.max(error.to_degrees());
                self.straight_error_deg = self.straight_error_deg.max(straight.to_degrees());
            }
            _ => {
                self.max_error = self.max_error.max(error * w.scale);
                self.straight_error = self.straight_error.max(straight * w.scale);
            }
        }
        self.keys += curve.times().len();
        self.samples += frames;
        self.channels.push(Channel { node: solid.node, property: w.property, curve });
    }

    /// The curves of the whole motion, or of the layer where only that was asked for.
    pub fn shown(&self) -> &[Channel] {
        if self.channels.is_empty() { &self.additive } else { &self.channels }
    }
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
    node: usize,
    property: Property,
    values: Vec<f64>,
    /// Samples at which it is known to bend.
    bends: Vec<usize>,
    tolerance: f64,
    /// World units per unit of the channel.
    scale: f64,
    /// Of the body, world units; 1 for rotations.
    size: f64,
}

/// Which keys a channel gets.
struct How {
    keys: BakedKeys,
    /// Frames that a pose is held, 1 for none.
    every: usize,
    single: bool,
    cyclic: bool,
}

/// Ends of a cycle differ by less than this only for the rounding of doubles.
const ROUNDING: f64 = 1e-9;

impl Wanted {
    fn kind(&self) -> (Kind, usize) {
        match self.property {
            Property::Rotation => (Kind::Rotation, 4),
            _ => (Kind::Vector, 3),
        }
    }

    /// Stops at the frame `held`, and makes a cycle end exactly where it begins.
    fn settle(&mut self, held: Option<usize>, cyclic: bool) {
        let (_, width) = self.kind();
        let frames = self.values.len() / width;
        if let Some(from) = held.filter(|&f| f < frames) {
            let row = self.values[from * width..(from + 1) * width].to_vec();
            self.values[from * width..].chunks_exact_mut(width).for_each(|v| v.copy_from_slice(&row));
        }
        if cyclic {
            let (first, rest) = self.values.split_at_mut(width);
            let last = rest.len() - width;
            let near = |sign: f64| {
                first
                    .iter()
                    .zip(&rest[last..])
                    .all(|(a, b)| (a - sign * b).abs() < ROUNDING * (1.0 + a.abs()))
            };
            let sign = if near(1.0) { 1.0 } else { -1.0 };
            if near(sign) && (sign > 0.0 || self.property == Property::Rotation) {
                rest[last..].iter_mut().zip(first).for_each(|(b, a)| *b = sign * *a);
            }
        }
    }

    /// The curve, and its largest error at a frame.
    fn curve(&self, times: &[f64], how: &How) -> Result<Kept, CurveError> {
        let (kind, width) = self.kind();
        if how.every > 1 {
            let kept = (0..times.len()).step_by(how.every);
            let values =
                kept.clone().flat_map(|f| &self.values[f * width..(f + 1) * width]).copied().collect();
            let times = kept.map(|f| times[f]).collect();
            return Ok(Kept::exact(Curve::new(kind, width, times, values, Segments::Step)?));
        }
        let options = FitOptions { tolerance: self.tolerance, single: how.single, cyclic: how.cyclic };
        match how.keys {
            BakedKeys::Fitted => {
                let fit = fit_bent(kind, width, times, &self.values, &self.bends, &options)?;
                let straight = straight_error(kind, width, times, &self.values, &fit.samples)?;
                Ok(Kept { curve: fit.curve, error: fit.max_error, straight })
            }
            BakedKeys::Linear => {
                let fit = fit_straight(kind, width, times, &self.values, &options)?;
                Ok(Kept { curve: fit.curve, error: fit.max_error, straight: fit.max_error })
            }
            BakedKeys::EveryFrame => {
                let values = self.values.clone();
                Ok(Kept::exact(Curve::new(kind, width, times.to_vec(), values, Segments::Linear)?))
            }
        }
    }
}

/// A channel's curve.
struct Kept {
    curve: Curve,
    /// Its largest error at a frame, in the channel's unit or rad.
    error: f64,
    /// The same where tangents are dropped.
    straight: f64,
}

impl Kept {
    fn exact(curve: Curve) -> Kept {
        Kept { curve, error: 0.0, straight: 0.0 }
    }
}
