//! Adds keys until a fit is within its aim, and spreads them evenly over the work.

use super::busyness::Busyness;
use super::keys::{Key, Keys};
use super::least_squares::{End, LeastSquares};
use super::samples::Samples;

/// A segment is cut into at most this many at once: one that is far off says little about how many it needs.
const MOST_PIECES: usize = 3;
/// Keys closer than this many samples to a neighbour mark an event and are not moved.
const EVENT: usize = 2;
/// How often keys are placed anew, each time with the errors of the last placing.
const PLACINGS: usize = 2;
/// Spare keys when spreading: errors differ a little from what their neighbours promise.
const SPARE: f64 = 1.04;

impl Keys {
    /// Fits the whole curve and measures every segment.
    pub fn solve(&mut self, samples: &Samples, solver: &mut LeastSquares) {
        self.numbers.clear();
        self.numbers.resize(3 * samples.lanes * self.keys.len(), [0.0; 4]);
        solver.solve(samples, self, End::of(samples), End::of(samples));
        self.measure(samples, f64::INFINITY);
    }
}

/// Solves, and splits segments where they are busy, until every one is within `aim`. It ends: each round adds keys or
/// pins one to its sample.
pub(super) fn grow(
    samples: &Samples,
    keys: &mut Keys,
    solver: &mut LeastSquares,
    busyness: &Busyness,
    aim: f64,
) {
    let mut next = Vec::new();
    loop {
        keys.solve(samples, solver);
        next.clear();
        let mut changed = false;
        for k in 0..keys.keys.len() - 1 {
            let (key, last) = (keys.keys[k], keys.keys[k + 1].sample);
            next.push(key);
            let error = keys.errors_sq[k].sqrt();
            if error <= aim {
                continue;
            }
            if last - key.sample == 1 {
                // Nothing left to split: the key itself is off its sample.
                changed |= !key.pinned && k > 0;
                if let Some(key) = next.last_mut() {
                    key.pinned = true;
                }
                continue;
            }
            changed = true;
            let pieces = pieces(error / aim).clamp(2, MOST_PIECES);
            for piece in 1..pieces {
                let sample = busyness.divide(key.sample, last, piece as f64 / pieces as f64);
                if next.last().is_none_or(|before| before.sample < sample) {
                    next.push(Key::smooth(sample));
                }
            }
        }
        next.extend(keys.keys.last().copied());
        if !changed {
            return;
        }
        std::mem::swap(&mut keys.keys, &mut next);
    }
}

/// How many pieces bring an error down by this ratio: it falls with the fourth power of the length.
fn pieces(ratio: f64) -> usize {
    ratio.sqrt().sqrt() as usize
}

/// Halving leaves segments up to sixteen times better than asked. Keys of smooth stretches are placed anew, as
/// few as their errors promise and with equal shares of the work, if that saves keys.
pub(super) fn spread(
    samples: &Samples,
    keys: &mut Keys,
    solver: &mut LeastSquares,
    busyness: &Busyness,
    aim: f64,
) {
    let mut trial = placed(keys, busyness, aim);
    for _ in 0..PLACINGS {
        if trial.keys.len() >= keys.keys.len() {
            return;
        }
        trial.solve(samples, solver);
        if trial.errors_sq.iter().all(|&e| e <= aim * aim) {
            break;
        }
        trial = placed(&trial, busyness, aim);
    }
    grow(samples, &mut trial, solver, busyness, aim);
    if trial.keys.len() < keys.keys.len() {
        *keys = trial;
    }
}

/// The keys that stay, with new ones between them.
fn placed(keys: &Keys, busyness: &Busyness, aim: f64) -> Keys {
    let mut out = vec![keys.keys[0]];
    let last = keys.keys.len() - 1;
    let mut from = 0;
    while from < last {
        let to = (from + 1..last).find(|&k| stays(keys, k)).unwrap_or(last);
        place(keys, from, to, busyness, aim, &mut out);
        out.push(keys.keys[to]);
        from = to;
    }
    Keys { keys: out, ..Keys::default() }
}

fn stays(keys: &Keys, k: usize) -> bool {
    let at = |k: usize| keys.keys[k].sample;
    let key = keys.keys[k];
    key.corner || key.pinned || at(k) - at(k - 1) <= EVENT || at(k + 1) - at(k) <= EVENT
}

/// Pushes the keys between two that stay.
fn place(keys: &Keys, from: usize, to: usize, busyness: &Busyness, aim: f64, out: &mut Vec<Key>) {
    // How many segments the work of each one is worth.
    let work = |k: usize| (keys.errors_sq[k].sqrt() / aim).sqrt().sqrt();
    let total: f64 = (from..to).map(work).sum();
    // An infinite error asks for more pieces than there are samples.
    let most = keys.keys[to].sample - keys.keys[from].sample;
    let pieces = ((total * SPARE).ceil() as usize).clamp(1, most);
    let (mut k, mut done) = (from, 0.0);
    for piece in 1..pieces {
        let goal = total * piece as f64 / pieces as f64;
        while k + 1 < to && done + work(k) < goal {
            done += work(k);
            k += 1;
        }
        let (first, last) = (keys.keys[k].sample, keys.keys[k + 1].sample);
        let part = (goal - done) / work(k);
        let sample = if last - first > 1 { busyness.divide(first, last, part) } else { last };
        let free = sample < keys.keys[to].sample;
        if free && out.last().is_none_or(|before| before.sample < sample) {
            out.push(Key::smooth(sample));
        }
    }
}
