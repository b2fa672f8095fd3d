//! One step of a rig: targets move, actuators pull, bodies move. Parents before children.

use super::air::Surroundings;
use super::constrain::{Yield, constrain};
use super::touch::{settle, touch};
use super::{SolidState, State, TargetState, Workspace};
use crate::actuator::{Pull, move_mass, turn_body};
use crate::dynamics::top;
use crate::guide::Tracker;
use crate::rig::{Drive, Rig, Solid};
use crate::rotation;
use crate::scene::Placement;
use crate::setup::Timing;
use glam::DVec3;

/// Preferred speeds are kept above this share of the natural one, so that a wish of zero does not stop the body
/// for ever short of its next key.
const SLOWEST_SHARE: f64 = 0.01;

/// Advances `state` by `dt` seconds of scene time (above 0). Allocates nothing.
///
/// Where joints cannot be closed at the end of the step (long or heavy chains pull harder than a long step can tell
/// the direction of), the whole state goes back, targets and filters included, and takes the step in halves.
pub fn step(rig: &Rig, state: &mut State, work: &mut Workspace, dt: f64) {
    // A limit ends a step; going back and halving would take the time that it is to save.
    if work.constraints.is_none() && work.touch.is_none() || rig.solver.limited {
        step_once(rig, state, work, dt, true);
        return;
    }
    let most = rig.solver.halvings;
    let level = state.halvings.min(most);
    let parts = 1_u32 << level;
    let start = state.time;
    let mut deepest = level;
    for part in 1..=parts {
        // Parts end where the same parts of other lengths do.
        let to = start + dt * f64::from(part) / f64::from(parts);
        deepest = deepest.max(halve(rig, state, work, to, level, most));
    }
    if deepest > level {
        (state.halvings, state.clean) = (level + 1, 0);
    } else if level > 0 {
        state.clean += 1;
        if state.clean >= CLEAN {
            (state.halvings, state.clean) = (level - 1, 0);
        }
    }
}

/// After so many steps that needed no more halving, one less is tried.
const CLEAN: usize = 12;

/// A step to `to`, in halves where it must be; returns how often it was halved at most.
fn halve(rig: &Rig, state: &mut State, work: &mut Workspace, to: f64, level: usize, most: usize) -> usize {
    let dt = to - state.time;
    let last = level >= most || state.joints_fight;
    let Some(mut kept) = work.kept.pop() else {
        step_once(rig, state, work, dt, true);
        return level;
    };
    // The bodies are kept where joints begin.
    kept.time = state.time;
    kept.targets.clone_from(&state.targets);
    kept.joints.clone_from(&state.joints);
    kept.touched.clone_from(&state.touched);
    kept.still.clone_from(&state.still);
    let strikes = state.strikes.len();
    let closed = step_once(rig, state, work, dt, last);
    if closed || last {
        state.joints_fight = !closed;
        work.kept.push(kept);
        return level;
    }
    state.time = kept.time;
    state.targets.clone_from(&kept.targets);
    state.joints.clone_from(&kept.joints);
    state.touched.clone_from(&kept.touched);
    state.still.clone_from(&kept.still);
    state.strikes.truncate(strikes);
    if let Some(t) = &work.touch {
        state.solids.copy_from_slice(t.before());
    } else if let Some(c) = &work.constraints {
        state.solids.copy_from_slice(c.before());
    }
    work.kept.push(kept);
    let middle = state.time + 0.5 * dt;
    let first = halve(rig, state, work, middle, level + 1, most);
    first.max(halve(rig, state, work, to, level + 1, most))
}

/// One step; whether its joints are closed, `whatever` it takes.
fn step_once(rig: &Rig, state: &mut State, work: &mut Workspace, dt: f64, whatever: bool) -> bool {
    let (from, to) = (state.time, state.time + dt);
    // Physics may run slower or faster than the keys.
    let h = dt * rig.world.time_scale.at(from);
    let times = Times { to, dt, h, per_h: if h > 0.0 { 1.0 / h } else { 0.0 } };
    work.air.update(rig, from);
    for (i, _) in rig.solids.iter().enumerate().filter(|(_, s)| s.keyed) {
        work.drives[i] = rig.drive(i, from);
    }
    hold_waiting(rig, state, work);
    if let Some(c) = &mut work.constraints {
        c.begin(state);
    }
    if let Some(t) = &mut work.touch {
        t.begin(state);
    }
    for target in &mut state.targets {
        target.before = target.on_path;
    }
    for i in 0..rig.solids.len() {
        step_solid(rig, state, work, i, times);
    }
    let clear = touch(rig, state, work, (from, to), h, whatever);
    if !clear && !whatever {
        return false;
    }
    let closed = constrain(rig, state, work, (from, to), h, whatever);
    if !closed && !whatever {
        return false;
    }
    let out = h <= 0.0 || settle(rig, state, work);
    state.time = to;
    closed && clear && out
}

