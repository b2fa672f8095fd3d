//! Many shapes of one mesh as few shapes to mix: rows of displacements become weights of targets.
//!
//! Shapes that are the furthest from what is there are taken one by one (pivoted Gram and Schmidt), until all are
//! near. The space they span is then turned to its principal axes, of which the first few do for the tolerance: the
//! same idea as factoring the whole, at the price of the few. No chance and no threads: the same bits everywhere.

use glam::DVec3;
use nalgebra::{DMatrix, SymmetricEigen};

/// Share of the tolerance that the choice of targets may use up; the rest is for dropping keys.
const FOR_TARGETS: f64 = 0.6;

/// How near the first choice comes, as a share of the tolerance: what it misses, axes cannot bring back.
const FIRST: f64 = 0.1;

/// With more axes than this, turning them costs more than it saves.
const TURNED_AT_MOST: usize = 256;

/// QR iterations per axis: two are the rule.
const ITERATIONS_EACH: usize = 30;

/// Few shapes, and how much of each there is at every row.
#[derive(Clone, Debug, Default)]
pub struct Mixed {
    /// Displacements per vertex.
    pub targets: Vec<Vec<DVec3>>,
    /// Rows times targets; the largest of each target is 1.
    pub weights: Vec<f64>,
    /// The largest distance of a vertex at a row from where it was.
    pub error: f64,
}

