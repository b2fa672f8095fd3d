//! How far two shapes overlap along parallel lines.

use crate::rig::Collider;
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;
use parry3d_f64::query::Ray;
use parry3d_f64::shape::{ConvexPolyhedron, Shape, TypedShape};

/// A bundle of lines along a contact's normal, by their places across it.
pub struct Lines<'a> {
    a: Seen<'a>,
    b: Seen<'a>,
}

/// A shape, and the bundle as seen in its axes.
struct Seen<'a> {
    geometry: &'a Geometry,
    origin: DVec3,
    across: [DVec3; 2],
    along: DVec3,
    /// Which way the side that touches looks: 1 along the lines, -1 against them. Triangles alone need it.
    outward: f64,
    /// No part of either shape is further from the origin.
    reach: f64,
}

impl<'a> Lines<'a> {
    /// Lines along `normal` (from a to b), at `(x, y)` through `origin + x across[0] + y across[1]`.
    pub fn new(
        (a, pose_a): (&'a Collider, &Placement),
        (b, pose_b): (&'a Collider, &Placement),
        origin: DVec3,
        across: [DVec3; 2],
        normal: DVec3,
    ) -> Lines<'a> {
        let reach = |c: &Collider, pose: &Placement| match c.geometry {
            Geometry::HalfSpace(_) | Geometry::Surface(_) => None,
            _ => {
                let bounds = c.geometry.shape().compute_local_aabb();
                let middle = pose.position + pose.rotation * bounds.center();
                Some(bounds.half_extents().length() + (middle - origin).length())
            }
        };
        // What has no end, or may have any, matters as far as the other one reaches.
        let (reach_a, reach_b) = (reach(a, pose_a), reach(b, pose_b));
        let seen = |c: &'a Collider, pose: &Placement, outward: f64, reach: Option<f64>| {
            let back = pose.rotation.conjugate();
            Seen {
                geometry: &c.geometry,
                origin: back * (origin - pose.position),
                across: across.map(|v| back * v),
                along: back * normal,
                outward,
                reach: reach.unwrap_or(0.0),
            }
        };
        let (of_a, of_b) = (reach_a.or(reach_b), reach_b.or(reach_a));
        Lines { a: seen(a, pose_a, 1.0, of_a), b: seen(b, pose_b, -1.0, of_b) }
    }

    /// Where, along the line at `(x, y)`, b begins and a ends: they overlap in between, or there is air if it is the
    /// other way round. `None` where the line misses one of them.
    pub fn ends(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (_, a_ends) = self.a.span(x, y)?;
        let (b_begins, _) = self.b.span(x, y)?;
        Some((b_begins, a_ends))
    }

    /// As [`Self::ends`], where they overlap.
    pub fn overlap(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.ends(x, y).filter(|e| e.1 > e.0)
    }

    /// How far from the origin, across the lines, the smaller shape can be at most.
    pub fn reach(&self) -> f64 {
        self.a.reach.min(self.b.reach)
    }
}

impl Seen<'_> {
    /// Where a line enters the shape and where it leaves it.
    fn span(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let from = self.origin + self.across[0] * x + self.across[1] * y;
        let along = self.along;
        match self.geometry {
            Geometry::Ball(ball) => in_ball(from, along, ball.radius),
            Geometry::Box(cuboid) => in_slabs(from, along, cuboid.half_extents),
            Geometry::Capsule(c) => in_capsule(from, along, c.half_height(), c.radius),
            Geometry::HalfSpace(half) => {
                let (height, slope) = (from.dot(half.normal), along.dot(half.normal));
                match slope {
                    s if s > 1e-12 => Some((f64::NEG_INFINITY, -height / s)),
                    s if s < -1e-12 => Some((-height / s, f64::INFINITY)),
                    _ => (height < 0.0).then_some((f64::NEG_INFINITY, f64::INFINITY)),
                }
            }
            Geometry::Convex(shape) => self.in_convex(&**shape, from),
            Geometry::Surface(_) => {
                let at = self.hit(from, -self.outward)?;
                Some(if self.outward > 0.0 { (f64::NEG_INFINITY, at) } else { (at, f64::INFINITY) })
            }
        }
    }

    fn in_convex(&self, shape: &dyn Shape, from: DVec3) -> Option<(f64, f64)> {
        match shape.as_typed_shape() {
            TypedShape::Cylinder(c) => in_cylinder(from, self.along, c.half_height, c.radius),
            TypedShape::Cone(c) => in_cone(from, self.along, c.half_height, c.radius),
            TypedShape::ConvexPolyhedron(hull) => in_hull(from, self.along, hull),
            _ => Some((self.hit(from, 1.0)?, self.hit(from, -1.0)?)),
        }
    }

    /// Where a ray along the line (1) or against it (-1), from beyond the shape, meets it first.
    fn hit(&self, from: DVec3, way: f64) -> Option<f64> {
        let start = -way * 2.0 * self.reach;
        let ray = Ray::new(from + self.along * start, self.along * way);
        let far = self.geometry.shape().cast_local_ray(&ray, 4.0 * self.reach, false)?;
        Some(start + way * far)
    }
}

