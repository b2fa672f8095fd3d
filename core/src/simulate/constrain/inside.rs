//! Ranges of angles that are far from their ends, told without any arc.
//!
//! Most limbs are, most of the time. Cosines fall by no more than angles grow, so that `cos x - cos most` is at most what
//! is left until the end.

use crate::joint::{Kind, Side};

/// What tells of a range of angles that it is far from its ends.
#[derive(Clone, Copy, Debug, Default)]
pub enum Inside {
    /// No range of angles.
    #[default]
    Unknown,
    /// Cosine of the most that an axis may tilt.
    Cone(f64),
    /// Cosine and sine of the middle of a turn, and cosine of half its range.
    Turn([f64; 3]),
}

impl Inside {
    /// Of a kind of joint.
    pub fn of(kind: Kind) -> Inside {
        let half_turn = std::f64::consts::PI;
        match kind {
            Kind::Cone([y, z]) if y.min(z) < half_turn => Inside::Cone(libm::cos(y.min(z))),
            Kind::Turn { least, most } if most - least < 2.0 * half_turn => {
                let middle = 0.5 * (least + most);
                Inside::Turn([libm::cos(middle), libm::sin(middle), libm::cos(0.5 * (most - least))])
            }
            _ => Inside::Unknown,
        }
    }

    /// How far it is from the nearer end at least, rad, with frames like these; below 0 nothing is told.
    #[inline]
    pub fn least(self, a: &Side, b: &Side) -> f64 {
        let (a, b) = (&a.axes, &b.axes);
        match self {
            Inside::Unknown => -1.0,
            Inside::Cone(most) => a.x_axis.dot(b.x_axis) - most,
            Inside::Turn([cos, sin, most]) => {
                let sine = a.z_axis.dot(b.y_axis) - a.y_axis.dot(b.z_axis);
                let cosine = a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis);
                (cosine * cos + sine * sin) / (sine * sine + cosine * cosine).sqrt().max(1e-300) - most
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{Aim, End, Joint, Measure, Rows};
    use crate::rotation;
    use crate::scene::Placement;
    use glam::DVec3;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_far_inside_is_so_by_its_angles(
            x in -3.0..3.0_f64, y in -2.0..2.0_f64, z in -2.0..2.0_f64,
            tilts in (0.1..3.0_f64, 0.1..3.0_f64), middle in -1.5..1.5_f64, half in 0.05..3.0_f64,
        ) {
            let turned = Placement { position: DVec3::ZERO, rotation: rotation::exp(DVec3::new(x, y, z)) };
            for kind in [Kind::Cone([tilts.0, tilts.1]), Kind::Turn { least: middle - half, most: middle + half }] {
                let joint = Joint::new("", [End::World, End::World], [Placement::IDENTITY; 2], kind);
                let [a, b] = joint.sides(&[Placement::IDENTITY, turned]);
                let error = Rows::between(&joint, &a, &b, &Aim::default(), Measure::Products).error[0];
                let inside = Inside::of(kind).least(&a, &b);
                prop_assert!(inside <= 0.0 || error <= -inside + 1e-12, "{kind:?}: {error} against {inside}");
            }
        }
    }
}
