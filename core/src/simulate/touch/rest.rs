//! Rest: what has hardly moved for a while, and all that it lies on, stays where it is to the last digit.
//!
//! It is still simulated, from where it lies: whatever comes to touch it, or changes what acts on it, moves it at once.

use super::Touch;
use super::body::Body;
use crate::rig::Rig;
use crate::simulate::State;
use glam::DVec3;

/// Slower than this share of its size per second is hardly moving...
const HARDLY: f64 = 0.01;
/// ...and after so long (s) it rests.
const LONG: f64 = 0.5;

impl Touch {
    /// Puts bodies that rest back to where they were, without any speed.
    pub(super) fn rest(&mut self, rig: &Rig, state: &mut State, h: f64) {
        let solids = rig.solids.len();
        self.awake.clear();
        self.awake.resize(solids, true);
        // Only what lies on something rests.
        for c in self.contacts.iter().filter(|c| c.spots(&self.points).iter().any(|s| s.impulse > 0.0)) {
            for b in c.bodies.map(|b| b as usize).into_iter().filter(|b| *b < solids) {
                self.awake[self.islands.of(b as u32) as usize] = false;
            }
        }
        for (i, solid) in rig.solids.iter().enumerate() {
            let (s, size) = (&state.solids[i], self.sizes[i]);
            let free = solid.position_target.is_none() && solid.rotation_target.is_none() && !self.jointed[i];
            // By how far it went, not by its velocity: in a crowd contacts leave each other some of that.
            let before = &self.before[i];
            let turned = Body::chord(before.orientation, s.orientation) * solid.radius;
            let slow =
                size.is_finite() && (s.position - before.position).length() + turned < HARDLY * size * h;
            state.still[i] = if free && slow { state.still[i] + h } else { 0.0 };
            if state.still[i] < LONG {
                self.awake[self.islands.of(i as u32) as usize] = true;
            }
        }
        // And on nothing that moves.
        for c in &self.contacts {
            for (x, y) in [(0, 1), (1, 0)] {
                let (keyed, b) = (c.bodies[x] as usize, c.bodies[y] as usize);
                if keyed >= solids && b < solids && self.bodies[keyed].to != self.bodies[keyed].from {
                    self.awake[self.islands.of(b as u32) as usize] = true;
                }
            }
        }
        for i in 0..solids {
            if !self.awake[self.islands.of(i as u32) as usize] {
                let (s, before) = (&mut state.solids[i], &self.before[i]);
                (s.position, s.orientation) = (before.position, before.orientation);
                (s.velocity, s.momentum) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
    }
}
