//! The angular momentum that a body has between two orientations, and how it changes with them.
//!
//! `P = I' theta / h` with `theta = log(R1 R0^T)` and `I'` the inertia half way. Differences of it are the torques of a discrete
//! Lagrange-d'Alembert principle: whatever the step, nothing but forces changes the momentum of a whole.
//!
//! Derivatives are along turns `exp(a) R` in the world's axes. `J` below is the left Jacobian of the exponential:
//! `log(exp(b) exp(theta)) = theta + J^-1(theta) b + ...`

use super::skew;
use crate::rotation;
use glam::{DMat3, DQuat, DVec3};

/// What a body has between two orientations, with its first derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Turning {
    /// Angular momentum about its centre.
    pub momentum: DVec3,
    /// Its derivative by a turn of the first orientation.
    pub by_from: DMat3,
    /// And of the second.
    pub by_to: DMat3,
    turn: DVec3,
    inertia: DMat3,
    per_step: f64,
}

impl Turning {
    /// From one orientation of the principal axes to another in `step` seconds.
    pub fn new(from: DQuat, to: DQuat, inertia: DVec3, step: f64) -> Turning {
        let turn = rotation::log(to * from.conjugate());
        let axes = DMat3::from_quat(rotation::exp(turn * 0.5) * from);
        let inertia = axes * DMat3::from_diagonal(inertia) * axes.transpose();
        let per_step = 1.0 / step;
        let found = Turning {
            momentum: inertia * turn * per_step,
            by_from: DMat3::ZERO,
            by_to: DMat3::ZERO,
            turn,
            inertia,
            per_step,
        };
        let (dturn, dhalf) = found.slopes();
        let m = inertia * turn;
        let swing = inertia * skew(turn) - skew(m);
        let by = |side: usize| (swing * dhalf[side] + inertia * dturn[side]) * per_step;
        Turning { by_from: by(0), by_to: by(1), ..found }
    }

    /// How the turn, and the orientation half way, change with either end.
    fn slopes(&self) -> ([DMat3; 2], [DMat3; 2]) {
        let dturn = [-inverse_left(-self.turn), inverse_left(self.turn)];
        let half = self.turn * 0.5;
        let left = left(half) * 0.5;
        let there = DMat3::from_quat(rotation::exp(half));
        (dturn, [left * dturn[0] + there, left * dturn[1]])
    }

    /// Second derivatives of `along . momentum`: `[x][y]` is by a turn of end `x` (rows) of the derivative by a turn of end `y`
    /// (columns), 0 for the first end and 1 for the second.
    pub fn curvature(&self, along: DVec3) -> [[DMat3; 2]; 2] {
        let (dturn, dhalf) = self.slopes();
        let (turn, half) = (self.turn, self.turn * 0.5);
        let (i, m) = (self.inertia, self.inertia * self.turn);
        let left = left(half) * 0.5;
        let there = DMat3::from_quat(rotation::exp(half));
        let ia = i * along;
        let mut found = [[DMat3::ZERO; 2]; 2];
        for x in 0..2 {
            for a in 0..3 {
                let (tx, ex) = (dturn[x].col(a), dhalf[x].col(a));
                let mx = ex.cross(m) - i * ex.cross(turn) + i * tx;
                let spin = left * tx;
                // along . (ex x I v - I (ex x v)) = v . turned
                let turned = i * along.cross(ex) - ia.cross(ex);
                for y in 0..2 {
                    for b in 0..3 {
                        let axis = DVec3::AXES[b];
                        let (ty, ey) = (dturn[y].col(b), dhalf[y].col(b));
                        let (txy, carried) = match y {
                            0 => (inverse_left_slope(-turn, tx, axis), spin.cross(there.col(b))),
                            _ => (inverse_left_slope(turn, tx, axis), DVec3::ZERO),
                        };
                        let exy = left_slope(half, tx * 0.5, ty * 0.5) + left * txy + carried;
                        let direct = exy.cross(m) + ey.cross(mx);
                        let through = exy.cross(turn) + ey.cross(tx) - txy;
                        let value = along.dot(direct) - ia.dot(through) + turned.dot(ty - ey.cross(turn));
                        found[x][y].col_mut(b)[a] = value * self.per_step;
                    }
                }
            }
        }
        found
    }
}

/// Below this (rad, squared) series are exact to the last bits, and quotients are not.
const SMALL: f64 = 0.25;

fn series<const N: usize>(u: f64, c: [f64; N]) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * u + c)
}

/// `(1 - cos a) / a^2`, `(a - sin a) / a^3`, and their derivatives by `u = a^2`.
fn left_terms(u: f64) -> [f64; 4] {
    if u < SMALL {
        let f = [2.0, 24.0, 720.0, 40320.0, 3_628_800.0, 479_001_600.0, 87_178_291_200.0];
        let g = [6.0, 120.0, 5040.0, 362_880.0, 39_916_800.0, 6_227_020_800.0, 1_307_674_368_000.0];
        let alternate = |f: [f64; 7]| {
            let c: [f64; 7] = std::array::from_fn(|k| if k % 2 == 0 { 1.0 / f[k] } else { -1.0 / f[k] });
            let d: [f64; 6] = std::array::from_fn(|k| (k + 1) as f64 * c[k + 1]);
            (series(u, c), series(u, d))
        };
        let ((a, da), (b, db)) = (alternate(f), alternate(g));
        return [a, b, da, db];
    }
    let t = u.sqrt();
    let (sin, cos) = libm::sincos(t);
    let (a, b) = ((1.0 - cos) / u, (t - sin) / (u * t));
    [a, b, (t * sin - 2.0 * (1.0 - cos)) / (2.0 * u * u), (3.0 * sin - t * (2.0 + cos)) / (2.0 * u * u * t)]
}

