//! The clip, sampled: where every bone is at a number of moments.

use crate::rig::frame_rate;
use crate::scene::{Clip, Placement, Pose, Property, Scene};
use glam::{DMat3, DVec3};
use std::collections::{HashMap, HashSet};

/// Moments that are looked at, at most: limits and floors do not get better by more.
const MOST_MOMENTS: f64 = 240.0;

/// Where bones are at each moment of a clip.
pub(super) struct Survey {
    /// The bones of all skins, parents first.
    pub(super) bones: Vec<usize>,
    is_bone: HashSet<usize>,
    /// By node, at each moment.
    places: HashMap<usize, Vec<Placement>>,
    /// By node, at the first moment: scale and shear, into the rigid frame.
    pub(super) stretch: HashMap<usize, DMat3>,
    /// Length of the largest figure's skins and bones at the first moment.
    pub(super) size: f64,
    /// How many figures there are, and of which one each bone is.
    pub(super) figures: usize,
    figure_of: HashMap<usize, usize>,
    /// Nodes whose scale changes; many exporters key one that stays.
    scales: HashSet<usize>,
    /// Between two moments, s.
    pub(super) step: f64,
    /// Vertices of skins and of what bones carry at the first moment.
    pub(super) vertices: HashMap<usize, Vec<DVec3>>,
}

impl Survey {
    /// `None` without bones, or when none of them is moved.
    pub(super) fn new(scene: &Scene, clip: &Clip) -> Option<Survey> {
        let is_bone: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
        let moves = |c: &crate::scene::Channel| {
            matches!(c.property, Property::Translation | Property::Rotation) && is_bone.contains(&c.node)
        };
        if !clip.channels.iter().any(moves) {
            return None;
        }
        let bones: Vec<usize> = scene.parents_first().into_iter().filter(|n| is_bone.contains(n)).collect();
        let changes = |c: &&crate::scene::Channel| {
            let values = c.curve.values();
            c.property == Property::Scale
                && values.iter().zip(values.iter().skip(3)).any(|(a, b)| (a - b).abs() > 1e-4)
        };
        let scales = clip.channels.iter().filter(changes).map(|c| c.node).collect();
        let (start, end) = clip.range()?;
        let frames = ((end - start) * frame_rate(clip)).clamp(1.0, MOST_MOMENTS).ceil();
        let moments: Vec<f64> =
            (0..=frames as usize).map(|k| start + (end - start) * k as f64 / frames).collect();
        let mut pose = Pose::new(scene, Some(clip));
        let mut places: HashMap<usize, Vec<Placement>> = HashMap::new();
        for &time in &moments {
            pose.evaluate(time);
            for &bone in &bones {
                places.entry(bone).or_default().push(pose.placement(bone));
            }
        }
        pose.evaluate(start);
        let stretch = bones.iter().map(|&b| (b, pose.stretch(b))).collect();
        let shown = |n: &usize| scene.nodes[*n].mesh.is_some();
        let vertices: HashMap<usize, Vec<DVec3>> = (0..scene.nodes.len())
            .filter(shown)
            .filter(|&n| scene.skinned_mesh(n).is_some() || carrier(scene, &is_bone, n).is_some())
            .map(|n| (n, pose.vertices(scene, n)))
            .collect();
        let figure_of = super::figure::number(scene, &bones);
        let figures = figure_of.values().max().map_or(0, |n| n + 1);
        let shows = |node: usize| match scene.skinned_mesh(node) {
            Some((_, skin)) => skin.joints.first().and_then(|b| figure_of.get(b)).copied(),
            None => carrier(scene, &is_bone, node).map(|b| figure_of[&b]),
        };
        let extent = |figure: usize| {
            let own = || bones.iter().filter(|b| figure_of[b] == figure);
            let skins = || vertices.iter().filter(|(n, _)| figures == 1 || shows(**n) == Some(figure));
            let all = || skins().flat_map(|(_, v)| v).copied().chain(own().map(|b| places[b][0].position));
            // From one end to the other, whichever way it is turned.
            let farthest = |from: DVec3| {
                all()
                    .fold(from, |best, p| if (p - from).length() > (best - from).length() { p } else { best })
            };
            let tip = farthest(own().next().map_or(DVec3::ZERO, |b| places[b][0].position));
            (farthest(tip) - tip).length()
        };
        let size = (0..figures).map(extent).fold(0.0, f64::max);
        let finite = places.values().flatten().all(|p| p.position.is_finite() && p.rotation.is_finite());
        (finite && size.is_finite() && size > 0.0).then_some(Survey {
            bones,
            is_bone,
            places,
            stretch,
            size,
            figures,
            figure_of,
            scales,
            step: (end - start) / frames,
            vertices,
        })
    }

    /// Where a bone is at each moment.
    pub(super) fn places(&self, bone: usize) -> &[Placement] {
        &self.places[&bone]
    }

    /// Where a bone is at the first moment.
    pub(super) fn first(&self, bone: usize) -> Placement {
        self.places[&bone][0]
    }

    /// How a bone is seen from another at each moment.
    pub(super) fn seen<'a>(&'a self, from: usize, bone: usize) -> impl Iterator<Item = Placement> + 'a {
        self.places(from).iter().zip(self.places(bone)).map(|(a, b)| a.to(b))
    }

    /// The number of a bone's figure.
    pub(super) fn figure(&self, bone: usize) -> usize {
        self.figure_of[&bone]
    }

    pub(super) fn is_bone(&self, node: usize) -> bool {
        self.is_bone.contains(&node)
    }

    /// Whether a node's scale changes.
    pub(super) fn scales(&self, node: usize) -> bool {
        self.scales.contains(&node)
    }

    /// The bones above a node, the nearest first.
    pub(super) fn above<'a>(&'a self, scene: &'a Scene, node: usize) -> impl Iterator<Item = usize> + 'a {
        std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent)
            .filter(|p| self.is_bone.contains(p))
    }

    /// The bone that carries a node, itself included.
    pub(super) fn carrier(&self, scene: &Scene, node: usize) -> Option<usize> {
        carrier(scene, &self.is_bone, node)
    }
}

fn carrier(scene: &Scene, is_bone: &HashSet<usize>, node: usize) -> Option<usize> {
    std::iter::successors(Some(node), |&p| scene.nodes[p].parent).find(|p| is_bone.contains(p))
}
