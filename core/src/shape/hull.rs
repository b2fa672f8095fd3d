//! The convex hull of points: of any points, flat and straight sets included, since animators' meshes are cards and
//! wires, too.

use super::fit::{THINNEST, fit_box};
use super::{Kind, of_mesh};
use crate::quiet;
use glam::DVec3;
use parry3d_f64::transformation::try_convex_hull;
use std::collections::HashSet;

/// A convex body by its corners; its triangles wind counter-clockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Corners.
    pub points: Vec<DVec3>,
    /// Triangles between them.
    pub triangles: Vec<[u32; 3]>,
}

/// A hull with more corners than this is made of the outermost points in as many directions: each query of a shape
/// looks at all of them.
const MOST_CORNERS: usize = 200;

/// A set of points that is thinner than this share of its length is flat.
const FLAT: f64 = 1e-6;

/// The convex hull of points; flat and straight sets get a little thickness. `None` when they are all at one place or
/// not finite.
pub fn hull(points: &[DVec3]) -> Option<Hull> {
    if !points.iter().all(|p| p.is_finite()) {
        return None;
    }
    let mut seen = HashSet::with_capacity(points.len());
    let mut points: Vec<DVec3> = points
        .iter()
        .copied()
        .filter(|p| seen.insert((p + DVec3::ZERO).to_array().map(f64::to_bits)))
        .collect();
    thicken(&mut points)?;
    let mut whole = around(&points)?;
    if whole.points.len() > MOST_CORNERS {
        whole = around(&outermost(&whole.points))?;
    }
    Some(whole)
}

impl Hull {
    /// m^3.
    pub fn volume(&self) -> f64 {
        of_mesh(&self.points, &self.triangles, 1.0).map_or(0.0, |m| m.mass)
    }

    /// The least distance between two parallel planes that it fits between.
    pub fn thinnest(&self) -> f64 {
        let width = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| self.points[i as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            let deepest = self.points.iter().fold(0.0_f64, |m, p| m.max((a - *p).dot(normal)));
            if normal == DVec3::ZERO { f64::INFINITY } else { deepest }
        };
        let least = self.triangles.iter().map(width).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    }
}

/// Doubles a flat or straight set of points across itself. `None` when there is nothing but one place.
fn thicken(points: &mut Vec<DVec3>) -> Option<()> {
    let first = *points.first()?;
    let furthest = |from: &dyn Fn(DVec3) -> f64| {
        points.iter().fold((0.0, first), |m, p| if from(*p) > m.0 { (from(*p), *p) } else { m })
    };
    let (length, end) = furthest(&|p| (p - first).length());
    if length == 0.0 {
        return None;
    }
    let along = (end - first) / length;
    let (width, side) = furthest(&|p| (p - first).reject_from_normalized(along).length());
    let half = length * THINNEST * 0.5;
    let push = |points: &mut Vec<DVec3>, way: DVec3| {
        let doubled: Vec<DVec3> = points.iter().flat_map(|p| [*p - way * half, *p + way * half]).collect();
        *points = doubled;
    };
    if width <= length * FLAT {
        let across = along.any_orthonormal_vector();
        push(points, across);
        push(points, along.cross(across));
        return Some(());
    }
    let normal = along.cross((side - first).reject_from_normalized(along) / width).normalize();
    let (depth, _) = furthest(&|p| (p - first).dot(normal).abs());
    if depth <= length * FLAT {
        push(points, normal);
    }
    Some(())
}

/// The hull, or the box around the points where rounding is in the way of it.
fn around(points: &[DVec3]) -> Option<Hull> {
    // The library asserts what rounding breaks.
    let found = quiet::attempt(|| try_convex_hull(points).ok()).flatten();
    let whole = found.map(|(points, triangles)| Hull { points, triangles });
    if let Some(whole) = whole.filter(|h| h.points.len() >= 4 && h.volume() > 0.0 && h.thinnest() > 0.0) {
        return Some(whole);
    }
    let around = fit_box(points);
    let Kind::Box(size) = around.kind else { return None };
    let corners: Vec<DVec3> = (0..8)
        .map(|i| {
            let sign = |bit: u32| if i >> bit & 1 == 0 { -0.5 } else { 0.5 };
            around.center + size * DVec3::new(sign(0), sign(1), sign(2))
        })
        .collect();
    let triangles = vec![
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];
    Some(Hull { points: corners, triangles })
}

/// The points that are outermost in some direction: directions evenly over the ball, and the axes.
fn outermost(points: &[DVec3]) -> Vec<DVec3> {
    let count = MOST_CORNERS - 6;
    let turn = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let spiral = (0..count).map(|i| {
        let y = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = libm::sincos(turn * i as f64);
        let r = (1.0 - y * y).sqrt();
        DVec3::new(r * cos, y, r * sin)
    });
    let mut kept = HashSet::new();
    for way in spiral.chain(DVec3::AXES).chain(DVec3::AXES.map(|a| -a)) {
        let best =
            (0..points.len()).fold(0, |m, i| if points[i].dot(way) > points[m].dot(way) { i } else { m });
        kept.insert(best);
    }
    let mut kept: Vec<usize> = kept.into_iter().collect();
    kept.sort_unstable();
    kept.into_iter().map(|i| points[i]).collect()
}
