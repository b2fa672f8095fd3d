//! Pairs that never touch: what is joined, what hangs in one skeleton, what a set-up keeps apart, and what is inside
//! each other from the beginning.

use super::compile::{Compiler, keyed};
use super::floor::Floors;
use super::names::resolve_node;
use super::{Carrier, Collider, Colliders};
use crate::scene::Placement;
use crate::setup::{Parts, SetupError};
use glam::DVec3;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::Pose;
use parry3d_f64::query;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Things that overlap by less than this share of the smaller one at the first frame are pushed apart.
const OVERLAP: f64 = 0.01;

/// What is no larger than this share of another is a point beside it: no digits are left for where they touch.
const POINT: f64 = 1e-12;

/// Extents of half spaces are larger than any number that means something.
const ENDLESS: f64 = 1e100;

/// Pairs that are named one by one; beyond that, how many there are.
const MOST_NAMED: usize = 8;

impl Compiler<'_> {
    /// Fills in `apart`.
    pub(super) fn keep_apart(
        &mut self,
        colliders: &mut Colliders,
        floors: &Floors,
        bodies: &HashMap<usize, usize>,
    ) -> Result<(), SetupError> {
        let mut pairs = BTreeSet::new();
        let on = self.on_solids(colliders);
        let touching: BTreeSet<usize> = colliders.all.iter().map(|c| c.node).collect();
        let scene = self.scene;
        let hangs = |a: usize, b: usize| {
            std::iter::successors(Some(a), |&n| scene.nodes.get(n)?.parent).any(|n| n == b)
        };
        // The floor is no node, and hangs on none.
        let stands = |c: &&Collider| !matches!(c.carrier, Carrier::Solid(_)) && c.node < scene.nodes.len();
        let loose: BTreeSet<usize> = colliders.all.iter().filter(stands).map(|c| c.node).collect();
        // What a node stands for: everything on its solid, or else itself and what is below it and on none.
        let all_on = |node: usize| match self.solid_of_node.get(&node) {
            Some(&s) => on[s].clone(),
            None => {
                let below = loose.iter().copied().filter(|&n| n != node && hangs(n, node));
                std::iter::once(node).chain(below).collect()
            }
        };
        let mut add = |a: usize, b: usize| {
            for &a in &all_on(a) {
                pairs.extend(all_on(b).iter().filter(|b| a != **b).map(|&b| (a.min(b), a.max(b))));
            }
        };
        for (i, joint) in self.setup.joints.iter().enumerate().filter(|(_, j)| !j.collide) {
            let place = format!("joints[{i}]");
            let node = |name: &String| resolve_node(self.scene, &self.names, name, &place).ok();
            if let [Some(a), Some(b)] = [node(&joint.between[0]), node(&joint.between[1])] {
                add(a, b);
            }
        }
        for solid in self.solids.iter().filter(|s| s.simulate == Parts::Orientation) {
            let above =
                std::iter::successors(self.scene.nodes[solid.node].parent, |&p| self.scene.nodes[p].parent);
            if let Some(parent) =
                above.into_iter().find(|p| self.solid_of_node.contains_key(p) || touching.contains(p))
            {
                add(parent, solid.node);
            }
        }
        for (&node, &b) in bodies {
            for (i, name) in self.setup.bodies[b].contact.ignores.iter().enumerate() {
                let place = format!("bodies[{b}] {}.contact.ignores[{i}]", self.scene.label(node));
                add(node, resolve_node(self.scene, &self.names, name, &place)?);
            }
        }
        let odd = incomparable(colliders);
        for (a, b) in odd.iter().take(MOST_NAMED) {
            let (a, b) = (scene.label(*a), scene.label(*b));
            self.warnings.push(format!(
                "{a} and {b} pass through each other: one is as good as a point beside the other; check their scales"
            ));
        }
        pairs.extend(odd);
        floors.keep_apart(scene.nodes.len(), &touching, &mut pairs);
        colliders.apart = pairs.into_iter().collect();
        let inside = self.overlapping(colliders);
        colliders.inside = inside.keys().copied().collect();
        // Limbs and lids are made to be in what they hang on.
        let inside: Vec<((usize, usize), f64)> =
            inside.into_iter().filter(|((a, b), _)| !hangs(*a, *b) && !hangs(*b, *a)).collect();
        for ((a, b), depth) in inside.iter().take(MOST_NAMED) {
            let label = |n: usize| if n < scene.nodes.len() { scene.label(n) } else { "the floor".into() };
            let (a, b) = (label(*a), label(*b));
            self.warnings.push(format!(
                "{a} and {b} overlap at the first frame by {depth:.3} and pass through each other until they have come apart; move them, or write one into the other's \"ignores\" if that is meant"
            ));
        }
        if inside.len() > MOST_NAMED {
            let more = inside.len() - MOST_NAMED;
            self.warnings
                .push(format!("{more} more pairs overlap at the first frame and pass through each other until they have come apart"));
        }
        Ok(())
    }

    /// The nodes with a collider on each solid, its own included.
    fn on_solids(&self, colliders: &Colliders) -> Vec<Vec<usize>> {
        let mut on: Vec<Vec<usize>> = self.solids.iter().map(|s| vec![s.node]).collect();
        for c in &colliders.all {
            if let Carrier::Solid(s) = c.carrier
                && !on[s].contains(&c.node)
            {
                on[s].push(c.node);
            }
        }
        on
    }

    /// Pairs of nodes that are for touching and overlap at the start by more than a little, and by how much.
    fn overlapping(&mut self, colliders: &Colliders) -> BTreeMap<(usize, usize), f64> {
        let poses: Vec<Pose> = colliders.all.iter().map(|c| pose(&self.at_start(c))).collect();
        let boxes: Vec<Aabb> =
            colliders.all.iter().zip(&poses).map(|(c, p)| c.geometry.shape().compute_aabb(p)).collect();
        let mut far = BTreeSet::new();
        for (c, aabb) in colliders.all.iter().zip(&boxes).filter(|(c, _)| c.size.is_finite()) {
            if far.insert(c.node) {
                self.check_far(c.node, aabb.mins.abs().max(aabb.maxs.abs()));
            }
        }
        let mut order: Vec<usize> = (0..boxes.len()).collect();
        order.sort_by(|&a, &b| boxes[a].mins.x.total_cmp(&boxes[b].mins.x));
        let mut inside: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (k, &a) in order.iter().enumerate() {
            for &b in order[k + 1..].iter().take_while(|&&b| boxes[b].mins.x <= boxes[a].maxs.x) {
                let whole = [a, b].iter().all(|c| is_place(&boxes[*c]));
                if !whole || !boxes[a].intersects(&boxes[b]) || !colliders.may_touch(a, b) {
                    continue;
                }
                let (ca, cb) = (&colliders.all[a], &colliders.all[b]);
                if !are_comparable(ca, cb) {
                    continue;
                }
                let met = query::contact(&poses[a], ca.geometry.shape(), &poses[b], cb.geometry.shape(), 0.0);
                let depth = met.ok().flatten().map_or(0.0, |c| -c.dist);
                if depth > OVERLAP * ca.size.min(cb.size) {
                    let deepest = inside.entry((ca.node.min(cb.node), ca.node.max(cb.node))).or_insert(0.0);
                    *deepest = deepest.max(depth);
                }
            }
        }
        inside
    }

    fn at_start(&self, collider: &Collider) -> Placement {
        let carrier = match collider.carrier {
            Carrier::World => Placement::IDENTITY,
            Carrier::Keys(p) => self.paths[p].placement(self.start),
            Carrier::Solid(s) => keyed(&self.paths, &self.solids, self.solids[s].hold, self.start),
        };
        carrier.then(&collider.place)
    }
}

