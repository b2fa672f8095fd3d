//! Smooth cubic curves through keys: Catmull-Rom and Kochanek-Bartels, in time.
//!
//! With `h0`, `h1` the times to the neighbouring keys and `d0`, `d1` the slopes towards them (per second):
//!
//! - Catmull-Rom (1974, in the non-uniform form of Barry and Goldman 1988): the tangent of the parabola through
//!   the three keys, `(h1 d0 + h0 d1) / (h0 + h1)`.
//! - Kochanek and Bartels, "Interpolating splines with local tension, continuity, and bias control" (SIGGRAPH
//!   1984), equations 8 and 9 with the speed adjustment of their section 4: for unequal times the tangents per
//!   segment are scaled by `2 h / (h0 + h1)`, which per second is one factor for both sides.
//!
//! The outer tangents make the curve's second derivative zero at its ends (natural ends).
//!
//! For rotations slopes are rotation vectors between neighbours per second (rad/s, world axes), the tangent is
//! an angular velocity `omega`, and its quaternion derivative `omega q / 2` goes into the key: the normalised
//! cubic then turns with exactly `omega` at the key, so it is as smooth as the choice of tangents.

use super::derivative::spin;
use super::{Curve, CurveError, Kind, Segments, finite};
use crate::rotation;
use glam::{DQuat, DVec3};

/// How a Kochanek-Bartels key bends the curve; each usually within -1 to 1, and 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcb {
    /// 1 stops at the key (tangents of length zero), -1 doubles the tangents.
    pub tension: f64,
    /// Other than 0 breaks the tangent: -1 makes a corner with straight sides.
    pub continuity: f64,
    /// 1 follows the direction before the key (overshoots), -1 the direction after it.
    pub bias: f64,
}

/// Flips quaternions (xyzw, four numbers each) so that neighbours lie within a hemisphere: the same rotations,
/// without jumps in the numbers.
pub fn make_continuous(quaternions: &mut [f64]) {
    for k in 1..quaternions.len() / 4 {
        let (before, from) = quaternions.split_at_mut(4 * k);
        let dot: f64 = before[4 * (k - 1)..].iter().zip(&from[..4]).map(|(a, b)| a * b).sum();
        if dot < 0.0 {
            from[..4].iter_mut().for_each(|c| *c = -*c);
        }
    }
}

impl Curve {
    /// Flips the signs of rotation keys, with their tangents, so that neighbours lie within a hemisphere. The
    /// rotations at keys stay, steps and slerps too; a cubic segment that went the long way, through near zero,
    /// goes the short way. A vector curve is left alone.
    pub fn make_continuous(&mut self) {
        if self.kind != Kind::Rotation {
            return;
        }
        let Segments::Cubic { arriving, leaving } = &mut self.segments else {
            make_continuous(&mut self.values);
            return;
        };
        for k in 1..self.times.len() {
            let (before, from) = self.values.split_at(4 * k);
            let dot: f64 = before[4 * (k - 1)..].iter().zip(from).map(|(a, b)| a * b).sum();
            if dot < 0.0 {
                for numbers in [&mut self.values, &mut *arriving, &mut *leaving] {
                    numbers[4 * k..4 * k + 4].iter_mut().for_each(|c| *c = -*c);
                }
            }
        }
    }

    /// A smooth curve through keys that are any times apart: non-uniform Catmull-Rom, natural ends.
    /// Quaternion signs are made continuous first.
    pub fn catmull_rom(
        kind: Kind,
        width: usize,
        times: Vec<f64>,
        values: Vec<f64>,
    ) -> Result<Curve, CurveError> {
        let keys = through(kind, width, times, values)?;
        keys.with_tangents(|_, h0, h1| {
            let (w0, w1) = (h1 / (h0 + h1), h0 / (h0 + h1));
            Weights { arriving: [w0, w1], leaving: [w0, w1] }
        })
    }

    /// A curve through keys shaped by tension, continuity and bias, one [`Tcb`] per key; natural ends, which
    /// the tension of the end keys shortens. Quaternion signs are made continuous first.
    pub fn kochanek_bartels(
        kind: Kind,
        width: usize,
        times: Vec<f64>,
        values: Vec<f64>,
        shape: &[Tcb],
    ) -> Result<Curve, CurveError> {
        let keys = through(kind, width, times, values)?;
        let expected = keys.times.len();
        if shape.len() != expected {
            return Err(CurveError::Length { what: "the shape array", found: shape.len(), expected });
        }
        if let Some(key) = shape
            .iter()
            .position(|s| !(s.tension.is_finite() && s.continuity.is_finite() && s.bias.is_finite()))
        {
            return Err(CurveError::NotFinite { what: "a tension, continuity or bias", key });
        }
        let mut curve = keys.with_tangents(|k, h0, h1| {
            let Tcb { tension: t, continuity: c, bias: b } = shape[k];
            // Slopes times their spans are the paper's differences; the speed adjustment divides by the mean span.
            let (w0, w1) = ((1.0 - t) * h0 / (h0 + h1), (1.0 - t) * h1 / (h0 + h1));
            Weights {
                arriving: [w0 * (1.0 - c) * (1.0 + b), w1 * (1.0 + c) * (1.0 - b)],
                leaving: [w0 * (1.0 + c) * (1.0 + b), w1 * (1.0 - c) * (1.0 - b)],
            }
        })?;
        let ends = [(0, 1.0 - shape[0].tension), (expected - 1, 1.0 - shape[expected - 1].tension)];
        if let Segments::Cubic { arriving, leaving } = &mut curve.segments {
            for (key, factor) in ends {
                for i in key * width..(key + 1) * width {
                    arriving[i] *= factor;
                    leaving[i] *= factor;
                }
            }
        }
        Ok(curve)
    }

