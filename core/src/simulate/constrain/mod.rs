//! Joints in a step: the bodies move as if free, then forces along the joints put them together.
//!
//! Positions (`closing`): forces that act throughout the step, found so that the joints are closed at its end; see
//! [`mover`] for the scheme and what it keeps. Velocities (`rates`): impulses at the end of the step, so that no joint is
//! opening there. Both are internal forces and change neither momentum of the whole.

mod answer;
mod clock;
mod closing;
mod forcing;
mod inside;
mod limits;
mod mover;
mod part;
mod pose;
mod rates;
mod room;
mod soft;
mod system;

pub use answer::Rate;
pub use clock::Clock;
pub use mover::Yield;
pub use part::Part;
pub use pose::Pulled;
pub use room::Room;
pub use system::MOST_ANSWERING;

use super::{SolidState, TargetState};
use crate::assemble::{Assembly, Body, Mobility};
use crate::dynamics::top;
use crate::joint::{Aim, End, Joint, Kind, Measure, Rows, Side};
use crate::rig::{Drive, Rig};
use crate::scene::Placement;
use crate::setup::Timing;
use glam::{DMat3, DQuat, DVec3};
use inside::Inside;
use mover::Mover;
use system::System;

/// Scratch for the joints of a rig.
#[derive(Clone, Debug)]
pub struct Constraints {
    assembly: Assembly,
    bodies: Vec<Body>,
    /// Where bodies came to on their own.
    free: Vec<Placement>,
    system: System,
    /// The time of a step that has only so much.
    pub clock: Clock,
    holds: Vec<Hold>,
    /// Rounds or time of this step ran out, and joints are open by more than velocities should close.
    cut_short: bool,
    far_open: bool,
    /// Whether the pull of joints holds bodies back from turning.
    steep: bool,
    /// Whether joints are set up for the step already, for contacts.
    is_set_up: bool,
    pub room: Room,
    /// Which bodies have joints.
    jointed: Vec<bool>,
    /// Whether any joint is a spring, holds one way only, or can break: what none is need not be looked for.
    any_soft: bool,
    any_range: bool,
    any_breaks: bool,
    /// Shares of the mean link that are closed.
    closed: f64,
    /// Mean distance from a joint to the middle of its bodies, twice: what openings are measured by.
    link: f64,
}

/// One joint during a step.
#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    /// Where its frames are at the start and at the end.
    start: [Side; 2],
    end: [Side; 2],
    /// What it is held to at the start and at the end.
    from: Aim,
    to: Aim,
    /// Has rows in this step.
    active: bool,
    /// Holds at all: switched on, and not broken.
    on: bool,
    /// Is a spring.
    is_soft: bool,
    /// Can be switched, or break.
    changes: bool,
    /// Is held to something that moves, or to an end of a range.
    aims: bool,
    /// How many of its rows are translations.
    translations: usize,
    /// Origin, at the start and at the end, and axes of its frames, in their ends.
    place: [[DVec3; 2]; 2],
    frame: [DMat3; 2],
    turned: [DQuat; 2],
    /// How fast keys move the first origin in its end, at the end of the step, units/s.
    slides: DVec3,
    /// A point firmly on a point and nothing else: most joints are, and need no axes.
    point: bool,
    /// A muscle: it needs to know how its frames are turned, and nothing else.
    muscle: bool,
    /// What tells of a range of angles that it is far from its ends.
    inside: Inside,
    /// How far it may still be past the end of its range after this step.
    past: f64,
}

impl Hold {
    fn new(joint: &Joint) -> Hold {
        let holds = &joint.holds;
        let mut hold = Hold {
            point: joint.kind == Kind::UNIVERSAL && joint.spring.is_none(),
            muscle: matches!(joint.kind, Kind::Pose(_)),
            translations: joint.kind.translations(),
            is_soft: joint.spring.is_some() || matches!(joint.kind, Kind::Pose(_)),
            aims: !matches!(joint.kind, Kind::Directions(_)),
            changes: holds.on.is_some() || holds.most_force.is_finite() || holds.most_torque.is_finite(),
            inside: Inside::of(joint.kind),
            ..Hold::default()
        };
        hold.frame_at(&joint.frames);
        hold
    }

