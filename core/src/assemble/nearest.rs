//! The closed pose nearest to a given one, in the metric of mass.
//!
//! Closing round by round gives a pose near the start, not the nearest: each round's correction is least from where
//! the round before ended. Here the gradient `e` of half the squared distance is split into what the joints forbid,
//! `W J^T l` with `(J W J^T) l = J e`, and the rest, along which the pose may slide. It slides against the rest and
//! is closed again, until nothing is left: then the correction is made of forces in the joints alone. How far it
//! slides is told by how the last slide changed the rest (Barzilai and Borwein 1988), and halved until it is nearer.
//!
//! The distance of two placements is that of the centres, and the rotation vector from one to the other weighed by the
//! moments of inertia; a rope that would have to push, or the end of a range that would have to pull, is let go.

use super::{Assembly, Body, Ending, Goal, Outcome, restore};
use crate::dynamics::top::Axes;
use crate::joint::{End, Joint, Rows, inverse_left_jacobian};
use crate::rotation;
use crate::scene::Placement;
use crate::solve::Tier;
use glam::DVec3;

/// Most slides.
const MOST_SLIDES: usize = 500;

/// The rest is nothing below this share of the distance.
const NOTHING: f64 = 1e-9;

/// A rest below this share that does not become less is nothing, too.
const SETTLED: f64 = 1e-6;

/// Distances that differ by less than this share are the same: joints are closed to a goal only, and what is left of
/// them is in the distance. Then the rest decides.
const SAME: f64 = 1e-7;

/// Ropes this many goals short of their length count as taut.
const TAUT: f64 = 10.0;

type Step = Vec<(DVec3, DVec3)>;

impl Assembly {
    /// Slides closed `bodies` towards `reference` as far as the joints let them. They may stand anywhere that closes the
    /// joints: where several poses are nearest of those around, the one on their side is found.
    pub fn approach(
        &mut self,
        joints: &[Joint],
        bodies: &mut [Body],
        reference: &[Placement],
        keyed: impl Fn(End) -> Placement,
        goal: &Goal,
    ) -> Outcome {
        let mut outcome = self.close(joints, bodies, &keyed, goal, |_, _, _| {}, || true);
        let mut distance = distance(bodies, reference);
        let mut reach = 1.0;
        // One sweep of pairs does not tell what joints forbid.
        let mut rest = match outcome.reached() && self.tier != Tier::Pairwise {
            true => self.rest(joints, bodies, reference, &keyed, goal),
            false => return outcome,
        };
        let mut before = Vec::new();
        for _ in 0..MOST_SLIDES {
            let length = dot(bodies, &rest, &rest);
            // Distances of rounding are none: the start was closed.
            if length.sqrt() <= NOTHING * distance.sqrt() || distance.sqrt() <= goal.opening {
                outcome.ending = Ending::Nearest;
                return outcome;
            }
            let from = super::poses(bodies);
            let mut nearer = false;
            while !nearer && reach > 1e-6 {
                for (b, r) in bodies.iter_mut().zip(&rest) {
                    b.shift(r.0, r.1, -reach);
                }
                let closed = self.close(joints, bodies, &keyed, goal, |_, _, _| {}, || true);
                let now = self::distance(bodies, reference);
                let left = self.rest(joints, bodies, reference, &keyed, goal);
                let same = (now - distance).abs() <= SAME * distance;
                nearer = closed.reached()
                    && match same {
                        true => dot(bodies, &left, &left) < length,
                        false => now < distance - 1e-4 * reach * length,
                    };
                if nearer {
                    distance = now;
                    outcome = Outcome { rounds: outcome.rounds + closed.rounds, ..closed };
                    before = std::mem::replace(&mut rest, left);
                } else {
                    restore(bodies, &from);
                    reach *= 0.5;
                }
            }
            if !nearer {
                break;
            }
            let bent = dot(bodies, &before, &before) - dot(bodies, &before, &rest);
            reach *= dot(bodies, &before, &before) / bent;
            reach = if bent > 0.0 && reach.is_finite() { reach.clamp(0.02, 10.0) } else { 1.0 };
        }
        self.look(joints, bodies, &keyed);
        // Joints are closed to a goal only, which can keep the rest from vanishing wholly.
        if dot(bodies, &rest, &rest).sqrt() <= SETTLED * distance.sqrt() {
            outcome.ending = Ending::Nearest;
        }
        outcome
    }

