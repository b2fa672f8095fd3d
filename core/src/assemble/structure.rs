//! Which joints share which bodies, and the matrix `J W J^T` that makes of them.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use crate::dynamics::top::Axes;
use crate::joint::{End, Joint, Row, Rows, SIGNS};
use crate::solve::{BlockMatrix, MOST};
use glam::{DMat3, DQuat, DVec3};

/// How much a body yields: `W` for one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// Displacement per force.
    pub shift: f64,
    /// Rotation vector per torque, world axes; symmetric.
    pub turn: DMat3,
}

impl Mobility {
    /// Nothing moves it.
    pub const NONE: Mobility = Mobility { shift: 0.0, turn: DMat3::ZERO };

    /// Of a body with these inverse masses, in the metric of mass.
    #[inline(always)]
    pub fn of(per_mass: f64, rotation: DQuat, per_inertia: DVec3) -> Mobility {
        Mobility { shift: per_mass, turn: Axes::new(rotation, per_inertia).matrix(per_inertia) }
    }

    /// The same with its axes known.
    #[inline(always)]
    pub fn along(per_mass: f64, axes: &DMat3, per_inertia: DVec3) -> Mobility {
        Mobility { shift: per_mass, turn: Axes::of(*axes, per_inertia).matrix(per_inertia) }
    }

    #[inline(always)]
    fn apply(&self, row: &Row) -> Row {
        Row { linear: row.linear * self.shift, angular: self.turn * row.angular }
    }
}

impl Default for Mobility {
    fn default() -> Self {
        Mobility::NONE
    }
}

/// The structure of a set of joints.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The bodies that each joint can move.
    pub ends: Vec<[Option<usize>; 2]>,
    /// Pairs of joints that share a body, larger index first.
    pub pairs: Vec<(usize, usize)>,
    /// The bodies that pairs share, pair by pair.
    shared: Vec<Shared>,
}

/// A body that two joints share.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// Which pair.
    pair: usize,
    body: usize,
    /// Which end of either it is.
    ends: (usize, usize),
    /// The pair's first.
    first: bool,
}

impl Structure {
    /// Of the joints between `bodies` solids. Keyed nodes, hands and the world couple nothing.
    pub fn new(joints: &[Joint], bodies: usize) -> Structure {
        let solid = |end: End| match end {
            End::Solid(s) => Some(s),
            End::World | End::Keys(_) | End::Hand(_) => None,
        };
        let ends: Vec<[Option<usize>; 2]> = joints.iter().map(|j| j.ends.map(solid)).collect();
        let mut at = vec![Vec::new(); bodies];
        for (j, ends) in ends.iter().enumerate() {
            for (e, body) in ends.iter().enumerate() {
                if let Some(body) = body {
                    at[*body].push((j, e));
                }
            }
        }
        let mut all = Vec::new();
        for (body, list) in at.iter().enumerate() {
            for (k, &(i, ei)) in list.iter().enumerate() {
                for &(j, ej) in &list[..k] {
                    if i != j {
                        let ((i, ei), (j, ej)) = if i > j { ((i, ei), (j, ej)) } else { ((j, ej), (i, ei)) };
                        all.push(((i, j), (ei, ej), body));
                    }
                }
            }
        }
        all.sort_unstable();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut shared = Vec::with_capacity(all.len());
        for (pair, ends, body) in all {
            let first = pairs.last() != Some(&pair);
            if first {
                pairs.push(pair);
            }
            shared.push(Shared { pair: pairs.len() - 1, body, ends, first });
        }
        Structure { ends, pairs, shared }
    }

    /// Makes the matrix `J W J^T`.
    #[inline(always)]
    pub fn fill(&self, matrix: &mut BlockMatrix, rows: &[Rows], mobility: &[Mobility]) {
        for (j, rows) in rows.iter().enumerate() {
            let n = rows.count;
            matrix.rows[j] = n;
            let block = &mut matrix.diagonal[j];
            *block = [[0.0; MOST]; MOST];
            for (e, body) in self.ends[j].iter().enumerate() {
                let Some(body) = *body else { continue };
                match rows.point {
                    true => couple_to_itself(block, rows, e, &mobility[body]),
                    false => couple(block, (rows, e), (rows, e), &mobility[body]),
                }
            }
            if rows.point {
                for c in 1..n {
                    for r in 0..c {
                        block[c][r] = block[r][c];
                    }
                }
            }
        }
        for &Shared { pair, body, ends: (ei, ej), first } in &self.shared {
            let block = &mut matrix.coupling[pair];
            let (a, b) = (&rows[self.pairs[pair].0], &rows[self.pairs[pair].1]);
            if first {
                *block = [[0.0; MOST]; MOST];
            }
            match a.point && b.point {
                true => couple_points(block, (a, ei), (b, ej), &mobility[body]),
                false => couple(block, (a, ei), (b, ej), &mobility[body]),
            }
        }
    }