    fn frame_at(&mut self, frames: &[Placement; 2]) {
        self.place = [[frames[0].position, frames[1].position]; 2];
        self.turned = [frames[0].rotation, frames[1].rotation];
        self.frame = self.turned.map(DMat3::from_quat);
    }

    /// Puts one of its frames, at the start or at the end of the step, to where it is with its end at `position` and turned like
    /// this; of points and muscles, only what they need.
    #[inline(always)]
    fn put(&mut self, at_end: bool, e: usize, position: DVec3, turned: (&DMat3, DQuat)) {
        let whole = (!self.point && !self.muscle).then(|| self.side(at_end, e, position, turned));
        let side = if at_end { &mut self.end[e] } else { &mut self.start[e] };
        if let Some(whole) = whole {
            *side = whole;
        } else if self.point {
            let lever = *turned.0 * self.place[usize::from(at_end)][e];
            (side.point, side.lever) = (position + lever, lever);
        } else {
            side.turned = turned.1 * self.turned[e];
        }
    }

    /// Where one of its frames is, at the start or at the end of the step, with its end at `position` and turned like this.
    #[inline(always)]
    fn side(&self, at_end: bool, e: usize, position: DVec3, (axes, turned): (&DMat3, DQuat)) -> Side {
        if self.muscle {
            return Side { turned: turned * self.turned[e], ..Side::default() };
        }
        let lever = *axes * self.place[usize::from(at_end)][e];
        let point = position + lever;
        if self.point {
            return Side { point, lever, ..Side::default() };
        }
        Side { point, lever, axes: *axes * self.frame[e], turned: turned * self.turned[e] }
    }
}

/// Openings below this share of the mean link, and angles below this (rad), are closed...
const CLOSED: f64 = 1e-7;
/// ...and openings of what muscles pull at, who never pull that evenly.
const CLOSED_BY_MUSCLES: f64 = 8e-7;

impl Constraints {
    /// Room for a rig's joints.
    pub fn new(rig: &Rig) -> Constraints {
        let solids = rig.solids.len();
        let bodies = rig
            .solids
            .iter()
            .map(|s| Body {
                placement: Placement::IDENTITY,
                per_mass: if s.simulate.position() { 1.0 / s.mass } else { 0.0 },
                per_inertia: if s.simulate.orientation() { s.per_inertia } else { DVec3::ZERO },
            })
            .collect();
        let system = System::new(&rig.joints, solids, rig.solver.method());
        let mut jointed = vec![false; solids];
        let (mut length, mut sizes, mut levers) = (0.0, 0.0, 0.0_f64);
        for (joint, ends) in rig.joints.iter().zip(&system.structure.ends) {
            for (frame, body) in joint.frames.iter().zip(ends) {
                if let Some(body) = *body {
                    jointed[body] = true;
                    length += frame.position.length();
                    sizes += rig.solids[body].radius;
                    levers += 1.0;
                }
            }
        }
        let holds: Vec<Hold> = rig.joints.iter().map(Hold::new).collect();
        let breaks =
            |joint: &Joint| joint.holds.most_force.is_finite() || joint.holds.most_torque.is_finite();
        Constraints {
            assembly: Assembly::with(rig.solver.method(), &rig.joints, solids),
            bodies,
            free: vec![Placement::IDENTITY; solids],
            clock: Clock::new(rig.solver.budget),
            system,
            any_soft: holds.iter().any(|hold| hold.is_soft),
            any_range: rig.joints.iter().any(|joint| joint.kind.one_sided()),
            any_breaks: rig.joints.iter().any(breaks),
            closed: match rig.joints.iter().any(|joint| matches!(joint.kind, Kind::Pose(_))) {
                true => CLOSED_BY_MUSCLES,
                false => CLOSED,
            },
            holds,
            cut_short: false,
            far_open: false,
            steep: false,
            is_set_up: false,
            room: Room::new(solids, rig.joints.len()),
            jointed,
            link: if length > 0.0 { 2.0 * length / levers } else { sizes / levers.max(1.0) },
        }
    }

