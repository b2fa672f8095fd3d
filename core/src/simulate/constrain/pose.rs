//! A rig put together where it stands, without any motion.

use super::{Constraints, place};
use crate::assemble::{Body, Ending, Goal, Outcome};
use crate::joint::{Aim, End, Joint};
use crate::rig::{Frame, Rig};
use crate::scene::Placement;
use crate::simulate::{SolidState, State};
use std::borrow::Cow;
use std::time::Duration;

/// Parts that are not simulated follow what carries them, and joints what follows: so often at most.
const MOST_HOLDS: usize = 30;

impl Constraints {
    /// Puts the bodies of a state together where they stand, without any motion: scenes are posed roughly.
    pub(in crate::simulate) fn put_state_together(&mut self, rig: &Rig, state: &mut State) {
        let start: Vec<Placement> = state.solids.iter().map(SolidState::placement).collect();
        self.put_together(rig, state.time, &start, &start, &Goal::default());
        for (body, s) in self.bodies.iter().zip(&mut state.solids) {
            if body.placement.position.is_finite() && body.placement.rotation.is_finite() {
                (s.position, s.orientation) = (body.placement.position, body.placement.rotation);
            }
        }
    }

    /// Puts the bodies together at `time`, beginning at `start`; the pose nearest to `reference` where the goal says
    /// nearest. [`Self::open`] then tells what is open.
    pub(in crate::simulate) fn put_together(
        &mut self,
        rig: &Rig,
        time: f64,
        start: &[Placement],
        reference: &[Placement],
        goal: &Goal,
    ) -> Outcome {
        self.bodies.iter_mut().zip(start).for_each(|(b, p)| b.placement = *p);
        self.hold_joints(rig, time);
        let keyed = |end: End| place(rig, end, &[], time);
        let mut rounds = 0;
        for _ in 0..MOST_HOLDS {
            let (joints, bodies) = (&rig.joints, &mut self.bodies);
            let mut outcome = match goal.nearest {
                true => self.assembly.approach(joints, bodies, reference, keyed, goal),
                false => self.assembly.assemble(joints, bodies, keyed, goal, |_, _, _| {}),
            };
            rounds += outcome.rounds;
            outcome.rounds = rounds;
            let held = self.carry(rig, time);
            let open = self.measure(rig, time);
            if outcome.reached() && !goal.is_met(open) {
                outcome.ending = Ending::GaveUp; // unless the next time does it
            }
            (outcome.opening, outcome.angle) = open;
            if !held || outcome.ending != Ending::GaveUp {
                return outcome;
            }
        }
        let (opening, angle) = self.measure(rig, time);
        Outcome { rounds, opening, angle, ending: Ending::GaveUp }
    }

    /// Where the bodies are.
    pub(in crate::simulate) fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// Measures the joints with the bodies at `places`.
    pub(in crate::simulate) fn measure_at(&mut self, rig: &Rig, time: f64, places: &[Placement]) {
        self.bodies.iter_mut().zip(places).for_each(|(b, p)| b.placement = *p);
        self.hold_joints(rig, time);
        self.measure(rig, time);
    }

    /// Tells the assembly what joints hold, and to what, at `time`.
    fn hold_joints(&mut self, rig: &Rig, time: f64) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let on = joint.holds.on.as_ref().is_none_or(|on| on.at(time) > 0.5);
            self.assembly.hold(&rig.joints, j, Aim { rest: joint.rest.at(time), ..Aim::default() }, on);
            if joint.anchor.is_some() {
                self.assembly.anchor(j, joint.first_frame(&rig.paths, time));
            }
        }
    }

    fn measure(&mut self, rig: &Rig, time: f64) -> (f64, f64) {
        let bodies = &self.bodies;
        let worst = self.assembly.measure(&rig.joints, |end| match end {
            End::Solid(s) => bodies[s].placement,
            other => place(rig, other, &[], time),
        });
        self.room.open.copy_from_slice(self.assembly.open());
        worst
    }

    /// Puts the parts that are not simulated where their carriers have them; whether any moved.
    fn carry(&mut self, rig: &Rig, time: f64) -> bool {
        let mut moved = false;
        for (i, solid) in rig.solids.iter().enumerate() {
            let (path, frame) = solid.hold;
            let point = rig.paths[path].placement(time);
            let point = match frame {
                Frame::World => point,
                Frame::Solid(s) => self.bodies[s].placement.then(&point),
                Frame::Keys(p) => rig.paths[p].placement(time).then(&point),
            };
            let place = &mut self.bodies[i].placement;
            let before = *place;
            if !solid.simulate.position() {
                place.position = point.position;
            }
            if !solid.simulate.orientation() {
                place.rotation = point.rotation;
            }
            moved |= *place != before;
        }
        moved
    }
}

