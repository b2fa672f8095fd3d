//! Sparse Cholesky factorisation `A = L L^T` in blocks of one to six rows, one per joint.
//!
//! The structure (which joints share a body) is analysed once; every factorisation then walks the same lists and
//! allocates nothing. Rows of a block may come and go between factorisations (limits), within its six.
//! A pivot that has lost all its digits, as redundant constraints give, is lifted to the regularisation, so that
//! redundant rows share the load and nothing becomes NaN.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::order::minimum_degree;

/// Most rows in a block: a joint has six directions.
pub const MOST: usize = 6;

/// A dense block, row by row; only the used rows and columns count.
type Block = [[f64; MOST]; MOST];

/// A symmetric matrix in blocks: the diagonal ones and those below, by pairs of joints.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    /// Rows in use per block.
    pub rows: Vec<usize>,
    /// Diagonal blocks.
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

    /// `y = A x`; vectors hold [`MOST`] places per block.
    pub fn multiply(&self, x: &[[f64; MOST]], y: &mut [[f64; MOST]]) {
        for (i, block) in self.diagonal.iter().enumerate() {
            for r in 0..self.rows[i] {
                y[i][r] = (0..self.rows[i]).map(|c| block[r][c] * x[i][c]).sum();
            }
        }
        for (&(i, j), block) in self.pairs.iter().zip(&self.coupling) {
            for r in 0..self.rows[i] {
                for c in 0..self.rows[j] {
                    y[i][r] += block[r][c] * x[j][c];
                    y[j][c] += block[r][c] * x[i][r];
                }
            }
        }
    }
}

/// The factor, and the lists that make it.
#[derive(Clone, Debug)]
pub struct BlockCholesky {
    /// Joint at each position of the elimination order.
    order: Vec<usize>,
    /// Column `p` of the factor: `(position, index of its block)`, position > p.
    columns: Vec<Vec<(usize, usize)>>,
    /// Where each coupling of the matrix goes: block index, and whether it is transposed there.
    place: Vec<(usize, bool)>,
    /// For each column, the updates of later blocks: `(target block or diagonal, row entry, column entry)`.
    updates: Vec<Vec<Update>>,
    rows: Vec<usize>,
    diagonal: Vec<Block>,
    below: Vec<Block>,
}

/// `target -= L[i, p] L[j, p]^T`.
#[derive(Clone, Copy, Debug)]
struct Update {
    /// Block index, or `usize::MAX` for the diagonal of `i` (then i == j).
    target: usize,
    i: usize,
    j: usize,
    /// Entries of column p.
    left: usize,
    right: usize,
}

/// A pivot below this share of its diagonal has lost its digits; it is set to this share instead.
const REGULARISATION: f64 = 1e-9;

impl BlockCholesky {
    /// Analyses a structure.
    pub fn new(matrix: &BlockMatrix) -> BlockCholesky {
        let n = matrix.rows.len();
        let mut neighbours = vec![Vec::new(); n];
        for &(i, j) in &matrix.pairs {
            neighbours[i].push(j);
            neighbours[j].push(i);
        }
        let (order, coupled) = minimum_degree(&neighbours);
        let mut position = vec![0; n];
        for (p, &i) in order.iter().enumerate() {
            position[i] = p;
        }
        let mut count = 0;
        let columns: Vec<Vec<(usize, usize)>> = coupled
            .into_iter()
            .map(|list| {
                let first = count;
                count += list.len();
                list.into_iter().zip(first..).collect()
            })
            .collect();
        let find = |p: usize, q: usize| {
            let column: &Vec<(usize, usize)> = &columns[p];
            column.binary_search_by_key(&q, |e| e.0).map_or(usize::MAX, |k| column[k].1)
        };
        let place = matrix
            .pairs
            .iter()
            .map(|&(i, j)| {
                let (pi, pj) = (position[i], position[j]);
                // Columns hold later positions: the pair is stored as it is when i comes later.
                if pi > pj { (find(pj, pi), false) } else { (find(pi, pj), true) }
            })
            .collect();
        let updates = (0..n)
            .map(|p| {
                let column = &columns[p];
                let mut list = Vec::with_capacity(column.len() * (column.len() + 1) / 2);
                for (b, &(j, right)) in column.iter().enumerate() {
                    list.push(Update { target: usize::MAX, i: j, j, left: right, right });
                    for &(i, left) in &column[b + 1..] {
                        list.push(Update { target: find(j, i), i, j, left, right });
                    }
                }
                list
            })
            .collect();
        let zero = [[0.0; MOST]; MOST];
        BlockCholesky {
            order,
            columns,
            place,
            updates,
            rows: vec![0; n],
            diagonal: vec![zero; n],
            below: vec![zero; count],
        }
    }

