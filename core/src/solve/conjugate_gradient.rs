//! Conjugate gradients (Hestenes and Stiefel 1952), preconditioned with the diagonal blocks.
//!
//! For budgets: every iteration brings the solution nearer, so that it can be stopped at any time, and a solution
//! from before is a start. On chains it needs as many iterations as there are joints; there the factorisation is
//! better at any precision.
//!
//! The residuals of the iterates go up and down. What is returned is their mean with the least residual so far
//! (minimal residual smoothing, Zhou and Walker 1994), whose residual only falls: more iterations are never worse.
//!
//! Redundant rows make the matrix singular, which does no harm as long as they agree. Where they contradict each
//! other no solution exists, and the iterates run away in the end; the mean stays where the contradiction is shared.

// Comparisons are written so that what is no number ends them.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

use super::jacobi::BlockJacobi;
use super::matrix::{BlockMatrix, MOST};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Most iterations.
    pub iterations: usize,
    /// Residual that is small enough, as a share of the right-hand side's length.
    pub tolerance: f64,
}

impl Default for Budget {
    /// As good as the factorisation, on systems of ordinary size.
    fn default() -> Self {
        Budget { iterations: 10_000, tolerance: 1e-12 }
    }
}

/// What a solution took, and how good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Iterations done.
    pub iterations: usize,
    /// Length of `b - A x` as a share of that of `b`. Not a number where `b` or the matrix has one that is none.
    pub residual: f64,
}

/// Iterations without progress after which none is expected, beyond one per row.
const PATIENCE: usize = 20;

/// Progress is a residual below this share of that at the last progress.
const PROGRESS: f64 = 0.9;

/// A direction with less curvature than this share of what its joints alone have is one along which nothing changes:
/// what there is, is rounding. A chain of a thousand joints has 1e-6.
const FLAT: f64 = 1e-10;

/// An iterate whose residual is so many times that of the mean has run away, and takes its digits with it.
const RUNAWAY: f64 = 1e4;

/// The room to solve in. Solving allocates nothing.
#[derive(Clone, Debug)]
pub struct ConjugateGradient {
    blocks: BlockJacobi,
    residual: Vec<[f64; MOST]>,
    /// The residual as the blocks answer it.
    answer: Vec<[f64; MOST]>,
    direction: Vec<[f64; MOST]>,
    product: Vec<[f64; MOST]>,
    iterate: Vec<[f64; MOST]>,
    /// The residual of the mean of iterates; that itself is where the caller wants it.
    least: Vec<[f64; MOST]>,
}

impl ConjugateGradient {
    /// Room for so many blocks.
    pub fn new(blocks: usize) -> ConjugateGradient {
        let zero = vec![[0.0; MOST]; blocks];
        ConjugateGradient {
            blocks: BlockJacobi::new(blocks),
            residual: zero.clone(),
            answer: zero.clone(),
            direction: zero.clone(),
            product: zero.clone(),
            iterate: zero.clone(),
            least: zero,
        }
    }

    /// Factors the diagonal blocks.
    pub fn prepare(&mut self, matrix: &BlockMatrix) {
        self.blocks.prepare(matrix);
    }

