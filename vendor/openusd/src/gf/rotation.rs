//! `GfRotation` — a rotation as an axis and an angle in degrees.

use super::{MIN_VECTOR_LENGTH, Quatd, Vec3d};

/// A rotation of `angle` degrees about a unit `axis` (C++ `GfRotation`).
///
/// A matrix made with [`Matrix4d::from_quat`](super::Matrix4d::from_quat) of
/// [`quat`](Self::quat) is the one C++ `GfMatrix4d(rotation, translate)`
/// makes. The arithmetic follows C++ operation for operation, for a
/// quaternion of any length. `acos`, `sin` and `cos` come from the platform's
/// math library, so a result can differ from C++'s in its last bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    axis: Vec3d,
    angle: f64,
}

impl Rotation {
    /// The rotation of zero degrees about X.
    pub const IDENTITY: Rotation = Rotation {
        axis: Vec3d { x: 1.0, y: 0.0, z: 0.0 },
        angle: 0.0,
    };

    /// The rotation of `degrees` about `axis` (C++ `SetAxisAngle`). The axis
    /// is normalized unless its squared length is within `1e-10` of one; an
    /// axis shorter than [`MIN_VECTOR_LENGTH`] is divided by that length
    /// instead of its own, as C++ `GfVec3d::Normalize` does.
    pub fn new(axis: Vec3d, degrees: f64) -> Self {
        let length_sq = axis.dot(axis);
        let axis = match (length_sq - 1.0).abs() < 1e-10 {
            true => axis,
            false => axis * (1.0 / length_sq.sqrt().max(MIN_VECTOR_LENGTH)),
        };
        Self { axis, angle: degrees }
    }

    /// The rotation a quaternion describes (C++ `SetQuat`).
    ///
    /// The angle is `2·acos(w)`, with `w` clamped to `[-1, 1]`, and the axis
    /// the imaginary part made unit length. The quaternion as a whole is not
    /// normalized, so for one off unit length the real part decides the
    /// angle. A quaternion is the identity when its imaginary part is at
    /// most [`MIN_VECTOR_LENGTH`] long or that length is NaN.
    pub fn from_quat(q: Quatd) -> Self {
        let imaginary = Vec3d { x: q.x, y: q.y, z: q.z };
        let length = imaginary.length();
        if length > MIN_VECTOR_LENGTH {
            let half_angle = q.w.clamp(-1.0, 1.0).acos();
            Self::new(imaginary * (1.0 / length), 2.0 * half_angle.to_degrees())
        } else {
            Self::IDENTITY
        }
    }

    /// The unit axis the rotation turns about.
    pub fn axis(self) -> Vec3d {
        self.axis
    }

    /// The angle of the rotation, in degrees.
    pub fn angle(self) -> f64 {
        self.angle
    }

    /// The rotation undoing this one: the same axis, the negated angle (C++
    /// `GetInverse`).
    pub fn inverse(self) -> Self {
        Self::new(self.axis, -self.angle)
    }

    /// The rotation as a unit quaternion (C++ `GetQuat`).
    pub fn quat(self) -> Quatd {
        let (sin, cos) = (self.angle.to_radians() / 2.0).sin_cos();
        let axis = self.axis * sin;
        Quatd {
            w: cos,
            x: axis.x,
            y: axis.y,
            z: axis.z,
        }
        .normalize()
    }
}

impl Default for Rotation {
    fn default() -> Self {
        Self::IDENTITY
    }
}