    /// Factors a matrix of the structure that was analysed.
    pub fn factor(&mut self, matrix: &BlockMatrix) {
        let n = self.order.len();
        for block in &mut self.below {
            *block = [[0.0; MOST]; MOST];
        }
        for p in 0..n {
            let i = self.order[p];
            self.rows[p] = matrix.rows[i];
            self.diagonal[p] = matrix.diagonal[i];
        }
        for (block, &(at, transposed)) in matrix.coupling.iter().zip(&self.place) {
            self.below[at] = if transposed { transpose(block) } else { *block };
        }
        for p in 0..n {
            let m = self.rows[p];
            let given = &matrix.diagonal[self.order[p]];
            let scale = (0..m).fold(0.0_f64, |s, r| s.max(given[r][r]));
            pivot(&mut self.diagonal[p], m, scale * REGULARISATION);
            let l = self.diagonal[p];
            for &(q, at) in &self.columns[p] {
                // L[q, p] = A[q, p] L[p, p]^-T
                for row in self.below[at].iter_mut().take(self.rows[q]) {
                    for c in 0..m {
                        let mut v = row[c];
                        for k in 0..c {
                            v -= row[k] * l[c][k];
                        }
                        row[c] = v / l[c][c];
                    }
                }
            }
            for u in &self.updates[p] {
                let (left, right) = (self.below[u.left], self.below[u.right]);
                let (rows, columns) = (self.rows[u.i], self.rows[u.j]);
                let target =
                    if u.target == usize::MAX { &mut self.diagonal[u.i] } else { &mut self.below[u.target] };
                for r in 0..rows {
                    for c in 0..columns {
                        let mut v = target[r][c];
                        for k in 0..m {
                            v -= left[r][k] * right[c][k];
                        }
                        target[r][c] = v;
                    }
                }
            }
        }
    }

    /// Solves `A x = b` in place.
    pub fn solve(&self, x: &mut [[f64; MOST]]) {
        for (p, &i) in self.order.iter().enumerate() {
            let (m, l) = (self.rows[p], &self.diagonal[p]);
            let mut v = x[i];
            for r in 0..m {
                for k in 0..r {
                    v[r] -= l[r][k] * v[k];
                }
                v[r] /= l[r][r];
            }
            x[i] = v;
            for &(q, at) in &self.columns[p] {
                let y = &mut x[self.order[q]];
                for (r, row) in self.below[at].iter().enumerate().take(self.rows[q]) {
                    for k in 0..m {
                        y[r] -= row[k] * v[k];
                    }
                }
            }
        }
        for (p, &i) in self.order.iter().enumerate().rev() {
            let (m, l) = (self.rows[p], &self.diagonal[p]);
            let mut v = x[i];
            for &(q, at) in &self.columns[p] {
                let y = &x[self.order[q]];
                for (r, row) in self.below[at].iter().enumerate().take(self.rows[q]) {
                    for k in 0..m {
                        v[k] -= row[k] * y[r];
                    }
                }
            }
            for r in (0..m).rev() {
                for k in r + 1..m {
                    v[r] -= l[k][r] * v[k];
                }
                v[r] /= l[r][r];
            }
            x[i] = v;
        }
    }
}

fn transpose(block: &Block) -> Block {
    let mut t = [[0.0; MOST]; MOST];
    for (r, row) in block.iter().enumerate() {
        for (c, v) in row.iter().enumerate() {
            t[c][r] = *v;
        }
    }
    t
}

