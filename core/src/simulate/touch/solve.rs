//! Impulses of all contacts, island by island, and where they bring the bodies.

use super::body::Twist;
use super::dense::Densely;
use super::row::{Alone, Course, Gained, Group, Moved, hand_out, start};
use super::sweeps::{Goal, OneByOne};
use super::tie::{self, Tie};
use super::{Strike, Touch, Touched, World};
use crate::joint::End;
use crate::simulate::State;
use crate::simulate::cluster::Cluster;
use crate::simulate::islands::Islands;
use crate::simulate::linkage::Linkages;
use glam::DVec3;
use std::ops::Range;

/// A point is the same as in the step before within this share of the smaller thing.
const KNOWN: f64 = 0.1;

/// Sweeps end when velocities would carry a body by less than this share of its size in a step...
const SETTLED: f64 = 1e-6;
const SETTLED_MANY: f64 = 3e-4;
const MANY: usize = 400;
/// ...or, while things run into each other, by less than this share of how fast they do...
const UNSEEN: f64 = 1e-3;
/// ...or after so many visits in all, but not before a few sweeps.
const MOST_VISITS: usize = 30_000;
const LEAST_SWEEPS: usize = 12;
const MOST_SWEEPS: usize = 500;
/// Of linkages fewer: what jams never settles, and they are eased out of what they touch.
const MOST_SWEEPS_LINKED: usize = 120;

/// How often contacts are solved with other ranges at their end, or other actuators at their utmost.
const MOST_CHANGES: usize = 4;

/// A bounce that would carry a thing by this share of its size within a step is one that is seen.
const BOUNCES: f64 = 1e-4;

/// Of what bounces less than this, a blow takes more than the order of blows can change.
pub(super) const LIVELY: f64 = 0.5;

/// Blows this share of a step apart come at once.
const AT_ONCE: f64 = 1e-3;

/// A body whose way contacts bend by more than this share of its size may run into something new.
const STRAYS: f64 = 0.05;

impl Touch {
    /// Begins with the forces of the step before.
    pub(super) fn start_from(&mut self, touched: &[Touched], h: f64) {
        let mut at = 0;
        for contact in &mut self.contacts {
            while at < touched.len() && touched[at].colliders < contact.colliders {
                at += 1;
            }
            let (n, colliders) = (contact.axes[0], contact.colliders);
            let (mut rub, mut twist) = (DVec3::ZERO, 0.0);
            let known = touched[at..].iter().take_while(|k| k.colliders == colliders);
            let far = KNOWN * contact.size;
            for spot in contact.spots_mut(&mut self.points) {
                let place = spot.at.first;
                let off = |k: &Touched| (k.place - place).length_squared();
                // Corners and edges change places as faces slide over each other: what is near is the same.
                let nearest = known.clone().fold(None, |best: Option<&Touched>, k| match best {
                    Some(b) if off(b) <= off(k) => best,
                    _ => Some(k),
                });
                if let Some(k) = nearest.filter(|k| off(k) < far * far) {
                    spot.impulse = k.load * h;
                    rub += k.rub * h;
                    twist += k.twist * h;
                }
            }
            contact.rub = rub - n * rub.dot(n);
            contact.twist = twist;
        }
    }

