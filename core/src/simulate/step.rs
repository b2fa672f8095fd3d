//! One step of a rig: targets move, actuators pull, bodies move. Parents before children.

use super::ahead::Span;
use super::air::Surroundings;
use super::calm::calm;
use super::cluster::Cluster;
use super::constrain::Yield;
use super::hit::{give_way, strike_in_time};
use super::lane::Lane;
use super::linkage::Given;
use super::release::{release_in_time, wake};
use super::state::{Cause, Fight, Halved, MOST_HALVED, Pace};
use super::touch::{settle, touch};
use super::{SolidState, State, TargetState};
use crate::actuator::{Pull, Saturation, move_mass, turn_body};
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

/// Takes one cluster from its start to `dt` later.
///
/// Where joints cannot be closed at the end of the step (long or heavy chains pull harder than a long step can tell
/// the direction of), or contacts not kept out of each other, the whole cluster goes back, targets and filters included,
/// and takes the step in halves.
pub fn step_cluster(rig: &Rig, state: &mut State, lane: &mut Lane, cluster: &Cluster<'_>, dt: f64) {
    release_in_time(rig, state, &lane.linkages, cluster.solids);
    strike_in_time(rig, state, &lane.balance, cluster.solids, dt);
    if cluster.joints.is_empty() && cluster.pairs.is_empty() {
        cluster.solids.iter().for_each(|i| lane.saturation[*i as usize] = [Saturation::Alone; 2]);
        let _ = step_once(rig, state, lane, cluster, dt, true);
        return;
    }
    // A limit ends a step; going back and halving would take the time that it is to save.
    if rig.solver.limited {
        let _ = step_awake(rig, state, lane, cluster, dt, true);
        return;
    }
    let most = rig.solver.halvings;
    let mut pace = Pace::of(cluster.solids.iter().map(|s| state.pace[*s as usize]));
    let level = pace.halvings.min(most);
    let parts = 1_u32 << level;
    let (start, noted) = (state.time, state.halved.len());
    let mut deepest = level;
    for part in 1..=parts {
        // Parts end where the same parts of other lengths do.
        let to = start + dt * f64::from(part) / f64::from(parts);
        deepest = deepest.max(halve(rig, state, lane, cluster, to, (level, most), &mut pace));
        state.halved.truncate(noted + MOST_HALVED);
    }
    match deepest > level {
        true => pace.shorten(level),
        false => pace.lengthen(level),
    }
    cluster.solids.iter().for_each(|s| state.pace[*s as usize] = pace);
}

/// A step to `to`, in halves where it must be; returns how often it was halved at most.
fn halve(
    rig: &Rig,
    state: &mut State,
    lane: &mut Lane,
    cluster: &Cluster<'_>,
    to: f64,
    (level, most): (usize, usize),
    pace: &mut Pace,
) -> usize {
    let dt = to - state.time;
    let last = level >= most;
    let strikes = state.strikes.len();
    let fails = step_awake(rig, state, lane, cluster, dt, last || pace.fights.is_some()).err();
    let fight = Fight::of(fails);
    let Some(cause) = fails.filter(|_| !last && (fight.is_none() || fight != pace.fights)) else {
        // The next moment may do without what was too quick in this one; what is stuck is stuck.
        pace.fights = fight;
        if fight.is_some() {
            calm(rig, state, lane, cluster);
        }
        return level;
    };
    lane.go_back(rig, state, cluster);
    state.strikes.truncate(strikes);
    pace.bounced |= matches!(cause, Cause::Bounces(_));
    state.halved.push(Halved { time: state.time, length: dt, cause });
    let middle = state.time + 0.5 * dt;
    let first = halve(rig, state, lane, cluster, middle, (level + 1, most), pace);
    first.max(halve(rig, state, lane, cluster, to, (level + 1, most), pace))
}

/// A step is taken again this often at most to find by how much actuators are at their limits: each may hold against another.
const MOST_SATURATIONS: usize = 4;