/// What became of bodies that hands pulled without any motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulled {
    /// Rounds of closing.
    pub rounds: usize,
    /// Largest opening left in joints other than hands' (scene units), and largest angle (rad).
    pub open: (f64, f64),
    /// How far the farthest hand is from what it holds: scene units, and rad.
    pub from_hands: (f64, f64),
}

/// Share of the time that is spent on going after the hands; in the rest joints are closed without them.
const REACHING: f64 = 0.7;

impl Constraints {
    /// Pulls the bodies of a state after the hands, as far as joints let them, for so long. [`Self::bodies`] are then
    /// where they came to.
    pub(in crate::simulate) fn pull(&mut self, rig: &Rig, state: &State, budget: Duration) -> Pulled {
        let now = self.clock.asked();
        let began = now();
        let reach = began + budget.mul_f64(REACHING);
        let end = began + budget;
        self.bodies.iter_mut().zip(&state.solids).for_each(|(b, s)| b.placement = s.placement());
        let mut joints = Cow::Borrowed(&rig.joints);
        self.hold_joints(rig, state.time);
        for (j, memory) in state.joints.iter().enumerate() {
            if let Some(grabbed) = memory.grabbed {
                joints.to_mut()[j].frames[1] = grabbed;
            }
            if memory.broken {
                self.assembly.hold_firmly(j, false);
            }
        }
        let goal = Goal { opening: super::CLOSED * self.link, angle: super::CLOSED, ..Goal::default() };
        let mut rounds = 0;
        self.hold_hands(rig, true);
        let mut closed = false;
        let keyed = |end: End| place(rig, end, &[], state.time);
        for _ in 0..MOST_HOLDS {
            let outcome =
                self.assembly.close(&joints, &mut self.bodies, &keyed, &goal, |_, _, _| {}, || now() < reach);
            rounds += outcome.rounds;
            closed = outcome.reached();
            // Parts that are not simulated go with what carries them, and open joints again.
            closed &= !self.carry(rig, state.time);
            if closed || !outcome.reached() {
                break;
            }
        }
        if !closed {
            // Hands are out of reach: they let go rather than tear joints open.
            self.hold_hands(rig, false);
            for _ in 0..MOST_HOLDS {
                let outcome = self.assembly.close(
                    &joints,
                    &mut self.bodies,
                    &keyed,
                    &goal,
                    |_, _, _| {},
                    || now() < end,
                );
                rounds += outcome.rounds;
                if !self.carry(rig, state.time) || !outcome.reached() {
                    break;
                }
            }
            self.hold_hands(rig, true);
        }
        let bodies = &self.bodies;
        self.assembly.measure(&joints, |end| match end {
            End::Solid(s) => bodies[s].placement,
            other => place(rig, other, &[], state.time),
        });
        self.room.open.copy_from_slice(self.assembly.open());
        let mut pulled = Pulled { rounds, open: (0.0, 0.0), from_hands: (0.0, 0.0) };
        for (joint, open) in rig.joints.iter().zip(&self.room.open) {
            let worst = if is_hand(joint) { &mut pulled.from_hands } else { &mut pulled.open };
            *worst = (worst.0.max(open.0), worst.1.max(open.1));
        }
        pulled
    }

    fn hold_hands(&mut self, rig: &Rig, holds: bool) {
        for (j, _) in rig.joints.iter().enumerate().filter(|(_, joint)| is_hand(joint)) {
            self.assembly.hold_firmly(j, holds);
        }
    }
}

fn is_hand(joint: &Joint) -> bool {
    matches!(joint.ends[0], End::Hand(_))
}
