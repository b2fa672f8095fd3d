//! The diagonal blocks of a matrix alone, factored: each joint as if it were the only one.

use super::block::{Block, backward, by_rows, forward, least_pivots, load, pivot};
use super::matrix::{BlockMatrix, MOST};

/// `L D L^T` of every diagonal block, with rows left out as in the whole factorisation.
#[derive(Clone, Debug)]
pub(super) struct BlockJacobi {
    rows: Vec<usize>,
    /// L without its diagonal of ones, column by column.
    unit: Vec<Block>,
    per_pivot: Vec<[f64; MOST]>,
}

impl BlockJacobi {
    pub(super) fn new(blocks: usize) -> BlockJacobi {
        BlockJacobi {
            rows: vec![0; blocks],
            unit: vec![[[0.0; MOST]; MOST]; blocks],
            per_pivot: vec![[0.0; MOST]; blocks],
        }
    }

    pub(super) fn prepare(&mut self, matrix: &BlockMatrix) {
        self.rows.copy_from_slice(&matrix.rows);
        for (i, given) in matrix.diagonal.iter().enumerate() {
            by_rows!(self.rows[i], N, P => {
                let mut a = load::<N, P>(given);
                self.per_pivot[i][..N].copy_from_slice(&pivot(&mut a, least_pivots::<N>(given)));
                for (kept, made) in self.unit[i].iter_mut().zip(&a) {
                    kept[..N].copy_from_slice(&made[..N]);
                }
            });
        }
    }

    /// `x = D^-1 b` for each block's own `D`; places beyond its rows are left alone.
    pub(super) fn solve(&self, b: &[[f64; MOST]], x: &mut [[f64; MOST]]) {
        for (i, (b, x)) in b.iter().zip(x).enumerate() {
            by_rows!(self.rows[i], N, P => {
                let unit: &[[f64; MOST]; N] = self.unit[i].first_chunk().unwrap_or(&[[0.0; MOST]; N]);
                let mut v: [f64; N] = std::array::from_fn(|r| b[r]);
                forward(&mut v, unit);
                v.iter_mut().zip(&self.per_pivot[i]).for_each(|(v, d)| *v *= d);
                backward(&mut v, unit);
                x[..N].copy_from_slice(&v);
            });
        }
    }
}
