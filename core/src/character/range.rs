//! How far limbs turn: what the clip uses, and some room beyond it, more for a shoulder than for a spine.
//!
//! A limb's turn against its parent is split about its own axis, the way to what hangs on it: a twist about that axis, and
//! a swing that tilts it. Both are counted from the middle of what the clip uses.

use super::name::{Name, Part};
use super::survey::Survey;
use super::{Character, anatomy, form};
use crate::rotation;
use crate::scene::Scene;
use glam::{DQuat, DVec3};

/// How far a limb may turn against its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The joint's frame on the limb: x along it.
    pub on_limb: DQuat,
    /// The joint's frame on the parent: where `on_limb` is in the middle of the clip's turns.
    pub on_parent: DQuat,
    /// Half the opening of the swing about y and z, degrees.
    pub swing_deg: [f64; 2],
    /// Least and most twist, degrees.
    pub twist_deg: [f64; 2],
}

/// Room beyond what the clip uses, degrees: (swing, twist).
fn margin(part: Option<Part>) -> (f64, f64) {
    match part {
        Some(Part::Spine) => (12.0, 8.0),
        Some(Part::Head) => (20.0, 20.0),
        Some(Part::Arm | Part::Leg) => (25.0, 20.0),
        Some(Part::End) => (40.0, 25.0),
        Some(Part::Loose) => (40.0, 15.0),
        _ => (25.0, 20.0),
    }
}

/// Beyond this there is nothing to hold.
const WIDEST: f64 = 170.0;

/// Learns the range of every joint.
pub(super) fn learn(scene: &Scene, survey: &Survey, figure: &mut Character) {
    let kinds = anatomy::kinds(scene, figure);
    for i in 0..figure.limbs.len() {
        let (node, parent) = (figure.limbs[i].node, figure.limbs[i].parent);
        figure.limbs[i].fastest = match parent {
            Some(p) => fastest(survey.seen(figure.limbs[p].node, node).map(|p| p.rotation), survey.step),
            None => fastest(survey.places(node).iter().map(|p| p.rotation), survey.step),
        };
        let Some(parent) = parent else {
            let centre = figure.limbs[i].form.mass_properties().center;
            let places = survey.places(node).iter().map(|p| super::placed(p, centre));
            figure.limbs[i].thrown = hardest(&places.collect::<Vec<_>>(), survey.step);
            continue;
        };
        let turns: Vec<DQuat> = survey.seen(figure.limbs[parent].node, node).map(|p| p.rotation).collect();
        let axis = figure.limbs[i].form.mass_properties().center;
        let on_limb = towards(axis.try_normalize().unwrap_or(DVec3::Y));
        let on_parent = (mean(&turns) * on_limb).normalize();
        let (mut swing, mut twist) = ([0.0_f64; 2], [f64::INFINITY, f64::NEG_INFINITY]);
        for turn in &turns {
            let (bend, about) = split(on_parent.conjugate() * *turn * on_limb);
            swing = [swing[0].max(bend[0].abs()), swing[1].max(bend[1].abs())];
            twist = [twist[0].min(about), twist[1].max(about)];
        }
        let name = Name::new(&scene.nodes[node].name);
        let (more, more_twist) = margin(name.part());
        // An ellipse about the box of both swings: at its corners both are used at once.
        let swing = swing.map(|s| s.to_degrees() * std::f64::consts::SQRT_2 + more);
        let twist = [twist[0].to_degrees() - more_twist, twist[1].to_degrees() + more_twist];
        let learnt = Room { on_limb, on_parent, swing_deg: swing, twist_deg: twist };
        let from = survey.wanders(figure.limbs[parent].node, node).2;
        figure.limbs[i].room = Some(match kinds[figure.limbs[i].figure] {
            Some(kind) => anatomy::room(kind, &name, (&turns, from, axis), learnt),
            None => learnt,
        });
    }
    for (a, b) in form::pairs(scene, &figure.limbs) {
        let (Some(x), Some(y)) = (figure.limbs[a].room, figure.limbs[b].room) else { continue };
        let swing = [0, 1].map(|k| x.swing_deg[k].max(y.swing_deg[k]));
        // Mirrored, a twist to the left is one to the right; the frames need not be, so both get both.
        let most = x.twist_deg.iter().chain(&y.twist_deg).fold(0.0, |m: f64, t| m.max(t.abs()));
        for i in [a, b] {
            if let Some(room) = &mut figure.limbs[i].room {
                (room.swing_deg, room.twist_deg) = (swing, [-most, most]);
            }
        }
    }
    for limb in &mut figure.limbs {
        let too_wide =
            |r: &Room| r.swing_deg.iter().chain(&r.twist_deg).any(|d| d.abs() > WIDEST || !d.is_finite());
        limb.room = limb.room.filter(|r| !too_wide(r));
    }
}

/// The hardest that orientations `step` seconds apart turn, rad/s^2.
fn fastest(turns: impl Iterator<Item = DQuat>, step: f64) -> f64 {
    let turns: Vec<DQuat> = turns.collect();
    let spins: Vec<DVec3> = turns.windows(2).map(|t| rotation::log(t[1] * t[0].conjugate()) / step).collect();
    change(&spins, step)
}

/// The hardest that places `step` seconds apart accelerate, per s^2.
pub(super) fn hardest(places: &[DVec3], step: f64) -> f64 {
    let speeds: Vec<DVec3> = places.windows(2).map(|p| (p[1] - p[0]) / step).collect();
    change(&speeds, step)
}

/// The hardest change of velocities, per second.
fn change(velocities: &[DVec3], step: f64) -> f64 {
    let most = velocities.windows(2).map(|v| (v[1] - v[0]).length() / step).fold(0.0, f64::max);
    if most.is_finite() { most } else { 0.0 }
}

/// A rotation that takes x to `axis` the shortest way.
fn towards(axis: DVec3) -> DQuat {
    if axis.x < -0.999_999 {
        return DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0);
    }
    DQuat::from_rotation_arc(DVec3::X, axis).normalize()
}

/// The mean of rotations that are not far apart: of their rotation vectors from a mean that is improved a few times.
fn mean(turns: &[DQuat]) -> DQuat {
    let mut middle = turns[0];
    for _ in 0..8 {
        let sum: DVec3 = turns.iter().map(|t| rotation::log(middle.conjugate() * *t)).sum();
        middle = (middle * rotation::exp(sum / turns.len() as f64)).normalize();
    }
    middle
}

/// Swing about y and z, and twist about x, rad: `turn = swing twist`.
pub(super) fn split(turn: DQuat) -> ([f64; 2], f64) {
    let turn = if turn.w < 0.0 { -turn } else { turn };
    let about = 2.0 * libm::atan2(turn.x, turn.w);
    let swing = turn * rotation::exp(DVec3::X * -about);
    let bend = rotation::log(swing);
    ([bend.y, bend.z], about)
}
