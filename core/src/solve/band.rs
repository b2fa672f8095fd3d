//! Cholesky factors of matrices whose blocks reach two blocks to either side: poses in time, each bound to the two before it and
//! the two after.
//!
//! Columns of the lower half lie one behind the other, each to the end of the second block below its own. The kernel goes along
//! columns and takes four at a time; it never mixes what is in different rows, so the bits do not depend on the width of registers.

/// A symmetric matrix of square blocks, block-pentadiagonal, or its factor.
#[derive(Clone, Debug, Default)]
pub struct Band {
    size: usize,
    blocks: usize,
    data: Vec<f64>,
}

/// `to += scale * of`, four of them, as far as `to` goes.
#[inline]
pub fn add_four(to: &mut [f64], scale: [f64; 4], of: [&[f64]; 4]) {
    let n = to.len();
    let [a, b, c, d] = of.map(|o| &o[..n]);
    for i in 0..n {
        to[i] += (scale[0] * a[i] + scale[1] * b[i]) + (scale[2] * c[i] + scale[3] * d[i]);
    }
}

/// `to += scale * of`.
#[inline]
pub fn add_one(to: &mut [f64], scale: f64, of: &[f64]) {
    to.iter_mut().zip(of).for_each(|(t, o)| *t += scale * o);
}

impl Band {
    /// So many blocks of so many rows, all zero.
    pub fn new(size: usize, blocks: usize) -> Band {
        Band { size, blocks, data: vec![0.0; size * blocks * size * 3] }
    }

    /// Rows of all blocks.
    pub fn rows(&self) -> usize {
        self.size * self.blocks
    }

    /// All zero again.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// Column `j` from its diagonal down, to the end of the second block below its own (beyond the last block: unused).
    #[inline]
    pub fn column(&mut self, j: usize) -> &mut [f64] {
        let wide = 3 * self.size;
        &mut self.data[j * wide..][..wide - j % self.size]
    }

    /// The largest number on the diagonal.
    pub fn largest_diagonal(&self) -> f64 {
        self.data.iter().step_by((3 * self.size).max(1)).fold(0.0, |m, d| m.max(d.abs()))
    }

    /// Takes over the numbers of another of the same size.
    pub fn copy_from(&mut self, other: &Band) {
        self.data.copy_from_slice(&other.data);
    }

    /// Factors it in place, `shift` added to its diagonal. Whether it is positive definite; else it is of no use any more.
    #[must_use]
    pub fn factor(&mut self, shift: f64) -> bool {
        let (n, wide) = (self.size, 3 * self.size);
        for j in 0..self.rows() {
            let (before, own) = self.data.split_at_mut(j * wide);
            let own = &mut own[..wide - j % n];
            own[0] += shift;
            let block = j / n;
            // What is in one block before this one ends at the same row.
            for b in block.saturating_sub(2)..=block {
                let end = if b == block { j } else { (b + 1) * n };
                let rows = (b + 3) * n - j;
                let to = &mut own[..rows];
                let column = |k: usize| &before[k * wide + (j - k)..][..rows];
                let mut k = b * n;
                while k + 4 <= end {
                    let of = [column(k), column(k + 1), column(k + 2), column(k + 3)];
                    add_four(to, of.map(|o| -o[0]), of);
                    k += 4;
                }
                for k in k..end {
                    add_one(to, -column(k)[0], column(k));
                }
            }
            let pivot = own[0];
            if pivot.is_nan() || pivot <= 0.0 {
                return false;
            }
            let per = 1.0 / pivot.sqrt();
            own.iter_mut().for_each(|v| *v *= per);
        }
        true
    }

    /// Solves with the factor, in place.
    pub fn solve(&self, x: &mut [f64]) {
        let (n, wide) = (self.size, 3 * self.size);
        let rows = self.rows();
        let length = |j: usize| ((j / n + 3) * n).min(rows) - j;
        for j in 0..rows {
            let column = &self.data[j * wide..][..length(j)];
            let (now, below) = x[j..].split_at_mut(1);
            now[0] /= column[0];
            add_one(below, -now[0], &column[1..]);
        }
        for j in (0..rows).rev() {
            let column = &self.data[j * wide..][..length(j)];
            let (now, below) = x[j..].split_at_mut(1);
            let sum: f64 = column[1..].iter().zip(below.iter()).map(|(c, x)| c * x).sum();
            now[0] = (now[0] - sum) / column[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn solves_as_a_dense_factor_does(size in 1..8_usize, blocks in 1..7_usize, seed in 0..1000_u32) {
            let rows = size * blocks;
            let number = |a: usize, b: usize| {
                let x = (a * 7919 + b * 104_729 + seed as usize * 31) % 1009;
                x as f64 / 504.0 - 1.0
            };
            let near = |a: usize, b: usize| (a / size).abs_diff(b / size) <= 2;
            let dense = DMatrix::from_fn(rows, rows, |a, b| match (near(a, b), a == b) {
                (_, true) => 3.0 * size as f64 + 3.0,
                (true, false) => number(a.max(b), a.min(b)),
                _ => 0.0,
            });
            let mut band = Band::new(size, blocks);
            for j in 0..rows {
                for (i, v) in band.column(j).iter_mut().enumerate().take_while(|(i, _)| j + i < rows) {
                    *v = dense[(j + i, j)];
                }
            }
            let b = DVector::from_fn(rows, |a, _| number(a, 3));
            let wanted = dense.clone().cholesky().expect("positive").solve(&b);
            let mut x = b.as_slice().to_vec();
            prop_assert!(band.factor(0.0));
            band.solve(&mut x);
            for (x, w) in x.iter().zip(wanted.iter()) {
                prop_assert!((x - w).abs() < 1e-12, "{x} for {w}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_is_refused_until_it_is_shifted() {
        let mut band = Band::new(1, 2);
        band.column(0)[0] = 1.0;
        band.column(0)[1] = 2.0;
        band.column(1)[0] = 1.0;
        let whole = band.clone();
        assert!(!band.factor(0.0));
        band.copy_from(&whole);
        assert!(band.factor(1.5));
    }
}
