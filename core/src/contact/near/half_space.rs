//! The half space below y = 0 of a place, against balls, capsules and boxes. It is first.

use crate::contact::manifold::{Facing, MOST_POINTS, Manifold, Point};
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;

pub fn knows(other: &Geometry) -> bool {
    matches!(other, Geometry::Ball(_) | Geometry::Capsule(_) | Geometry::Box(_))
}

/// Puts where it touches into an empty `manifold`.
pub fn touch(plane: &Placement, other: &Geometry, b: &Placement, reach: f64, manifold: &mut Manifold) {
    let up = plane.rotation * DVec3::Y;
    let back = plane.rotation.conjugate();
    (manifold.normal, manifold.facing) = (DVec3::Y, Facing::First);
    let mut add = |second: DVec3, radius: f64| {
        let world = b.position + b.rotation * second;
        let height = up.dot(world - plane.position);
        if height - radius > reach {
            return;
        }
        let mut first = back * (world - plane.position);
        first.y = 0.0;
        manifold.push(Point { first, second, round: [0.0, radius] });
    };
    match other {
        Geometry::Ball(ball) => add(DVec3::ZERO, ball.radius),
        Geometry::Capsule(capsule) => {
            add(capsule.segment.a, capsule.radius);
            add(capsule.segment.b, capsule.radius);
        }
        Geometry::Box(cuboid) => {
            // The lowest corner, and the three others of the face that is most downward: those are the lowest four
            // but for a box on its very edge.
            let half = cuboid.half_extents;
            let down = b.rotation.conjugate() * up;
            let size = down.abs();
            let axis = if size.x >= size.y && size.x >= size.z {
                0
            } else if size.y >= size.z {
                1
            } else {
                2
            };
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for k in 0..MOST_POINTS as u32 {
                let mut corner = DVec3::ZERO;
                corner[axis] = if down[axis] > 0.0 { -half[axis] } else { half[axis] };
                corner[u] = if k & 1 == 0 { -half[u] } else { half[u] };
                corner[v] = if k & 2 == 0 { -half[v] } else { half[v] };
                add(corner, 0.0);
            }
        }
        _ => {}
    }
}

/// At which share of its way a ball or a capsule meets it.
pub fn fall(plane: &Placement, other: &Geometry, b: &Placement, way: DVec3) -> Option<Option<f64>> {
    let (lowest, radius) = match other {
        Geometry::Ball(ball) => (DVec3::ZERO, ball.radius),
        Geometry::Capsule(capsule) => {
            let down = b.rotation.conjugate() * (plane.rotation * DVec3::NEG_Y);
            let [x, y] = [capsule.segment.a, capsule.segment.b];
            (if x.dot(down) > y.dot(down) { x } else { y }, capsule.radius)
        }
        _ => return None,
    };
    let up = plane.rotation * DVec3::Y;
    let gap = up.dot(b.position + b.rotation * lowest - plane.position) - radius;
    let falls = -up.dot(way);
    Some(if gap <= 0.0 { Some(0.0) } else { (gap <= falls).then(|| gap / falls) })
}