    /// What of the way back to `reference` no joint forbids.
    fn rest(
        &mut self,
        joints: &[Joint],
        bodies: &[Body],
        reference: &[Placement],
        keyed: &impl Fn(End) -> Placement,
        goal: &Goal,
    ) -> Step {
        let place = |end: End| match end {
            End::Solid(s) => bodies[s].placement,
            other => keyed(other),
        };
        let mut rest = gradient(bodies, reference);
        self.measure(joints, place);
        for (j, joint) in joints.iter().enumerate().filter(|(_, j)| j.kind.one_sided()) {
            let rows = Rows::new(joint, &joint.ends.map(place), &self.aims[j]);
            let taut = self.held[j] && rows.error[0] >= -TAUT * goal.opening;
            self.rows[j] = if taut { rows } else { Rows::default() };
        }
        loop {
            for (j, rows) in self.rows.iter().enumerate() {
                self.wanted[j] = std::array::from_fn(|r| {
                    let on = |e: usize| {
                        let way = self.structure.ends[j][e].map_or((DVec3::ZERO, DVec3::ZERO), |b| rest[b]);
                        rows.on[e][r].linear.dot(way.0) + rows.on[e][r].angular.dot(way.1)
                    };
                    if r < rows.count { on(0) + on(1) } else { 0.0 }
                });
            }
            self.factor(bodies);
            self.correct(bodies);
            // The way back is against the gradient: a rope holds it where that way would make it longer.
            let pushes = |j: &usize| {
                joints[*j].kind.one_sided() && self.rows[*j].count > 0 && self.multipliers[*j][0] > 0.0
            };
            let Some(loose) = (0..joints.len()).find(pushes) else { break };
            self.rows[loose] = Rows::default();
        }
        rest.iter_mut().zip(&self.push).for_each(|(r, p)| *r = (r.0 - p.0, r.1 - p.1));
        rest
    }
}

/// One over each, and nothing of what nothing moves.
fn heavy(per: DVec3) -> DVec3 {
    DVec3::new(weight(per.x), weight(per.y), weight(per.z))
}

fn weight(per: f64) -> f64 {
    if per > 0.0 { 1.0 / per } else { 0.0 }
}

/// The squared distance of the bodies from `reference` in the metric of mass.
fn distance(bodies: &[Body], reference: &[Placement]) -> f64 {
    let one = |(b, r): (&Body, &Placement)| {
        let moved = b.placement.position - r.position;
        let turned = r.rotation.conjugate() * rotation::log(b.placement.rotation * r.rotation.conjugate());
        moved.length_squared() * weight(b.per_mass) + (turned * turned).dot(heavy(b.per_inertia))
    };
    bodies.iter().zip(reference).map(one).sum()
}

/// The gradient of half of [`distance`], as displacements and rotation vectors.
fn gradient(bodies: &[Body], reference: &[Placement]) -> Step {
    let one = |(b, r): (&Body, &Placement)| {
        let moved = if b.per_mass > 0.0 { b.placement.position - r.position } else { DVec3::ZERO };
        let turned = rotation::log(b.placement.rotation * r.rotation.conjugate());
        let moments = heavy(b.per_inertia);
        let weighed = Axes::new(r.rotation, moments).scale(turned, moments);
        let pulled = inverse_left_jacobian(turned).transpose() * weighed;
        (moved, Axes::new(b.placement.rotation, b.per_inertia).scale(pulled, b.per_inertia))
    };
    bodies.iter().zip(reference).map(one).collect()
}

/// The product of two steps in the metric of mass.
fn dot(bodies: &[Body], a: &[(DVec3, DVec3)], b: &[(DVec3, DVec3)]) -> f64 {
    let mut sum = 0.0;
    for (body, (a, b)) in bodies.iter().zip(a.iter().zip(b)) {
        let back = body.placement.rotation.conjugate();
        sum += a.0.dot(b.0) * weight(body.per_mass);
        sum += (back * a.1 * (back * b.1)).dot(heavy(body.per_inertia));
    }
    sum
}