    /// How far each joint was open after the last step: scene units and rad.
    pub fn open(&self) -> &[(f64, f64)] {
        &self.room.open
    }

    /// Adds a force and a torque on a body throughout the step.
    #[inline]
    pub fn push(&mut self, solid: usize, force: DVec3, torque: DVec3) {
        self.room.pushes[solid].0 += force;
        self.room.pushes[solid].1 += torque;
        self.room.pushed = true;
    }

    /// Remembers where the bodies are before they move.
    pub fn begin(&mut self, solids: impl Iterator<Item = SolidState>) {
        self.clock.start();
        (self.is_set_up, self.room.answer.is_known) = (false, false);
        if std::mem::take(&mut self.room.pushed) {
            self.room.pushes.fill((DVec3::ZERO, DVec3::ZERO));
        }
        self.room.before.clear();
        self.room.before.extend(solids);
        // What has no joints is nobody's business, whoever was here before.
        for i in (0..self.jointed.len()).filter(|i| !self.jointed[*i]) {
            self.room.mobility[i] = Mobility::NONE;
            self.room.answer.forget(i);
        }
    }

    /// Has a room to work in from now on: its own, or of joints of the same size.
    pub fn enter(&mut self, room: Room) {
        self.room = room;
        self.system.exchange(&mut self.room.solving);
    }

    /// Leaves its room to others.
    pub fn leave(&mut self) -> Room {
        self.system.exchange(&mut self.room.solving);
        std::mem::take(&mut self.room)
    }

    /// What a room must fit: bodies, joints, and bodies of the tree.
    pub fn size(&self) -> [usize; 3] {
        [self.jointed.len(), self.holds.len(), self.system.tree_size()]
    }
}

/// Puts the bodies, which have moved freely for `h` seconds (above 0) to scene time `to`, together. Returns whether that
/// worked; with `whatever` it takes, it does unless joints contradict each other.
pub fn constrain(
    c: &mut Constraints,
    rig: &Rig,
    state: &mut Part<'_>,
    drives: &[Drive],
    (from, to): (f64, f64),
    h: f64,
    whatever: bool,
) -> bool {
    pulp::Arch::new().dispatch(Together { c, rig, state, drives, from, to, h, whatever })
}

/// Joints of one step, compiled for the vectors that the processor has. Nothing is fused or reordered: the numbers are the
/// same on all.
struct Together<'a, 'b> {
    c: &'a mut Constraints,
    rig: &'a Rig,
    state: &'a mut Part<'b>,
    drives: &'a [Drive],
    from: f64,
    to: f64,
    h: f64,
    whatever: bool,
}

impl pulp::WithSimd for Together<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let Together { c, rig, state, drives, from, to, h, whatever } = self;
        c.put_together_in_step(rig, state, drives, (from, to), h, whatever)
    }
}

impl Constraints {
    #[inline(always)]
    fn put_together_in_step(
        &mut self,
        rig: &Rig,
        state: &mut Part<'_>,
        drives: &[Drive],
        (from, to): (f64, f64),
        h: f64,
        whatever: bool,
    ) -> bool {
        let c = self;
        if !c.is_set_up {
            c.set_up(rig, state, drives, (from, to), h);
        }
        if c.room.answer.is_known {
            c.guess(rig, h);
        }
        let mut closed = c.close(rig, h);
        c.cut_short = !closed && rig.solver.limited && c.is_near();
        if c.cut_short {
            c.leave_open(rig, h);
            closed = true; // as far as was asked for
        }
        c.clock.settle();
        if closed {
            c.arrive(rig, state, h);
        } else if whatever {
            closed = c.force(rig, state, to, h) || rig.solver.limited;
        } else {
            return false;
        }
        c.settle_rates(rig, state, to, h);
        closed &= !c.is_wild(rig, state, h);
        if c.cut_short && c.far_open {
            c.put_right(rig, state);
        }
        c.clock.settled();
        let mut finite = true;
        for (s, before) in state.solids.iter_mut().zip(&c.room.before) {
            let sum = s.position + s.velocity + s.momentum;
            if !(sum.x + sum.y + sum.z + s.orientation.length_squared()).is_finite() {
                *s =
                    SolidState { quarantined: true, velocity: DVec3::ZERO, momentum: DVec3::ZERO, ..*before };
                finite = false;
            }
        }
        closed && finite
    }

