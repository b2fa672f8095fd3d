//! What a body does on the spot: it breathes, jumps, rolls, strikes, winds along, beats its wings.

use super::gait::{Gait, swing_upper};
use super::plan::Plan;
use super::pose::{Placed, Pose};
use super::reach::{follow, reach};
use super::skeleton::{Flesh, Skeleton};
use super::take::{Action, Take};
use glam::{DQuat, DVec3};
use std::f64::consts::{PI, TAU};

/// Poses on every frame of a take.
pub fn poses(plan: &Plan, skeleton: &Skeleton, take: &Take, rate: f64) -> Vec<Pose> {
    let gait = Gait::new(skeleton, plan.leg, take.action == Action::Run, rate);
    let once = match take.action {
        Action::Walk | Action::Run => gait.period,
        Action::Idle => 2.0,
        Action::Jump => 1.5,
        Action::Roll => 1.25,
        Action::Attack => 1.0,
        Action::Slither => 1.5,
        Action::Fly => 0.5,
    };
    let frames = (once * rate).round() as usize * take.turns;
    let turn = frames as f64 / take.turns as f64;
    let count = frames + usize::from(!take.one_short);
    let moment = |frame: usize| {
        let share = (frame as f64 / turn).fract();
        let mut pose = match take.action {
            Action::Walk | Action::Run => {
                // A cycle on the spot is the same frames again.
                let t = if take.travels { frame as f64 / rate } else { share * gait.period };
                let mut pose = gait.pose(skeleton, t);
                if !take.travels {
                    carry(skeleton, &mut pose, -DVec3::Z * gait.speed * t);
                }
                pose
            }
            Action::Idle => idle(plan, skeleton, share),
            Action::Jump => jump(plan, skeleton, share * once),
            Action::Roll => roll(skeleton, share, plan.aloft),
            Action::Attack => attack(plan, skeleton, share),
            Action::Slither => slither(skeleton, share),
            Action::Fly => fly(plan, skeleton, share),
        };
        if plan.stretches {
            stretch(skeleton, &mut pose, TAU * share);
        }
        pose
    };
    (0..count).map(moment).collect()
}

/// Moves the whole body.
fn carry(skeleton: &Skeleton, pose: &mut Pose, by: DVec3) {
    let unbound = |leg: &&super::skeleton::Leg| skeleton.bones[leg.foot].parent != Some(leg.lower);
    let feet = skeleton.legs.iter().filter(unbound).map(|l| l.foot);
    // Roots are not turned, and so their axes are the world's.
    for bone in std::iter::once(skeleton.mover).chain(feet) {
        pose.shift[bone] += by;
    }
}

/// Legs with their feet where they are at rest, moved up by so much.
fn stand(skeleton: &Skeleton, pose: &mut Pose, up: f64) {
    let mut placed = pose.placed(skeleton);
    for leg in &skeleton.legs {
        let ankle = skeleton.bones[leg.foot].head + DVec3::Y * up;
        reach(skeleton, pose, &mut placed, leg, ankle, DQuat::IDENTITY);
    }
}

fn idle(plan: &Plan, skeleton: &Skeleton, share: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    let phase = TAU * share;
    if !skeleton.legs.is_empty() {
        let sway = DVec3::new(0.015 * phase.sin(), -0.04 - 0.01 * (2.0 * phase).cos(), 0.0);
        pose.shift[skeleton.mover] = sway * plan.leg;
    }
    swing_upper(skeleton, &mut pose, phase, 0.05, 0.2);
    for wing in &skeleton.wings {
        pose.add(wing.bones[0], DQuat::from_rotation_z(0.1 * wing.side * phase.sin()));
    }
    stand(skeleton, &mut pose, 0.0);
    pose
}

/// From value and slope to value and slope.
fn hermite(u: f64, long: f64, [a, da]: [f64; 2], [b, db]: [f64; 2]) -> f64 {
    let (u2, u3) = (u * u, u * u * u);
    (2.0 * u3 - 3.0 * u2 + 1.0) * a
        + (u3 - 2.0 * u2 + u) * long * da
        + (3.0 * u2 - 2.0 * u3) * b
        + (u3 - u2) * long * db
}

