//! Key values and tangents that come nearest to the samples.
//!
//! Minimises `sum |p(t_j) - x_j|^2 + S integral |p''|^2 dt` over the free values and tangents of a row of keys,
//! `p` being the cubic Hermite segments between them. The unknowns of a key (arriving tangent, value, leaving
//! tangent; a smooth key has one tangent) stand side by side, so a segment couples at most four neighbours
//! and the normal equations have three sub-diagonals: one banded Cholesky sweep, the same for every component.
//!
//! It cannot fail on finite samples: the bending term makes the matrix definite where samples do not.

use super::super::Kind;
use super::keys::Keys;
use super::samples::{Lane, Samples};

/// Weight of bending against squared error, time in sample periods. It decides what samples leave open (a
/// segment without samples inside) and keeps curves from swinging between samples; it is so small that a
/// smooth motion is pulled off its samples by 1e-5 of its fourth difference only.
const BENDING: f64 = 1e-5;

/// How many segments' sums are kept: more than a typical fit has keys, little enough to stay in cache.
const KEPT: usize = 127;

/// What a row of keys does at its two ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// An end of the whole curve: through the sample, with any tangent.
    Open,
    /// An end of a cycle: through the sample, with the tangent of the seam.
    Tied,
    /// A key that the rest of the curve also uses: it stays, and so does its tangent unless it is a corner.
    Kept,
}

impl End {
    /// What the ends of the whole curve do.
    pub fn of(samples: &Samples) -> End {
        if samples.seam.is_some() { End::Tied } else { End::Open }
    }
}

/// Buffers of the solver.
#[derive(Default)]
pub(super) struct LeastSquares {
    /// Row i of the lower triangle: columns i-3 to i.
    band: Vec<[f64; 4]>,
    right: Vec<Lane>,
    /// Unknown of the arriving tangent, the value and the leaving tangent of each key.
    unknowns: Vec<[Option<usize>; 3]>,
    /// First and last sample of the segment whose sums are kept in each place.
    kept: Vec<(usize, usize)>,
    grams: Vec<[[f64; 4]; 4]>,
    rights: Vec<Lane>,
    /// How much each sample counts, from the one with the number `weighed_from` on; empty where all count the same.
    pub weights: Vec<f64>,
    pub weighed_from: usize,
}

impl LeastSquares {
    /// Fits the free numbers of `keys`, leaving those that are kept as they are.
    pub fn solve(&mut self, samples: &Samples, keys: &mut Keys, start: End, end: End) {
        let lanes = samples.lanes;
        let count = self.number(samples, keys, start, end);
        self.band.clear();
        self.band.resize(count, [0.0; 4]);
        self.right.clear();
        self.right.resize(count * lanes, [0.0; 4]);
        for k in 0..keys.keys.len() - 1 {
            self.add_segment(samples, keys, k);
        }
        self.factor_and_substitute(lanes);
        for (k, slots) in self.unknowns.iter().enumerate() {
            for (slot, place) in [(0, 1), (1, 0), (2, 2)] {
                if let Some(i) = slots[slot] {
                    let to = (3 * k + place) * lanes;
                    keys.numbers[to..to + lanes].copy_from_slice(&self.right[i * lanes..(i + 1) * lanes]);
                }
            }
            if samples.kind == Kind::Rotation && slots[1].is_some() {
                make_unit(&mut keys.numbers[3 * k..3 * k + 3]);
            }
        }
    }

    /// Numbers the unknowns, and puts samples where values are given.
    fn number(&mut self, samples: &Samples, keys: &mut Keys, start: End, end: End) -> usize {
        let lanes = samples.lanes;
        let last = keys.keys.len() - 1;
        let mut count = 0;
        let mut next = || {
            count += 1;
            Some(count - 1)
        };
        self.unknowns.clear();
        for (k, key) in keys.keys.iter().enumerate() {
            let border = match k {
                0 => Some(start),
                k if k == last => Some(end),
                _ => None,
            };
            if matches!(border, Some(End::Open | End::Tied)) || (border.is_none() && key.pinned) {
                let to = 3 * k * lanes;
                keys.numbers[to..to + lanes].copy_from_slice(samples.at(key.sample));
            }
            if let (Some(End::Tied), Some(seam)) = (border, &samples.seam) {
                let tangent = &seam[usize::from(k == last)];
                let to = (3 * k + 1) * lanes;
                keys.numbers[to..to + lanes].copy_from_slice(tangent);
                keys.numbers[to + lanes..to + 2 * lanes].copy_from_slice(tangent);
            }
            self.unknowns.push(match border {
                Some(End::Open) if k == 0 => [None, None, next()],
                Some(End::Open) => [next(), None, None],
                Some(End::Tied) => [None; 3],
                Some(End::Kept) if !key.corner => [None; 3],
                Some(End::Kept) if k == 0 => [None, None, next()],
                Some(End::Kept) => [next(), None, None],
                None => {
                    let value =
                        |next: &mut dyn FnMut() -> Option<usize>| if key.pinned { None } else { next() };
                    if key.corner {
                        [next(), value(&mut next), next()]
                    } else {
                        let value = value(&mut next);
                        let tangent = next();
                        [tangent, value, tangent]
                    }
                }
            });
        }
        count
    }