    /// Solves `A x = b` from the `x` given, until the budget is spent or `go_on` says no.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        b: &[[f64; MOST]],
        x: &mut [[f64; MOST]],
        budget: &Budget,
        mut go_on: impl FnMut() -> bool,
    ) -> Effort {
        let rows = &matrix.rows;
        let size = dot(rows, b, b).sqrt();
        let mut best = self.start(matrix, b, x);
        // A start that is worse than none, or no number.
        if !(best <= size) {
            x.fill([0.0; MOST]);
            best = self.start(matrix, b, x);
        }
        if size == 0.0 || !best.is_finite() {
            return Effort { iterations: 0, residual: if size == 0.0 { 0.0 } else { best / size } };
        }
        let patience = PATIENCE + rows.iter().sum::<usize>();
        let (mut iterations, mut waited, mut progress) = (0, 0, best);
        self.least.copy_from_slice(&self.residual);
        self.blocks.solve(&self.residual, &mut self.answer);
        self.direction.copy_from_slice(&self.answer);
        let mut height = dot(rows, &self.residual, &self.answer);
        // The direction's curvature if no joints were coupled.
        let mut alone = height;
        while best > budget.tolerance * size && iterations < budget.iterations && waited < patience {
            // The clock is the caller's: asked before, so that no time means no iteration.
            if !go_on() {
                break;
            }
            iterations += 1;
            matrix.multiply(&self.direction, &mut self.product);
            let curvature = dot(rows, &self.direction, &self.product);
            let step = height / curvature;
            // These are false for what is no number, too.
            if !(curvature > FLAT * alone && step > 0.0 && step.is_finite()) {
                break;
            }
            add(rows, &mut self.iterate, step, &self.direction);
            add(rows, &mut self.residual, -step, &self.product);
            if !(dot(rows, &self.residual, &self.residual).sqrt() < RUNAWAY * best) {
                break;
            }
            best = self.smooth(rows, x);
            waited += 1;
            if best < PROGRESS * progress {
                (progress, waited) = (best, 0);
            }
            self.blocks.solve(&self.residual, &mut self.answer);
            let next = dot(rows, &self.residual, &self.answer);
            let share = next / height;
            height = next;
            // The residual is at right angles to the direction before, so that there is no mixed term.
            alone = height + share * share * alone;
            for ((d, a), &n) in self.direction.iter_mut().zip(&self.answer).zip(rows) {
                d[..n].iter_mut().zip(a).for_each(|(d, a)| *d = a + share * *d);
            }
        }
        // Updated along the way it only drifts; measured it is what the caller has.
        let mut length = self.start(matrix, b, x);
        if !(length <= size) {
            x.fill([0.0; MOST]);
            length = size;
        }
        Effort { iterations, residual: length / size }
    }

    /// Moves the mean `x` towards the iterate as far as its residual falls. Returns the length of that.
    fn smooth(&mut self, rows: &[usize], x: &mut [[f64; MOST]]) -> f64 {
        let (mut along, mut square) = (0.0, 0.0);
        for ((r, s), &n) in self.residual.iter().zip(&self.least).zip(rows) {
            for (r, s) in r[..n].iter().zip(s) {
                along += s * (s - r);
                square += (s - r) * (s - r);
            }
        }
        let share = if square > 0.0 { (along / square).clamp(0.0, 1.0) } else { 0.0 };
        towards(rows, x, share, &self.iterate);
        towards(rows, &mut self.least, share, &self.residual);
        dot(rows, &self.least, &self.least).sqrt()
    }

    /// Takes `x` for the iterate. Returns the length of its residual.
    fn start(&mut self, matrix: &BlockMatrix, b: &[[f64; MOST]], x: &[[f64; MOST]]) -> f64 {
        self.iterate.copy_from_slice(x);
        self.residual.copy_from_slice(b);
        matrix.multiply(x, &mut self.product);
        add(&matrix.rows, &mut self.residual, -1.0, &self.product);
        dot(&matrix.rows, &self.residual, &self.residual).sqrt()
    }
}

/// The product of two vectors, over the rows in use.
fn dot(rows: &[usize], a: &[[f64; MOST]], b: &[[f64; MOST]]) -> f64 {
    let one = |((a, b), &n): ((&[f64; MOST], &[f64; MOST]), &usize)| -> f64 {
        a[..n].iter().zip(b).map(|(a, b)| a * b).sum()
    };
    a.iter().zip(b).zip(rows).map(one).sum()
}

/// `a += share b`, over the rows in use.
fn add(rows: &[usize], a: &mut [[f64; MOST]], share: f64, b: &[[f64; MOST]]) {
    for ((a, b), &n) in a.iter_mut().zip(b).zip(rows) {
        a[..n].iter_mut().zip(b).for_each(|(a, b)| *a += share * b);
    }
}

/// `a += share (b - a)`, over the rows in use.
fn towards(rows: &[usize], a: &mut [[f64; MOST]], share: f64, b: &[[f64; MOST]]) {
    for ((a, b), &n) in a.iter_mut().zip(b).zip(rows) {
        a[..n].iter_mut().zip(b).for_each(|(a, b)| *a += share * (b - *a));
    }
}