    /// Whether a body was flung away: rows that all but contradict each other leave velocities that are no physics.
    fn is_wild(&self, rig: &Rig, state: &Part<'_>, h: f64) -> bool {
        (0..state.solids.len()).filter(|i| self.jointed[*i]).any(|i| {
            let (s, before, per_inertia) =
                (&state.solids[i], &self.room.before[i], rig.solids[i].per_inertia);
            let spin =
                |s: &SolidState| top::angular_velocity(s.orientation, s.momentum, per_inertia).length();
            s.velocity.length() > WILD * (self.link / h + before.velocity.length())
                || s.momentum.length() * per_inertia.max_element() > WILD / h
                    && spin(s) > WILD * (1.0 / h + spin(before))
        })
    }

    /// Makes joints, movers and springs of the step.
    #[inline(always)]
    fn set_up(&mut self, rig: &Rig, state: &mut Part<'_>, drives: &[Drive], (from, to): (f64, f64), h: f64) {
        self.hold(rig, state, from, to);
        self.set_out(rig, state, h);
        if self.any_soft {
            self.soften(rig, state, drives, h);
        }
        self.is_set_up = true;
    }

    /// Looks up what every joint is held to at both ends of the step.
    #[inline(always)]
    fn hold(&mut self, rig: &Rig, state: &mut Part<'_>, from: f64, to: f64) {
        for (axes, s) in self.room.axes.iter_mut().zip(&self.room.before) {
            *axes = DMat3::from_quat(s.orientation);
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            hold.on = true;
            if hold.changes {
                let memory = &mut state.joints[j];
                let on = !memory.broken && joint.holds.on.as_ref().is_none_or(|on| on.at(to) > 0.5);
                if on && !memory.on && joint.holds.grab {
                    let ends = joint.ends.map(|end| place(rig, end, &self.room.before, from));
                    memory.grabbed = Some(ends[1].to(&ends[0].then(&joint.frames[0])));
                }
                memory.on = on;
                hold.on = on;
                hold.frame_at(&[joint.frames[0], memory.grabbed.unwrap_or(joint.frames[1])]);
            }
            if joint.anchor.is_some() {
                hold.place[0][0] = joint.first_frame(&rig.paths, from).position;
                hold.place[1][0] = joint.first_frame(&rig.paths, to).position;
                hold.slides = joint.anchor_velocity(&rig.paths, to);
            }
            for (e, end) in joint.ends.iter().enumerate() {
                match end {
                    End::Solid(s) => {
                        let before = &self.room.before[*s];
                        hold.put(false, e, before.position, (&self.room.axes[*s], before.orientation));
                    }
                    other => {
                        let at = |time: f64, at_end: bool| {
                            let Placement { position, rotation } = place(rig, *other, &[], time);
                            hold.side(at_end, e, position, (&DMat3::from_quat(rotation), rotation))
                        };
                        (hold.start[e], hold.end[e]) = (at(from, false), at(to, true));
                    }
                }
            }
            if joint.kind.one_sided() {
                hold.past = 0.0;
                let [a, b] = &hold.start;
                if hold.on && !hold.is_soft && hold.inside.least(a, b) <= 0.0 {
                    let error = Rows::between(joint, a, b, &Aim::default(), Measure::Products).error[0];
                    hold.past = (error - CLOSED * self.link).max(0.0) * libm::exp(-(to - from) / PUT_RIGHT_S);
                }
            }
            if hold.aims {
                hold.from = aim(rig, joint, state.targets, from, false);
                hold.to = aim(rig, joint, state.targets, to, true);
            }
            self.room.multipliers[j] = state.joints[j].multipliers;
            if joint.kind == Kind::Track && self.room.multipliers[j][2] != 0.0 {
                // What stopped it at the end of the track does not go on pushing.
                self.room.multipliers[j][1..].fill(0.0);
            }
        }
    }

