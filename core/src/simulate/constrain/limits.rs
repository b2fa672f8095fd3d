//! Solving within limits: what a round may cost, and what becomes of a step whose rounds or time run out.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{CLOSED, Constraints, Part, Rate, Room, System};
use crate::assemble::Mobility;
use crate::joint::Measure;
use crate::rig::Rig;
use crate::rotation;
use crate::setup::Tier;
use crate::simulate::SolidState;
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// Rates that are this share of what they were are settled.
const SETTLED: f64 = 1e-12;

/// Beyond this share of a link, and this angle (rad), what is left open is put right without velocities.
const FAR: f64 = 2e-3;

/// Corrections, the first with the matrix there is; a third only if there is time.
const CORRECTIONS: usize = 3;

/// Rounds of closing after contacts have moved bodies.
const CLOSINGS: usize = 4;

/// The largest turn of one correction (rad): beyond it the linearisation says nothing.
const LARGEST_TURN_RAD: f64 = 0.8;

impl Constraints {
    /// Solves for the impulses in place of the rates in `wanted`. These are linear, so pairs sweep here, too.
    pub(super) fn solve_rates(&mut self, rig: &Rig) {
        if rig.solver.tier != Tier::Pairwise {
            // Velocities are settled whatever the time: what they leave open would be there in every step to come.
            self.system.solve(&self.room.wanted, &mut self.room.change, || true);
            std::mem::swap(&mut self.room.wanted, &mut self.room.change);
            return;
        }
        let Room { wanted, change, product, best: (_, impulses), .. } = &mut self.room;
        let System { factor, matrix, .. } = &mut self.system;
        let size = |all: &[[f64; MOST]], rows: &[usize]| -> f64 {
            all.iter().zip(rows).flat_map(|(b, n)| &b[..*n]).map(|v| v * v).sum::<f64>().sqrt()
        };
        impulses.fill([0.0; MOST]);
        let first = size(wanted, &matrix.rows);
        let mut sweeps = 0;
        while sweeps < rig.solver.rounds && size(wanted, &matrix.rows) > SETTLED * first {
            factor.solve_anew(matrix, wanted, change, || true);
            for (impulse, change) in impulses.iter_mut().zip(&*change) {
                (0..MOST).for_each(|r| impulse[r] += change[r]);
            }
            // What this sweep leaves of the rates.
            matrix.multiply(change, product);
            for ((left, taken), &rows) in wanted.iter_mut().zip(&*product).zip(&matrix.rows) {
                (0..rows).for_each(|r| left[r] -= taken[r]);
            }
            sweeps += 1;
        }
        std::mem::swap(wanted, impulses);
    }

    /// Remembers the multipliers, if they leave less open than any before in this step.
    pub(super) fn keep_best(&mut self, size: f64) {
        if size < self.room.best.0 {
            self.room.best.0 = size;
            self.room.best.1.copy_from_slice(&self.room.multipliers);
        }
    }

    /// Whether what was least open is little.
    pub(super) fn is_near(&self) -> bool {
        self.room.best.0 <= FAR * self.link && self.clock.rounds() > 0
    }

    /// Rounds or time ran out: the bodies go where least is open.
    pub(super) fn leave_open(&mut self, rig: &Rig, h: f64) {
        self.room.multipliers.copy_from_slice(&self.room.best.1);
        // Ropes do not push and springs have their strength, closed or not.
        self.change_ranges(rig, h, true);
        self.follow(true);
        let (opening, angle) = self.residuals(rig);
        if !(opening + angle).is_finite() {
            self.room.multipliers.fill([0.0; MOST]);
            self.follow(true);
            self.residuals(rig);
        }
        let is_far = |open: &(f64, f64)| !(open.0 <= FAR * self.link && open.1 <= FAR);
        self.far_open = self.room.open.iter().any(is_far);
    }

    /// Puts bodies together as far as few corrections do, without velocities (Cline and Pai 2003), with the matrix that
    /// settled the rates: what a step left far open would otherwise become speed. Costs angular momentum, as bodies that
    /// move are shifted.
    pub(super) fn put_right(&mut self, rig: &Rig, state: &mut Part<'_>) {
        for pass in 0..CORRECTIONS {
            let (opening, angle) = self.residuals(rig);
            let is_near = opening <= FAR * self.link && angle <= FAR;
            if is_near || pass > 1 && !self.clock.goes_on() {
                return;
            }
            if pass > 0 {
                self.take_rows(rig, state, false);
            }
            self.correct(rig, state);
        }
        self.residuals(rig);
    }

    /// Closes joints whose bodies contacts have moved, without velocities, and brings back what that moved past the end of
    /// its range. Springs stay as they are.
    pub fn close_places(&mut self, rig: &Rig, state: &mut Part<'_>) {
        self.follow_places(state);
        self.close_again(rig, state, false);
    }

