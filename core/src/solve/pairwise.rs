//! Pairwise displacements (Lamouret and Gascuel 1996, eq. 5 and 6): the cheapest answer there is.
//!
//! Each joint closes itself as if it were alone, `x_j = w_j D_j^-1 b_j`, with the weight `w_j = 1 / max(n_1, n_2)`,
//! n the numbers of joints on its two bodies: a body that many joints move at once is moved too far by none. One
//! sweep closes nothing that is coupled; the caller repeats it, each time with the errors of the new pose.

use super::jacobi::BlockJacobi;
use super::matrix::{BlockMatrix, MOST};

/// The weights of the joints, and their blocks.
#[derive(Clone, Debug)]
pub struct Pairwise {
    weights: Vec<f64>,
    blocks: BlockJacobi,
}

impl Pairwise {
    /// For joints with these weights.
    pub fn new(weights: Vec<f64>) -> Pairwise {
        let blocks = BlockJacobi::new(weights.len());
        Pairwise { weights, blocks }
    }

    /// The weight of each joint, given the bodies at its two ends; an end that nothing moves is none.
    pub fn weights(ends: &[[Option<usize>; 2]]) -> Vec<f64> {
        let bodies = ends.iter().flatten().flatten().max().map_or(0, |b| b + 1);
        let mut joints = vec![0_u32; bodies];
        ends.iter().flatten().flatten().for_each(|&b| joints[b] += 1);
        let most = |ends: &[Option<usize>; 2]| ends.iter().flatten().map(|&b| joints[b]).max();
        ends.iter().map(|ends| 1.0 / f64::from(most(ends).unwrap_or(1))).collect()
    }

    /// Factors the diagonal blocks.
    pub fn prepare(&mut self, matrix: &BlockMatrix) {
        self.blocks.prepare(matrix);
    }

    /// One sweep; places beyond a block's rows are left alone.
    pub fn solve(&self, matrix: &BlockMatrix, b: &[[f64; MOST]], x: &mut [[f64; MOST]]) {
        self.blocks.solve(b, x);
        for ((x, weight), &rows) in x.iter_mut().zip(&self.weights).zip(&matrix.rows) {
            x[..rows].iter_mut().for_each(|v| *v *= weight);
        }
    }
}