fn jump(plan: &Plan, skeleton: &Skeleton, t: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    let high = 0.35 * plan.leg;
    let fast = (2.0 * 9.81 * high).sqrt();
    let air = 2.0 * fast / 9.81;
    let [stood, crouched, off] = [-0.03, -0.28, -0.13].map(|s| s * plan.leg);
    let low = 0.4;
    // Push off from the crouch as evenly as the speed and the way ask for.
    let push = 2.0 * (off - crouched) / fast;
    let ends = [0.0, low, low + push, low + push + air, low + 2.0 * push + air, 1.5];
    let piece = ends.windows(2).position(|w| t <= w[1]).unwrap_or(4);
    let [from, to] = [ends[piece], ends[piece + 1]];
    let u = ((t - from) / (to - from)).clamp(0.0, 1.0);
    let marks = [[stood, 0.0], [crouched, 0.0], [off, fast], [off, -fast], [crouched, 0.0], [stood, 0.0]];
    let flight = piece == 2;
    let body = match flight {
        true => off + 4.0 * high * u * (1.0 - u),
        false => hermite(u, to - from, marks[piece], marks[piece + 1]),
    };
    pose.shift[skeleton.mover] = DVec3::Y * body;
    let bow = 0.5 * ((stood - body) / (stood - crouched)).clamp(-0.2, 1.0);
    if plan.upright {
        pose.add(skeleton.trunk[1], DQuat::from_rotation_x(bow));
    }
    for arm in &skeleton.arms {
        pose.add(arm.bones[1], DQuat::from_rotation_x(1.2 * bow - 0.2));
        pose.add(arm.bones[2], DQuat::from_rotation_x(-0.4));
    }
    // Feet leave the floor gently: knees are bent enough for that.
    let smooth = |x: f64| x * x * x * (10.0 - 15.0 * x + 6.0 * x * x);
    let lifted = smooth((u / 0.3).min(1.0)) * smooth(((1.0 - u) / 0.3).min(1.0));
    stand(skeleton, &mut pose, if flight { (body - off) * lifted } else { 0.0 });
    pose
}

fn roll(skeleton: &Skeleton, share: f64, aloft: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    let tuck = 0.5 - 0.5 * (TAU * share).cos();
    let smooth = share * share * share * (10.0 - 15.0 * share + 6.0 * share * share);
    pose.add(skeleton.mover, DQuat::from_rotation_x(TAU * smooth));
    for bone in skeleton.trunk.iter().skip(1).chain(&skeleton.neck) {
        pose.add(*bone, DQuat::from_rotation_x(0.3 * tuck));
    }
    for arm in &skeleton.arms {
        pose.add(arm.bones[1], DQuat::from_rotation_x(-0.9 * tuck));
        pose.add(arm.bones[2], DQuat::from_rotation_x(-1.4 * tuck));
    }
    for leg in &skeleton.legs {
        pose.add(leg.upper, DQuat::from_rotation_x(-1.7 * leg.pole.z * tuck));
        pose.add(leg.lower, DQuat::from_rotation_x(2.0 * leg.pole.z * tuck));
    }
    let mut placed = pose.placed(skeleton);
    for leg in &skeleton.legs {
        follow(skeleton, &mut pose, &mut placed, leg, None);
    }
    // Whatever is lowest is on the floor.
    carry(skeleton, &mut pose, DVec3::Y * (aloft - lowest(skeleton, &placed)));
    pose
}

/// The lowest point of all flesh.
fn lowest(skeleton: &Skeleton, placed: &[Placed]) -> f64 {
    let mut low = f64::INFINITY;
    for (bone, at) in skeleton.bones.iter().zip(placed) {
        let world = |p: DVec3| (at.at + at.turned * (p - bone.head)).y;
        match bone.flesh {
            Flesh::None => {}
            Flesh::Capsule(radius) => low = low.min(world(bone.head).min(world(bone.tail)) - radius),
            Flesh::Sole { .. } => {
                low = super::skin::sole(bone).into_iter().map(world).fold(low, f64::min);
            }
        }
    }
    low
}

