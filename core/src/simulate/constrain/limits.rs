//! Solving within limits: what a round may cost, and what becomes of a step whose rounds or time run out.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::Constraints;
use crate::rig::Rig;
use crate::setup::Tier;
use crate::solve::MOST;

/// Rates that are this share of what they were are settled.
const SETTLED: f64 = 1e-12;

impl Constraints {
    /// Solves for what is wanted, into `change`.
    pub(super) fn solve(&mut self) {
        let clock = self.clock;
        self.change.fill([0.0; MOST]);
        self.factor.solve(&self.matrix, &self.wanted, &mut self.change, || clock.goes_on());
    }

    /// Solves for the impulses in place of the rates in `wanted`. These are linear, so pairs sweep here, too.
    pub(super) fn solve_rates(&mut self, rig: &Rig) {
        if rig.solver.tier != Tier::Pairwise {
            // Velocities are settled whatever the time: what they leave open would be there in every step to come.
            self.change.fill([0.0; MOST]);
            self.factor.solve(&self.matrix, &self.wanted, &mut self.change, || true);
            std::mem::swap(&mut self.wanted, &mut self.change);
            return;
        }
        let Constraints { factor, matrix, wanted, change, product, best: (_, impulses), .. } = self;
        let size = |all: &[[f64; MOST]], rows: &[usize]| -> f64 {
            all.iter().zip(rows).flat_map(|(b, n)| &b[..*n]).map(|v| v * v).sum::<f64>().sqrt()
        };
        impulses.fill([0.0; MOST]);
        let first = size(wanted, &matrix.rows);
        let mut sweeps = 0;
        while sweeps < rig.solver.rounds && size(wanted, &matrix.rows) > SETTLED * first {
            change.fill([0.0; MOST]);
            factor.solve(matrix, wanted, change, || true);
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
        if size < self.best.0 {
            self.best.0 = size;
            self.best.1.copy_from_slice(&self.multipliers);
        }
    }

    /// Rounds or time ran out: the bodies go where least is open.
    pub(super) fn leave_open(&mut self, rig: &Rig) {
        // Forces that were not corrected once are those of other steps: better none, and impulses alone.
        match self.best.0.is_finite() && self.clock.rounds() > 0 {
            true => self.multipliers.copy_from_slice(&self.best.1),
            false => self.multipliers.fill([0.0; MOST]),
        }
        // Ropes do not push and springs have their strength, closed or not.
        self.change_ranges(rig);
        self.follow();
        let (opening, angle) = self.residuals(rig);
        if !(opening + angle).is_finite() {
            self.multipliers.fill([0.0; MOST]);
            self.follow();
            self.residuals(rig);
        }
    }
}