fn in_ball(from: DVec3, along: DVec3, radius: f64) -> Option<(f64, f64)> {
    let middle = -from.dot(along);
    let half = radius * radius - (from + along * middle).length_squared();
    (half > 0.0).then(|| (middle - half.sqrt(), middle + half.sqrt()))
}

fn in_slabs(from: DVec3, along: DVec3, half: DVec3) -> Option<(f64, f64)> {
    let (mut enters, mut leaves) = (f64::NEG_INFINITY, f64::INFINITY);
    for k in 0..3 {
        if along[k].abs() < 1e-12 {
            if from[k].abs() > half[k] {
                return None;
            }
            continue;
        }
        let (p, q) = ((-half[k] - from[k]) / along[k], (half[k] - from[k]) / along[k]);
        (enters, leaves) = (enters.max(p.min(q)), leaves.min(p.max(q)));
    }
    (leaves > enters).then_some((enters, leaves))
}

/// What a line has between y = low and y = high.
fn between(y: f64, rise: f64, low: f64, high: f64) -> Option<(f64, f64)> {
    if rise.abs() > 1e-12 {
        let (p, q) = ((low - y) / rise, (high - y) / rise);
        return Some((p.min(q), p.max(q)));
    }
    (low..=high).contains(&y).then_some((f64::NEG_INFINITY, f64::INFINITY))
}

/// Where `speed t^2 + 2 push t + off <= 0`, for a speed above 0.
fn below(speed: f64, push: f64, off: f64) -> Option<(f64, f64)> {
    let root = push * push - speed * off;
    (root > 0.0).then(|| ((-push - root.sqrt()) / speed, (-push + root.sqrt()) / speed))
}

fn both(a: (f64, f64), b: (f64, f64)) -> Option<(f64, f64)> {
    let span = (a.0.max(b.0), a.1.min(b.1));
    (span.1 > span.0).then_some(span)
}

/// An endless cylinder about y.
fn in_tube(from: DVec3, along: DVec3, radius: f64) -> Option<(f64, f64)> {
    let (flat, way) = (from.with_y(0.0), along.with_y(0.0));
    let (speed, off) = (way.length_squared(), flat.length_squared() - radius * radius);
    match speed > 1e-24 {
        true => below(speed, flat.dot(way), off),
        false => (off < 0.0).then_some((f64::NEG_INFINITY, f64::INFINITY)),
    }
}

fn in_cylinder(from: DVec3, along: DVec3, half: f64, radius: f64) -> Option<(f64, f64)> {
    both(between(from.y, along.y, -half, half)?, in_tube(from, along, radius)?)
}

