//! Contacts of elastic coatings: pressure instead of firm points.
//!
//! The surface between two coatings is cut into spots ([`crate::coating::patch`]). A spot of stiffness K (its area times that of the layers) and depth d pushes with `K d - C v`, `v` the speed of
//! parting. Taken at the mean of both ends of the step, where the impulse P has changed the depth by `-h/4` of the change
//! of velocity, that is the row
//!
//! ```text
//!     v + P / (h (K h/4 + C)) = (K d + K h/4 v_free) / (K h/4 + C),      P >= 0
//! ```
//!
//! the trapezoidal rule: it neither gains nor loses what the spring stores, at any stiffness. C is the layers' share of
//! critical damping of the pair. Where a layer is used up, firm points begin.

use super::contact::{Contact, Crossing};
use super::{Touch, World};
use crate::coating::patch;
use crate::contact::{Facing, MOST_POINTS, Manifold, Meeting, Point};
use crate::rig::Collider;

/// The push of a spot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Press {
    /// Force per depth, and per speed.
    pub stiffness: f64,
    pub damping: f64,
    /// How far the two would overlap in the mean over the step.
    pub depth: f64,
}

impl Press {
    /// What is wanted of the speed of parting, and how much of it an impulse costs.
    pub fn row(&self, free: f64, h: f64) -> (f64, f64) {
        let quarter = 0.25 * self.stiffness * h;
        let firm = quarter + self.damping;
        ((self.stiffness * self.depth + quarter * free) / firm, 1.0 / (h * firm))
    }
}

/// A step in which two close in by more than this share of what their layers give is too long.
const DEEPENS: f64 = 0.25;

/// How far two colliders may overlap until one of their layers is used up; 0 where both are rigid.
pub fn softness(of: [&Collider; 2]) -> f64 {
    let [a, b] = of.map(|c| c.coating);
    match (a, b) {
        (None, None) => 0.0,
        (Some(c), None) | (None, Some(c)) => c.thickness,
        // The softer gives way more: whichever is used up first.
        (Some(a), Some(b)) => {
            let share = b.stiffness / (a.stiffness + b.stiffness);
            (a.thickness / share.max(1e-12)).min(b.thickness / (1.0 - share).max(1e-12))
        }
    }
}

impl Touch {
    /// Adds the spots of a pair with a coating.
    pub(super) fn press(&mut self, world: &World<'_>, pair: [u32; 2], softness: f64) {
        let of = pair.map(|c| &world.rig.colliders.all[c as usize]);
        let numbers = pair.map(|c| self.carriers.body_of[c as usize]);
        let bodies = numbers.map(|b| &self.bodies[b as usize]);
        self.spots.clear();
        // Where the step begins or, if they only come to touch in it, half way.
        let mut moment = 0.0;
        let mut middle = [bodies[0].from, bodies[1].from];
        for share in [0.0, 0.5] {
            if self.spots.is_empty() {
                (moment, middle) =
                    (share, bodies.map(|b| if share > 0.0 { b.part_way(share) } else { b.from }));
                let placed = [0, 1].map(|e| middle[e].then(&of[e].place));
                patch(of[0], &placed[0], of[1], &placed[1], &mut self.spots);
            }
        }
        let size = of[0].size.min(of[1].size);
        let whole: f64 = self.spots.iter().map(|s| s.stiffness * s.area).sum();
        let per = bodies[0].per_mass + bodies[1].per_mass;
        if !(whole > 0.0 && whole.is_finite() && per > 0.0) {
            return;
        }
        let swing = (whole * per).sqrt();
        for chunk in self.spots.chunks(MOST_POINTS) {
            let normal = chunk[0].normal;
            let inward = middle[0].rotation.conjugate();
            let mut manifold = Manifold::new(inward * normal, Facing::First);
            for s in chunk {
                manifold.push(Point {
                    first: inward * (s.point - middle[0].position),
                    second: middle[1].rotation.conjugate() * (s.point - middle[1].position),
                    round: [0.0; 2],
                });
            }
            let first = self.points.len();
            let mut contact = Contact::new(pair, numbers, of, manifold.face(), normal, size, first);
            for (k, s) in chunk.iter().enumerate() {
                let now = Meeting { normal, point: s.point, gap: -s.depth };
                let when = Crossing { gaps: [-s.depth; 2], struck: None, rests: false };
                contact.note(&mut self.points, &manifold.points()[k], bodies, &now, when, [s.point; 2]);
                let spot = &mut self.points[first + k];
                let levers = bodies.map(|b| s.point - b.from.position);
                let parts = normal.dot(bodies[1].free.at(levers[1]) - bodies[0].free.at(levers[0]));
                // The mean over the step.
                let deeper = if moment == 0.0 { 0.25 * world.h * (spot.approach + parts) } else { 0.0 };
                let stiffness = s.stiffness * s.area;
                spot.press = Some(Press {
                    stiffness,
                    damping: 2.0 * s.damping * stiffness / swing,
                    depth: s.depth - deeper,
                });
                if -spot.approach * world.h > DEEPENS * softness {
                    self.deepens =
                        Some(if numbers[0] < self.carriers.solids { numbers[0] } else { numbers[1] });
                }
            }
            self.contacts.push(contact);
        }
    }
}
