//! Cuts a mesh that changes its shape into pieces that hardly do: each is given as it is on average, and is placed at any
//! moment by the rigid motion nearest to its vertices (least squares; Horn 1987, "Closed-form solution of absolute
//! orientation using unit quaternions": the largest eigenvector of a symmetric 4 x 4 matrix, which planes do not spoil).
//!
//! The piece that strays most from its vertices is cut in two again and again, until all are near enough or there are
//! enough of them: across an axis, or where another bone takes over, whichever leaves least. Triangles that are stretched
//! are cut before that, in the middles of their longest edges.

use super::MOST_ITERATIONS;
use crate::scene::Placement;
use glam::{DQuat, DVec3};
use nalgebra::{Matrix4, SymmetricEigen};
use std::collections::HashMap;

/// A mesh at several moments.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// The vertices at each moment, as many as at the first.
    pub points: Vec<Vec<DVec3>>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// What each vertex mostly goes with: the number of a bone. Those with the same number tend to move as one.
    pub goes_with: Vec<u32>,
}

/// What a mesh was cut into.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// The pieces; every triangle with an area is in one of them.
    pub pieces: Vec<RigidPiece>,
    /// Vertices that were added behind those of the mesh, each in the middle between two before it.
    pub middles: Vec<[u32; 2]>,
    /// How far the vertices of any piece are from where they should be, at most: in the units of the mesh.
    pub stray: f64,
}

/// One piece.
#[derive(Clone, Debug, Default)]
pub struct RigidPiece {
    /// Its vertices by number, those of [`Cut::middles`] included.
    pub vertices: Vec<u32>,
    /// Where they are on average, about their mean.
    pub rest: Vec<DVec3>,
    /// Its triangles, as indices into `vertices`.
    pub triangles: Vec<[u32; 3]>,
    /// How far any vertex is from its place, at most.
    pub stray: f64,
    /// Numbers of its triangles, and the vertex that strays most.
    of: Vec<u32>,
    worst: u32,
}

impl Cut {
    /// The mesh's vertices with the middles behind them.
    pub fn extend(&self, points: &mut Vec<DVec3>) {
        for [a, b] in &self.middles {
            points.push((points[*a as usize] + points[*b as usize]) * 0.5);
        }
    }
}

impl RigidPiece {
    /// The placement that brings it nearest to where its vertices are now; and how far off the furthest then is.
    pub fn fit(&self, points: &[DVec3]) -> (Placement, f64) {
        let now = || self.vertices.iter().map(|v| points[*v as usize]);
        let place = fit(&self.rest, now());
        let off = |(r, x): (&DVec3, DVec3)| (place.position + place.rotation * *r - x).length();
        (place, self.rest.iter().zip(now()).map(off).fold(0.0, f64::max))
    }

