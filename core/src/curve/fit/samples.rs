//! The samples to fit, laid out for the arithmetic: four numbers to a lane, time in mean sample periods.
//!
//! A width that is no multiple of four is padded with zeros, which fit themselves. Time counts from the first
//! sample in mean periods, so that tangents have the size of differences between samples and the normal
//! equations are well scaled whatever the frame rate.

use super::super::{CurveError, Kind, make_continuous};

/// Two ends of a cycle of rotations meet when the cosine of half the angle between them is this near to 1: half an f32.
const MEET: f64 = 3e-8;

/// Four components at once.
pub(super) type Lane = [f64; 4];

/// Samples of one channel.
pub(super) struct Samples {
    pub kind: Kind,
    /// Numbers per sample.
    pub width: usize,
    /// Lanes per sample.
    pub lanes: usize,
    /// Lanes of every sample in turn.
    pub x: Vec<Lane>,
    /// Time of each sample in mean periods after the first.
    pub t: Vec<f64>,
    /// The same for the time as it will be stored.
    pub stored_t: Vec<f64>,
    /// Mean sample period (s).
    pub period_s: f64,
    /// Whether numbers will be stored as f32.
    pub single: bool,
    /// Of a cycle, the tangents (per period) at its two ends.
    pub seam: Option<[Vec<Lane>; 2]>,
    /// Halfway from each sample to the next, where the motion is likely to be: the cubic through four samples.
    pub middles: Vec<Lane>,
    /// How far from there a curve may be beyond the tolerance: samples say no more about what is between them.
    pub doubts: Vec<f64>,
}

/// What samples leave open halfway between two of them, in parts of `|a - b - c + d|` of the four around. A straight line
/// is off the cubic through them by 1/16 of that.
const DOUBT: f64 = 0.1;

impl Samples {
    /// Checks and lays out the samples; quaternions are made unit and kept in one hemisphere.
    pub fn new(
        kind: Kind,
        width: usize,
        times: &[f64],
        values: &[f64],
        single: bool,
    ) -> Result<Samples, CurveError> {
        check(kind, width, times, values, single)?;
        let n = times.len();
        let lanes = width.div_ceil(4).max(1);
        let mut x = vec![[0.0; 4]; n * lanes];
        if width > 0 {
            for (sample, lane) in values.chunks_exact(width).zip(x.chunks_exact_mut(lanes)) {
                lane.as_flattened_mut()[..width].copy_from_slice(sample);
            }
        }
        if kind == Kind::Rotation {
            for (sample, lane) in x.iter_mut().enumerate() {
                if !super::super::normalise(lane) {
                    return Err(CurveError::ZeroQuaternion { key: sample });
                }
            }
            make_continuous(x.as_flattened_mut());
        }
        let (start, span_s) = (times[0], times[n - 1] - times[0]);
        let period_s = if n > 1 { span_s / (n - 1) as f64 } else { 1.0 };
        let t = times.iter().map(|t| (t - start) / period_s).collect();
        let stored_t = times.iter().map(|&t| (store(t, single) - start) / period_s).collect();
        let (middles, doubts) = (Vec::new(), Vec::new());
        let mut samples =
            Samples { kind, width, lanes, x, t, stored_t, period_s, single, seam: None, middles, doubts };
        samples.look_between();
        Ok(samples)
    }

    /// Guesses what is between samples. At the ends three of them must do.
    fn look_between(&mut self) {
        let (n, lanes) = (self.count(), self.lanes);
        self.middles.reserve((n - 1) * lanes);
        for j in 0..n - 1 {
            let (first, last) = (j.saturating_sub(1), (j + 2).min(n - 1));
            let mut doubt_sq = 0.0;
            for lane in 0..lanes {
                let at = |sample: usize, i: usize| self.x[sample * lanes + lane][i];
                let mut middle: Lane = std::array::from_fn(|i| {
                    let (inner, outer) = (at(j, i) + at(j + 1, i), at(first, i) + at(last, i));
                    doubt_sq += (outer - inner) * (outer - inner);
                    0.5 * inner + (inner - outer) / 16.0
                });
                if self.kind == Kind::Rotation {
                    super::super::normalise(&mut middle);
                }
                self.middles.push(middle);
            }
            // Twice the length of a difference of quaternions is an angle.
            let scale = if self.kind == Kind::Rotation { 2.0 } else { 1.0 };
            self.doubts.push(scale * DOUBT * doubt_sq.sqrt());
        }
    }

