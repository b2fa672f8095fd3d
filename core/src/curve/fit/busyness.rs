//! Where a motion is busy: how densely keys are needed, and where it has events.
//!
//! A cubic over a segment of length `h` misses a smooth motion by about `|x''''| h^4 / 384`, so equal errors
//! mean equal shares of `integral |x''''|^(1/4) dt`: that integral, from fourth differences, says where to split.
//! An event is an acceleration that stands out of its neighbours, as a collision leaves: on one sample (a
//! corner there) or on two (a corner between them).

use super::keys::Key;
use super::samples::{Lane, Samples};

/// Share of the mean density that even the calmest place has, so that every stretch can be divided.
const CALM: f64 = 0.02;
/// An event's acceleration stands out of the change among its neighbours by this factor. A smooth motion of
/// eight samples a period stays below three.
const STANDS_OUT: f64 = 6.0;

pub(super) struct Busyness {
    /// Integral of the density up to each sample.
    share: Vec<f64>,
    /// Second derivative at each sample; the ends repeat their neighbours.
    acceleration: Vec<Lane>,
}

impl Busyness {
    pub fn of(samples: &Samples) -> Busyness {
        let n = samples.count();
        let lanes = samples.lanes;
        let acceleration = second_derivative(&samples.x, &samples.t, lanes);
        let fourth = second_derivative(&acceleration, &samples.t, lanes);
        let density = |j: usize| {
            let squared: f64 = fourth[j * lanes..(j + 1) * lanes].as_flattened().iter().map(|x| x * x).sum();
            // The fourth root of the length.
            squared.sqrt().sqrt().sqrt()
        };
        let mut share = Vec::with_capacity(n);
        let (mut sum, mut before) = (0.0, density(0));
        share.push(0.0);
        for j in 1..n {
            let here = density(j);
            sum += 0.5 * (before + here) * (samples.t[j] - samples.t[j - 1]);
            before = here;
            share.push(sum);
        }
        let calm = if sum > 0.0 && sum.is_finite() { CALM * sum / samples.t[n - 1] } else { 1.0 };
        for (share, t) in share.iter_mut().zip(&samples.t) {
            *share = if sum.is_finite() { *share } else { 0.0 } + calm * t;
        }
        Busyness { share, acceleration }
    }

    /// The sample, strictly between two others, before which the stretch has the given part of its busyness.
    /// There must be a sample between.
    pub fn divide(&self, first: usize, last: usize, part: f64) -> usize {
        let goal = self.share[first] + part * (self.share[last] - self.share[first]);
        let after = first + self.share[first..last].partition_point(|&s| s < goal);
        let nearer = if after > first && goal - self.share[after - 1] < self.share[after] - goal {
            after - 1
        } else {
            after
        };
        nearer.clamp(first + 1, last - 1)
    }

    /// Keys where the motion has events: a corner on a sample, or a smooth pair around a corner between two.
    pub fn events(&self, samples: &Samples, tolerance: f64) -> Vec<Key> {
        let n = samples.count();
        let lanes = samples.lanes;
        // Squared change of acceleration from each sample to the next.
        let jerk: Vec<f64> = (1..n)
            .map(|j| {
                let (a, b) = self.acceleration[(j - 1) * lanes..(j + 1) * lanes].split_at(lanes);
                distance_sq(a, b)
            })
            .collect();
        // The path is off its tangent by about half the acceleration after one period.
        let small = 4.0 * tolerance * tolerance;
        let stands_out =
            |change: f64, around: f64| change > small && change > STANDS_OUT * STANDS_OUT * around;
        let mut events = Vec::new();
        let mut j = 3;
        while j + 4 < n {
            let before = jerk[j - 2];
            if stands_out(jerk[j - 1].min(jerk[j]), before.max(jerk[j + 1])) {
                events.push(Key { sample: j, corner: true, pinned: false });
                j += 3;
            } else if stands_out(jerk[j - 1].min(jerk[j + 1]), before.max(jerk[j + 2])) {
                events.extend([Key::smooth(j), Key::smooth(j + 1)]);
                j += 4;
            } else {
                j += 1;
            }
        }
        events
    }
}

fn second_derivative(x: &[Lane], t: &[f64], lanes: usize) -> Vec<Lane> {
    let n = t.len();
    let mut out = vec![[0.0; 4]; x.len()];
    if n < 3 {
        return out;
    }
    for j in 1..n - 1 {
        let (h0, h1) = (t[j] - t[j - 1], t[j + 1] - t[j]);
        let (w0, w1) = (2.0 / (h0 * (h0 + h1)), 2.0 / (h1 * (h0 + h1)));
        for lane in 0..lanes {
            let (a, b, c) = (&x[(j - 1) * lanes + lane], &x[j * lanes + lane], &x[(j + 1) * lanes + lane]);
            for i in 0..4 {
                out[j * lanes + lane][i] = w1 * (c[i] - b[i]) - w0 * (b[i] - a[i]);
            }
        }
    }
    out.copy_within(lanes..2 * lanes, 0);
    out.copy_within((n - 2) * lanes..(n - 1) * lanes, (n - 1) * lanes);
    out
}

fn distance_sq(a: &[Lane], b: &[Lane]) -> f64 {
    let squared = |(a, b): (&f64, &f64)| (a - b) * (a - b);
    a.as_flattened().iter().zip(b.as_flattened()).map(squared).sum::<f64>()
}