    /// Finds the impulses, and where bodies end with them.
    pub(super) fn solve(&mut self, world: &World<'_>, linkages: &mut Linkages) {
        let solids = world.rig.solids.len() as u32;
        self.islands.begin_with(world.cluster.solids);
        let simulated = |b: u32| b < solids;
        let joints = || world.cluster.joints.iter().map(|j| (*j, &world.rig.joints[*j as usize]));
        for (_, joint) in joints() {
            if let [End::Solid(a), End::Solid(b)] = joint.ends {
                self.islands.join(a as u32, b as u32);
            }
        }
        for c in &self.contacts {
            if simulated(c.bodies[0]) && simulated(c.bodies[1]) {
                self.islands.join(c.bodies[0], c.bodies[1]);
            }
        }
        let islands: &mut Islands = &mut self.islands;
        self.order.clear();
        for (i, c) in self.contacts.iter().enumerate() {
            let body = if simulated(c.bodies[0]) { c.bodies[0] } else { c.bodies[1] };
            self.order.push((islands.of(body), i as u32));
        }
        self.order.sort_unstable();
        self.joints.clear();
        for (j, joint) in joints() {
            let body = joint.ends.iter().find_map(|e| match e {
                End::Solid(s) => Some(*s as u32),
                _ => None,
            });
            // Those of linkages that answer are known with their bodies.
            let body = body.filter(|b| !linkages.of(*b as usize).is_some_and(|k| linkages.answers(k)));
            self.joints.extend(body.map(|b| (islands.of(b), j)));
        }
        self.joints.sort_unstable();
        for _ in 0..MOST_CHANGES {
            self.solve_all(world, linkages);
            let mut changed = false;
            for &k in world.cluster.linkages {
                if linkages.answers(k) && self.move_linkage(k, world.h, linkages) {
                    changed |= linkages.reconsider(k, world.rig, world.to, world.h);
                }
            }
            if !changed {
                break;
            }
            for &i in world.cluster.solids {
                if let Some(rate) = linkages.expected(i as usize) {
                    self.bodies[i as usize].turn_to(rate);
                }
            }
        }
    }

    /// Island by island.
    fn solve_all(&mut self, world: &World<'_>, linkages: &mut Linkages) {
        for &b in &self.active {
            (self.kicks[b as usize], self.twists[b as usize]) = (DVec3::ZERO, DVec3::ZERO);
            let body = &mut self.bodies[b as usize];
            body.end = body.to;
        }
        let mut from = 0;
        while from < self.order.len() {
            let island = self.order[from].0;
            let count = self.order[from..].iter().take_while(|o| o.0 == island).count();
            if count > MANY {
                // From the top down: then one sweep hands weights on to what bears them. Of a few, all sweeps do.
                let down = world.rig.world.gravity.normalize_or_zero();
                let depth = |c: u32| self.contacts[c as usize].spots(&self.points)[0].point.dot(down);
                let order = &mut self.order[from..from + count];
                self.depths.clear();
                self.depths.extend(order.iter().map(|o| (in_order(depth(o.1)), o.1)));
                self.depths.sort_unstable();
                order.iter_mut().zip(&self.depths).for_each(|(o, d)| o.1 = d.1);
            }
            let first = self.joints.partition_point(|j| j.0 < island);
            let last = self.joints.partition_point(|j| j.0 <= island);
            self.solve_island(from..from + count, first..last, world, linkages);
            from += count;
        }
    }

    /// Moves the bodies of a linkage by the impulses on it; whether there are any.
    fn move_linkage(&mut self, k: u32, h: f64, linkages: &mut Linkages) -> bool {
        let touched =
            |s: &u32| self.kicks[*s as usize] != DVec3::ZERO || self.twists[*s as usize] != DVec3::ZERO;
        if !linkages.all[k as usize].solids.iter().any(touched) {
            return false;
        }
        linkages.answer(k, |s| (self.kicks[s], self.twists[s]));
        for n in 0..linkages.all[k as usize].solids.len() {
            let s = linkages.all[k as usize].solids[n] as usize;
            let (body, rate) = (&mut self.bodies[s], linkages.answered(s));
            let Some((velocity, spin)) = rate.filter(|_| body.jointed) else { continue };
            body.end_with(Twist { velocity, spin }, h);
        }
        true
    }