    fn add_segment(&mut self, samples: &Samples, keys: &Keys, k: usize) {
        let lanes = samples.lanes;
        let slot = self.sums(samples, keys.keys[k].sample, keys.keys[k + 1].sample);
        let gram = self.grams[slot];
        // Value and tangent at the start, value and tangent at the end.
        let unknown =
            [self.unknowns[k][1], self.unknowns[k][2], self.unknowns[k + 1][1], self.unknowns[k + 1][0]];
        for (r, row) in unknown.into_iter().enumerate() {
            let Some(row) = row else { continue };
            for lane in 0..lanes {
                let mut right = self.rights[(slot * 4 + r) * lanes + lane];
                let given = [
                    keys.value(k, lanes)[lane],
                    keys.leaving(k, lanes)[lane],
                    keys.value(k + 1, lanes)[lane],
                    keys.arriving(k + 1, lanes)[lane],
                ];
                for c in 0..4 {
                    if unknown[c].is_none() {
                        for i in 0..4 {
                            right[i] -= gram[r][c] * given[c][i];
                        }
                    }
                }
                for (to, from) in self.right[row * lanes + lane].iter_mut().zip(right) {
                    *to += from;
                }
            }
            for (c, column) in unknown.into_iter().enumerate() {
                if let Some(column) = column
                    && row >= column
                {
                    self.band[row][3 + column - row] += gram[r][c];
                }
            }
        }
    }

    /// The place of a segment's sums: products of its basis functions with each other and with the samples.
    /// They depend on the samples alone, and most segments are asked for again and again.
    fn sums(&mut self, samples: &Samples, first: usize, last: usize) -> usize {
        let lanes = samples.lanes;
        if self.kept.is_empty() {
            self.kept.resize(KEPT, (0, 0));
            self.grams.resize(KEPT, [[0.0; 4]; 4]);
            self.rights.resize(KEPT * 4 * lanes, [0.0; 4]);
        }
        let slot = (first * 5 + last) % KEPT;
        if self.weights.is_empty() && self.kept[slot] == (first, last) {
            return slot;
        }
        // What is weighed is asked for once.
        self.kept[slot] = if self.weights.is_empty() { (first, last) } else { (0, 0) };
        let start = samples.t[first];
        let h = samples.t[last] - start;
        let inverse_h = 1.0 / h;
        let mut gram = bending(h);
        for lane in 0..lanes {
            let mut right = [[0.0; 4]; 4];
            let mut sum = [[0.0; 4]; 4];
            for j in first..last {
                let u = (samples.t[j] - start) * inverse_h;
                let v = 1.0 - u;
                let b = [v * v * (1.0 + 2.0 * u), h * u * v * v, u * u * (1.0 + 2.0 * v), -h * u * u * v];
                let x = &samples.x[j * lanes + lane];
                let weight = self.weights.get(j - self.weighed_from.min(j)).copied().unwrap_or(1.0);
                for r in 0..4 {
                    let b_r = weight * b[r];
                    for c in 0..4 {
                        right[r][c] += b_r * x[c];
                        sum[r][c] += b_r * b[c];
                    }
                }
            }
            for r in 0..4 {
                self.rights[(slot * 4 + r) * lanes + lane] = right[r];
                for c in 0..4 {
                    gram[r][c] += if lane == 0 { sum[r][c] } else { 0.0 };
                }
            }
        }
        self.grams[slot] = gram;
        slot
    }

    /// Cholesky `L L^T` in the band, then both substitutions into the right side. The diagonal holds `1 / L_ii`.
    fn factor_and_substitute(&mut self, lanes: usize) {
        let n = self.band.len();
        for i in 0..n {
            for j in i.saturating_sub(3)..=i {
                let mut sum = self.band[i][3 + j - i];
                for m in i.saturating_sub(3).max(j.saturating_sub(3))..j {
                    sum -= self.band[i][3 + m - i] * self.band[j][3 + m - j];
                }
                self.band[i][3 + j - i] =
                    if i == j { 1.0 / sum.max(f64::MIN_POSITIVE).sqrt() } else { sum * self.band[j][3] };
            }
            for j in i.saturating_sub(3)..i {
                self.subtract(i, j, self.band[i][3 + j - i], lanes);
            }
            self.scale(i, self.band[i][3], lanes);
        }
        for i in (0..n).rev() {
            for j in i + 1..n.min(i + 4) {
                self.subtract(i, j, self.band[j][3 + i - j], lanes);
            }
            self.scale(i, self.band[i][3], lanes);
        }
    }

    #[inline]
    fn subtract(&mut self, i: usize, j: usize, factor: f64, lanes: usize) {
        for lane in 0..lanes {
            let from = self.right[j * lanes + lane];
            for (to, from) in self.right[i * lanes + lane].iter_mut().zip(from) {
                *to -= factor * from;
            }
        }
    }

    #[inline]
    fn scale(&mut self, i: usize, factor: f64, lanes: usize) {
        self.right[i * lanes..(i + 1) * lanes].as_flattened_mut().iter_mut().for_each(|x| *x *= factor);
    }
}

/// The matrix of `BENDING` times the integral of the squared second derivative of a segment of length `h`.
fn bending(h: f64) -> [[f64; 4]; 4] {
    let (a, b, c) = (BENDING * 12.0 / (h * h * h), BENDING * 6.0 / (h * h), BENDING * 2.0 / h);
    [[a, b, -a, b], [b, 2.0 * c, -b, c], [-a, -b, a, -b], [b, c, -b, 2.0 * c]]
}

/// Brings a key's quaternion to unit length, and its tangents along.
fn make_unit(numbers: &mut [Lane]) {
    let length = numbers[0].iter().map(|c| c * c).sum::<f64>().sqrt();
    if length > super::super::ZERO_QUATERNION {
        numbers.as_flattened_mut().iter_mut().for_each(|x| *x /= length);
    }
}