/// Puts the parameter that each waiting target may not pass into the workspace.
fn hold_waiting(rig: &Rig, state: &State, work: &mut Workspace) {
    if rig.waits.is_empty() {
        return;
    }
    work.limits.fill(f64::INFINITY);
    for link in &rig.waits {
        if state.targets[link.awaited].on_path.parameter < link.passes {
            work.limits[link.waiting] = work.limits[link.waiting].min(link.at);
        }
    }
}

#[derive(Clone, Copy)]
struct Times {
    /// Scene time when the step ends.
    to: f64,
    /// Scene seconds.
    dt: f64,
    /// Physical seconds.
    h: f64,
    /// 1 / h, or 0 when physics stands still.
    per_h: f64,
}

fn step_solid(rig: &Rig, state: &mut State, work: &mut Workspace, i: usize, times: Times) {
    let solid = &rig.solids[i];
    let before = state.solids[i];
    if before.quarantined {
        return;
    }
    let frame = state.frame(rig, solid.frame, times.to);
    let mut drive = work.drives[i];
    let surroundings = work.air.on(solid, before.position, before.velocity);

    // targets move first
    let mut position_pull = None;
    let mut rotation_pull = None;
    if let Some(t) = solid.position_target {
        let tracker = &rig.trackers[t];
        let old = state.targets[t];
        advance(rig, tracker, &mut state.targets[t], &drive, work.limits[t], &before, frame, times);
        let jumped = rig.paths[tracker.path].jumps_between(old.on_path.span, state.targets[t].on_path.span);
        prefer_speed(tracker, &state.targets[t], &mut drive);
        position_pull = Some(pull_position(tracker, &old, &state.targets[t], &before, &drive, times, jumped));
        if solid.rotation_target == solid.position_target {
            rotation_pull =
                Some(pull_rotation(tracker, &old, &state.targets[t], &before, solid, &drive, times, jumped));
        }
    }
    if let (Some(t), None) = (solid.rotation_target, rotation_pull) {
        let tracker = &rig.trackers[t];
        let old = state.targets[t];
        advance(rig, tracker, &mut state.targets[t], &drive, work.limits[t], &before, frame, times);
        let jumped = rig.paths[tracker.path].jumps_between(old.on_path.span, state.targets[t].on_path.span);
        rotation_pull =
            Some(pull_rotation(tracker, &old, &state.targets[t], &before, solid, &drive, times, jumped));
    }

    // then the body
    let (jointed, posed) = work.constraints.as_ref().map_or((false, false), |c| (c.holds(i), c.poses(i)));
    let answers = jointed || work.touch.is_some();
    if posed {
        rotation_pull = None; // a row between the body and its parent
    }
    let after = &mut state.solids[i];
    let mut yields = Yield::free(times.h);
    if times.h > 0.0 {
        let cached = &mut work.responses[i];
        let share = cached.share(drive.compensation, times.h);
        if solid.simulate.position() {
            after.force.observe(before.velocity * solid.mass, share, times.h);
            let Surroundings { acceleration, drag, wind, .. } = surroundings;
            let (moved, velocity) = move_mass(
                position_pull,
                &drive,
                &mut after.force,
                &mut cached.position,
                solid.mass,
                before.velocity,
                (acceleration, drag, wind),
                times.h,
            );
            after.force.note();
            after.position += moved;
            after.velocity = velocity;
            if answers && !(position_pull.is_some() && after.force.saturated) {
                yields.shift = cached.position.yields();
            }
        }
        if solid.simulate.orientation() {
            after.torque.observe(before.momentum, share, times.h);
            yields.coasts = rotation_pull.is_none() && surroundings.spin_drag == 0.0;
            if jointed && yields.coasts {
                // Its joints turn it, see there.
                after.torque.action = DVec3::ZERO;
            } else {
                (after.orientation, after.momentum) = turn_body(
                    rotation_pull,
                    &drive,
                    &mut after.torque,
                    &mut cached.rotation,
                    (solid.inertia, solid.per_inertia),
                    (before.orientation, before.momentum),
                    surroundings.spin_drag,
                    times.h,
                );
                if answers && rotation_pull.is_some() && !after.torque.saturated {
                    yields.turn = cached.rotation.yields();
                }
            }
            after.torque.note();
        }
    }
    if let Some(c) = &mut work.constraints {
        c.yields[i] = yields;
    }
    if let Some(t) = &mut work.touch {
        t.yields[i] = yields;
    }
    if !(solid.simulate.position() && solid.simulate.orientation()) {
        hold(rig, state, i, times);
    }
    let after = &mut state.solids[i];
    // One sum that is finite only if all of them are.
    let sum = after.position + after.velocity + after.momentum;
    let finite = (sum.x + sum.y + sum.z + after.orientation.length_squared()).is_finite();
    if !finite {
        *after = SolidState { quarantined: true, velocity: DVec3::ZERO, momentum: DVec3::ZERO, ..before };
    }
}