    fn solve_island(
        &mut self,
        which: Range<usize>,
        joints: Range<usize>,
        world: &World<'_>,
        linkages: &mut Linkages,
    ) {
        self.rows.clear();
        self.groups.clear();
        self.moved.clear();
        self.members.clear();
        self.crowd.begin();
        let many = which.len() > MANY && joints.is_empty() && !self.any_rolls && !linkages.any_answers();
        let (mut smallest, mut fastest, mut points) = (f64::INFINITY, 0.0_f64, 0);
        for &(_, c) in &self.order[which.clone()] {
            let contact = &self.contacts[c as usize];
            let numbers = contact.bodies.map(|b| {
                let local = &mut self.local[b as usize];
                if *local == u32::MAX {
                    *local = self.moved.len() as u32;
                    self.members.push(b);
                    self.moved.push(Moved::new(&self.bodies[b as usize]));
                }
                *local
            });
            let spots = contact.spots(&self.points);
            points += spots.len();
            smallest = smallest.min(contact.size);
            fastest = spots.iter().fold(fastest, |most, s| most.max(-s.approach));
            match many {
                true => self.crowd.add(numbers, contact, spots, &self.moved),
                false => self.groups.push(Group::new(numbers, contact, spots, &self.moved, &mut self.rows)),
            }
        }
        // Many contacts are nowhere as still as few, and what is off in one of them is soon put right.
        let share = if points > MANY { SETTLED_MANY } else { SETTLED };
        let (still, unseen) = (share * smallest / world.h, UNSEEN * fastest);
        let goal = |rows: usize, linked: bool| Goal {
            settled: still.max(unseen),
            moves: unseen > still,
            linked,
            most: (MOST_VISITS / rows.max(1))
                .clamp(LEAST_SWEEPS, if linked { MOST_SWEEPS_LINKED } else { MOST_SWEEPS }),
        };
        if many {
            self.crowd.settle(&mut self.moved, goal(points, false));
        } else {
            let densely = self.tie(&joints, world, linkages);
            let goal = goal(points + self.ties.len(), !self.coupling.is_empty());
            let Touch { ties, groups, rows, moved, courses, coupling, dense, .. } = self;
            if densely {
                pulp::Arch::new().dispatch(Densely { groups, rows, dense, goal });
                start(groups, rows, moved, &*coupling);
            } else {
                courses.clear();
                courses.resize(moved.len(), Course::default());
                pulp::Arch::new().dispatch(OneByOne { ties, groups, rows, moved, courses, coupling, goal });
            }
        }
        self.gained.clear();
        self.gained.resize(self.members.len(), Gained::default());
        let mut at = 0;
        for (k, &(_, c)) in self.order[which].iter().enumerate() {
            let contact = &mut self.contacts[c as usize];
            match many {
                true => self.crowd.tell(k, contact, &mut self.points),
                false => at += self.groups[k].tell(&self.rows[at..], contact, &mut self.points),
            }
            let numbers = contact.bodies.map(|b| self.local[b as usize]);
            hand_out(contact, contact.spots(&self.points), numbers, &mut self.gained);
        }
        for ((&b, moved), gained) in self.members.iter().zip(&self.moved).zip(&self.gained) {
            self.local[b as usize] = u32::MAX;
            let body = &mut self.bodies[b as usize];
            (self.kicks[b as usize], self.twists[b as usize]) = (gained.kick, gained.twist);
            let shift = gained.push * (2.0 * body.per_mass * body.shift);
            body.displace(shift, body.per_inertia * gained.turn * (2.0 * body.turn));
            body.after = moved.now;
            body.go(world.h);
        }
    }

