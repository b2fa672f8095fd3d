//! Bodies that follow their keys until physics takes over: at a time, or when something touches them; and back again.

use super::State;
use super::linkage::Linkages;
use crate::dynamics::top;
use crate::rig::{Carrier, Frame, Rig};

/// What became of a body that is keyed until it is released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Released {
    /// Scene time of the last release (s).
    pub since: f64,
    /// The set-up's time has released it already.
    pub in_time: bool,
    /// When something last touched it after it had gone back to its keys (s).
    pub touched: f64,
    /// Share of physics in what is seen of it: less than 1 while it goes back to its keys.
    pub share: f64,
}

impl Default for Released {
    fn default() -> Self {
        Released { since: f64::NEG_INFINITY, in_time: false, touched: f64::NEG_INFINITY, share: 1.0 }
    }
}

/// What lies against a body that has gone back to its keys does not release it again: it must have been gone for so long, s.
const GONE: f64 = 0.25;

impl Released {
    /// Whether a touch at `time` (s) releases it: it never was, or nothing has touched it for a while.
    pub fn by_touch(&self, time: f64) -> bool {
        self.since == f64::NEG_INFINITY || time - self.touched > GONE
    }
}

/// Notes what touches bodies that have gone back to their keys, and all that joints hold together with them.
fn note_touches(rig: &Rig, state: &mut State, linkages: &Linkages, solids: &[u32]) {
    let State { touched, released, solids: bodies, time, .. } = state;
    let back = |r: &Released, s: usize| bodies[s].held && r.since != f64::NEG_INFINITY;
    let waits = |s: &u32| rig.solids[*s as usize].release.is_some_and(|r| r.touched.is_some());
    if !solids.iter().any(|s| waits(s) && back(&released[*s as usize], *s as usize)) {
        return;
    }
    for contact in touched.iter() {
        for collider in contact.colliders {
            let Carrier::Solid(s) = rig.colliders.all[collider as usize].carrier else { continue };
            if !back(&released[s], s) {
                continue;
            }
            match linkages.of(s) {
                Some(k) => {
                    linkages.all[k as usize].solids.iter().for_each(|o| released[*o as usize].touched = *time)
                }
                None => released[s].touched = *time,
            }
        }
    }
}

/// Releases the bodies among `solids` whose time has come, and has those that were free long enough go back.
pub fn release_in_time(rig: &Rig, state: &mut State, linkages: &Linkages, solids: &[u32]) {
    note_touches(rig, state, linkages, solids);
    for &i in solids {
        let i = i as usize;
        let Some(release) = rig.solids[i].release else { continue };
        let now = state.time;
        let due = release.time.is_some_and(|t| now >= t - 1e-9);
        if state.solids[i].held && due && !state.released[i].in_time {
            wake(rig, state, linkages, i as u32);
        }
        state.released[i].in_time |= due;
        if let (false, Some((after, over))) = (state.solids[i].held, release.back) {
            let gone = now - state.released[i].since - after;
            let s = if over > 0.0 { (gone / over).clamp(0.0, 1.0) } else { f64::from(u8::from(gone >= 0.0)) };
            state.released[i].share = 1.0 - s * s * (3.0 - 2.0 * s);
            if s >= 1.0 {
                (state.solids[i].held, state.released[i].share) = (true, 1.0);
                state.released[i].touched = now;
            }
        }
    }
}

/// Releases a body, and all that joints hold together with it, with the velocity that its keys have.
pub fn wake(rig: &Rig, state: &mut State, linkages: &Linkages, solid: u32) {
    match linkages.of(solid as usize) {
        Some(k) => linkages.all[k as usize].solids.iter().for_each(|s| wake_one(rig, state, *s as usize)),
        None => wake_one(rig, state, solid as usize),
    }
}

fn wake_one(rig: &Rig, state: &mut State, i: usize) {
    let solid = &rig.solids[i];
    let Some(release) = solid.release.filter(|_| state.solids[i].held) else { return };
    let now = state.time;
    let s = &mut state.solids[i];
    s.held = false;
    if let (path, Frame::World) = solid.hold {
        // Of the keys themselves: what was seen of them is half a step old.
        let (velocity, spin) = rig.paths[path].velocity(now);
        (s.velocity, s.momentum) = (velocity, top::angular_momentum(s.orientation, spin, solid.inertia));
    }
    s.velocity *= release.inherit;
    s.momentum *= release.inherit;
    // How the keys moved it was nobody's push.
    s.force.step_before = 0.0;
    s.torque.step_before = 0.0;
    state.released[i] = Released { since: now, share: 1.0, ..state.released[i] };
}