/// Mixes `rows` (displacements of the same vertices) so that each vertex is within `tolerance` in every one.
pub fn mix(rows: &[Vec<DVec3>], tolerance: f64) -> Mixed {
    let aim = tolerance * FOR_TARGETS;
    let (mut axes, mut parts) = span(rows, aim * FIRST);
    if axes.len() > 1 && axes.len() <= TURNED_AT_MOST {
        turn(&mut axes, &mut parts);
    }
    // The fewest that do; each more brings every row nearer or leaves it, so halving finds it.
    let (mut few, mut many) = (0, axes.len());
    while few < many {
        let half = (few + many) / 2;
        if furthest(rows, &axes[..half], &parts) <= aim {
            many = half;
        } else {
            few = half + 1;
        }
    }
    axes.truncate(many);
    let error = furthest(rows, &axes, &parts);
    let mut weights = vec![0.0; rows.len() * many];
    for (k, axis) in axes.iter_mut().enumerate() {
        let largest = parts.iter().map(|p| p[k]).fold(0.0, |m: f64, w| if w.abs() > m.abs() { w } else { m });
        let scale = if largest == 0.0 { 1.0 } else { largest };
        axis.iter_mut().for_each(|d| *d *= scale);
        parts.iter().enumerate().for_each(|(row, p)| weights[row * many + k] = p[k] / scale);
    }
    Mixed { targets: axes, weights, error }
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

fn longest(row: &[DVec3]) -> f64 {
    row.iter().fold(0.0, |m: f64, d| m.max(d.length_squared())).sqrt()
}

/// Orthonormal axes that all rows are within `near` of, and the rows' parts along them.
fn span(rows: &[Vec<DVec3>], near: f64) -> (Vec<Vec<DVec3>>, Vec<Vec<f64>>) {
    let mut left: Vec<Vec<DVec3>> = rows.to_vec();
    let mut parts: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
    let mut axes: Vec<Vec<DVec3>> = Vec::new();
    while axes.len() < rows.len() {
        let worst = left.iter().map(|r| longest(r)).enumerate();
        let Some((row, far)) = worst.reduce(|m, r| if r.1 > m.1 { r } else { m }) else { break };
        if far <= near {
            break;
        }
        let mut axis = left[row].clone();
        // Once more against those there are: differences of what is nearly equal lose their digits.
        for other in &axes {
            let along = dot(&axis, other);
            axis.iter_mut().zip(other).for_each(|(a, o)| *a -= *o * along);
        }
        let length = dot(&axis, &axis).sqrt();
        axis.iter_mut().for_each(|a| *a /= length);
        for (left, parts) in left.iter_mut().zip(&mut parts) {
            let along = dot(left, &axis);
            left.iter_mut().zip(&axis).for_each(|(l, a)| *l -= *a * along);
            parts.push(along);
        }
        axes.push(axis);
    }
    (axes, parts)
}

/// Turns axes to the principal ones of the rows, the most important first.
fn turn(axes: &mut Vec<Vec<DVec3>>, parts: &mut [Vec<f64>]) {
    let n = axes.len();
    let rows = DMatrix::from_fn(parts.len(), n, |row, k| parts[row][k]);
    // Only what is no number does not converge, and stays as it is.
    let Some(turned) = SymmetricEigen::try_new(rows.tr_mul(&rows), f64::EPSILON, ITERATIONS_EACH * n) else {
        return;
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| turned.eigenvalues[j].total_cmp(&turned.eigenvalues[i]));
    let turned = turned.eigenvectors;
    for p in parts.iter_mut() {
        *p = order.iter().map(|&k| (0..n).map(|i| p[i] * turned[(i, k)]).sum()).collect();
    }
    let new = |k: usize| {
        let mut axis = vec![DVec3::ZERO; axes[0].len()];
        for (i, old) in axes.iter().enumerate() {
            let share = turned[(i, k)];
            axis.iter_mut().zip(old).for_each(|(a, o)| *a += *o * share);
        }
        axis
    };
    *axes = order.iter().map(|&k| new(k)).collect();
}

/// The largest distance of a vertex at a row from what the axes make of it.
fn furthest(rows: &[Vec<DVec3>], axes: &[Vec<DVec3>], parts: &[Vec<f64>]) -> f64 {
    let mut worst: f64 = 0.0;
    let mut left = Vec::new();
    for (row, parts) in rows.iter().zip(parts) {
        left.clone_from(row);
        for (axis, &part) in axes.iter().zip(parts) {
            left.iter_mut().zip(axis).for_each(|(l, a)| *l -= *a * part);
        }
        worst = worst.max(longest(&left));
    }
    worst
}

/// Which rows to keep as keys, straight lines in between: the fewest that a look ahead finds so that no vertex is
/// further than `tolerance` from its row.
pub fn keys(mixed: &Mixed, times: &[f64], tolerance: f64) -> Vec<usize> {
    let n = mixed.targets.len();
    let reach: Vec<f64> = mixed.targets.iter().map(|t| longest(t)).collect();
    let weight = |row: usize, k: usize| mixed.weights[row * n + k];
    let straight = |from: usize, to: usize| {
        (from + 1..to).all(|row| {
            let t = (times[row] - times[from]) / (times[to] - times[from]);
            let off = |k: usize| {
                let line = weight(from, k) + (weight(to, k) - weight(from, k)) * t;
                (weight(row, k) - line).abs() * reach[k]
            };
            (0..n).map(off).sum::<f64>() <= tolerance
        })
    };
    let mut kept = vec![0];
    let mut at = 0;
    while at + 1 < times.len() {
        let mut next = at + 1;
        while next + 1 < times.len() && straight(at, next + 1) {
            next += 1;
        }
        kept.push(next);
        at = next;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few shapes, each smaller than the one before, mixed in many ways.
    fn rows(shapes: usize, rows: usize, vertices: usize) -> Vec<Vec<DVec3>> {
        let wave = |a: usize, b: usize| libm::sin((a * 37 + b * 11 + a * b * 5) as f64);
        let shape = |s: usize, v: usize| DVec3::new(wave(s, v), wave(s + 9, v), wave(s, v + 70));
        (0..rows)
            .map(|r| {
                (0..vertices)
                    .map(|v| {
                        (0..shapes).map(|s| shape(s, v) * wave(s + 3, r) * libm::pow(0.6, s as f64)).sum()
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn as_many_targets_as_there_are_shapes() {
        let rows = rows(4, 60, 50);
        let mixed = mix(&rows, 1e-6);
        assert_eq!(mixed.targets.len(), 4);
        assert!(mixed.error <= 1e-6);
        for (r, row) in rows.iter().enumerate() {
            for (v, d) in row.iter().enumerate() {
                let made: DVec3 = (0..4).map(|k| mixed.targets[k][v] * mixed.weights[r * 4 + k]).sum();
                assert!((made - *d).length() < 1e-6);
            }
        }
        let largest = mixed.weights.iter().fold(0.0_f64, |m, w| m.max(w.abs()));
        assert!((largest - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_loose_tolerance_needs_fewer_targets() {
        let rows = rows(12, 60, 50);
        let count = |t: f64| mix(&rows, t).targets.len();
        assert_eq!(count(1e-9), 12);
        assert!(count(0.2) < 12 && count(0.2) > 0 && count(100.0) == 0);
    }

    #[test]
    fn keys_on_a_straight_line_are_dropped() {
        let row = |w: f64| vec![DVec3::X * w];
        let weights = [0.0, 0.0, 0.0, 0.5, 1.0, 0.5, 0.0, 0.0];
        let mixed = mix(&weights.map(row), 1e-3);
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(keys(&mixed, &times, 1e-3), [0, 2, 4, 6, 7]);
    }
}
