//! The clips, sampled: where every bone is at rest, at a number of moments of the clip that guides, and in all clips.
//!
//! What a figure is (its bodies, joints, shapes, masses, floor) is found out from all clips and from the pose at rest, so that it
//! is the same whichever clip is simulated. What a clip does with it (limits, pins, strengths) is found out from that clip.

use crate::rig::frame_rate;
use crate::scene::{Clip, Placement, Pose, Property, Scene};
use glam::{DMat3, DVec3};
use std::collections::{HashMap, HashSet};

/// Moments of a clip that are looked at, at most: limits and floors do not get better by more.
const MOST_MOMENTS: f64 = 240.0;

/// Moments of all clips together, about, and of each at least.
const ALL_MOMENTS: usize = 1200;
const LEAST_MOMENTS: usize = 16;

/// A pose at rest whose figure is this many times larger or smaller than that of the first clip is none.
const NO_REST: f64 = 1.5;

/// Where bones are.
pub(super) struct Survey {
    /// The bones of all skins, parents first.
    pub(super) bones: Vec<usize>,
    is_bone: HashSet<usize>,
    /// By node, at each moment of the clip that guides.
    places: HashMap<usize, Vec<Placement>>,
    /// By node, at moments of all clips.
    ever: HashMap<usize, Vec<Placement>>,
    /// By node, at rest.
    rest: HashMap<usize, Placement>,
    /// By node, at rest: scale and shear, into the rigid frame.
    pub(super) stretch: HashMap<usize, DMat3>,
    /// Length of the largest figure's skins and bones at rest.
    pub(super) size: f64,
    /// How many figures there are, and of which one each bone is.
    pub(super) figures: usize,
    figure_of: HashMap<usize, usize>,
    /// Nodes whose scale changes in the clip that guides; many exporters key one that stays.
    scales: HashSet<usize>,
    /// Between two moments of the clip that guides, s.
    pub(super) step: f64,
    /// Vertices of skins and of what bones carry, at rest.
    pub(super) vertices: HashMap<usize, Vec<DVec3>>,
}

