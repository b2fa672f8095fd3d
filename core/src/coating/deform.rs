//! What soft skins look like where they are pressed.
//!
//! With s the skin's share of an overlap, vertices that are inside another shape move to the surface between the two,
//! `phi = (1 - s) dA - s dB = 0`, along its gradient: the same surface for both, so there is neither gap nor overlap.
//! Around it the skin bulges by a height over the distance t from the other shape,
//!
//! ```text
//!     b(t) = s t (1 - t/u)^2  +  16 q D (t/w)^2 (1 - t/w)^2         u = 2 D / s, D the deepest compression
//! ```
//!
//! of which the first part goes on from the rim with the slope that the pressed part arrives with, and the second,
//! flat at both ends of the zone's width w, makes up for the volume that is still missing: q is solved for on the
//! mesh itself.

use super::{Field, field_in_world, share, stiffness};
use crate::rig::{Coating, Collider};
use crate::scene::Placement;
use glam::DVec3;

/// Colliders and where they are, in the frame of the mesh that is deformed.
pub type Placed<'a> = (&'a Collider, Placement);

/// Width of the zone that bulges, in thicknesses of the coating.
const ZONE: f64 = 2.0;

/// The highest that a bulge may be, as a share of its zone's width: it stays a slope and becomes no fold.
const STEEPEST: f64 = 0.5;

/// Rounds over everything that a vertex is inside of.
const ROUNDS: usize = 4;