/// `(1 - a/2 cot(a/2)) / a^2` and its derivative by `u = a^2`.
fn inverse_terms(u: f64) -> [f64; 2] {
    if u < SMALL {
        let c = [
            1.0 / 12.0,
            1.0 / 720.0,
            1.0 / 30_240.0,
            1.0 / 1_209_600.0,
            1.0 / 47_900_160.0,
            691.0 / 1_307_674_368_000.0,
            1.0 / 74_724_249_600.0,
            3617.0 / 10_670_622_842_880_000.0,
        ];
        let d: [f64; 7] = std::array::from_fn(|k| (k + 1) as f64 * c[k + 1]);
        return [series(u, c), series(u, d)];
    }
    let t = u.sqrt();
    let (sin, cos) = libm::sincos(0.5 * t);
    let cot = cos / sin;
    let c = (1.0 - 0.5 * t * cot) / u;
    [c, (0.25 * t / (sin * sin) - 0.5 * cot - 2.0 * t * c) / (2.0 * u * t)]
}

/// `J(t)`.
fn left(t: DVec3) -> DMat3 {
    let [a, b, ..] = left_terms(t.length_squared());
    let s = skew(t);
    DMat3::IDENTITY + s * a + s * s * b
}

/// The derivative of `J(t) x` along `by`.
fn left_slope(t: DVec3, by: DVec3, x: DVec3) -> DVec3 {
    let [a, b, da, db] = left_terms(t.length_squared());
    let tx = t.cross(x);
    by.cross(x) * a
        + (by.cross(tx) + t.cross(by.cross(x))) * b
        + (tx * da + t.cross(tx) * db) * (2.0 * t.dot(by))
}

/// `J^-1(t)`.
pub(crate) fn inverse_left(t: DVec3) -> DMat3 {
    let [c, _] = inverse_terms(t.length_squared());
    let s = skew(t);
    DMat3::IDENTITY - s * 0.5 + s * s * c
}

/// The derivative of `J^-1(t) x` along `by`.
pub(crate) fn inverse_left_slope(t: DVec3, by: DVec3, x: DVec3) -> DVec3 {
    let [c, dc] = inverse_terms(t.length_squared());
    let tx = t.cross(x);
    by.cross(x) * -0.5 + (by.cross(tx) + t.cross(by.cross(x))) * c + t.cross(tx) * (dc * 2.0 * t.dot(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(limit: f64) -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * limit)
    }

    const INERTIA: DVec3 = DVec3::new(0.3, 1.1, 0.7);

    proptest! {
        #[test]
        fn first_and_second_derivatives_are_those_of_differences(
            at in vector(1.5), turn in vector(1.2), small in 0..2, along in vector(1.0),
        ) {
            let turn = if small == 0 { turn * 0.1 } else { turn };
            let from = rotation::exp(at);
            let to = rotation::exp(turn) * from;
            let made = |a: DVec3, b: DVec3| Turning::new(rotation::exp(a) * from, rotation::exp(b) * to, INERTIA, 0.5);
            let now = made(DVec3::ZERO, DVec3::ZERO);
            let second = now.curvature(along);
            let e = 1e-5;
            for k in 0..3 {
                let by = DVec3::AXES[k] * e;
                let (fa, fb) = (made(by, DVec3::ZERO), made(-by, DVec3::ZERO));
                let (ta, tb) = (made(DVec3::ZERO, by), made(DVec3::ZERO, -by));
                prop_assert!(((fa.momentum - fb.momentum) / (2.0 * e) - now.by_from.col(k)).length() < 1e-8);
                prop_assert!(((ta.momentum - tb.momentum) / (2.0 * e) - now.by_to.col(k)).length() < 1e-8);
                for (x, (a, b)) in [(fa, fb), (ta, tb)].iter().enumerate() {
                    let differences = [a.by_from - b.by_from, a.by_to - b.by_to];
                    for y in 0..2 {
                        let wanted = differences[y].transpose() * along / (2.0 * e);
                        let found = second[x][y].row(k);
                        prop_assert!((wanted - found).length() < 1e-8, "{x} {y} {k}: {wanted} {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_free_turn_keeps_its_momentum_about_a_principal_axis() {
        let q = |t: f64| rotation::exp(DVec3::Z * (2.0 * t));
        let p = |t: f64| Turning::new(q(t), q(t + 0.1), INERTIA, 0.1).momentum;
        assert!((p(0.0) - p(0.3)).length() < 1e-14);
        assert!((p(0.0) - DVec3::Z * (2.0 * INERTIA.z)).length() < 1e-14);
    }
}
