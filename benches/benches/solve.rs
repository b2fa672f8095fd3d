//! Sparse systems of chains and nets: microseconds to factor and to solve, or to solve otherwise, one core.
//!
//! Nets are those of the published comparison: plates on a grid, a spanning tree of ball joints from one corner and
//! as many loops as make up the given number of joints.

use sinew_benches::least;
use sinew_core::solve::{BlockCholesky, BlockMatrix, Budget, ConjugateGradient, MOST, Pairwise};
use sprs::{CsMat, TriMat};
use std::hint::black_box;

fn main() {
    for (name, rows) in [("ball", 3), ("hinge", 5)] {
        for links in [100_usize, 1000] {
            let ends: Vec<[Option<usize>; 2]> = (0..links).map(|i| [i.checked_sub(1), Some(i)]).collect();
            report(&format!("{name} chain of {links}"), &ends, rows);
        }
    }
    for (a, b, joints) in [(4, 7, 36), (7, 8, 87), (10, 16, 253), (20, 20, 750)] {
        report(&format!("ball net of {joints}"), &net(a, b, joints), 3);
    }
}

fn report(name: &str, ends: &[[Option<usize>; 2]], rows: usize) {
    let (matrix, b) = system(ends, rows);
    let mut factor = BlockCholesky::new(&matrix);
    let mut x = b.clone();
    let runs = (200_000 / ends.len()).max(1);
    let factoring = least(runs, || factor.factor(black_box(&matrix)));
    let solving = least(runs, || {
        x.copy_from_slice(black_box(&b));
        factor.solve(&mut x);
    });
    let (f, s) = (factoring.as_secs_f64() * 1e6, solving.as_secs_f64() * 1e6);
    let mut gradient = ConjugateGradient::new(ends.len());
    let budget = Budget { tolerance: 1e-6, ..Budget::default() };
    let mut taken = 0;
    let iterating = least(runs.min(100), || {
        x.fill([0.0; MOST]);
        gradient.prepare(black_box(&matrix));
        taken = gradient.solve(&matrix, &b, &mut x, &budget, || true).iterations;
    });
    let mut pairwise = Pairwise::new(Pairwise::weights(ends));
    let sweeping = least(runs, || {
        pairwise.prepare(black_box(&matrix));
        pairwise.solve(&matrix, &b, &mut x);
    });
    let (i, p) = (iterating.as_secs_f64() * 1e6, sweeping.as_secs_f64() * 1e6);
    let multiplying = least(runs, || matrix.multiply(black_box(&b), &mut x));
    let (numbers, v) = numbers(&matrix, &b, rows);
    let mut product = vec![0.0; v.len()];
    let by_numbers = least(runs, || {
        product.fill(0.0);
        sprs::prod::mul_acc_mat_vec_csr(numbers.view(), black_box(&v[..]), &mut product[..]);
    });
    let (m, n) = (multiplying.as_secs_f64() * 1e6, by_numbers.as_secs_f64() * 1e6);
    println!(
        "{name:20}: factor {f:7.2} us, solve {s:6.2} us, both {:7.2} us; to 1e-6 in {taken:4} iterations {i:8.1} us; \
         pairwise {p:6.2} us; product {m:6.2} us, by sprs {n:6.2} us",
        f + s
    );
}

/// The same matrix and side as sprs has them: number by number.
fn numbers(matrix: &BlockMatrix, b: &[[f64; MOST]], rows: usize) -> (CsMat<f64>, Vec<f64>) {
    let mut triplets = TriMat::new((b.len() * rows, b.len() * rows));
    for r in 0..rows {
        for c in 0..rows {
            for (i, block) in matrix.diagonal.iter().enumerate() {
                triplets.add_triplet(i * rows + r, i * rows + c, block[r][c]);
            }
            for (&(i, j), block) in matrix.pairs.iter().zip(&matrix.coupling) {
                triplets.add_triplet(i * rows + r, j * rows + c, block[r][c]);
                triplets.add_triplet(j * rows + c, i * rows + r, block[r][c]);
            }
        }
    }
    (triplets.to_csr(), b.iter().flat_map(|b| b[..rows].to_vec()).collect())
}

/// The matrix `J J^T` of joints between bodies, with rows of random directions, and a right-hand side.
fn system(ends: &[[Option<usize>; 2]], rows: usize) -> (BlockMatrix, Vec<[f64; MOST]>) {
    let mut seed = 7;
    let row = |seed: &mut u64| -> [f64; 6] { std::array::from_fn(|_| roll(seed)) };
    let directions: Vec<[[[f64; 6]; MOST]; 2]> =
        ends.iter().map(|_| [0, 1].map(|_| std::array::from_fn(|_| row(&mut seed)))).collect();
    let product = |i: usize, r: usize, j: usize, c: usize| -> f64 {
        let mut sum = 0.0;
        for (ei, bi) in ends[i].iter().enumerate() {
            for (ej, bj) in ends[j].iter().enumerate() {
                if bi.is_some() && bi == bj {
                    let (u, v) = (&directions[i][ei][r], &directions[j][ej][c]);
                    sum += u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
                }
            }
        }
        sum
    };
    let coupled = |i: usize, j: usize| ends[i].iter().any(|b| b.is_some() && ends[j].contains(b));
    let pairs = (0..ends.len()).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| coupled(i, j));
    let mut matrix = BlockMatrix::new(ends.len(), pairs.collect());
    matrix.rows.fill(rows);
    for i in 0..ends.len() {
        for r in 0..rows {
            for c in 0..rows {
                matrix.diagonal[i][r][c] = product(i, r, i, c) + if r == c { 0.1 } else { 0.0 };
            }
        }
    }
    for k in 0..matrix.pairs.len() {
        let (i, j) = matrix.pairs[k];
        for r in 0..rows {
            for c in 0..rows {
                matrix.coupling[k][r][c] = product(i, r, j, c);
            }
        }
    }
    let b = ends.iter().map(|_| row(&mut seed)).collect();
    (matrix, b)
}

/// `joints` between neighbours on a grid of `a` by `b` bodies: a tree, breadth first from a corner, then loops.
fn net(a: usize, b: usize, joints: usize) -> Vec<[Option<usize>; 2]> {
    let mut edges = Vec::new();
    for at in 0..a * b {
        if (at + 1) % b > 0 {
            edges.push((at, at + 1));
        }
        if at + b < a * b {
            edges.push((at, at + b));
        }
    }
    let (mut tree, mut reached) = (Vec::new(), vec![0]);
    let mut next = 0;
    while let Some(&u) = reached.get(next) {
        for &(i, j) in edges.iter().filter(|e| e.0 == u || e.1 == u) {
            let v = i + j - u;
            if !reached.contains(&v) {
                reached.push(v);
                tree.push((i, j));
            }
        }
        next += 1;
    }
    edges.retain(|e| !tree.contains(e));
    let mut seed = 3;
    while tree.len() < joints {
        let pick = ((roll(&mut seed) + 1.0) * 0.5 * edges.len() as f64) as usize;
        tree.push(edges.swap_remove(pick.min(edges.len() - 1)));
    }
    tree.into_iter().map(|(i, j)| [Some(i), Some(j)]).collect()
}

/// A number between -1 and 1.
fn roll(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
}
