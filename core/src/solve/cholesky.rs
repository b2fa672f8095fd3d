//! Sparse Cholesky factorisation `A = L D L^T` in blocks of up to six rows, one per joint.
//!
//! The structure (which joints share a body) is analysed once; every factorisation then walks the same lists and
//! allocates nothing. Rows of a block may come and go between factorisations (limits), within its six: the room for
//! that is there from the start, but what is in use lies close together.
//! A pivot that has lost all its digits, as redundant constraints give, is left out: the row bears nothing, and those
//! that say the same bear it all. What is no number is never taken for one: the solution has it, too.
//!
//! Columns are made one after the other, each from the matrix and all earlier columns ("left-looking"): a block
//! stays in registers until it is done, and is written once. Kept is `W = L D`, not L.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::block::{
    backward, by_rows, divide, forward, lanes, least_pivots, load, load_across, load_from, pivot, subtract,
};
use super::matrix::{BlockMatrix, MOST};
use super::order::eliminate;
use pulp::{Arch, Simd, WithSimd};

/// The factor, and the lists that make it. "Column" and "position" mean those of the elimination order.
#[derive(Clone, Debug)]
pub struct BlockCholesky {
    pub(super) columns: Vec<Column>,
    /// Blocks below the diagonal, column by column.
    pub(super) below: Vec<Below>,
    /// Updates of the diagonal blocks and those below, target by target.
    updates: Vec<Update>,
    /// The same in this factor.
    terms: Vec<Term>,
    /// Rows of each joint in this factor.
    pub(super) rows: Vec<usize>,
    /// Per column: one over its pivots, the lower triangle of its diagonal block, and the blocks below.
    pub(super) values: Vec<f64>,
}

/// From here to there in a list.
type Stretch = (usize, usize);

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) joint: usize,
    pub(super) below: Stretch,
    /// Of its diagonal block.
    updates: Stretch,
    /// In use, in this factor.
    pub(super) rows: usize,
    /// Its place among the values, in this factor.
    at: usize,
}

/// A block below the diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    /// The joint of its row.
    pub(super) joint: usize,
    source: Source,
    updates: Stretch,
    /// Its place among the values, in this factor.
    pub(super) at: usize,
}

/// What a block is before its updates.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Not in the matrix: it fills in.
    Nothing,
    /// The coupling with this index: rows of the column's joint.
    Coupling(usize),
    /// The coupling with this index: columns of the column's joint.
    Across(usize),
}

/// `target[q, p] -= W[q, j] D[j]^-1 W[p, j]^T`: indices of the blocks `[q, j]` and `[p, j]`, and j.
#[derive(Clone, Copy, Debug)]
struct Update {
    row: u32,
    other: u32,
    column: u32,
}

/// An [`Update`] in this factor: places among the values of W of both blocks and of one over D, and the rows of j.
#[derive(Clone, Copy, Debug, Default)]
struct Term {
    row: u32,
    other: u32,
    per_pivot: u32,
    rows: u32,
}

impl BlockCholesky {
    /// Analyses a structure.
    pub fn new(matrix: &BlockMatrix) -> BlockCholesky {
        let n = matrix.rows.len();
        let mut neighbours = vec![Vec::new(); n];
        for &(i, j) in &matrix.pairs {
            neighbours[i].push(j);
            neighbours[j].push(i);
        }
        let (order, coupled) = eliminate(&neighbours);
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(p, &i)| position[i] = p);

        let mut first = Vec::with_capacity(n + 1);
        first.push(0);
        coupled.iter().for_each(|list| first.push(first[first.len() - 1] + list.len()));
        let count = first[n];
        let find = |p: usize, q: usize| first[p] + coupled[p].partition_point(|&e| e < q);

        let mut sources = vec![Source::Nothing; count];
        for (k, &(i, j)) in matrix.pairs.iter().enumerate() {
            let (pi, pj) = (position[i], position[j]);
            match pi < pj {
                true => sources[find(pi, pj)] = Source::Coupling(k),
                false => sources[find(pj, pi)] = Source::Across(k),
            }
        }

