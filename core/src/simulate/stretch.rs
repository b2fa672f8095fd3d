//! Steps of everything, one or several at a time.

use super::state::MOST_HALVED;
use super::{State, Workspace};
use crate::rig::Rig;

/// Of so many bodies, several threads share all parts of a step.
const CROWD: usize = 256;

/// A step to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// Scene seconds, above 0.
    pub dt: f64,
    /// Scene time after it, to the digit.
    pub end: f64,
}

impl Leg {
    /// Steps of one length from scene time `from` on.
    pub fn evenly(from: f64, dt: f64, count: usize) -> impl Iterator<Item = Leg> {
        let mut end = from;
        (0..count).map(move |_| {
            end += dt;
            Leg { dt, end }
        })
    }
}

/// Advances `state` by `dt` seconds of scene time (above 0). Allocates nothing.
pub fn step(rig: &Rig, state: &mut State, work: &mut Workspace, dt: f64) {
    let end = state.time + dt;
    advance(rig, state, work, &[Leg { dt, end }]);
}

/// Takes several steps. Everything is as if they were taken one by one, but what cannot meet takes them by itself, each
/// cluster all of them: its numbers stay at hand, and threads need not wait for each other after every step.
pub fn advance(rig: &Rig, state: &mut State, work: &mut Workspace, legs: &[Leg]) {
    let (strikes, halved) = (state.strikes.len(), state.halved.len());
    if !work.others.is_empty() && !crate::pool::is_there() {
        work.others.clear();
    }
    match work.others.is_empty() || rig.solids.len() < CROWD {
        true => take(rig, state, work, legs),
        // Threads are woken once, and then have all of the steps to share.
        false => rayon::scope(|_| take(rig, state, work, legs)),
    }
    // In an order that does not tell who took which step first.
    if legs.len() > 1 {
        state.touched.sort_unstable_by_key(|t| (t.colliders, t.nth));
    }
    state.strikes[strikes..]
        .sort_unstable_by(|a, b| a.time.total_cmp(&b.time).then_with(|| a.colliders.cmp(&b.colliders)));
    state.halved[halved..].sort_unstable_by(|a, b| {
        let longer = || b.length.total_cmp(&a.length);
        a.time.total_cmp(&b.time).then_with(longer).then_with(|| a.cause.solid().cmp(&b.cause.solid()))
    });
    state.halved.truncate(MOST_HALVED);
}

fn take(rig: &Rig, state: &mut State, work: &mut Workspace, legs: &[Leg]) {
    let Workspace { shift, lane, others, .. } = work;
    // A limit is for the step as a whole.
    let (limited, several) = (rig.solver.limited, !others.is_empty());
    if legs.len() > 1 && !limited {
        shift.clusters.find(rig, state, legs, false, several);
        if shift.clusters.are_even(1 + others.len()) {
            shift.run(rig, state, lane, others, legs);
            state.time = legs[legs.len() - 1].end;
            return;
        }
    }
    for leg in legs {
        let leg = std::slice::from_ref(leg);
        shift.clusters.find(rig, state, leg, limited, several);
        shift.run(rig, state, lane, others, leg);
        state.time = leg[0].end;
    }
}
