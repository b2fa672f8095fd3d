//! Sparse systems: every tier against a dense reference, redundant, contradictory and hostile ones.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use sinew_core::solve::{
    BlockCholesky, BlockMatrix, Budget, ConjugateGradient, MOST, Pairwise, SIDES, Sides, Solver, Tier,
};
use sprs::TriMat;

type Vector = Vec<[f64; MOST]>;
type Ends = Vec<[Option<usize>; 2]>;

/// Joints between bodies: rows of random directions at both ends.
#[derive(Clone, Debug)]
struct Joints {
    ends: Ends,
    rows: Vec<usize>,
    directions: Vec<[[[f64; 6]; MOST]; 2]>,
}

fn roll(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
}

fn vector(seed: &mut u64, blocks: usize) -> Vector {
    (0..blocks).map(|_| std::array::from_fn(|_| roll(seed))).collect()
}

impl Joints {
    fn random(rows: &[usize], bodies: usize, seed: &mut u64) -> Joints {
        let mut body = || ((roll(seed) + 1.0) * 0.5 * (bodies + 1) as f64) as usize;
        let ends: Ends = rows.iter().map(|_| [body(), body()].map(|b| (b < bodies).then_some(b))).collect();
        let mut rows_of = || std::array::from_fn(|_| std::array::from_fn(|_| roll(seed)));
        let directions = rows.iter().map(|_| [rows_of(), rows_of()]).collect();
        Joints { ends, rows: rows.to_vec(), directions }
    }

    /// The same joints in a tree, each with a body of its own: no row depends on the others.
    fn planted(mut self, seed: &mut u64) -> Joints {
        for (i, ends) in self.ends.iter_mut().enumerate() {
            let before = ((roll(seed) + 1.0) * 0.5 * i as f64) as usize;
            *ends = [Some(i), (before < i).then_some(before)];
        }
        self
    }

    /// Every joint twice.
    fn doubled(mut self) -> Joints {
        self.ends.extend_from_within(..);
        self.rows.extend_from_within(..);
        self.directions.extend_from_within(..);
        self
    }

    fn product(&self, (i, r): (usize, usize), (j, c): (usize, usize)) -> f64 {
        let mut sum = 0.0;
        for (ei, bi) in self.ends[i].iter().enumerate() {
            for (ej, bj) in self.ends[j].iter().enumerate() {
                if bi.is_some() && bi == bj {
                    let (u, v) = (&self.directions[i][ei][r], &self.directions[j][ej][c]);
                    sum += u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
                }
            }
        }
        sum
    }

    /// `J J^T + softness`. What no row uses is no number, which must not matter.
    fn matrix(&self, softness: f64) -> BlockMatrix {
        let n = self.rows.len();
        let coupled =
            |i: usize, j: usize| self.ends[i].iter().any(|b| b.is_some() && self.ends[j].contains(b));
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| coupled(i, j));
        let mut matrix = BlockMatrix::new(n, pairs.collect());
        matrix.diagonal.iter_mut().chain(&mut matrix.coupling).for_each(|b| *b = [[f64::NAN; MOST]; MOST]);
        matrix.rows.copy_from_slice(&self.rows);
        for i in 0..n {
            for r in 0..self.rows[i] {
                for c in 0..self.rows[i] {
                    matrix.diagonal[i][r][c] =
                        self.product((i, r), (i, c)) + if r == c { softness } else { 0.0 };
                }
            }
        }
        for k in 0..matrix.pairs.len() {
            let (i, j) = matrix.pairs[k];
            for r in 0..self.rows[i] {
                for c in 0..self.rows[j] {
                    matrix.coupling[k][r][c] = self.product((i, r), (j, c));
                }
            }
        }
        matrix
    }
}

/// The matrix, row by row, of the rows in use; and where each of them is.
fn entries(matrix: &BlockMatrix) -> (DMatrix<f64>, Vec<(usize, usize)>) {
    let places: Vec<(usize, usize)> =
        matrix.rows.iter().enumerate().flat_map(|(i, &n)| (0..n).map(move |r| (i, r))).collect();
    let pair = |i, j| matrix.pairs.iter().position(|&p| p == (i, j)).map(|k| &matrix.coupling[k]);
    let entry = |row: usize, column: usize| {
        let ((i, r), (j, c)) = (places[row], places[column]);
        match i.cmp(&j) {
            std::cmp::Ordering::Equal => matrix.diagonal[i][r][c],
            std::cmp::Ordering::Greater => pair(i, j).map_or(0.0, |block| block[r][c]),
            std::cmp::Ordering::Less => pair(j, i).map_or(0.0, |block| block[c][r]),
        }
    };
    (DMatrix::from_fn(places.len(), places.len(), entry), places)
}

