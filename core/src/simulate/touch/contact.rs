//! Where two bodies touch in a step: when, how fast, and what is wanted of it.
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
//! - They meet and stay: `v >= 0`, and c such that the surfaces just touch at the end, `c = g1 / (h v1)`.
//!
//! Bodies that lie on others bear loads, and impulses that pass through a stack at different moments would press it
//! together or lift it. So what rests (it bore a load in the step before) goes by where its velocity takes it,
//! `x1 = x0 + h v1`, with `v >= -g0 / h`; a body with an actuator by its own exact answer to a constant force.

use super::body::Body;
use super::row::across;
use super::soft::{Press, softness};
use crate::contact::{Face, Meeting, Point};
use crate::rig::Collider;
use glam::DVec3;

/// When two surfaces meet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crossing {
    /// Gaps at the start of the step, and at its end without contact.
    pub gaps: [f64; 2],
    /// The share of the step at which they were found to meet.
    pub struck: Option<f64>,
    /// They lie on each other.
    pub rests: bool,
}

/// What is wanted of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// What rests on others is nearer to them, and moves less against them in a step, than this share of the smaller thing.
const LIES: f64 = 2e-3;

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
    if when.rests {
        return Wanted { speed: -g0.max(0.0) / h, late: 0.5, met: Some(0.0) };
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

/// Two surfaces that touch: up to four points with one normal, and one friction between them.
///
/// Crowds are gone over in an order that memory does not have: what the solver needs of it lies together, as in [`Spot`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Contact {
    /// The two colliders, the lower number first, and their bodies.
    pub colliders: [u32; 2],
    pub bodies: [u32; 2],
    /// Where its points begin among all, and how many there are.
    first: u32,
    count: u32,
    /// Tangential impulse on the second, world, the one that turns it about the normal, and that against its rolling.
    pub rub: DVec3,
    pub twist: f64,
    pub roll: DVec3,
    /// Normal from the first to the second, and two directions across it.
    pub axes: [DVec3; 3],
    /// From the bodies' centres to the middle of the points, and how far these are from it on average.
    pub levers: [DVec3; 2],
    pub breadth: f64,
    /// Coefficients of friction before and after it slides.
    pub friction: (f64, f64),
    /// The smaller thing's extent.
    pub size: f64,
    /// How far the two may overlap: what their coatings give.
    pub softness: f64,
    /// Rolling friction: the length by which pressure is ahead of what rolls.
    pub rolling: f64,
    /// Its normal in the axes of the bodies.
    pub face: Face,
}

/// One point of it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Spot {
    /// From the bodies' centres.
    pub levers: [DVec3; 2],
    pub wanted: Wanted,
    /// How much of the speed of parting an impulse costs a coating.
    pub give: f64,
    /// Normal impulse.
    pub impulse: f64,
    /// Speed of parting at the start of the step.
    pub approach: f64,
    /// In the world, when the impulse acts.
    pub point: DVec3,
    /// The push of a coating, instead of a firm point.
    pub press: Option<Press>,
    /// The point in the axes of the bodies.
    pub at: Point,
    /// Where the point is at the start of the step, and at its end without contact.
    ends: [DVec3; 2],
    pub when: Crossing,
    /// The same when they meet, and at its end without contact.
    pub meeting: f64,
    pub leaving: f64,
}

impl Contact {
    /// Surfaces that meet at `moment` (share of the step).
    pub fn new(
        colliders: [u32; 2],
        numbers: [u32; 2],
        of: [&Collider; 2],
        face: Face,
        normal: DVec3,
        size: f64,
        first: usize,
    ) -> Contact {
        let (x, y) = (&of[0].material, &of[1].material);
        Contact {
            colliders,
            bodies: numbers,
            face,
            first: first as u32,
            count: 0,
            axes: across(normal),
            levers: [DVec3::ZERO; 2],
            breadth: 0.0,
            friction: ((x.grip * y.grip).sqrt(), (x.friction * y.friction).sqrt()),
            size,
            softness: softness(of),
            rolling: x.rolling.max(y.rolling),
            rub: DVec3::ZERO,
            twist: 0.0,
            roll: DVec3::ZERO,
        }
    }

    /// Adds a point, the last of `all` then: how it crosses, and where it meets.
    pub fn note(
        &mut self,
        all: &mut Vec<Spot>,
        at: &Point,
        bodies: [&Body; 2],
        now: &Meeting,
        when: Crossing,
        ends: [DVec3; 2],
    ) {
        let lever =
            |body: &Body| now.point - when.struck.map_or(body.from, |share| body.part_way(share)).position;
        let levers = [lever(bodies[0]), lever(bodies[1])];
        let approach = now.normal.dot(bodies[1].start.at(levers[1]) - bodies[0].start.at(levers[0]));
        all.push(Spot { at: *at, when, levers, approach, ends, ..Spot::default() });
        self.count += 1;
    }

