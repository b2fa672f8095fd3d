//! Angles between the two frames of a joint, and how they change as bodies turn.

use glam::{DMat3, DVec3};

/// Main axes that point apart swing round at any rate; beyond this one (about 2.9 rad) it is taken for this one.
const FASTEST_SWING: f64 = 12.0;

/// The smallest turn that brings the main axis of `a` to that of `b`, as rotations about the other two axes of `a`, and
/// for each how it changes per angular velocity of `b` against `a`.
///
/// About the axis of the turn the angle grows as one turns; across it, the axis itself swings round.
pub(super) fn tilt(a: &DMat3, b: &DMat3) -> ([f64; 2], [DVec3; 2]) {
    let main = b.x_axis;
    let (cosine, sine) = (a.x_axis.dot(main), a.x_axis.cross(main));
    let length = sine.length();
    let angle = libm::atan2(length, cosine);
    // Any axis across when they point apart.
    let vector = match length > 1e-12 {
        true => sine * (angle / length),
        false if cosine < 0.0 => a.y_axis * angle,
        false => DVec3::ZERO,
    };
    let about = if length > 1e-12 { sine / length } else { a.y_axis };
    let across = about.cross(a.x_axis);
    let swing = if length > 1e-6 { (angle / length).min(FASTEST_SWING) } else { 1.0 };
    let swung = (across * cosine - a.x_axis * length) * swing;
    let row = |direction: DVec3| about * about.dot(direction) + swung * across.dot(direction);
    ([vector.dot(a.y_axis), vector.dot(a.z_axis)], [row(a.y_axis), row(a.z_axis)])
}

/// The turn of `b` against `a` about the main axis (rad, within half a turn), whatever the tilt, and how it changes per
/// angular velocity of `b` against `a`.
pub(super) fn turn(a: &DMat3, b: &DMat3) -> (f64, DVec3) {
    let sine = a.z_axis.dot(b.y_axis) - a.y_axis.dot(b.z_axis);
    let cosine = a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis);
    let open = (1.0 + a.x_axis.dot(b.x_axis)).max(0.1);
    (libm::atan2(sine, cosine), (a.x_axis + b.x_axis) / open)
}

/// `angle` brought within half a turn of `near`.
pub(super) fn nearest_turn(angle: f64, near: f64) -> f64 {
    let whole = 2.0 * std::f64::consts::PI;
    angle - whole * ((angle - near) / whole).round()
}