/// Moves the vertices `rest` of a mesh to where `partners` press it; `out` is as long. Vertices that nothing presses
/// and that are in no zone around stay as they are, to the bit.
///
/// `own` are the mesh's own colliders: the nearest one is a vertex's, and one without a coating is rigid. The
/// volume of the mesh stays what it was as far as there are vertices in the zones to make up for it.
pub fn deform(
    own: &[Placed<'_>],
    partners: &[Placed<'_>],
    rest: &[DVec3],
    triangles: &[[u32; 3]],
    out: &mut [DVec3],
) {
    out.copy_from_slice(rest);
    let mut deepest = vec![0.0_f64; partners.len()];
    let mut pressed = vec![false; rest.len()];
    for (i, &from) in rest.iter().enumerate() {
        let Some((_, coating)) = skin(own, from) else { continue };
        for round in 0..ROUNDS {
            let mut moved = false;
            for (partner, deepest) in partners.iter().zip(&mut deepest) {
                let Some(to) = press(own, &coating, partner, out[i]) else { continue };
                if round == 0 {
                    *deepest = deepest.max((to - out[i]).length());
                }
                moved |= (to - out[i]).length() > 1e-9 * coating.thickness;
                out[i] = to;
                pressed[i] = true;
            }
            if !moved {
                break;
            }
        }
    }
    if deepest.iter().all(|d| *d == 0.0) {
        return;
    }
    let slopes = zone(own, partners, rest, &deepest, &pressed);
    let mut moves = pressed;
    slopes.iter().for_each(|s| moves[s.vertex] = true);
    let touched: Vec<[u32; 3]> =
        triangles.iter().filter(|t| t.iter().any(|&i| moves[i as usize])).copied().collect();
    fill(own, partners, rest, &touched, &slopes, out);
}

/// The field of the mesh's own shape at a point, and the coating there.
fn skin(own: &[Placed<'_>], point: DVec3) -> Option<(Field, Coating)> {
    let mut nearest: Option<(Field, Option<Coating>)> = None;
    for (collider, place) in own {
        let f = field_in_world(collider, place, point);
        if nearest.is_none_or(|(n, _)| f.distance < n.distance) {
            nearest = Some((f, collider.coating));
        }
    }
    nearest.and_then(|(f, coating)| Some((f, coating?)))
}

/// Where a point of the skin inside a partner goes: to the surface between the two. `None` when it may stay.
fn press(own: &[Placed<'_>], coating: &Coating, partner: &Placed<'_>, from: DVec3) -> Option<DVec3> {
    let s = share(coating.stiffness, stiffness(partner.0));
    let mut to = from;
    for round in 0..30 {
        let b = field_in_world(partner.0, &partner.1, to);
        if round == 0 && b.distance >= 0.0 {
            return None;
        }
        // A vertex outside its own collider is as if on it: the skin begins to give way where it is touched.
        let (a, _) = skin(own, to)?;
        let phi = (1.0 - s) * a.distance.min(0.0) - s * b.distance;
        if round == 0 && phi <= 0.0 {
            return None;
        }
        if phi.abs() < 1e-9 * coating.thickness {
            break;
        }
        let gradient = a.gradient * (1.0 - s) - b.gradient * s;
        // Where both look the same way there is no way between them; the partner's own is always out.
        let gradient = if gradient.length_squared() > 0.05 { gradient } else { -b.gradient * s.max(0.5) };
        to -= gradient * (phi / gradient.length_squared());
    }
    Some(to)
}

/// A vertex's part in the bulge around one contact.
struct Slope {
    vertex: usize,
    normal: DVec3,
    /// Distance from the partner.
    t: f64,
    share: f64,
    deepest: f64,
    width: f64,
    /// It meets the surface between the two there.
    limit: f64,
}

impl Slope {
    /// Below 0 the first part gets narrower; above, the second grows.
    fn height(&self, q: f64) -> f64 {
        let Slope { t, share, deepest, width, .. } = *self;
        let bump = |x: f64| if x < 1.0 { (1.0 - x) * (1.0 - x) } else { 0.0 };
        let near = (2.0 * deepest / share).min(width) * (1.0 + q.min(0.0));
        let first = if near > 0.0 { share * t * bump(t / near) } else { 0.0 };
        let x = t / width;
        first + (16.0 * q.max(0.0) * deepest * x * x * bump(x)).min(STEEPEST * width)
    }
}

/// The vertices around the contacts, those of one vertex together.
fn zone(
    own: &[Placed<'_>],
    partners: &[Placed<'_>],
    rest: &[DVec3],
    deepest: &[f64],
    pressed: &[bool],
) -> Vec<Slope> {
    let mut slopes = Vec::new();
    for (vertex, &point) in rest.iter().enumerate().filter(|(i, _)| !pressed[*i]) {
        let Some((a, coating)) = skin(own, point) else { continue };
        let width = ZONE * coating.thickness;
        for (partner, &deepest) in partners.iter().zip(deepest).filter(|(_, d)| **d > 0.0) {
            let b = field_in_world(partner.0, &partner.1, point);
            if !(b.distance > 0.0 && b.distance < width) {
                continue;
            }
            let (t, s) = (b.distance, share(coating.stiffness, stiffness(partner.0)));
            // After a height h: dA = h, dB = t - h cos, and neither skin passes (1 - s) dA = s dB.
            let steep = (1.0 - s) - s * a.gradient.dot(b.gradient);
            let limit = if steep > 1e-9 { s * t / steep } else { f64::INFINITY };
            slopes.push(Slope { vertex, normal: a.gradient, t, share: s, deepest, width, limit });
        }
    }
    slopes
}

/// Puts the bulge in its place, as high as the missing volume needs.
fn fill(
    own: &[Placed<'_>],
    partners: &[Placed<'_>],
    rest: &[DVec3],
    triangles: &[[u32; 3]],
    slopes: &[Slope],
    out: &mut [DVec3],
) {
    // From nearby, for the digits.
    let origin = slopes.first().map_or(DVec3::ZERO, |s| rest[s.vertex]);
    let volume = |of: &[DVec3]| -> f64 {
        let corner = |i: u32| of[i as usize] - origin;
        triangles.iter().map(|t| corner(t[0]).cross(corner(t[1])).dot(corner(t[2])) / 6.0).sum()
    };
    let whole = volume(rest);
    let pressed = volume(out) - whole;
    let sign = if pressed > 0.0 { -1.0 } else { 1.0 };
    let missing = |q: f64, out: &mut [DVec3]| {
        for vertex in slopes.chunk_by(|a, b| a.vertex == b.vertex) {
            let i = vertex[0].vertex;
            let height: f64 = vertex.iter().map(|s| s.height(q)).sum();
            let limit = vertex.iter().fold(f64::INFINITY, |m, s| m.min(s.limit));
            let mut to = rest[i] + vertex[0].normal * height.min(limit);
            if let Some((_, coating)) = skin(own, rest[i]).filter(|_| height > 0.0) {
                for partner in partners {
                    to = press(own, &coating, partner, to).unwrap_or(to);
                }
            }
            out[i] = to;
        }
        sign * (whole - volume(out))
    };
    let good = 1e-4 * pressed.abs();
    let (mut low, mut high) = (-1.0, 0.0);
    let (mut at_low, mut at_high) = (pressed.abs(), missing(high, out));
    // More and more, until there is enough or nothing more comes of it.
    while at_high > good && high < 1e6 {
        (low, at_low) = (high, at_high);
        high = if high == 0.0 { 0.25 } else { high * 2.0 };
        at_high = missing(high, out);
        if at_high > at_low - 1e-6 * pressed.abs() {
            return;
        }
    }
    // Between the two, by the Illinois rule.
    let (mut q, mut side) = (high, 0);
    for _ in 0..40 {
        let left = if q == high { at_high } else { missing(q, out) };
        if left.abs() <= good {
            return;
        }
        if left > 0.0 {
            (low, at_low) = (q, left);
            at_high *= if side == 1 { 0.5 } else { 1.0 };
            side = 1;
        } else {
            (high, at_high) = (q, left);
            at_low *= if side == -1 { 0.5 } else { 1.0 };
            side = -1;
        }
        q = (low * at_high - high * at_low) / (at_high - at_low);
    }
}
