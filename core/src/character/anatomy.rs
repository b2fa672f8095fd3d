//! How far limbs turn by what they are, where names tell that a figure is a human or goes on four legs: elbows and knees bend one
//! way, and the others have at least the room that their kind has, however little of it the clip uses.
//!
//! Ranges are those of healthy adults, rounded (American Academy of Orthopaedic Surgeons, Joint Motion, 1965); of animals, those of
//! a dog at ease. Which way a knee bends the clip must show: straight legs have no front.

use super::Character;
use super::kind::Kind;
use super::name::{Name, Part, Segment};
use super::range::{Room, split};
use crate::scene::Scene;
use glam::{DMat3, DQuat, DVec3};

/// The kind of each figure, where all of its arms and legs have names that tell upper from lower.
pub(super) fn kinds(scene: &Scene, figure: &Character) -> Vec<Option<Kind>> {
    let kind = |number: usize| {
        let own = || figure.limbs.iter().filter(move |l| l.figure == number);
        let named = |segment: Segment| {
            own().filter(|l| Name::new(&scene.nodes[l.node].name).segment() == Some(segment)).count() >= 2
        };
        let head = own().any(|l| Name::new(&scene.nodes[l.node].name).part() == Some(Part::Head));
        let all = [Segment::UpperArm, Segment::ForeArm, Segment::Thigh, Segment::Shin];
        if !(head && all.into_iter().all(named)) {
            return None;
        }
        Some(figure.kinds[number])
    };
    (0..figure.kinds.len()).map(kind).collect()
}

/// Least swing and twist of a limb that turns every way, degrees, about the middle of what the clip uses.
fn ball(kind: Kind, name: &Name) -> Option<[f64; 2]> {
    Some(match (kind, name.segment(), name.part()?) {
        (Kind::Human, Some(Segment::UpperArm), _) => [90.0, 70.0],
        (Kind::Human, Some(Segment::Thigh), _) => [70.0, 45.0],
        (Kind::Human, None, Part::Head) => [45.0, 60.0],
        (Kind::Human, None, Part::Spine) => [25.0, 20.0],
        (Kind::Human, None, Part::End) => [50.0, 40.0],
        (Kind::FourLegged, Some(Segment::UpperArm | Segment::Thigh), _) => [50.0, 25.0],
        (Kind::FourLegged, None, Part::Head) => [50.0, 40.0],
        (Kind::FourLegged, None, Part::Spine) => [25.0, 15.0],
        (Kind::FourLegged, None, Part::End) => [45.0, 20.0],
        _ => return None,
    })
}

/// From straight to bent, degrees, of elbows and knees. A little beyond straight is no harm.
const BENDS: [f64; 2] = [-5.0, 140.0];

/// Sideways an elbow or knee has this much, degrees.
const SIDEWAYS: f64 = 12.0;

/// A limb that the clip bends by less than this does not show which way it bends, rad.
const SHOWS: f64 = 0.15;

/// The room of a limb of a figure of that kind: `turns` are those of the clip on its parent, `from` is where it begins there,
/// `along` its own direction, `learnt` the room that the clip alone gives.
pub(super) fn room(
    kind: Kind,
    name: &Name,
    (turns, from, along): (&[DQuat], DVec3, DVec3),
    learnt: Room,
) -> Room {
    if matches!(name.segment(), Some(Segment::ForeArm | Segment::Shin)) {
        return hinge(turns, from, along, learnt).unwrap_or(learnt);
    }
    let Some([swing, twist]) = ball(kind, name) else { return learnt };
    Room {
        swing_deg: learnt.swing_deg.map(|s| s.max(swing)),
        twist_deg: [learnt.twist_deg[0].min(-twist), learnt.twist_deg[1].max(twist)],
        ..learnt
    }
}

