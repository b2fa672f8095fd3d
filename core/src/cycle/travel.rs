//! What a turn carries further on: roots. All that is keyed of a figure goes as far as what leads it, feet on IK bones, too.

use super::keys::extent;
use crate::scene::{Channel, Pose, Property, Scene};
use crate::setup::{Setup, Space};
use glam::DVec3;
use std::collections::{HashMap, HashSet};

/// Travel below this share of how far a curve goes is the rounding of files...
const ROUNDING: f64 = 1e-5;

/// ...and of what leads a figure, below this share: a hip that is not quite back goes nowhere.
const LEADS: f64 = 0.25;

/// How far each node's translation goes in a turn, in its parent's terms.
pub(super) struct Travel(HashMap<usize, DVec3>);

impl Travel {
    /// Of the channels of one turn that begins at `start`; `moves_freely`: those that nothing above turns.
    pub(super) fn new(
        scene: &Scene,
        setup: &Setup,
        turn: &[Channel],
        start: f64,
        moves_freely: impl Fn(&Channel) -> bool,
    ) -> Travel {
        let mut found: HashMap<usize, DVec3> = HashMap::new();
        let up = |node: usize| std::iter::successors(Some(node), |&n| scene.nodes[n].parent);
        // What leads each skin, with all above it.
        let names = scene.by_name();
        let leads = setup.bodies.iter().filter(|b| b.behaviour.simulated() && b.guide.space == Space::World);
        let leads: HashSet<usize> =
            leads.filter_map(|b| crate::rig::resolve_node(scene, &names, &b.node, "").ok()).collect();
        let lead_of = |bone: usize| {
            let skin = scene.skins.iter().find(|s| s.joints.contains(&bone))?;
            skin.joints.iter().copied().find(|j| leads.contains(j))
        };
        let roots: Vec<&Channel> = turn.iter().filter(|c| moves_freely(c)).collect();
        let leading: HashSet<usize> = leads.iter().flat_map(|&l| up(l)).collect();
        let bones: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
        let of_figure = |node: usize| bones.contains(&node) || leading.contains(&node);
        for c in roots.iter().filter(|c| leading.contains(&c.node) || !of_figure(c.node)) {
            let gap = DVec3::from_slice(&c.curve.gap());
            let least = if bones.contains(&c.node) { LEADS } else { ROUNDING };
            if gap.length() > least * extent(&c.curve) {
                found.insert(c.node, gap);
            }
        }
        let mut pose = Pose::new(scene, None);
        pose.evaluate(start);
        let over =
            |node: usize| scene.nodes[node].parent.map_or(glam::DMat3::IDENTITY, |p| pose.world(p).matrix3);
        // Feet that stay where they are while what leads them goes: that is no turn of a walk, and repeated it would tear legs off.
        let mut stays: HashSet<usize> = HashSet::new();
        for c in roots.iter().filter(|c| !leading.contains(&c.node) && of_figure(c.node)) {
            let Some(lead) = lead_of(c.node) else {
                let gap = DVec3::from_slice(&c.curve.gap());
                if gap.length() > ROUNDING * extent(&c.curve) {
                    found.insert(c.node, gap);
                }
                continue;
            };
            // As far as what leads, or nowhere: whichever is nearer.
            let world =
                |node: usize| -> DVec3 { up(node).filter_map(|n| Some(over(n) * *found.get(&n)?)).sum() };
            let carried = scene.nodes[c.node].parent.map_or(DVec3::ZERO, world);
            let own = over(c.node).inverse() * (world(lead) - carried);
            let gap = DVec3::from_slice(&c.curve.gap());
            if !own.is_finite() || own == DVec3::ZERO {
                continue;
            }
            if (gap - own).length() < gap.length() {
                found.insert(c.node, own);
            } else {
                stays.insert(lead);
            }
        }
        let stay = |node: &usize| {
            stays.iter().any(|lead| up(*lead).any(|n| n == *node))
                || lead_of(*node).is_some_and(|l| stays.contains(&l))
        };
        found.retain(|node, _| !stay(node));
        Travel(found)
    }

    /// How far a channel goes in a turn.
    pub(super) fn of(&self, channel: &Channel) -> Vec<f64> {
        let own = self.0.get(&channel.node).filter(|_| channel.property == Property::Translation);
        own.map_or_else(|| vec![0.0; channel.curve.gap().len()], |t| t.to_array().to_vec())
    }
}

/// What each turn carries every solid of a rig further on, world, scene units.
pub(crate) fn travel(rig: &crate::rig::Rig) -> Vec<DVec3> {
    let (start, end) = (rig.range.start(), rig.range.start() + rig.range.length());
    let keyed = |i: usize| {
        let (a, b) = (rig.keyed(i, start).position, rig.keyed(i, end).position);
        // Rounding of times and paths.
        if (b - a).length() > 1e-9 * (rig.solids[i].radius + a.length()) { b - a } else { DVec3::ZERO }
    };
    let mut travel: Vec<DVec3> = Vec::with_capacity(rig.solids.len());
    for i in 0..rig.solids.len() {
        travel.push(rig.carrier(i).map_or_else(|| keyed(i), |c| travel[c]));
    }
    travel
}
