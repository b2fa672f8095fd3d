//! Joints that contradict each other: the pose with the least sum of squared errors (Levenberg and Marquardt).
//!
//! `W J^T l` with `(J W J^T + mu) l = -g` is the step that makes `|g + J d|^2 + mu d^T M d` least: a Gauss-Newton
//! step for a small mu, a short one down the gradient for a large one. A step that does not make the errors less is
//! taken back and mu grows; otherwise mu shrinks by how well the step was foreseen (Nielsen 1999). It ends where the
//! gradient `W J^T g` vanishes. The errors of joints that fight are not small there, so the gradient decides where
//! the sum itself has no digits left to tell.

use super::{Assembly, Body, Ending, Goal, LARGEST_TURN_RAD, Outcome, keep, restore};
use crate::joint::{End, Joint};
use crate::scene::Placement;

/// Most steps, those taken back counted in.
const MOST_ROUNDS: usize = 400;

/// The gradient vanishes below this share of what errors of that size can have.
const STATIONARY: f64 = 1e-10;

/// Sums of squares that differ by less than this share are the same.
const SAME: f64 = 1e-13;

/// The first mu, as a share of the matrix's largest entry; mu never falls far below it.
const FIRST: f64 = 1e-3;

impl Assembly {
    /// Goes down from where the bodies are.
    pub(super) fn least_squares(
        &mut self,
        joints: &[Joint],
        bodies: &mut [Body],
        keyed: &impl Fn(End) -> Placement,
        goal: &Goal,
        rounds: usize,
        mut go_on: impl FnMut() -> bool,
    ) -> Outcome {
        let mut open = self.look(joints, bodies, keyed);
        let mut size = self.size();
        let (mut gradient, mut scale) = self.gradient(bodies);
        let mut mu = FIRST * scale;
        let mut growth = 2.0;
        let ended = |rounds, (opening, angle), ending| Outcome { rounds, opening, angle, ending };
        let mut tried = 0;
        while tried < MOST_ROUNDS && go_on() {
            if goal.is_met(open) {
                return ended(rounds + tried, open, Ending::Closed);
            }
            if gradient <= STATIONARY * size * scale.sqrt() {
                return ended(rounds + tried, open, Ending::LeastSquares);
            }
            tried += 1;
            let foreseen = self.damped(bodies, mu);
            let turn = self.push.iter().fold(0.0_f64, |m, p| m.max(p.1.length()));
            let mut better = false;
            if turn <= LARGEST_TURN_RAD {
                keep(&mut self.kept, bodies);
                bodies.iter_mut().zip(&self.push).for_each(|(b, p)| b.shift(p.0, p.1, 1.0));
                let now = self.look(joints, bodies, keyed);
                let (new_size, new) = (self.size(), self.gradient(bodies));
                let gain = size * size - new_size * new_size;
                let same = gain.abs() <= SAME * size * size;
                better = if same { new.0 < gradient } else { gain > 0.0 };
                if better {
                    // Where the gain is rounding it tells nothing, and a bolder step is tried.
                    let quality = if same { 1.0 } else { gain / foreseen };
                    let shrink = 1.0 - (2.0 * quality - 1.0).powi(3);
                    mu = (mu * shrink.clamp(1.0 / 3.0, 2.0)).max(1e-12 * scale);
                    growth = 2.0;
                    (open, size, (gradient, scale)) = (now, new_size, new);
                } else {
                    restore(bodies, &self.kept);
                    self.look(joints, bodies, keyed);
                    self.gradient(bodies);
                }
            }
            if !better {
                mu *= growth;
                growth *= 2.0;
            }
            // A step too short to change a number.
            if !mu.is_finite() || mu > 1e30 * scale {
                break;
            }
        }
        // Rounding can keep the gradient from vanishing wholly.
        let settled = gradient <= 1e-6 * size * scale.sqrt();
        ended(rounds + tried, open, if settled { Ending::LeastSquares } else { Ending::GaveUp })
    }

    /// Makes the matrix of the rows measured last; the length of `W J^T g` in the metric of mass, and the matrix's
    /// largest entry.
    fn gradient(&mut self, bodies: &[Body]) -> (f64, f64) {
        self.fill(bodies);
        self.multipliers.copy_from_slice(&self.wanted);
        let square = self.spread(bodies);
        let diagonal = |j: usize| (0..self.matrix.rows[j]).map(move |r| (j, r));
        let entries = (0..self.matrix.rows.len()).flat_map(diagonal);
        let largest = entries.fold(0.0_f64, |m, (j, r)| m.max(self.matrix.diagonal[j][r][r]));
        (square.sqrt(), largest)
    }

    /// Finds the damped step and returns by how much it should lessen the sum of squares.
    fn damped(&mut self, bodies: &[Body], mu: f64) -> f64 {
        for (j, block) in self.matrix.diagonal.iter_mut().enumerate() {
            (0..self.matrix.rows[j]).for_each(|r| block[r][r] += mu);
        }
        self.factor.prepare(&self.matrix);
        self.correct(bodies);
        for (j, block) in self.matrix.diagonal.iter_mut().enumerate() {
            (0..self.matrix.rows[j]).for_each(|r| block[r][r] -= mu);
        }
        // g + J d = g + A l = -mu l, so |g|^2 - |g + J d|^2 = |g|^2 - mu^2 |l|^2.
        let square = |all: &[[f64; crate::solve::MOST]], rows: &[usize]| {
            all.iter().zip(rows).flat_map(|(b, &n)| &b[..n]).map(|v| v * v).sum::<f64>()
        };
        square(&self.wanted, &self.matrix.rows) - mu * mu * square(&self.multipliers, &self.matrix.rows)
    }
}
