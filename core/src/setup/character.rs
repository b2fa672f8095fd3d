//! A skeleton's bodies and joints, as a set-up says them.

use super::{Body, Group, Joint, JointFrame, JointKind, Limit, Part, Parts, Pin, Setup, Shape, Space};
use crate::character::{Chain, Character, Form, Limb};
use crate::rotation;
use crate::scene::{Placement, Pose, Scene};
use crate::shape::Kind;
use glam::{DQuat, DVec3};
use std::collections::HashMap;

/// Tails and ears are softer, and know nothing of what comes: they lag, and swing past.
const LOOSE: f64 = 0.5;

/// Muscles turn and move their limbs at least this many times as hard as the clip needs at its fastest.
const SPARE: f64 = 2.0;

/// Adds a figure's bodies, joints, groups and floor to a set-up. `pose` is evaluated at the first frame. The clip starts at
/// `start` s.
pub(super) fn add(
    scene: &Scene,
    names: &HashMap<&str, Vec<usize>>,
    pose: &Pose,
    figure: &Character,
    start: f64,
    setup: &mut Setup,
) {
    let reference = |limb: &Limb| scene.reference(names, limb.node);
    for chain in &figure.chains {
        setup.groups.push(Group::new(chain.name.clone(), firmness(chain)));
    }
    let roots = roots(figure);
    setup.groups.extend(roots.iter().map(|name| Group::new(name.clone(), 1.0)));
    for limb in &figure.limbs {
        let chain = &figure.chains[limb.chain];
        let mut body = Body::new(reference(limb));
        body.shape = shape(&limb.form);
        let mass = rounded(limb.mass, 4);
        body.mass = Some(mass);
        let metres = setup.world.metres_per_unit;
        body.inertia = limb.moment.map(|m| [rounded(m * mass * metres * metres, 4); 3]);
        if let Some(parent) = limb.parent {
            body.guide.space = Space::Parent;
            body.guide.follow = Parts::Orientation;
            body.guide.parent = limb.beside.then(|| reference(&figure.limbs[parent]));
        }
        if let Some(tone) = limb.tone {
            body.actuator.frequency = Some(rounded(tone.frequency_hz, 3).into());
            body.actuator.damping = Some(tone.damping.into());
            body.actuator.keep_up = Some(tone.keep_up.into());
            body.actuator.anticipation = Some(tone.anticipation.into());
            body.actuator.stance = tone.stance.then_some(true);
        }
        let strength = firmness(chain);
        let carries = limb.carries.max(stands_on(limb, figure, setup.world.metres_per_unit, strength));
        body.actuator.carries = Some(rounded(carries, 3)).filter(|c| *c > 1.0);
        let preset = super::Preset::default().values();
        let turns = turned_by(limb, metres);
        body.actuator.max_torque =
            strong_enough(limb.fastest / turns, strength, &preset.max_torque, limb.widened);
        if limb.parent.is_none() {
            // It bears its own weight, too.
            let weights = 1.0 + limb.thrown * metres / 9.81;
            body.actuator.max_force = strong_enough(weights, strength, &preset.max_force, 1.0);
        }
        body.groups.push(chain.name.clone());
        if limb.parent.is_none() {
            body.groups.push(roots[limb.figure.min(roots.len() - 1)].clone());
            body.hit = Some(super::Hit::default());
        }
        body.contact.layers.push(chain.name.clone());
        body.contact.passes.clone_from(&chain.near);
        body.contact.friction = limb.drags.then_some(0.0);
        body.pins = limb.still.iter().map(|s| pin(*s, start)).collect();
        body.contact.floor = limb.floor.map(|height| rounded(height, 4));
        setup.bodies.push(body);
        let Some(parent) = limb.parent.map(|p| &figure.limbs[p]) else { continue };
        let mut joint = Joint::new(JointKind::Universal, [&reference(parent), &reference(limb)]);
        joint.keyed_anchor = limb.slides;
        if let Some(room) = &limb.room {
            let seen = pose.placement(parent.node).to(&pose.placement(limb.node)).position;
            let frame = |position: DVec3, rotation: DQuat| JointFrame {
                position: position.to_array(),
                rotation: rotation.to_array().map(|v| rounded(v, 6)),
            };
            joint.frames = Some([frame(seen, room.on_parent), frame(DVec3::ZERO, room.on_limb)]);
            let cone = room.swing_deg.map(f64::round);
            joint.swing_deg = Some(super::Swing { cone: Some(cone), ..super::Swing::default() });
            let limits = room.twist_deg.map(f64::round);
            joint.turn_deg = Some(super::Direction { limits: Some(limits), ..super::Direction::default() });
        }
        setup.joints.push(joint);
    }
}

/// How strong the muscles of a chain are, beside their tone.
fn firmness(chain: &Chain) -> f64 {
    if chain.loose { LOOSE } else { 1.0 }
}

/// The groups of what leads each figure: how strongly it is held in the world.
fn roots(figure: &Character) -> Vec<String> {
    let mut names: Vec<String> = match figure.names.is_empty() {
        true => vec!["root".into()],
        false => figure.names.iter().map(|n| format!("{n} root")).collect(),
    };
    for name in &mut names {
        while figure.chains.iter().any(|c| c.name == *name) {
            name.push_str(" bone");
        }
    }
    names
}

