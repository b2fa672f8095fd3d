//! The overlap of two convex shapes by slices.
//!
//! Seen along the normal, the overlap is a convex region of the plane across it. It is cut into slices across its long
//! axis; the depth over a slice of a round shape is close to a parabola. Three points per slice and three slices per
//! panel (Gauss and Legendre) integrate it: to 0.1 % for the cap of a ball, to 0.5 % for a disc of even depth.

use super::line::Lines;
use super::patch::{Layers, Spot};
use super::{Field, field_in_world};
use crate::rig::Collider;
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;
use parry3d_f64::math::{Pose, Rotation};
use parry3d_f64::query;

/// Places and weights of three points on the unit interval, exact for polynomials up to the fifth degree.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_3, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// How well a rim is known, as a share of the shapes' reach.
const ENOUGH: f64 = 1e-10;

/// Halvings until it is.
const HALVINGS: usize = 34;

/// Rounds of the search for the ends of a region at most. One that is the same on both sides of its axis takes one.
const ROUNDS: usize = 8;

type Placed<'a> = (&'a Collider, &'a Placement);

/// Adds the spots of two colliders that need not have flat faces.
pub fn spots(a: Placed<'_>, b: Placed<'_>, layers: &Layers, out: &mut Vec<Spot>) {
    let Some((normal, deepest)) = meeting(a, b) else { return };
    let along = long_axis(a, b, normal);
    let across = [along, normal.cross(along)];
    let lines = Lines::new(a, b, deepest, across, normal);
    let reach = 2.0 * lines.reach();
    let Some(middle) = inside(&lines, a, b, deepest, across) else { return };
    let ends = [-1.0, 1.0].map(|side| tip(&lines, middle, side, reach));
    let (panels, count) = panels(a, b, deepest, along, [ends[0].0, middle.0, ends[1].0]);
    for panel in panels[..count].windows(2) {
        let width = panel[1] - panel[0];
        for (place, weight) in GAUSS {
            let x = panel[0] + width * place;
            // The region is convex: the ways from its middle to its ends are inside it.
            let end = if x < middle.0 { ends[0] } else { ends[1] };
            let share = if end.0 == middle.0 { 0.0 } else { (x - middle.0) / (end.0 - middle.0) };
            let y = middle.1 + (end.1 - middle.1) * share;
            let low = y - rim(&lines, (x, y), (0.0, -1.0), reach);
            let high = y + rim(&lines, (x, y), (0.0, 1.0), reach);
            for (place, own) in GAUSS {
                let y = low + (high - low) * place;
                if let Some((b_begins, a_ends)) = lines.overlap(x, y) {
                    let surface = deepest + across[0] * x + across[1] * y + normal * a_ends;
                    let area = width * weight * (high - low) * own;
                    out.push(layers.spot(surface, normal, a_ends - b_begins, area));
                }
            }
        }
    }
}

/// The normal from a to b, and a point on a line along it that is deep in the overlap or at its edge.
fn meeting(a: Placed<'_>, b: Placed<'_>) -> Option<(DVec3, DVec3)> {
    use Geometry::{Ball, Capsule, HalfSpace};
    match (&a.0.geometry, &b.0.geometry) {
        (HalfSpace(_), HalfSpace(_)) => None,
        (_, Ball(ball)) => {
            let f = field_in_world(a.0, a.1, b.1.position);
            (f.distance < ball.radius).then_some((f.gradient, b.1.position))
        }
        (Capsule(p), Capsule(q)) => {
            let ends = |c: &parry3d_f64::shape::Capsule, pose: &Placement| {
                [c.segment.a, c.segment.b].map(|e| pose.position + pose.rotation * e)
            };
            let (on_a, on_b) = nearest(ends(p, a.1), ends(q, b.1));
            let way = on_b - on_a;
            let normal = way.try_normalize()?;
            (way.length() < p.radius + q.radius).then_some((normal, on_a))
        }
        (HalfSpace(plane), _) => {
            let normal = a.1.rotation * plane.normal;
            Some((normal, lowest(b, -normal)?))
        }
        (_, Capsule(c)) => {
            let axis = [c.segment.a, c.segment.b].map(|e| b.1.position + b.1.rotation * e);
            let (f, point) = deepest_on(axis, |p| field_in_world(a.0, a.1, p));
            (f.distance < c.radius).then_some((f.gradient, point))
        }
        (Ball(_) | Capsule(_), _) | (_, HalfSpace(_)) => {
            meeting(b, a).map(|(normal, point)| (-normal, point))
        }
        _ => {
            let pose = |p: &Placement| {
                let r = p.rotation;
                Pose::from_parts(p.position, Rotation::from_xyzw(r.x, r.y, r.z, r.w))
            };
            let (shape_a, shape_b) = (a.0.geometry.shape(), b.0.geometry.shape());
            let contact = query::contact(&pose(a.1), shape_a, &pose(b.1), shape_b, 0.0).ok()??;
            (contact.dist < 0.0).then_some((contact.normal1, (contact.point1 + contact.point2) * 0.5))
        }
    }
}