    /// Adds the joints of an island, and applies what contacts and joints start with; or takes contacts up densely, and says
    /// so.
    fn tie(&mut self, joints: &Range<usize>, world: &World<'_>, linkages: &mut Linkages) -> bool {
        self.ties.clear();
        for &(_, j) in &self.joints[joints.clone()] {
            for end in world.rig.joints[j as usize].ends {
                if let End::Solid(s) = end
                    && self.local[s] == u32::MAX
                {
                    self.local[s] = self.moved.len() as u32;
                    self.members.push(s as u32);
                    self.moved.push(Moved::new(&self.bodies[s]));
                }
            }
            let local = &self.local;
            Tie::add(world, j as usize, &self.bodies, |s| local[s], &self.moved, &mut self.ties);
        }
        self.coupling.make(&self.members, world.rig.solids.len() as u32, linkages);
        if self.coupling.is_empty() {
            start(&self.groups, &self.rows, &mut self.moved, Alone);
        } else if self.ties.is_empty()
            && self.dense.take(&mut self.groups, &mut self.rows, &self.moved, &self.coupling)
        {
            return true;
        } else {
            let mut at = 0;
            for group in &mut self.groups {
                group.link(&mut self.rows[at..at + group.rows], &self.moved, &self.coupling);
                at += group.rows;
            }
            start(&self.groups, &self.rows, &mut self.moved, &self.coupling);
        }
        tie::start(&self.ties, &mut self.moved);
        false
    }

    /// A body that is keyed until something touches it, which something does.
    pub(super) fn wakes(&self, world: &World<'_>) -> Option<u32> {
        if !self.any_wakes {
            return None;
        }
        self.contacts.iter().find_map(|c| {
            let hardest = c.spots(&self.points).iter().filter(|s| s.impulse > 0.0);
            let speed = hardest.map(|s| -s.meeting).reduce(f64::max)?;
            let held = |b: &u32| {
                let least = world.rig.solids.get(*b as usize)?.release?.touched?;
                let body = *b as usize;
                let held = world.state.solids[body].held && world.state.released[body].by_touch(world.from);
                (held && speed >= least).then_some(*b)
            };
            c.bodies.iter().find_map(held)
        })
    }

    /// Something that bounces off two others, one after the other: the first blow changes the second.
    pub(super) fn bounces_twice(&mut self, world: &World<'_>) -> Option<u32> {
        if !self.any_lively {
            return None;
        }
        let colliders = &world.rig.colliders.all;
        self.active.iter().for_each(|b| self.blows[*b as usize] = f64::NAN);
        for c in &self.contacts {
            let [x, y] = c.colliders.map(|c| colliders[c as usize].material.bounce);
            let blow = c.spots(&self.points).iter().find(|s| s.impulse > 0.0 && s.wanted.speed > 0.0);
            let Some(met) = blow.filter(|_| x.max(y) > LIVELY).and_then(|s| s.wanted.met) else { continue };
            for b in c.bodies.into_iter().filter(|b| *b < self.carriers.solids) {
                let before = &mut self.blows[b as usize];
                if (*before - met).abs() > AT_ONCE {
                    return Some(b);
                }
                *before = met;
            }
        }
        None
    }

    /// Something that should bounce and was only stopped, because another sent it there within the step.
    pub(super) fn stopped_short(&self, world: &World<'_>) -> Option<u32> {
        if !self.any_bounces {
            return None;
        }
        let colliders = &world.rig.colliders.all;
        let mut contacts = self.contacts.iter();
        let stopped = contacts.find(|c| {
            c.colliders.iter().any(|k| colliders[*k as usize].material.bounce > 0.0)
                && c.spots(&self.points).iter().any(|s| {
                    let [a, b] = c.bodies.map(|b| self.bodies[b as usize].per_mass);
                    s.wanted.met.is_none() && s.impulse * (a + b) * world.h > BOUNCES * c.size
                })
        });
        stopped.map(|c| self.simulated(c.bodies))
    }

    /// Whether contacts have bent the way of a body so far that it may meet something else.
    pub(super) fn strayed(&self, body: u32) -> bool {
        let size = self.carriers.sizes[body as usize];
        let body = &self.bodies[body as usize];
        (body.end.position - body.looked).length() > STRAYS * size
    }