        // Targets are the diagonal blocks, then those below.
        let mut by_target = vec![Vec::new(); n + count];
        for (j, list) in coupled.iter().enumerate() {
            for (b, &p) in list.iter().enumerate() {
                let index = |k: usize| (first[j] + k) as u32;
                by_target[p].push(Update { row: index(b), other: index(b), column: j as u32 });
                for (a, &q) in list.iter().enumerate().skip(b + 1) {
                    let update = Update { row: index(a), other: index(b), column: j as u32 };
                    by_target[n + find(p, q)].push(update);
                }
            }
        }
        let mut updates = Vec::with_capacity(by_target.iter().map(Vec::len).sum());
        let mut stretches = by_target.iter().map(|list| {
            updates.extend_from_slice(list);
            (updates.len() - list.len(), updates.len())
        });
        let column = |(p, updates)| Column {
            joint: order[p],
            below: (first[p], first[p + 1]),
            updates,
            rows: 0,
            at: 0,
        };
        let columns = (0..n).zip(stretches.by_ref()).map(column).collect();
        let joints = coupled.iter().flatten().map(|&q| order[q]);
        let below = joints
            .zip(sources)
            .zip(stretches)
            .map(|((joint, source), updates)| Below { joint, source, updates, at: 0 })
            .collect();
        let most = (n * (MOST + 1) + count * MOST) * lanes(MOST);
        let terms = vec![Term::default(); updates.len()];
        BlockCholesky { columns, below, updates, terms, rows: vec![0; n], values: vec![0.0; most] }
    }

    /// Factors a matrix of the structure that was analysed.
    pub fn factor(&mut self, matrix: &BlockMatrix) {
        if self.rows != matrix.rows {
            self.lay_out(&matrix.rows);
        }
        Arch::new().dispatch(Factoring(self, matrix));
    }

    /// Finds the places of all blocks.
    fn lay_out(&mut self, rows: &[usize]) {
        self.rows.copy_from_slice(rows);
        let mut at = 0;
        for column in &mut self.columns {
            column.rows = rows[column.joint];
            column.at = at;
            at += (1 + column.rows) * lanes(column.rows);
            for block in &mut self.below[column.below.0..column.below.1] {
                block.at = at;
                at += column.rows * lanes(rows[block.joint]);
            }
        }
        for (term, update) in self.terms.iter_mut().zip(&self.updates) {
            let column = &self.columns[update.column as usize];
            *term = Term {
                row: self.below[update.row as usize].at as u32,
                other: self.below[update.other as usize].at as u32,
                per_pivot: column.at as u32,
                rows: column.rows as u32,
            };
        }
    }

    #[inline(always)]
    fn make_columns(&mut self, matrix: &BlockMatrix) {
        for p in 0..self.columns.len() {
            by_rows!(self.columns[p].rows, N, P => self.make_column::<N, P>(p, matrix));
        }
    }

    /// The same with a function for every size: all in one take the compiler longer than anything else here, which is worth
    /// it only where registers are wide.
    fn make_columns_apart(&mut self, matrix: &BlockMatrix) {
        #[inline(never)]
        fn apart<const N: usize, const P: usize>(of: &mut BlockCholesky, p: usize, matrix: &BlockMatrix) {
            of.make_column::<N, P>(p, matrix);
        }
        for p in 0..self.columns.len() {
            by_rows!(self.columns[p].rows, N, P => apart::<N, P>(self, p, matrix));
        }
    }

    #[inline(always)]
    fn make_column<const N: usize, const P: usize>(&mut self, p: usize, matrix: &BlockMatrix) {
        let column = self.columns[p];
        let (earlier, values) = self.values.split_at_mut(column.at);
        let given = &matrix.diagonal[column.joint];
        let mut unit = load::<N, P>(given);
        subtract_terms::<N, P, P>(&mut unit, earlier, &self.terms[column.updates.0..column.updates.1]);
        let per_pivot = pivot(&mut unit, least_pivots::<N>(given));
        values[..N].copy_from_slice(&per_pivot);
        values[P..][..N * P].copy_from_slice(unit.as_flattened());
        for block in &self.below[column.below.0..column.below.1] {
            by_rows!(self.rows[block.joint], M, Q => {
                let mut w = match block.source {
                    Source::Nothing => [[0.0; Q]; N],
                    Source::Coupling(k) => load_from::<N, M, Q>(&matrix.coupling[k]),
                    Source::Across(k) => load_across::<N, M, Q>(&matrix.coupling[k]),
                };
                subtract_terms::<N, Q, P>(&mut w, earlier, &self.terms[block.updates.0..block.updates.1]);
                divide(&mut w, &unit);
                values[block.at - column.at..][..N * Q].copy_from_slice(w.as_flattened());
            });
        }
    }

    /// Solves `A x = b` in place.
    pub fn solve(&self, x: &mut [[f64; MOST]]) {
        Arch::new().dispatch(Substituting(self, x));
    }

    #[inline(always)]
    fn substitute(&self, x: &mut [[f64; MOST]]) {
        for column in &self.columns {
            by_rows!(column.rows, N, P => self.go_down::<N, P>(column, x));
        }
        for column in self.columns.iter().rev() {
            by_rows!(column.rows, N, P => self.go_up::<N, P>(column, x));
        }
    }

    /// `z = D^-1 L^-1 b` of a column; takes `W z` from those below.
    #[inline(always)]
    fn go_down<const N: usize, const P: usize>(&self, column: &Column, x: &mut [[f64; MOST]]) {
        let (per_pivot, unit) = self.diagonal::<N, P>(column);
        let mut v: [f64; N] = std::array::from_fn(|r| x[column.joint][r]);
        forward(&mut v, unit);
        let z: [f64; N] = std::array::from_fn(|r| v[r] * per_pivot[r]);
        x[column.joint][..N].copy_from_slice(&z);
        for block in &self.below[column.below.0..column.below.1] {
            by_rows!(self.rows[block.joint], M, Q => {
                let w = self.values[block.at..][..N * Q].as_chunks::<Q>().0;
                let y = &mut x[block.joint];
                for (w, z) in w.iter().zip(&z) {
                    for r in 0..M {
                        y[r] -= w[r] * z;
                    }
                }
            });
        }
    }

    /// `x = L^-T (z - D^-1 W^T x)` of a column, with the x of those below.
    #[inline(always)]
    fn go_up<const N: usize, const P: usize>(&self, column: &Column, x: &mut [[f64; MOST]]) {
        let (per_pivot, unit) = self.diagonal::<N, P>(column);
        let mut sums = [0.0; N];
        for block in &self.below[column.below.0..column.below.1] {
            by_rows!(self.rows[block.joint], M, Q => {
                let w = self.values[block.at..][..N * Q].as_chunks::<Q>().0;
                let y = &x[block.joint];
                for (w, sum) in w.iter().zip(&mut sums) {
                    for r in 0..M {
                        *sum += w[r] * y[r];
                    }
                }
            });
        }
        let mut v: [f64; N] = std::array::from_fn(|r| x[column.joint][r] - sums[r] * per_pivot[r]);
        backward(&mut v, unit);
        x[column.joint][..N].copy_from_slice(&v);
    }

    /// One over the pivots of a column, and the lower triangle of its diagonal block.
    #[inline(always)]
    pub(super) fn diagonal<const N: usize, const P: usize>(
        &self,
        column: &Column,
    ) -> (&[f64], &[[f64; P]; N]) {
        let values = &self.values[column.at..][..(1 + N) * P];
        let (pivots, unit) = values.split_at(P);
        (&pivots[..N], unit.as_chunks::<P>().0.first_chunk().unwrap_or(&[[0.0; P]; N]))
    }
}

