//! Easing bodies with joints, which are closed, out of what they touch: places only, no velocities.
//!
//! A foot has a leg behind it. Pushed out of the floor as if alone, it would be taken back by its joints almost as far. So it
//! is pushed with what its linkage answers: as in [`super::linked`], with the joints where the step ended and actuators that
//! hold against it. Points are taken as planes, few pushes find their balance in sweeps, and all bodies follow at once.

use super::Touch;
use super::apart::too_deep;
use super::body::{Body, Twist};
use super::detect::in_bodies;
use super::row::Moved;
use super::soft::softness;
use crate::contact::{Manifold, near};
use crate::rig::Rig;
use crate::rotation;
use crate::simulate::State;
use crate::simulate::cluster::Cluster;
use crate::simulate::constrain::Rate;
use crate::simulate::linkage::Linkages;
use crate::simulate::state::Cause;
use glam::DVec3;

/// Overlaps up to this share of the smaller thing stay: moving linkages for less would shiver.
const ALLOWED: f64 = 2e-4;

/// What is pushed out is left this share deep, so that it still touches.
const LEFT: f64 = 1e-5;

/// Points that are this share apart may be pushed in by others' pushes.
const NEAR: f64 = 2e-3;

/// What is further than this share of its size from where contacts were looked for may touch elsewhere by now: nearly
/// parallel limbs do so at their other ends.
const ASTRAY: f64 = 1e-3;

/// Rounds of pushing out and looking again.
const MOST_ROUNDS: usize = 4;

/// Sweeps over the points, which end when pushes change by less than this share.
const MOST_SWEEPS: usize = 20;
const SETTLED: f64 = 1e-5;

/// What gives way by less than this share of what its bodies would alone is held fast.
const FAST: f64 = 1e-6;

/// A point that overlaps, or nearly so.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    bodies: [u32; 2],
    normal: DVec3,
    arms: [DVec3; 2],
    /// How deep it is when nothing has been pushed, less what is left.
    over: f64,
    per: f64,
    per_size: f64,
    push: f64,
}

impl Stuck {
    /// What a push does to the bodies: force and torque.
    fn pushes(&self, by: f64) -> [Rate; 2] {
        let force = self.normal * by;
        [(-force, self.arms[0] * -by), (force, self.arms[1] * by)]
    }
}

/// Scratch.
#[derive(Clone, Debug, Default)]
pub struct Ease {
    points: Vec<Stuck>,
    /// The bodies by their numbers in all, how far they are moved, and what pushes them.
    members: Vec<u32>,
    moved: Vec<Moved>,
    pushes: Vec<Rate>,
    /// Bodies that joints took elsewhere, and where these touch others by now: bodies, points, the smaller thing's size.
    astray: Vec<bool>,
    pub(super) seen: Vec<([u32; 2], Manifold, f64)>,
}

impl Ease {
    /// Room for so many bodies and contacts.
    pub fn with_room(bodies: usize, contacts: usize) -> Ease {
        Ease {
            points: Vec::with_capacity(4 * contacts),
            members: Vec::with_capacity(bodies),
            moved: Vec::with_capacity(bodies),
            pushes: Vec::with_capacity(bodies),
            astray: vec![false; bodies],
            seen: Vec::with_capacity(contacts),
        }
    }
}

impl Touch {
    /// Moves bodies with joints, which these have put together, out of what they touch, until hardly anything overlaps.
    pub(super) fn push_jointed(
        &mut self,
        rig: &Rig,
        state: &mut State,
        linkages: &mut Linkages,
        cluster: &Cluster<'_>,
    ) -> Result<(), Cause> {
        let mut deepest = (0.0, 0);
        self.ease.seen.clear();
        for _ in 0..MOST_ROUNDS {
            self.look_again(rig, state, cluster);
            self.take_pairs(true);
            deepest = self.find_stuck();
            if deepest.0 == 0.0 {
                break;
            }
            self.find_pushes(linkages);
            self.follow_pushes(rig, state, linkages, cluster);
        }
        too_deep(deepest)
    }

    /// Looks at what joints or pushes took elsewhere, where they put it.
    fn look_again(&mut self, rig: &Rig, state: &State, cluster: &Cluster<'_>) {
        let mut any = false;
        for &i in cluster.solids {
            let (i, size) = (i as usize, self.carriers.sizes[i as usize]);
            let (body, now) = (&mut self.bodies[i], state.solids[i].placement());
            let off = (now.position - body.end.position).length()
                + Body::chord(now.rotation, body.end.rotation) * size;
            self.ease.astray[i] = off > ASTRAY * size;
            any |= self.ease.astray[i];
            body.end = now;
        }
        if !any {
            return;
        }
        let Ease { seen, astray, .. } = &mut self.ease;
        let strays = |b: u32| astray.get(b as usize).is_some_and(|astray| *astray);
        seen.retain(|(of, ..)| !of.iter().any(|b| strays(*b)));
        for &(a, b) in &self.pairs {
            let of = [a, b].map(|c| &rig.colliders.all[c as usize]);
            let bodies = [a, b].map(|c| self.carriers.body_of[c as usize]);
            if !bodies.into_iter().any(strays)
                || !bodies.into_iter().any(|b| self.bodies[b as usize].jointed)
                || softness(of) > 0.0
                || rig.colliders.inside(a as usize, b as usize).is_some()
            {
                continue;
            }
            let size = of[0].size.min(of[1].size);
            let placed = [0, 1].map(|e| self.bodies[bodies[e] as usize].end.then(&of[e].place));
            let first = (&of[0].geometry, &placed[0]);
            self.found.clear();
            near(first, (&of[1].geometry, &placed[1]), NEAR * size, &mut self.library, &mut self.found);
            seen.extend(self.found.iter().map(|m| (bodies, in_bodies(m, of), size)));
        }
    }

