//! Velocity projection: impulses at the end of a step, so that no joint is opening there.
//!
//! A driven body answers an impulse as it answered the forces of the step: by its driven response `b / m`, not by `h / m`
//! (see [`crate::dynamics::response`]; `b = h` where nothing drives it). Its actuator absorbs the rest. A light root bone under
//! a stiff drive acts like many tonnes in the position stage; taken by its raw mass here, it would be kicked to and fro
//! instead of the limbs that hang on it, and the velocity zigzag of the midpoint rule would grow instead of being removed.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{Constraints, Part};
use crate::assemble::Mobility;
use crate::dynamics::top::{self, Axes};
use crate::joint::{End, Kind, Measure};
use crate::rig::Rig;
use glam::DVec3;

impl Constraints {
    /// Takes away the rates at which joints open, at scene time `to`.
    #[inline(always)]
    pub(super) fn settle_rates(&mut self, rig: &Rig, state: &mut Part<'_>, to: f64, h: f64) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active {
                self.room.rows[j].clear();
                continue;
            }
            if joint.kind == Kind::Track && self.room.rows[j].count == 3 {
                // At the end of a track; by rounding, it may seem a hair before it.
                self.holds[j].to.upper = Some(true);
            }
            let hold = &self.holds[j];
            let [a, b] = &hold.end;
            match hold.point {
                true => self.room.rows[j].hold_point(a.lever, b.lever, b.point - a.point),
                false => self.room.rows[j].set(joint, a, b, &hold.to, Measure::Products),
            }
        }
        for (i, s) in state.solids.iter().enumerate() {
            let b = &self.bodies[i];
            // Where joints are, the axes are those of the end of the step already.
            let [shift, turn] = self.room.yields[i].driven(h);
            self.room.mobility[i] = match self.jointed[i] && !s.fixed() {
                true => Mobility::along(b.per_mass * shift, &self.room.axes[i], b.per_inertia * turn),
                false => Mobility::NONE,
            };
        }
        self.prepare_rates(rig, state, to, h);
        self.solve_rates(rig);
        // The ends of ranges push, and never pull: what leaves them is let go. A push throughout the step that stops a
        // body by its end has it going back by then, which the impulse takes: the two together push.
        let (mut loose, any_range) = (false, self.any_range);
        for (j, joint) in rig.joints.iter().enumerate().filter(|_| any_range) {
            let pushed = if self.holds[j].is_soft { 0.0 } else { self.room.multipliers[j][0] * h };
            if self.room.rows[j].count > 0 && joint.kind.one_sided() && self.room.wanted[j][0] + pushed > 0.0
            {
                self.room.rows[j].clear();
                loose = true;
            }
        }
        if loose {
            self.prepare_rates(rig, state, to, h);
            self.solve_rates(rig);
        }
        self.room.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.system.structure.spread(&self.room.rows, &self.room.wanted, &mut self.room.forces);
        for (i, s) in state.solids.iter_mut().enumerate() {
            if !self.jointed[i] || s.fixed() {
                continue;
            }
            let (push, twist) = self.room.forces[i];
            let [shift, turn] = self.room.yields[i].driven(h);
            s.velocity += push * self.room.mobility[i].shift;
            s.force.action += push * ((shift - 1.0) / h);
            if rig.solids[i].simulate.orientation() {
                s.momentum += twist * turn;
                s.torque.action += twist * ((turn - 1.0) / h);
            }
        }
        if self.any_soft {
            self.note_pulls(rig, state, h);
        }
        if self.any_breaks {
            self.break_joints(rig, state, h);
        }
    }

    /// Matrix, factor and rates of the rows there are.
    #[inline(always)]
    fn prepare_rates(&mut self, rig: &Rig, state: &Part<'_>, to: f64, h: f64) {
        self.system.harden();
        // Velocity and spin of the bodies, where forces will be.
        for (i, s) in state.solids.iter().enumerate() {
            let per_inertia = rig.solids[i].per_inertia;
            // Where joints are, the axes are those of the end of the step already.
            let spin = match self.jointed[i] {
                true => Axes::of(self.room.axes[i], per_inertia).scale(s.momentum, per_inertia),
                false => top::angular_velocity(s.orientation, s.momentum, per_inertia),
            };
            self.room.forces[i] = (s.velocity, spin);
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            let (rows, hold) = (&self.room.rows[j], &self.holds[j]);
            let mut moving = [(DVec3::ZERO, DVec3::ZERO); 2];
            for e in 0..2 {
                moving[e] = match self.system.structure.ends[j][e] {
                    Some(i) => self.room.forces[i],
                    None => match joint.ends[e] {
                        End::Keys(p) => rig.paths[p].velocity(to),
                        End::Hand(h) => rig.hands[h].velocity(to),
                        _ => continue,
                    },
                };
            }
            let rates = rows.rates(&moving);
            self.room.wanted[j] = rates.map(|rate| -rate);
            if joint.anchor.is_some() && rows.point {
                let slid = self.slid(rig, j, to);
                (0..3).for_each(|r| self.room.wanted[j][r] += slid[r]);
            }
            if !hold.is_soft && !hold.aims {
                continue;
            }
            for r in 0..rows.count {
                let rate = rates[r];
                // Where a joint is held may move.
                self.room.wanted[j][r] = match joint.kind {
                    Kind::SlideTo | Kind::TurnTo => (hold.to.rest - hold.from.rest) / h - rate,
                    _ => -rate,
                };
                if hold.is_soft {
                    if self.room.softs[j][r].is_spent() {
                        self.system.soften(j, r, f64::INFINITY);
                        self.room.wanted[j][r] = 0.0;
                    } else {
                        // Beyond what it pulled throughout the step, which bodies with an actuator have given way to
                        // by that much less.
                        let (give, aim) = self.room.softs[j][r].rate();
                        self.system.soften(j, r, give);
                        self.room.wanted[j][r] = aim - rate - give * self.room.multipliers[j][r] * h;
                    }
                }
            }
        }
        self.system.prepare(&self.room.rows, &self.room.mobility);
    }

    /// Lets go of joints that bear more than they can: all parts of a joint of the set-up together.
    fn break_joints(&self, rig: &Rig, state: &mut Part<'_>, h: f64) {
        let mut next = 0;
        while next < rig.joints.len() {
            let first = next;
            let joint = &rig.joints[first];
            while next < rig.joints.len() && rig.joints[next].of == joint.of {
                next += 1;
            }
            let (force, torque) = (joint.holds.most_force, joint.holds.most_torque);
            if force.is_infinite() && torque.is_infinite() {
                continue;
            }
            let (mut pull, mut twist) = (DVec3::ZERO, DVec3::ZERO);
            for j in (first..next).filter(|j| self.holds[*j].active) {
                for r in 0..self.room.rows[j].count {
                    // Mean force of the step: of the way there, and the impulse at its end.
                    let bears = self.room.multipliers[j][r] + self.room.wanted[j][r] / h;
                    let row = self.room.rows[j].row(1, r);
                    pull += row.linear * bears;
                    if row.linear == DVec3::ZERO {
                        twist += row.angular * bears;
                    }
                }
            }
            if pull.length() > force || twist.length() > torque {
                state.joints[first..next].iter_mut().for_each(|memory| memory.broken = true);
            }
        }
    }
}
