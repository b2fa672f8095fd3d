//! Dragging: hands that hold on to bodies of a live session, in motion or in a still pose (Faure 1998, figure 5).
//!
//! A hand is an end that nothing moves, joined to a body at the point it grabbed. The rig gets that joint and loses it
//! again; the set-up and the states kept for jumping back never see it.

use super::constrain::{Constraints, Pulled};
use super::{JointState, Session};
use crate::actuator::Memory;
use crate::joint::{self, End, Joint, Kind, Spring};
use crate::rig::{Hand, Rig, Value};
use crate::rotation;
use crate::scene::Placement;
use glam::{DQuat, DVec3};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a hand holds on to a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grip {
    /// Where.
    pub at: Point,
    /// Turns the body, too.
    pub orientation: bool,
    /// The most it pulls (kg unit/s^2); twists are limited to that at the body's radius. `None` holds whatever it takes,
    /// which can tear joints open.
    pub strength: Option<f64>,
}

impl Default for Grip {
    /// At the node's origin, firmly.
    fn default() -> Self {
        Grip { at: Point::Node(DVec3::ZERO), orientation: false, strength: None }
    }
}

/// A point to hold on to, scene units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// From the node's origin, along its axes.
    Node(DVec3),
    /// In the world.
    World(DVec3),
}

/// A drag. Numbers are never given out twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drag(pub u64);

/// Why a drag was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum DragError {
    /// There is no such body.
    NoBody {
        /// As asked for.
        solid: usize,
        /// How many there are.
        of: usize,
    },
    /// The body only turns, and about the very point that was to be held.
    Pivot {
        /// Its label.
        body: String,
    },
    /// The body's orientation is not simulated, so that nothing turns it.
    Unturned {
        /// Its label.
        body: String,
    },
    /// The body's numbers left all bounds, and it was stopped.
    Stopped {
        /// Its label.
        body: String,
    },
    /// A number that makes no sense.
    Number {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        must: &'static str,
    },
    /// The drag has ended, or never began.
    Ended(Drag),
}

impl fmt::Display for DragError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DragError::NoBody { solid, of } => write!(f, "there is no body {solid}; there are {of}"),
            DragError::Pivot { body } => write!(
                f,
                "\"{body}\" only turns, about the very point that is to be held, so no hand can pull it from there; \
                 take hold of it farther out, or simulate its position (\"simulate\" of the body)"
            ),
            DragError::Unturned { body } => write!(
                f,
                "the orientation of \"{body}\" follows its keys, so no hand can turn it; drag it by its position alone, \
                 or simulate its orientation (\"simulate\" of the body)"
            ),
            DragError::Stopped { body } => {
                write!(
                    f,
                    "\"{body}\" was stopped because its numbers left all bounds; seek, or begin a new session"
                )
            }
            DragError::Number { what, value, must } => write!(f, "{what} is {value}; it must be {must}"),
            DragError::Ended(Drag(number)) => {
                write!(f, "drag {number} has ended or never began; seeking ends all drags, begin a new one")
            }
        }
    }
}

impl std::error::Error for DragError {}

/// The drags of a session; each has the hand of the same index.
#[derive(Clone, Debug, Default)]
pub(super) struct Drags {
    live: Vec<Drag>,
    begun: u64,
}

impl Drags {
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    fn find(&self, drag: Drag) -> Result<usize, DragError> {
        self.live.iter().position(|d| *d == drag).ok_or(DragError::Ended(drag))
    }
}

/// Hands and points are at most this far out, scene units: beyond it rounding alone would open joints.
const FARTHEST: f64 = 1e9;

/// What only turns is held at least this share of its radius from its pivot.
const LEAST_ARM: f64 = 1e-3;

/// How quickly a hand with a strength brings what it drags to itself, 1/s.
const SWIFT: f64 = 50.0;

/// The same for what only turns, and brings nothing along: its own muscle, which may be as stiff, is to give way.
const SWIFTER: f64 = 200.0;

/// A hand turns by this much per frame (rad) at most: larger turns take longer, so that every step knows which way round.
const TURN_PER_FRAME: f64 = 1.0;

