//! A symmetric matrix in small dense blocks, one per joint, coupled where joints share a body.

use super::block::{Block, by_rows};

/// Most rows in a block: a joint has six directions.
pub const MOST: usize = 6;

/// A symmetric matrix in blocks: the diagonal ones and those below, by pairs of joints.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    /// Rows in use per block, at most [`MOST`].
    pub rows: Vec<usize>,
    /// Diagonal blocks, both triangles.
    pub diagonal: Vec<Block>,
    /// Pairs `(i, j)`, i > j, that are coupled.
    pub pairs: Vec<(usize, usize)>,
    /// Their blocks: rows of i by columns of j.
    pub coupling: Vec<Block>,
}

impl BlockMatrix {
    /// All zero, with the given couplings (each pair once, larger index first).
    pub fn new(blocks: usize, pairs: Vec<(usize, usize)>) -> BlockMatrix {
        let zero = [[0.0; MOST]; MOST];
        BlockMatrix {
            rows: vec![0; blocks],
            diagonal: vec![zero; blocks],
            coupling: vec![zero; pairs.len()],
            pairs,
        }
    }

    /// `y = A x`; vectors hold [`MOST`] places per block, of which those beyond a block's rows are left alone.
    pub fn multiply(&self, x: &[[f64; MOST]], y: &mut [[f64; MOST]]) {
        for (i, block) in self.diagonal.iter().enumerate() {
            by_rows!(self.rows[i], N, P => {
                for r in 0..N {
                    y[i][r] = (0..N).map(|c| block[r][c] * x[i][c]).sum();
                }
            });
        }
        for (&(i, j), block) in self.pairs.iter().zip(&self.coupling) {
            by_rows!(self.rows[i], M, P => by_rows!(self.rows[j], N, P => {
                let (xi, xj) = (x[i], x[j]);
                let (mut yi, mut yj) = (y[i], y[j]);
                for r in 0..M {
                    for c in 0..N {
                        yi[r] += block[r][c] * xj[c];
                        yj[c] += block[r][c] * xi[r];
                    }
                }
                (y[i], y[j]) = (yi, yj);
            }));
        }
    }
}
