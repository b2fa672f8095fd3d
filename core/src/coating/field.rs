//! Signed distance to a shape's surface and its gradient: closed forms where there are any.

use crate::shape::Geometry;
use glam::DVec3;
use parry3d_f64::query::PointQueryWithLocation;
use parry3d_f64::shape::{Shape, TypedShape};

/// Distance to a surface, and the direction in which it grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Scene units, below 0 inside.
    pub distance: f64,
    /// Unit vector away from the nearest point of the surface outside, towards it inside: the surface's normal there.
    pub gradient: DVec3,
}

/// The field of a shape at a point, both in the shape's own axes.
///
/// Exact inside and outside. Where several points of the surface are nearest (the centre of a ball, the ridge of a
/// box) one of them is taken, always the same. Open triangle meshes and height fields have their inside behind
/// (below) them.
pub fn field(geometry: &Geometry, point: DVec3) -> Field {
    match geometry {
        Geometry::Ball(ball) => around(point, ball.radius),
        Geometry::Box(cuboid) => of_box(cuboid.half_extents, point),
        Geometry::Capsule(capsule) => {
            let (a, b) = (capsule.segment.a, capsule.segment.b);
            let along = b - a;
            let t = (point - a).dot(along) / along.length_squared().max(f64::MIN_POSITIVE);
            around(point - (a + along * t.clamp(0.0, 1.0)), capsule.radius)
        }
        Geometry::HalfSpace(half) => Field { distance: point.dot(half.normal), gradient: half.normal },
        Geometry::Convex(shape) | Geometry::Surface(shape) => of_any(&**shape, point),
    }
}

/// A ball's, by the way from its centre.
fn around(way: DVec3, radius: f64) -> Field {
    let length = way.length();
    let gradient = if length > 0.0 { way / length } else { DVec3::Y };
    Field { distance: length - radius, gradient }
}

fn of_box(half: DVec3, point: DVec3) -> Field {
    let beyond = point.abs() - half;
    let sign = DVec3::select(point.cmplt(DVec3::ZERO), DVec3::NEG_ONE, DVec3::ONE);
    if beyond.max_element() > 0.0 {
        let way = beyond.max(DVec3::ZERO);
        let distance = way.length();
        return Field { distance, gradient: way * sign / distance };
    }
    let axis = beyond.max_position();
    Field { distance: beyond[axis], gradient: DVec3::AXES[axis] * sign[axis] }
}

fn of_any(shape: &dyn Shape, point: DVec3) -> Field {
    let (distance, way) = signed(shape, point);
    // On the surface itself the way to it has no direction: there the slope of the distance is measured.
    let size = shape.compute_local_aabb().half_extents().length();
    if distance.abs() > 1e-9 * size {
        return Field { distance, gradient: way / distance };
    }
    let step = 1e-6 * size;
    let slope =
        DVec3::AXES.map(|axis| signed(shape, point + axis * step).0 - signed(shape, point - axis * step).0);
    Field { distance, gradient: DVec3::from_array(slope).try_normalize().unwrap_or(DVec3::Y) }
}

/// The signed distance, and the way from the nearest point of the surface.
fn signed(shape: &dyn Shape, point: DVec3) -> (f64, DVec3) {
    let (nearest, inside) = match shape.as_typed_shape() {
        TypedShape::TriMesh(mesh) if mesh.pseudo_normals().is_none() => {
            let (found, (triangle, _)) = mesh.project_local_point_and_get_location(point, false);
            let behind = mesh.triangle(triangle).scaled_normal().dot(point - found.point) < 0.0;
            (found.point, behind)
        }
        TypedShape::HeightField(_) => {
            let found = shape.project_local_point(point, false);
            (found.point, point.y < found.point.y)
        }
        _ => {
            let found = shape.project_local_point(point, false);
            (found.point, found.is_inside)
        }
    };
    let way = point - nearest;
    (if inside { -way.length() } else { way.length() }, way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parry3d_f64::shape::{Cuboid, SharedShape};
    use proptest::prelude::*;

    fn shapes() -> [Geometry; 6] {
        [
            Geometry::ball(0.7),
            Geometry::cuboid(DVec3::new(0.5, 0.8, 0.3)),
            Geometry::capsule(0.6, 0.4),
            Geometry::half_space(),
            Geometry::Convex(SharedShape::cylinder(0.6, 0.5)),
            Geometry::Convex(SharedShape::cone(0.6, 0.5)),
        ]
    }

    proptest! {
        /// From any point, going down the gradient by the distance ends on the surface: so says the library of shapes.
        #[test]
        fn the_field_leads_to_the_surface(x in -1.2..1.2, y in -1.2..1.2, z in -1.2..1.2) {
            let point = DVec3::new(x, y, z);
            for g in shapes() {
                let f = field(&g, point);
                prop_assert!((f.gradient.length() - 1.0).abs() < 1e-9);
                let (theirs, _) = signed(g.shape(), point);
                prop_assert!((f.distance - theirs).abs() < 1e-6, "{g:?}: {} or {theirs}", f.distance);
                let end = signed(g.shape(), point - f.gradient * f.distance).0;
                prop_assert!(end.abs() < 1e-6, "{g:?}: {end}");
            }
        }
    }

    #[test]
    fn on_the_surface_the_gradient_is_the_normal() {
        let hull = Geometry::Convex(SharedShape::new(Cuboid::new(DVec3::ONE)));
        let f = field(&hull, DVec3::new(0.3, 1.0, -0.2));
        assert!(f.distance.abs() < 1e-12 && (f.gradient - DVec3::Y).length() < 1e-6, "{f:?}");
    }
}
