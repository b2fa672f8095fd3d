//! Any two convex shapes, asked of parry.

use super::few::{Corner, few};
use crate::contact::manifold::{Facing, Manifold, Point};
use crate::scene::Placement;
use crate::shape::Geometry;
use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::math::Pose;
use parry3d_f64::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d_f64::shape::{Shape, Triangle};

/// Room for parry's answers. No answer hangs on the one before.
#[derive(Default)]
pub struct Library {
    found: ContactManifold<(), ()>,
    triangles: Vec<u32>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Library")
    }
}

impl Clone for Library {
    fn clone(&self) -> Library {
        Library::default()
    }
}

/// A placement as parry has it.
pub fn pose(p: &Placement) -> Pose {
    Pose { rotation: p.rotation, translation: p.position }
}

/// Most points of two faces; parry gives no more for any two convex shapes.
const MOST_FOUND: usize = 32;

impl Library {
    /// Puts the manifolds of a pair into `out`.
    pub fn ask(
        &mut self,
        (a, at_a): (&Geometry, &Placement),
        (b, at_b): (&Geometry, &Placement),
        reach: f64,
        out: &mut Vec<Manifold>,
    ) {
        // Keys beyond all numbers put things nowhere.
        if reach.is_nan() || reach < 0.0 {
            return;
        }
        let between = pose(&at_a.to(at_b));
        match (a, b) {
            (Geometry::Surface(_), Geometry::Surface(_)) => {}
            (Geometry::Surface(s), _) => self.surface(&**s, b.shape(), &between, reach, out),
            (_, Geometry::Surface(s)) => {
                let from = out.len();
                self.surface(&**s, a.shape(), &between.inverse(), reach, out);
                out[from..].iter_mut().for_each(|m| *m = m.swapped());
            }
            _ => out.extend(self.convex(a.shape(), b.shape(), &between, reach)),
        }
    }

    /// Every triangle of a surface near the other shape.
    fn surface(
        &mut self,
        surface: &dyn Shape,
        other: &dyn Shape,
        between: &Pose,
        reach: f64,
        out: &mut Vec<Manifold>,
    ) {
        let bounds = BoundingVolume::loosened(&other.compute_aabb(between), reach);
        if let Some(mesh) = surface.as_trimesh() {
            let mut triangles = std::mem::take(&mut self.triangles);
            triangles.clear();
            triangles.extend(mesh.bvh().intersect_aabb(&bounds));
            triangles.sort_unstable();
            for &t in &triangles {
                let triangle = mesh.triangle(t);
                self.triangle(&triangle, other, between, (&bounds, reach), out);
            }
            self.triangles = triangles;
        } else if let Some(field) = surface.as_heightfield() {
            field.map_elements_in_local_aabb(&bounds, &mut |_, triangle| {
                self.triangle(triangle, other, between, (&bounds, reach), out);
            });
        }
    }

    fn triangle(
        &mut self,
        triangle: &Triangle,
        other: &dyn Shape,
        between: &Pose,
        (bounds, reach): (&Aabb, f64),
        out: &mut Vec<Manifold>,
    ) {
        let Some(normal) = triangle.normal() else { return };
        // Behind its back nothing touches, but what has only just gone through.
        let center = between.translation;
        let depth = normal.dot(center - triangle.a);
        let reaches = bounds.half_extents().max_element();
        if depth < -reaches {
            return;
        }
        if let Some(found) = self.convex(triangle, other, between, reach) {
            out.push(found);
        }
    }

    fn convex(&mut self, a: &dyn Shape, b: &dyn Shape, between: &Pose, reach: f64) -> Option<Manifold> {
        // Without its points, parry does not go on from the step before; and without its normal it does not begin along whatever
        // was asked before, which would tell in the last digits.
        self.found.points.clear();
        self.found.local_n1 = parry3d_f64::math::Vector::ZERO;
        let asked = DefaultQueryDispatcher.contact_manifold_convex_convex(
            between,
            a,
            b,
            None,
            None,
            reach,
            &mut self.found,
        );
        let normal = self.found.local_n1;
        if asked.is_err() || !(normal.is_finite() && (normal.length_squared() - 1.0).abs() < 1e-3) {
            return None;
        }
        let (u, v) = normal.any_orthonormal_pair();
        let mut corners = [Corner::default(); MOST_FOUND];
        let mut count = 0;
        let near = self.found.points.iter().enumerate().filter(|(_, p)| p.dist <= reach);
        for (k, p) in near.take(MOST_FOUND) {
            corners[count] = Corner { u: p.local_p1.dot(u), v: p.local_p1.dot(v), gap: p.dist, number: k };
            count += 1;
        }
        let mut made = Manifold::new(normal, Facing::First);
        for corner in few(&mut corners[..count]) {
            let p = &self.found.points[corner.number];
            made.push(Point { first: p.local_p1, second: p.local_p2, round: [0.0; 2] });
        }
        (!made.points().is_empty()).then_some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parry3d_f64::math::{Rotation, Vector};
    use parry3d_f64::shape::{ConvexPolyhedron, Cuboid};

    /// Threads ask in any order, and every one of them is to have the same digits.
    #[test]
    fn no_answer_hangs_on_the_one_before() {
        let points: Vec<Vector> = (0..24)
            .map(|i| {
                let (a, b) = (f64::from(i) * 2.4, f64::from(i) / 23.0 * 2.0 - 1.0);
                let ring = (1.0 - b * b).sqrt() * 0.3;
                Vector::new(ring * libm::cos(a), 0.2 * b, ring * libm::sin(a))
            })
            .collect();
        let hull = ConvexPolyhedron::from_convex_hull(&points).expect("points all around");
        let block = Cuboid::new(Vector::new(0.5, 0.1, 0.4));
        let poses: Vec<Pose> = (0..40)
            .map(|i| {
                let turn = Vector::new(0.13, 0.7, -0.31) * f64::from(i);
                Pose::from_parts(
                    Vector::new(0.01 * f64::from(i % 7), 0.27, 0.0),
                    Rotation::from_scaled_axis(turn),
                )
            })
            .collect();
        let ask =
            |library: &mut Library, k: usize| format!("{:?}", library.convex(&block, &hull, &poses[k], 0.05));
        let mut often = Library::default();
        let alone: Vec<String> = (0..poses.len()).map(|k| ask(&mut Library::default(), k)).collect();
        assert!(alone.iter().filter(|a| a.contains("Some")).count() > poses.len() / 2);
        for k in (0..poses.len()).chain((0..poses.len()).rev()) {
            assert_eq!(ask(&mut often, k), alone[k], "{k}");
        }
    }
}
