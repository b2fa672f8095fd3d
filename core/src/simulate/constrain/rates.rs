//! Velocities: impulses at the end of a step, so that no joint is opening there.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::soft::Soft;
use super::{Constraints, Hold};
use crate::assemble::Mobility;
use crate::dynamics::top;
use crate::joint::{End, Measure, Rows};
use crate::rig::Rig;
use crate::simulate::State;
use crate::solve::MOST;
use glam::DVec3;

/// Share of what the impulses take that is carried into the next step.
const CARRIED: f64 = 0.9;

/// Share of what a step that was cut short left open, which the next one is sent to close.
const CLOSING: f64 = 0.2;

impl Constraints {
    /// Takes away the rates at which joints open, at scene time `to`.
    pub(super) fn settle_rates(&mut self, rig: &Rig, state: &mut State, to: f64, h: f64) {
        // A step that was cut short has no steady error to carry.
        let mut firm = !self.cut_short;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            firm &= hold.active && !hold.is_soft && !joint.kind.one_sided();
            if !hold.active {
                self.rows[j].count = 0;
                continue;
            }
            self.rows[j] = Rows::between(joint, &hold.end[0], &hold.end[1], &hold.to, Measure::Products);
        }
        for (i, s) in state.solids.iter().enumerate() {
            let b = &self.bodies[i];
            self.mobility[i] = match s.quarantined {
                true => Mobility::NONE,
                false => Mobility::of(b.per_mass, s.orientation, b.per_inertia),
            };
        }
        self.push_spent(rig, state, h);
        self.prepare_rates(rig, state, to, h);
        self.solve_rates(rig);
        // The ends of ranges push, and never pull: what leaves them is let go.
        let mut loose = false;
        for (j, joint) in rig.joints.iter().enumerate() {
            if self.rows[j].count > 0 && joint.kind.one_sided() && self.wanted[j][0] > 0.0 {
                self.rows[j].count = 0;
                loose = true;
            }
        }
        if loose {
            self.prepare_rates(rig, state, to, h);
            self.solve_rates(rig);
        }
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.is_soft && h.active) {
            for r in 0..self.rows[j].count {
                if hold.soft[r].is_spent() {
                    self.wanted[j][r] = 0.0;
                }
            }
        }
        self.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.structure.spread(&self.rows, &self.wanted, &mut self.forces);
        for (i, s) in state.solids.iter_mut().enumerate() {
            if !self.jointed[i] || s.quarantined {
                continue;
            }
            let (push, twist) = self.forces[i];
            let change = push * self.mobility[i].shift;
            let twist = if rig.solids[i].simulate.orientation() { twist } else { DVec3::ZERO };
            s.velocity += change;
            s.momentum += twist;
            if firm {
                s.carried = (-change * CARRIED, -twist * CARRIED);
            }
        }
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.is_soft && h.active) {
            for r in 0..self.rows[j].count {
                if hold.soft[r].is_spent() {
                    self.wanted[j][r] = self.multipliers[j][r] * h;
                }
            }
        }
        self.note_pulls(rig, state, &self.wanted, h);
        self.break_joints(rig, state, h);
    }

    /// Gives the impulses of springs that pull their utmost, so that all other joints answer to them.
    fn push_spent(&mut self, rig: &Rig, state: &mut State, h: f64) {
        let is_spent = |hold: &Hold| hold.is_soft && hold.active && hold.soft.iter().any(Soft::is_spent);
        if !self.holds.iter().any(is_spent) {
            return;
        }
        self.wanted.fill([0.0; MOST]);
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, hold)| is_spent(hold)) {
            for r in (0..self.rows[j].count).filter(|r| hold.soft[*r].is_spent()) {
                self.wanted[j][r] = self.multipliers[j][r] * h;
            }
        }
        self.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.structure.spread(&self.rows, &self.wanted, &mut self.forces);
        for (i, s) in state.solids.iter_mut().enumerate().filter(|(_, s)| !s.quarantined) {
            s.velocity += self.forces[i].0 * self.mobility[i].shift;
            if rig.solids[i].simulate.orientation() {
                s.momentum += self.forces[i].1;
            }
        }
    }

    /// Matrix, factor and rates of the rows there are.
    fn prepare_rates(&mut self, rig: &Rig, state: &State, to: f64, h: f64) {
        self.structure.fill(&mut self.matrix, &self.rows, &self.mobility);
        for (j, joint) in rig.joints.iter().enumerate() {
            let rows = &self.rows[j];
            let rates = joint.ends.map(|end| match end {
                End::World => (DVec3::ZERO, DVec3::ZERO),
                End::Keys(p) => rig.paths[p].velocity(to),
                End::Hand(h) => rig.hands[h].velocity(to),
                End::Solid(i) => {
                    let s = &state.solids[i];
                    (s.velocity, top::angular_velocity(s.orientation, s.momentum, rig.solids[i].per_inertia))
                }
            });
            let hold = &self.holds[j];
            self.wanted[j] = [0.0; MOST];
            for r in 0..rows.count {
                let rate =
                    rows.on[0][r].rate(rates[0].0, rates[0].1) + rows.on[1][r].rate(rates[1].0, rates[1].1);
                self.wanted[j][r] = -rate;
                if self.cut_short && !self.far_open && !hold.is_soft {
                    self.wanted[j][r] -= CLOSING * rows.error[r] / h;
                }
                if hold.is_soft {
                    let (give, aim) = hold.soft[r].rate();
                    self.matrix.diagonal[j][r][r] +=
                        if hold.soft[r].is_spent() { 1e12 * self.matrix.diagonal[j][r][r] } else { give };
                    self.wanted[j][r] += aim;
                }
            }
        }
        self.factor.prepare(&self.matrix);
    }

    /// Lets go of joints that bear more than they can.
    fn break_joints(&self, rig: &Rig, state: &mut State, h: f64) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let (force, torque) = (joint.holds.most_force, joint.holds.most_torque);
            if force.is_infinite() && torque.is_infinite() || !self.holds[j].active {
                continue;
            }
            let (mut pull, mut twist) = (DVec3::ZERO, DVec3::ZERO);
            for r in 0..self.rows[j].count {
                // Mean force of the step, with the impulse at its end.
                let bears = self.multipliers[j][r] + self.wanted[j][r] / h;
                let row = &self.rows[j].on[1][r];
                pull += row.linear * bears;
                if row.linear == DVec3::ZERO {
                    twist += row.angular * bears;
                }
            }
            if pull.length() > force || twist.length() > torque {
                let parts = state.joints.iter_mut().zip(&rig.joints).filter(|(_, o)| o.of == joint.of);
                parts.for_each(|(memory, _)| memory.broken = true);
            }
        }
    }
}
