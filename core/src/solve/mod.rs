//! Linear algebra that knows its structure: sparse symmetric systems in small dense blocks.
//!
//! A [`BlockMatrix`] is solved by one of three tiers behind one [`Solver`]: [`BlockCholesky`] directly,
//! [`ConjugateGradient`] within a budget, [`Pairwise`] in one sweep. A `Band` is what poses in time are bound by.

pub(crate) mod band;
mod block;
mod cholesky;
mod columns;
mod conjugate_gradient;
mod jacobi;
mod matrix;
mod order;
mod pairwise;
mod solver;

pub use cholesky::BlockCholesky;
pub use columns::{SIDES, Sides};
pub use conjugate_gradient::{Budget, ConjugateGradient, Effort};
pub use matrix::{BlockMatrix, MOST};
pub use order::eliminate;
pub use pairwise::Pairwise;
pub use solver::{Solver, Tier};
