//! Takes away keys that a fit does not need.
//!
//! Each trial looks at a few neighbouring keys only: it drops one, or replaces two by one between them, or
//! opens a corner where keys crowd and drops a neighbour, fits the keys around again with the rest of the
//! curve kept, and keeps the result if every sample stays within the aim.

use super::keys::{Key, Keys};
use super::least_squares::{End, LeastSquares};
use super::samples::Samples;
use std::ops::Range;

/// Keys kept free on either side of a change; beyond them the curve stays as it is.
const REACH: usize = 1;
/// Corners are tried only where keys are this many samples apart or less: elsewhere the motion is smooth.
const CROWDED: usize = 3;
/// Trials whose predicted error is this many times the aim are not made. Least squares spreads an error over
/// the neighbours, so predictions run high.
const OPTIMISM: f64 = 3.0;

/// Removes keys while all samples stay within `aim`.
pub(super) fn simplify(samples: &Samples, keys: &mut Keys, solver: &mut LeastSquares, aim: f64) {
    let mut trial = Trial::new(samples, solver, aim, REACH);
    let mut k = 1;
    while k + 1 < keys.keys.len() {
        let at = |k: usize| keys.keys[k].sample;
        let (here, next) = (keys.keys[k], keys.keys[k + 1]);
        let inner = k + 2 < keys.keys.len();
        let middle = Key::smooth(here.sample + (next.sample - here.sample) / 2);
        let crowd = inner && {
            let gap = at(k + 1) - at(k);
            gap <= CROWDED && (at(k) - at(k - 1)).max(at(k + 2) - at(k + 1)) > 2 * gap
        };
        let corner = |key: Key| Some(Key { corner: true, ..key });
        let removed = hopeful(samples, keys, k - 1..k + 1, at(k - 1)..at(k + 1), aim)
            && trial.replace(keys, k, 1, None)
            || inner
                && hopeful(samples, keys, k - 1..k + 2, keys.keys[k - 1].sample..middle.sample, aim)
                && hopeful(samples, keys, k - 1..k + 2, middle.sample..keys.keys[k + 2].sample, aim)
                && trial.replace(keys, k, 2, Some(middle))
            || crowd && (trial.replace(keys, k, 2, corner(here)) || trial.replace(keys, k, 2, corner(next)));
        if removed {
            // The key before may now be free to go.
            k = k.saturating_sub(1).max(1);
        } else {
            k += 1;
        }
    }
}

/// Whether one segment over samples `wide` may do for what `segments` do now: errors grow with the fourth
/// power of length where a motion is smooth.
fn hopeful(samples: &Samples, keys: &Keys, segments: Range<usize>, wide: Range<usize>, aim: f64) -> bool {
    let length = |from: usize, to: usize| samples.t[to] - samples.t[from];
    let h = length(wide.start, wide.end);
    let limit = OPTIMISM * OPTIMISM * aim * aim;
    segments.into_iter().all(|s| {
        let ratio = (h / length(keys.keys[s].sample, keys.keys[s + 1].sample)).powi(2);
        // A segment without samples inside says nothing.
        keys.keys[s + 1].sample - keys.keys[s].sample < 3
            || keys.errors_sq[s] * (ratio * ratio) * (ratio * ratio) <= limit
    })
}

/// A few keys of a fit, changed and fitted anew between neighbours that stay.
pub(super) struct Trial<'a> {
    pub samples: &'a Samples,
    pub solver: &'a mut LeastSquares,
    pub window: Keys,
    pub aim: f64,
    /// Keys that are free on either side of a change.
    reach: usize,
    /// First and last key of the fit that the window stands for.
    place: (usize, usize),
    /// What the two ends of the window do.
    ends: (End, End),
}

impl<'a> Trial<'a> {
    pub fn new(samples: &'a Samples, solver: &'a mut LeastSquares, aim: f64, reach: usize) -> Trial<'a> {
        let ends = (End::Kept, End::Kept);
        Trial { samples, solver, window: Keys::default(), aim, reach, place: (0, 0), ends }
    }

    /// Puts `with` in the place of `count` keys from `k`, if the samples around stay within the aim.
    fn replace(&mut self, keys: &mut Keys, k: usize, count: usize, with: Option<Key>) -> bool {
        self.cut(keys, k, count, with);
        self.solve();
        if !self.window.measure(self.samples, self.aim * self.aim) {
            return false;
        }
        self.paste(keys);
        true
    }

    /// Takes the window with `with` in the place of `count` keys from `k`.
    pub fn cut(&mut self, keys: &Keys, k: usize, count: usize, with: Option<Key>) {
        let size = 3 * self.samples.lanes;
        let last = keys.keys.len() - 1;
        let first = k.saturating_sub(self.reach + 1);
        let end = (k + count + self.reach).min(last);
        let w = &mut self.window;
        w.keys.clear();
        w.keys.extend_from_slice(&keys.keys[first..k]);
        w.keys.extend(with);
        w.keys.extend_from_slice(&keys.keys[k + count..=end]);
        w.numbers.clear();
        w.numbers.extend_from_slice(&keys.numbers[first * size..k * size]);
        w.numbers.resize(w.numbers.len() + if with.is_some() { size } else { 0 }, [0.0; 4]);
        w.numbers.extend_from_slice(&keys.numbers[(k + count) * size..(end + 1) * size]);
        let whole = End::of(self.samples);
        let start_end = |open| if open { whole } else { End::Kept };
        self.place = (first, end);
        self.ends = (start_end(first == 0), start_end(end == last));
    }

    /// Fits what is free of the window.
    pub fn solve(&mut self) {
        self.solver.solve(self.samples, &mut self.window, self.ends.0, self.ends.1);
    }

    /// Puts the window, which must have been measured, into the fit.
    pub fn paste(&self, keys: &mut Keys) {
        let size = 3 * self.samples.lanes;
        let ((first, end), w) = (self.place, &self.window);
        keys.keys.splice(first..=end, w.keys.iter().copied());
        keys.errors_sq.splice(first..end, w.errors_sq.iter().copied());
        keys.numbers.splice(first * size..(end + 1) * size, w.numbers.iter().copied());
    }
}
