//! A joint at a moment: how far it is open along each locked direction, and how bodies would have to move to close
//! it (its rows of the Jacobian).
//!
//! Translation rows act at the second origin on both bodies, so that what they do to the two is equal and opposite
//! on one line: corrections neither push nor turn the pair as a whole. For the two rotations across the main axis
//! the error is the angle between the two main axes, which means the same at any angle about them; for three locked
//! rotations it is the rotation vector from the first frame to the second.

use super::{Joint, Kind};
use crate::rotation;
use crate::scene::Placement;
use glam::{DMat3, DVec3};

/// Derivative of one error by the motion of one body: by its velocity, and by its angular velocity (world).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Per unit of velocity.
    pub linear: DVec3,
    /// Per radian per second.
    pub angular: DVec3,
}

/// All rows of one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    /// How many are in use.
    pub count: usize,
    /// How far each is from closed: scene units or radians.
    pub error: [f64; 6],
    /// Derivatives by the first and the second body.
    pub on: [[Row; 6]; 2],
}

impl Default for Rows {
    fn default() -> Self {
        Rows { count: 0, error: [0.0; 6], on: [[Row::default(); 6]; 2] }
    }
}

impl Rows {
    /// The rows of `joint` with its ends (centre of mass and axes) at these placements.
    pub fn new(joint: &Joint, ends: &[Placement; 2]) -> Rows {
        Rows::of(joint.kind, &joint.frames, ends)
    }

    /// As [`Self::new`], for a kind and frames.
    pub fn of(kind: Kind, frames: &[Placement; 2], ends: &[Placement; 2]) -> Rows {
        let [a, b] = [ends[0].then(&frames[0]), ends[1].then(&frames[1])];
        let mut rows = Rows::default();
        match kind {
            Kind::Directions(locked) => rows.directions(locked, ends, &a, &b),
            Kind::Distance { least, most } => rows.distance(least, most, ends, &a, &b),
        }
        rows
    }

    /// Largest opening in scene units, and largest angle (rad).
    pub fn opening(&self, kind: Kind) -> (f64, f64) {
        let translations = match kind {
            Kind::Directions(locked) => locked[..3].iter().filter(|l| **l).count(),
            Kind::Distance { .. } => 1,
        };
        let largest = |errors: &[f64]| errors.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        (
            largest(&self.error[..translations.min(self.count)]),
            largest(&self.error[translations.min(self.count)..self.count]),
        )
    }

    fn push(&mut self, error: f64, on_a: Row, on_b: Row) {
        self.error[self.count] = error;
        self.on[0][self.count] = on_a;
        self.on[1][self.count] = on_b;
        self.count += 1;
    }

    fn directions(&mut self, locked: [bool; 6], ends: &[Placement; 2], a: &Placement, b: &Placement) {
        let axes = DMat3::from_quat(a.rotation);
        let apart = b.position - a.position;
        let levers = [b.position - ends[0].position, b.position - ends[1].position];
        for (k, _) in locked[..3].iter().enumerate().filter(|(_, locked)| **locked) {
            let t = axes.col(k);
            let on_a = Row { linear: -t, angular: -levers[0].cross(t) };
            self.push(t.dot(apart), on_a, Row { linear: t, angular: levers[1].cross(t) });
        }
        match (locked[3], locked[4], locked[5]) {
            (false, false, false) => {}
            (false, true, true) => {
                let main = b.rotation * DVec3::X;
                let (cosine, sine) = (axes.x_axis.dot(main), axes.x_axis.cross(main));
                // The angle along the axis of the smallest turn; any axis across when they point apart.
                let length = sine.length();
                let angle = libm::atan2(length, cosine);
                let vector = match length > 1e-12 {
                    true => sine * (angle / length),
                    false if cosine < 0.0 => axes.y_axis * angle,
                    false => DVec3::ZERO,
                };
                // About the axis of the turn the angle grows as one turns; across it, the axis itself swings round.
                let about = if length > 1e-12 { sine / length } else { axes.y_axis };
                let across = about.cross(axes.x_axis);
                let swing = if length > 1e-6 { (angle / length).min(FASTEST_SWING) } else { 1.0 };
                let swung = (across * cosine - axes.x_axis * length) * swing;
                for direction in [axes.y_axis, axes.z_axis] {
                    let angular = about * about.dot(direction) + swung * across.dot(direction);
                    let row = Row { linear: DVec3::ZERO, angular };
                    self.push(vector.dot(direction), row.negative(), row);
                }
            }
            _ => {
                let vector = rotation::log(b.rotation * a.rotation.conjugate());
                let inverse = inverse_left_jacobian(vector);
                for k in 0..3 {
                    if locked[3 + k] {
                        let direction = axes.col(k);
                        let row = Row { linear: DVec3::ZERO, angular: inverse.transpose() * direction };
                        self.push(vector.dot(direction), row.negative(), row);
                    }
                }
            }
        }
    }

