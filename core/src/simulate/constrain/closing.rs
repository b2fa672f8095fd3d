//! Positions: the forces with which all joints are closed at the end of the step.
//!
//! The forces of the step before and the free motion tell about where the bodies end. There the rows are taken and held,
//! forces are sought along them (one factorisation, a solve per round), and the bodies follow in proportion. Where a round
//! closes too little, the rows are taken anew from where the bodies have come to. Rows that moved with every round would
//! seem better, but in long chains of hinges forces are sensitive without bounds, and would never settle.
//!
//! Ranges (ropes, limits) hold only one way: those that are past their end get a row, those that would have to pull lose
//! it. Springs give way by what they are (`soft`).

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::soft::Soft;
use super::{CLOSED, Constraints, end_axes};
use crate::joint::{End, Kind, Measure, Rows, Side};
use crate::rig::{Rig, Solver};
use crate::setup::Tier;
use crate::solve::MOST;
use glam::{DMat3, DVec3};

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
    pub(super) fn close(&mut self, rig: &Rig, stands: bool) -> bool {
        self.best.0 = f64::INFINITY;
        self.catch(rig);
        self.guess(rig, stands);
        self.hold_levers(rig);
        let (mut last, mut best, mut worse, mut changes) = (f64::INFINITY, f64::INFINITY, 0, 0);
        let mut held = 0;
        let Solver { rounds, limited, tier, .. } = rig.solver;
        // One sweep of pairs leaves most open with any matrix.
        let slow = if tier == Tier::Pairwise { 1.0 } else { SLOW };
        for round in 0..=rounds {
            self.follow();
            let open = self.residuals(rig);
            let size = open.0.max(open.1 * self.link);
            if limited {
                self.keep_best(size);
            }
            if !size.is_finite() || round == rounds {
                return false;
            }
            if open.0 <= CLOSED * self.link && open.1 <= CLOSED {
                if changes < MOST_CHANGES && self.change_ranges(rig) {
                    changes += 1;
                    (last, best) = (f64::INFINITY, f64::INFINITY);
                    self.hold_levers(rig);
                    continue;
                }
                return true;
            }
            let anew = size > slow * last;
            if !self.clock.next_round(anew) {
                return false;
            }
            if anew {
                if held > 0 && size > best && !limited {
                    worse += 1;
                    if worse > MOST_WORSE {
                        return false;
                    }
                }
                self.hold_levers(rig);
                held += 1;
                self.follow();
                self.residuals(rig);
            }
            best = best.min(size);
            last = size;
            self.solve();
            for (multipliers, change) in self.multipliers.iter_mut().zip(&self.change) {
                for r in 0..MOST {
                    multipliers[r] += change[r];
                }
            }
        }
        false
    }

    /// Guesses where the bodies end, with the forces of the step before along the rows of the start.
    fn guess(&mut self, rig: &Rig, stands: bool) {
        if !stands {
            for (j, joint) in rig.joints.iter().enumerate() {
                let hold = &self.holds[j];
                self.rows[j] =
                    Rows::between(joint, &hold.start[0], &hold.start[1], &hold.from, Measure::Products);
            }
        }
        self.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.structure.spread(&self.rows, &self.multipliers, &mut self.forces);
        for (mover, (force, torque)) in self.movers.iter_mut().zip(&self.forces) {
            mover.guess(*force, *torque);
        }
        self.place_ends();
    }

    /// Moves the bodies by the multipliers there are.
    pub(super) fn follow(&mut self) {
        self.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.structure.spread(&self.rows, &self.multipliers, &mut self.forces);
        for (mover, (force, torque)) in self.movers.iter_mut().zip(&self.forces) {
            mover.follow(*force, *torque);
        }
        self.place_ends();
    }

    /// Takes the rows in the middle between the start and where the bodies are now, and holds them; makes and factors
    /// their matrix.
    fn hold_levers(&mut self, rig: &Rig) {
        self.slopes.fill(DMat3::ZERO);
        self.steep = self.is_steep();
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active {
                self.rows[j].count = 0;
                continue;
            }
            let side = |e: usize| {
                let late = self.structure.ends[j][e].map_or(0.5, |b| self.movers[b].late);
                (hold.start[e].mix(&hold.end[e], late), late)
            };
            let ((mut a, late_a), (b, late_b)) = (side(0), side(1));
            if hold.translations == 3 {
                // What is still open is not part of the lever.
                a.lever -= b.point - a.point;
            }
            self.rows[j] = Rows::between(joint, &a, &b, &hold.to, Measure::Products);
            if self.steep {
                let rows = &self.rows[j];
                for (e, late) in [(0, late_a), (1, late_b)] {
                    let Some(body) = self.structure.ends[j][e] else { continue };
                    let mut force = DVec3::ZERO;
                    for r in 0..rows.count {
                        force += rows.on[e][r].linear * self.multipliers[j][r];
                    }
                    // d (r x f) = (dc x r) x f = r (f . dc) - (r . f) dc
                    let r = hold.end[e].lever * late;
                    let along = r.dot(force);
                    let slope = &mut self.slopes[body];
                    slope.x_axis += DVec3::new(along, 0.0, 0.0) - r * force.x;
                    slope.y_axis += DVec3::new(0.0, along, 0.0) - r * force.y;
                    slope.z_axis += DVec3::new(0.0, 0.0, along) - r * force.z;
                }
            }
        }
        for (i, mover) in self.movers.iter_mut().enumerate() {
            mover.hold(&self.slopes[i], self.steep);
            self.mobility[i] = mover.mobility();
        }
        self.structure.fill(&mut self.matrix, &self.rows, &self.mobility);
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.is_soft && h.active) {
            for r in 0..self.rows[j].count {
                self.matrix.diagonal[j][r][r] += hold.soft[r].give();
            }
        }
        self.factor.prepare(&self.matrix);
    }

    /// Decides which joints have rows at first.
    fn catch(&mut self, rig: &Rig) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            hold.active = hold.on;
            if !hold.on {
                self.multipliers[j] = [0.0; MOST];
            } else if joint.kind.one_sided() && !hold.is_soft {
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
            }
        }
    }

    /// Lets go of ranges that would have to pull and catches those past their end; whether there were any.
    pub(super) fn change_ranges(&mut self, rig: &Rig) -> bool {
        let mut changed = false;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            if hold.is_soft && hold.on {
                let (soft, multipliers) = (&mut hold.soft[..self.rows[j].count], &mut self.multipliers[j]);
                if matches!(joint.ends[0], End::Hand(_)) {
                    changed |= Soft::spend_together(soft, multipliers);
                    continue;
                }
                for (soft, multiplier) in soft.iter_mut().zip(multipliers) {
                    changed |= soft.spend(multiplier);
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

    /// Whether the pull of joints, by the multipliers there are, holds bodies back from turning.
    fn is_steep(&self) -> bool {
        self.holds.iter().enumerate().filter(|(_, h)| h.active).any(|(j, hold)| {
            let l = &self.multipliers[j];
            let force = if hold.translations == 0 { 0.0 } else { l[0].abs().max(l[1].abs()).max(l[2].abs()) };
            (0..2).any(|e| {
                self.structure.ends[j][e].is_some_and(|body| {
                    force * hold.start[e].lever.length() * self.movers[body].swiftness() > STEEP
                })
            })
        })
    }

    /// Forces and torques of the firm joints, at the middle between the start and where the bodies ended, into `forces`.
    pub(super) fn gather(&mut self, rig: &Rig) {
        self.forces.fill((DVec3::ZERO, DVec3::ZERO));
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active || hold.is_soft {
                continue;
            }
            let l = &self.multipliers[j];
            let ends = self.structure.ends[j];
            let late: [f64; 2] = std::array::from_fn(|e| ends[e].map_or(0.5, |b| self.movers[b].late));
            if hold.point {
                let force = DVec3::new(l[0], l[1], l[2]);
                let mid = |e: usize, late: f64| hold.start[e].point * (1.0 - late) + hold.end[e].point * late;
                let lever =
                    |e: usize, late: f64| hold.start[e].lever * (1.0 - late) + hold.end[e].lever * late;
                if let Some(body) = ends[1] {
                    self.forces[body].0 += force;
                    self.forces[body].1 += lever(1, late[1]).cross(force);
                }
                if let Some(body) = ends[0] {
                    // What is left open does not turn the pair: the two forces act at one point.
                    let lever = lever(0, late[0]) + mid(1, late[0]) - mid(0, late[0]);
                    self.forces[body].0 -= force;
                    self.forces[body].1 -= lever.cross(force);
                }
                continue;
            }
            let a = hold.start[0].mix(&hold.end[0], late[0]);
            let b = hold.start[1].mix(&hold.end[1], late[1]);
            let rows = Rows::between(joint, &a, &b, &hold.to, Measure::Products);
            for e in 0..2 {
                let Some(body) = ends[e] else { continue };
                for r in 0..rows.count {
                    self.forces[body].0 += rows.on[e][r].linear * l[r];
                    self.forces[body].1 += rows.on[e][r].angular * l[r];
                }
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
    pub(super) fn residuals(&mut self, rig: &Rig) -> (f64, f64) {
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