impl Session {
    /// Takes hold of a body where it is; from now on the hand holds it there, until it is moved. The pose does not jump.
    /// What only turns is turned by where it is held, towards the hand.
    pub fn drag_begin(&mut self, solid: usize, grip: Grip) -> Result<Drag, DragError> {
        let of = self.rig.solids.len();
        let body = self.rig.solids.get(solid).ok_or(DragError::NoBody { solid, of })?;
        let label = || body.label.clone();
        if grip.orientation && !body.simulate.orientation() {
            return Err(DragError::Unturned { body: label() });
        }
        let state = &self.state.solids[solid];
        if state.quarantined {
            return Err(DragError::Stopped { body: label() });
        }
        let (Point::Node(point) | Point::World(point)) = grip.at;
        check_point("the point to hold on to", point)?;
        if let Some(strength) = grip.strength.filter(|s| !(*s > 0.0 && s.is_finite())) {
            return Err(DragError::Number {
                what: "the strength",
                value: strength,
                must: "above 0 and finite",
            });
        }
        // The node's own frame in the body's (centre of mass, principal axes).
        let node = body.offset.to(&Placement::IDENTITY);
        let place = state.placement();
        let point = Placement { position: point, rotation: DQuat::IDENTITY };
        let position = match grip.at {
            Point::Node(_) => node.then(&point).position,
            Point::World(_) => place.to(&self.rig.in_space(self.state.time, point)).position,
        };
        let handle = Placement { position, rotation: node.rotation };
        let turns_only = !body.simulate.position();
        if turns_only && !grip.orientation && position.length() <= LEAST_ARM * body.radius {
            return Err(DragError::Pivot { body: label() });
        }
        let hand = Hand::still(self.state.time, place.then(&handle));
        let joints = joints(&self.rig, solid, self.rig.hands.len(), handle, &grip);

        let rig = Arc::make_mut(&mut self.rig);
        rig.hands.push(hand);
        self.state.joints.extend(joints.iter().map(|_| JointState::default()));
        rig.joints.extend(joints);
        self.make_room();
        self.frame = None;
        self.drags.begun += 1;
        let drag = Drag(self.drags.begun);
        self.drags.live.push(drag);
        Ok(drag)
    }

    /// Says where a hand is to be: the point it holds on to and, if it turns the body, the node's orientation. It goes
    /// there evenly over the next frame; a turn of more than a radian takes longer. A hand on what only turns stays as far
    /// from its pivot as it took hold.
    pub fn drag_move(&mut self, drag: Drag, target: Placement) -> Result<(), DragError> {
        let hand = self.drags.find(drag)?;
        let target = self.within_reach(hand, self.rig.in_space(self.state.time, check_target(target)?));
        let (now, frame) = (self.state.time, 1.0 / self.rig.range.frames_per_second);
        let hand = &mut Arc::make_mut(&mut self.rig).hands[hand];
        let from = hand.at(now);
        let turn = rotation::log(target.rotation * from.rotation.conjugate()).length();
        *hand = Hand { from: (now, from), to: (now + frame * (turn / TURN_PER_FRAME).max(1.0), target) };
        Ok(())
    }

    /// Where a hand is now.
    pub fn drag_hand(&self, drag: Drag) -> Result<Placement, DragError> {
        let now = self.state.time;
        Ok(self.rig.in_world(now, self.rig.hands[self.drags.find(drag)?].at(now)))
    }

    /// Lets go. What was dragged goes on from where it is, as it moves.
    pub fn drag_end(&mut self, drag: Drag) -> Result<(), DragError> {
        let gone = self.drags.find(drag)?;
        self.drags.live.remove(gone);
        let rig = Arc::make_mut(&mut self.rig);
        rig.hands.remove(gone);
        let held: Vec<bool> = rig.joints.iter().map(|joint| joint.ends[0] == End::Hand(gone)).collect();
        let mut of_joint = held.iter();
        self.state.joints.retain(|_| of_joint.next() == Some(&false));
        rig.joints.retain(|joint| joint.ends[0] != End::Hand(gone));
        for joint in &mut rig.joints {
            if let End::Hand(hand) = &mut joint.ends[0] {
                *hand -= usize::from(*hand > gone);
            }
        }
        self.make_room();
        Ok(())
    }

    /// Drags without any motion: puts the hand at `target` at once and pulls the pose after it, as far as joints let it,
    /// for at most so long. Time stands still, and all bodies are at rest afterwards. What is out of reach of joints stays
    /// away from its hand.
    pub fn pose_drag(
        &mut self,
        drag: Drag,
        target: Placement,
        budget: Duration,
    ) -> Result<Pulled, DragError> {
        let hand = self.drags.find(drag)?;
        let target = self.within_reach(hand, self.rig.in_space(self.state.time, check_target(target)?));
        Arc::make_mut(&mut self.rig).hands[hand] = Hand::still(self.state.time, target);
        self.frame = None;
        let clock = self.clock;
        let constraints = self.work.pulling.get_or_insert_with(|| {
            let mut all = Constraints::new(&self.rig);
            clock.into_iter().for_each(|now| all.clock.ask(now));
            all
        });
        let pulled = constraints.pull(&self.rig, &self.state, budget);
        for (s, body) in self.state.solids.iter_mut().zip(constraints.bodies()) {
            let place = &body.placement;
            if place.position.is_finite() && place.rotation.is_finite() && !s.quarantined {
                (s.position, s.orientation) = (place.position, place.rotation);
            }
            (s.velocity, s.momentum) = (DVec3::ZERO, DVec3::ZERO);
            // The change of momentum was nobody's push.
            let forget = |m: &mut Memory| (m.momentum_before, m.step_before) = (DVec3::ZERO, 0.0);
            forget(&mut s.force);
            forget(&mut s.torque);
        }
        self.work.lane.linkages.note_open(constraints.open());
        self.state.joints.iter_mut().for_each(|j| j.multipliers = Default::default());
        Ok(pulled)
    }

