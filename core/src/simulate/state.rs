//! What a step changes, and the scratch it works in.

use super::balance::Balance;
use super::carriers::Carriers;
use super::constrain::Constraints;
use super::hit::Softened;
use super::lane::Lane;
use super::linkage::Linkages;
use super::release::Released;
use super::shift::Shift;
use crate::actuator::Memory;
use crate::dynamics::top;
use crate::guide::Target;
use crate::rig::{Frame, Rig};
use crate::scene::Placement;
use crate::solve::MOST;
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// Everything that a step changes. Cloning it and stepping the clone gives the same bits.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Scene time (s).
    pub time: f64,
    /// Parallel to the rig's solids.
    pub solids: Vec<SolidState>,
    /// Parallel to the rig's trackers.
    pub targets: Vec<TargetState>,
    /// Parallel to the rig's joints.
    pub joints: Vec<JointState>,
    /// The contacts of the last step, by pair.
    pub touched: Vec<super::Touched>,
    /// Which of the pairs that were inside each other at the start have come apart.
    pub parted: Vec<bool>,
    /// For how long each solid has hardly moved, s.
    pub still: Vec<f64>,
    /// What began to touch since the frame began.
    pub strikes: Vec<super::Strike>,
    /// Where steps were halved since the frame began, and why.
    pub halved: Vec<Halved>,
    /// How each solid's steps are halved.
    pub pace: Vec<Pace>,
    /// Of each solid that is keyed until it is released: when it was, and how it goes back.
    pub released: Vec<Released>,
    /// The last whole step, where this is a frame between two: from there it goes on.
    pub whole: Option<Box<State>>,
}

/// After so many steps that needed no more halving, one less is tried: at first, and at most.
const PATIENCE: usize = 3;
const MOST_PATIENCE: usize = 12;

/// How often steps are halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// At present.
    pub halvings: usize,
    /// Steps since that changed that needed no more.
    pub clean: usize,
    /// So many of these until one less is tried.
    pub patience: usize,
    /// It was for a bounce.
    pub bounced: bool,
    /// Even the shortest step did not do. Halving is not tried again for that until it does.
    pub fights: Option<Fight>,
}

/// What no step is short enough for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fight {
    /// Joints contradict each other.
    Joints,
    /// Things are stuck in each other.
    Overlap,
}

impl Fight {
    /// Whether this is why a step failed.
    pub fn of(cause: Option<Cause>) -> Option<Fight> {
        match cause? {
            Cause::Joints(_) => Some(Fight::Joints),
            Cause::Overlap(_) => Some(Fight::Overlap),
            _ => None,
        }
    }
}

impl Pace {
    /// The shortest of several.
    pub fn of(all: impl Iterator<Item = Pace>) -> Pace {
        all.fold(Pace::default(), |a, b| Pace {
            halvings: a.halvings.max(b.halvings),
            clean: match a.halvings.cmp(&b.halvings) {
                std::cmp::Ordering::Less => b.clean,
                std::cmp::Ordering::Equal => a.clean.min(b.clean),
                std::cmp::Ordering::Greater => a.clean,
            },
            patience: a.patience.max(b.patience),
            bounced: a.bounced || b.bounced,
            fights: a.fights.or(b.fights),
        })
    }

    /// A step needed one more halving. What fails again soon after it was let go is left alone for longer, and so is what
    /// bounces: it will again.
    pub fn shorten(&mut self, from: usize) {
        self.patience = match self.clean < 2 * MOST_PATIENCE {
            _ if std::mem::take(&mut self.bounced) => MOST_PATIENCE,
            true => (2 * self.patience).clamp(PATIENCE, MOST_PATIENCE),
            false => PATIENCE,
        };
        (self.halvings, self.clean) = (from + 1, 0);
    }

    /// A step needed no more halving than `now`.
    pub fn lengthen(&mut self, now: usize) {
        self.clean = self.clean.saturating_add(1);
        if now > 0 && self.clean >= self.patience {
            (self.halvings, self.clean) = (now - 1, 0);
        }
    }
}

/// So many of a frame are noted; more say no more.
pub const MOST_HALVED: usize = 64;

/// A step that was too long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halved {
    /// When it began, s of scene time.
    pub time: f64,
    /// How long it was, s.
    pub length: f64,
    /// Why.
    pub cause: Cause,
}

/// Why a step was too long; of a solid that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its joints could not be closed.
    Joints(u32),
    /// It was deep inside something at the end.
    Overlap(u32),
    /// It would bounce more than once.
    Bounces(u32),
    /// Its coating, or another's that it touches, is pressed in too fast.
    Coating(u32),
    /// What it hit sent it into something else, over and over.
    Astray(u32),
    /// It was touched, and is released: the same step again.
    Wakes(u32),
    /// It was struck, and its figure gives way: the same step again.
    Struck(u32),
    /// Its actuator would have to be stronger than it is: the same step again, with all that it can.
    Saturates(u32),
}

