//! Two bars from a fixed end to a goal: the law of cosines.

use super::pose::{Placed, Pose};
use super::skeleton::{Leg, Skeleton};
use glam::{DMat3, DQuat, DVec3};

/// How much of its length a leg is stretched to at most: straight knees snap.
pub const STRAIGHT: f64 = 0.995;

/// Bends a leg so that its ankle is at `ankle`, or as near as it gets, and turns its foot by `foot` in the world. `placed` has
/// the world places of what the leg hangs on.
pub fn reach(
    skeleton: &Skeleton,
    pose: &mut Pose,
    placed: &mut [Placed],
    leg: &Leg,
    ankle: DVec3,
    foot: DQuat,
) {
    let bones = &skeleton.bones;
    let [hip, knee, end] = [leg.upper, leg.lower, leg.foot].map(|b| bones[b].head);
    let above = skeleton.above(leg.upper, placed);
    let on = bones[leg.upper].parent.map_or(DVec3::ZERO, |p| bones[p].head);
    let start = above.at + above.turned * (hip - on);
    let (a, b) = ((knee - hip).length(), (end - knee).length());
    let way = ankle - start;
    let far = way.length().clamp((a - b).abs() + 1e-3 * a, STRAIGHT * (a + b));
    let way = way.normalize();
    // The knee lies in the plane of the leg and its pole.
    let pole = above.turned * leg.pole;
    let out = (pole - way * pole.dot(way)).normalize();
    let along = (a * a + far * far - b * b) / (2.0 * far);
    let aside = (a * a - along * along).max(0.0).sqrt();
    let bent = start + way * along + out * aside;
    let tip = start + way * far;
    let frame = |dir: DVec3, pole: DVec3| {
        let x = dir.normalize();
        let z = x.cross(pole).normalize();
        DMat3::from_cols(x, z.cross(x), z)
    };
    let turn = |rest: DVec3, now: DVec3| {
        DQuat::from_mat3(&(frame(now, out) * frame(rest, leg.pole).transpose())).normalize()
    };
    pose.aim(skeleton, placed, leg.upper, turn(knee - hip, bent - start));
    pose.aim(skeleton, placed, leg.lower, turn(end - knee, tip - bent));
    follow(skeleton, pose, placed, leg, Some(foot));
}

/// Puts the foot at the end of its leg, turned by `foot` in the world, or as the lower leg is.
pub fn follow(skeleton: &Skeleton, pose: &mut Pose, placed: &mut [Placed], leg: &Leg, foot: Option<DQuat>) {
    let lower = placed[leg.lower];
    let at = lower.at + lower.turned * (skeleton.bones[leg.foot].head - skeleton.bones[leg.lower].head);
    let to = Placed { at, turned: foot.unwrap_or(lower.turned) };
    if skeleton.bones[leg.foot].parent == Some(leg.lower) {
        pose.aim(skeleton, placed, leg.foot, to.turned);
    } else {
        pose.put(skeleton, placed, leg.foot, to);
    }
}
