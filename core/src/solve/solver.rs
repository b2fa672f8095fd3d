//! One front for the three ways to solve a system, from exact to cheap.

use super::cholesky::BlockCholesky;
use super::conjugate_gradient::{Budget, ConjugateGradient, Effort};
use super::matrix::{BlockMatrix, MOST};
use super::pairwise::Pairwise;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tier {
    /// By factorisation: precise, and on chains and nets faster than iterating at any precision.
    #[default]
    Direct,
    /// By conjugate gradients, within a budget.
    Iterative(Budget),
    /// One sweep of joints that know nothing of each other.
    Pairwise,
}

/// A tier with the room it needs. Solving allocates nothing.
#[derive(Clone, Debug)]
pub struct Solver(Method);

#[derive(Clone, Debug)]
enum Method {
    Direct(BlockCholesky),
    Iterative(ConjugateGradient, Budget),
    Pairwise(Pairwise),
}

impl Solver {
    /// Analyses a structure. `ends` are the bodies that each joint moves.
    pub fn new(tier: Tier, matrix: &BlockMatrix, ends: &[[Option<usize>; 2]]) -> Solver {
        Solver(match tier {
            Tier::Direct => Method::Direct(BlockCholesky::new(matrix)),
            Tier::Iterative(budget) => Method::Iterative(ConjugateGradient::new(matrix.rows.len()), budget),
            Tier::Pairwise => Method::Pairwise(Pairwise::new(Pairwise::weights(ends))),
        })
    }

    /// Makes what solving needs of a matrix of the structure that was analysed.
    pub fn prepare(&mut self, matrix: &BlockMatrix) {
        match &mut self.0 {
            Method::Direct(factor) => factor.factor(matrix),
            Method::Iterative(gradient, _) => gradient.prepare(matrix),
            Method::Pairwise(pairwise) => pairwise.prepare(matrix),
        }
    }

    /// The factor, if there is one.
    pub fn direct(&self) -> Option<&BlockCholesky> {
        match &self.0 {
            Method::Direct(factor) => Some(factor),
            _ => None,
        }
    }

    /// [`Self::solve`] whatever `x` is, iterating from zero.
    pub fn solve_anew(
        &mut self,
        matrix: &BlockMatrix,
        b: &[[f64; MOST]],
        x: &mut [[f64; MOST]],
        go_on: impl FnMut() -> bool,
    ) -> Option<Effort> {
        if !matches!(self.0, Method::Direct(_)) {
            x.fill([0.0; MOST]);
        }
        self.solve(matrix, b, x, go_on)
    }

    /// Solves `A x = b` with the matrix that was prepared. Iterating starts from the `x` given and ends early when
    /// `go_on` says no; only iterating tells what it took.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        b: &[[f64; MOST]],
        x: &mut [[f64; MOST]],
        go_on: impl FnMut() -> bool,
    ) -> Option<Effort> {
        match &mut self.0 {
            Method::Direct(factor) => {
                x.copy_from_slice(b);
                factor.solve(x);
                None
            }
            Method::Iterative(gradient, budget) => Some(gradient.solve(matrix, b, x, budget, go_on)),
            Method::Pairwise(pairwise) => {
                pairwise.solve(matrix, b, x);
                None
            }
        }
    }
}