impl Cause {
    /// The solid.
    pub fn solid(self) -> u32 {
        match self {
            Cause::Joints(s)
            | Cause::Overlap(s)
            | Cause::Bounces(s)
            | Cause::Coating(s)
            | Cause::Astray(s)
            | Cause::Wakes(s)
            | Cause::Struck(s)
            | Cause::Saturates(s) => s,
        }
    }
}

/// One body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidState {
    /// Centre of mass, world, scene units.
    pub position: DVec3,
    /// Principal axes, world.
    pub orientation: DQuat,
    /// Units/s.
    pub velocity: DVec3,
    /// World angular momentum, kg unit^2/s.
    pub momentum: DVec3,
    /// Force actuator.
    pub force: Memory,
    /// Torque actuator.
    pub torque: Memory,
    /// Span of the hold path, for the parts that are not simulated.
    pub hold_span: usize,
    /// A step gave no finite number: the body stands still from then on.
    pub quarantined: bool,
    /// Follows its keys, until it is released.
    pub held: bool,
    /// How a blow has softened its muscle.
    pub softened: Softened,
}

impl SolidState {
    /// Nothing pushes it.
    #[inline]
    pub fn fixed(&self) -> bool {
        self.quarantined || self.held
    }

    /// Where it is.
    #[inline]
    pub fn placement(&self) -> Placement {
        Placement { position: self.position, rotation: self.orientation }
    }
}

/// One joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointState {
    /// Forces along its rows in the last step.
    pub multipliers: [f64; MOST],
    /// Bore more than it can, and is gone.
    pub broken: bool,
    /// Held in the last step.
    pub on: bool,
    /// Its second frame, where it was switched on and grabbed.
    pub grabbed: Option<Placement>,
}

/// One target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetState {
    /// Where it is on its path.
    pub on_path: Target,
    /// Where it was a step ago.
    pub before: Target,
    /// How its path is turned there, and was a step ago: what muscles aim at.
    pub aim: DQuat,
    /// See there.
    pub aimed: DQuat,
    /// Where it is in the world.
    pub point: Placement,
}

/// Scratch: rebuilt from the rig at any time, without any effect on the result.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) shift: Shift,
    /// The lane that works on the state itself, and others with states of their own.
    pub(super) lane: Lane,
    pub(super) others: Vec<(State, Lane)>,
    /// All joints at once, for pulling poses by hand.
    pub(super) pulling: Option<Constraints>,
}

impl Workspace {
    /// How far each joint was open after the last step: scene units and rad, in the rig's order.
    pub fn open_joints(&self) -> &[(f64, f64)] {
        self.lane.linkages.open()
    }

    /// Rounds of closing joints that the last step took.
    pub fn rounds(&self) -> usize {
        self.lane.linkages.rounds()
    }

    /// Has steps with a time limit ask `now` for the time instead of the system: it never goes back.
    pub fn ask_time(&mut self, now: fn() -> std::time::Duration) {
        self.lane.linkages.ask_time(now);
        self.others.iter_mut().for_each(|(_, l)| l.linkages.ask_time(now));
    }

    /// Scratch for a rig, for as many threads as it asks for.
    pub fn new(rig: &Rig) -> Workspace {
        Workspace::with_threads(rig, rig.solver.threads)
    }

    /// Scratch for a rig, for so many threads.
    pub fn with_threads(rig: &Rig, threads: usize) -> Workspace {
        let carriers = Carriers::new(rig).map(Arc::new);
        let lane = Lane::new(rig, carriers.as_ref());
        // What nothing joins or touches is in one cluster: more threads would have nothing to do.
        let others = if carriers.is_none() && lane.linkages.all.len() < 2 { 0 } else { threads.max(1) - 1 };
        Workspace {
            others: (0..others).map(|_| (at_start(rig), Lane::new(rig, carriers.as_ref()))).collect(),
            shift: Shift::new(rig, &lane.linkages, carriers.as_ref()),
            lane,
            pulling: None,
        }
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            time: self.time,
            solids: self.solids.clone(),
            targets: self.targets.clone(),
            joints: self.joints.clone(),
            touched: self.touched.clone(),
            parted: self.parted.clone(),
            still: self.still.clone(),
            strikes: self.strikes.clone(),
            halved: self.halved.clone(),
            pace: self.pace.clone(),
            released: self.released.clone(),
            whole: self.whole.clone(),
        }
    }

    /// Reuses the room there is: going back in time allocates nothing.
    fn clone_from(&mut self, other: &State) {
        self.time = other.time;
        self.solids.clone_from(&other.solids);
        self.targets.clone_from(&other.targets);
        self.joints.clone_from(&other.joints);
        self.touched.clone_from(&other.touched);
        self.parted.clone_from(&other.parted);
        self.still.clone_from(&other.still);
        self.strikes.clone_from(&other.strikes);
        self.halved.clone_from(&other.halved);
        self.pace.clone_from(&other.pace);
        self.released.clone_from(&other.released);
        self.whole.clone_from(&other.whole);
    }
}

