//! Y up inside, Y or Z up outside.
//!
//! Both are right-handed, so the change is a turn by a quarter about X that is applied to every frame, the nodes'
//! own included: `(x, y, z)` outside is `(x, z, -y)` inside. It only moves and negates numbers, so going in and
//! out again gives the same bits (but for the sign of a zero).

use crate::result::{Fault, SINEW_OUT_OF_RANGE};
use sinew_core::scene::Property;

/// Y is up, as in glTF. The default.
pub const SINEW_UP_Y: i32 = 0;
/// Z is up, as in Blender.
pub const SINEW_UP_Z: i32 = 1;

/// Which axis of the host is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// As inside.
    #[default]
    Y,
    /// Turned.
    Z,
}

type Turn = fn(Axes, [f64; 3]) -> [f64; 3];

impl Axes {
    /// From the header's number.
    pub(crate) fn new(up_axis: i32) -> Result<Axes, Fault> {
        match up_axis {
            SINEW_UP_Y => Ok(Axes::Y),
            SINEW_UP_Z => Ok(Axes::Z),
            other => {
                let text = format!("up_axis is {other}; use SINEW_UP_Y or SINEW_UP_Z");
                Err(Fault::new(SINEW_OUT_OF_RANGE, text))
            }
        }
    }

    /// A point, a vector, or the vector part of a quaternion, from the host's axes.
    pub(crate) fn inward(self, v: [f64; 3]) -> [f64; 3] {
        match self {
            Axes::Y => v,
            Axes::Z => [v[0], v[2], -v[1]],
        }
    }

    /// The same to the host's axes.
    pub(crate) fn outward(self, v: [f64; 3]) -> [f64; 3] {
        match self {
            Axes::Y => v,
            Axes::Z => [v[0], -v[2], v[1]],
        }
    }

    /// Factors along axes have no sign to change; the same both ways.
    pub(crate) fn scale(self, s: [f64; 3]) -> [f64; 3] {
        match self {
            Axes::Y => s,
            Axes::Z => [s[0], s[2], s[1]],
        }
    }

    /// The numbers of a curve on a property, keys or tangents, from the host's axes.
    pub(crate) fn keys_inward(self, property: Property, numbers: &[f64]) -> Vec<f64> {
        self.keys(property, numbers, Axes::inward)
    }

    /// The same to the host's axes.
    pub(crate) fn keys_outward(self, property: Property, numbers: &[f64]) -> Vec<f64> {
        self.keys(property, numbers, Axes::outward)
    }

    fn keys(self, property: Property, numbers: &[f64], turn: Turn) -> Vec<f64> {
        let mut turned = numbers.to_vec();
        let (width, turn) = match property {
            Property::Translation => (3, turn),
            Property::Rotation => (4, turn),
            Property::Scale => (3, Axes::scale as Turn),
            Property::Weights => return turned,
        };
        for key in turned.chunks_exact_mut(width) {
            let v = turn(self, [key[0], key[1], key[2]]);
            key[..3].copy_from_slice(&v);
        }
        turned
    }

    /// Position xyz and quaternion xyzw of a placement, to the host's axes.
    pub(crate) fn pose(self, placement: &sinew_core::scene::Placement) -> [f64; 7] {
        let p = self.outward(placement.position.to_array());
        let q = placement.rotation;
        let v = self.outward([q.x, q.y, q.z]);
        [p[0], p[1], p[2], v[0], v[1], v[2], q.w]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DQuat, DVec3};

    #[test]
    fn the_change_is_a_turn_that_keeps_handedness_and_puts_z_up() {
        let [x, y, z] =
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|v| DVec3::from_array(Axes::Z.inward(v)));
        assert_eq!(z, DVec3::Y);
        assert_eq!(x.cross(y), z);
    }

    #[test]
    fn turning_a_vector_commutes_with_the_change() {
        let q = DQuat::from_xyzw(0.1, -0.7, 0.3, 0.5).normalize();
        let v = DVec3::new(0.3, 2.0, -1.5);
        let change = |v: DVec3| DVec3::from_array(Axes::Z.inward(v.to_array()));
        let vector = change(DVec3::new(q.x, q.y, q.z));
        let inside = DQuat::from_xyzw(vector.x, vector.y, vector.z, q.w);
        assert!((inside * change(v) - change(q * v)).length() < 1e-15);
    }

    #[test]
    fn out_undoes_in() {
        let keys: Vec<f64> = (0..24).map(|i| f64::from(i) - 7.5).collect();
        for axes in [Axes::Y, Axes::Z] {
            for property in [Property::Translation, Property::Rotation, Property::Scale, Property::Weights] {
                assert_eq!(axes.keys_outward(property, &axes.keys_inward(property, &keys)), keys);
            }
        }
    }
}