/// One step, taken again when it releases bodies by touching them, and when joints ask more of actuators than they have; what
/// failed, if it did.
fn step_awake(
    rig: &Rig,
    state: &mut State,
    lane: &mut Lane,
    cluster: &Cluster<'_>,
    dt: f64,
    whatever: bool,
) -> Result<(), Cause> {
    let strikes = state.strikes.len();
    for &i in cluster.solids {
        let i = i as usize;
        let (joined, s) = (lane.linkages.holds(i), &state.solids[i]);
        lane.saturation[i] = [&s.force, &s.torque].map(|memory| match joined {
            true => Saturation::Joined(1.0 - memory.eased),
            false => Saturation::Alone,
        });
    }
    let mut left = if rig.solver.limited { 0 } else { MOST_SATURATIONS };
    loop {
        lane.keep(rig, state, cluster);
        let mut outcome = step_once(rig, state, lane, cluster, dt, whatever);
        if outcome.is_ok() && !cluster.linkages.is_empty() {
            outcome = saturate(rig, state, lane, cluster, left > 0);
        }
        match outcome {
            Err(Cause::Wakes(_) | Cause::Struck(_)) => {}
            Err(Cause::Saturates(_)) => left -= 1,
            done => return done,
        }
        lane.go_back(rig, state, cluster);
        state.strikes.truncate(strikes);
        match outcome {
            Err(Cause::Wakes(solid)) => wake(rig, state, &lane.linkages, solid),
            Err(Cause::Struck(_)) => {
                let blow = lane.touch.as_mut().and_then(|t| t.blow.take());
                blow.into_iter().for_each(|b| give_way(rig, state, &lane.balance, cluster.solids, b));
            }
            _ => {}
        }
    }
}

/// Notes what the actuators of jointed bodies did in a step that is done; those that pulled more than they can, joints and
/// all, or less than they could, are to do so by another share in the same step taken `again`.
fn saturate(
    rig: &Rig,
    state: &mut State,
    lane: &mut Lane,
    cluster: &Cluster<'_>,
    again: bool,
) -> Result<(), Cause> {
    let mut found = None;
    for &i in cluster.solids {
        let i = i as usize;
        let (solid, drive, s) = (&rig.solids[i], &lane.drives[i], &mut state.solids[i]);
        if !lane.linkages.holds(i) || s.fixed() {
            continue;
        }
        let pulled =
            [solid.position_target.is_some(), solid.rotation_target.is_some() && !lane.linkages.poses(i)];
        let both = [(&mut s.force, drive.max_force), (&mut s.torque, drive.max_torque)];
        for (k, (memory, most)) in both.into_iter().enumerate() {
            if let (true, Saturation::Joined(share)) = (pulled[k], lane.saturation[i][k]) {
                (memory.saturated, memory.eased) = (share < 1.0, 1.0 - share);
                if let Some(share) = memory.saturates(share, most).filter(|_| again) {
                    lane.saturation[i][k] = Saturation::Joined(share);
                    found.get_or_insert(i as u32);
                }
            }
            memory.note();
        }
    }
    found.map_or(Ok(()), |solid| Err(Cause::Saturates(solid)))
}

