//! How far a turn is from the one before it, and how the two become one.

use crate::motion::{Motion, Sample};
use crate::rig::Rig;
use crate::rotation;
use crate::scene::Placement;
use glam::DVec3;
use serde::Serialize;

/// What is between the end of a turn and its start: the worst of all bodies, each relative to what carries it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gap {
    /// Degrees.
    pub angle_deg: f64,
    /// Scene units.
    pub distance: f64,
    /// Velocity or spin, per cent of the fastest in the turn; none where velocities step at every key.
    pub velocity_percent: Option<f64>,
    /// The node that is worst.
    pub node: Option<String>,
}

/// Slower than this (rad/s, or radii per second) a body as good as rests, and no share of its speed is seen.
pub(crate) const RESTS: f64 = 0.02;

impl Gap {
    /// Takes over what is larger: rad, scene units, share of the fastest.
    pub(crate) fn widen(&mut self, angle: f64, distance: f64, velocity: Option<f64>) {
        self.angle_deg = self.angle_deg.max(angle.to_degrees());
        self.distance = self.distance.max(distance);
        let percent = velocity.map(|v| 100.0 * v);
        self.velocity_percent = match (self.velocity_percent, percent) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
}

/// How two turns differ.
pub(super) struct Difference {
    /// At the start: how the turn before would meet itself.
    pub start: Gap,
    /// At the end.
    pub end: Gap,
    /// Of any body at any frame: rad, or radii if that is more.
    pub anywhere: f64,
}

/// Compares a turn with the one before it, both at the times and places of the first turn.
pub(super) fn difference(rig: &Rig, before: &Motion, after: &Motion) -> Difference {
    let last = after.frames() - 1;
    let mut out = Difference { start: Gap::default(), end: Gap::default(), anywhere: 0.0 };
    let mut worst = [0.0; 2];
    for i in 0..rig.solids.len() {
        let radius = rig.solids[i].radius.max(f64::MIN_POSITIVE);
        let seen = |m: &Motion, f: usize| relative(rig, m.frame(f), i);
        let apart = |f: usize| {
            let (a, b) = (seen(before, f), seen(after, f));
            ((a.position - b.position).length(), rotation::distance(a.rotation, b.rotation))
        };
        let moved = |m: &Motion, f: usize| {
            let (a, b) = (seen(m, f - 1), seen(m, f));
            let h = m.times()[f] - m.times()[f - 1];
            let spin: DVec3 = rotation::log(b.rotation * a.rotation.conjugate());
            ((b.position - a.position) / h, spin / h)
        };
        let mut fastest = (RESTS * radius, RESTS);
        for f in 0..=last {
            let (distance, angle) = apart(f);
            out.anywhere = out.anywhere.max(angle).max(distance / radius);
            if f > 0 {
                let (velocity, spin) = moved(after, f);
                fastest = (fastest.0.max(velocity.length()), fastest.1.max(spin.length()));
            }
        }
        // Poses at a frame, velocities over the interval beside it.
        let [worst_start, worst_end] = &mut worst;
        let ends = [(&mut out.start, worst_start, 0, 1), (&mut out.end, worst_end, last, last)];
        for (gap, worst, f, beside) in ends {
            let (distance, angle) = apart(f);
            let ((v0, w0), (v1, w1)) = (moved(before, beside), moved(after, beside));
            let velocity = ((v1 - v0).length() / fastest.0).max((w1 - w0).length() / fastest.1);
            gap.widen(angle, distance, Some(velocity));
            let bad = angle.max(distance / radius);
            if bad > *worst {
                (*worst, gap.node) = (bad, Some(rig.solids[i].name.clone()));
            }
        }
    }
    out
}

/// A body as what carries it sees it.
fn relative(rig: &Rig, samples: &[Sample], solid: usize) -> Placement {
    match rig.carrier(solid) {
        Some(c) => samples[c].node.to(&samples[solid].node),
        None => samples[solid].node,
    }
}

/// Mixes a turn into the one before it, so that its end meets its start.
pub(super) fn close(rig: &Rig, before: &Motion, turn: &mut Motion) {
    let (start, end) = (turn.times()[0], turn.times()[turn.frames() - 1]);
    for f in 0..turn.frames() {
        let u = (turn.times()[f] - start) / (end - start);
        let share = u * u * u * (10.0 - u * (15.0 - 6.0 * u));
        let seen: Vec<Placement> = (0..rig.solids.len()).map(|i| relative(rig, turn.frame(f), i)).collect();
        for (i, own) in seen.iter().enumerate() {
            let other = relative(rig, before.frame(f), i);
            let mixed = Placement {
                position: own.position.lerp(other.position, share),
                rotation: rotation::slerp(own.rotation, other.rotation, share),
            };
            let carrier = rig.carrier(i).map(|c| turn.frame(f)[c].node);
            turn.frame_mut(f)[i].node = carrier.map_or(mixed, |c| c.then(&mixed));
        }
    }
}
