//! One point at which two bodies touch in a step: when, how fast, and what is wanted of it.
//!
//! A contact's impulse P acts at one moment of the step: at its start, when they meet on the way, or, for what rests or
//! slides on, in its middle, as a force throughout the step would. A body then ends, with `c` the share of the step that
//! is left (`late`),
//!
//! ```text
//!     v1 = v1_free + P / m,      x1 = x1_free + c h P / m.
//! ```
//!
//! With gap `g` and speed of parting `v` along the normal, both without contact:
//!
//! - They would end apart, `g1 > 0`: others may push them together by no more than that. `v >= v1 - 2 g1 / h`.
//! - They meet at `s` with speed `v(s)` and bounce with `e`: `v = -e v(s) + a h (1 - s)`, `c = 1 - s`. A ball so thrown
//!   comes back to `e^2` of its height at any length of the step.
//! - They meet and stay, or already lie on each other: `v >= 0`, and c such that the surfaces just touch at the end,
//!   `c = g1 / (h v1)`: half for what rests.

use super::World;
use super::body::Body;
use super::row::across;
use crate::contact::{Manifold, Meeting};
use crate::rig::Collider;
use glam::DVec3;

/// When two surfaces meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Gaps at the start of the step, and at its end without contact.
    pub gaps: [f64; 2],
    /// The share of the step at which they were found to meet.
    pub struck: Option<f64>,
}

/// What is wanted of a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Least speed of parting at the end of the step.
    pub speed: f64,
    /// Share of the step that is left when the impulse acts.
    pub late: f64,
    /// The share of the step at which they meet, if they do.
    pub met: Option<f64>,
}

/// An impulse acts at least so long before the end: later, it could not move anything any more.
const LATEST: f64 = 0.05;

/// What bounces leaves faster than gravity brings it back within a step or two; anything slower comes to rest.
const BOUNCES: f64 = 2.0;

/// What is wanted of surfaces that cross so, with speeds of parting at the start and, without contact, at the end.
pub fn crossing(when: &Crossing, [v0, v1]: [f64; 2], bounce: f64, h: f64) -> Wanted {
    let [g0, g1] = when.gaps;
    if g1 > 0.0 && when.struck.is_none() {
        return Wanted { speed: v1 - 2.0 * g1 / h, late: 0.5, met: None };
    }
    let gain = v1 - v0;
    let share = when.struck.unwrap_or_else(|| if g0 <= 0.0 { 0.0 } else { root(g0, h * v0, h * gain, g1) });
    let speed = v0 + gain * share;
    if bounce > 0.0 && speed < -BOUNCES * gain.abs() {
        let left = 1.0 - share;
        return Wanted { speed: gain * left - bounce * speed, late: left.max(LATEST), met: Some(share) };
    }
    let too_far = g1 - g0.min(0.0);
    let late = match v1 < 0.0 && when.struck.is_none() {
        true => (too_far / (h * v1)).clamp(LATEST, 1.0),
        false if when.struck.is_some() => (1.0 - share).max(LATEST),
        false => 0.5,
    };
    Wanted { speed: 0.0, late, met: Some(share) }
}

/// First root of g + b s + a s^2 / 2 in 0 < s <= 1, g above 0; the straight line's where there is none.
fn root(g: f64, b: f64, a: f64, g1: f64) -> f64 {
    let line = (g / (g - g1)).clamp(0.0, 1.0);
    let square = b * b - 2.0 * a * g;
    if square < 0.0 {
        return line;
    }
    // The first of the two, without cancellation: 2 g / (-b + sqrt).
    let below = -b + square.sqrt();
    let s = if below > 0.0 { 2.0 * g / below } else { line };
    if (0.0..=1.0).contains(&s) { s } else { line }
}

/// One point of contact.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    /// The two colliders, the lower number first, and their bodies.
    pub colliders: [u32; 2],
    pub bodies: [u32; 2],
    /// Its one point, in the axes of the bodies.
    pub manifold: Manifold,
    /// Normal from the first to the second, and two directions across it.
    pub axes: [DVec3; 3],
    /// In the world, when the impulse acts.
    pub point: DVec3,
    /// From the bodies' centres.
    pub levers: [DVec3; 2],
    pub wanted: Wanted,
    /// Gap at the start of the step.
    pub gap: f64,
    /// Speed of parting at the start of the step.
    pub approach: f64,
    /// Coefficients of friction before and after it slides.
    pub friction: (f64, f64),
    /// The smaller thing's extent.
    pub size: f64,
    /// Impulse on the second, world.
    pub impulse: DVec3,
}

impl Contact {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        world: &World<'_>,
        colliders: [u32; 2],
        numbers: [u32; 2],
        of: [&Collider; 2],
        bodies: [&Body; 2],
        manifold: Manifold,
        now: Meeting,
        when: Crossing,
        size: f64,
    ) -> Contact {
        let [a, b] = bodies;
        let n = now.normal;
        let lever =
            |body: &Body| now.point - when.struck.map_or(body.from, |share| body.part_way(share)).position;
        let near = [lever(a), lever(b)];
        let speed = |x: DVec3, y: DVec3| n.dot(y - x);
        let v0 = speed(a.start.at(near[0]), b.start.at(near[1]));
        let v1 = speed(a.free.at(near[0]), b.free.at(near[1]));
        let (x, y) = (&of[0].material, &of[1].material);
        let wanted = crossing(&when, [v0, v1], x.bounce.max(y.bounce), world.h);
        // Where the bodies and the point are when the impulse acts: both feel it at the same place.
        let moment = 1.0 - wanted.late;
        let (at_a, at_b) = (a.part_way(moment), b.part_way(moment));
        let met = manifold.meet(&manifold.points()[0], &at_a, &at_b);
        Contact {
            colliders,
            bodies: numbers,
            manifold,
            axes: across(n),
            point: met.point,
            levers: [met.point - at_a.position, met.point - at_b.position],
            wanted,
            gap: when.gaps[0],
            approach: v0,
            friction: ((x.grip * y.grip).sqrt(), (x.friction * y.friction).sqrt()),
            size,
            impulse: DVec3::ZERO,
        }
    }
}
