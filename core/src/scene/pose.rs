//! A keyed scene at a moment: local channels from the curves, world placements down the hierarchy.

use super::{Channels, Clip, Local, Property, Scene};
use crate::curve::{Curve, Segments};
use crate::rotation;
use crate::setup::Parts;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// Where a node is and how it is turned, as a rigid body would be: the scale is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Origin in world space, metres.
    pub position: DVec3,
    /// Orientation in world space.
    pub rotation: DQuat,
}

impl Placement {
    /// No displacement, no turn.
    pub const IDENTITY: Placement = Placement { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// This placement, of something given in `child`'s terms: `self` after `child`.
    pub fn then(&self, child: &Placement) -> Placement {
        Placement {
            position: self.position + self.rotation * child.position,
            rotation: self.rotation * child.rotation,
        }
    }

    /// `other` as seen from this placement: `self.then(&self.to(other)) == other`.
    pub fn to(&self, other: &Placement) -> Placement {
        let back = self.rotation.conjugate();
        Placement { position: back * (other.position - self.position), rotation: back * other.rotation }
    }
}

/// Evaluates a scene under one clip: made once, asked at many times.
#[derive(Clone)]
pub struct Pose<'a> {
    scene: &'a Scene,
    order: Vec<usize>,
    curves: Vec<NodeCurves<'a>>,
    local: Vec<Channels>,
    world: Vec<DAffine3>,
}

#[derive(Clone, Copy, Default)]
struct NodeCurves<'a> {
    translation: Option<&'a Curve>,
    rotation: Option<&'a Curve>,
    scale: Option<&'a Curve>,
}

impl<'a> Pose<'a> {
    /// The scene under `clip`, or at rest without one.
    pub fn new(scene: &'a Scene, clip: Option<&'a Clip>) -> Self {
        let mut curves = vec![NodeCurves::default(); scene.nodes.len()];
        for channel in clip.iter().flat_map(|c| &c.channels) {
            let node = &mut curves[channel.node];
            match channel.property {
                Property::Translation => node.translation = Some(&channel.curve),
                Property::Rotation => node.rotation = Some(&channel.curve),
                Property::Scale => node.scale = Some(&channel.curve),
                Property::Weights => {}
            }
        }
        let n = scene.nodes.len();
        Pose {
            scene,
            order: scene.parents_first(),
            curves,
            local: vec![Channels::default(); n],
            world: vec![DAffine3::IDENTITY; n],
        }
    }

    /// A node's local transform at `time` (s). Matrix nodes keep their matrix.
    fn local_at(&self, node: usize, time: f64) -> (Channels, DAffine3) {
        let mut c = match self.scene.nodes[node].local {
            Local::Channels(c) => c,
            Local::Matrix(m) => {
                let a = DAffine3::from_mat4(m);
                let rotation = rotation::of_linear(a.matrix3).unwrap_or(DQuat::IDENTITY);
                return (Channels { translation: a.translation, rotation, scale: DVec3::ONE }, a);
            }
        };
        let curves = &self.curves[node];
        if let Some(curve) = curves.translation {
            c.translation = curve.vector(time);
        }
        if let Some(curve) = curves.rotation {
            c.rotation = curve.quaternion(time);
        }
        if let Some(curve) = curves.scale {
            c.scale = curve.vector(time);
        }
        (c, c.affine())
    }

    /// A node's rest channels with its scale at `time`: all that is needed where the rest is replaced.
    fn scaled_at(&self, node: usize, time: f64) -> Channels {
        let mut c = match self.scene.nodes[node].local {
            Local::Channels(c) => c,
            Local::Matrix(_) => Channels::default(),
        };
        if let Some(curve) = self.curves[node].scale {
            c.scale = curve.vector(time);
        }
        c
    }

    /// Evaluates every node at `time` (s); the accessors below then answer for that time.
    pub fn evaluate(&mut self, time: f64) {
        for k in 0..self.order.len() {
            let i = self.order[k];
            let (local, affine) = self.local_at(i, time);
            self.set(i, local, affine);
        }
    }

    fn set(&mut self, node: usize, local: Channels, affine: DAffine3) {
        self.local[node] = local;
        self.world[node] = match self.scene.nodes[node].parent {
            Some(p) => self.world[p] * affine,
            None => affine,
        };
    }

    /// Evaluates every node at `time`, with some replaced: `replace` is asked for each node, parents first, for a
    /// placement and which parts of it count. The local channels then are those that produce these placements.
    pub fn evaluate_with(&mut self, time: f64, mut replace: impl FnMut(usize) -> Option<(Placement, Parts)>) {
        for k in 0..self.order.len() {
            let i = self.order[k];
            let replaced = replace(i);
            let (mut local, mut affine) = match replaced {
                Some((_, Parts::Both)) => (self.scaled_at(i, time), DAffine3::IDENTITY),
                _ => self.local_at(i, time),
            };
            if let Some((placement, parts)) = replaced {
                let (parent, frame) = self.parent_frame(i);
                if parts.position() {
                    local.translation = parent.inverse().transform_point3(placement.position);
                }
                if parts.orientation() {
                    local.rotation = (frame.conjugate() * placement.rotation).normalize();
                }
                affine = local.affine();
            }
            self.set(i, local, affine);
        }
    }

    /// The largest factor by which the node's parent stretches lengths, at the evaluated time.
    pub fn parent_scale(&self, node: usize) -> f64 {
        let m = self.parent_frame(node).0.matrix3;
        m.x_axis.length().max(m.y_axis.length()).max(m.z_axis.length())
    }