    /// Makes the movers: bodies with their free motion, and how late in the step forces act on them.
    #[inline(always)]
    fn set_out(&mut self, rig: &Rig, state: &Part<'_>, h: f64) {
        self.measure_stretch();
        for (i, free) in state.solids.iter().enumerate() {
            let mut late = 0.5;
            if self.jointed[i] {
                let moments = rig.solids[i].inertia;
                let middle =
                    moments.x + moments.y + moments.z - moments.max_element() - moments.min_element();
                let swing = h * h * self.room.stretches[i] / middle.max(1e-300);
                late = (0.5 + LATER * (swing - SWINGS)).clamp(0.5, 1.0);
            }
            let (before, solid) = (&self.room.before[i], &rig.solids[i]);
            self.room.movers[i] =
                Mover::new((before, &self.room.axes[i]), free, solid, self.room.yields[i], late, h);
        }
    }

    /// Writes where the bodies ended, and the velocities that joints gave them.
    #[inline(always)]
    fn arrive(&mut self, rig: &Rig, state: &mut Part<'_>, h: f64) {
        self.gather(rig);
        for (i, s) in state.solids.iter_mut().enumerate() {
            let (m, before) = (&self.room.movers[i], &self.room.before[i]);
            if !self.jointed[i] || before.fixed() {
                continue;
            }
            (s.position, s.orientation) = (m.end_position, m.end_orientation);
            let (force, torque) = self.room.forces[i];
            let gains = m.gains(force, torque);
            s.velocity += gains.0;
            s.momentum += gains.1;
            // What joints changed of the way changed the actuator's pull along it.
            s.force.action += force * (self.room.yields[i].shift.1 / h - 1.0);
            s.torque.action += torque * (self.room.yields[i].turn.1 / h - 1.0);
        }
        for (memory, multipliers) in state.joints.iter_mut().zip(&self.room.multipliers) {
            memory.multipliers = *multipliers;
        }
    }
}

/// Nothing gets this many links or rad further in a step, or this many times as fast.
const WILD: f64 = 1e3;

/// What a blow bends past the end of its range is put right in about so long (s): at once would be another blow.
const PUT_RIGHT_S: f64 = 0.04;

/// A body that joints pull at swings to and fro within a step when `h^2 f r / I` is beyond this...
const SWINGS: f64 = 2.0;
/// ...and forces on it act later in the step by this much per unit of that.
const LATER: f64 = 0.25;

/// What a joint is held to at `time`.
///
/// A target that jumps, or that moves with its body instead of by the clock, has no velocity: it is where it is.
pub fn aim(rig: &Rig, joint: &Joint, targets: &[TargetState], time: f64, end: bool) -> Aim {
    let mut aim = Aim { rest: joint.rest.at(time), ..Aim::default() };
    if let Kind::Pose(solid) = joint.kind
        && let Some(t) = rig.solids[solid].rotation_target
    {
        let path = &rig.paths[rig.trackers[t].path];
        let TargetState { on_path: now, before, aim: at_end, aimed, .. } = targets[t];
        let moves = rig.trackers[t].timing == Timing::Timed && !path.jumps_between(before.span, now.span);
        aim.target = if end || !moves { at_end } else { aimed };
    }
    aim
}

impl Constraints {
    /// How fast keys move the origin of a joint's first frame in the world, with bodies turned as [`Room::axes`] says.
    #[inline(always)]
    fn slid(&self, rig: &Rig, j: usize, time: f64) -> DVec3 {
        match rig.joints[j].ends[0] {
            End::Solid(s) => self.room.axes[s] * self.holds[j].slides,
            other => place(rig, other, &[], time).rotation * self.holds[j].slides,
        }
    }
}

/// Where an end that is no hand is.
fn place(rig: &Rig, end: End, solids: &[SolidState], time: f64) -> Placement {
    match end {
        End::World => Placement::IDENTITY,
        End::Solid(s) => solids[s].placement(),
        End::Keys(p) => rig.paths[p].placement(time),
        End::Hand(h) => rig.hands[h].at(time),
    }
}

/// The rotation matrix of a body at the end of the step.
#[inline]
fn end_axes(mover: &Mover) -> DMat3 {
    DMat3::from_quat(mover.end_orientation)
}
