//! Free rotation: the world angular momentum `L` is the state, so it is kept exactly; the orientation follows.
//!
//! The midpoint rule on the rotation group: find the body-frame angular velocity `w = I^-1 P` of the middle of
//! the step, where `P` is the body-frame momentum turned half way, `P = exp(-dt w / 2) q^-1 L`, then turn by
//! `dt w`. It is symmetric in time (no drift of the energy), exact for rotation about a principal axis (which
//! discrete Moser-Veselov is not: it turns by asin(w dt)), and of second order. Moments are principal.

use crate::rotation;
use glam::{DMat3, DQuat, DVec3};

/// The fixed point of the midpoint rule contracts by about half this angle (rad) at the worst inertia; longer
/// turns are split.
const LONGEST_TURN_RAD: f64 = 0.5;

/// More parts than this per step means a spin that no frame rate shows; bounds the cost of a wild state.
const MOST_PARTS: f64 = 64.0;

/// Squared relative change of the angular velocity at which the fixed point is found. What is left is far below
/// the method's own error, and no momentum hangs on it.
const CONVERGED: f64 = 1e-24;

/// The orientation after `dt` seconds with angular momentum `momentum` (world, kg m^2/s); `per_inertia` is one over
/// each principal moment.
#[inline]
pub fn turn(orientation: DQuat, momentum: DVec3, per_inertia: DVec3, dt: f64) -> DQuat {
    let speed = (orientation.conjugate() * momentum * per_inertia).length();
    let parts = (speed * dt.abs() / LONGEST_TURN_RAD).ceil().clamp(1.0, MOST_PARTS);
    let h = dt / parts;
    let mut q = orientation;
    for _ in 0..parts as usize {
        let body_momentum = q.conjugate() * momentum;
        let mut w = body_momentum * per_inertia;
        for _ in 0..20 {
            let middle = rotation::exp(w * (-0.5 * h)) * body_momentum;
            let next = middle * per_inertia;
            let change = (next - w).length_squared();
            w = next;
            if change <= CONVERGED * w.length_squared() {
                break;
            }
        }
        q = rotation::renormalize(q * rotation::exp(w * h));
    }
    q
}

/// World angular velocity (rad/s) of a body with world angular momentum `momentum`.
#[inline(always)]
pub fn angular_velocity(orientation: DQuat, momentum: DVec3, per_inertia: DVec3) -> DVec3 {
    Axes::new(orientation, per_inertia).scale(momentum, per_inertia)
}

/// World angular momentum (kg m^2/s) of a body that turns with world angular velocity `w`.
#[inline]
pub fn angular_momentum(orientation: DQuat, w: DVec3, inertia: DVec3) -> DVec3 {
    Axes::new(orientation, inertia).scale(w, inertia)
}

/// A body's principal axes in the world, for scaling several vectors along them.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    world: DMat3,
    round: bool,
}

impl Axes {
    /// The axes of `orientation`. Balls and cubes (equal `moments`, or one over them) need none.
    #[inline(always)]
    pub fn new(orientation: DQuat, moments: DVec3) -> Axes {
        let round = moments.x == moments.y && moments.y == moments.z;
        Axes { world: if round { DMat3::IDENTITY } else { DMat3::from_quat(orientation) }, round }
    }

    /// The same with the axes known.
    #[inline(always)]
    pub fn of(world: DMat3, moments: DVec3) -> Axes {
        Axes { world, round: moments.x == moments.y && moments.y == moments.z }
    }