/// One step; what failed, if it did. `Whatever` it takes, the state is then the best there is.
fn step_once(
    rig: &Rig,
    state: &mut State,
    lane: &mut Lane,
    cluster: &Cluster<'_>,
    dt: f64,
    whatever: bool,
) -> Result<(), Cause> {
    let (from, to) = (state.time, state.time + dt);
    // Physics may run slower or faster than the keys.
    let h = dt * rig.world.time_scale.at(from);
    let times = Times { to, dt, h, per_h: if h > 0.0 { 1.0 / h } else { 0.0 } };
    lane.air.update(rig, from);
    hold_waiting(rig, state, lane);
    for &i in cluster.solids {
        let i = i as usize;
        let softness = state.solids[i].softened.at(from);
        if rig.solids[i].keyed || softness < 1.0 || lane.softened[i] {
            lane.drives[i] = rig.drive(i, from);
            lane.drives[i].slow_down(softness);
            lane.softened[i] = softness < 1.0;
        }
        lane.before[i] = state.solids[i];
    }
    if !cluster.linkages.is_empty() {
        // What is quick to notice a push knows its own weight.
        let drives = &lane.drives;
        let knows = |i: usize| 1.0 - libm::exp(-drives[i].compensation);
        let stiffness = |i: usize| drives[i].stiffness * rig.solids[i].inertia.max_element();
        lane.help.find(rig, state, cluster.solids, drives, [from, to, h]);
        let help = &lane.help;
        lane.balance.hold(rig, state, cluster.solids, knows, |i| help.carries(i), stiffness);
        lane.balance.anticipate(rig, state, cluster.solids, drives, Span { from, to, h });
    }
    for &k in cluster.linkages {
        lane.linkages.begin(k, state);
    }
    for &i in cluster.solids {
        step_solid(rig, state, lane, i as usize, times);
    }
    if h <= 0.0 {
        state.time = to;
        return Ok(());
    }
    let mut fails = touch(rig, state, lane, cluster, (from, to), h, whatever).err();
    if let Some(Cause::Wakes(_) | Cause::Struck(_)) = fails {
        return fails.map_or(Ok(()), Err);
    }
    if fails.is_none() || whatever {
        for &k in cluster.linkages {
            let given = Given { drives: &lane.drives, yields: &lane.yields, from, to, h };
            if !lane.linkages.close(k, rig, state, given, whatever) {
                // Worse than what else may have failed.
                fails = Some(Cause::Joints(lane.linkages.all[k as usize].solids[0]));
                if !whatever {
                    break;
                }
            }
        }
    }
    if fails.is_none() || whatever {
        fails = fails.or(settle(rig, state, lane, cluster).err());
    }
    if fails.is_none() || whatever {
        state.time = to;
    }
    fails.map_or(Ok(()), Err)
}