/// Cholesky of the leading `m` rows in place, pivots kept above `least`.
fn pivot(a: &mut Block, m: usize, least: f64) {
    for r in 0..m {
        for c in 0..=r {
            let mut v = a[r][c];
            for k in 0..c {
                v -= a[r][k] * a[c][k];
            }
            if r == c {
                // Not `max`: that would swallow a NaN.
                a[r][r] = if v > least {
                    v.sqrt()
                } else if least > 0.0 {
                    least.sqrt()
                } else {
                    1.0
                };
            } else {
                a[r][c] = v / a[c][c];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A random positive definite block matrix: J J^T of random rows that touch random bodies.
    fn random(blocks: usize, bodies: usize, seed: &[f64]) -> (BlockMatrix, Vec<[f64; MOST]>) {
        let mut next =
            seed.iter().cycle().copied().enumerate().map(|(i, v)| (v * 12.9898 + i as f64 * 78.233).sin());
        let mut roll = move || next.next().unwrap_or(0.5);
        let ends: Vec<(usize, usize)> = (0..blocks).map(|i| (i % bodies, (i * 7 + 3) % bodies)).collect();
        let mut pairs = Vec::new();
        for i in 0..blocks {
            for j in 0..i {
                let shared = [ends[i].0, ends[i].1].iter().any(|b| *b == ends[j].0 || *b == ends[j].1);
                if shared {
                    pairs.push((i, j));
                }
            }
        }
        let rows: Vec<usize> = (0..blocks).map(|i| 1 + (i * 5) % MOST).collect();
        let jacobian: Vec<[[f64; 6]; 12]> = (0..blocks)
            .map(|_| {
                let mut j = [[0.0; 6]; 12];
                j.iter_mut().flatten().for_each(|v| *v = roll());
                j
            })
            .collect();
        let product = |i: usize, r: usize, j: usize, c: usize| {
            let mut v = 0.0;
            for (si, bi) in [ends[i].0, ends[i].1].into_iter().enumerate() {
                for (sj, bj) in [ends[j].0, ends[j].1].into_iter().enumerate() {
                    if bi == bj {
                        v += (0..6)
                            .map(|k| jacobian[i][r + 6 * si][k] * jacobian[j][c + 6 * sj][k])
                            .sum::<f64>();
                    }
                }
            }
            v
        };
        let mut m = BlockMatrix::new(blocks, pairs);
        m.rows = rows;
        for i in 0..blocks {
            for r in 0..m.rows[i] {
                for c in 0..m.rows[i] {
                    m.diagonal[i][r][c] = product(i, r, i, c) + if r == c { 0.1 } else { 0.0 };
                }
            }
        }
        for k in 0..m.pairs.len() {
            let (i, j) = m.pairs[k];
            for r in 0..m.rows[i] {
                for c in 0..m.rows[j] {
                    m.coupling[k][r][c] = product(i, r, j, c);
                }
            }
        }
        let b = (0..blocks).map(|_| std::array::from_fn(|_| roll())).collect();
        (m, b)
    }

    proptest! {
        #[test]
        fn solving_undoes_multiplying(blocks in 1..30usize, bodies in 2..20usize, seed in prop::collection::vec(0.1..1.0_f64, 4)) {
            let (m, x) = random(blocks, bodies, &seed);
            let mut b = vec![[0.0; MOST]; blocks];
            m.multiply(&x, &mut b);
            let mut factor = BlockCholesky::new(&m);
            factor.factor(&m);
            factor.solve(&mut b);
            for i in 0..blocks {
                for r in 0..m.rows[i] {
                    prop_assert!((b[i][r] - x[i][r]).abs() < 1e-8, "block {i} row {r}: {} {}", b[i][r], x[i][r]);
                }
            }
        }
    }

    #[test]
    fn redundant_rows_share_the_load() {
        let mut m = BlockMatrix::new(2, vec![(1, 0)]);
        m.rows = vec![1, 1];
        m.diagonal[0][0][0] = 2.0;
        m.diagonal[1][0][0] = 2.0;
        m.coupling[0][0][0] = 2.0; // the same row twice
        let mut factor = BlockCholesky::new(&m);
        factor.factor(&m);
        let mut b = vec![[0.0; MOST]; 2];
        (b[0][0], b[1][0]) = (1.0, 1.0);
        factor.solve(&mut b);
        assert!((2.0 * (b[0][0] + b[1][0]) - 1.0).abs() < 1e-6, "{b:?}");
    }
}