    fn new(moments: &Moments, of: Vec<u32>) -> RigidPiece {
        let mut vertices: Vec<u32> = of.iter().flat_map(|t| moments.triangles[*t as usize]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let local = |v: u32| vertices.binary_search(&v).unwrap_or(0) as u32;
        let triangles = of.iter().map(|t| moments.triangles[*t as usize].map(local)).collect();
        let at = |k: usize| vertices.iter().map(move |v| (k, *v));
        let point = |(k, v): (usize, u32)| moments.points[k][v as usize];
        let count = vertices.len() as f64;
        let middle = at(0).map(point).sum::<DVec3>() / count;
        let first: Vec<DVec3> = at(0).map(|v| point(v) - middle).collect();
        // As it is on average, seen from the piece: half as far from every moment as the first moment is.
        let mut rest = vec![DVec3::ZERO; first.len()];
        for k in 0..moments.points.len() {
            let place = fit(&first, at(k).map(point));
            let back = place.rotation.conjugate();
            rest.iter_mut().zip(at(k)).for_each(|(r, v)| *r += back * (point(v) - place.position));
        }
        let share = 1.0 / moments.points.len() as f64;
        rest.iter_mut().for_each(|r| *r *= share);
        let mut piece = RigidPiece { rest, triangles, of, ..RigidPiece::default() };
        for k in 0..moments.points.len() {
            let place = fit(&piece.rest, at(k).map(point));
            for (r, v) in piece.rest.iter().zip(at(k)) {
                let off = (place.position + place.rotation * *r - point(v)).length();
                if off > piece.stray {
                    (piece.stray, piece.worst) = (off, v.1);
                }
            }
        }
        RigidPiece { vertices, ..piece }
    }

    /// The piece cut in two, so that as little as can be is left; `None` for a single triangle.
    fn halves(&self, moments: &Moments) -> Option<[RigidPiece; 2]> {
        if self.of.len() == 1 {
            return None;
        }
        let made = |parts: [Vec<u32>; 2]| parts.map(|of| RigidPiece::new(moments, of));
        let worst = |h: &[RigidPiece; 2]| h[0].stray.max(h[1].stray);
        let low = self.rest.iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
        let high = self.rest.iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
        let mut axes = [0, 1, 2];
        // Of cuts that leave the same, the one across the longest extent.
        axes.sort_by(|a, b| (high - low)[*b].total_cmp(&(high - low)[*a]));
        let mut best = made(self.across(axes[0]));
        for parts in axes[1..].iter().map(|a| self.across(*a)).chain(self.by_bone(moments)) {
            let other = made(parts);
            if worst(&other) < CLEARLY * worst(&best) {
                best = other;
            }
        }
        Some(best)
    }

    /// Its triangles on either side of the middle one along an axis.
    fn across(&self, axis: usize) -> [Vec<u32>; 2] {
        let along = |k: &usize| self.triangles[*k].iter().map(|v| self.rest[*v as usize][axis]).sum::<f64>();
        let mut order: Vec<usize> = (0..self.triangles.len()).collect();
        order.sort_by(|a, b| along(a).total_cmp(&along(b)).then(a.cmp(b)));
        let (a, b) = order.split_at(order.len() / 2);
        [a, b].map(|part| part.iter().map(|k| self.of[*k]).collect())
    }

    /// Those that go with the same bone as the vertex that strays most, and the others.
    fn by_bone(&self, moments: &Moments) -> Option<[Vec<u32>; 2]> {
        let bone = *moments.goes_with.get(self.worst as usize)?;
        let with = |t: &u32| {
            let of = |v: &&u32| moments.goes_with.get(**v as usize) == Some(&bone);
            moments.triangles[*t as usize].iter().filter(of).count() > 1
        };
        let (a, b): (Vec<u32>, Vec<u32>) = self.of.iter().partition(|t| with(t));
        (!a.is_empty() && !b.is_empty()).then_some([a, b])
    }
}

/// Triangles are cut into no more than this many times as many, and some.
const MOST_TIMES: usize = 4;
const AND_SOME: usize = 4096;

/// Another cut than across the longest extent must leave this share of it: what is left now says little of what is left
/// after many more, and long pieces bend most.
const CLEARLY: f64 = 0.7;

/// Cuts triangles in the middles of their longest edges, until no edge changes its length by more than twice `near`: the
/// worst first, so that all are alike where there would be too many.
fn refine(moments: &mut Moments, near: f64) -> Vec<[u32; 2]> {
    let most = MOST_TIMES * moments.triangles.len() + AND_SOME;
    let mut middles: Vec<[u32; 2]> = Vec::new();
    let mut known: HashMap<[u32; 2], u32> = HashMap::new();
    // The shortest and the longest that an edge is.
    let lengths = |moments: &Moments, x: u32, y: u32| {
        let length = |p: &Vec<DVec3>| (p[x as usize] - p[y as usize]).length();
        moments.points.iter().map(length).fold((f64::INFINITY, 0.0_f64), |(a, b), l| (a.min(l), b.max(l)))
    };
    for halvings in (0..=ROUNDS).rev() {
        let change = 2.0 * near * f64::from(1_u32 << halvings);
        let mut t = 0;
        while t < moments.triangles.len() && moments.triangles.len() < most {
            let [a, b, c] = moments.triangles[t];
            let edges = [[a, b, c], [b, c, a], [c, a, b]].map(|e| (lengths(moments, e[0], e[1]), e));
            let changes = edges.iter().any(|((least, most), _)| most - least > change);
            let longest = edges.into_iter().fold(edges[0], |m, e| if e.0.1 > m.0.1 { e } else { m });
            // What is no larger than it may stray by is not worth a cut.
            if !changes || longest.0.1 <= change {
                t += 1;
                continue;
            }
            let [a, b, c] = longest.1;
            let edge = [a.min(b), a.max(b)];
            let middle = *known.entry(edge).or_insert_with(|| {
                for points in &mut moments.points {
                    points.push((points[a as usize] + points[b as usize]) * 0.5);
                }
                if let Some(&bone) = moments.goes_with.get(a as usize) {
                    moments.goes_with.push(bone);
                }
                middles.push(edge);
                moments.points[0].len() as u32 - 1
            });
            moments.triangles[t] = [a, middle, c];
            moments.triangles.push([middle, b, c]);
        }
    }
    middles
}

/// Changes of length that are allowed halve as often as this down to the least.
const ROUNDS: u32 = 8;

/// Cuts a mesh into pieces whose vertices are within `near` of their places at all of the moments, but into no more than
/// `most`.
pub fn cut(mut moments: Moments, near: f64, most: usize) -> Cut {
    if moments.triangles.is_empty() || moments.points.is_empty() {
        return Cut::default();
    }
    let middles = refine(&mut moments, near);
    let whole: Vec<u32> = (0..moments.triangles.len() as u32).collect();
    let mut open = vec![RigidPiece::new(&moments, whole)];
    let mut done: Vec<RigidPiece> = Vec::new();
    while open.len() + done.len() < most {
        let worst = (0..open.len()).reduce(|a, b| if open[b].stray > open[a].stray { b } else { a });
        let Some(worst) = worst.filter(|w| open[*w].stray > near) else { break };
        let piece = open.swap_remove(worst);
        match piece.halves(&moments) {
            Some(halves) => open.extend(halves),
            None => done.push(piece),
        }
    }
    done.append(&mut open);
    let stray = done.iter().map(|p| p.stray).fold(0.0, f64::max);
    Cut { pieces: done, middles, stray }
}

/// The rigid motion that brings `rest`, whose mean is 0, nearest to where it is now.
fn fit(rest: &[DVec3], now: impl Iterator<Item = DVec3> + Clone) -> Placement {
    let position = now.clone().sum::<DVec3>() / rest.len() as f64;
    // Columns: what each axis of the rest is correlated with.
    let mut s = [DVec3::ZERO; 3];
    for (r, x) in rest.iter().zip(now) {
        let x = x - position;
        s[0] += x * r.x;
        s[1] += x * r.y;
        s[2] += x * r.z;
    }
    let [x, y, z] = s;
    // Rows and columns w, x, y, z.
    #[rustfmt::skip]
    let n = Matrix4::new(
        x.x + y.y + z.z, y.z - z.y, z.x - x.z, x.y - y.x,
        y.z - z.y, x.x - y.y - z.z, x.y + y.x, z.x + x.z,
        z.x - x.z, x.y + y.x, y.y - x.x - z.z, y.z + z.y,
        x.y - y.x, z.x + x.z, y.z + z.y, z.z - x.x - y.y,
    );
    // Only what is no number does not converge.
    let rotation =
        SymmetricEigen::try_new(n, f64::EPSILON, MOST_ITERATIONS).map_or(DQuat::IDENTITY, |eigen| {
            let axis = eigen.eigenvectors.column(eigen.eigenvalues.imax());
            DQuat::from_xyzw(axis[1], axis[2], axis[3], axis[0]).normalize()
        });
    Placement { position, rotation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn what_moves_rigidly_is_found_back(turn in vector(), by in vector(), flat in any::<bool>()) {
            let rest: Vec<DVec3> = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [0.3, 0.0, 2.0], [0.1, 0.7, 0.4]]
                .iter().map(|p| DVec3::from_array(*p)).take(if flat { 3 } else { 4 }).collect();
            let mean = rest.iter().sum::<DVec3>() / rest.len() as f64;
            let rest: Vec<DVec3> = rest.iter().map(|p| *p - mean).collect();
            let turn = rotation::exp(turn * 3.0);
            let now: Vec<DVec3> = rest.iter().map(|p| by + turn * *p).collect();
            let found = fit(&rest, now.iter().copied());
            prop_assert!((found.position - by).length() < 1e-14);
            prop_assert!(rotation::distance(found.rotation, turn) < 1e-12);
        }
    }