/// Puts the parameter that each waiting target may not pass into the lane.
fn hold_waiting(rig: &Rig, state: &State, lane: &mut Lane) {
    if rig.waits.is_empty() {
        return;
    }
    lane.limits.fill(f64::INFINITY);
    for link in &rig.waits {
        if state.targets[link.awaited].on_path.parameter < link.passes {
            lane.limits[link.waiting] = lane.limits[link.waiting].min(link.at);
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

fn step_solid(rig: &Rig, state: &mut State, lane: &mut Lane, i: usize, times: Times) {
    let solid = &rig.solids[i];
    let before = &lane.before[i];
    if before.quarantined {
        return;
    }
    for t in [solid.position_target, solid.rotation_target].into_iter().flatten() {
        let target = &mut state.targets[t];
        (target.before, target.aimed) = (target.on_path, target.aim);
    }
    let frame = state.frame(rig, solid.frame, times.to);
    let mut drive = lane.drives[i];
    let mut surroundings = lane.air.on(solid, before.position, before.velocity);
    if let Some(help) = lane.help.on(i) {
        surroundings.acceleration += help;
    }
    for blow in rig.impulses.iter().filter(|b| b.solid == i) {
        let from = rig.range.in_first_turn(times.to - times.dt);
        surroundings.acceleration +=
            blow.impulse * (blow.share(from, from + times.dt) * times.per_h / solid.mass);
    }

    // targets move first
    let (jointed, posed) = (lane.linkages.holds(i), lane.linkages.poses(i));
    let mut position_pull = None;
    let mut rotation_pull = None;
    if let Some(t) = solid.position_target {
        let tracker = &rig.trackers[t];
        let old = state.targets[t];
        advance(rig, tracker, &mut state.targets[t], &drive, lane.limits[t], before, frame, times);
        let jumped = rig.paths[tracker.path].jumps_between(old.on_path.span, state.targets[t].on_path.span);
        prefer_speed(tracker, &state.targets[t], &mut drive);
        position_pull = Some(pull_position(tracker, &old, &state.targets[t], before, &drive, times, jumped));
        if solid.rotation_target == solid.position_target && !posed {
            rotation_pull =
                Some(pull_rotation(tracker, &old, &state.targets[t], before, solid, &drive, times, jumped));
        }
    }
    if let Some(t) = solid.rotation_target.filter(|_| solid.rotation_target != solid.position_target) {
        let tracker = &rig.trackers[t];
        let old = state.targets[t];
        advance(rig, tracker, &mut state.targets[t], &drive, lane.limits[t], before, frame, times);
        let jumped = rig.paths[tracker.path].jumps_between(old.on_path.span, state.targets[t].on_path.span);
        // What turns it against its parent is a row between the two.
        if !posed {
            rotation_pull =
                Some(pull_rotation(tracker, &old, &state.targets[t], before, solid, &drive, times, jumped));
        }
    }

    // then the body
    let muscle = lane.balance.knows(i);
    let answers = jointed || lane.touch.is_some();
    let after = &mut state.solids[i];
    let mut yields = Yield::free(times.h);
    if times.h > 0.0 && !before.held {
        let cached = &mut lane.responses[i];
        let share = cached.share(drive.compensation, times.h);
        let lesson = cached.lesson(&drive, times.h);
        let (stiffness, radius) = (drive.stiffness, solid.radius);
        if solid.simulate.position() {
            match muscle {
                true => {
                    let off = |pull: DVec3| pull.length() / (stiffness * solid.mass * radius);
                    after.force.observe_own(before.velocity * solid.mass, lesson, off, times.h);
                }
                false => after.force.observe(before.velocity * solid.mass, share, times.h),
            }
            let Surroundings { acceleration, drag, wind, .. } = surroundings;
            let (moved, velocity) = move_mass(
                position_pull,
                &drive,
                &mut after.force,
                &mut cached.position,
                lane.saturation[i][0],
                solid.mass,
                before.velocity,
                (acceleration, drag, wind),
                times.h,
            );
            if !jointed {
                after.force.note();
            }
            after.position += moved;
            after.velocity = velocity;
            if answers && !(position_pull.is_some() && after.force.saturated) {
                yields.shift = cached.position.yields();
            }
        }
        if solid.simulate.orientation() {
            match muscle {
                true => {
                    let turn = |pull| top::angular_velocity(before.orientation, pull, solid.per_inertia);
                    let off = |pull: DVec3| turn(pull).length() / stiffness;
                    after.torque.observe_own(before.momentum, lesson, off, times.h);
                }
                false => after.torque.observe(before.momentum, share, times.h),
            }
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
                    lane.saturation[i][1],
                    (solid.inertia, solid.per_inertia),
                    (before.orientation, before.momentum),
                    surroundings.spin_drag,
                    times.h,
                );
                if answers && rotation_pull.is_some() && !after.torque.saturated {
                    yields.turn = cached.rotation.yields();
                }
            }
            if !jointed {
                after.torque.note();
            }
        }
    }
    lane.yields[i] = yields;
    if before.held || !(solid.simulate.position() && solid.simulate.orientation()) {
        hold(rig, state, i, times);
    }
    let after = &mut state.solids[i];
    // One sum that is finite only if all of them are.
    let sum = after.position + after.velocity + after.momentum;
    let finite = (sum.x + sum.y + sum.z + after.orientation.length_squared()).is_finite();
    if !finite {
        *after = SolidState { quarantined: true, velocity: DVec3::ZERO, momentum: DVec3::ZERO, ..*before };
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
            (target.point, target.aim) = (frame.map_or(point, |f| f.then(&point)), point.rotation);
            return;
        }
        tracker.reach_forward(path, drive.reach, &body, on, wanted);
    } else {
        tracker.reach_forward(path, drive.reach, &body, on, limit.min(path.end()).max(on.parameter));
    }
    let point = path.at(on.span, on.parameter);
    (target.point, target.aim) = (frame.map_or(point, |f| f.then(&point)), point.rotation);
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

/// What is held and parts that are not simulated follow the keys, relative to the simulated ancestor if there is one.
fn hold(rig: &Rig, state: &mut State, i: usize, times: Times) {
    let solid = &rig.solids[i];
    let (path, frame) = solid.hold;
    let path = &rig.paths[path];
    let frame = state.frame(rig, frame, times.to);
    let s = &mut state.solids[i];
    s.hold_span = path.seek(s.hold_span, times.to);
    let point = path.at(s.hold_span, times.to);
    let point = frame.map_or(point, |f| f.then(&point));
    if s.held || !solid.simulate.position() {
        s.velocity = if times.h > 0.0 { (point.position - s.position) * times.per_h } else { s.velocity };
        s.position = point.position;
    }
    if s.held || !solid.simulate.orientation() {
        if times.h > 0.0 {
            let w = rotation::log(point.rotation * s.orientation.conjugate()) * times.per_h;
            s.momentum = top::angular_momentum(point.rotation, w, solid.inertia);
        }
        s.orientation = point.rotation;
    }
}