fn attack(plan: &Plan, skeleton: &Skeleton, share: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    // Back until a half, forward in a tenth, and home.
    let ease = |x: f64| x * x * (3.0 - 2.0 * x);
    let (back, forth) = match share {
        s if s < 0.5 => (ease(s / 0.5), 0.0),
        s if s < 0.62 => (1.0 - ease((s - 0.5) / 0.12), ease((s - 0.5) / 0.12)),
        s => (0.0, 1.0 - ease((s - 0.62) / 0.38)),
    };
    let lunge = 0.12 * (forth - 0.5 * back);
    if !skeleton.legs.is_empty() {
        pose.shift[skeleton.mover] = DVec3::new(0.0, -0.06 - 0.03 * forth, lunge) * plan.leg;
    }
    for bone in skeleton.trunk.iter().skip(1) {
        let turn = 0.35 * (forth - back) / skeleton.trunk.len() as f64;
        pose.add(*bone, DQuat::from_rotation_y(turn));
    }
    for arm in &skeleton.arms {
        let strikes = arm.side < 0.0;
        let raise = if strikes { -2.4 * back - 1.1 * forth } else { 0.4 * (back - forth) };
        pose.add(arm.bones[1], DQuat::from_rotation_x(raise));
        pose.add(arm.bones[2], DQuat::from_rotation_x(if strikes { -1.3 * back - 0.2 } else { -0.6 }));
    }
    for bone in &skeleton.fingers {
        pose.add(*bone, DQuat::from_rotation_x(-0.3 * (back + forth)));
    }
    if skeleton.arms.is_empty() {
        for bone in &skeleton.neck {
            pose.add(*bone, DQuat::from_rotation_x(0.5 * forth - 0.4 * back));
        }
    }
    stand(skeleton, &mut pose, 0.0);
    pose
}

fn slither(skeleton: &Skeleton, share: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    let count = skeleton.trunk.len() as f64;
    for (i, bone) in skeleton.trunk.iter().enumerate() {
        let wave = (TAU * (share - 1.5 * i as f64 / count)).sin();
        // The first bone carries all the others: it turns by half.
        let most = if i == 0 { 0.3 } else { 0.6 * PI / count };
        pose.add(*bone, DQuat::from_rotation_y(most * wave));
    }
    stand(skeleton, &mut pose, 0.0);
    pose
}

fn fly(plan: &Plan, skeleton: &Skeleton, share: f64) -> Pose {
    let mut pose = Pose::rest(skeleton);
    let phase = TAU * share;
    pose.shift[skeleton.mover] = DVec3::Y * 0.1 * plan.trunk * (phase + 1.2).sin();
    for wing in &skeleton.wings {
        for (i, bone) in wing.bones.iter().enumerate() {
            let beat = 0.5 * (phase - 0.8 * i as f64).sin();
            pose.add(*bone, DQuat::from_rotation_z(wing.side * beat));
        }
    }
    for (i, bone) in skeleton.tail.iter().enumerate() {
        pose.add(*bone, DQuat::from_rotation_x(0.1 * (phase - i as f64).sin()));
    }
    for leg in &skeleton.legs {
        pose.add(leg.upper, DQuat::from_rotation_x(0.9));
        pose.add(leg.lower, DQuat::from_rotation_x(0.6));
    }
    let mut placed = pose.placed(skeleton);
    for leg in &skeleton.legs {
        follow(skeleton, &mut pose, &mut placed, leg, None);
    }
    pose
}

/// A bone of the trunk, or of the neck where the trunk stands on several legs, and the lower arms move along their parents.
fn stretch(skeleton: &Skeleton, pose: &mut Pose, phase: f64) {
    let spine = if skeleton.legs.len() > 2 { &skeleton.neck } else { &skeleton.trunk[1..] };
    let arms = skeleton.arms.iter().map(|a| a.bones[2]);
    for bone in spine.iter().copied().take(1).chain(arms) {
        let parent = skeleton.bones[bone].parent.expect("it hangs on one");
        let long = skeleton.bones[bone].head - skeleton.bones[parent].head;
        pose.shift[bone] += long * 0.06 * phase.sin();
    }
}
