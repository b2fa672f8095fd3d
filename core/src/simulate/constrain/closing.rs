//! Positions: the forces with which all joints are closed at the end of the step.
//!
//! Rounds of Newton's method on forces and bodies together. The matrix of a round says how openings answer to forces;
//! most steps do with the one of the velocities before, whose factor is at hand. Where a round closes too little, the
//! matrix is made anew from where the bodies have come to, and counts how the pull of the joints itself holds bodies
//! back from turning.
//!
//! Ranges (ropes, limits) hold only one way: those that are past their end get a row, those that would have to pull lose
//! it. Springs give way by what they are (`soft`).

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{CLOSED, Constraints, end_axes};
use crate::assemble::Mobility;
use crate::joint::{Kind, Measure, Rows, Side};
use crate::rig::Rig;
use crate::solve::MOST;
use glam::DVec3;

/// Rounds per step.
const MOST_ROUNDS: usize = 24;

/// A round that leaves more than this share open has the wrong matrix.
const SLOW: f64 = 0.15;

/// Rounds that make it worse with a fresh matrix, until the step is given up.
const MOST_WORSE: usize = 3;

/// How often ranges are let go or caught in one step.
const MOST_CHANGES: usize = 4;

/// Bodies are held back by the pull of joints where that is more than this share of their inertia, per step squared.
const STEEP: f64 = 0.02;

impl Constraints {
    /// Finds the multipliers; whether all joints are closed.
    pub(super) fn close(&mut self, rig: &Rig, h: f64, stands: bool) -> bool {
        let mut fresh = self.catch(rig);
        if fresh && !stands {
            self.stand(rig);
        }
        let scale = 0.5 * h * h; // what a matrix of velocities lacks to be one of positions
        let mut has_factor = fresh;
        let (mut last, mut best, mut worse, mut changes) = (f64::INFINITY, f64::INFINITY, 0, 0);
        let mut steep = false;
        for round in 0..=MOST_ROUNDS {
            self.gather(rig, true);
            if round == 0 {
                steep = self.is_steep();
                if steep {
                    self.gather(rig, true);
                }
            }
            self.movers.iter_mut().for_each(|m| m.yield_to_forces());
            self.place_ends();
            let open = self.residuals(rig);
            let size = open.0.max(open.1 * self.link);
            if !size.is_finite() {
                return false;
            }
            if open.0 <= CLOSED * self.link && open.1 <= CLOSED {
                if changes < MOST_CHANGES && self.change_ranges(rig) {
                    changes += 1;
                    (has_factor, last, best) = (false, f64::INFINITY, f64::INFINITY);
                    continue;
                }
                return true;
            }
            if round == MOST_ROUNDS {
                break;
            }
            let slow = size > SLOW * last;
            if slow && has_factor && !fresh && size > best {
                worse += 1;
                if worse > MOST_WORSE {
                    break;
                }
            }
            best = best.min(size);
            last = size;
            if !has_factor || slow {
                self.renew(rig, steep);
                (has_factor, fresh) = (true, false);
            }
            self.factor.solve(&mut self.wanted);
            let per = if fresh { 1.0 / scale } else { 1.0 };
            for (multipliers, change) in self.multipliers.iter_mut().zip(&self.wanted) {
                for r in 0..MOST {
                    multipliers[r] += change[r] * per;
                }
            }
        }
        false
    }