    /// A target of a hand as near as what it holds can come, if that only turns: on the sphere about its pivot.
    fn within_reach(&self, hand: usize, target: Placement) -> Placement {
        let held = self.rig.joints.iter().find(|joint| joint.ends[0] == End::Hand(hand));
        let Some(Joint { ends: [_, End::Solid(solid)], frames: [_, handle], .. }) = held else {
            return target;
        };
        if self.rig.solids[*solid].simulate.position() {
            return target;
        }
        let pivot = self.state.solids[*solid].position;
        let towards = (target.position - pivot).try_normalize();
        let arm = handle.position.length();
        Placement { position: towards.map_or(target.position, |d| pivot + arm * d), ..target }
    }

    /// Drags that are going on.
    pub fn drags(&self) -> &[Drag] {
        &self.drags.live
    }

    /// Ends all drags.
    pub(super) fn drop_drags(&mut self) {
        while let Some(last) = self.drags.live.last().copied() {
            // The last one is there.
            let _ = self.drag_end(last);
        }
    }

    /// The rig as the set-up has it.
    pub(super) fn without_drags(&self) -> Rig {
        let mut rig = Rig::clone(&self.rig);
        rig.joints.retain(|joint| !matches!(joint.ends[0], End::Hand(_)));
        rig.hands.clear();
        rig
    }
}

/// What joins a hand to a body.
fn joints(rig: &Rig, solid: usize, hand: usize, handle: Placement, grip: &Grip) -> Vec<Joint> {
    let body = &rig.solids[solid];
    let name = format!("hand on {}", body.label);
    let new = |kind: Kind| Joint {
        of: usize::MAX,
        ..Joint::new(&*name, [End::Hand(hand), End::Solid(solid)], [Placement::IDENTITY, handle], kind)
    };
    let turns_only = !body.simulate.position();
    let strength = match grip.strength {
        Some(strength) => strength,
        // What only turns cannot come all the way to a hand: nothing firm could hold it.
        None if turns_only && !grip.orientation => f64::INFINITY,
        None if turns_only => return vec![new(ORIENTATION)],
        None => return vec![new(if grip.orientation { Kind::FIXED } else { Kind::UNIVERSAL })],
    };
    // As stiff as brings all that hangs on it along at once, and damped critically.
    let together = mass_together(rig, solid);
    let arm = handle.position.length();
    let mass = match turns_only {
        // What the hand feels of an inertia at the end of an arm.
        true => together - body.mass + body.inertia.max_element() / (arm * arm),
        false => together,
    };
    let swift = if turns_only { SWIFTER } else { SWIFT };
    let stiff = |inertia: f64| [swift * swift * inertia, 2.0 * swift * inertia].map(Value::constant);
    let mut all = Vec::new();
    if !turns_only || arm > LEAST_ARM * body.radius {
        let spring = Spring { slide: Some(stiff(mass)), turn: None, strength };
        all.push(Joint { spring: Some(spring), ..new(Kind::UNIVERSAL) });
    }
    if grip.orientation {
        let inertia = body.inertia.max_element() * together / body.mass;
        let strength = strength * body.radius;
        let spring = Spring { slide: None, turn: Some(stiff(inertia)), strength };
        all.push(Joint { spring: Some(spring), ..new(ORIENTATION) });
    }
    all
}

/// All turns, and no place.
const ORIENTATION: Kind = Kind::Directions([false, false, false, true, true, true]);

/// Mass of all bodies that joints hold together with one (kg).
fn mass_together(rig: &Rig, solid: usize) -> f64 {
    let found = joint::together(rig.solids.len(), &rig.joints, solid);
    rig.solids.iter().zip(&found).filter(|(_, f)| **f).map(|(s, _)| s.mass).sum()
}

fn check_point(what: &'static str, point: DVec3) -> Result<(), DragError> {
    let wrong = point.to_array().into_iter().find(|v| v.is_nan() || v.abs() > FARTHEST);
    let must = "a number of at most 1e9 scene units";
    wrong.map_or(Ok(()), |value| Err(DragError::Number { what, value, must }))
}

/// A target that a hand can go to, its rotation of length one.
fn check_target(target: Placement) -> Result<Placement, DragError> {
    check_point("the target", target.position)?;
    let length = target.rotation.length();
    if !(length > 1e-6 && length.is_finite()) {
        let must = "above 0 and finite";
        return Err(DragError::Number { what: "the length of the target's quaternion", value: length, must });
    }
    Ok(Placement { rotation: target.rotation.normalize(), ..target })
}