    /// The parent's world map and the rotation its children turn with.
    fn parent_frame(&self, node: usize) -> (DAffine3, DQuat) {
        match self.scene.nodes[node].parent {
            None => (DAffine3::IDENTITY, DQuat::IDENTITY),
            Some(p) => {
                let world = self.world[p];
                (world, rotation::of_linear(world.matrix3).unwrap_or(DQuat::IDENTITY))
            }
        }
    }

    /// The local channels at the evaluated time.
    pub fn local(&self, node: usize) -> &Channels {
        &self.local[node]
    }

    /// The world map at the evaluated time.
    pub fn world(&self, node: usize) -> &DAffine3 {
        &self.world[node]
    }

    /// The node as a rigid frame at the evaluated time: its origin, and the parent's polar rotation followed by
    /// its own local one. Baking inverts exactly this, so keys survive mirrored, skewed and zero-scaled parents.
    pub fn placement(&self, node: usize) -> Placement {
        let (_, frame) = self.parent_frame(node);
        Placement {
            position: self.world[node].translation,
            rotation: (frame * self.local[node].rotation).normalize(),
        }
    }

    /// A node's affine map at `time` up to the world, or to below `ancestor`.
    fn affine_below(&self, ancestor: Option<usize>, node: usize, time: f64) -> DAffine3 {
        let mut affine = DAffine3::IDENTITY;
        let mut at = Some(node);
        while let Some(i) = at.filter(|i| Some(*i) != ancestor) {
            affine = self.local_at(i, time).1 * affine;
            at = self.scene.nodes[i].parent;
        }
        affine
    }

    /// As [`Self::placement`], for one node at any time (s), without evaluating the others.
    pub fn placement_at(&self, node: usize, time: f64) -> Placement {
        self.placement_below(None, node, time)
    }

    /// As [`Self::placement_at`], as seen from `ancestor` as it would be unscaled; see [`Self::even_scale`].
    pub fn placement_below(&self, ancestor: Option<usize>, node: usize, time: f64) -> Placement {
        let (local, affine) = self.local_at(node, time);
        let Some(parent) = self.scene.nodes[node].parent.filter(|p| Some(*p) != ancestor) else {
            return Placement { position: affine.translation, rotation: local.rotation };
        };
        let parent = self.affine_below(ancestor, parent, time);
        let frame = rotation::of_linear(parent.matrix3).unwrap_or(DQuat::IDENTITY);
        Placement {
            position: parent.transform_point3(affine.translation),
            rotation: (frame * local.rotation).normalize(),
        }
    }

    /// Times (s) at which the node's placement may bend or jump: keys of its own and of its ancestors, in order;
    /// and whether any of them steps.
    pub fn breaks(&self, node: usize) -> (Vec<f64>, bool) {
        self.breaks_below(None, node)
    }

    /// The factor by which a node and all its ancestors scale lengths, if it is the same in every direction and at
    /// any time: then what is below it moves the same way wherever it is, and its ancestors need not be asked.
    pub fn even_scale(&self, node: usize) -> Option<f64> {
        let mut factor = 1.0;
        let mut at = Some(node);
        while let Some(i) = at {
            let Local::Channels(c) = self.scene.nodes[i].local else { return None };
            if self.curves[i].scale.is_some() || c.scale.x != c.scale.y || c.scale.y != c.scale.z {
                return None;
            }
            factor *= c.scale.x;
            at = self.scene.nodes[i].parent;
        }
        Some(factor).filter(|f| *f != 0.0)
    }

    /// As [`Self::breaks`], of the node and its ancestors below `ancestor`.
    pub fn breaks_below(&self, ancestor: Option<usize>, node: usize) -> (Vec<f64>, bool) {
        let mut times = Vec::new();
        let mut steps = false;
        let mut at = Some(node);
        while let Some(i) = at.filter(|i| Some(*i) != ancestor) {
            let c = &self.curves[i];
            let own = if i == node { None } else { c.scale };
            for curve in [c.translation, c.rotation, own].into_iter().flatten() {
                times.extend_from_slice(curve.times());
                steps |= *curve.segments() == Segments::Step;
            }
            at = self.scene.nodes[i].parent;
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        (times, steps)
    }

    /// As [`Self::breaks`], with the keys of the node's own scale, which its placement leaves out. Not in order.
    pub(super) fn breaks_with_scale(&self, node: usize) -> (Vec<f64>, bool) {
        let (mut times, mut steps) = self.breaks(node);
        if let Some(curve) = self.curves[node].scale {
            times.extend_from_slice(curve.times());
            steps |= *curve.segments() == Segments::Step;
        }
        (times, steps)
    }

    /// Whether the scale of the node or of an ancestor is keyed.
    pub fn scales(&self, node: usize) -> bool {
        std::iter::successors(Some(node), |&n| self.scene.nodes[n].parent)
            .any(|n| self.curves[n].scale.is_some())
    }

    /// Times of the node's own keys (s): of its translation, else of its rotation.
    pub fn keys(&self, node: usize) -> Vec<f64> {
        let c = &self.curves[node];
        c.translation.or(c.rotation).map_or_else(Vec::new, |curve| curve.times().to_vec())
    }

    /// The linear map from the mesh's axes to the rigid frame of [`Self::placement`]: scale and shear.
    pub fn stretch(&self, node: usize) -> DMat3 {
        DMat3::from_quat(self.placement(node).rotation.conjugate()) * self.world[node].matrix3
    }
}