/// With w down from the tip: `x^2 + z^2 <= (m w)^2`, w between 0 and the height.
fn in_cone(from: DVec3, along: DVec3, half: f64, radius: f64) -> Option<(f64, f64)> {
    let m = radius / (2.0 * half);
    let (w, rise) = (half - from.y, along.y);
    let (flat, way) = (from.with_y(0.0), along.with_y(0.0));
    let speed = way.length_squared() - m * m * rise * rise;
    let push = flat.dot(way) + m * m * w * rise;
    let off = flat.length_squared() - m * m * w * w;
    let slab = between(from.y, rise, -half, half)?;
    // A line steeper than the side is inside the cone on one of its ends, and inside its mirror image on the other.
    let inside = match speed {
        s if s > 1e-12 => below(s, push, off)?,
        s if s < -1e-12 => {
            let root = (push * push - s * off).max(0.0).sqrt();
            let (p, q) = ((-push + root) / s, (-push - root) / s);
            if rise > 0.0 { (f64::NEG_INFINITY, p.min(q)) } else { (p.max(q), f64::INFINITY) }
        }
        _ if push > 0.0 => (f64::NEG_INFINITY, -0.5 * off / push),
        _ if push < 0.0 => (-0.5 * off / push, f64::INFINITY),
        _ => return None,
    };
    both(slab, inside)
}

fn in_hull(from: DVec3, along: DVec3, hull: &ConvexPolyhedron) -> Option<(f64, f64)> {
    let (points, corners) = (hull.points(), hull.vertices_adj_to_face());
    let mut span = (f64::NEG_INFINITY, f64::INFINITY);
    for face in hull.faces() {
        let on = points[corners[face.first_vertex_or_edge as usize] as usize];
        let (height, slope) = ((from - on).dot(face.normal), along.dot(face.normal));
        match slope {
            s if s > 1e-12 => span.1 = span.1.min(-height / s),
            s if s < -1e-12 => span.0 = span.0.max(-height / s),
            _ if height > 0.0 => return None,
            _ => {}
        }
    }
    (span.1 > span.0).then_some(span)
}

/// The hull of what the line has in the two balls and in the cylinder between them: a capsule is convex.
fn in_capsule(from: DVec3, along: DVec3, half: f64, radius: f64) -> Option<(f64, f64)> {
    let end = DVec3::Y * half;
    let balls = hull(in_ball(from - end, along, radius), in_ball(from + end, along, radius));
    hull(balls, in_cylinder(from, along, half, radius))
}

fn hull(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coating::field;
    use crate::rig::{Carrier, Material};
    use parry3d_f64::shape::SharedShape;
    use proptest::prelude::*;

    fn collider(geometry: Geometry) -> Collider {
        Collider {
            node: 0,
            name: String::new(),
            carrier: Carrier::World,
            place: Placement::IDENTITY,
            geometry,
            material: Material { friction: 0.0, grip: 0.0, bounce: 0.0, rolling: 0.0 },
            size: 1.0,
            member: 1,
            touches: 1,
            coating: None,
        }
    }

    proptest! {
        /// A line's way through a shape begins and ends on its surface, and its middle is inside.
        #[test]
        fn lines_end_on_surfaces(
            x in -0.8..0.8, y in -0.8..0.8, z in -0.8..0.8, p in -1.0..1.0, q in -1.0..1.0, r in 0.1..1.0,
        ) {
            let corners: Vec<DVec3> =
                (0..12).map(|i| DVec3::new(f64::from(i * 7 % 5), f64::from(i * 3 % 4), f64::from(i % 3)) * 0.3).collect();
            let shapes = [
                Geometry::ball(0.7),
                Geometry::cuboid(DVec3::new(0.5, 0.8, 0.3)),
                Geometry::capsule(0.6, 0.4),
                Geometry::Convex(SharedShape::cylinder(0.6, 0.5)),
                Geometry::Convex(SharedShape::cone(0.6, 0.5)),
                Geometry::Convex(SharedShape::convex_hull(&corners).unwrap()),
            ];
            let (from, along) = (DVec3::new(x, y, z), DVec3::new(p, q, r).normalize());
            for g in shapes {
                let (c, origin) = (collider(g), Placement::IDENTITY);
                let lines = Lines::new((&c, &origin), (&c, &origin), from, [DVec3::X, DVec3::Y], along);
                let Some((begins, ends)) = lines.overlap(0.0, 0.0) else {
                    prop_assert!(field(&c.geometry, from).distance > -1e-9);
                    continue;
                };
                for (t, inside) in [(begins, false), (ends, false), (0.5 * (begins + ends), true)] {
                    let d = field(&c.geometry, from + along * t).distance;
                    prop_assert!(if inside { d < 1e-9 } else { d.abs() < 1e-5 }, "{:?}: {d}", c.geometry);
                }
            }
        }
    }
}