/// Solves with nalgebra's dense Cholesky factorisation.
fn dense(matrix: &BlockMatrix, b: &Vector) -> Vector {
    let (a, places) = entries(matrix);
    let v = DVector::from_iterator(places.len(), places.iter().map(|&(i, r)| b[i][r]));
    let v = a.cholesky().expect("positive definite").solve(&v);
    let mut x = b.clone();
    places.iter().zip(v.iter()).for_each(|(&(i, r), v)| x[i][r] = *v);
    x
}

fn used<'a>(rows: &'a [usize], x: &'a Vector) -> impl Iterator<Item = f64> + 'a {
    x.iter().zip(rows).flat_map(|(x, &n)| x[..n].iter().copied())
}

fn length(rows: &[usize], x: &Vector) -> f64 {
    used(rows, x).map(|v| v * v).sum::<f64>().sqrt()
}

/// The largest difference as a share of the largest entry.
fn difference(rows: &[usize], x: &Vector, reference: &Vector) -> f64 {
    let most = used(rows, reference).fold(1e-300_f64, |m, v| m.max(v.abs()));
    used(rows, x).zip(used(rows, reference)).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / most
}

fn residual(matrix: &BlockMatrix, x: &Vector, b: &Vector) -> f64 {
    let mut y = b.clone();
    matrix.multiply(x, &mut y);
    let left: Vector = y.iter().zip(b).map(|(y, b)| std::array::from_fn(|r| b[r] - y[r])).collect();
    length(&matrix.rows, &left) / length(&matrix.rows, b).max(1e-300)
}

fn direct(matrix: &BlockMatrix, b: &Vector) -> Vector {
    let mut factor = BlockCholesky::new(matrix);
    factor.factor(matrix);
    let mut x = b.clone();
    factor.solve(&mut x);
    x
}

fn solve_with(tier: Tier, matrix: &BlockMatrix, ends: &Ends, b: &Vector) -> Vector {
    let mut solver = Solver::new(tier, matrix, ends);
    solver.prepare(matrix);
    let mut x = vec![[0.0; MOST]; b.len()];
    solver.solve(matrix, b, &mut x, || true);
    x
}

fn rows() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..=MOST, 1..30)
}