    /// Axes half way between two attitudes: the one that the body is roundest about points where the mean of both
    /// does, the others are at right angles to it. So a round body keeps its spin about that axis under forces there,
    /// however far it turns: with `a` the axis, `P` the momentum and `c` the Cayley vector of the turn,
    /// `a1 P1 - a0 P0 = (c x a').I'c / h + a'.r' x f`, and both vanish (a' = (a0 + a1) / 2, of which I' is an axis and
    /// r' a multiple).
    #[inline(always)]
    pub fn between(from: DQuat, to: DQuat, moments: DVec3) -> Axes {
        let round = moments.x == moments.y && moments.y == moments.z;
        if round {
            return Axes { world: DMat3::IDENTITY, round };
        }
        let sum = DMat3::from_quat(from) + DMat3::from_quat(to);
        // How unlike the other two are: differences of what is one over them, times all three.
        let [x, y, z] = [moments.x, moments.y, moments.z];
        let [yz, zx, xy] = [(y - z).abs() * x, (z - x).abs() * y, (x - y).abs() * z];
        let world = if yz <= zx && yz <= xy {
            let a = sum.x_axis.normalize();
            let b = sum.y_axis.reject_from_normalized(a).normalize();
            DMat3::from_cols(a, b, a.cross(b))
        } else if zx <= xy {
            let b = sum.y_axis.normalize();
            let c = sum.z_axis.reject_from_normalized(b).normalize();
            DMat3::from_cols(b.cross(c), b, c)
        } else {
            let c = sum.z_axis.normalize();
            let a = sum.x_axis.reject_from_normalized(c).normalize();
            DMat3::from_cols(a, c.cross(a), c)
        };
        Axes { world, round }
    }

    /// The matrix that multiplies by `factors` along the axes.
    #[inline(always)]
    pub fn matrix(&self, factors: DVec3) -> DMat3 {
        if self.round {
            return DMat3::from_diagonal(factors);
        }
        let m = &self.world;
        let scaled = DMat3::from_cols(m.x_axis * factors.x, m.y_axis * factors.y, m.z_axis * factors.z);
        scaled * m.transpose()
    }

    /// The world vector `v` multiplied by `factors` along the axes.
    #[inline(always)]
    pub fn scale(&self, v: DVec3, factors: DVec3) -> DVec3 {
        if self.round {
            return v * factors.x;
        }
        let m = &self.world;
        m.x_axis * (m.x_axis.dot(v) * factors.x)
            + m.y_axis * (m.y_axis.dot(v) * factors.y)
            + m.z_axis * (m.z_axis.dot(v) * factors.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_about_a_principal_axis_is_exact() {
        let inertia = DVec3::new(1.0, 2.0, 3.0);
        let mut q = DQuat::IDENTITY;
        for _ in 0..240 {
            q = turn(q, DVec3::Y * 2.0 * 3.0, inertia.recip(), 1.0 / 24.0);
        }
        let expected = DQuat::from_xyzw(0.0, 15.0_f64.sin(), 0.0, 15.0_f64.cos());
        assert!(rotation::distance(q, expected) < 1e-12);
    }

    #[test]
    fn energy_does_not_drift_when_the_top_tumbles() {
        let inertia = DVec3::new(1.0, 2.0, 3.0);
        let momentum = DVec3::new(0.1, 8.0, 0.2); // near the unstable middle axis
        let mut q = DQuat::IDENTITY;
        let energy = |q| 0.5 * momentum.dot(angular_velocity(q, momentum, inertia.recip()));
        let start = energy(q);
        let mut worst = 0.0_f64;
        for _ in 0..10_000 {
            q = turn(q, momentum, inertia.recip(), 1.0 / 60.0);
            worst = worst.max((energy(q) / start - 1.0).abs());
        }
        assert!(worst < 1e-3, "{worst}");
    }

    #[test]
    fn the_order_is_two() {
        let inertia = DVec3::new(1.0, 2.5, 3.0);
        let momentum = DVec3::new(1.0, 2.0, -1.0);
        let run = |n: usize| {
            (0..n).fold(DQuat::IDENTITY, |q, _| turn(q, momentum, inertia.recip(), 1.0 / n as f64))
        };
        let fine = run(20_000);
        let (a, b) = (rotation::distance(run(50), fine), rotation::distance(run(100), fine));
        assert!((a / b - 4.0).abs() < 0.1, "{}", a / b);
    }
}
