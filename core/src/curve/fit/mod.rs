//! Few cubic keys out of many samples: a baked motion becomes curves that an animator can edit.
//!
//! Keys lie on sample times. Values and tangents are the least-squares fit to all samples at once, smooth (one
//! tangent per key) except at corners. Segments that miss their samples by more than the tolerance are split
//! where the motion is busy, until none does; then keys that turn out not to be needed are taken away, and those
//! around them move and weigh their samples so that more can go. Halfway between samples the curve stays near the cubic
//! through the four around, as far as these can tell: it does not swing.
//! The first and the last sample are met exactly. A constant becomes one key, a straight line two; in the
//! worst case (noise) every sample becomes a key.
//!
//! The error is measured on the numbers as they will be stored (f32 in glTF): the Euclidean distance for
//! vectors, the angle (rad) for rotations. It exceeds the tolerance only where f32 cannot hold the samples
//! themselves that closely; [`Fit::max_error`] always tells the truth. Fails on samples that are not finite,
//! not in order (as stored), or quaternions of length zero; the error names the sample.

mod busyness;
mod grow;
mod keys;
mod least_squares;
mod samples;
mod simplify;
mod straight;
mod tighten;

pub use straight::{fit_straight, straight_error};

use super::{Curve, CurveError, Kind, Segments};
use crate::rotation;
use busyness::Busyness;
use glam::DQuat;
use keys::{Key, Keys};
use least_squares::LeastSquares;
use samples::{Samples, store};

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Largest error at any sample: distance in the samples' unit, or angle (rad) for rotations. At least zero.
    pub tolerance: f64,
    /// Keys are rounded to what an f32 holds, and the error is measured on them. Default true, for glTF;
    /// false for hosts and formats that keep doubles.
    pub single: bool,
    /// The samples are one turn of a cycle: the last is the first again (plus what a vector travels in a turn), and
    /// the two ends get the same tangent, so that the curve can be played over and over without a jerk. A
    /// rotation whose last sample is not its first is fitted as any other. Default false.
    pub cyclic: bool,
}

impl FitOptions {
    /// Fits within `tolerance`, for storage as f32.
    pub fn new(tolerance: f64) -> FitOptions {
        FitOptions { tolerance, single: true, cyclic: false }
    }
}

/// Keys that stand for samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The cubic curve.
    pub curve: Curve,
    /// Largest error at any sample, as the curve will be stored: distance, or angle (rad).
    pub max_error: f64,
    /// For each key, the sample it lies on.
    pub samples: Vec<usize>,
}

/// [`fit_with`] for storage as f32: `width` numbers per time in `samples`, within `tolerance`.
pub fn fit(
    kind: Kind,
    width: usize,
    times: &[f64],
    samples: &[f64],
    tolerance: f64,
) -> Result<Fit, CurveError> {
    fit_with(kind, width, times, samples, &FitOptions::new(tolerance))
}

/// Few cubic keys that pass within a tolerance of every sample.
pub fn fit_with(
    kind: Kind,
    width: usize,
    times: &[f64],
    samples: &[f64],
    options: &FitOptions,
) -> Result<Fit, CurveError> {
    fit_bent(kind, width, times, samples, &[], options)
}

/// [`fit_with`] for what is known to bend at some of its samples (indices in order): keys there may be corners, and
/// bends are not looked for elsewhere. Without any they are.
pub fn fit_bent(
    kind: Kind,
    width: usize,
    times: &[f64],
    samples: &[f64],
    bends: &[usize],
    options: &FitOptions,
) -> Result<Fit, CurveError> {
    let tolerance = options.tolerance;
    if tolerance.is_nan() || tolerance < 0.0 {
        return Err(CurveError::Tolerance { tolerance });
    }
    let mut laid_out = Samples::new(kind, width, times, samples, options.single)?;
    if options.cyclic {
        laid_out.tie_ends();
    }
    let fitting = Fitting { times, given: samples, samples: &laid_out, bends, tolerance };
    if let Some(fit) = fitting.constant()? {
        return Ok(fit);
    }
    fitting.refined()
}

