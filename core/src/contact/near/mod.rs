//! The narrow phase: where two shapes at two places touch, or come within reach of each other.
//!
//! Balls, boxes, capsules and half spaces have closed forms here, since most of a scene is made of them; all else is
//! asked of parry. Nothing is remembered from one call to the next: the answer hangs on the poses alone.

mod ball;
mod boxes;
mod few;
mod half_space;
mod library;

pub use library::{Library, pose};

use super::manifold::Manifold;
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;

/// Whether all points at which two shapes can ever touch are found wherever they are: none comes up later.
pub fn never_hides(a: &Geometry, b: &Geometry) -> bool {
    use Geometry::{Ball, Capsule, HalfSpace};
    matches!((a, b), (HalfSpace(_), Ball(_) | Capsule(_)) | (Ball(_) | Capsule(_), HalfSpace(_)))
}

/// At which share of its way against the first the second shape meets it, if it does; `None` for shapes of which this is not
/// known in a closed form.
pub fn fall(
    (a, at_a): (&Geometry, &Placement),
    (b, at_b): (&Geometry, &Placement),
    way: DVec3,
) -> Option<Option<f64>> {
    use Geometry::HalfSpace;
    match (a, b) {
        (HalfSpace(_), other) => half_space::fall(at_a, other, at_b, way),
        (other, HalfSpace(_)) => half_space::fall(at_b, other, at_a, -way),
        _ => None,
    }
}

/// Puts the manifolds of `a` and `b` (placed so) with points nearer than `reach` into `out`.
pub fn near(
    (a, at_a): (&Geometry, &Placement),
    (b, at_b): (&Geometry, &Placement),
    reach: f64,
    library: &mut Library,
    out: &mut Vec<Manifold>,
) {
    use Geometry::{Ball, Box, Capsule, HalfSpace};
    let found = match (a, b) {
        (Ball(x), Ball(y)) => ball::ball_ball(x.radius, at_a, y.radius, at_b, reach),
        (Box(x), Ball(y)) => ball::box_ball(x.half_extents, at_a, y.radius, at_b, reach),
        (Ball(x), Box(y)) => {
            ball::box_ball(y.half_extents, at_b, x.radius, at_a, reach).map(Manifold::swapped)
        }
        (Capsule(x), Ball(y)) => ball::capsule_ball(x, at_a, y.radius, at_b, reach),
        (Ball(x), Capsule(y)) => ball::capsule_ball(y, at_b, x.radius, at_a, reach).map(Manifold::swapped),
        (HalfSpace(_), other) if half_space::knows(other) => {
            return in_place(out, |m| half_space::touch(at_a, other, at_b, reach, m));
        }
        (other, HalfSpace(_)) if half_space::knows(other) => {
            return in_place(out, |m| {
                half_space::touch(at_b, other, at_a, reach, m);
                m.swap();
            });
        }
        (Box(x), Box(y)) => boxes::box_box(x.half_extents, at_a, y.half_extents, at_b, reach),
        _ => {
            library.ask((a, at_a), (b, at_b), reach, out);
            return;
        }
    };
    out.extend(found.filter(|m| !m.points().is_empty()));
}

/// Makes a manifold where it is to be: most figures stand on floors, and copies take longer than heights above these.
fn in_place(out: &mut Vec<Manifold>, make: impl FnOnce(&mut Manifold)) {
    out.push(Manifold::default());
    if let Some(manifold) = out.last_mut() {
        make(manifold);
        if manifold.points().is_empty() {
            out.pop();
        }
    }
}
