//! Exact derivatives of a curve in time: components per second, velocity, angular velocity.
//!
//! At a key the derivative is that of the segment that begins there; outside the keys and in steps it is zero.
//! For rotations, with `p` the component-wise cubic and `p'` its derivative, the normalised `q = p / |p|` has
//! `q' = (p' - q (q . p')) / |p|` and turns with `omega = 2 Im(p' conj(p)) / |p|^2` (rad/s, world axes);
//! a slerp from `a` to `b` turns with the constant `log(b conj(a)) / h`.
//!
//! Nothing here fails; what overflows saturates at the largest number, and where the cubic of quaternions
//! passes through zero the derivative is zero, as evaluation holds there.

use super::evaluate::Span;
use super::{Curve, Kind, Segments, ZERO_QUATERNION};
use crate::rotation;
use glam::{DQuat, DVec3, DVec4, Vec4Swizzles};

impl Curve {
    /// Derivative at `time` (s) per component per second into `out`, which has `width` places.
    pub fn derivative(&self, time: f64, out: &mut [f64]) {
        let Some(span) = self.span(time) else {
            out.fill(0.0);
            return;
        };
        match (&self.segments, self.kind) {
            (Segments::Step, _) => out.fill(0.0),
            (Segments::Linear, Kind::Vector) => {
                let (a, b) = self.ends(span);
                for i in 0..self.width {
                    out[i] = slope(a[i], b[i], span.h);
                }
            }
            (Segments::Linear, Kind::Rotation) => {
                let (a, b) = self.ends(span);
                let turn = rotation::log(DQuat::from_slice(b) * DQuat::from_slice(a).conjugate());
                let q = rotation::exp(turn * span.u) * DQuat::from_slice(a);
                spin(turn / span.h, q).write_to_slice(out);
            }
            (Segments::Cubic { .. }, Kind::Vector) => self.cubic_derivative(span, out),
            (Segments::Cubic { .. }, Kind::Rotation) => {
                let (p, dp) = self.quaternion_cubic(span);
                let length = p.length();
                if length < ZERO_QUATERNION {
                    out.fill(0.0);
                    return;
                }
                let q = p / length;
                ((dp - q * q.dot(dp)) / length).write_to_slice(out);
            }
        }
        out.iter_mut().for_each(|c| *c = saturate(*c));
    }

    /// Velocity (units per second) at `time` (s) of a curve of width 3.
    pub fn velocity(&self, time: f64) -> DVec3 {
        let mut out = [0.0; 3];
        self.derivative(time, &mut out);
        DVec3::from_array(out)
    }

    /// Angular velocity (rad/s, world axes) at `time` (s) of a rotation curve.
    pub fn angular_velocity(&self, time: f64) -> DVec3 {
        let Some(span) = self.span(time) else { return DVec3::ZERO };
        let omega = match &self.segments {
            Segments::Step => DVec3::ZERO,
            Segments::Linear => {
                let (a, b) = self.ends(span);
                rotation::log(DQuat::from_slice(b) * DQuat::from_slice(a).conjugate()) / span.h
            }
            Segments::Cubic { .. } => {
                let (p, dp) = self.quaternion_cubic(span);
                let length = p.length();
                if length < ZERO_QUATERNION {
                    return DVec3::ZERO;
                }
                let (p, dp) = (p / length, dp / length);
                // The vector part of p' conj(p).
                2.0 * (dp.xyz() * p.w - p.xyz() * dp.w - dp.xyz().cross(p.xyz()))
            }
        };
        DVec3::new(saturate(omega.x), saturate(omega.y), saturate(omega.z))
    }

    fn ends(&self, span: Span) -> (&[f64], &[f64]) {
        (self.row(&self.values, span.key - 1), self.row(&self.values, span.key))
    }

    /// The component-wise cubic of quaternions and its derivative, both brought to a size whose square is
    /// finite: their ratio is all that matters.
    fn quaternion_cubic(&self, span: Span) -> (DVec4, DVec4) {
        let (mut p, mut dp) = ([0.0; 4], [0.0; 4]);
        self.cubic(span, &mut p);
        self.cubic_derivative(span, &mut dp);
        dp.iter_mut().for_each(|c| *c = saturate(*c));
        let (p, dp) = (DVec4::from_array(p), DVec4::from_array(dp));
        let size = p.abs().max_element();
        if size > 1e100 { (p / size, dp / size) } else { (p, dp) }
    }

    /// The derivative of the cubic component by component, before any normalising. Only for cubic curves.
    pub(super) fn cubic_derivative(&self, span: Span, out: &mut [f64]) {
        let Segments::Cubic { arriving, leaving } = &self.segments else { return };
        let Span { key, h, u } = span;
        let (a, b) = self.ends(span);
        let (m0, m1) = (self.row(leaving, key - 1), self.row(arriving, key));
        let d01 = 6.0 * u * (1.0 - u);
        let (d10, d11) = ((3.0 * u - 1.0) * (u - 1.0), u * (3.0 * u - 2.0));
        for i in 0..self.width {
            out[i] = saturate(slope(a[i], b[i], h) * d01) + saturate(d10 * m0[i] + d11 * m1[i]);
        }
    }
}

