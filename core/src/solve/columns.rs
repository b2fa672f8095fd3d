//! Several right sides at once, of which only a part of the solution is wanted: how bodies with joints answer to pushes at
//! some of them.
//!
//! A right side that is zero but at some joints leaves the others alone on the way down, except those that the
//! elimination reaches from there; and what is wanted at the same joints needs no others on the way up. In a tree that is
//! the way from these joints to its root.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::block::by_rows;
use super::cholesky::{BlockCholesky, Column};
use super::matrix::MOST;
use pulp::{Arch, Simd, WithSimd};

/// Right sides at a time: the six directions of a body, and two more that fill up the registers.
pub const SIDES: usize = 8;

/// The rows of one joint, each with all right sides.
pub type Sides = [[f64; SIDES]; MOST];

impl BlockCholesky {
    /// Adds, to the joints marked in `reach`, all those that solving for them needs.
    pub fn mark_reach(&self, reach: &mut [bool]) {
        for column in &self.columns {
            if reach[column.joint] {
                self.below[column.below.0..column.below.1].iter().for_each(|b| reach[b.joint] = true);
            }
        }
    }

    /// Solves `A x = b` in place at the joints marked in `reach`; at all others b is zero, and x is not told.
    pub fn solve_sides(&self, x: &mut [Sides], reach: &[bool]) {
        Arch::new().dispatch(Solving(self, x, reach));
    }

    #[inline(always)]
    fn down<const N: usize, const P: usize>(&self, column: &Column, x: &mut [Sides]) {
        let (per_pivot, unit) = self.diagonal::<N, P>(column);
        let mut v = x[column.joint];
        for c in 0..N {
            for r in c + 1..N {
                for s in 0..SIDES {
                    v[r][s] -= unit[c][r] * v[c][s];
                }
            }
        }
        for r in 0..N {
            for s in 0..SIDES {
                v[r][s] *= per_pivot[r];
            }
        }
        x[column.joint] = v;
        for block in &self.below[column.below.0..column.below.1] {
            by_rows!(self.rows[block.joint], M, Q => {
                let w = self.values[block.at..][..N * Q].as_chunks::<Q>().0;
                let y = &mut x[block.joint];
                for (w, z) in w.iter().zip(&v) {
                    for r in 0..M {
                        for s in 0..SIDES {
                            y[r][s] -= w[r] * z[s];
                        }
                    }
                }
            });
        }
    }

    #[inline(always)]
    fn up<const N: usize, const P: usize>(&self, column: &Column, x: &mut [Sides]) {
        let (per_pivot, unit) = self.diagonal::<N, P>(column);
        let mut sums = [[0.0; SIDES]; N];
        for block in &self.below[column.below.0..column.below.1] {
            by_rows!(self.rows[block.joint], M, Q => {
                let w = self.values[block.at..][..N * Q].as_chunks::<Q>().0;
                let y = &x[block.joint];
                for (w, sum) in w.iter().zip(&mut sums) {
                    for r in 0..M {
                        for s in 0..SIDES {
                            sum[s] += w[r] * y[r][s];
                        }
                    }
                }
            });
        }
        let v = &mut x[column.joint];
        for r in (0..N).rev() {
            for s in 0..SIDES {
                v[r][s] -= sums[r][s] * per_pivot[r];
            }
        }
        for r in (0..N).rev() {
            for c in 0..r {
                for s in 0..SIDES {
                    v[c][s] -= unit[c][r] * v[r][s];
                }
            }
        }
    }
}

/// Compiled for several widths of registers, see [`super::cholesky`].
struct Solving<'a>(&'a BlockCholesky, &'a mut [Sides], &'a [bool]);

impl WithSimd for Solving<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Solving(factor, x, reach) = self;
        for column in factor.columns.iter().filter(|c| reach[c.joint]) {
            by_rows!(column.rows, N, P => factor.down::<N, P>(column, x));
        }
        for column in factor.columns.iter().rev().filter(|c| reach[c.joint]) {
            by_rows!(column.rows, N, P => factor.up::<N, P>(column, x));
        }
    }
}