/// The state at the start of a rig's range: on the keys, moving as they do.
pub fn at_start(rig: &Rig) -> State {
    let time = rig.range.start();
    let gravity = rig.world.gravity * rig.world.gravity_scale.at(time);
    let mut state = State {
        time,
        solids: Vec::with_capacity(rig.solids.len()),
        targets: Vec::new(),
        joints: vec![JointState::default(); rig.joints.len()],
        touched: Vec::with_capacity(8 * rig.colliders.all.len()),
        parted: vec![false; rig.colliders.inside.len()],
        still: vec![0.0; rig.solids.len()],
        strikes: Vec::with_capacity(4 * rig.colliders.all.len()),
        halved: Vec::with_capacity(2 * MOST_HALVED),
        pace: vec![Pace::default(); rig.solids.len()],
        released: vec![Released::default(); rig.solids.len()],
        whole: None,
    };
    for (i, s) in rig.solids.iter().enumerate() {
        let p = rig.keyed(i, time);
        let mut force = Memory::default();
        if s.start_balanced && s.position_target.is_some() && rig.drive(i, time).compensation > 0.0 {
            force.correction = gravity * -s.mass;
        }
        state.solids.push(SolidState {
            position: p.position,
            orientation: p.rotation,
            velocity: s.start.0,
            momentum: top::angular_momentum(p.rotation, s.start.1, s.inertia),
            force,
            torque: Memory::default(),
            hold_span: 0,
            quarantined: false,
            held: s.release.is_some(),
            softened: Softened::NOT,
        });
    }
    state.aim(rig);
    state
}

impl State {
    /// The state at the start of the rig's range: on the keys, moving as they do, and put together.
    pub fn new(rig: &Rig) -> State {
        let mut state = at_start(rig);
        if !rig.joints.is_empty() {
            Linkages::new(rig).assemble(rig, &mut state);
            let all: Vec<u32> = (0..rig.solids.len() as u32).collect();
            Balance::new(rig).begin(rig, &mut state, &all);
            state.aim(rig);
        }
        state
    }

    /// Puts the targets to where the keys begin.
    fn aim(&mut self, rig: &Rig) {
        self.targets.clear();
        for tracker in &rig.trackers {
            let path = &rig.paths[tracker.path];
            let on_path = Target { parameter: self.time, span: path.seek(0, self.time) };
            let point = path.at(on_path.span, self.time);
            let aim = point.rotation;
            let frame = self.frame(rig, rig.solids[tracker.solid].frame, self.time);
            let point = frame.map_or(point, |f| f.then(&point));
            self.targets.push(TargetState { on_path, before: on_path, aim, aimed: aim, point });
        }
    }

    /// How often steps are halved at present, at most.
    pub fn halvings(&self) -> usize {
        self.pace.iter().map(|p| p.halvings).max().unwrap_or(0)
    }

    /// A frame begins: what is noted per frame starts anew.
    pub fn begin_frame(&mut self) {
        self.strikes.clear();
        self.halved.clear();
        for s in &mut self.solids {
            s.force.begin_frame();
            s.torque.begin_frame();
        }
    }

    /// Where a frame is at `time`; `None` for the world.
    #[inline]
    pub(super) fn frame(&self, rig: &Rig, frame: Frame, time: f64) -> Option<Placement> {
        match frame {
            Frame::World => None,
            Frame::Solid(s) => Some(self.solids[s].placement()),
            Frame::Keys(p) => Some(rig.paths[p].placement(time)),
        }
    }

    /// The first body whose target is not at the end of its path, or which has not settled there: the rig's index.
    pub fn late(&self, rig: &Rig) -> Option<usize> {
        let mut all = rig.trackers.iter().zip(&self.targets);
        let late = all.find(|(tracker, target)| {
            let (solid, body) = (&self.solids[tracker.solid], &rig.solids[tracker.solid]);
            let reach = rig.drive(tracker.solid, self.time).reach;
            // Settled, wherever that is (gravity may keep it off its target): within a second it would move, or
            // change its velocity, by less than a fiftieth of the base distance.
            let settled = |rate: DVec3, before: DVec3, h: f64, scale: f64, reach: f64| {
                let change = if h > 0.0 { (rate - before).length() / h } else { 0.0 };
                rate.length() < 0.02 * reach * scale && change < 0.02 * reach * scale
            };
            let (f, t) = (&solid.force, &solid.torque);
            let still = !tracker.position
                || settled(
                    solid.velocity * body.mass,
                    f.momentum_before,
                    f.step_before,
                    body.mass,
                    reach.distance,
                );
            let heaviest = body.inertia.max_element();
            let steady = !tracker.orientation
                || settled(solid.momentum, t.momentum_before, t.step_before, heaviest, reach.angle);
            !(target.on_path.parameter >= rig.paths[tracker.path].end() && still && steady)
        });
        late.map(|(tracker, _)| tracker.solid)
    }

    /// The body that was quarantined first, if any: the rig's index.
    pub fn quarantined(&self) -> Option<usize> {
        self.solids.iter().position(|s| s.quarantined)
    }
}
