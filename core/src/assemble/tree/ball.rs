//! A limb on a ball: a point held firmly on its parent, about which nothing but springs turn it, as most limbs of a figure
//! are at most times. Then the turn is what is sought, three numbers instead of six forces (Featherstone 1983).
//!
//! With `r` from the body to the ball, `p` from the parent to it, `s` the sign and `b` what is wanted of the point's rows, and
//! `a_k` the springs' rows, which turn the two against each other by `u`:
//!
//! ```text
//!     v_i = X v_p + S u + c,   X (v, w) = (v + w x (p - r), w),   S u = (r x u, u),   c = (s b, 0)
//!     D u = S^T (g_i - M' (X v_p + c)) + A^T b / y,    M' = W^-1 + K,    D = S^T M' S + A^T A / y,    H = M' S
//!     p feels  K_p += X^T (M' - H D^-1 H^T) X,    g_p += X^T (g_i - M' c - H D^-1 e),    e = S^T g_i - H^T c + A^T b / y
//! ```

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{Six, Square};
use crate::joint::{Rows, SIGNS};
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// Springs that give by less than this share of what the body itself does are better solved as rows: their forces are
/// what is sought, and turns tell of them by their last digits.
const STIFF: f64 = 1e-3;

/// A ball and its springs, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ball {
    /// The joint that is the point, and the sign of its rows for this body.
    point: u32,
    sign: f64,
    /// r, and p - r.
    lever: DVec3,
    between: DVec3,
    springs: Springs,
    /// H, H D^-1 and D^-1, column by column.
    along: [Six; 3],
    follows: [Six; 3],
    per: DMat3,
    /// c, b / y and D^-1 e.
    wanted: DVec3,
    pulls: [f64; 3],
    turns: DVec3,
}

/// Rows that give, about the ball.
#[derive(Clone, Copy, Debug, Default)]
struct Springs {
    count: usize,
    /// Which row of which joint each is, a_k, and 1 / y.
    of: [(u32, u32); 3],
    axes: [DVec3; 3],
    firm: [f64; 3],
}

impl Ball {
    /// Takes the joints between a body and its parent, each with which of its ends the body is: whether they are a ball and
    /// springs.
    #[inline(always)]
    pub fn take(&mut self, joints: &[(u32, u8)], rows: &[Rows], gives: &[[f64; MOST]], turn: &DMat3) -> bool {
        let mut held = false;
        self.springs.count = 0;
        for &(j, e) in joints {
            let (own, gives, e) = (&rows[j as usize], &gives[j as usize], e as usize);
            if own.count == 0 {
                continue;
            }
            if own.point {
                if held || own.count != 3 || gives[..3] != [0.0; 3] {
                    return false;
                }
                held = true;
                (self.point, self.sign) = (j, SIGNS[e]);
                self.lever = own.levers[e] * SIGNS[e];
                self.between = own.levers[1 - e] * -SIGNS[e] - self.lever;
                continue;
            }
            for r in (0..own.count).filter(|r| gives[*r] != f64::INFINITY) {
                let (a, b) = (&own.on[e][r], &own.on[1 - e][r]);
                let turns = own.turns
                    || a.linear == DVec3::ZERO && b.linear == DVec3::ZERO && a.angular == -b.angular;
                let n = self.springs.count;
                if !turns || n == 3 || gives[r] <= STIFF * a.angular.dot(*turn * a.angular) {
                    return false;
                }
                self.springs.of[n] = (j, r as u32);
                self.springs.axes[n] = a.angular;
                self.springs.firm[n] = 1.0 / gives[r];
                self.springs.count = n + 1;
            }
        }
        held
    }

    /// Factors its turns, and has its parent bear the rest of the `mass` that hangs on it, M'.
    #[inline(always)]
    pub fn factor(&mut self, mass: &Square, holds: &mut Square) {
        let (r, d) = (self.lever, self.between);
        self.along = [
            sum(&mass[3], &mass[1], r.z, &mass[2], -r.y),
            sum(&mass[4], &mass[0], -r.z, &mass[2], r.x),
            sum(&mass[5], &mass[0], r.y, &mass[1], -r.x),
        ];
        let turned = |h: &Six| {
            let (linear, angular) = halves(h);
            angular + linear.cross(r)
        };
        let [x, y, z] = &self.along;
        let mut left = DMat3::from_cols(turned(x), turned(y), turned(z));
        for k in 0..self.springs.count {
            let (axis, firm) = (self.springs.axes[k], self.springs.firm[k]);
            left.x_axis += axis * (axis.x * firm);
            left.y_axis += axis * (axis.y * firm);
            left.z_axis += axis * (axis.z * firm);
        }
        self.per = left.inverse();
        for (follows, per) in self.follows.iter_mut().zip([self.per.x_axis, self.per.y_axis, self.per.z_axis])
        {
            for i in 0..6 {
                follows[i] = x[i] * per.x + y[i] * per.y + z[i] * per.z;
            }
        }
        let f = &self.follows;
        let mut rest = *mass;
        for k in 0..6 {
            for i in 0..6 {
                rest[k][i] -= f[0][i] * x[k] + f[1][i] * y[k] + f[2][i] * z[k];
            }
        }
        let turns = [
            sum(&rest[3], &rest[1], -d.z, &rest[2], d.y),
            sum(&rest[4], &rest[0], d.z, &rest[2], -d.x),
            sum(&rest[5], &rest[0], -d.y, &rest[1], d.x),
        ];
        for k in 0..3 {
            let (linear, angular) = halves(&turns[k]);
            let angular = angular + d.cross(linear);
            for i in 0..3 {
                holds[k][i] += rest[k][i];
                holds[k][3 + i] += turns[i][k];
                holds[3 + k][i] += turns[k][i];
                holds[3 + k][3 + i] += angular[i];
            }
        }
    }

