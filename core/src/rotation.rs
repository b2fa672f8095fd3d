//! Unit quaternions as rotations: exponential, logarithm, distance, and the rotation of a skewed frame.
//!
//! Rotation vectors are axis times angle (rad), in the frame of the left factor: `exp(v) * q` turns `q` by `v`
//! in world axes. Sine, cosine and arc tangent come from `libm`, so every platform computes the same bits.

use glam::{DMat3, DQuat, DVec3};

/// Rotations by less than this (rad) go by power series, which is several times faster than the general functions
/// and exact to the last bits: what a body turns in a step is nearly always this small.
const SMALL_TURN_RAD: f64 = 0.2;

/// The rotation by vector `v` (axis times angle, rad).
#[inline]
pub fn exp(v: DVec3) -> DQuat {
    let h2 = 0.25 * v.length_squared();
    let (sinc_half, cos) = if h2 < 0.25 * SMALL_TURN_RAD * SMALL_TURN_RAD {
        // sin(h)/h to h^8 and cos(h) to h^10; the next terms are under 3e-18.
        let [a, b, c, d] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0];
        let sinc = 1.0 + h2 * (a + h2 * (b + h2 * (c + h2 * d)));
        let [a, b, c, d, e] = [-0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0];
        let cos = 1.0 + h2 * (a + h2 * (b + h2 * (c + h2 * (d + h2 * e))));
        (0.5 * sinc, cos)
    } else {
        let half = h2.sqrt();
        let (sin, cos) = libm::sincos(half);
        (0.5 * sin / half, cos)
    };
    DQuat::from_xyzw(v.x * sinc_half, v.y * sinc_half, v.z * sinc_half, cos)
}

/// The rotation vector of the unit quaternion `q`, the short way round: length in [0, pi]. `q` and `-q` give the
/// same vector.
#[inline]
pub fn log(q: DQuat) -> DVec3 {
    let v = DVec3::new(q.x, q.y, q.z);
    let (v, w) = if q.w < 0.0 { (-v, -q.w) } else { (v, q.w) };
    let sin_sq = v.length_squared();
    // tan of a quarter of the angle is sin(half) / (1 + cos(half)).
    let per = 1.0 / (1.0 + w);
    let t2 = sin_sq * per * per;
    if t2 < SMALL_TURN_RAD * SMALL_TURN_RAD / 16.0 {
        // 4 atan(t) / t to t^10; the next term is under 2e-17.
        let series =
            1.0 - t2 * (1.0 / 3.0 - t2 * (0.2 - t2 * (1.0 / 7.0 - t2 * (1.0 / 9.0 - t2 * (1.0 / 11.0)))));
        v * (4.0 * per * series)
    } else {
        let sin = sin_sq.sqrt();
        v * (2.0 * libm::atan2(sin, w) / sin)
    }
}

/// Angle (rad, in [0, pi]) between two orientations: `2 acos |Re(a b^-1)|`, computed without the loss of
/// digits that acos has near 1.
#[inline]
pub fn distance(a: DQuat, b: DQuat) -> f64 {
    log(a * b.conjugate()).length()
}

/// A nearly unit quaternion made unit to the last bit or two, without a root or a division: one Newton step.
#[inline]
pub fn renormalize(q: DQuat) -> DQuat {
    q * (1.5 - 0.5 * q.length_squared())
}

/// Spherical interpolation, the short way round, at constant angular speed.
#[inline]
pub fn slerp(a: DQuat, b: DQuat, u: f64) -> DQuat {
    (exp(log(b * a.conjugate()) * u) * a).normalize()
}

