//! A body and the rows that tie it to its parent, as the matrices of [`super`]: up to eight rows of any kind.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::{MOST_ROWS, Six, Square, dot, six, times};
use crate::joint::{Rows, SIGNS};
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// A pivot below this share of what it began with has lost its digits; its row bears nothing, those that say the same do.
const REGULARISATION: f64 = 1e-9;

/// A body and what ties it to its parent, in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// It hangs on a ball, which then has the rest, with M' for K; or so many rows tie it.
    pub on_ball: bool,
    pub count: usize,
    /// Which row of which joint each is.
    pub of: [(u32, u32); MOST_ROWS],
    /// J_i, J_i W', and L^-1 J_p.
    pub own: [Six; MOST_ROWS],
    pub yields_along: [Six; MOST_ROWS],
    pub tied: [Six; MOST_ROWS],
    /// L below its diagonal, column by column, and one over D.
    pub lower: [[f64; MOST_ROWS]; MOST_ROWS],
    pub per_pivot: [f64; MOST_ROWS],
    /// W' and K.
    pub yields: Square,
    pub holds: Square,
    /// g, t and v.
    pub pushed: Six,
    pub left: [f64; MOST_ROWS],
    pub moved: Six,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            on_ball: false,
            count: 0,
            of: [(0, 0); MOST_ROWS],
            own: [[0.0; 6]; MOST_ROWS],
            yields_along: [[0.0; 6]; MOST_ROWS],
            tied: [[0.0; 6]; MOST_ROWS],
            lower: [[0.0; MOST_ROWS]; MOST_ROWS],
            per_pivot: [0.0; MOST_ROWS],
            yields: [[0.0; 6]; 6],
            holds: [[0.0; 6]; 6],
            pushed: [0.0; 6],
            left: [0.0; MOST_ROWS],
            moved: [0.0; 6],
        }
    }
}

impl Link {
    /// M', in place of K.
    #[inline(always)]
    pub fn weigh(&mut self, shift: f64, turn: &DMat3) {
        let (mass, inertia) = (1.0 / shift, turn.inverse());
        for k in 0..3 {
            self.holds[k][k] += mass;
            (0..3).for_each(|i| self.holds[3 + k][3 + i] += inertia.col(k)[i]);
        }
    }

    /// What it yields with all that hangs on it.
    #[inline(always)]
    pub fn yield_with(&mut self, shift: f64, turn: &DMat3) {
        if self.holds == [[0.0; 6]; 6] {
            self.yields = [[0.0; 6]; 6];
            for k in 0..3 {
                self.yields[k][k] = shift;
                (0..3).for_each(|i| self.yields[3 + k][3 + i] = turn.col(k)[i]);
            }
            return;
        }
        let block = |r: usize, c: usize| {
            let column = |k: usize| DVec3::new(self.holds[k][c], self.holds[k][c + 1], self.holds[k][c + 2]);
            DMat3::from_cols(column(r), column(r + 1), column(r + 2))
        };
        // (a b; b^T c)^-1 with c' what is left of c without a. Columns are rows here.
        let a = (block(0, 0) + DMat3::from_diagonal(DVec3::splat(1.0 / shift))).inverse();
        let b = block(3, 0);
        let reduced = a * b;
        let c = (block(3, 3) + turn.inverse() - b.transpose() * reduced).inverse();
        let across = reduced * c;
        let a = a + across * reduced.transpose();
        for k in 0..3 {
            let (from, to, low) = (a.col(k), across.transpose().col(k), c.col(k));
            let low_left = across.col(k);
            self.yields[k] = [from.x, from.y, from.z, -to.x, -to.y, -to.z];
            self.yields[3 + k] = [-low_left.x, -low_left.y, -low_left.z, low.x, low.y, low.z];
        }
    }

    /// Adds the rows of a joint whose end `e` it is.
    #[inline(always)]
    pub fn add(
        &mut self,
        (j, rows): (u32, &Rows),
        e: usize,
        gives: &[f64; MOST],
        give: &mut [f64; MOST_ROWS],
    ) {
        let mut first = 0;
        if rows.point && gives[..3] == [0.0; 3] {
            let (own, tied) = (rows.levers[e], rows.levers[1 - e]);
            for (sixes, lever, sign) in [(&mut self.own, own, SIGNS[e]), (&mut self.tied, tied, SIGNS[1 - e])]
            {
                let [x, y, z]: &mut [Six; 3] =
                    (&mut sixes[self.count..self.count + 3]).try_into().expect("three rows");
                *x = [sign, 0.0, 0.0, 0.0, lever.z, -lever.y];
                *y = [0.0, sign, 0.0, -lever.z, 0.0, lever.x];
                *z = [0.0, 0.0, sign, lever.y, -lever.x, 0.0];
            }
            for r in 0..3 {
                (self.of[self.count + r], give[self.count + r]) = ((j, r as u32), 0.0);
            }
            self.count += 3;
            first = 3;
        }
        for r in first..rows.count {
            if gives[r] == f64::INFINITY {
                continue;
            }
            let at = self.count;
            self.of[at] = (j, r as u32);
            self.own[at] = six(rows.row(e, r));
            self.tied[at] = six(rows.row(1 - e, r));
            give[at] = gives[r];
            self.count += 1;
        }
    }