    /// `J^T` of the multipliers: force and torque on each body, added to what is there.
    #[inline(always)]
    pub fn spread(&self, rows: &[Rows], multipliers: &[[f64; MOST]], forces: &mut [(DVec3, DVec3)]) {
        for (j, rows) in rows.iter().enumerate() {
            if let (true, [Some(a), Some(b)]) = (rows.turns, self.ends[j]) {
                let torque = rows.twist(&multipliers[j]);
                forces[a].1 -= torque;
                forces[b].1 += torque;
                continue;
            }
            for (e, body) in self.ends[j].iter().enumerate() {
                let Some(body) = *body else { continue };
                rows.push(e, &multipliers[j], &mut forces[body]);
            }
        }
    }
}

/// Adds what two joints do to each other through one body: each row of one with each of the other.
#[inline(always)]
fn couple(
    block: &mut [[f64; MOST]; MOST],
    (a, ea): (&Rows, usize),
    (b, eb): (&Rows, usize),
    mobility: &Mobility,
) {
    for c in 0..b.count {
        let moved = mobility.apply(&b.row(eb, c));
        for r in 0..a.count {
            let row = a.row(ea, r);
            block[r][c] += moved.rate(row.linear, row.angular);
        }
    }
}

/// The same of two points on points: these move as the body does, `(r x e_i) . W (s x e_j) = e_i . (W (s x e_j) x r)`,
/// both along `e_i` only if i = j; and what else the joints hold turns only.
#[inline(always)]
fn couple_points(
    block: &mut [[f64; MOST]; MOST],
    (a, ea): (&Rows, usize),
    (b, eb): (&Rows, usize),
    mobility: &Mobility,
) {
    let lever = a.levers[ea];
    let shift = SIGNS[ea] * SIGNS[eb] * mobility.shift;
    let turned = turn_point(&mobility.turn, b.levers[eb]);
    for c in 0..3 {
        let column = turned[c].cross(lever);
        for r in 0..3 {
            block[r][c] += column[r];
        }
        block[c][c] += shift;
        for r in 3..a.count {
            block[r][c] += turned[c].dot(a.on[ea][r].angular);
        }
    }
    for c in 3..b.count {
        let turned = mobility.turn * b.on[eb][c].angular;
        let column = turned.cross(lever);
        for r in 0..3 {
            block[r][c] += column[r];
        }
        for r in 3..a.count {
            block[r][c] += turned.dot(a.on[ea][r].angular);
        }
    }
}

/// The same of a point on a point with itself: what is above the diagonal, and on it.
#[inline(always)]
fn couple_to_itself(block: &mut [[f64; MOST]; MOST], rows: &Rows, e: usize, mobility: &Mobility) {
    let lever = rows.levers[e];
    let [x, y, z] = turn_point(&mobility.turn, lever);
    block[0][0] += x.y * lever.z - x.z * lever.y;
    block[0][1] += y.y * lever.z - y.z * lever.y;
    block[0][2] += z.y * lever.z - z.z * lever.y;
    block[1][1] += y.z * lever.x - y.x * lever.z;
    block[1][2] += z.z * lever.x - z.x * lever.z;
    block[2][2] += z.x * lever.y - z.y * lever.x;
    for c in 0..3 {
        block[c][c] += mobility.shift;
    }
    for c in 3..rows.count {
        let turned = mobility.turn * rows.on[e][c].angular;
        let column = turned.cross(lever);
        for r in 0..3 {
            block[r][c] += column[r];
        }
        for r in 3..=c {
            block[r][c] += turned.dot(rows.on[e][r].angular);
        }
    }
}

/// How a torque at a lever turns a body, per force along each axis: `W (s x e_j)`.
#[inline(always)]
fn turn_point(turn: &DMat3, s: DVec3) -> [DVec3; 3] {
    let [x, y, z] = [turn.x_axis, turn.y_axis, turn.z_axis];
    [y * s.z - z * s.y, z * s.x - x * s.z, x * s.y - y * s.x]
}
