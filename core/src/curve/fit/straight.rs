//! Few keys with straight lines between them, for readers that know nothing else, or drop tangents.
//!
//! A rotation between two keys is turned evenly by some readers (slerp), and mixed number by number by others (Blender): keys are
//! so near that both are within the tolerance.

use super::samples::store;
use super::{Curve, CurveError, Fit, FitOptions, Kind, Samples, Segments};
use crate::rotation;
use glam::DQuat;

/// Samples of a channel, as they will be stored.
struct Row<'a> {
    kind: Kind,
    width: usize,
    times: &'a [f64],
    values: Vec<f64>,
}

impl Row<'_> {
    fn at(&self, sample: usize) -> &[f64] {
        &self.values[sample * self.width..(sample + 1) * self.width]
    }

    /// How far a sample is from the line between two others.
    fn off(&self, sample: usize, [a, b]: [usize; 2]) -> f64 {
        if sample == a || sample == b {
            return 0.0;
        }
        let u = (self.times[sample] - self.times[a]) / (self.times[b] - self.times[a]);
        let (x, y, z) = (self.at(a), self.at(b), self.at(sample));
        match self.kind {
            Kind::Vector => {
                let square = |((x, y), z): ((&f64, &f64), &f64)| (x + (y - x) * u - z).powi(2);
                x.iter().zip(y).zip(z).map(square).sum::<f64>().sqrt()
            }
            Kind::Rotation => {
                let [x, y, z] = [x, y, z].map(DQuat::from_slice);
                let evenly = rotation::distance(rotation::slerp(x, y, u), z);
                let mixed = DQuat::from_vec4(glam::DVec4::from(x).lerp(glam::DVec4::from(y), u));
                evenly.max(rotation::distance(rotation::renormalize(mixed.normalize()), z))
            }
        }
    }

    /// The same of all samples between two.
    fn farthest(&self, ends: [usize; 2]) -> f64 {
        (ends[0] + 1..ends[1]).map(|k| self.off(k, ends)).fold(0.0, f64::max)
    }
}

/// Lays the samples out as they will be stored.
fn row<'a>(
    kind: Kind,
    width: usize,
    times: &'a [f64],
    samples: &[f64],
    single: bool,
) -> Result<Row<'a>, CurveError> {
    // Checks them, makes quaternions unit and keeps them in one hemisphere.
    let laid_out = Samples::new(kind, width, times, samples, single)?;
    let values = (0..times.len())
        .flat_map(|k| laid_out.at(k).as_flattened()[..width].iter().map(|v| store(*v, single)))
        .collect();
    Ok(Row { kind, width, times, values })
}

/// As few keys as straight lines within the tolerance of every sample need, or hardly more: each line goes on as far as it can.
pub fn fit_straight(
    kind: Kind,
    width: usize,
    times: &[f64],
    samples: &[f64],
    options: &FitOptions,
) -> Result<Fit, CurveError> {
    if options.tolerance.is_nan() || options.tolerance < 0.0 {
        return Err(CurveError::Tolerance { tolerance: options.tolerance });
    }
    let row = row(kind, width, times, samples, options.single)?;
    let last = times.len() - 1;
    let mut keys = vec![0];
    let mut worst: f64 = 0.0;
    while let Some(&from) = keys.last().filter(|k| **k < last) {
        let fits = |to: usize| row.farthest([from, to]) <= options.tolerance;
        // Doubled while it fits, then halved.
        let (mut good, mut step) = (from + 1, 1);
        while good < last && fits((good + step).min(last)) {
            good = (good + step).min(last);
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if good + step <= last && fits(good + step) {
                good += step;
            }
        }
        worst = worst.max(row.farthest([from, good]));
        keys.push(good);
    }
    if keys.len() == 2 && row.at(0) == row.at(last) {
        keys.pop();
    }
    let values = keys.iter().flat_map(|k| row.at(*k)).copied().collect();
    let at = keys.iter().map(|k| times[*k]).collect();
    let curve = Curve::new(kind, width, at, values, Segments::Linear)?;
    Ok(Fit { curve, max_error: worst, samples: keys })
}

/// How far samples are from straight lines between those that are keys: what a reader that drops tangents shows.
pub fn straight_error(
    kind: Kind,
    width: usize,
    times: &[f64],
    samples: &[f64],
    keys: &[usize],
) -> Result<f64, CurveError> {
    let row = row(kind, width, times, samples, false)?;
    Ok(keys.windows(2).map(|k| row.farthest([k[0], k[1]])).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::exp;
    use glam::DVec3;
    use proptest::prelude::*;

    fn wave(count: usize) -> (Vec<f64>, Vec<f64>) {
        let times: Vec<f64> = (0..count).map(|k| k as f64 / 24.0).collect();
        let values = times.iter().flat_map(|t| [libm::sin(3.0 * t), 2.0 * t, 1.0]).collect();
        (times, values)
    }

    #[test]
    fn straight_lines_need_their_corners_only() {
        let times: Vec<f64> = (0..60).map(f64::from).collect();
        let corner = |t: &f64| [t.min(20.0), 0.0, (t - 40.0).max(0.0)];
        let values: Vec<f64> = times.iter().flat_map(corner).collect();
        let fit = fit_straight(Kind::Vector, 3, &times, &values, &FitOptions::new(1e-9)).unwrap();
        assert_eq!(fit.samples, [0, 20, 40, 59]);
        let still = [1.0, 2.0, 3.0].repeat(60);
        assert_eq!(
            fit_straight(Kind::Vector, 3, &times, &still, &FitOptions::new(0.0)).unwrap().samples,
            [0]
        );
    }

    #[test]
    fn dropped_tangents_are_told() {
        let (times, values) = wave(121);
        let cubic = super::super::fit(Kind::Vector, 3, &times, &values, 1e-3).unwrap();
        let off = straight_error(Kind::Vector, 3, &times, &values, &cubic.samples).unwrap();
        assert!(off > 0.05 && off < 1.0, "{off} with {} keys", cubic.samples.len());
        let straight = fit_straight(Kind::Vector, 3, &times, &values, &FitOptions::new(0.02)).unwrap();
        assert!(straight.samples.len() < 60 && straight.max_error <= 0.02, "{}", straight.samples.len());
    }

    proptest! {
        /// Evenly turned or mixed number by number, every sample is within the tolerance.
        #[test]
        fn turns_are_within_the_tolerance_however_they_are_mixed(
            steps in prop::collection::vec(prop::array::uniform3(-0.4..0.4_f64), 2..60),
            tolerance in prop_oneof![Just(0.0), 1e-4..0.1_f64],
        ) {
            let mut q = DQuat::IDENTITY;
            let times: Vec<f64> = (0..steps.len()).map(|k| k as f64 / 30.0).collect();
            let values: Vec<f64> = steps.iter().flat_map(|s| { q = exp(DVec3::from_array(*s)) * q; q.to_array() }).collect();
            let options = FitOptions { tolerance, single: false, cyclic: false };
            let fit = fit_straight(Kind::Rotation, 4, &times, &values, &options).unwrap();
            prop_assert!(fit.max_error <= tolerance);
            for (k, t) in times.iter().enumerate() {
                let there = DQuat::from_slice(&values[4 * k..]);
                let off = crate::rotation::distance(fit.curve.quaternion(*t), there);
                prop_assert!(off <= tolerance + 1e-7, "{off} of {tolerance}");
            }
        }
    }
}