    /// Writes where bodies ended.
    pub(super) fn arrive(
        &mut self,
        state: &mut State,
        cluster: &Cluster<'_>,
        (from, to): (f64, f64),
        h: f64,
    ) {
        for &i in cluster.solids {
            let i = i as usize;
            let (s, body) = (&mut state.solids[i], &self.bodies[i]);
            if body.jointed || body.end == body.to && self.twists[i] == DVec3::ZERO {
                continue;
            }
            (s.position, s.orientation) = (body.end.position, body.end.rotation);
            if body.light > 0.0 {
                s.velocity = body.after.velocity;
            }
            if body.turns() {
                s.momentum += self.twists[i] * body.held + self.spares[i];
            }
        }
        self.part_ways(state);
        self.strike(state, (from, to));
        state.touched.clear();
        for c in &self.contacts {
            let mut first = true;
            for spot in c.spots(&self.points) {
                if spot.impulse == 0.0 {
                    continue;
                }
                let (rub, twist) = if first { (c.rub, c.twist) } else { (DVec3::ZERO, 0.0) };
                first = false;
                let nth =
                    state.touched.last().filter(|t| t.colliders == c.colliders).map_or(0, |t| t.nth + 1);
                state.touched.push(Touched {
                    colliders: c.colliders,
                    nth,
                    place: spot.at.first,
                    point: spot.point,
                    normal: c.axes[0],
                    load: spot.impulse / h,
                    rub: rub / h,
                    twist: twist / h,
                });
            }
        }
    }

    /// Has joints take the contacts' impulses as forces throughout the step.
    pub(super) fn hand_over(&self, linkages: &mut Linkages, h: f64) {
        for c in &self.contacts {
            for (e, sign) in [(0, -1.0), (1, 1.0)] {
                let number = c.bodies[e] as usize;
                if !self.jointed.get(number).is_some_and(|j| *j) {
                    continue;
                }
                let scale = sign / h;
                let mut force = c.rub * scale;
                let mut torque = (c.levers[e].cross(c.rub) + c.axes[0] * c.twist + c.roll) * scale;
                for spot in c.spots(&self.points) {
                    let normal = c.axes[0] * (spot.impulse * scale);
                    force += normal;
                    torque += spot.levers[e].cross(normal);
                }
                linkages.push(number, force, torque);
            }
        }
    }

    /// Notes which pairs began to touch: those that bear on each other now and did not before.
    fn strike(&self, state: &mut State, (from, to): (f64, f64)) {
        let mut at = 0;
        let mut last = None;
        for c in &self.contacts {
            while at < state.touched.len() && state.touched[at].colliders < c.colliders {
                at += 1;
            }
            let known = state.touched.get(at).is_some_and(|t| t.colliders == c.colliders);
            let Some(hardest) = c.spots(&self.points).iter().max_by(|x, y| x.impulse.total_cmp(&y.impulse))
            else {
                continue;
            };
            if known || last == Some(c.colliders) || hardest.impulse == 0.0 {
                continue;
            }
            last = Some(c.colliders);
            let share = hardest.wanted.met.unwrap_or(1.0);
            // What only stops them goes on to bear their weight until the step ends: that is no part of the strike.
            let stops = hardest.wanted.speed <= 0.0 && hardest.press.is_none() && hardest.leaving < 0.0;
            let part = if stops { (hardest.meeting / hardest.leaving).clamp(0.0, 1.0) } else { 1.0 };
            let load: f64 = c.spots(&self.points).iter().map(|s| s.impulse).sum();
            state.strikes.push(Strike {
                colliders: c.colliders,
                time: from + (to - from) * share,
                point: hardest.point,
                normal: c.axes[0],
                impulse: (c.axes[0] * load + c.rub) * part,
                speed: (-hardest.meeting).max(0.0),
            });
        }
    }
}

/// A number that is in the order of `x`.
fn in_order(x: f64) -> u32 {
    let bits = (x as f32).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}