/// The point of a collider that is furthest in a direction; of a capsule the centre of that end.
fn lowest((collider, pose): Placed<'_>, way: DVec3) -> Option<DVec3> {
    let local = pose.rotation.conjugate() * way;
    let point = match &collider.geometry {
        Geometry::Ball(_) => DVec3::ZERO,
        Geometry::Capsule(c) => match local.dot(c.segment.b - c.segment.a) > 0.0 {
            true => c.segment.b,
            false => c.segment.a,
        },
        other => other.shape().as_support_map()?.local_support_point(local),
    };
    Some(pose.position + pose.rotation * point)
}

/// The point of a line segment that is deepest in a convex shape: the distance is convex along it, so that two points
/// say on which side of one of them the deepest is. Where it lies flat, its middle.
fn deepest_on(ends: [DVec3; 2], field: impl Fn(DVec3) -> Field) -> (Field, DVec3) {
    let at = |t: f64| ends[0].lerp(ends[1], t);
    let (mut low, mut high) = (0.0, 1.0);
    let even = 1e-9 * (ends[1] - ends[0]).length();
    while high - low > 1e-7 {
        let third = (high - low) / 3.0;
        let (p, q) = (field(at(low + third)).distance, field(at(high - third)).distance);
        let (left, right) = (p < q + even, q < p + even);
        // Where it has no length, or none that counts in these numbers, both are as deep: it shrinks to its middle, too.
        let alike = !left && !right;
        if left || alike {
            high -= third;
        }
        if right || alike {
            low += third;
        }
    }
    let point = at(0.5 * (low + high));
    (field(point), point)
}

/// The nearest points of two line segments.
fn nearest(p: [DVec3; 2], q: [DVec3; 2]) -> (DVec3, DVec3) {
    let (u, v, w) = (p[1] - p[0], q[1] - q[0], p[0] - q[0]);
    let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
    let (uw, vw) = (u.dot(w), v.dot(w));
    let tiny = f64::MIN_POSITIVE;
    // Parallel ones touch all along: the middle of where they face each other.
    let flat = uu * vv - uv * uv;
    let mut s = match flat > 1e-12 * uu * vv {
        true => ((uv * vw - vv * uw) / flat).clamp(0.0, 1.0),
        false => {
            let at = |e: DVec3| ((e - p[0]).dot(u) / uu.max(tiny)).clamp(0.0, 1.0);
            0.5 * (at(q[0]) + at(q[1]))
        }
    };
    let t = ((uv * s + vw) / vv.max(tiny)).clamp(0.0, 1.0);
    s = ((uv * t - uw) / uu.max(tiny)).clamp(0.0, 1.0);
    (p[0] + u * s, q[0] + v * t)
}

/// The direction across the normal along which the region is long, or has its corners.
fn long_axis(a: Placed<'_>, b: Placed<'_>, normal: DVec3) -> DVec3 {
    let rank = |p: &Placed<'_>| match p.0.geometry {
        Geometry::Capsule(_) => 3,
        Geometry::Convex(_) => 2,
        Geometry::Box(_) => 1,
        _ => 0,
    };
    let leader = if rank(&b) > rank(&a) { b } else { a };
    if rank(&leader) > 0 {
        for axis in [DVec3::Y, DVec3::X] {
            let axis = leader.1.rotation * axis;
            let flat = axis - normal * axis.dot(normal);
            if flat.length() > 0.1 {
                return flat.normalize();
            }
        }
    }
    normal.any_orthonormal_vector()
}

