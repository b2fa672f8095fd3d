//! Linear algebra that knows its structure: sparse symmetric systems in small dense blocks.

mod cholesky;
mod order;

pub use cholesky::{BlockCholesky, BlockMatrix, MOST};
pub use order::minimum_degree;
