//! Clusters: what may meet in a step, and what is held together, is stepped together; everything else apart from it. So
//! no object's digits depend on what happens elsewhere, a hard blow halves the step of those concerned only, what lies
//! still costs nothing, and clusters run on several threads.
//!
//! Where things will be in a step is guessed from how they move. A cluster whose members went beyond that is looked at
//! afterwards: if it came near another, the two are one, and that one takes the step again.
//!
//! The same is done for several steps at once: what cannot meet in any of them takes all of them by itself, parted into the
//! clusters of each step ([`Clusters::enter`]).

use super::carriers::{Carriers, around};
use super::islands::Islands;
use super::linkage::Linkages;
use super::stretch::Leg;
use super::{State, Touched};
use crate::contact::{Bounds, Sweep};
use crate::dynamics::top;
use crate::joint::End;
use crate::rig::{Frame, Rig};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// What is stepped together. Numbers of the rig, in order: parents before children.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Its solids.
    pub solids: &'a [u32],
    /// Its joints, and the linkages they make.
    pub joints: &'a [u32],
    pub linkages: &'a [u32],
    /// Colliders that may meet, the lower number first.
    pub pairs: &'a [(u32, u32)],
    /// Where each collider is thought to be.
    pub guesses: &'a [Bounds],
    /// There is no other, here or elsewhere.
    pub alone: bool,
}

/// The clusters of a step.
#[derive(Clone, Debug)]
pub struct Clusters {
    carriers: Option<Arc<Carriers>>,
    /// What is parted: everything, or one cluster of others.
    own: Own,
    /// What is together in every step.
    fixed: Islands,
    /// Which solids are in some linkage, or frame another.
    bound: Vec<bool>,
    /// A solid of each linkage.
    linkage_firsts: Vec<u32>,
    islands: Islands,
    guesses: Vec<Bounds>,
    /// How far each goes in a step, about.
    ways: Vec<f64>,
    /// Generous boxes that the guesses are inside of, and the pairs of those that overlap: they last for some steps.
    roomy: Vec<Bounds>,
    ordered: Vec<Bounds>,
    nearby: Vec<(u32, u32)>,
    /// Those whose guesses overlap, and the solids that are in no cluster of one.
    near: Vec<(u32, u32)>,
    /// The same when all was sorted last, and whether that was into one: what has not changed is sorted.
    sorted: (Vec<(u32, u32)>, Option<bool>),
    taken: Vec<bool>,
    sweep: Sweep,
    /// Cluster of each solid, and in the round before.
    of: Vec<u32>,
    of_before: Vec<u32>,
    sizes_before: Vec<u32>,
    number: Vec<u32>,
    solids: Sorted<u32>,
    joints: Sorted<u32>,
    linkages: Sorted<u32>,
    pairs: Sorted<(u32, u32)>,
    touched: Sorted<Touched>,
}

/// What is parted into clusters. Numbers of the rig, in order.
#[derive(Clone, Debug, Default)]
struct Own {
    solids: Vec<u32>,
    joints: Vec<u32>,
    linkages: Vec<u32>,
    /// With those of what is not simulated that may be met.
    colliders: Vec<u32>,
    /// There is more elsewhere, of which it is only known that it is not met.
    part: bool,
}

/// Things by cluster.
#[derive(Clone, Debug)]
struct Sorted<T> {
    all: Vec<T>,
    first: Vec<u32>,
    next: Vec<u32>,
}

impl<T: Copy> Sorted<T> {
    fn with_capacity(things: usize, clusters: usize) -> Sorted<T> {
        let numbers = || Vec::with_capacity(clusters + 1);
        Sorted { all: Vec::with_capacity(things), first: numbers(), next: numbers() }
    }

    /// Sorts `things` into `clusters` by `of`, otherwise in the order they have.
    fn sort<I: Iterator<Item = T> + Clone>(&mut self, things: I, clusters: usize, of: impl Fn(&T) -> u32) {
        self.first.clear();
        self.first.resize(clusters + 1, 0);
        self.all.clear();
        let mut some = None;
        for t in things.clone() {
            self.first[of(&t) as usize + 1] += 1;
            some = Some(t);
        }
        let Some(some) = some else { return };
        for c in 0..clusters {
            self.first[c + 1] += self.first[c];
        }
        self.next.clear();
        self.next.extend_from_slice(&self.first[..clusters]);
        self.all.resize(self.first[clusters] as usize, some);
        for t in things {
            let at = &mut self.next[of(&t) as usize];
            self.all[*at as usize] = t;
            *at += 1;
        }
    }

