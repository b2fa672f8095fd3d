//! Rest: what has hardly moved for a while, and all that it lies on, stays where it is to the last digit.
//!
//! While something is near that moves it is still simulated, from where it lies: whatever comes to touch it, or changes
//! what acts on it, moves it at once.

use super::Touch;
use super::body::Body;
use crate::rig::Rig;
use crate::simulate::cluster::Cluster;
use crate::simulate::{SolidState, State};
use glam::DVec3;

/// Slower than this share of its size per second is hardly moving...
const HARDLY: f64 = 0.01;
/// ...and after so long (s) it rests.
const LONG: f64 = 0.5;

impl Touch {
    /// Whether all of a cluster rests, and nothing moves it: then it need not be simulated.
    pub fn rests(&self, rig: &Rig, state: &State, cluster: &Cluster<'_>) -> bool {
        let lies = |s: &u32| {
            let s = &state.solids[*s as usize];
            s.velocity == DVec3::ZERO && s.momentum == DVec3::ZERO
        };
        let still = |s: &u32| state.still[*s as usize] >= LONG && self.is_free(rig, *s as usize);
        let keyed = |c: u32| {
            let body = self.carriers.body_of[c as usize];
            body >= self.carriers.solids
                && ((body - self.carriers.solids) as usize) < self.carriers.keyed.len()
        };
        self.steady
            && !cluster.pairs.is_empty()
            && cluster.solids.iter().all(|s| lies(s) && still(s))
            && !cluster.pairs.iter().any(|p| keyed(p.0) || keyed(p.1))
    }

    /// Whether only contacts hold a body.
    fn is_free(&self, rig: &Rig, solid: usize) -> bool {
        let s = &rig.solids[solid];
        s.position_target.is_none()
            && s.rotation_target.is_none()
            && s.release.is_none()
            && !self.jointed[solid]
    }

    /// Puts bodies that rest back to where they were, without any speed.
    pub(super) fn rest(
        &mut self,
        rig: &Rig,
        state: &mut State,
        before: &[SolidState],
        cluster: &Cluster<'_>,
        h: f64,
    ) {
        let solids = self.carriers.solids;
        cluster.solids.iter().for_each(|s| self.awake[*s as usize] = true);
        // Only what lies on something rests.
        for c in self.contacts.iter().filter(|c| c.spots(&self.points).iter().any(|s| s.impulse > 0.0)) {
            for b in c.bodies.into_iter().filter(|b| *b < solids) {
                self.awake[self.islands.of(b) as usize] = false;
            }
        }
        for &i in cluster.solids {
            let i = i as usize;
            let (solid, s, size) = (&rig.solids[i], &state.solids[i], self.carriers.sizes[i]);
            // By how far it went, not by its velocity: in a crowd contacts leave each other some of that.
            let turned = Body::chord(before[i].orientation, s.orientation) * solid.radius;
            let way = (s.position - before[i].position).length() + turned;
            let slow = size.is_finite() && way < HARDLY * size * h;
            state.still[i] = if slow && self.is_free(rig, i) { state.still[i] + h } else { 0.0 };
            if state.still[i] < LONG {
                self.awake[self.islands.of(i as u32) as usize] = true;
            }
        }
        // And on nothing that moves.
        for c in &self.contacts {
            for (x, y) in [(0, 1), (1, 0)] {
                let (keyed, b) = (c.bodies[x], c.bodies[y]);
                let moves = |body: &Body| body.to != body.from;
                if keyed >= solids && b < solids && moves(&self.bodies[keyed as usize]) {
                    self.awake[self.islands.of(b) as usize] = true;
                }
            }
        }
        for &i in cluster.solids {
            if !self.awake[self.islands.of(i) as usize] {
                let (s, before) = (&mut state.solids[i as usize], &before[i as usize]);
                (s.position, s.orientation) = (before.position, before.orientation);
                (s.velocity, s.momentum) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
    }
}