    /// From the leaves: what its parent feels of what is wanted and of `pushed`, g.
    #[inline(always)]
    pub fn down(&mut self, mass: &Square, wanted: &[[f64; MOST]], pushed: &Six, parent: &mut Six) {
        let b = &wanted[self.point as usize];
        let c = DVec3::new(b[0], b[1], b[2]) * self.sign;
        let (linear, angular) = halves(pushed);
        let by = |h: &Six| h[0] * c.x + h[1] * c.y + h[2] * c.z;
        let [x, y, z] = &self.along;
        let mut e = angular + linear.cross(self.lever) - DVec3::new(by(x), by(y), by(z));
        for k in 0..self.springs.count {
            let (j, of) = self.springs.of[k];
            self.pulls[k] = wanted[j as usize][of as usize] * self.springs.firm[k];
            e += self.springs.axes[k] * self.pulls[k];
        }
        (self.wanted, self.turns) = (c, self.per * e);
        let f = &self.follows;
        let mut left = *pushed;
        for i in 0..6 {
            left[i] -= mass[0][i] * c.x + mass[1][i] * c.y + mass[2][i] * c.z;
            left[i] -= f[0][i] * e.x + f[1][i] * e.y + f[2][i] * e.z;
        }
        let twist = self.between.cross(halves(&left).0);
        let twist = [0.0, 0.0, 0.0, twist.x, twist.y, twist.z];
        for i in 0..6 {
            parent[i] += left[i] + twist[i];
        }
    }

    /// From the root: how it moves with its parent, and the forces.
    #[inline(always)]
    pub fn up(&self, mass: &Square, pushed: &Six, parent: &Six, moved: &mut Six, forces: &mut [[f64; MOST]]) {
        let (velocity, spin) = halves(parent);
        let velocity = velocity + spin.cross(self.between);
        let carried = [velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z];
        let by = |h: &Six| super::dot(h, &carried);
        let u = self.turns - DVec3::new(by(&self.follows[0]), by(&self.follows[1]), by(&self.follows[2]));
        let (v, w) = (velocity + self.lever.cross(u) + self.wanted, spin + u);
        *moved = [v.x, v.y, v.z, w.x, w.y, w.z];
        let force = &mut forces[self.point as usize];
        for i in 0..3 {
            force[i] = (super::dot(&mass[i], moved) - pushed[i]) * self.sign;
        }
        for k in 0..self.springs.count {
            let (j, of) = self.springs.of[k];
            forces[j as usize][of as usize] =
                self.pulls[k] - self.springs.axes[k].dot(u) * self.springs.firm[k];
        }
    }

    /// How it moves when its parent moves like each of these columns: X v_p + S u, with u = -(H D^-1)^T X v_p.
    #[inline(always)]
    pub fn carry(&self, parent: &Square) -> Square {
        let (r, d) = (self.lever, self.between);
        let mut moved = [
            sum(&parent[0], &parent[4], d.z, &parent[5], -d.y),
            sum(&parent[1], &parent[3], -d.z, &parent[5], d.x),
            sum(&parent[2], &parent[3], d.y, &parent[4], -d.x),
            parent[3],
            parent[4],
            parent[5],
        ];
        let mut turns = [[0.0; 6]; 3];
        for (turns, follows) in turns.iter_mut().zip(&self.follows) {
            for k in 0..6 {
                (0..6).for_each(|c| turns[c] -= follows[k] * moved[k][c]);
            }
        }
        let [x, y, z] = &turns;
        moved[0] = sum(&moved[0], z, r.y, y, -r.z);
        moved[1] = sum(&moved[1], x, r.z, z, -r.x);
        moved[2] = sum(&moved[2], y, r.x, x, -r.y);
        for k in 0..3 {
            (0..6).for_each(|c| moved[3 + k][c] += turns[k][c]);
        }
        moved
    }

    /// What a push on it does if the parent does not move: S D^-1 S^T; D is symmetric.
    #[inline(always)]
    pub fn alone(&self) -> Square {
        let r = self.lever;
        let swung = [r.cross(self.per.x_axis), r.cross(self.per.y_axis), r.cross(self.per.z_axis)];
        let mut alone = [[0.0; 6]; 6];
        for k in 0..3 {
            let row = DVec3::new(swung[0][k], swung[1][k], swung[2][k]);
            alone[k] = six(r.cross(row), row);
            alone[3 + k] = six(swung[k], self.per.col(k));
        }
        alone
    }
}

/// Velocity and spin, or force and torque.
#[inline(always)]
fn halves(of: &Six) -> (DVec3, DVec3) {
    (DVec3::new(of[0], of[1], of[2]), DVec3::new(of[3], of[4], of[5]))
}

/// `a + b by + c other`
#[inline(always)]
fn sum(a: &Six, b: &Six, by: f64, c: &Six, other: f64) -> Six {
    let mut sum = *a;
    for i in 0..6 {
        sum[i] += b[i] * by + c[i] * other;
    }
    sum
}

#[inline(always)]
fn six(linear: DVec3, angular: DVec3) -> Six {
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}