    fn distance(&mut self, least: f64, most: f64, ends: &[Placement; 2], a: &Placement, b: &Placement) {
        let apart = b.position - a.position;
        let length = apart.length();
        let error = match length {
            l if l > most => l - most,
            l if l < least => l - least,
            _ if least == most => 0.0,
            _ => return, // slack
        };
        let n = if length > 1e-12 { apart / length } else { DVec3::X };
        let on_a = Row { linear: -n, angular: -(a.position - ends[0].position).cross(n) };
        self.push(error, on_a, Row { linear: n, angular: (b.position - ends[1].position).cross(n) });
    }
}

impl Row {
    fn negative(self) -> Row {
        Row { linear: -self.linear, angular: -self.angular }
    }
}

/// Main axes that point apart swing round at any rate; beyond this one (about 2.9 rad) it is taken for this one.
const FASTEST_SWING: f64 = 12.0;

/// How the rotation vector `v` of a rotation changes per angular velocity (both in the axes it turns from).
pub(crate) fn inverse_left_jacobian(v: DVec3) -> DMat3 {
    let angle_sq = v.length_squared();
    let cross =
        DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0));
    // 1/a^2 - (1 + cos a) / (2 a sin a), with its series near zero; bounded at the far side of the circle.
    let factor = if angle_sq < 1e-4 {
        1.0 / 12.0 + angle_sq / 720.0
    } else {
        let angle = angle_sq.sqrt().min(3.0);
        let (sin, cos) = libm::sincos(angle);
        1.0 / angle_sq - (1.0 + cos) / (2.0 * angle * sin)
    };
    DMat3::IDENTITY - cross * 0.5 + cross * cross * factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::End;
    use proptest::prelude::*;

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * size)
    }

    fn placement(turn: f64) -> impl Strategy<Value = Placement> {
        (vector(2.0), vector(turn))
            .prop_map(|(position, r)| Placement { position, rotation: rotation::exp(r) })
    }

    const KINDS: [Kind; 9] = [
        Kind::UNIVERSAL,
        Kind::PIN,
        Kind::CYLINDRICAL,
        Kind::PRISMATIC,
        Kind::BALL_SOCKET,
        Kind::SMOOTH_CONTACT,
        Kind::FIXED,
        Kind::PLANE,
        Kind::Distance { least: 0.5, most: 0.5 },
    ];

    fn moved(p: &Placement, v: DVec3, w: DVec3, s: f64) -> Placement {
        Placement { position: p.position + v * s, rotation: rotation::exp(w * s) * p.rotation }
    }

    proptest! {
        #[test]
        fn rows_are_the_derivatives_of_errors(
            a in placement(2.0), b in placement(2.0), fa in placement(0.4), fb in placement(0.4),
            va in vector(1.0), wa in vector(1.0), vb in vector(1.0), wb in vector(1.0), kind in 0..9usize,
        ) {
            // Near the assembled pose for the rotations: the frames differ by up to about a radian.
            let b = Placement { position: b.position, rotation: rotation::exp(vb * 0.2) * a.rotation };
            let joint = Joint {
                name: String::new(), ends: [End::World, End::World], frames: [fa, fb], kind: KINDS[kind],
            };
            let h = 1e-5;
            let at = |s: f64| Rows::new(&joint, &[moved(&a, va, wa, s), moved(&b, vb, wb, s)]);
            let (rows, minus, plus) = (at(0.0), at(-h), at(h));
            for r in 0..rows.count {
                let [ra, rb] = [rows.on[0][r], rows.on[1][r]];
                let predicted = ra.linear.dot(va) + ra.angular.dot(wa) + rb.linear.dot(vb) + rb.angular.dot(wb);
                let measured = (plus.error[r] - minus.error[r]) / (2.0 * h);
                prop_assert!((predicted - measured).abs() < 1e-6, "{:?} row {r}: {predicted} {measured}", KINDS[kind]);
            }
        }
    }

    #[test]
    fn a_hinge_that_has_turned_half_round_is_still_closed() {
        let joint = Joint {
            name: String::new(),
            ends: [End::World, End::World],
            frames: [Placement::IDENTITY; 2],
            kind: Kind::PIN,
        };
        for turn in [0.0, 1.0, std::f64::consts::PI, 4.0, 6.0] {
            let b = Placement { position: DVec3::ZERO, rotation: rotation::exp(DVec3::X * turn) };
            let rows = Rows::new(&joint, &[Placement::IDENTITY, b]);
            assert!(rows.error.iter().all(|e| e.abs() < 1e-12), "{turn}: {:?}", rows.error);
        }
    }

    #[test]
    fn a_rope_is_slack_until_it_is_taut() {
        let joint = Joint {
            name: String::new(),
            ends: [End::World, End::World],
            frames: [Placement::IDENTITY; 2],
            kind: Kind::Distance { least: 0.0, most: 2.0 },
        };
        let at = |x: f64| Placement { position: DVec3::X * x, ..Placement::IDENTITY };
        assert_eq!(Rows::new(&joint, &[at(0.0), at(1.9)]).count, 0);
        assert!((Rows::new(&joint, &[at(0.0), at(2.5)]).error[0] - 0.5).abs() < 1e-15);
    }
}