    /// Makes and factors the matrix of the velocities at the start of the step, as the end of the one before would have.
    fn stand(&mut self, rig: &Rig) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            self.rows[j] = Rows::between(joint, &hold.start[0], &hold.start[1], &hold.from, Measure::Products);
        }
        for (i, s) in self.before.iter().enumerate() {
            let b = &self.bodies[i];
            self.mobility[i] = Mobility::of(b.per_mass, s.orientation, b.per_inertia);
        }
        self.structure.fill(&mut self.matrix, &self.rows, &self.mobility);
        self.factor.factor(&self.matrix);
    }

    /// Decides which joints have rows at first; whether the matrix of the velocities will do.
    fn catch(&mut self, rig: &Rig) -> bool {
        let mut plain = self.movers.iter().all(|m| m.is_plain());
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            hold.active = hold.on;
            if !hold.on {
                plain = false;
                self.multipliers[j] = [0.0; MOST];
            } else if joint.kind.one_sided() && !hold.is_soft {
                plain = false;
                // Where the bodies are heading decides.
                let frames = [hold.start[0], hold.start[1]];
                let ahead: [Side; 2] = std::array::from_fn(|e| match self.structure.ends[j][e] {
                    None => hold.end[e],
                    Some(body) => {
                        let (shift, turn) = self.movers[body].free();
                        let lever = frames[e].lever + turn.cross(frames[e].lever);
                        Side { point: frames[e].point - frames[e].lever + shift + lever, lever, ..frames[e] }
                    }
                });
                let rows = Rows::between(joint, &ahead[0], &ahead[1], &hold.to, Measure::Products);
                hold.active = rows.error[0] > 0.0;
                let past = match joint.kind {
                    Kind::Distance { least, most } => {
                        let length = (ahead[1].point - ahead[0].point).length();
                        Some(length - least > most - length)
                    }
                    _ => None,
                };
                hold.to.upper = past;
                hold.from.upper = past;
                if !hold.active {
                    self.multipliers[j] = [0.0; MOST];
                }
            } else if hold.is_soft {
                plain = false;
            }
        }
        plain
    }

    /// Lets go of ranges that would have to pull and catches those past their end; whether there were any.
    fn change_ranges(&mut self, rig: &Rig) -> bool {
        let mut changed = false;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            if hold.is_soft && hold.on {
                for r in 0..self.rows[j].count {
                    changed |= hold.soft[r].spend(&mut self.multipliers[j][r]);
                }
                continue;
            }
            if !hold.on || !joint.kind.one_sided() {
                continue;
            }
            if hold.active {
                if self.multipliers[j][0] > 0.0 {
                    (hold.active, self.multipliers[j]) = (false, [0.0; MOST]);
                    changed = true;
                }
            } else {
                let rows = Rows::between(joint, &hold.end[0], &hold.end[1], &hold.to, Measure::Products);
                if rows.error[0] > CLOSED * self.link {
                    hold.active = true;
                    changed = true;
                }
            }
        }
        changed
    }

    /// Where the pull of joints holds bodies back from turning, the torque's slope counts.
    fn is_steep(&mut self) -> bool {
        let mut most = 0.0_f64;
        for (i, m) in self.movers.iter().enumerate() {
            if self.jointed[i] {
                most = most.max(m.force.abs().max_element() * self.link * m.mobility(false).turn.x_axis.x.abs());
            }
        }
        self.steep = most > STEEP;
        self.steep
    }

    /// Forces of the joints on the bodies, at the middle of the step; of all, or of the firm ones alone.
    pub(super) fn gather(&mut self, rig: &Rig, springs: bool) {
        self.movers.iter_mut().for_each(|m| m.let_go());
        let steep = self.steep;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active || hold.is_soft && !springs {
                continue;
            }
            let l = &self.multipliers[j];
            let late: [f64; 2] =
                std::array::from_fn(|e| self.structure.ends[j][e].map_or(0.5, |b| self.movers[b].late));
            if hold.point {
                let force = DVec3::new(l[0], l[1], l[2]);
                let b = &hold.end[1];
                let lever = hold.start[1].lever * (1.0 - late[1]) + b.lever * late[1];
                let point = hold.start[1].point * (1.0 - late[0]) + b.point * late[0];
                if let Some(body) = self.structure.ends[j][1] {
                    self.movers[body].pull(force, lever, b.lever, steep);
                }
                if let Some(body) = self.structure.ends[j][0] {
                    let a = &hold.end[0];
                    let middle = (hold.start[0].point - hold.start[0].lever) * (1.0 - late[0])
                        + (a.point - a.lever) * late[0];
                    self.movers[body].pull(-force, point - middle, a.lever, steep);
                }
                continue;
            }
            let a = hold.start[0].mix(&hold.end[0], late[0]);
            let b = hold.start[1].mix(&hold.end[1], late[1]);
            let rows = Rows::between(joint, &a, &b, &hold.to, Measure::Products);
            for e in 0..2 {
                let Some(body) = self.structure.ends[j][e] else { continue };
                let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
                for r in 0..rows.count {
                    force += rows.on[e][r].linear * l[r];
                    torque += rows.on[e][r].angular * l[r];
                }
                let mover = &mut self.movers[body];
                let lever = [&a, &b][e].lever;
                mover.pull(force, lever, hold.end[e].lever, steep);
                mover.torque += torque - lever.cross(force);
            }
        }
    }

    /// Puts the frames where the bodies have come to.
    fn place_ends(&mut self) {
        for (i, m) in self.movers.iter().enumerate() {
            if self.jointed[i] {
                self.axes[i] = end_axes(m);
            }
        }
        for (j, hold) in self.holds.iter_mut().enumerate() {
            if !hold.on {
                continue;
            }
            for e in 0..2 {
                let Some(body) = self.structure.ends[j][e] else { continue };
                hold.end[e] = hold.side(e, self.movers[body].end_position, &self.axes[body]);
            }
        }
    }

    /// How far joints are from what they are held to, negated, in `wanted`; the largest translation and rotation.
    fn residuals(&mut self, rig: &Rig) -> (f64, f64) {
        let mut worst = (0.0_f64, 0.0_f64);
        let mut sum = 0.0;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            let wanted = &mut self.wanted[j];
            if !hold.active {
                *wanted = [0.0; MOST];
                self.open[j] = (0.0, 0.0);
                continue;
            }
            if hold.point {
                let apart = hold.end[1].point - hold.end[0].point;
                *wanted = [-apart.x, -apart.y, -apart.z, 0.0, 0.0, 0.0];
                let most = apart.abs().max_element();
                self.open[j] = (most, 0.0);
                worst.0 = worst.0.max(most);
                sum += apart.x + apart.y + apart.z;
                continue;
            }
            let mut rows = Rows::between(joint, &hold.end[0], &hold.end[1], &hold.to, Measure::Products);
            if hold.is_soft {
                for r in 0..rows.count {
                    rows.error[r] = hold.soft[r].residual(rows.error[r], self.multipliers[j][r]);
                }
            }
            let translations = joint.kind.translations().min(rows.count);
            let mut open = (0.0_f64, 0.0_f64);
            for r in 0..rows.count {
                let e = rows.error[r].abs();
                sum += e;
                if r < translations { open.0 = open.0.max(e) } else { open.1 = open.1.max(e) }
            }
            *wanted = rows.error.map(|e| -e);
            if hold.is_soft {
                for r in 0..rows.count {
                    wanted[r] *= hold.soft[r].unscale();
                }
                self.open[j] = (0.0, 0.0);
            } else {
                self.open[j] = open;
            }
            worst = (worst.0.max(open.0), worst.1.max(open.1));
        }
        // The largest of numbers and NaN is a number.
        if sum.is_finite() { worst } else { (f64::NAN, f64::NAN) }
    }

    /// Makes and factors the matrix for where the bodies have come to.
    fn renew(&mut self, rig: &Rig, steep: bool) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active {
                self.rows[j].count = 0;
                continue;
            }
            // Between where the forces act and where the openings are.
            let side = |e: usize| {
                let late = self.structure.ends[j][e].map_or(0.5, |b| self.movers[b].late);
                hold.start[e].mix(&hold.end[e], 0.5 + 0.5 * late)
            };
            self.rows[j] = Rows::between(joint, &side(0), &side(1), &hold.to, Measure::Products);
        }
        for (mobility, mover) in self.mobility.iter_mut().zip(&self.movers) {
            *mobility = mover.mobility(steep);
        }
        self.structure.fill(&mut self.matrix, &self.rows, &self.mobility);
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.is_soft && h.active) {
            for r in 0..self.rows[j].count {
                self.matrix.diagonal[j][r][r] += hold.soft[r].give();
            }
        }
        self.factor.factor(&self.matrix);
    }

    /// Sums up, for every body, how hard its joints pull outwards.
    pub(super) fn measure_stretch(&mut self) {
        self.stretches.fill(0.0);
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.point && h.on) {
            let l = &self.multipliers[j];
            let force = DVec3::new(l[0], l[1], l[2]);
            for (e, sign) in [(0, -1.0), (1, 1.0)] {
                if let Some(body) = self.structure.ends[j][e] {
                    self.stretches[body] += (sign * force.dot(hold.start[e].lever)).max(0.0);
                }
            }
        }
    }
}
