//! What is done with dense blocks, written once for every size and unrolled by the compiler.
//!
//! Blocks of a factor lie column by column in lanes: column `c` of an m by n block is a run of m numbers, padded
//! so that three rows fill one register of four. Every kernel goes along lanes and never mixes them, so the padding
//! needs no masking, and the results are the same bits however wide the machine's registers are.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]
// Loops that are written out compare numbers that are known.
#![allow(clippy::int_plus_one, clippy::absurd_extreme_comparisons, unused_comparisons)]

use super::matrix::MOST;

/// A dense block, row by row; only the used rows and columns count.
pub(super) type Block = [[f64; MOST]; MOST];

/// Chooses code by a block's number of rows: `$rows` of them, in `$lanes` lanes. Nothing is done for none.
macro_rules! by_rows {
    ($n:expr, $rows:ident, $lanes:ident => $body:expr) => {
        match $n {
            1 => by_rows!(@ $rows 1, $lanes 1, $body),
            2 => by_rows!(@ $rows 2, $lanes 2, $body),
            3 => by_rows!(@ $rows 3, $lanes 4, $body),
            4 => by_rows!(@ $rows 4, $lanes 4, $body),
            5 => by_rows!(@ $rows 5, $lanes 8, $body),
            6 => by_rows!(@ $rows 6, $lanes 8, $body),
            _ => {}
        }
    };
    (@ $rows:ident $n:literal, $lanes:ident $p:literal, $body:expr) => {{
        #[allow(dead_code)]
        const $rows: usize = $n;
        #[allow(dead_code)]
        const $lanes: usize = $p;
        $body
    }};
}
pub(super) use by_rows;

/// A loop over the rows `$from..$n` of a block, with its body written out for each: the compiler's own unrolling
/// gives up on the larger blocks, and then they leave the registers.
macro_rules! each {
    ($i:ident in $from:expr, $n:expr => $body:expr) => {
        each!(@ $i, $from, $n, $body, 0 1 2 3 4 5)
    };
    (@ $i:ident, $from:expr, $n:expr, $body:expr, $($k:literal)*) => {
        $(
            if $k < $n && $k >= $from {
                let $i: usize = $k;
                $body
            }
        )*
    };
}

/// Lanes of a block with so many rows.
pub(super) fn lanes(rows: usize) -> usize {
    [0, 1, 2, 4, 4, 8, 8][rows]
}

/// A pivot below this share of what it began with has lost its digits; its row is left out.
const REGULARISATION: f64 = 1e-9;

/// The least pivots of a diagonal block.
#[inline(always)]
pub(super) fn least_pivots<const N: usize>(given: &Block) -> [f64; N] {
    std::array::from_fn(|r| given[r][r] * REGULARISATION)
}

/// The leading rows and columns of a symmetric block, in lanes.
#[inline(always)]
pub(super) fn load<const N: usize, const P: usize>(given: &Block) -> [[f64; P]; N] {
    load_from::<N, N, P>(given)
}

/// Columns of `M` lanes from the rows of a block.
#[inline(always)]
pub(super) fn load_from<const N: usize, const M: usize, const P: usize>(given: &Block) -> [[f64; P]; N] {
    let mut a = [[0.0; P]; N];
    for c in 0..N {
        a[c][..M].copy_from_slice(&given[c][..M]);
    }
    a
}

/// Columns of `M` lanes from the columns of a block.
#[inline(always)]
pub(super) fn load_across<const N: usize, const M: usize, const P: usize>(given: &Block) -> [[f64; P]; N] {
    let mut a = [[0.0; P]; N];
    for c in 0..N {
        for r in 0..M {
            a[c][r] = given[r][c];
        }
    }
    a
}

/// `a -= W D^-1 V^T`, W and V of one earlier column of the factor, D its pivots. `Q` are the lanes of V.
#[inline(always)]
pub(super) fn subtract<const N: usize, const P: usize, const Q: usize>(
    a: &mut [[f64; P]; N],
    w: &[f64],
    v: &[f64],
    per_pivot: &[f64],
) {
    for ((w, v), d) in w.as_chunks::<P>().0.iter().zip(v.as_chunks::<Q>().0).zip(per_pivot) {
        let w = w.map(|w| w * d);
        each!(c in 0, N => {
            for r in 0..P {
                a[c][r] -= w[r] * v[c];
            }
        });
    }
}

/// `A = L D L^T` of a symmetric block in place: below its diagonal L, whose diagonal is one. Returns one over D.
#[inline(always)]
pub(super) fn pivot<const N: usize, const P: usize>(a: &mut [[f64; P]; N], least: [f64; N]) -> [f64; N] {
    let mut per_pivot = [0.0; N];
    each!(c in 0, N => {
        let found = a[c][c];
        // A row that others say already bears nothing; rounding would have it bear without bounds, and them against it.
        // What is no number compares false and stays what it is, for all to see.
        per_pivot[c] = if found <= least[c] { 0.0 } else { 1.0 / found };
        let below = a[c];
        let scaled = below.map(|v| v * per_pivot[c]);
        each!(k in c + 1, N => {
            for r in 0..P {
                a[k][r] -= below[r] * scaled[k];
            }
        });
        a[c] = scaled;
    });
    per_pivot
}

/// `W = A L^-T`: what is below a diagonal block, its own L in `unit`.
#[inline(always)]
pub(super) fn divide<const N: usize, const P: usize, const Q: usize>(
    a: &mut [[f64; P]; N],
    unit: &[[f64; Q]; N],
) {
    each!(k in 0, N => {
        let w = a[k];
        each!(c in k + 1, N => {
            for r in 0..P {
                a[c][r] -= w[r] * unit[k][c];
            }
        });
    });
}

/// `v = L^-1 v`.
#[inline(always)]
pub(super) fn forward<const N: usize, const P: usize>(v: &mut [f64; N], unit: &[[f64; P]; N]) {
    each!(c in 0, N => {
        each!(r in c + 1, N => v[r] -= unit[c][r] * v[c]);
    });
}

/// `v = L^-T v`.
#[inline(always)]
pub(super) fn backward<const N: usize, const P: usize>(v: &mut [f64; N], unit: &[[f64; P]; N]) {
    each!(back in 0, N => {
        let r = N - 1 - back;
        each!(c in 0, r => v[c] -= unit[c][r] * v[r]);
    });
}