    /// A cubic curve of these keys; an inner key's tangents are weighted sums of the slopes on its two sides.
    fn with_tangents(self, weights: impl Fn(usize, f64, f64) -> Weights) -> Result<Curve, CurveError> {
        let n = self.times.len();
        let rates = self.slopes();
        let r = if self.kind == Kind::Rotation { 3 } else { self.width };
        let mut arriving = vec![0.0; n * r];
        let mut leaving = vec![0.0; n * r];
        let h = |k: usize| self.times[k + 1] - self.times[k];
        for k in 1..n.saturating_sub(1) {
            let weights = weights(k, h(k - 1), h(k));
            for i in 0..r {
                let (d0, d1) = (rates[(k - 1) * r + i], rates[k * r + i]);
                arriving[k * r + i] = weights.arriving[0] * d0 + weights.arriving[1] * d1;
                leaving[k * r + i] = weights.leaving[0] * d0 + weights.leaving[1] * d1;
            }
        }
        if n == 2 {
            arriving = [&rates[..], &rates[..]].concat();
            leaving = arriving.clone();
        }
        if n > 2 {
            for i in 0..r {
                leaving[i] = 0.5 * (3.0 * rates[i] - arriving[r + i]);
                arriving[i] = leaving[i];
                let end = (n - 1) * r + i;
                arriving[end] = 0.5 * (3.0 * rates[end - r] - leaving[end - r]);
                leaving[end] = arriving[end];
            }
        }
        if self.kind == Kind::Rotation {
            arriving = self.spins(&arriving);
            leaving = self.spins(&leaving);
        }
        // Huge values a tiny time apart have no tangent.
        finite("an arriving tangent", &arriving, self.width)?;
        finite("a leaving tangent", &leaving, self.width)?;
        Ok(Curve { segments: Segments::Cubic { arriving, leaving }, ..self })
    }

    /// Change per second over each segment: `width` numbers, or a rotation vector.
    fn slopes(&self) -> Vec<f64> {
        let n = self.times.len();
        let mut out = Vec::with_capacity(n * self.width);
        for k in 1..n.max(1) {
            let h = self.times[k] - self.times[k - 1];
            let (a, b) = (self.row(&self.values, k - 1), self.row(&self.values, k));
            match self.kind {
                Kind::Vector => out.extend(a.iter().zip(b).map(|(a, b)| (b - a) / h)),
                Kind::Rotation => {
                    let turn = rotation::log(DQuat::from_slice(b) * DQuat::from_slice(a).conjugate());
                    out.extend((turn / h).to_array());
                }
            }
        }
        out
    }

    /// The quaternion derivative at each key of an angular velocity each.
    fn spins(&self, omega: &[f64]) -> Vec<f64> {
        let keys = self.values.chunks_exact(4).zip(omega.chunks_exact(3));
        keys.flat_map(|(q, w)| spin(DVec3::from_slice(w), DQuat::from_slice(q)).to_array()).collect()
    }
}

/// Parts of the slopes before and after a key in its tangents.
struct Weights {
    arriving: [f64; 2],
    leaving: [f64; 2],
}