proptest! {
    #[test]
    fn all_ways_agree_with_the_dense_one(rows in rows(), bodies in 1..20usize, mut seed: u64) {
        let joints = Joints::random(&rows, bodies, &mut seed);
        let matrix = joints.matrix(0.3);
        let b = vector(&mut seed, rows.len());
        let reference = dense(&matrix, &b);
        let budget = Budget { tolerance: 1e-13, ..Budget::default() };
        for tier in [Tier::Direct, Tier::Iterative(budget)] {
            let x = solve_with(tier, &matrix, &joints.ends, &b);
            let off = difference(&rows, &x, &reference);
            prop_assert!(off < 1e-9, "{tier:?}: {off:e}");
        }
    }

    #[test]
    fn products_agree_with_those_of_a_sparse_matrix_of_numbers(rows in rows(), bodies in 1..20usize, mut seed: u64) {
        let matrix = Joints::random(&rows, bodies, &mut seed).matrix(0.3);
        let x = vector(&mut seed, rows.len());
        let (a, places) = entries(&matrix);
        let mut triplets = TriMat::new(a.shape());
        for r in 0..places.len() {
            for c in (0..places.len()).filter(|&c| a[(r, c)] != 0.0) {
                triplets.add_triplet(r, c, a[(r, c)]);
            }
        }
        let numbers: Vec<f64> = places.iter().map(|&(i, r)| x[i][r]).collect();
        let mut expected = vec![0.0; places.len()];
        sprs::prod::mul_acc_mat_vec_csr(triplets.to_csr::<usize>().view(), &numbers[..], &mut expected[..]);
        let mut y = vec![[0.0; MOST]; rows.len()];
        matrix.multiply(&x, &mut y);
        for (&(i, r), e) in places.iter().zip(&expected) {
            prop_assert!((y[i][r] - e).abs() < 1e-12 * places.len() as f64, "{} {e}", y[i][r]);
        }
    }

    #[test]
    fn rows_that_come_and_go_leave_no_trace(rows in rows(), bodies in 1..20usize, mut seed: u64) {
        let joints = Joints::random(&rows, bodies, &mut seed);
        let b = vector(&mut seed, rows.len());
        let mut factor = BlockCholesky::new(&joints.matrix(0.3));
        for shift in [0, 3, 5, 0] {
            let turned = rows.iter().map(|n| (n + shift) % (MOST + 1)).collect();
            let matrix = Joints { rows: turned, ..joints.clone() }.matrix(0.3);
            factor.factor(&matrix);
            let mut x = b.clone();
            factor.solve(&mut x);
            prop_assert_eq!(&x, &direct(&matrix, &b));
        }
    }

    #[test]
    fn redundant_rows_that_agree_are_solved(rows in rows(), mut seed: u64) {
        let joints = Joints::random(&rows, 1, &mut seed).planted(&mut seed).doubled();
        let matrix = joints.matrix(0.0);
        let n = joints.rows.len();
        let mut b = vec![[0.0; MOST]; n];
        matrix.multiply(&vector(&mut seed, n), &mut b);
        for tier in [Tier::Direct, Tier::Iterative(Budget::default())] {
            let x = solve_with(tier, &matrix, &joints.ends, &b);
            let left = residual(&matrix, &x, &b);
            prop_assert!(left < 1e-6, "{tier:?}: {left:e}");
        }
    }

    #[test]
    fn contradictions_end_in_numbers(rows in rows(), bodies in 4..20usize, mut seed: u64) {
        let joints = Joints::random(&rows, bodies, &mut seed).doubled();
        let matrix = joints.matrix(0.0);
        let b = vector(&mut seed, joints.rows.len());
        prop_assert!(used(&joints.rows, &direct(&matrix, &b)).all(f64::is_finite));
        let mut gradient = ConjugateGradient::new(b.len());
        gradient.prepare(&matrix);
        let mut x = vec![[0.0; MOST]; b.len()];
        let effort = gradient.solve(&matrix, &b, &mut x, &Budget::default(), || true);
        prop_assert!(used(&joints.rows, &x).all(f64::is_finite));
        prop_assert!(effort.residual <= 1.0 + 1e-9 && effort.iterations < 2000, "{effort:?}");
    }

    #[test]
    fn nothing_hostile_stops_it(
        rows in rows(), bodies in 1..20usize, mut seed: u64,
        hostile in prop::collection::vec((any::<prop::sample::Index>(), 0..36usize, prop::sample::select(
            vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-310])), 1..20),
    ) {
        let joints = Joints::random(&rows, bodies, &mut seed);
        let mut matrix = joints.matrix(0.3);
        let mut b = vector(&mut seed, rows.len());
        for (index, place, value) in hostile {
            let blocks = rows.len() + matrix.coupling.len() + b.len();
            let k = index.index(blocks);
            if k < rows.len() {
                matrix.diagonal[k][place / MOST][place % MOST] = value;
            } else if let Some(block) = matrix.coupling.get_mut(k - rows.len()) {
                block[place / MOST][place % MOST] = value;
            } else {
                b[k - rows.len() - matrix.coupling.len()][place % MOST] = value;
            }
        }
        solve_with(Tier::Direct, &matrix, &joints.ends, &b);
        solve_with(Tier::Pairwise, &matrix, &joints.ends, &b);
        let x = solve_with(Tier::Iterative(Budget::default()), &matrix, &joints.ends, &b);
        prop_assert!(used(&rows, &x).all(f64::is_finite));
    }

    #[test]
    fn a_pair_answers_alone_with_its_share(rows in rows(), bodies in 1..20usize, mut seed: u64) {
        let joints = Joints::random(&rows, bodies, &mut seed);
        let matrix = joints.matrix(0.3);
        let b = vector(&mut seed, rows.len());
        let mut alone = BlockMatrix::new(rows.len(), Vec::new());
        (alone.rows, alone.diagonal) = (matrix.rows.clone(), matrix.diagonal.clone());
        let mut expected = dense(&alone, &b);
        for (x, w) in expected.iter_mut().zip(Pairwise::weights(&joints.ends)) {
            x.iter_mut().for_each(|v| *v *= w);
        }
        let x = solve_with(Tier::Pairwise, &matrix, &joints.ends, &b);
        prop_assert!(difference(&rows, &x, &expected) < 1e-9);
    }
}

#[test]
fn a_body_of_many_joints_listens_little_to_each() {
    let ends = [[Some(0), Some(1)], [Some(0), Some(2)], [Some(0), None], [None, None], [Some(2), None]];
    assert_eq!(Pairwise::weights(&ends), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0, 0.5]);
}

/// Two joints that are the same, one row each.
fn twins() -> BlockMatrix {
    let mut matrix = BlockMatrix::new(2, vec![(1, 0)]);
    matrix.rows = vec![1, 1];
    matrix.diagonal[0][0][0] = 2.0;
    matrix.diagonal[1][0][0] = 2.0;
    matrix.coupling[0][0][0] = 2.0;
    matrix
}

fn single(values: [f64; 2]) -> Vector {
    values.iter().map(|&v| [v, 0.0, 0.0, 0.0, 0.0, 0.0]).collect()
}

