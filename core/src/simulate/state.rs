//! What a step changes, and the scratch it works in.

use crate::actuator::{Kept, Memory};
use crate::dynamics::top;
use crate::guide::Target;
use crate::rig::{Drive, Frame, Rig};
use crate::scene::Placement;
use crate::solve::MOST;
use glam::{DQuat, DVec3};

/// Everything that a step changes. Cloning it and stepping the clone gives the same bits.
#[derive(Debug, PartialEq)]
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
    /// Joints contradict each other: even the shortest step did not close them, and halving is not tried again until
    /// they are.
    pub joints_fight: bool,
    /// How often steps are halved at present, and how many have needed no more.
    pub halvings: usize,
    /// Steps since then that needed no more.
    pub clean: usize,
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
}

impl SolidState {
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
    /// Where that is in the world.
    pub point: Placement,
}

/// Scratch: rebuilt from the rig at any time, without any effect on the result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(super) drives: Vec<Drive>,
    pub(super) responses: Vec<Kept>,
    pub(super) limits: Vec<f64>,
    pub(super) air: super::air::Air,
    pub(super) constraints: Option<super::constrain::Constraints>,
    pub(super) touch: Option<super::touch::Touch>,
    /// Room to go back to the start of a step.
    pub(super) kept: Vec<State>,
}

impl Workspace {
    /// How far each joint was open after the last step: scene units and rad, in the rig's order.
    pub fn open_joints(&self) -> &[(f64, f64)] {
        self.constraints.as_ref().map_or(&[], |c| c.open())
    }

    /// Rounds of closing joints that the last step took.
    pub fn rounds(&self) -> usize {
        self.constraints.as_ref().map_or(0, |c| c.clock.rounds())
    }

    /// Has steps with a time limit ask `now` for the time instead of the system: it never goes back.
    pub fn ask_time(&mut self, now: fn() -> std::time::Duration) {
        if let Some(c) = &mut self.constraints {
            c.clock.ask(now);
        }
    }

    /// Scratch for a rig.
    pub fn new(rig: &Rig) -> Workspace {
        Workspace {
            drives: (0..rig.solids.len()).map(|i| rig.drive(i, rig.range.start())).collect(),
            responses: vec![Kept::default(); rig.solids.len()],
            limits: vec![f64::INFINITY; rig.trackers.len()],
            air: super::air::Air::new(rig),
            touch: super::touch::Touch::new(rig),
            kept: if rig.joints.is_empty() && rig.colliders.all.is_empty() {
                Vec::new()
            } else {
                vec![State::at_start(rig, false)]
            },
            constraints: (!rig.joints.is_empty()).then(|| super::constrain::Constraints::new(rig)),
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
            joints_fight: self.joints_fight,
            halvings: self.halvings,
            clean: self.clean,
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
        self.joints_fight = other.joints_fight;
        (self.halvings, self.clean) = (other.halvings, other.clean);
    }
}

impl State {
    /// The state at the start of the rig's range: on the keys, moving as they do, and put together.
    pub fn new(rig: &Rig) -> State {
        State::at_start(rig, true)
    }

    /// The same, put together only if asked.
    fn at_start(rig: &Rig, together: bool) -> State {
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
            joints_fight: false,
            halvings: 0,
            clean: 0,
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
            });
        }
        if together {
            super::constrain::assemble(rig, &mut state.solids, time);
        }
        super::balance::balance(rig, &mut state, gravity);
        for tracker in &rig.trackers {
            let path = &rig.paths[tracker.path];
            let on_path = Target { parameter: time, span: path.seek(0, time) };
            let point = path.at(on_path.span, time);
            let frame = state.frame(rig, rig.solids[tracker.solid].frame, time);
            let point = frame.map_or(point, |f| f.then(&point));
            state.targets.push(TargetState { on_path, before: on_path, point });
        }
        state
    }

    /// A frame begins: what is noted per frame starts anew.
    pub fn begin_frame(&mut self) {
        self.strikes.clear();
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