impl Survey {
    /// `None` without bones, or when none of them is moved.
    pub(super) fn new(scene: &Scene, clip: &Clip) -> Option<Survey> {
        let is_bone: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
        let moves = |c: &crate::scene::Channel| {
            matches!(c.property, Property::Translation | Property::Rotation) && is_bone.contains(&c.node)
        };
        let moves_bones = |clip: &&Clip| clip.channels.iter().any(moves);
        if !moves_bones(&clip) {
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
        let places = sample(scene, clip, &bones, frames as usize);
        // A live host has one clip, and it may not be among the scene's.
        let mut clips: Vec<&Clip> = scene.clips.iter().filter(moves_bones).collect();
        if clips.is_empty() {
            clips.push(clip);
        }
        let each = (ALL_MOMENTS / clips.len()).max(LEAST_MOMENTS);
        let mut ever: HashMap<usize, Vec<Placement>> = HashMap::new();
        for clip in &clips {
            for (bone, mut places) in sample(scene, clip, &bones, each) {
                ever.entry(bone).or_default().append(&mut places);
            }
        }
        let figure_of = super::figure::number(scene, &bones);
        let figures = figure_of.values().max().map_or(0, |n| n + 1);
        let look = |clip: Option<&Clip>| {
            let mut pose = Pose::new(scene, clip);
            pose.evaluate(clip.and_then(Clip::range).map_or(0.0, |r| r.0));
            let rest: HashMap<usize, Placement> = bones.iter().map(|&b| (b, pose.placement(b))).collect();
            let stretch = bones.iter().map(|&b| (b, pose.stretch(b))).collect();
            let vertices = vertices(scene, &is_bone, &pose);
            let size = (0..figures)
                .map(|f| extent(scene, &bones, &is_bone, (&figure_of, figures), &rest, &vertices, f))
                .fold(0.0, f64::max);
            (rest, stretch, vertices, size)
        };
        let begins = look(clips.first().copied());
        let rests = look(None);
        let same = (rests.3 / begins.3).max(begins.3 / rests.3) < NO_REST;
        let (rest, stretch, vertices, size) = if same { rests } else { begins };
        let all = places.values().chain(ever.values()).flatten().chain(rest.values());
        let finite = all.into_iter().all(|p| p.position.is_finite() && p.rotation.is_finite());
        (finite && size.is_finite() && size > 0.0).then_some(Survey {
            bones,
            is_bone,
            places,
            ever,
            rest,
            stretch,
            size,
            figures,
            figure_of,
            scales,
            step: (end - start) / frames,
            vertices,
        })
    }

    /// Where a bone is at each moment of the clip that guides.
    pub(super) fn places(&self, bone: usize) -> &[Placement] {
        &self.places[&bone]
    }

    /// Where a bone is at moments of all clips.
    pub(super) fn ever(&self, bone: usize) -> &[Placement] {
        &self.ever[&bone]
    }

    /// Where a bone is at rest.
    pub(super) fn at_rest(&self, bone: usize) -> Placement {
        self.rest[&bone]
    }

    /// How a bone is seen from another at each moment of the clip that guides.
    pub(super) fn seen<'a>(&'a self, from: usize, bone: usize) -> impl Iterator<Item = Placement> + 'a {
        self.places(from).iter().zip(self.places(bone)).map(|(a, b)| a.to(b))
    }

    /// The same in all clips.
    pub(super) fn ever_seen<'a>(&'a self, from: usize, bone: usize) -> impl Iterator<Item = Placement> + 'a {
        self.ever(from).iter().zip(self.ever(bone)).map(|(a, b)| a.to(b))
    }

    /// How far a bone's origin wanders on another in all clips, from the middle of where it is: root of the mean square, and at
    /// most; and that middle.
    pub(super) fn wanders(&self, on: usize, bone: usize) -> (f64, f64, DVec3) {
        let count = self.ever(bone).len().max(1) as f64;
        let middle = self.ever_seen(on, bone).map(|p| p.position).sum::<DVec3>() / count;
        let (mut square, mut most) = (0.0, 0.0_f64);
        for seen in self.ever_seen(on, bone) {
            let off = (seen.position - middle).length_squared();
            (square, most) = (square + off, most.max(off));
        }
        ((square / count).sqrt(), most.sqrt(), middle)
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

/// Where bones are at so many even steps through a clip, both ends included.
fn sample(scene: &Scene, clip: &Clip, bones: &[usize], steps: usize) -> HashMap<usize, Vec<Placement>> {
    let mut places: HashMap<usize, Vec<Placement>> = HashMap::new();
    let (start, end) = clip.range().unwrap_or_default();
    let mut pose = Pose::new(scene, Some(clip));
    for k in 0..=steps {
        pose.evaluate(start + (end - start) * k as f64 / steps.max(1) as f64);
        for &bone in bones {
            places.entry(bone).or_default().push(pose.placement(bone));
        }
    }
    places
}

/// The vertices of skins and of what bones carry, but for what is hidden, and for all but one of what one slot can hold.
fn vertices(scene: &Scene, is_bone: &HashSet<usize>, pose: &Pose) -> HashMap<usize, Vec<DVec3>> {
    let mut found: HashMap<usize, Vec<DVec3>> = (0..scene.nodes.len())
        .filter(|&n| scene.nodes[n].mesh.is_some() && !scene.nodes[n].hidden)
        .filter(|&n| scene.skinned_mesh(n).is_some() || carrier(scene, is_bone, n).is_some())
        .map(|n| (n, pose.vertices(scene, n)))
        .collect();
    let rigid = found.keys().copied().filter(|&n| scene.nodes[n].skin.is_none());
    let rigid: Vec<usize> = rigid.filter(|n| scene.nodes[*n].parent.is_some()).collect();
    for node in super::slot::alternatives(scene, is_bone, &rigid, &found) {
        found.remove(&node);
    }
    found
}

/// From one end of a figure to the other, whichever way it is turned.
fn extent(
    scene: &Scene,
    bones: &[usize],
    is_bone: &HashSet<usize>,
    (figure_of, figures): (&HashMap<usize, usize>, usize),
    rest: &HashMap<usize, Placement>,
    vertices: &HashMap<usize, Vec<DVec3>>,
    figure: usize,
) -> f64 {
    let shows = |node: usize| match scene.skinned_mesh(node) {
        Some((_, skin)) => skin.joints.first().and_then(|b| figure_of.get(b)).copied(),
        None => carrier(scene, is_bone, node).map(|b| figure_of[&b]),
    };
    let own = || bones.iter().filter(|b| figure_of[b] == figure);
    let mut shown: Vec<usize> = vertices.keys().copied().collect();
    shown.sort_unstable();
    shown.retain(|n| figures == 1 || shows(*n) == Some(figure));
    let all = || shown.iter().flat_map(|n| &vertices[n]).copied().chain(own().map(|b| rest[b].position));
    let farthest = |from: DVec3| {
        all().fold(from, |best, p| if (p - from).length() > (best - from).length() { p } else { best })
    };
    let tip = farthest(own().next().map_or(DVec3::ZERO, |b| rest[b].position));
    (farthest(tip) - tip).length()
}

fn carrier(scene: &Scene, is_bone: &HashSet<usize>, node: usize) -> Option<usize> {
    std::iter::successors(Some(node), |&p| scene.nodes[p].parent).find(|p| is_bone.contains(p))
}