    /// Factors what its rows yield, and has its parent bear them.
    #[inline(always)]
    pub fn factor<const M: usize>(&mut self, give: &[f64; MOST_ROWS], holds: Option<&mut Square>) {
        let mut left = [[0.0; M]; M];
        for r in 0..M {
            self.yields_along[r] = times(&self.yields, &self.own[r]);
            for c in 0..=r {
                left[r][c] = dot(&self.yields_along[r], &self.own[c]);
            }
            left[r][r] += give[r];
        }
        let first: [f64; M] = std::array::from_fn(|r| left[r][r]);
        for c in 0..M {
            // What is no number compares false and stays what it is, for all to see.
            let per = if left[c][c] <= REGULARISATION * first[c] { 0.0 } else { 1.0 / left[c][c] };
            self.per_pivot[c] = per;
            for r in c + 1..M {
                let by = left[r][c] * per;
                for k in c + 1..=r {
                    left[r][k] -= by * left[k][c];
                }
                self.lower[c][r] = by;
            }
        }
        let Some(holds) = holds else { return };
        for c in 0..M {
            let done = self.tied[c];
            for r in c + 1..M {
                let by = self.lower[c][r];
                (0..6).for_each(|i| self.tied[r][i] -= by * done[i]);
            }
        }
        for r in 0..6 {
            let mut row = holds[r];
            for c in 0..M {
                let by = self.tied[c][r] * self.per_pivot[c];
                (0..6).for_each(|i| row[i] += by * self.tied[c][i]);
            }
            holds[r] = row;
        }
    }

    /// From the leaves: what is left of what is wanted, and what its parent feels of that.
    #[inline(always)]
    pub fn down<const M: usize>(&mut self, wanted: &[[f64; MOST]], pushed: Option<&mut Six>) {
        let mut left: [f64; M] = std::array::from_fn(|r| {
            let (j, of) = self.of[r];
            wanted[j as usize][of as usize] - dot(&self.own[r], &self.moved)
        });
        for c in 0..M {
            for r in c + 1..M {
                left[r] -= self.lower[c][r] * left[c];
            }
        }
        for r in 0..M {
            self.left[r] = left[r] * self.per_pivot[r];
        }
        if let Some(pushed) = pushed {
            for r in 0..M {
                (0..6).for_each(|k| pushed[k] += self.tied[r][k] * self.left[r]);
            }
        }
    }

    /// From the root: forces along its rows, and how it moves.
    #[inline(always)]
    pub fn up<const M: usize>(&mut self, moved: Option<&Six>, forces: &mut [[f64; MOST]]) {
        let mut q: [f64; M] = std::array::from_fn(|r| self.left[r]);
        if let Some(moved) = moved {
            for r in 0..M {
                q[r] -= dot(&self.tied[r], moved) * self.per_pivot[r];
            }
        }
        for r in (0..M).rev() {
            for k in r + 1..M {
                q[r] -= self.lower[r][k] * q[k];
            }
            let (j, of) = self.of[r];
            forces[j as usize][of as usize] = q[r];
        }
        for r in 0..M {
            (0..6).for_each(|k| self.moved[k] += self.yields_along[r][k] * q[r]);
        }
    }

    /// How it moves with its parent, and what a push on it does if the parent does not move.
    #[inline(always)]
    pub fn pass<const M: usize>(&self, passes: &mut Square, alone: &mut Square) {
        let mut along: [Six; M] = std::array::from_fn(|r| self.yields_along[r]);
        for c in 0..M {
            for r in c + 1..M {
                let by = self.lower[c][r];
                (0..6).for_each(|i| along[r][i] -= by * along[c][i]);
            }
        }
        for c in 0..M {
            for r in 0..6 {
                let by = along[c][r] * self.per_pivot[c];
                for i in 0..6 {
                    passes[r][i] -= by * self.tied[c][i];
                    alone[r][i] -= by * along[c][i];
                }
            }
        }
    }
}