/// A limb that bends one way; `None` where the clip does not show which.
fn hinge(turns: &[DQuat], from: DVec3, along: DVec3, learnt: Room) -> Option<Room> {
    let straight = from.try_normalize()?;
    let along = along.try_normalize()?;
    let bends = |t: &DQuat| straight.cross(*t * along);
    // About this axis of the parent it bends, more of it where it bends more.
    let axis = turns.iter().map(bends).sum::<DVec3>() / turns.len() as f64;
    if axis.length() < SHOWS {
        return None;
    }
    let axis = axis.normalize();
    let angle = |t: &DQuat| {
        let way = *t * along;
        libm::atan2(straight.cross(way).dot(axis), straight.dot(way)).to_degrees()
    };
    let least = turns.iter().map(|t| angle(t) - 5.0).fold(BENDS[0], f64::min);
    let most = turns.iter().map(|t| angle(t) + 10.0).fold(BENDS[1], f64::max);
    let middle = 0.5 * (least + most);
    let bent = crate::rotation::exp(axis * middle.to_radians()) * straight;
    let bent = (bent - axis * bent.dot(axis)).try_normalize()?;
    let on_parent = frame(bent, axis);
    let on_limb_axis = turns.iter().map(|t| t.conjugate() * axis).sum::<DVec3>();
    let across = (on_limb_axis - along * on_limb_axis.dot(along)).try_normalize()?;
    let on_limb = frame(along, across);
    let seen = |t: &DQuat| split(on_parent.conjugate() * *t * on_limb);
    let sideways = turns.iter().map(|t| seen(t).0[0].abs().to_degrees()).fold(0.0, f64::max);
    let mut swing = [std::f64::consts::SQRT_2 * sideways + SIDEWAYS, 0.5 * (most - least)];
    // Whatever the clip does is within.
    let out = |t: &DQuat| {
        let bend = seen(t).0.map(f64::to_degrees);
        ((bend[0] / swing[0]).powi(2) + (bend[1] / swing[1]).powi(2)).sqrt()
    };
    let used = turns.iter().map(out).fold(0.0, f64::max);
    if used > 0.97 {
        swing = swing.map(|s| s * used / 0.97);
    }
    let about = turns.iter().map(|t| seen(t).1.to_degrees());
    let (low, high) = about.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
    let spare = learnt.twist_deg[1] - learnt.twist_deg[0];
    let spare = 0.5 * (spare - (high - low)).clamp(10.0, 60.0);
    Some(Room { on_limb, on_parent, swing_deg: swing, twist_deg: [low - spare, high + spare] })
}

/// The rotation whose x and z axes these are; they are at right angles.
fn frame(x: DVec3, z: DVec3) -> DQuat {
    DQuat::from_mat3(&DMat3::from_cols(x, z.cross(x), z)).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation;

    /// A knee that a walk bends by up to 60 degrees bends by 135, and not the other way.
    #[test]
    fn a_knee_bends_one_way() {
        let turns: Vec<DQuat> =
            (0..=12).map(|k| rotation::exp(DVec3::Z * -(5.0 * f64::from(k)).to_radians())).collect();
        let learnt = Room {
            on_limb: DQuat::IDENTITY,
            on_parent: DQuat::IDENTITY,
            swing_deg: [25.0, 60.0],
            twist_deg: [-20.0, 20.0],
        };
        let down = DVec3::NEG_Y;
        let room = room(Kind::Human, &Name::new("LeftLeg"), (&turns, down * 0.4, down), learnt);
        let within = |degrees: f64| {
            let turn = rotation::exp(DVec3::Z * -degrees.to_radians());
            let (bend, _) = split(room.on_parent.conjugate() * turn * room.on_limb);
            let bend = bend.map(f64::to_degrees);
            (bend[0] / room.swing_deg[0]).powi(2) + (bend[1] / room.swing_deg[1]).powi(2) <= 1.0
        };
        assert!(within(0.0) && within(60.0) && within(135.0), "{room:?}");
        assert!(!within(-10.0) && !within(150.0), "{room:?}");
        // Straight all the time, it does not show where its front is.
        let straight = vec![DQuat::IDENTITY; 5];
        assert_eq!(
            super::room(Kind::Human, &Name::new("LeftLeg"), (&straight, down * 0.4, down), learnt),
            learnt
        );
    }
}
