//! From frame to frame: in so many steps each, or in steps of their own length that frames fall between.
//!
//! Where steps have their own length, a shot moves the same at every frame rate: frames only look at it. A frame that falls
//! between two steps is shown a part of a step on, and the next one begins from the last whole step again.

use super::{Leg, State, Workspace, advance, step, substeps};
use crate::rig::{Range, Rig};

/// So many steps are taken at a time at most: in more, too much may meet.
const STRETCH: usize = 16;

/// From a whole frame to the next one. The last substep lands on the frame's time exactly.
pub fn advance_frame(rig: &Rig, state: &mut State, work: &mut Workspace, to: usize) {
    state.begin_frame();
    let range = &rig.range;
    if range.uneven_substeps {
        let (start, end) = (range.time(to - 1), range.time(to));
        let mut at = state.time;
        let leg = |share: f64| {
            let dt = start + (end - start) * share - at;
            at += dt;
            Leg { dt, end: at }
        };
        go(rig, state, work, substeps::uneven(to, range.substeps).map(leg));
    } else if let Some(rate) = range.steps_per_second {
        advance_evenly(rig, state, work, to, rate);
    } else {
        // The same number for every whole frame, so that nothing is computed anew; a range may end between two.
        let (frame, length) = (1.0 / range.frames_per_second, range.time(to) - range.time(to - 1));
        let length = if (length - frame).abs() < 1e-6 * frame { frame } else { length };
        let dt = length / f64::from(range.substeps);
        go_evenly(rig, state, work, dt);
    }
    state.time = range.time(to);
}

/// So many steps of a length as a frame has.
pub fn go_evenly(rig: &Rig, state: &mut State, work: &mut Workspace, dt: f64) {
    let legs = Leg::evenly(state.time, dt, rig.range.substeps as usize);
    go(rig, state, work, legs);
}

/// Takes these steps.
fn go(rig: &Rig, state: &mut State, work: &mut Workspace, mut legs: impl Iterator<Item = Leg>) {
    let mut stretch = [Leg { dt: 0.0, end: 0.0 }; STRETCH];
    loop {
        let mut count = 0;
        while count < STRETCH
            && let Some(leg) = legs.next()
        {
            stretch[count] = leg;
            count += 1;
        }
        if count == 0 {
            return;
        }
        advance(rig, state, work, &stretch[..count]);
    }
}

/// The same in steps of one length, counted from the start of the range or, of a loop, of the turn.
fn advance_evenly(rig: &Rig, state: &mut State, work: &mut Workspace, to: usize, rate: f64) {
    let range = &rig.range;
    let (start, end) = (start_of_turn(range, to - 1), range.time(to));
    if let Some(mut whole) = state.whole.take() {
        std::mem::swap(state, &mut *whole);
        state.begin_frame();
        state.whole = Some(whole); // as room
    }
    let hair = 1e-6 / rate;
    let first = ((state.time - start) * rate).round();
    let ends = (1..).map(|k| start + (first + f64::from(k)) / rate).take_while(|at| *at < end + hair);
    go(rig, state, work, ends.map(|end| Leg { dt: 1.0 / rate, end }));
    let (rest, room) = (end - state.time, state.whole.take());
    if rest > hair {
        let ends_turn = range.turns > 1 && start_of_turn(range, to) > start;
        let whole = (!ends_turn).then(|| match room {
            Some(mut room) => {
                State::clone_from(&mut room, state);
                room
            }
            None => Box::new(state.clone()),
        });
        let (strikes, halved) = (state.strikes.len(), state.halved.len());
        step(rig, state, work, rest);
        if whole.is_some() {
            // The whole step will tell.
            state.strikes.truncate(strikes);
            state.halved.truncate(halved);
        }
        state.whole = whole;
    }
}

/// When the turn begins that a frame is in.
fn start_of_turn(range: &Range, frame: usize) -> f64 {
    match range.turns > 1 {
        true => range.time(frame - frame % (range.frames() - 1).max(1)),
        false => range.start(),
    }
}
