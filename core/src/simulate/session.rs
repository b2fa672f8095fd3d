//! A simulation that is played with: steps, jumps in time, settings changed on the way.

use super::drag::Drags;
use super::frames::{advance_frame, go_evenly};
use super::{State, Workspace, step};
use crate::motion::{Motion, Sample, sample};
use crate::rig::{self, Rig, Setting};
use crate::setup::{self, SetupError};
use std::sync::Arc;
use std::time::Duration;

/// A live simulation of one rig.
///
/// Going to a frame gives the same bits whichever way one came: frames are always simulated from the start with
/// the rig's substeps, and kept states only save time.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) rig: Arc<Rig>,
    pub(super) state: State,
    pub(super) work: Workspace,
    /// Whole frames that led to `state`; `None` after steps of other lengths.
    pub(super) frame: Option<usize>,
    kept: Vec<(usize, State)>,
    keep_every: usize,
    pub(super) drags: Drags,
    pub(super) clock: Option<fn() -> Duration>,
}

/// States kept for jumping back. When they are too many, every second one goes and the spacing doubles.
const MOST_KEPT: usize = 64;

impl Session {
    /// At the first frame.
    pub fn new(rig: Arc<Rig>) -> Session {
        let state = State::new(&rig);
        let work = Workspace::new(&rig);
        Session {
            kept: vec![(0, state.clone())],
            rig,
            state,
            work,
            frame: Some(0),
            keep_every: 1,
            drags: Drags::default(),
            clock: None,
        }
    }

    /// What is simulated.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Scene time (s).
    pub fn time(&self) -> f64 {
        self.state.time
    }

    /// One step of any length (s of scene time, above 0).
    pub fn step(&mut self, dt: f64) {
        self.state.begin_frame();
        self.state.whole = None;
        step(&self.rig, &mut self.state, &mut self.work, dt);
        self.frame = None;
    }

    /// One frame, in the rig's substeps.
    pub fn step_frame(&mut self) {
        let Some(frame) = self.frame else {
            // After odd steps a frame is just its length in time.
            self.state.begin_frame();
            self.state.whole = None;
            let range = &self.rig.range;
            let dt = 1.0 / (range.frames_per_second * f64::from(range.substeps));
            go_evenly(&self.rig, &mut self.state, &mut self.work, dt);
            return;
        };
        advance_frame(&self.rig, &mut self.state, &mut self.work, frame + 1);
        self.frame = Some(frame + 1);
        self.keep(frame + 1);
    }

    fn keep(&mut self, frame: usize) {
        if !frame.is_multiple_of(self.keep_every) || self.kept.last().is_some_and(|k| k.0 >= frame) {
            return;
        }
        self.kept.push((frame, self.state.clone()));
        if self.kept.len() > MOST_KEPT {
            self.keep_every *= 2;
            let every = self.keep_every;
            self.kept.retain(|k| k.0.is_multiple_of(every));
        }
    }

    /// Goes to `time` (s): whole frames from the start, then the rest in one part of a frame. Times before the
    /// range are its first frame. Drags end: what hands did is not part of the set-up.
    pub fn seek(&mut self, time: f64) {
        self.drop_drags();
        let range = self.rig.range;
        // A hair short of a frame is that frame. The last one may lie between two.
        let hair = 1e-6 / range.frames_per_second;
        let mut whole = ((time - range.start() + hair) * range.frames_per_second).max(0.0).floor() as usize;
        while range.time(whole + 1) <= time + hair {
            whole += 1;
        }
        while whole > 0 && range.time(whole) > time + hair {
            whole -= 1;
        }
        if self.frame.is_none_or(|f| f > whole) {
            let k = self.kept.partition_point(|k| k.0 <= whole) - 1;
            (self.frame, self.state) = (Some(self.kept[k].0), self.kept[k].1.clone());
        } else if let Some(k) = self.kept.iter().rev().find(|k| k.0 <= whole && Some(k.0) > self.frame) {
            (self.frame, self.state) = (Some(k.0), k.1.clone());
        }
        while self.frame.is_some_and(|f| f < whole) {
            self.step_frame();
        }
        let rest = time - range.time(whole);
        if rest > hair {
            let parts = (rest * range.frames_per_second * f64::from(range.substeps)).ceil().max(1.0);
            for _ in 0..parts as usize {
                self.step(rest / parts);
            }
        }
    }

    /// Changes a setting of one body to a constant from now on. Jumping back afterwards simulates the past anew
    /// with it.
    pub fn set(&mut self, solid: usize, setting: Setting, value: f64) {
        Arc::make_mut(&mut self.rig).set(solid, setting, value);
        self.start_anew();
    }

    /// Changes how joints are solved from now on; jumping back simulates the past anew with it. Nothing changes when the
    /// numbers make no sense.
    pub fn set_solver(&mut self, solver: &setup::Solver) -> Result<(), SetupError> {
        let solver = rig::solver(solver, &self.rig.joints)?;
        Arc::make_mut(&mut self.rig).solver = solver;
        self.start_anew();
        Ok(())
    }

    /// Something of the rig has changed: frames to come are no longer what a run from the start would give.
    fn start_anew(&mut self) {
        self.make_room();
        self.kept = match self.drags.is_empty() {
            true => vec![(0, State::new(&self.rig))],
            false => vec![(0, State::new(&self.without_drags()))],
        };
        self.keep_every = 1;
        self.frame = None;
    }

    /// Scratch for the rig as it is now.
    pub(super) fn make_room(&mut self) {
        self.work = Workspace::new(&self.rig);
        if let Some(now) = self.clock {
            self.work.ask_time(now);
        }
    }

    /// How far each joint was open after the last step: scene units and rad, in the rig's order.
    pub fn open_joints(&self) -> &[(f64, f64)] {
        self.work.open_joints()
    }

    /// Has everything with a time limit ask `now` for the time instead of the system: it never goes back.
    pub fn ask_time(&mut self, now: fn() -> Duration) {
        self.clock = Some(now);
        self.work.ask_time(now);
        self.work.pulling = None;
    }

    /// One body as hosts see it.
    pub fn sample(&self, solid: usize) -> Sample {
        sample(&self.rig, &self.state, solid)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All frames are there.
    Done,
    /// All frames are there, but a guided body had not arrived when patience ran out.
    NotArrived {
        /// The first of them: the rig's index.
        solid: usize,
    },
    /// The callback said stop.
    Cancelled,
}

/// Simulates a whole range. `progress` is told `(frame, of)` after each frame and returns whether to go on.
pub fn run(rig: &Rig, mut progress: impl FnMut(usize, usize) -> bool) -> (Motion, End) {
    let mut state = State::new(rig);
    let mut work = Workspace::new(rig);
    let (frames, most) = (rig.range.frames(), rig.range.most_frames());
    let mut motion = Motion::with_capacity(rig, frames);
    motion.record(rig, &state);
    let mut end = End::Done;
    for frame in 1..most {
        if frame >= frames && state.late(rig).is_none() {
            break;
        }
        advance_frame(rig, &mut state, &mut work, frame);
        motion.record(rig, &state);
        motion.note_joints(work.open_joints());
        if !progress(frame, frames.max(frame + 1)) {
            return (motion, End::Cancelled);
        }
        if frame + 1 == most && rig.range.arrive_by.is_some() {
            end = state.late(rig).map_or(End::Done, |solid| End::NotArrived { solid });
        }
    }
    (motion, end)
}