/// Moves a target: by the clock, or ahead of the body.
#[allow(clippy::too_many_arguments)]
fn advance(
    rig: &Rig,
    tracker: &Tracker,
    target: &mut TargetState,
    drive: &Drive,
    limit: f64,
    body: &SolidState,
    frame: Option<Placement>,
    times: Times,
) {
    let path = &rig.paths[tracker.path];
    let on = &mut target.on_path;
    let body = body.placement();
    let body = frame.map_or(body, |f| f.to(&body));
    if tracker.timing == Timing::Timed {
        let wanted = (on.parameter + times.dt * tracker.catch_up).min(times.to).min(limit).max(on.parameter);
        let span = path.seek(on.span, wanted);
        let point = path.at(span, wanted);
        if tracker.within(drive.reach, &body, &point) {
            *on = crate::guide::Target { parameter: wanted, span };
            target.point = frame.map_or(point, |f| f.then(&point));
            return;
        }
        tracker.reach_forward(path, drive.reach, &body, on, wanted);
    } else {
        tracker.reach_forward(path, drive.reach, &body, on, limit.min(path.end()).max(on.parameter));
    }
    let point = path.at(on.span, on.parameter);
    target.point = frame.map_or(point, |f| f.then(&point));
}

/// With preferred speeds the pull is scaled so that the steady speed `k d / c` is the wanted one.
#[inline]
fn prefer_speed(tracker: &Tracker, target: &TargetState, drive: &mut Drive) {
    if tracker.timing != Timing::Speeds {
        return;
    }
    if let Some(speed) = tracker.preferred_speed(target.on_path.parameter) {
        let natural = drive.stiffness * drive.reach.distance / drive.damping;
        if natural.is_finite() && natural > 0.0 {
            drive.stiffness *= (speed / natural).max(SLOWEST_SHARE);
        }
    }
}

/// The pull on the centre of mass.
///
/// A timed target is known at both ends of the step. A target that keeps its distance moves with the body: its
/// velocity over the step is taken as what it just did, and no more than the body's own (a target that leaps
/// round a bend does not go on leaping). Over a stepped key a target has no velocity: it is simply elsewhere.
#[inline]
fn pull_position(
    tracker: &Tracker,
    old: &TargetState,
    new: &TargetState,
    body: &SolidState,
    drive: &Drive,
    times: Times,
    jumped: bool,
) -> Pull {
    let step = new.point.position - old.point.position;
    if tracker.timing == Timing::Timed && !jumped {
        let velocity = step * times.per_h;
        return Pull {
            error: old.point.position - body.position,
            target_velocity: velocity,
            matched_velocity: velocity * drive.keep_up,
        };
    }
    Pull {
        error: new.point.position - body.position,
        target_velocity: if jumped {
            DVec3::ZERO
        } else {
            riding(step, body.force.step_before, body.velocity, old, new)
        },
        matched_velocity: DVec3::ZERO,
    }
}

/// The pull on the orientation; as for positions.
#[inline]
#[allow(clippy::too_many_arguments)]
fn pull_rotation(
    tracker: &Tracker,
    old: &TargetState,
    new: &TargetState,
    body: &SolidState,
    solid: &Solid,
    drive: &Drive,
    times: Times,
    jumped: bool,
) -> Pull {
    let back = body.orientation.conjugate();
    let step = rotation::log(new.point.rotation * old.point.rotation.conjugate());
    if tracker.timing == Timing::Timed && !jumped {
        let velocity = step * times.per_h;
        return Pull {
            error: rotation::log(old.point.rotation * back),
            target_velocity: velocity,
            matched_velocity: velocity * drive.keep_up,
        };
    }
    let spin = top::angular_velocity(body.orientation, body.momentum, solid.per_inertia);
    Pull {
        error: rotation::log(new.point.rotation * back),
        target_velocity: if jumped {
            DVec3::ZERO
        } else {
            riding(step, body.torque.step_before, spin, old, new)
        },
        matched_velocity: DVec3::ZERO,
    }
}

/// Velocity of a target that rides ahead of its body.
#[inline]
fn riding(
    step: DVec3,
    step_before: f64,
    body_velocity: DVec3,
    old: &TargetState,
    new: &TargetState,
) -> DVec3 {
    if step_before <= 0.0 || new.on_path.parameter <= old.on_path.parameter {
        return DVec3::ZERO;
    }
    (step / step_before).clamp_length_max(body_velocity.length())
}

/// Parts that are not simulated follow the keys, relative to the simulated ancestor if there is one.
fn hold(rig: &Rig, state: &mut State, i: usize, times: Times) {
    let solid = &rig.solids[i];
    let (path, frame) = solid.hold;
    let path = &rig.paths[path];
    let frame = state.frame(rig, frame, times.to);
    let s = &mut state.solids[i];
    s.hold_span = path.seek(s.hold_span, times.to);
    let point = path.at(s.hold_span, times.to);
    let point = frame.map_or(point, |f| f.then(&point));
    if !solid.simulate.position() {
        s.velocity = if times.h > 0.0 { (point.position - s.position) * times.per_h } else { s.velocity };
        s.position = point.position;
    }
    if !solid.simulate.orientation() {
        if times.h > 0.0 {
            let w = rotation::log(point.rotation * s.orientation.conjugate()) * times.per_h;
            s.momentum = top::angular_momentum(point.rotation, w, solid.inertia);
        }
        s.orientation = point.rotation;
    }
}