    /// Takes up the points of bodies with joints that overlap, or nearly so, if one does by more than may stay: the deepest
    /// overlap, as a share of the smaller thing, and a body in it.
    fn find_stuck(&mut self) -> (f64, u32) {
        self.ease.points.clear();
        let (apart, mut deepest) = (&self.apart, (0.0, 0));
        for pair in &apart.pairs {
            let [a, b] = pair.bodies.map(|b| &apart.bodies[b as usize]);
            for point in &apart.points[pair.points.0 as usize..pair.points.1 as usize] {
                let met = pair.face.meet_turned(point, (a.end.position, &a.axes), (b.end.position, &b.axes));
                let over = -met.gap - pair.softness;
                if over < -NEAR * pair.size {
                    continue;
                }
                let per_size = 1.0 / pair.size;
                if over * per_size > ALLOWED.max(deepest.0) {
                    deepest = (over * per_size, if a.body < self.carriers.solids { a.body } else { b.body });
                }
                let normal = met.normal;
                self.ease.points.push(Stuck {
                    bodies: pair.bodies,
                    normal,
                    arms: [a, b].map(|p| (met.point - p.end.position).cross(normal)),
                    over: over - LEFT * pair.size,
                    per: 0.0,
                    per_size,
                    push: 0.0,
                });
            }
        }
        deepest
    }

    /// Finds pushes that bring the points out of each other, and never pull.
    fn find_pushes(&mut self, linkages: &mut Linkages) {
        let Ease { points, members, moved, pushes, .. } = &mut self.ease;
        members.clear();
        members.extend(self.apart.bodies.iter().map(|b| b.body));
        moved.clear();
        moved.extend(self.apart.bodies.iter().map(|b| Moved {
            now: Twist::default(),
            per_mass: b.light,
            per_inertia: b.lithe,
        }));
        self.coupling.make(members, self.carriers.solids, linkages);
        points.retain_mut(|p| {
            let alone: f64 = (0..2)
                .map(|e| {
                    let body = &moved[p.bodies[e] as usize];
                    body.per_mass + p.arms[e].dot(body.per_inertia * p.arms[e])
                })
                .sum();
            let yields = self.coupling.yields(p.bodies, moved, p.pushes(1.0), p.pushes(1.0));
            p.per = 1.0 / yields;
            yields > FAST * alone
        });
        for _ in 0..MOST_SWEEPS {
            let mut most = 0.0_f64;
            for p in points.iter_mut() {
                let [i, j] = p.bodies.map(|b| b as usize);
                let (mut a, mut b) = (moved[i].now, moved[j].now);
                let parts =
                    p.normal.dot(b.velocity - a.velocity) + p.arms[1].dot(b.spin) - p.arms[0].dot(a.spin);
                let push = (p.push + (p.over - parts) * p.per).max(0.0);
                let by = push - p.push;
                if by == 0.0 {
                    continue;
                }
                p.push = push;
                most = most.max(by.abs() * p.per_size / p.per);
                self.coupling.push_two(p.bodies, moved, p.pushes(by), [&mut a, &mut b]);
                (moved[i].now, moved[j].now) = (a, b);
                self.coupling.push_others(p.bodies, moved, p.pushes(by));
            }
            if most < SETTLED {
                break;
            }
        }
        pushes.clear();
        pushes.resize(members.len(), (DVec3::ZERO, DVec3::ZERO));
        for p in points.iter().filter(|p| p.push > 0.0) {
            for (body, (force, torque)) in p.bodies.into_iter().zip(p.pushes(p.push)) {
                let all = &mut pushes[body as usize];
                *all = (all.0 + force, all.1 + torque);
            }
        }
    }

    /// Has linkages follow the pushes, and other bodies go where these put them.
    fn follow_pushes(
        &mut self,
        rig: &Rig,
        state: &mut State,
        linkages: &mut Linkages,
        cluster: &Cluster<'_>,
    ) {
        let Ease { members, moved, pushes, .. } = &self.ease;
        for (local, &b) in members.iter().enumerate().filter(|(_, b)| **b < self.carriers.solids) {
            self.local[b as usize] = local as u32;
            let Twist { velocity, spin } = moved[local].now;
            let s = &mut state.solids[b as usize];
            if !self.coupling.has(local as u32) && !s.fixed() {
                s.position += velocity;
                s.orientation = (rotation::exp(spin) * s.orientation).normalize();
            }
        }
        for &k in cluster.linkages {
            if linkages.answers(k) {
                let local = &self.local;
                let push = |s: usize| pushes.get(local[s] as usize).copied().unwrap_or_default();
                linkages.displace(k, rig, state, push);
            } else {
                linkages.close_places(k, rig, state);
            }
        }
        for &b in members.iter().filter(|b| **b < self.carriers.solids) {
            self.local[b as usize] = u32::MAX;
        }
    }
}