    /// Pushes bodies elsewhere, without velocities, as their joints let them and springs hold against it, with the matrix
    /// that settled the rates; closes again what that opened.
    pub fn displace(&mut self, rig: &Rig, state: &mut Part<'_>, push: impl Fn(usize) -> Rate) {
        self.respond(push);
        for (i, s) in state.solids.iter_mut().enumerate() {
            if self.jointed[i] && !s.fixed() {
                give_way(s, self.room.answer.after[i]);
            }
        }
        self.follow_places(state);
        self.close_again(rig, state, true);
    }

    /// Closes joints without velocities, or with `springs` as these let them: then with the matrix there is at first, which
    /// is of places near by.
    fn close_again(&mut self, rig: &Rig, state: &mut Part<'_>, springs: bool) {
        for closing in 0..CLOSINGS {
            let caught = self.catch_past(rig, CLOSED * self.link);
            self.residuals(rig);
            let (opening, angle) = self.firmly_open(rig);
            if opening <= self.closed * self.link && angle <= CLOSED {
                return;
            }
            if closing > 0 || caught || !springs {
                self.take_rows(rig, state, springs);
            }
            self.correct(rig, state);
        }
        self.residuals(rig);
    }

    /// How far joints are open that are no springs, nor ranges that are not past their end.
    fn firmly_open(&self, rig: &Rig) -> (f64, f64) {
        let mut worst = (0.0_f64, 0.0_f64);
        for (j, open) in self.room.open.iter().enumerate() {
            if !(rig.joints[j].kind.one_sided() && self.room.wanted[j][0] > 0.0) {
                worst = (worst.0.max(open.0), worst.1.max(open.1));
            }
        }
        worst
    }

    /// Moves bodies by what joints are open, but for springs and ranges that are not past their end.
    fn correct(&mut self, rig: &Rig, state: &mut Part<'_>) {
        for (j, joint) in rig.joints.iter().enumerate() {
            if self.holds[j].is_soft || joint.kind.one_sided() && self.room.wanted[j][0] > 0.0 {
                self.room.wanted[j] = [0.0; MOST];
            }
        }
        self.solve_rates(rig);
        self.shift(state);
    }

    /// Rows and matrix where the bodies are now; with `springs`, which give way as they did, or without.
    fn take_rows(&mut self, rig: &Rig, state: &Part<'_>, springs: bool) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            match hold.active && (springs || !hold.is_soft) {
                true => self.room.rows[j].set(joint, &hold.end[0], &hold.end[1], &hold.to, Measure::Products),
                false => self.room.rows[j].clear(),
            }
        }
        for (i, s) in state.solids.iter().enumerate().filter(|(_, s)| !s.fixed()) {
            let b = &self.bodies[i];
            self.room.mobility[i] = Mobility::of(b.per_mass, s.orientation, b.per_inertia);
        }
        if !springs {
            self.system.harden();
        }
        self.system.prepare(&self.room.rows, &self.room.mobility);
    }

    /// Moves bodies by the multipliers in `wanted`, to first order, and the joints' frames with them.
    fn shift(&mut self, state: &mut Part<'_>) {
        self.room.forces.fill((DVec3::ZERO, DVec3::ZERO));
        self.system.structure.spread(&self.room.rows, &self.room.wanted, &mut self.room.forces);
        for (i, s) in state.solids.iter_mut().enumerate() {
            if self.jointed[i] && !s.fixed() {
                let (push, twist) = self.room.forces[i];
                give_way(s, (push * self.room.mobility[i].shift, self.room.mobility[i].turn * twist));
            }
        }
        self.follow_places(state);
    }

    /// Has the joints' frames be where the bodies are.
    fn follow_places(&mut self, state: &Part<'_>) {
        for (axes, s) in self.room.axes.iter_mut().zip(&*state.solids) {
            *axes = DMat3::from_quat(s.orientation);
        }
        for (j, hold) in self.holds.iter_mut().enumerate() {
            for e in 0..2 {
                if let Some(body) = self.system.structure.ends[j][e] {
                    let s = &state.solids[body];
                    hold.end[e] = hold.side(true, e, s.position, (&self.room.axes[body], s.orientation));
                }
            }
        }
    }
}

/// Shifts and turns a body. A turn that is cut takes its share of the shift with it.
fn give_way(s: &mut SolidState, (moved, turned): Rate) {
    let share = (LARGEST_TURN_RAD / turned.length()).min(1.0);
    s.position += moved * share;
    s.orientation = (rotation::exp(turned * share) * s.orientation).normalize();
}
