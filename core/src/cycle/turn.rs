//! Turns until the motion repeats.

use super::seam::{self, Gap};
use super::travel::travel;
use crate::motion::Motion;
use crate::rig::Rig;
use crate::simulate::Session;
use std::sync::Arc;

/// One turn of a motion that repeats.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its frames, at the times and places of the first turn, the end brought to the start.
    pub motion: Motion,
    /// Turns simulated.
    pub turns: usize,
    /// What was between the end and the start of the first turn: what a bake without a loop has.
    pub first: Gap,
    /// What was between the end and the start of the last one, before they were brought together.
    pub before: Gap,
    /// Whether the motion had come to repeat itself.
    pub repeats: bool,
}

/// Two turns are the same when nothing differs by more than this anywhere, rad or radii: a hundredth of a degree...
const SAME: f64 = 1.75e-4;
/// ... and no velocity at the seam by more than this, per cent.
const SAME_VELOCITY: f64 = 0.1;

/// Differences beyond this (rad or radii) are seen however they are spread: a degree.
const SEEN: f64 = 0.0175;

/// Simulates a rig that was compiled for a loop. `progress` is told `(frame, of at most)` after each frame and returns
/// whether to go on; `None` when it did not.
pub fn run(rig: &Rig, mut progress: impl FnMut(usize, usize) -> bool) -> Option<Turn> {
    let (per_turn, turns) = (rig.range.frames() - 1, rig.range.turns);
    let travel = travel(rig);
    let mut session = Session::new(Arc::new(rig.clone()));
    let mut before: Option<Motion> = None;
    let mut first = None;
    for turn in 0..turns {
        let mut motion = Motion::with_capacity(rig, per_turn + 1);
        motion.record(rig, session.state());
        for frame in 1..=per_turn {
            session.step_frame();
            motion.record(rig, session.state());
            motion.note_joints(session.open_joints());
            if !progress(turn * per_turn + frame, turns * per_turn + 1) {
                return None;
            }
        }
        let shift: Vec<_> = travel.iter().map(|t| *t * turn as f64).collect();
        motion.bring_back(rig, rig.range.length() * turn as f64, &shift);
        if let Some(before) = &before {
            let found = seam::difference(rig, before, &motion);
            let first = &*first.get_or_insert(found.start);
            let same = found.anywhere < SAME && found.end.velocity_percent.is_none_or(|v| v < SAME_VELOCITY);
            if same || turn + 1 == turns {
                seam::close(rig, before, &mut motion);
                let repeats = found.anywhere < SEEN;
                let first = first.clone();
                return Some(Turn { motion, turns: turn + 1, first, before: found.end, repeats });
            }
        }
        before = Some(motion);
    }
    None
}