/// The keys alone, checked, with continuous signs.
fn through(kind: Kind, width: usize, times: Vec<f64>, values: Vec<f64>) -> Result<Curve, CurveError> {
    let mut keys = Curve::new(kind, width, times, values, Segments::Linear)?;
    keys.make_continuous();
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tangents(curve: &Curve) -> (&[f64], &[f64]) {
        match curve.segments() {
            Segments::Cubic { arriving, leaving } => (arriving, leaving),
            _ => panic!("a spline is cubic"),
        }
    }

    fn uneven() -> impl Strategy<Value = (Vec<f64>, Vec<DVec3>)> {
        prop::collection::vec((0.1..1.0, -1.2..1.2, -1.2..1.2, -1.2..1.2), 2..8).prop_map(|keys| {
            let mut t = 0.0;
            let next = |h: f64| {
                t += h;
                t
            };
            let times = keys.iter().map(|k| k.0).map(next).collect();
            (times, keys.iter().map(|k| DVec3::new(k.1, k.2, k.3)).collect())
        })
    }

    proptest! {
        #[test]
        fn a_parabola_keeps_its_inner_tangents((times, _) in uneven(), a in -2.0..2.0f64, b in -2.0..2.0f64) {
            let values = times.iter().map(|t| a * t * t + b * t).collect();
            let c = Curve::catmull_rom(Kind::Vector, 1, times.clone(), values).unwrap();
            let (arriving, leaving) = tangents(&c);
            for k in 1..times.len() - 1 {
                prop_assert!((arriving[k] - (2.0 * a * times[k] + b)).abs() < 1e-12);
                prop_assert_eq!(arriving[k], leaving[k]);
            }
        }

        #[test]
        fn rotations_meet_keys_and_turn_smoothly((times, turns) in uneven(), flip: u8) {
            let mut values: Vec<f64> = turns.iter().flat_map(|v| rotation::exp(*v).to_array()).collect();
            for (k, q) in values.chunks_exact_mut(4).enumerate() {
                if flip >> k & 1 == 1 {
                    q.iter_mut().for_each(|c| *c = -*c);
                }
            }
            let n = times.len();
            let shape = vec![Tcb { tension: 0.3, continuity: 0.0, bias: -0.4 }; n];
            for c in [
                Curve::catmull_rom(Kind::Rotation, 4, times.clone(), values.clone()).unwrap(),
                Curve::kochanek_bartels(Kind::Rotation, 4, times.clone(), values.clone(), &shape).unwrap(),
            ] {
                for (t, turn) in times.iter().zip(&turns) {
                    prop_assert!(rotation::distance(c.quaternion(*t), rotation::exp(*turn)) < 1e-14);
                }
                for t in &times[1..n - 1] {
                    let just_before = c.angular_velocity(t - 1e-9);
                    prop_assert!((just_before - c.angular_velocity(*t)).length() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn natural_ends_have_no_curvature() {
        let c = Curve::catmull_rom(Kind::Vector, 1, vec![0.0, 0.5, 2.0], vec![0.0, 3.0, -1.0]).unwrap();
        let mut d = [[0.0]; 4];
        for (t, d) in [0.0, 1e-6, 2.0 - 2e-6, 2.0 - 1e-6].into_iter().zip(&mut d) {
            c.derivative(t, d);
        }
        assert!(((d[1][0] - d[0][0]) / 1e-6).abs() < 1e-3);
        assert!(((d[3][0] - d[2][0]) / 1e-6).abs() < 1e-3);
        let line = Curve::catmull_rom(Kind::Vector, 1, vec![0.0, 2.0], vec![1.0, 5.0]).unwrap();
        assert_eq!(line.scalar(0.5), 2.0);
        assert_eq!(Curve::catmull_rom(Kind::Vector, 1, vec![1.0], vec![4.0]).unwrap().scalar(9.0), 4.0);
    }

    #[test]
    fn kochanek_and_bartels_formulas() {
        let keys = |shape: Tcb| {
            let shape = [Tcb::default(), shape, Tcb::default()];
            Curve::kochanek_bartels(Kind::Vector, 1, vec![0.0, 1.0, 3.0], vec![0.0, 2.0, 8.0], &shape)
                .unwrap()
        };
        let at = |shape| {
            let c = keys(shape);
            let (arriving, leaving) = tangents(&c);
            (arriving[1], leaving[1])
        };
        // The paper's differences are 2 and 6; its adjusted tangents, per second, are divided by (1 + 2) / 2.
        let close = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1e-14 && (a.1 - b.1).abs() < 1e-14;
        assert!(close(at(Tcb::default()), (8.0 / 3.0, 8.0 / 3.0)));
        assert!(close(at(Tcb { tension: 1.0, ..Tcb::default() }), (0.0, 0.0)));
        // Continuity -1: each side heads straight along its own difference.
        assert!(close(at(Tcb { continuity: -1.0, ..Tcb::default() }), (4.0 / 3.0, 4.0)));
        assert!(close(at(Tcb { bias: 1.0, ..Tcb::default() }), (4.0 / 3.0, 4.0 / 3.0)));
        assert!(close(at(Tcb { bias: -1.0, ..Tcb::default() }), (4.0, 4.0)));
    }

    #[test]
    fn signs_become_continuous_with_their_tangents() {
        let q = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.6, -0.8], [0.0, 0.0, 1.0, 0.0]].concat();
        let marks: Vec<f64> = (0..12).map(f64::from).collect();
        let segments = Segments::Cubic { arriving: marks.clone(), leaving: marks };
        let mut c = Curve::new(Kind::Rotation, 4, vec![0.0, 1.0, 2.0], q, segments).unwrap();
        c.make_continuous();
        assert_eq!(c.values()[4..8], [-0.0, -0.0, 0.6, 0.8]);
        assert_eq!(c.values()[8..], [0.0, 0.0, 1.0, 0.0]);
        let (arriving, leaving) = tangents(&c);
        assert_eq!((arriving[5], leaving[6], leaving[9]), (-5.0, -6.0, 9.0));
    }

    #[test]
    fn keys_too_steep_for_a_tangent_are_refused() {
        let steep = Curve::catmull_rom(Kind::Vector, 1, vec![0.0, 1e-300, 1.0], vec![0.0, 1e300, 0.0]);
        assert!(matches!(steep, Err(CurveError::NotFinite { .. })));
    }
}
