//! Lines that show a shape: for viewports, not for physics.

use super::Geometry;
use glam::DVec3;
use parry3d_f64::shape::TypedShape;

/// Lines of a full circle.
const ROUND: u32 = 24;
/// Half the side of the square that stands for a ground without end, scene units.
const GROUND: f64 = 10.0;
/// The most triangles whose edges are drawn; of larger meshes their box.
const MOST_TRIANGLES: usize = 5000;

impl Geometry {
    /// The ends of lines along its edges and, where it is round, around it; in the shape's own axes.
    pub fn outline(&self) -> Vec<[DVec3; 2]> {
        let lines = |(points, pairs): (Vec<DVec3>, Vec<[u32; 2]>)| -> Vec<[DVec3; 2]> {
            pairs.iter().map(|&[a, b]| [points[a as usize], points[b as usize]]).collect()
        };
        match self.shape().as_typed_shape() {
            TypedShape::Ball(s) => lines(s.to_outline(ROUND)),
            TypedShape::Cuboid(s) => lines(s.to_outline()),
            TypedShape::Capsule(s) => lines(s.to_outline(ROUND)),
            TypedShape::Cylinder(s) => lines(s.to_outline(ROUND)),
            TypedShape::Cone(s) => lines(s.to_outline(ROUND)),
            TypedShape::HalfSpace(_) => lines(ground()),
            TypedShape::ConvexPolyhedron(s) => {
                let points = s.points();
                s.edges().iter().map(|e| e.vertices.map(|i| points[i as usize])).collect()
            }
            TypedShape::TriMesh(s) if s.indices().len() <= MOST_TRIANGLES => {
                lines((s.vertices().to_vec(), edges(s.indices())))
            }
            _ => lines(self.shape().compute_local_aabb().to_outline()),
        }
    }
}

/// A square with a cross in it.
fn ground() -> (Vec<DVec3>, Vec<[u32; 2]>) {
    let points = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    let points = points.map(|(x, z)| DVec3::new(x, 0.0, z) * GROUND).to_vec();
    (points, vec![[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
}

/// Every edge of triangles once.
fn edges(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut all: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| if a < b { [a, b] } else { [b, a] })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(geometry: &Geometry, along: DVec3) -> f64 {
        geometry.outline().iter().flatten().map(|p| p.dot(along)).fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn lines_reach_as_far_as_the_shape() {
        let half = DVec3::new(1.0, 2.0, 3.0);
        assert_eq!(Geometry::cuboid(half).outline().len(), 12);
        for (axis, far) in [(DVec3::X, 1.0), (DVec3::Y, 2.0), (DVec3::Z, 3.0)] {
            assert!((reach(&Geometry::cuboid(half), axis) - far).abs() < 1e-12);
            assert!((reach(&Geometry::ball(2.0), axis) - 2.0).abs() < 0.02);
        }
        let capsule = Geometry::capsule(1.5, 0.5);
        assert!((reach(&capsule, DVec3::Y) - 2.0).abs() < 0.01);
        assert!((reach(&capsule, DVec3::X) - 0.5).abs() < 0.01);
    }

    #[test]
    fn an_edge_of_two_triangles_is_one_line() {
        let points = vec![DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        let sheet = Geometry::triangles(points, vec![[0, 1, 2], [0, 2, 3]], false).expect("a sheet");
        assert_eq!(sheet.outline().len(), 5);
    }
}