/// A place well inside the region: half-way between its ends on the line from the deepest place to the middle of the
/// smaller shape.
fn inside(
    lines: &Lines<'_>,
    a: Placed<'_>,
    b: Placed<'_>,
    deepest: DVec3,
    across: [DVec3; 2],
) -> Option<(f64, f64)> {
    let endless = |p: &Placed<'_>| matches!(p.0.geometry, Geometry::HalfSpace(_) | Geometry::Surface(_));
    let smaller = if endless(&b) || (!endless(&a) && a.0.size < b.0.size) { a } else { b };
    let middle = smaller.0.geometry.shape().compute_local_aabb().center();
    let to = smaller.1.position + smaller.1.rotation * middle - deepest;
    let (x, y) = (to.dot(across[0]), to.dot(across[1]));
    let there = |t: f64| lines.overlap(x * t, y * t).is_some();
    let far = x.hypot(y);
    if far < 1e-9 * lines.reach() {
        return there(0.0).then_some((0.0, 0.0));
    }
    // The deepest place may be on the rim, where lines just miss a shape.
    let start = [0.0, 1e-9, 1e-6, 1e-4].into_iter().find(|&t| there(t))?;
    let on = rim(lines, (x * start, y * start), (x / far, y / far), far) / far;
    let back = rim(lines, (x * start, y * start), (-x / far, -y / far), lines.reach()) / far;
    let t = start + 0.5 * (on - back);
    Some((x * t, y * t))
}

/// How far it is from a place inside the region to its rim, at most `reach`.
///
/// Where both shapes are met the depth is continuous, and its zero is found by the Illinois rule; where a line passes
/// a shape by there is no depth, and the interval is halved.
fn rim(lines: &Lines<'_>, from: (f64, f64), way: (f64, f64), reach: f64) -> f64 {
    let depth = |t: f64| lines.ends(from.0 + way.0 * t, from.1 + way.1 * t).map(|e| e.1 - e.0);
    let (mut near, mut far) = (0.0, reach);
    let Some(mut deep) = depth(near).filter(|d| *d > 0.0) else { return 0.0 };
    let mut air = depth(far);
    if air.is_some_and(|d| d > 0.0) {
        return reach;
    }
    let mut side = 0;
    for _ in 0..2 * HALVINGS {
        let t = match air {
            Some(air) if air.is_finite() => near + (far - near) * (deep / (deep - air)),
            _ => 0.5 * (near + far),
        };
        let found = depth(t);
        match found {
            Some(d) if d > 0.0 => {
                (near, deep) = (t, d);
                if side == 1 {
                    air = air.map(|a| 0.5 * a);
                }
                side = 1;
            }
            _ => {
                (far, air) = (t, found);
                if side == -1 {
                    deep *= 0.5;
                }
                side = -1;
            }
        }
        if far - near < ENOUGH * reach || found.is_some_and(|d| d.abs() < 1e-3 * ENOUGH * reach) {
            return t;
        }
    }
    0.5 * (near + far)
}

/// The place of the region that is furthest along its axis: `side` 1 or -1.
fn tip(lines: &Lines<'_>, middle: (f64, f64), side: f64, reach: f64) -> (f64, f64) {
    let mut from = middle;
    let mut best = middle;
    for _ in 0..ROUNDS {
        let far = (from.0 + side * rim(lines, from, (side, 0.0), reach), from.1);
        if (far.0 - best.0) * side <= 1e-6 * (best.0 - middle.0).abs() {
            break;
        }
        best = far;
        // A little before the end, the middle of the slice is nearer to where the end is.
        let (x, y) = (middle.0 + (far.0 - middle.0) * 0.95, middle.1 + (far.1 - middle.1) * 0.95);
        let (up, down) = (rim(lines, (x, y), (0.0, 1.0), reach), rim(lines, (x, y), (0.0, -1.0), reach));
        let off = 0.5 * (up - down);
        if off.abs() <= 1e-3 * (up + down) {
            break;
        }
        from = (x, y + off);
    }
    best
}

/// Where the slices' panels end: at the ends of the region, and where a capsule's side becomes round, or else in
/// the middle.
fn panels(a: Placed<'_>, b: Placed<'_>, origin: DVec3, along: DVec3, ends: [f64; 3]) -> ([f64; 4], usize) {
    let capsule = |p: &Placed<'_>| match &p.0.geometry {
        Geometry::Capsule(c) => Some([c.segment.a, c.segment.b].map(|e| {
            let at = p.1.position + p.1.rotation * e - origin;
            at.dot(along).clamp(ends[0], ends[2])
        })),
        _ => None,
    };
    match capsule(&a).or(capsule(&b)) {
        Some([p, q]) => ([ends[0], p.min(q), p.max(q), ends[2]], 4),
        None => ([ends[0], ends[1], ends[2], ends[2]], 3),
    }
}