#[test]
fn twins_carry_the_load_together() {
    for tier in [Tier::Direct, Tier::Iterative(Budget::default())] {
        let x = solve_with(tier, &twins(), &vec![[None; 2]; 2], &single([1.0, 1.0]));
        assert!((2.0 * (x[0][0] + x[1][0]) - 1.0).abs() < 1e-6, "{x:?}");
    }
}

#[test]
fn twins_that_contradict_meet_half_way() {
    let mut gradient = ConjugateGradient::new(2);
    gradient.prepare(&twins());
    let (b, mut x) = (single([1.0, 3.0]), single([0.0, 0.0]));
    let effort = gradient.solve(&twins(), &b, &mut x, &Budget::default(), || true);
    assert!((2.0 * (x[0][0] + x[1][0]) - 2.0).abs() < 1e-9, "{x:?}");
    assert!((effort.residual - 0.2_f64.sqrt()).abs() < 1e-9, "{effort:?}");
}

#[test]
fn what_is_no_number_shows() {
    let mut matrix = twins();
    matrix.diagonal[1][0][0] = f64::NAN;
    assert!(direct(&matrix, &single([1.0, 1.0]))[1][0].is_nan());
    let mut gradient = ConjugateGradient::new(2);
    gradient.prepare(&matrix);
    let mut x = single([0.0, 0.0]);
    let effort = gradient.solve(&matrix, &single([1.0, 1.0]), &mut x, &Budget::default(), || true);
    assert!(effort.residual.is_nan() && effort.iterations == 0 && x == single([0.0, 0.0]));
}

#[test]
fn a_budget_is_kept_and_a_good_start_saves_iterations() {
    let mut seed = 5;
    let joints = Joints::random(&[3; 40], 20, &mut seed);
    let matrix = joints.matrix(0.01);
    let b = vector(&mut seed, 40);
    let mut gradient = ConjugateGradient::new(40);
    gradient.prepare(&matrix);
    let mut cold = vec![[0.0; MOST]; 40];
    let few = Budget { iterations: 5, tolerance: 1e-10 };
    let effort = gradient.solve(&matrix, &b, &mut cold, &few, || true);
    assert!(effort.iterations == 5 && effort.residual < 1.0, "{effort:?}");

    let mut left = 3;
    let mut timed = vec![[0.0; MOST]; 40];
    let mut clock = || {
        left -= 1;
        left >= 0
    };
    let budget = Budget { tolerance: 1e-10, ..Budget::default() };
    assert_eq!(gradient.solve(&matrix, &b, &mut timed, &budget, &mut clock).iterations, 3);

    let whole = gradient.solve(&matrix, &b, &mut cold, &budget, || true);
    let mut warm = direct(&matrix, &b);
    warm[7][1] += 1e-6;
    let less = gradient.solve(&matrix, &b, &mut warm, &budget, || true);
    assert!(less.iterations < whole.iterations, "{less:?} {whole:?}");
    assert!(whole.residual <= 1e-9 && less.residual <= 1e-9);

    let kept = warm.clone();
    gradient.solve(&matrix, &b, &mut warm, &Budget { iterations: 0, tolerance: 0.0 }, || true);
    assert_eq!(warm, kept);
}

proptest! {
    /// Several right sides at once, at some joints only, against one after the other at all.
    #[test]
    fn sides_are_solved_as_one_by_one(
        rows in proptest::collection::vec(1..=MOST, 2..12), seed: u64, which: u16,
    ) {
        let seed = &mut (seed | 1);
        let joints = Joints::random(&rows, rows.len(), seed).planted(seed);
        let matrix = joints.matrix(0.0);
        let mut factor = BlockCholesky::new(&matrix);
        factor.factor(&matrix);
        let asked: Vec<bool> = (0..rows.len()).map(|j| which >> (j % 16) & 1 == 1 || j == 0).collect();
        let mut reach = asked.clone();
        factor.mark_reach(&mut reach);
        let mut sides: Vec<Sides> = vec![[[0.0; SIDES]; MOST]; rows.len()];
        let mut each: Vec<Vector> = vec![vec![[0.0; MOST]; rows.len()]; SIDES];
        for (j, &count) in rows.iter().enumerate().filter(|(j, _)| asked[*j]) {
            for r in 0..count {
                for s in 0..SIDES {
                    sides[j][r][s] = roll(seed);
                    each[s][j][r] = sides[j][r][s];
                }
            }
        }
        factor.solve_sides(&mut sides, &reach);
        for (s, x) in each.iter_mut().enumerate() {
            factor.solve(x);
            let size = x.as_flattened().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (j, &count) in rows.iter().enumerate().filter(|(j, _)| asked[*j]) {
                for r in 0..count {
                    prop_assert!((sides[j][r][s] - x[j][r]).abs() <= 1e-12 * size, "{j} {r} {s}");
                }
            }
        }
    }
}
