//! Takes more keys away: by the largest error instead of the sum of squares, and with keys that may move.
//!
//! Least squares spends freedom on samples that are well within the tolerance. Weighing every sample by its error, again
//! and again (Lawson 1961), comes near to the curve whose largest error is least. Each trial drops one key, moves its
//! neighbours by a sample as long as that helps, then weighs. Only a few neighbours are free, so that the work grows
//! with the number of keys and not with its square.
//!
//! Where something lies still nothing is gained so: a curve that swings about its rest by as much as it may would be seen.

use super::keys::Keys;
use super::least_squares::LeastSquares;
use super::samples::Samples;
use super::simplify::Trial;

/// Keys that are free on either side of the one that is dropped.
const REACH: usize = 3;
/// Largest error of plain least squares, in aims, from which moving keys may still lead there.
const MOVABLE: f64 = 6.0;
/// The same for weighing alone.
const WEIGHABLE: f64 = 2.0;
/// How often all keys of a window are offered a move.
const MOVES: usize = 3;
/// How often samples are weighed, and the weight that remains of one without error.
const WEIGHINGS: usize = 8;
const REMAINS: f64 = 0.15;

/// What lies still goes by less than this part of the aim from sample to sample, so often or more.
const STILL: f64 = 0.02;
const OFTEN: usize = 3;

/// Removes keys while all samples stay within `aim`.
pub(super) fn tighten(samples: &Samples, keys: &mut Keys, solver: &mut LeastSquares, aim: f64) {
    let still = stillness(samples, STILL * aim);
    let mut trial = Trial::new(samples, solver, aim, REACH);
    let mut k = 1;
    while k + 1 < keys.keys.len() {
        trial.cut(keys, k, 1, None);
        if !trial.rests(&still) && trial.squeeze() {
            trial.paste(keys);
            // Those before, which moved, may now be free to go.
            k = k.saturating_sub(REACH).max(1);
        } else {
            k += 1;
        }
    }
}

/// How many samples before each lie still.
fn stillness(samples: &Samples, step: f64) -> Vec<usize> {
    let (mut run, mut all) = (0, 0);
    let mut before = vec![0];
    for j in 1..samples.count() {
        let (a, b) = (samples.at(j - 1).as_flattened(), samples.at(j).as_flattened());
        let far = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        run = if far <= step * step { run + 1 } else { 0 };
        all += usize::from(run >= OFTEN);
        before.push(all);
    }
    before
}

impl Trial<'_> {
    /// Whether anything in the window lies still.
    fn rests(&self, still: &[usize]) -> bool {
        match self.window.keys.as_slice() {
            [first, .., last] => still[last.sample] > still[first.sample],
            _ => false,
        }
    }

    /// Whether the window can be brought within the aim; then it is.
    fn squeeze(&mut self) -> bool {
        let limit = self.aim * self.aim;
        let mut best = self.worst_sq();
        if best <= limit {
            return true;
        }
        if best > MOVABLE * MOVABLE * limit {
            return false;
        }
        for _ in 0..MOVES {
            let before = best;
            for q in 1..self.window.keys.len() - 1 {
                for step in [-1, 1] {
                    if !self.shift(q, step) {
                        continue;
                    }
                    let found = self.worst_sq();
                    if found <= limit {
                        return true;
                    }
                    if found < best {
                        best = found;
                        break;
                    }
                    self.shift(q, -step);
                }
            }
            if best == before {
                break;
            }
        }
        best <= WEIGHABLE * WEIGHABLE * limit && self.weigh(limit)
    }

    /// Fits the window; its largest squared error.
    fn worst_sq(&mut self) -> f64 {
        self.solve();
        self.window.measure(self.samples, f64::INFINITY);
        self.window.errors_sq.iter().copied().fold(0.0, f64::max)
    }

    /// Moves key `q` by a sample, unless it has a place of its own or there is no room.
    fn shift(&mut self, q: usize, step: isize) -> bool {
        let keys = &mut self.window.keys;
        let sample = keys[q].sample.wrapping_add_signed(step);
        let free = !keys[q].corner && !keys[q].pinned;
        let fits = free && keys[q - 1].sample < sample && sample < keys[q + 1].sample;
        if fits {
            keys[q].sample = sample;
        }
        fits
    }

    /// Weighs samples by their errors until all are within the limit; whether they came to be.
    fn weigh(&mut self, limit: f64) -> bool {
        let (first, last) = match self.window.keys.as_slice() {
            [first, .., last] => (first.sample, last.sample),
            _ => return false,
        };
        let mut weights = vec![1.0; last - first];
        let mut reached = false;
        for _ in 0..WEIGHINGS {
            self.solver.weights.clone_from(&weights);
            self.solver.weighed_from = first;
            let worst = self.worst_sq();
            reached = worst <= limit;
            if reached || !worst.is_finite() {
                break;
            }
            let scale = 1.0 / worst.sqrt();
            let mut sum = 0.0;
            for k in 0..self.window.keys.len() - 1 {
                self.window.visit(self.samples, k, |j, error_sq| {
                    let weight = &mut weights[j - first];
                    *weight *= REMAINS + scale * error_sq.sqrt();
                    sum += *weight;
                });
            }
            let mean = sum / weights.len() as f64;
            weights.iter_mut().for_each(|w| *w /= mean);
        }
        self.solver.weights.clear();
        reached
    }
}
