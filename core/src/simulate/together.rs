//! A rig put together without any motion: every frame of its keys, or the one pose it has.
//!
//! Each frame becomes the closed pose nearest to its keys, so it depends on these alone and follows them smoothly: no
//! correction of an earlier frame stays behind. The search begins at the keys with the correction of the frame before
//! on top, which keeps a linkage from flipping over to another pose that closes it as well.

use super::constrain::Constraints;
use super::{SolidState, State};
use crate::assemble::{Ending, Goal};
use crate::motion::Motion;
use crate::rig::Rig;
use crate::scene::Placement;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Together {
    /// Every frame, with how far joints stayed open.
    pub motion: Motion,
    /// How far each joint was open at most before: scene units and rad, in the rig's order.
    pub open_before: Vec<(f64, f64)>,
    /// How each frame ended.
    pub endings: Vec<Ending>,
    /// Rounds in all.
    pub rounds: usize,
}

/// Puts every frame of the rig's range together. `progress` is told `(frame, of)` after each frame and returns whether
/// to go on; `None` when it says stop.
pub fn together(rig: &Rig, goal: &Goal, mut progress: impl FnMut(usize, usize) -> bool) -> Option<Together> {
    let frames = rig.range.frames();
    let mut state = State::new(rig);
    let mut constraints = Constraints::new(rig);
    let mut all = Together {
        motion: Motion::with_capacity(rig, frames),
        open_before: vec![(0.0, 0.0); rig.joints.len()],
        endings: Vec::with_capacity(frames),
        rounds: 0,
    };
    let mut corrections = vec![Placement::IDENTITY; rig.solids.len()];
    for frame in 0..frames {
        let time = rig.range.time(frame);
        let keys: Vec<Placement> = (0..rig.solids.len()).map(|i| rig.keyed(i, time)).collect();
        constraints.measure_at(rig, time, &keys);
        for (worst, now) in all.open_before.iter_mut().zip(constraints.open()) {
            *worst = (worst.0.max(now.0), worst.1.max(now.1));
        }
        let start: Vec<Placement> = keys.iter().zip(&corrections).map(|(k, c)| k.then(c)).collect();
        let outcome = constraints.put_together(rig, time, &start, &keys, goal);
        all.rounds += outcome.rounds;
        all.endings.push(outcome.ending);
        for (i, body) in constraints.bodies().iter().enumerate() {
            let place = body.placement;
            let finite = place.position.is_finite() && place.rotation.is_finite();
            let place = if finite { place } else { keys[i] };
            corrections[i] = keys[i].to(&place);
            let (position, orientation) = (place.position, place.rotation);
            state.solids[i] = SolidState { position, orientation, ..state.solids[i] };
        }
        state.time = time;
        all.motion.record(rig, &state);
        all.motion.note_joints(constraints.open());
        if !progress(frame, frames.saturating_sub(1)) {
            return None;
        }
    }
    Some(all)
}
