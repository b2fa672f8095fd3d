//! Linear algebra that knows its structure: sparse symmetric systems in small dense blocks.

mod block;
mod cholesky;
mod matrix;
mod order;

pub use cholesky::BlockCholesky;
pub use matrix::{BlockMatrix, MOST};
pub use order::minimum_degree;