    /// Whether it lies still enough to rest: it bore a load in the step before, and hardly parts or closes.
    pub fn rests(&self, all: &[Spot], h: f64) -> bool {
        let near = LIES * self.size;
        self.spots(all).iter().any(|s| {
            s.press.is_none() && s.impulse > 0.0 && s.when.gaps[0] < near && s.approach.abs() * h < near
        })
    }

    /// Works out what is wanted of every point.
    pub fn plan(&mut self, all: &mut [Spot], bodies: [&Body; 2], bounce: f64, h: f64) {
        let [a, b] = bodies;
        let n = self.axes[0];
        let rests = a.rests || b.rests;
        let alone = a.light == 0.0 || b.light == 0.0;
        let near_by = 10.0 * LIES * self.size;
        for spot in self.spots_mut(all) {
            let near = spot.levers;
            let v1 = n.dot(b.free.at(near[1]) - a.free.at(near[0]));
            (spot.meeting, spot.leaving) = (spot.approach, v1);
            if let Some(press) = &spot.press {
                let (speed, give) = press.row(v1, h);
                spot.wanted = Wanted { speed, late: 0.5, met: Some(0.0) };
                spot.give = give;
                spot.point = a.from.position + near[0];
                continue;
            }
            spot.when.rests = rests && spot.when.gaps[0] < near_by;
            let mut wanted = crossing(&spot.when, [spot.approach, v1], bounce, h);
            if spot.when.rests && wanted.met == Some(0.0) {
                // What is keyed takes along by how far it goes.
                let lag = |body: &Body, lever: DVec3| n.dot(body.drift.at(lever) - body.free.at(lever));
                wanted.speed += lag(b, near[1]) - lag(a, near[0]);
            }
            // Where the point is when the impulse acts, and from where each body feels it: what goes by its last velocity
            // from where it was at the start. So angular momentum is kept to the digit.
            let moment = spot.when.struck.unwrap_or(1.0 - wanted.late);
            let [g0, g1] = if spot.when.struck.is_some() { [0.0; 2] } else { spot.when.gaps };
            let (point, gap) = (spot.ends[0].lerp(spot.ends[1], moment), g0 + (g1 - g0) * moment);
            let center = |body: &Body| match body.goes_by_velocity() && !alone {
                true => body.from.position,
                false => body.from.position.lerp(body.to.position, moment),
            };
            // Against what nothing pushes, what is left of the gap is no part of the lever: the surfaces will have met.
            let half = if alone { n * (0.5 * gap) } else { DVec3::ZERO };
            spot.point = point;
            spot.levers = [point - half - center(a), point + half - center(b)];
            spot.meeting += (v1 - spot.approach) * wanted.met.unwrap_or(1.0);
            spot.wanted = wanted;
        }
        self.finish(all);
    }

    /// Finds the middle of the points.
    fn finish(&mut self, all: &[Spot]) {
        let spots = self.spots(all);
        let per = 1.0 / spots.len() as f64;
        let levers = [0, 1].map(|e| spots.iter().map(|s| s.levers[e]).sum::<DVec3>() * per);
        let breadth = spots.iter().map(|s| (s.levers[0] - levers[0]).length()).sum::<f64>() * per;
        // What slows rolling slows spinning on a point, too.
        (self.levers, self.breadth) = (levers, breadth.max(self.rolling));
        if self.breadth == 0.0 {
            // What it lay on with several points in the step before held it from turning; a point does not.
            self.twist = 0.0;
        }
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Its points, of all.
    pub fn spots<'a>(&self, all: &'a [Spot]) -> &'a [Spot] {
        &all[self.range()]
    }

    /// The same, for changing.
    pub fn spots_mut<'a>(&self, all: &'a mut [Spot]) -> &'a mut [Spot] {
        &mut all[self.range()]
    }
}

#[cfg(test)]
impl Contact {
    /// Something on a floor, its middle at a lever from the body.
    pub fn on_floor(lever: DVec3, breadth: f64) -> Contact {
        Contact {
            colliders: [0; 2],
            bodies: [0; 2],
            face: Face::default(),
            first: 0,
            count: 0,
            axes: across(DVec3::NEG_Y),
            levers: [lever, DVec3::ZERO],
            breadth,
            friction: (0.6, 0.5),
            size: 1.0,
            softness: 0.0,
            rolling: 0.0,
            rub: DVec3::new(0.1, 0.0, -0.05),
            twist: 0.0,
            roll: DVec3::ZERO,
        }
    }
}

#[cfg(test)]
impl Spot {
    /// A point of it, which bore a little before.
    pub fn on_floor(lever: DVec3) -> Spot {
        Spot { levers: [lever, DVec3::ZERO], impulse: 0.2, ..Spot::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_on_one_point_keeps_no_turn_of_the_step_before() {
        let spots = [-0.1, 0.1].map(|x| Spot::on_floor(DVec3::new(x, -1.0, 0.0)));
        for (count, twist) in [(2, 0.3), (1, 0.0)] {
            let mut contact = Contact { count, twist: 0.3, ..Contact::on_floor(DVec3::NEG_Y, 0.1) };
            contact.finish(&spots);
            assert_eq!(contact.twist, twist, "{count} points");
        }
    }
}