/// One channel being fitted.
struct Fitting<'a> {
    times: &'a [f64],
    given: &'a [f64],
    samples: &'a Samples,
    bends: &'a [usize],
    tolerance: f64,
}

/// Part of the tolerance aimed at: the last rounding (unit quaternions, times) may add a little to an error.
const MARGIN: f64 = 0.998;
/// Should that be too little, each of this many attempts aims a tenth lower.
const ATTEMPTS: usize = 6;

/// Share of its samples that noise needs. Cubics that skip a sample here and there would swing between the others, to
/// save little: every sample becomes a key then.
const NOISE: f64 = 2.0 / 3.0;
/// The same from which no more is tried.
const HOPELESS: f64 = 0.85;

/// Whether there are more keys than this share of the samples.
fn needs(samples: &Samples, keys: &Keys, share: f64) -> bool {
    keys.keys.len() as f64 > share * samples.count() as f64
}

impl Fitting<'_> {
    /// One key, if that is enough.
    fn constant(&self) -> Result<Option<Fit>, CurveError> {
        let s = self.samples;
        let zero = vec![[0.0; 4]; 3 * s.lanes];
        let mut keys = Keys { keys: vec![Key::smooth(0)], numbers: zero, ..Keys::default() };
        keys.numbers[..s.lanes].copy_from_slice(s.at(0));
        // Cheap first: most channels move.
        let far = |j: usize| {
            let (a, b) = (s.at(j).as_flattened(), s.at(0).as_flattened());
            a.iter().zip(b).any(|(a, b)| (a - b).abs() > self.tolerance)
        };
        if s.kind == Kind::Vector && (0..s.count()).any(far) {
            return Ok(None);
        }
        let fit = self.finish(&keys)?;
        Ok((fit.max_error <= self.tolerance || s.count() == 1).then_some(fit))
    }

    fn refined(&self) -> Result<Fit, CurveError> {
        let s = self.samples;
        let n = s.count();
        let mut solver = LeastSquares::default();
        let mut aim = MARGIN * self.tolerance;
        let mut keys = Keys { keys: vec![Key::smooth(0), Key::smooth(n - 1)], ..Keys::default() };
        keys.solve(s, &mut solver);
        if keys.errors_sq[0] > aim * aim {
            let busyness = Busyness::of(s);
            let corner = |&sample: &usize| Key { sample, corner: true, pinned: false };
            let events = match self.bends {
                [] => busyness.events(s, aim),
                bends => bends.iter().filter(|&&b| b > 0 && b < n - 1).map(corner).collect(),
            };
            keys.keys.splice(1..1, events);
            for _ in 0..ATTEMPTS {
                grow::grow(s, &mut keys, &mut solver, &busyness, aim);
                grow::spread(s, &mut keys, &mut solver, &busyness, aim);
                simplify::simplify(s, &mut keys, &mut solver, aim);
                if needs(s, &keys, HOPELESS) {
                    break;
                }
                tighten::tighten(s, &mut keys, &mut solver, aim);
                if needs(s, &keys, NOISE) {
                    break;
                }
                if let Ok(fit) = self.finish(&keys)
                    && fit.max_error <= self.tolerance
                {
                    return Ok(fit);
                }
                aim *= 0.9;
            }
            keys = self.every_sample();
        }
        self.finish(&keys)
    }

    /// Every sample a key, with the tangents of the parabola through it and its neighbours.
    fn every_sample(&self) -> Keys {
        let s = self.samples;
        let (n, lanes) = (s.count(), s.lanes);
        let mut keys = Keys {
            keys: (0..n).map(Key::smooth).collect(),
            numbers: Vec::with_capacity(3 * n * lanes),
            ..Keys::default()
        };
        for k in 0..n {
            keys.numbers.extend_from_slice(s.at(k));
            let (a, b) = (k.saturating_sub(1), (k + 1).min(n - 1));
            let h = s.t[b] - s.t[a];
            let middle = if a < k && k < b { (s.t[b] - s.t[k]) / h } else { 0.5 };
            for _ in 0..2 {
                for lane in 0..lanes {
                    let (xa, x, xb) = (s.at(a)[lane], s.at(k)[lane], s.at(b)[lane]);
                    let slope = |i: usize| {
                        let before = if a < k { (x[i] - xa[i]) / (s.t[k] - s.t[a]) } else { 0.0 };
                        let after = if k < b { (xb[i] - x[i]) / (s.t[b] - s.t[k]) } else { 0.0 };
                        let one_sided = if a == k || b == k { 2.0 } else { 1.0 };
                        one_sided * (middle * before + (1.0 - middle) * after)
                    };
                    keys.numbers.push([slope(0), slope(1), slope(2), slope(3)]);
                }
            }
        }
        if let Some([first, last]) = &s.seam {
            keys.numbers[2 * lanes..3 * lanes].copy_from_slice(first);
            let arriving = (3 * (n - 1) + 1) * lanes;
            keys.numbers[arriving..arriving + lanes].copy_from_slice(last);
        }
        keys
    }

    /// The curve of the keys, and its error as it will be stored.
    fn finish(&self, keys: &Keys) -> Result<Fit, CurveError> {
        let s = self.samples;
        let (n, lanes, w) = (keys.keys.len(), s.lanes, s.width);
        // Tangents beyond what can be stored are of no use to anyone; the error will tell.
        let limit = if s.single { f64::from(f32::MAX) } else { f64::MAX };
        let per_second = |m: f64| {
            let m = store((m / s.period_s).clamp(-limit, limit), s.single);
            if m.is_nan() { 0.0 } else { m }
        };
        let (mut values, mut arriving, mut leaving) =
            (Vec::with_capacity(n * w), Vec::with_capacity(n * w), Vec::with_capacity(n * w));
        for k in 0..n {
            values.extend(keys.value(k, lanes).as_flattened()[..w].iter().map(|&v| s.store(v)));
            arriving.extend(keys.arriving(k, lanes).as_flattened()[..w].iter().map(|&m| per_second(m)));
            leaving.extend(keys.leaving(k, lanes).as_flattened()[..w].iter().map(|&m| per_second(m)));
        }
        // The outer tangents are never used: an editor shows them straight.
        arriving[..w].copy_from_slice(&leaving[..w]);
        let last = (n - 1) * w;
        let (from, to) = (&arriving[last..], &mut leaving[last..]);
        to.copy_from_slice(from);
        let at: Vec<usize> = keys.keys.iter().map(|k| k.sample).collect();
        let times = at.iter().map(|&j| store(self.times[j], s.single)).collect();
        let curve = Curve::new(s.kind, w, times, values, Segments::Cubic { arriving, leaving })?;
        let max_error = self.error(&curve)?;
        Ok(Fit { curve, max_error, samples: at })
    }

    /// The largest error of `curve`, written and read again.
    fn error(&self, curve: &Curve) -> Result<f64, CurveError> {
        let s = self.samples;
        let mut reread = None;
        if s.single && s.kind == Kind::Rotation {
            // Unit length took the keys off what an f32 holds: write and read them as a file would.
            let values = curve.values().iter().map(|&v| store(v, true)).collect();
            reread = Some(Curve::new(s.kind, s.width, curve.times.clone(), values, curve.segments.clone())?);
        }
        let curve = reread.as_ref().unwrap_or(curve);
        let mut found = vec![0.0; s.width];
        let (mut cursor, mut worst) = (0, 0.0_f64);
        for (j, &time) in self.times.iter().enumerate() {
            curve.evaluate_from(&mut cursor, time, &mut found);
            let error = match s.kind {
                Kind::Rotation => rotation::distance(DQuat::from_slice(&found), DQuat::from_array(s.x[j])),
                Kind::Vector => {
                    let given = &self.given[j * s.width..(j + 1) * s.width];
                    found.iter().zip(given).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
                }
            };
            worst = worst.max(error);
        }
        Ok(worst)
    }
}
#[cfg(test)]
mod tests;
