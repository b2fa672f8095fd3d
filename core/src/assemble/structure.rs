//! Which joints share which bodies, and the matrix `J W J^T` that makes of them.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use crate::dynamics::top::Axes;
use crate::joint::{End, Joint, Row, Rows};
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

    #[inline(always)]
    fn apply(&self, row: &Row) -> Row {
        Row { linear: row.linear * self.shift, angular: self.turn * row.angular }
    }
}

/// The structure of a set of joints.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The bodies that each joint can move.
    pub ends: Vec<[Option<usize>; 2]>,
    /// Pairs of joints that share a body, larger index first.
    pub pairs: Vec<(usize, usize)>,
    /// For every pair: which ends of the two are the same body.
    shared: Vec<Vec<(usize, usize)>>,
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
        let mut all: Vec<((usize, usize), (usize, usize))> = Vec::new();
        for list in &at {
            for (k, &(i, ei)) in list.iter().enumerate() {
                for &(j, ej) in &list[..k] {
                    if i != j {
                        let ((i, ei), (j, ej)) = if i > j { ((i, ei), (j, ej)) } else { ((j, ej), (i, ei)) };
                        all.push(((i, j), (ei, ej)));
                    }
                }
            }
        }
        all.sort_unstable();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut shared: Vec<Vec<(usize, usize)>> = Vec::new();
        for (pair, ends) in all {
            match shared.last_mut() {
                Some(list) if pairs.last() == Some(&pair) => list.push(ends),
                _ => {
                    pairs.push(pair);
                    shared.push(vec![ends]);
                }
            }
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
            for row in &mut block[..n] {
                *row = [0.0; MOST];
            }
            for (e, body) in self.ends[j].iter().enumerate() {
                let Some(body) = *body else { continue };
                couple(block, (rows, e), (rows, e), &mobility[body]);
            }
        }
        for (k, &(i, j)) in self.pairs.iter().enumerate() {
            let block = &mut matrix.coupling[k];
            for row in &mut block[..rows[i].count] {
                *row = [0.0; MOST];
            }
            for &(ei, ej) in &self.shared[k] {
                let Some(body) = self.ends[i][ei] else { continue };
                couple(block, (&rows[i], ei), (&rows[j], ej), &mobility[body]);
            }
        }
    }

    /// `J^T` of the multipliers: force and torque on each body, added to what is there.
    #[inline(always)]
    pub fn spread(&self, rows: &[Rows], multipliers: &[[f64; MOST]], forces: &mut [(DVec3, DVec3)]) {
        for (j, rows) in rows.iter().enumerate() {
            for (e, body) in self.ends[j].iter().enumerate() {
                let Some(body) = *body else { continue };
                let force = &mut forces[body];
                for r in 0..rows.count {
                    force.0 += rows.on[e][r].linear * multipliers[j][r];
                    force.1 += rows.on[e][r].angular * multipliers[j][r];
                }
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
    let (mut rows, mut columns) = (0, 0);
    if a.point && b.point {
        // Points move as the body does: (r x e_i) . W (s x e_j) = e_i . (W (s x e_j) x r), and both along e_i only if i = j.
        let (on_a, on_b) = (&a.on[ea], &b.on[eb]);
        let lever = lever_of(on_a);
        let shift = on_a[0].linear.x * on_b[0].linear.x * mobility.shift;
        for c in 0..3 {
            let column = (mobility.turn * on_b[c].angular).cross(lever);
            for r in 0..3 {
                block[r][c] += column[r];
            }
            block[c][c] += shift;
        }
        (rows, columns) = (3, 3);
    }
    if a.count == rows && b.count == columns {
        return;
    }
    for c in 0..b.count {
        let first = if c < columns { rows } else { 0 };
        let row = &b.on[eb][c];
        let moved = mobility.apply(row);
        for r in first..a.count {
            block[r][c] += moved.rate(a.on[ea][r].linear, a.on[ea][r].angular);
        }
    }
}

/// The lever of a point whose rows turn as `lever x axis`.
#[inline(always)]
fn lever_of(on: &[Row; MOST]) -> DVec3 {
    // x cross y is z: (r x e_x) = (0, r_z, -r_y), (r x e_y) = (-r_z, 0, r_x).
    DVec3::new(on[1].angular.z, -on[0].angular.z, on[0].angular.y)
}