/// What is compiled for several widths of registers, of which the machine's is chosen at run time. Only whole
/// functions can be, with all they call in them; closures would stay outside.
struct Factoring<'a>(&'a mut BlockCholesky, &'a BlockMatrix);

impl WithSimd for Factoring<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match S::IS_SCALAR {
            true => self.0.make_columns_apart(self.1),
            false => self.0.make_columns(self.1),
        }
    }
}

/// As [`Factoring`].
struct Substituting<'a>(&'a BlockCholesky, &'a mut [[f64; MOST]]);

impl WithSimd for Substituting<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.substitute(self.1);
    }
}

/// Takes the terms, of columns made earlier, from a block with `N` columns (of a joint in `Q` lanes) and `P` lanes.
#[inline(always)]
fn subtract_terms<const N: usize, const P: usize, const Q: usize>(
    a: &mut [[f64; P]; N],
    earlier: &[f64],
    terms: &[Term],
) {
    for term in terms {
        let rows = term.rows as usize;
        let w = &earlier[term.row as usize..][..rows * P];
        let v = &earlier[term.other as usize..][..rows * Q];
        let per_pivot = &earlier[term.per_pivot as usize..][..rows];
        // Joints of the same kind are the rule; then the number of terms is known, too.
        if rows == N {
            subtract::<N, P, Q>(a, &w[..N * P], &v[..N * Q], &per_pivot[..N]);
        } else {
            subtract::<N, P, Q>(a, w, v, per_pivot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joints in a ring with a few crossings, their rows from one to six.
    fn ring(blocks: usize) -> BlockMatrix {
        let mut pairs: Vec<(usize, usize)> = (1..blocks).map(|i| (i, i - 1)).collect();
        pairs.extend((2..blocks).map(|i| (i, (i * 7 + 3) % (i - 1))));
        pairs.sort_unstable();
        pairs.dedup();
        let mut matrix = BlockMatrix::new(blocks, pairs);
        let value = |k: usize, r: usize, c: usize| ((k * 36 + r * 6 + c) as f64 * 12.9898).sin();
        for i in 0..blocks {
            matrix.rows[i] = 1 + (i * 5) % MOST;
            for r in 0..MOST {
                for c in 0..MOST {
                    matrix.diagonal[i][r][c] = value(i, r.max(c), r.min(c)) + if r == c { 40.0 } else { 0.0 };
                }
            }
        }
        for (k, block) in matrix.coupling.iter_mut().enumerate() {
            *block = std::array::from_fn(|r| std::array::from_fn(|c| value(k + blocks, r, c)));
        }
        matrix
    }

    #[test]
    fn wider_registers_give_the_same_bits() {
        let matrix = ring(60);
        let mut wide = BlockCholesky::new(&matrix);
        let mut narrow = wide.clone();
        wide.factor(&matrix);
        narrow.lay_out(&matrix.rows);
        narrow.make_columns(&matrix);
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&wide.values), bits(&narrow.values));
        let mut x: Vec<[f64; MOST]> = matrix.diagonal.iter().map(|block| block[0]).collect();
        let mut y = x.clone();
        wide.solve(&mut x);
        narrow.substitute(&mut y);
        assert_eq!(bits(x.as_flattened()), bits(y.as_flattened()));
        assert!(x.as_flattened().iter().all(|v| v.is_finite()));
    }
}