    fn of(&self, cluster: usize) -> &[T] {
        &self.all[self.range(cluster)]
    }

    fn range(&self, cluster: usize) -> Range<usize> {
        self.first[cluster] as usize..self.first[cluster + 1] as usize
    }
}

/// Boxes reach beyond the shapes by this share of their extent: what comes so near may be made to touch by others.
pub const NEAR: f64 = 0.1;

/// Of so many colliders, several threads guess.
const MANY: usize = 512;

/// Generous boxes, by this share more, or by so many times the way that a step takes the shape: whoever leaves first
/// has all boxes made anew.
const ROOM: f64 = 0.15;
const AHEAD: f64 = 4.0;

impl Clusters {
    /// Room for a rig's clusters.
    pub fn new(rig: &Rig, linkages: &Linkages, carriers: Option<Arc<Carriers>>) -> Clusters {
        let solids = rig.solids.len();
        let mut fixed = Islands::default();
        fixed.begin(solids);
        let mut bound = vec![false; solids];
        for i in linkages.all.iter().flat_map(|l| &l.solids) {
            bound[*i as usize] = true;
        }
        for linkage in &linkages.all {
            linkage.solids.iter().for_each(|s| fixed.join(linkage.solids[0], *s));
        }
        for (i, solid) in rig.solids.iter().enumerate() {
            for frame in [solid.frame, solid.hold.1] {
                if let Frame::Solid(s) = frame {
                    fixed.join(i as u32, s as u32);
                    (bound[i], bound[s]) = (true, true);
                }
            }
        }
        for wait in &rig.waits {
            let [a, b] = [wait.waiting, wait.awaited].map(|t| rig.trackers[t].solid);
            fixed.join(a as u32, b as u32);
            (bound[a], bound[b]) = (true, true);
        }
        let colliders = if carriers.is_some() { rig.colliders.all.len() } else { 0 };
        let numbers = || Vec::with_capacity(solids);
        // No room at all: the first guess is beyond it.
        let none = Bounds { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        Clusters {
            carriers,
            own: Own {
                solids: (0..solids as u32).collect(),
                joints: (0..rig.joints.len() as u32).filter(|j| solid_of(rig, *j).is_some()).collect(),
                linkages: (0..linkages.all.len() as u32).collect(),
                colliders: (0..colliders as u32).collect(),
                part: false,
            },
            islands: fixed.clone(),
            fixed,
            bound,
            linkage_firsts: linkages.all.iter().map(|l| l.solids[0]).collect(),
            guesses: vec![none; colliders],
            ways: vec![0.0; colliders],
            roomy: vec![none; colliders],
            ordered: Vec::with_capacity(colliders),
            nearby: Vec::with_capacity(4 * colliders),
            near: Vec::with_capacity(4 * colliders),
            sorted: (Vec::with_capacity(4 * colliders), None),
            taken: vec![false; solids],
            sweep: Sweep::with_capacity(colliders),
            of: vec![0; solids],
            of_before: numbers(),
            sizes_before: numbers(),
            number: vec![LOOSE; solids],
            solids: Sorted::with_capacity(solids, solids),
            joints: Sorted::with_capacity(rig.joints.len(), solids),
            linkages: Sorted::with_capacity(linkages.all.len(), solids),
            pairs: Sorted::with_capacity(4 * colliders, solids),
            touched: Sorted::with_capacity(8 * colliders, solids),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.solids.first.len().saturating_sub(1)
    }

    /// One of them.
    pub fn get(&self, cluster: usize) -> Cluster<'_> {
        Cluster {
            solids: self.solids.of(cluster),
            joints: self.joints.of(cluster),
            linkages: self.linkages.of(cluster),
            pairs: self.pairs.of(cluster),
            guesses: &self.guesses,
            alone: self.count() == 1 && !self.own.part,
        }
    }

    /// The contacts that its members had in the step before.
    pub fn touched(&self, cluster: usize) -> &[Touched] {
        self.touched.of(cluster)
    }

    /// The cluster of a collider's body; `None` for what is not simulated.
    pub fn of_collider(&self, collider: u32) -> Option<u32> {
        let carriers = self.carriers.as_ref()?;
        let body = carriers.body_of[collider as usize];
        (body < carriers.solids).then(|| self.of[body as usize])
    }

    /// Whether a solid is in any of them: those of a part have not all.
    pub fn has(&self, solid: u32) -> bool {
        self.own.solids.binary_search(&solid).is_ok()
    }

    /// The cluster of a solid.
    pub fn of_solid(&self, solid: u32) -> usize {
        self.of[solid as usize] as usize
    }

    /// A measure of what a step of it takes.
    pub fn cost(&self, cluster: usize) -> usize {
        let of = self.get(cluster);
        of.solids.len() + 4 * of.pairs.len() + 8 * of.joints.len()
    }

    /// Whether there is more elsewhere.
    pub fn is_part(&self) -> bool {
        self.own.part
    }

    /// Whether steps are better taken cluster by cluster, by so many threads: none of them has so much to do that others wait.
    pub fn are_even(&self, threads: usize) -> bool {
        let costs = || (0..self.count()).map(|c| self.cost(c));
        self.count() > 1 && (threads == 1 || costs().max().unwrap_or(0) * threads <= costs().sum())
    }

    /// Is about one cluster of `others` from now on, whose guesses are for several steps.
    pub fn enter(&mut self, others: &Clusters, cluster: usize) {
        let Clusters { own, carriers, nearby, roomy, sorted, .. } = self;
        let of = others.get(cluster);
        let fill = |list: &mut Vec<u32>, with: &[u32]| {
            list.clear();
            list.extend_from_slice(with);
        };
        fill(&mut own.solids, of.solids);
        fill(&mut own.joints, of.joints);
        fill(&mut own.linkages, of.linkages);
        own.part = true;
        own.colliders.clear();
        nearby.clear();
        sorted.1 = None;
        let Some(carriers) = carriers else { return };
        of.solids.iter().for_each(|s| own.colliders.extend_from_slice(carriers.of(*s)));
        let met = of.pairs.iter().flat_map(|p| [p.0, p.1]);
        own.colliders.extend(met.filter(|c| carriers.body_of[*c as usize] >= carriers.solids));
        own.colliders.sort_unstable();
        own.colliders.dedup();
        own.colliders.iter().for_each(|c| roomy[*c as usize] = others.guesses[*c as usize]);
        nearby.extend_from_slice(of.pairs);
    }

    /// Adds the colliders that went beyond what `others` guessed, and where to.
    pub fn went_beyond(&self, others: &Clusters, went: &mut Vec<(u32, Bounds)>) {
        let Some(carriers) = &self.carriers else { return };
        for &c in &self.own.colliders {
            let (simulated, been) =
                (carriers.body_of[c as usize] < carriers.solids, &self.guesses[c as usize]);
            if simulated && !others.guesses[c as usize].holds(been) {
                went.push((c, *been));
            }
        }
    }

    /// Finds the clusters for these steps as one. With `one`, all is in one. With `several` threads, these help.
    pub fn find(&mut self, rig: &Rig, state: &State, legs: &[Leg], one: bool, several: bool) {
        if let Some(carriers) = self.carriers.clone() {
            self.guess(rig, state, &carriers, legs, several);
            self.look_around(rig, state, &carriers, legs);
        }
        self.part(rig, state, one);
    }

    /// Takes note of where colliders really went.
    pub fn note(&mut self, went: &[(u32, Bounds)]) {
        for (c, bounds) in went {
            self.guesses[*c as usize] = self.guesses[*c as usize].with(bounds);
        }
    }

    /// Takes note of where colliders really went in these steps; whether some came near another cluster there. Then the
    /// clusters are found anew, and [`Self::is_new`] tells those which take the steps from their start.
    pub fn merge(&mut self, rig: &Rig, state: &State, legs: &[Leg], went: &[(u32, Bounds)]) -> bool {
        let Some(carriers) = self.carriers.clone() else { return false };
        self.note(went);
        let meet = |a: u32, b: u32| {
            let of = [a, b].map(|c| self.of_collider(c));
            of[0].is_some()
                && of[1].is_some()
                && of[0] != of[1]
                && self.guesses[a as usize].meets(&self.guesses[b as usize])
        };
        // Who is near a place in the room that one has is known.
        let known = |(c, _): &(u32, Bounds)| self.roomy[*c as usize].holds(&self.guesses[*c as usize]);
        let met = match went.iter().all(known) {
            true => self.nearby.iter().any(|(a, b)| meet(*a, *b)),
            false => went.iter().any(|(c, _)| {
                let meets = |d: u32| meet(*c, d) && carriers.may_touch(rig, *c.min(&d), *c.max(&d));
                self.own.colliders.iter().any(|d| meets(*d))
            }),
        };
        if met {
            self.of_before.clone_from(&self.of);
            self.sizes_before.clear();
            self.sizes_before.extend(self.solids.first.windows(2).map(|w| w[1] - w[0]));
            self.look_around(rig, state, &carriers, legs);
            self.part(rig, state, false);
        }
        met
    }

    /// Whether a cluster has other members than before clusters were merged.
    pub fn is_new(&self, cluster: usize) -> bool {
        let solids = self.solids.of(cluster);
        let Some(&first) = solids.first() else { return false };
        let before = self.of_before[first as usize];
        self.sizes_before[before as usize] as usize != solids.len()
            || solids.iter().any(|s| self.of_before[*s as usize] != before)
    }

    /// Guesses where the colliders will be.
    fn guess(&mut self, rig: &Rig, state: &State, carriers: &Carriers, legs: &[Leg], several: bool) {
        let Clusters { guesses, ways, own, .. } = self;
        let span = Span::new(rig, state, legs);
        match several && !own.part && own.colliders.len() >= MANY {
            true => {
                let into = guesses.par_iter_mut().zip(ways).with_min_len(MANY / 4).enumerate();
                into.for_each(|(c, into)| (*into.0, *into.1) = span.guess(rig, state, carriers, c));
            }
            false => {
                for c in own.colliders.iter().map(|c| *c as usize) {
                    (guesses[c], ways[c]) = span.guess(rig, state, carriers, c);
                }
            }
        }
    }

    /// Finds which colliders are near each other, if some have left the room they had.
    fn look_around(&mut self, rig: &Rig, state: &State, carriers: &Carriers, legs: &[Leg]) {
        let Clusters { own, guesses, ways, roomy, ordered, nearby, .. } = self;
        if own.colliders.iter().all(|c| roomy[*c as usize].holds(&guesses[*c as usize])) {
            return;
        }
        if own.part {
            // Only what is near that room was known.
            let span = Span::new(rig, state, legs);
            for &c in carriers.unmoved() {
                if let Err(at) = own.colliders.binary_search(&c) {
                    own.colliders.insert(at, c);
                    (guesses[c as usize], ways[c as usize]) = span.guess(rig, state, carriers, c as usize);
                }
            }
        }
        ordered.clear();
        for c in own.colliders.iter().map(|c| *c as usize) {
            let room = (ROOM * rig.colliders.all[c].size).max(AHEAD * ways[c]);
            roomy[c] = guesses[c].loosened(room);
            ordered.push(roomy[c]);
        }
        let number = |n: u32| own.colliders[n as usize];
        let may = |a: u32, b: u32| carriers.may_touch(rig, number(a), number(b));
        self.sweep.pairs(ordered, may, nearby);
        nearby.iter_mut().for_each(|p| *p = (number(p.0), number(p.1)));
    }

    /// Sorts everything into clusters.
    fn part(&mut self, rig: &Rig, state: &State, one: bool) {
        let guesses = &self.guesses;
        let meets = |(a, b): &(u32, u32)| guesses[*a as usize].meets(&guesses[*b as usize]);
        self.near.clear();
        self.near.extend(self.nearby.iter().filter(|p| one || meets(p)));
        if self.sorted.1 != Some(one) || self.sorted.0 != self.near {
            self.sort(rig, one);
            self.sorted.0.clone_from(&self.near);
            self.sorted.1 = Some(one);
        }
        let (count, solids) = (self.count(), rig.solids.len() as u32);
        if count > 1 {
            let Clusters { carriers, of, .. } = self;
            let body = |c: u32| carriers.as_ref().map_or(0, |k| k.body_of[c as usize]);
            let dynamic = |a: u32, b: u32| if a < solids { a } else { b };
            let first = |t: &Touched| dynamic(body(t.colliders[0]), body(t.colliders[1]));
            self.touched.sort(state.touched.iter().copied(), count, |t| of[first(t) as usize]);
        }
    }

    /// The same, but for what touched.
    fn sort(&mut self, rig: &Rig, one: bool) {
        let solids = rig.solids.len();
        let Clusters { carriers, islands, fixed, number, taken, bound, own, of, .. } = self;
        islands.begin_like(fixed, &own.solids);
        for i in own.solids.iter().map(|i| *i as usize) {
            (number[i], taken[i]) = (LOOSE, bound[i]);
        }
        let body = |c: u32| carriers.as_ref().map_or(0, |k| k.body_of[c as usize]);
        for (a, b) in self.near.iter().map(|(a, b)| (body(*a) as usize, body(*b) as usize)) {
            match (a < solids, b < solids) {
                (true, true) => islands.join(a as u32, b as u32),
                (true, false) => taken[a] = true,
                _ => taken[b] = true,
            }
        }
        // What neither meets nor is held by anything is in the first cluster: nothing of it matters to others.
        for &i in &own.solids {
            let root = islands.of(i);
            if taken[i as usize] || root != i {
                number[root as usize] = TAKEN;
            }
        }
        let mut loose = own.solids.iter().map(|i| number[islands.of(*i) as usize] == LOOSE);
        let mut count = u32::from(one || loose.any(|l| l));
        for &i in &own.solids {
            let root = islands.of(i) as usize;
            if number[root] == LOOSE || one {
                number[root] = 0;
            } else if number[root] == TAKEN {
                number[root] = count;
                count += 1;
            }
            of[i as usize] = number[root];
        }
        let count = count as usize;
        let dynamic = |(a, b): (u32, u32)| if (a as usize) < solids { a } else { b };
        self.solids.sort(own.solids.iter().copied(), count, |s| of[*s as usize]);
        self.pairs.sort(self.near.iter().copied(), count, |p| of[dynamic((body(p.0), body(p.1))) as usize]);
        self.joints.sort(own.joints.iter().copied(), count, |j| of[solid_of(rig, *j).unwrap_or(0)]);
        let firsts = &self.linkage_firsts;
        self.linkages.sort(own.linkages.iter().copied(), count, |k| of[firsts[*k as usize] as usize]);
    }
}

/// A solid that a joint holds.
fn solid_of(rig: &Rig, joint: u32) -> Option<usize> {
    rig.joints[joint as usize].ends.iter().find_map(|e| match e {
        End::Solid(s) => Some(*s),
        _ => None,
    })
}

/// What guesses are for.
struct Span<'a> {
    legs: &'a [Leg],
    /// Physical seconds.
    h: f64,
    /// How far gravity pulls in that time, and as far again.
    fall: f64,
}

