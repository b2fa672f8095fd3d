//! A ball against a ball, a box, a capsule.

use crate::contact::manifold::{Facing, Manifold, Point};
use crate::scene::Placement;
use glam::DVec3;
use parry3d_f64::shape::Capsule;

pub fn ball_ball(ra: f64, a: &Placement, rb: f64, b: &Placement, reach: f64) -> Option<Manifold> {
    let apart = b.position - a.position;
    let most = ra + rb + reach;
    let square = apart.length_squared();
    if square > most * most {
        return None;
    }
    let length = square.sqrt();
    let normal = if length > 0.0 { apart / length } else { DVec3::Y };
    Some(Manifold::single(normal, Facing::Between, Point { round: [ra, rb], ..Point::default() }))
}

/// The box is first.
pub fn box_ball(half: DVec3, a: &Placement, radius: f64, b: &Placement, reach: f64) -> Option<Manifold> {
    let center = a.rotation.conjugate() * (b.position - a.position);
    let on_box = center.clamp(-half, half);
    let apart = center - on_box;
    let square = apart.length_squared();
    let most = radius + reach;
    if square > most * most {
        return None;
    }
    let point = |first: DVec3| Point { first, round: [0.0, radius], ..Point::default() };
    if square > 0.0 {
        let axes = apart.cmpne(DVec3::ZERO).bitmask().count_ones();
        let (normal, facing) = match axes {
            // Above a face: the face's normal, whatever the ball does along it.
            1 => (apart / square.sqrt(), Facing::First),
            _ => (a.rotation * (apart / square.sqrt()), Facing::Between),
        };
        return Some(Manifold::single(normal, facing, point(on_box)));
    }
    // Its centre is inside: out through the nearest face.
    let depth = half - center.abs();
    let axis = if depth.x <= depth.y && depth.x <= depth.z {
        0
    } else if depth.y <= depth.z {
        1
    } else {
        2
    };
    let mut normal = DVec3::ZERO;
    normal[axis] = if center[axis] < 0.0 { -1.0 } else { 1.0 };
    let mut on_face = center;
    on_face[axis] = half[axis] * normal[axis];
    Some(Manifold::single(normal, Facing::First, point(on_face)))
}

/// The capsule is first.
pub fn capsule_ball(
    capsule: &Capsule,
    a: &Placement,
    radius: f64,
    b: &Placement,
    reach: f64,
) -> Option<Manifold> {
    let center = a.rotation.conjugate() * (b.position - a.position);
    let (p, q) = (capsule.segment.a, capsule.segment.b);
    let along = q - p;
    let length = along.length_squared();
    let share = if length > 0.0 { ((center - p).dot(along) / length).clamp(0.0, 1.0) } else { 0.0 };
    let first = p + along * share;
    let apart = center - first;
    let most = capsule.radius + radius + reach;
    let square = apart.length_squared();
    if square > most * most {
        return None;
    }
    let normal = match square > 0.0 {
        true => apart / square.sqrt(),
        false => along.try_normalize().map_or(DVec3::X, |u| u.any_orthonormal_vector()),
    };
    let point = Point { first, round: [capsule.radius, radius], ..Point::default() };
    Some(Manifold::single(a.rotation * normal, Facing::Between, point))
}
