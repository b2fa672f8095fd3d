//! Impulses of all contacts, island by island, and where they bring the bodies.

use super::islands::Islands;
use super::row::{Moved, Row, sweep};
use super::{Touch, Touched, World};
use crate::simulate::State;
use glam::DVec3;

/// Sweeps end when velocities would carry a body by less than this share of its size in a step...
const SETTLED: f64 = 1e-6;
/// ...or after so many.
const MOST_SWEEPS: usize = 40;

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
            let feature = contact.manifold.points()[0].feature;
            let known = touched[at..]
                .iter()
                .take_while(|t| t.colliders == contact.colliders)
                .find(|t| t.feature == feature);
            contact.impulse = known.map_or(DVec3::ZERO, |t| t.force * h);
        }
    }

    /// Finds the impulses, and where bodies end with them.
    pub(super) fn solve(&mut self, world: &World<'_>) {
        let solids = world.rig.solids.len() as u32;
        self.islands.begin(solids as usize);
        let simulated = |b: u32| b < solids;
        for joint in &world.rig.joints {
            if let [crate::joint::End::Solid(a), crate::joint::End::Solid(b)] = joint.ends {
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
        self.twists.clear();
        self.twists.resize(self.bodies.len(), DVec3::ZERO);
        for body in &mut self.bodies {
            body.end = body.to;
        }
        let mut from = 0;
        while from < self.order.len() {
            let island = self.order[from].0;
            let count = self.order[from..].iter().take_while(|o| o.0 == island).count();
            self.solve_island(from..from + count, world);
            from += count;
        }
    }

    fn solve_island(&mut self, which: std::ops::Range<usize>, world: &World<'_>) {
        self.rows.clear();
        self.moved.clear();
        self.members.clear();
        let mut smallest = f64::INFINITY;
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
            let [a, b] = numbers.map(|n| self.moved[n as usize]);
            let mut row = Row::new(
                numbers,
                contact.axes,
                contact.levers,
                contact.wanted.speed,
                0.0,
                contact.friction,
                &a,
                &b,
            );
            let start = contact.impulse;
            let normal = contact.axes[0].dot(start).max(0.0);
            row.impulse = DVec3::new(normal, contact.axes[1].dot(start), contact.axes[2].dot(start));
            smallest = smallest.min(contact.size);
            self.rows.push(row);
        }
        for row in &self.rows {
            row.start(&mut self.moved);
        }
        let settled = SETTLED * smallest / world.h;
        for round in 0..MOST_SWEEPS {
            if sweep(&mut self.rows, &mut self.moved, round % 2 == 1) < settled {
                break;
            }
        }
        for (row, &(_, c)) in self.rows.iter().zip(&self.order[which]) {
            let contact = &mut self.contacts[c as usize];
            contact.impulse = row.in_world();
            let late = 2.0 * contact.wanted.late;
            for (e, sign) in [(0, -1.0), (1, 1.0)] {
                let number = contact.bodies[e] as usize;
                let body = &mut self.bodies[number];
                let push = contact.impulse * sign;
                let twist = contact.levers[e].cross(push);
                self.twists[number] += twist;
                let shift = push * (body.per_mass * body.shift * late);
                let turn = body.per_inertia * twist * (body.turn * late);
                body.displace(shift, turn);
            }
        }
        for (&b, moved) in self.members.iter().zip(&self.moved) {
            self.local[b as usize] = u32::MAX;
            self.bodies[b as usize].after = moved.now;
        }
    }

    /// Whether contacts have bent the way of a body so far that it may meet something else.
    pub(super) fn strayed(&self) -> bool {
        self.bodies.iter().zip(&self.sizes).any(|(body, size)| {
            body.end != body.to && (body.end.position - body.to.position).length() > STRAYS * size
        })
    }

    /// Writes where bodies ended.
    pub(super) fn arrive(&mut self, state: &mut State, h: f64) {
        for (i, s) in state.solids.iter_mut().enumerate() {
            let body = &self.bodies[i];
            if body.end == body.to && self.twists[i] == DVec3::ZERO {
                continue;
            }
            (s.position, s.orientation) = (body.end.position, body.end.rotation);
            if body.light > 0.0 {
                s.velocity = body.after.velocity;
            }
            if body.turns() {
                s.momentum += self.twists[i] * body.held;
            }
        }
        state.touched.clear();
        for c in self.contacts.iter().filter(|c| c.impulse != DVec3::ZERO) {
            state.touched.push(Touched {
                colliders: c.colliders,
                feature: c.manifold.points()[0].feature,
                force: c.impulse / h,
            });
        }
    }
}