/// The rotation in a linear map: its polar factor, made proper.
///
/// A mirrored map `L` (negative determinant) is `-1` times a proper one, and `-1` commutes with everything, so
/// the rotation of `-L` is the one that children of a mirrored node turn with. `None` when the map is
/// singular (a scale of zero), where no rotation can be told.
pub fn of_linear(linear: DMat3) -> Option<DQuat> {
    let det = linear.determinant();
    let size = linear.x_axis.length() * linear.y_axis.length() * linear.z_axis.length();
    if !det.is_finite() || det.abs() <= 1e-12 * size || size == 0.0 {
        return None;
    }
    let mut r = if det < 0.0 { linear * -1.0 } else { linear };
    // Fast path: orthogonal columns (any scale per axis) need no iteration.
    let unit = DMat3::from_cols(r.x_axis.normalize(), r.y_axis.normalize(), r.z_axis.normalize());
    let skew = unit.x_axis.dot(unit.y_axis).abs()
        + unit.y_axis.dot(unit.z_axis).abs()
        + unit.z_axis.dot(unit.x_axis).abs();
    if skew < 1e-14 {
        return Some(DQuat::from_mat3(&unit).normalize());
    }
    // Higham's Newton iteration X <- (g X + X^-T / g) / 2 with determinant scaling: quadratic, six or seven
    // rounds from any non-singular start.
    for _ in 0..40 {
        let scale = 1.0 / libm::cbrt(r.determinant().abs());
        let next = (r * scale + (r * scale).inverse().transpose()) * 0.5;
        let change = (next - r).to_cols_array().iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        r = next;
        if change < 1e-15 {
            break;
        }
    }
    Some(DQuat::from_mat3(&r).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(limit: f64) -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * limit)
    }

    proptest! {
        #[test]
        fn log_undoes_exp(v in vector(1.8)) {
            prop_assert!((log(exp(v)) - v).length() < 1e-14 * (1.0 + v.length()));
            prop_assert!((log(-exp(v)) - v).length() < 1e-14 * (1.0 + v.length()));
        }

        #[test]
        fn small_and_large_branches_meet(v in vector(1.0)) {
            let n = v.normalize_or_zero();
            for angle in [0.1999999, 0.2000001] {
                let q = exp(n * angle);
                prop_assert!((q.length() - 1.0).abs() < 1e-15);
                prop_assert!((log(q) - n * angle).length() < 2e-16);
            }
        }

        #[test]
        fn the_rotation_of_a_scaled_and_mirrored_frame_is_found(v in vector(1.7), s in vector(3.0)) {
            prop_assume!(s.abs().min_element() > 1e-2);
            let q = exp(v);
            let mirrored = s.x * s.y * s.z < 0.0;
            let found = of_linear(DMat3::from_quat(q) * DMat3::from_diagonal(s)).unwrap();
            // With negative scales R S = R' |S| where R' = R diag(sign) (made proper).
            let sign = s.signum() * if mirrored { -1.0 } else { 1.0 };
            let expected = DQuat::from_mat3(&(DMat3::from_quat(q) * DMat3::from_diagonal(sign)));
            prop_assert!(distance(found, expected) < 1e-12);
        }

        #[test]
        fn a_sheared_frame_gives_the_nearest_rotation(v in vector(1.7), k in -0.8..0.8) {
            // R P with P symmetric positive: the polar factor is R itself.
            let p = DMat3::from_cols_array(&[1.5, k, 0.1, k, 1.2, 0.2, 0.1, 0.2, 0.9]);
            let found = of_linear(DMat3::from_quat(exp(v)) * p).unwrap();
            prop_assert!(distance(found, exp(v)) < 1e-11);
        }
    }

    #[test]
    fn a_flat_frame_has_no_rotation() {
        assert!(of_linear(DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0))).is_none());
        assert!(of_linear(DMat3::ZERO).is_none());
    }

    #[test]
    fn distance_is_exact_for_tiny_angles() {
        let a = exp(DVec3::new(0.3, -0.2, 0.9));
        let b = exp(DVec3::X * 1e-9) * a;
        assert!((distance(a, b) - 1e-9).abs() < 1e-16);
        assert_eq!(distance(a, -b), distance(a, b));
    }
}