/// Units per second from `a` to `b` in `h` seconds.
fn slope(a: f64, b: f64, h: f64) -> f64 {
    saturate((b - a) / h)
}

/// The derivative of the quaternion `q` that turns with `omega` (rad/s, world axes).
pub(super) fn spin(omega: DVec3, q: DQuat) -> DQuat {
    DQuat::from_xyzw(0.5 * omega.x, 0.5 * omega.y, 0.5 * omega.z, 0.0) * q
}

fn saturate(x: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(-f64::MAX, f64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::tests::{rotation_curve, vector_curve};
    use super::*;
    use proptest::prelude::*;

    /// Distance (s) from keys kept by finite differences, and their step.
    const STEP: f64 = 1e-5;

    fn away_from_keys(curve: &Curve, t: f64) -> bool {
        curve.times().iter().all(|k| (k - t).abs() > 2.0 * STEP)
    }

    proptest! {
        #[test]
        fn derivatives_match_finite_differences(curve in vector_curve(3), t in -0.5..6.0) {
            prop_assume!(away_from_keys(&curve, t));
            let d = (curve.vector(t + STEP) - curve.vector(t - STEP)) / (2.0 * STEP);
            let scale = 1.0 + d.length();
            prop_assert!((curve.velocity(t) - d).length() < 1e-6 * scale, "{} {}", curve.velocity(t), d);
        }

        #[test]
        fn angular_velocity_matches_finite_differences(curve in rotation_curve(), t in -0.5..6.0) {
            prop_assume!(away_from_keys(&curve, t));
            let mut p = [0.0; 4];
            if let (Some(span), Segments::Cubic { .. }) = (curve.span(t), curve.segments()) {
                curve.cubic(span, &mut p);
                // Nearer to zero the turn is too fast for a difference of this step.
                prop_assume!(DVec4::from_array(p).length() > 0.2);
            }
            let (a, b) = (curve.quaternion(t - STEP), curve.quaternion(t + STEP));
            let w = rotation::log(b * a.conjugate()) / (2.0 * STEP);
            prop_assert!((curve.angular_velocity(t) - w).length() < 1e-6 * (1.0 + w.length().powi(3)));
            let mut d = [0.0; 4];
            curve.derivative(t, &mut d);
            let q = curve.quaternion(t);
            let expected = spin(curve.angular_velocity(t), q);
            prop_assert!((DVec4::from_array(d) - DVec4::from(expected)).length() < 1e-10 * (1.0 + w.length()));
        }
    }

    #[test]
    fn at_a_key_the_later_side_counts() {
        let segments = Segments::Cubic { arriving: vec![9.0, 5.0, 7.0], leaving: vec![1.0, -2.0, 8.0] };
        let c = Curve::new(Kind::Vector, 1, vec![0.0, 1.0, 2.0], vec![0.0; 3], segments).unwrap();
        let mut d = [0.0];
        for (t, expected) in [(-1.0, 0.0), (0.0, 1.0), (1.0, -2.0), (2.0, 0.0), (3.0, 0.0)] {
            c.derivative(t, &mut d);
            assert_eq!(d[0], expected, "at {t}");
        }
        let c =
            Curve::new(Kind::Vector, 1, vec![0.0, 2.0, 3.0], vec![0.0, 4.0, 0.0], Segments::Linear).unwrap();
        for (t, expected) in [(-1.0, 0.0), (0.0, 2.0), (1.9, 2.0), (2.0, -4.0), (3.0, 0.0)] {
            c.derivative(t, &mut d);
            assert_eq!(d[0], expected, "at {t}");
        }
        let c = Curve::new(Kind::Vector, 1, vec![0.0, 2.0], vec![0.0, 4.0], Segments::Step).unwrap();
        c.derivative(1.0, &mut d);
        assert_eq!(d[0], 0.0);
    }

    #[test]
    fn a_slerp_turns_at_constant_speed_about_its_axis() {
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        let (a, turn) = (rotation::exp(DVec3::new(0.1, 0.7, 0.2)), axis * 2.5);
        let keys = [a.to_array(), (rotation::exp(turn) * a).to_array()].concat();
        let c = Curve::new(Kind::Rotation, 4, vec![1.0, 3.0], keys, Segments::Linear).unwrap();
        for t in [1.0, 1.5, 2.9] {
            assert!((c.angular_velocity(t) - turn / 2.0).length() < 1e-14);
        }
        assert_eq!(c.angular_velocity(0.9), DVec3::ZERO);
    }
}