/// A pin for the time (s from the clip's first moment) in which a limb is held still.
fn pin(still: [f64; 2], start: f64) -> Pin {
    let [from, to] = still.map(|s| ((start + s) * 1e4).round() / 1e4);
    Pin::new(from, to)
}

/// How hard one weight at the radius turns a limb, as limits are counted, rad/s^2.
fn turned_by(limb: &Limb, metres_per_unit: f64) -> f64 {
    let own = limb.form.mass_properties();
    let inertia = limb.moment.map_or_else(|| own.principal().0.max_element(), |m| m * own.mass);
    own.mass * (9.81 / metres_per_unit) * own.radius / inertia
}

/// A limit, in weights, that is enough for what the clip asks for, and so many times the preset's; `None` where that is.
fn strong_enough(weights: f64, strength: f64, preset: &Limit, times: f64) -> Option<Limit> {
    let Limit::Weights(preset) = preset else { return None };
    let needed = (SPARE * weights / strength).max(times * preset.first());
    (needed.is_finite() && needed > preset.first()).then(|| Limit::Weights(rounded(needed, 2).into()))
}

/// By which angle an ankle gives way when the whole figure stands on the tip of its foot, rad.
const GIVES_RAD: f64 = 0.2;

/// How many times its own inertia a foot has to move so that its muscle holds the figure: it turns what stands on it, not
/// itself. 0 for what does not touch the ground.
fn stands_on(limb: &Limb, figure: &Character, metres_per_unit: f64, strength: f64) -> f64 {
    // Nor does what is held in a hand, however far down it reaches.
    if limb.form.hull.is_none() || limb.tone.is_some_and(|t| !t.stance) {
        return 0.0;
    }
    let own = limb.form.mass_properties();
    let inertia = limb.mass * limb.moment.unwrap_or_else(|| own.principal().0.max_element() / own.mass);
    let preset = super::Preset::default().values();
    let per_s2 = match limb.tone {
        Some(tone) => (std::f64::consts::TAU * tone.frequency_hz).powi(2),
        None => 2.0 * preset.alpha.first() / preset.relaxation_time.first().powi(2),
    };
    let whole: f64 = figure.limbs.iter().filter(|l| l.figure == limb.figure).map(|l| l.mass).sum();
    let torque = whole * (9.81 / metres_per_unit) * own.radius;
    torque / (GIVES_RAD * inertia * per_s2 * strength)
}

/// The shape of a limb in the axes of its node.
fn shape(form: &Form) -> Shape {
    if form.hull.is_some() {
        return Shape::Hull {};
    }
    let size = |v: f64| Some(rounded(v, 4));
    let shape = match form.kind {
        Kind::Sphere(r) => Shape::Sphere { radius: size(r) },
        Kind::Box(s) => Shape::Box { size: Some(s.to_array().map(|v| rounded(v, 4))) },
        Kind::Capsule(_, r, l) | Kind::Cylinder(_, r, l) | Kind::Cone(_, r, l) => {
            Shape::Capsule { radius: size(r), length: size(l.abs()) }
        }
    };
    let Placement { position, rotation } = form.at;
    let extent = form.volume().cbrt();
    let at = position.to_array().map(|v| (v / extent * 1e4).round() * extent / 1e4).map(|v| rounded(v, 5));
    let turn_deg = angles(rotation).map(|v| (v * 10.0).round() / 10.0 + 0.0); // no -0
    Shape::Compound { parts: vec![Part { shape, at, turn_deg }] }
}

/// Degrees about x, then y, then z.
fn angles(q: DQuat) -> [f64; 3] {
    let m = glam::DMat3::from_quat(rotation::renormalize(q));
    let y = libm::asin((-m.x_axis.z).clamp(-1.0, 1.0));
    let (x, z) = match m.x_axis.z.abs() < 1.0 - 1e-9 {
        true => (libm::atan2(m.y_axis.z, m.z_axis.z), libm::atan2(m.x_axis.y, m.x_axis.x)),
        false => (libm::atan2(-m.z_axis.y, m.y_axis.y), 0.0),
    };
    [x, y, z].map(f64::to_degrees)
}

/// Rounded to so many digits, so that a set-up can be read.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    if unit.is_finite() && unit > 0.0 { (value * unit).round() / unit } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_turn_as_a_set_up_reads_them() {
        for turn in
            [DVec3::new(0.3, -1.1, 2.0), DVec3::new(0.0, std::f64::consts::FRAC_PI_2, 0.0), DVec3::ZERO]
        {
            let q = rotation::exp(turn);
            let [x, y, z] = angles(q).map(f64::to_radians);
            let about = |axis: DVec3, angle: f64| rotation::exp(axis * angle);
            let read = about(DVec3::Z, z) * about(DVec3::Y, y) * about(DVec3::X, x);
            assert!(rotation::distance(q, read) < 1e-6, "{turn}: {x} {y} {z}");
        }
    }

    #[test]
    fn numbers_are_rounded_to_digits() {
        assert_eq!(rounded(123.456, 4), 123.5);
        assert_eq!(rounded(-0.001_234_5, 3), -0.001_23);
        assert_eq!(rounded(0.0, 3), 0.0);
    }
}