impl Span<'_> {
    fn new<'a>(rig: &Rig, state: &State, legs: &'a [Leg]) -> Span<'a> {
        let h = legs.iter().map(|leg| leg.dt).sum::<f64>() * rig.world.time_scale.at(state.time);
        let gravity = rig.world.gravity.length() * rig.world.gravity_scale.at(state.time).abs();
        Span { legs, h, fall: gravity * h * h }
    }

    /// Where a collider will be, and how far it goes, about.
    #[inline]
    fn guess(&self, rig: &Rig, state: &State, carriers: &Carriers, c: usize) -> (Bounds, f64) {
        let (collider, h) = (&rig.colliders.all[c], self.h);
        let body = carriers.body_of[c] as usize;
        let near = 0.5 * NEAR * collider.size;
        if let Some(s) = state.solids.get(body) {
            let solid = &rig.solids[body];
            let now = around(collider, &s.placement());
            let way = s.velocity * h;
            let swept = Bounds { low: now.low + way.min(DVec3::ZERO), high: now.high + way.max(DVec3::ZERO) };
            let change = match s.force.step_before > 0.0 {
                true => {
                    let gain = (s.velocity - s.force.momentum_before / solid.mass).length();
                    gain / s.force.step_before * h * h
                }
                false => 0.0,
            };
            let spin = top::angular_velocity(s.orientation, s.momentum, solid.per_inertia).length();
            let turn = (spin * h).min(2.0) * carriers.radii[c];
            (swept.loosened(near + turn + change + self.fall), way.length() + turn)
        } else if let Some(&path) = carriers.keyed.get(body - state.solids.len()) {
            let at = |time: f64| around(collider, &rig.paths[path].placement(time));
            let all = self.legs.iter().fold(at(state.time), |all, leg| all.with(&at(leg.end)));
            (all.loosened(near), 0.0)
        } else {
            (around(collider, &crate::scene::Placement::IDENTITY).loosened(near), 0.0)
        }
    }
}

/// A cluster that has no number yet: of one, or of several that are near each other or held.
const LOOSE: u32 = u32::MAX - 1;
const TAKEN: u32 = u32::MAX;