    /// A strip of squares along x.
    fn strip(squares: u32) -> Moments {
        let points =
            (0..=squares).flat_map(|i| [0.0, 1.0].map(|z| DVec3::new(f64::from(i), 0.0, z))).collect();
        let square = |i: u32| [[2 * i, 2 * i + 1, 2 * i + 2], [2 * i + 2, 2 * i + 1, 2 * i + 3]];
        let goes_with = (0..=squares).flat_map(|i| [u32::from(i > squares / 2 + 1); 2]).collect();
        Moments { points: vec![points], triangles: (0..squares).flat_map(square).collect(), goes_with }
    }

    #[test]
    fn a_hinge_is_a_few_pieces_and_what_bends_is_more() {
        let mut hinge = strip(9);
        let fold = |p: &DVec3| match p.x > 5.0 {
            true => DVec3::X * 5.0 + DQuat::from_rotation_z(1.0) * (*p - DVec3::X * 5.0),
            false => *p,
        };
        hinge.points.push(hinge.points[0].iter().map(fold).collect());
        let made = cut(hinge, 1e-9, 64);
        // The triangles on the hinge are of either bone.
        assert!((2..=4).contains(&made.pieces.len()), "{:?}", made.pieces);
        assert!(made.stray < 1e-12);

        let mut bent = strip(64);
        let bend = |p: &DVec3| DVec3::new(64.0 * (p.x / 64.0).sin(), 64.0 * (1.0 - (p.x / 64.0).cos()), p.z);
        bent.points.push(bent.points[0].iter().map(bend).collect());
        let count = |near: f64| cut(bent.clone(), near, 1000).pieces.len();
        let (few, many) = (count(0.2), count(0.05));
        // An arc is off its chord by the square of its length.
        assert!((4..=16).contains(&few) && (2 * few..=3 * few).contains(&many), "{few} {many}");
    }

    #[test]
    fn a_triangle_that_grows_is_cut_and_nothing_of_it_is_lost() {
        let small = vec![DVec3::ZERO, DVec3::X, DVec3::Z];
        let large: Vec<DVec3> = small.iter().map(|p| *p * 1.2).collect();
        let moments =
            Moments { points: vec![small, large.clone()], triangles: vec![[0, 2, 1]], ..Moments::default() };
        let made = cut(moments.clone(), 0.02, 1000);
        assert!(made.stray <= 0.02 && made.pieces.len() > 4, "{} {}", made.stray, made.pieces.len());
        let mut points = large;
        made.extend(&mut points);
        let area = |p: &RigidPiece, t: usize| {
            let [a, b, c] = p.triangles[t].map(|v| points[p.vertices[v as usize] as usize]);
            0.5 * (b - a).cross(c - a).y
        };
        let area = |p: &RigidPiece| (0..p.triangles.len()).map(|t| area(p, t)).sum::<f64>();
        let total: f64 = made.pieces.iter().map(area).sum();
        assert!((total - 0.72).abs() < 1e-12, "{total}");
        assert_eq!(cut(moments, 1e-6, 10).pieces.len(), 10, "no more than were asked for");
    }
}