/// Whether one could be inside the other in numbers: not if both are sheets, lines or points, nor if one is as good as a point
/// beside the other. The library would look for a depth there, and not come back.
fn are_comparable(a: &Collider, b: &Collider) -> bool {
    let [x, y] = [a, b].map(|c| c.geometry.shape().compute_local_aabb().extents());
    let is_thin = |size: DVec3| size.min_element() <= 1e-9 * size.max_element();
    let (small, large) = (x.max_element().min(y.max_element()), x.max_element().max(y.max_element()));
    !(is_thin(x) && is_thin(y)) && (small > POINT * large || large >= ENDLESS)
}

/// Pairs of nodes, the lower first, that are no match for each other in numbers.
fn incomparable(colliders: &Colliders) -> Vec<(usize, usize)> {
    let sizes: Vec<(usize, f64)> = colliders
        .all
        .iter()
        .map(|c| (c.node, c.geometry.shape().compute_local_aabb().extents().max_element()))
        .filter(|(_, size)| *size < ENDLESS)
        .collect();
    let largest = sizes.iter().fold(0.0_f64, |most, (_, size)| most.max(*size));
    let mut pairs = BTreeSet::new();
    for &(a, small) in sizes.iter().filter(|(_, size)| *size <= POINT * largest) {
        let larger = sizes.iter().filter(|(b, size)| *b != a && small <= POINT * size);
        pairs.extend(larger.map(|&(b, _)| (a.min(b), a.max(b))));
    }
    pairs.into_iter().collect()
}

/// Whether the squares of its coordinates are numbers: keys beyond that put things nowhere, and queries would not end well.
fn is_place(aabb: &Aabb) -> bool {
    (aabb.mins.length_squared() + aabb.maxs.length_squared()).is_finite()
}

fn pose(at: &Placement) -> Pose {
    Pose::from_parts(at.position, at.rotation)
}