    /// Gives both ends of a cycle the tangent of the polynomial through the two samples on either side of the seam,
    /// which is exact to the fourth order. Nothing happens where the ends do not meet, or there is no inside.
    pub fn tie_ends(&mut self) {
        let n = self.count() - 1;
        let reach = if n >= 4 { 2 } else { 1 };
        if n < 2 {
            return;
        }
        // A cycle of rotations may come back with the other sign.
        let dot: f64 = self.x[0].iter().zip(&self.x[n * self.lanes]).map(|(a, b)| a * b).sum();
        let sign = if self.kind == Kind::Rotation { dot.signum() } else { 1.0 };
        if self.kind == Kind::Rotation && dot.abs() < 1.0 - MEET {
            return;
        }
        // Sample, time from the seam, and the end that it is compared with.
        let around = |k: usize| [(n - k, self.t[n - k] - self.t[n], n), (k, self.t[k], 0)];
        let points: Vec<(usize, f64, usize)> = (1..=reach).flat_map(around).collect();
        let mut tangent = vec![[0.0; 4]; self.lanes];
        for (j, &(sample, t, end)) in points.iter().enumerate() {
            // Derivative at 0 of Lagrange's polynomial that is 1 at t and 0 at 0 and the other points.
            let others = points.iter().enumerate().filter(|(m, _)| *m != j);
            let weight = others.map(|(_, p)| p.1 / (p.1 - t)).product::<f64>() / t;
            let weight = if end == n { sign * weight } else { weight };
            let lanes = self.at(sample).iter().zip(self.at(end));
            for (tangent, (x, own)) in tangent.iter_mut().zip(lanes) {
                for i in 0..4 {
                    tangent[i] += weight * (x[i] - own[i]);
                }
            }
        }
        let at_end = tangent.iter().map(|lane| lane.map(|c| c * sign)).collect();
        self.seam = Some([tangent, at_end]);
    }

    /// How many samples.
    pub fn count(&self) -> usize {
        self.t.len()
    }

    /// The lanes of one sample.
    pub fn at(&self, sample: usize) -> &[Lane] {
        &self.x[sample * self.lanes..(sample + 1) * self.lanes]
    }

    /// A value as it will be read back.
    pub fn store(&self, value: f64) -> f64 {
        store(value, self.single)
    }

    /// A tangent per period as it will be read back: it is stored per second.
    pub fn store_tangent(&self, tangent: f64) -> f64 {
        if self.single { store(tangent / self.period_s, true) * self.period_s } else { tangent }
    }
}

/// A number as it will be read back.
pub(super) fn store(value: f64, single: bool) -> f64 {
    if single { f64::from(value as f32) } else { value }
}

fn check(kind: Kind, width: usize, times: &[f64], values: &[f64], single: bool) -> Result<(), CurveError> {
    if times.is_empty() {
        return Err(CurveError::Empty);
    }
    if kind == Kind::Rotation && width != 4 {
        return Err(CurveError::Length { what: "a rotation sample", found: width, expected: 4 });
    }
    let expected = times.len() * width;
    if values.len() != expected {
        return Err(CurveError::Length { what: "the sample array", found: values.len(), expected });
    }
    if let Some(sample) = times.iter().position(|&t| !store(t, single).is_finite()) {
        return Err(CurveError::Sample { what: "a time", sample });
    }
    if let Some(at) = values.iter().position(|&v| !store(v, single).is_finite()) {
        return Err(CurveError::Sample { what: "a value", sample: at / width });
    }
    // Times must also differ as they will be stored.
    match (1..times.len()).find(|&k| store(times[k], single) <= store(times[k - 1], single)) {
        Some(key) => Err(CurveError::Order { key, time: times[key] }),
        None if (times[times.len() - 1] - times[0]).is_finite() => Ok(()),
        None => Err(CurveError::Sample { what: "a time", sample: times.len() - 1 }),
    }
}
