//! What a point can be held on: a curve or a surface (m), in the frame of the joint's first end.
//!
//! [`Track::nearest`] finds the nearest place and the directions along which a point there is held. The error of a
//! row is how far the point is from that place along the row's direction, so the directions have to be the gradient
//! of the distance, or near it, for Newton's method to end. Across a curve they are exactly that; for surfaces see
//! [`Surface`].
//!
//! Nothing here fails once it is made: a query that is not a finite number is answered with where the track starts,
//! and so is one so far away (1e150 m) that the square of its distance is no number. Searching allocates nothing, and
//! of places equally near it always finds the same one.

mod boxes;
mod curve;
mod surface;

use curve::Curve;
use glam::DVec3;
use surface::Surface;

/// A curve through points, or the surface of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Track(Shape);

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Curve(Curve),
    Surface(Surface),
}

/// The nearest place on a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Where (m).
    pub point: DVec3,
    /// Unit directions, across each other, along which a point there is held. On a curve the last one is along it; on
    /// a surface the first one is its normal, and at a border the second points out of it, the third along it.
    pub held: [DVec3; 3],
    /// How many of them count: 2 on a curve, 1 on a surface, 3 beyond the end or border of either.
    pub count: usize,
}

impl Track {
    /// A Catmull-Rom curve through points (m). Points that repeat the one before, or are not finite numbers, are left
    /// out; two points make a straight line, closed or not; one holds a point where it is; none holds nothing.
    pub fn curve(points: Vec<DVec3>, closed: bool) -> Track {
        Track(Shape::Curve(Curve::new(points, closed)))
    }

    /// The surface of a mesh: its vertices (m), and triangles that wind the same way round. Vertices at the same place
    /// are one, so that seams do not tear the surface; triangles without area are left out. What is wrong with the
    /// mesh is said in words for people.
    pub fn surface(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Track, String> {
        Ok(Track(Shape::Surface(Surface::new(vertices, &triangles)?)))
    }

    /// The nearest place to `point` (m).
    pub fn nearest(&self, point: DVec3) -> Nearest {
        match &self.0 {
            Shape::Curve(curve) => curve.nearest(point),
            Shape::Surface(surface) => surface.nearest(point),
        }
    }
}

/// The direction of `v`, also where the square of its length is too small or too large for a number.
fn direction(v: DVec3) -> Option<DVec3> {
    (v / v.abs().max_element()).try_normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers that break arithmetic, and some that do not.
    fn hostile() -> impl Strategy<Value = DVec3> {
        let number = || {
            let odd = vec![0.0, -0.0, 1.0, -1.0, 1e-320, 1e-160, 1e160, 1e308, f64::INFINITY, f64::NAN];
            prop_oneof![3 => -1.0..1.0_f64, 2 => prop::sample::select(odd)]
        };
        (number(), number(), number()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    fn sound(found: Nearest) -> bool {
        let [a, b, c] = found.held;
        let units = found.held.iter().all(|h| (h.length() - 1.0).abs() < 1e-9);
        units && a.dot(b).abs().max(b.dot(c).abs()).max(c.dot(a).abs()) < 1e-9 && found.count <= 3
    }

    #[test]
    fn tracks_go_between_threads() {
        fn goes<T: Clone + std::fmt::Debug + PartialEq + Send + Sync>() {}
        goes::<Track>();
    }

    proptest! {
        #[test]
        fn hostile_curves_have_directions(
            points in prop::collection::vec(hostile(), 0..6), closed in any::<bool>(), query in hostile(),
        ) {
            let track = Track::curve(points, closed);
            let found = track.nearest(query);
            prop_assert!(sound(found), "{found:?}");
            prop_assert_eq!(found.count == 0, track == Track::curve(Vec::new(), false));
        }

        #[test]
        fn hostile_surfaces_have_directions(
            vertices in prop::collection::vec(hostile(), 0..6),
            triangles in prop::collection::vec([0..6_u32, 0..6, 0..6], 0..6),
            query in hostile(),
        ) {
            let finite = vertices.iter().all(|v| v.is_finite());
            match Track::surface(vertices, triangles) {
                Ok(track) => prop_assert!(finite && sound(track.nearest(query)), "{:?}", track.nearest(query)),
                Err(text) => prop_assert!(!text.is_empty()),
            }
        }
    }
}
