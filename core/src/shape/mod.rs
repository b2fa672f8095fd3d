//! Mass, centre and inertia of a solid, from a closed mesh exactly or from a primitive fitted to its vertices.
//!
//! Lengths in metres, density in kg/m^3. [`MassProperties`] are about the centre of mass, in the axes of the
//! frame that the vertices were given in; [`MassProperties::principal`] turns them to principal axes, which is
//! the frame that bodies are simulated in.

mod fit;
mod geometry;
mod hull;
mod mesh;
mod outline;
mod parts;
mod pieces;

pub use fit::{Kind, Primitive, fit_box, fit_capsule, fit_cone, fit_cylinder, fit_sphere, tightest};
pub use geometry::Geometry;
pub use hull::{Hull, hull};
pub use mesh::{Closed, closed, of_mesh};
pub use parts::parts;
pub use pieces::{Cut, Moments, RigidPiece, cut};

use glam::{DMat3, DQuat, DVec3};
use nalgebra::{Matrix3, SymmetricEigen};

/// What a rigid body's motion depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// kg.
    pub mass: f64,
    /// Centre of mass, m.
    pub center: DVec3,
    /// Inertia tensor about the centre of mass, kg m^2.
    pub inertia: DMat3,
    /// Radius of a ball of the same volume, m: the size of the thing, for defaults and for wind.
    pub radius: f64,
}

impl MassProperties {
    /// The same shape with another mass.
    pub fn with_mass(self, mass: f64) -> Self {
        MassProperties { mass, inertia: self.inertia * (mass / self.mass), ..self }
    }

    /// The same thing, moved: turned first, then shifted.
    pub fn moved(self, at: DVec3, turn: DQuat) -> Self {
        let r = DMat3::from_quat(turn);
        MassProperties { center: at + turn * self.center, inertia: r * self.inertia * r.transpose(), ..self }
    }

    /// Two things as one.
    pub fn and(self, other: Self) -> Self {
        let mass = self.mass + other.mass;
        let center = (self.center * self.mass + other.center * other.mass) / mass;
        // Steiner: the inertia of a mass at a distance from the axis.
        let about = |m: &MassProperties| {
            let d = m.center - center;
            let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
            m.inertia + (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer) * m.mass
        };
        let cube = |r: f64| r * r * r;
        MassProperties {
            mass,
            center,
            inertia: about(&self) + about(&other),
            radius: libm::cbrt(cube(self.radius) + cube(other.radius)),
        }
    }

    /// Principal moments and the rotation from principal axes to the given ones.
    ///
    /// A diagonal tensor stays as it is, unturned. Of any other each principal axis takes the place of the given axis that it
    /// is nearest to.
    pub fn principal(&self) -> (DVec3, DQuat) {
        let a = self.inertia;
        let size = a.x_axis.length() + a.y_axis.length() + a.z_axis.length();
        let off = a.y_axis.x.abs().max(a.z_axis.x.abs()).max(a.z_axis.y.abs());
        let given = (DVec3::new(a.x_axis.x, a.y_axis.y, a.z_axis.z), DQuat::IDENTITY);
        if off <= 1e-15 * size {
            return given;
        }
        let tensor = Matrix3::from_column_slice(&a.to_cols_array());
        let Some(eigen) = SymmetricEigen::try_new(tensor, f64::EPSILON, MOST_ITERATIONS) else {
            // Only what is no number does not converge.
            return given;
        };
        let mut left: Vec<usize> = vec![0, 1, 2];
        let (mut moments, mut axes) = (DVec3::ZERO, DMat3::ZERO);
        for i in 0..3 {
            let along = |k: usize| eigen.eigenvectors[(i, k)].abs();
            let nearest = (1..left.len()).fold(0, |m, j| if along(left[j]) > along(left[m]) { j } else { m });
            let k = left.swap_remove(nearest);
            let axis = DVec3::from_slice(eigen.eigenvectors.column(k).as_slice());
            moments[i] = eigen.eigenvalues[k];
            *axes.col_mut(i) = if axis[i] < 0.0 { -axis } else { axis };
        }
        if axes.determinant() < 0.0 {
            axes.z_axis = -axes.z_axis;
        }
        (moments, DQuat::from_mat3(&axes).normalize())
    }
}

/// QR iterations for the axes of a small matrix: a handful is the rule.
const MOST_ITERATIONS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::exp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn principal_axes_rebuild_the_tensor(
            x in 0.1..3.0, y in 0.1..3.0, z in 0.1..3.0, a in -3.0..3.0, b in -3.0..3.0, c in -3.0..3.0,
        ) {
            let r = DMat3::from_quat(exp(DVec3::new(a, b, c)));
            let inertia = r * DMat3::from_diagonal(DVec3::new(x, y, z)) * r.transpose();
            let m = MassProperties { mass: 1.0, center: DVec3::ZERO, inertia, radius: 1.0 };
            let (moments, axes) = m.principal();
            let turned = DMat3::from_quat(axes);
            let rebuilt = turned * DMat3::from_diagonal(moments) * turned.transpose();
            let error = (rebuilt - inertia).to_cols_array().iter().fold(0.0_f64, |m, e| m.max(e.abs()));
            prop_assert!(error < 1e-13);
        }
    }

    #[test]
    fn a_diagonal_tensor_is_not_turned() {
        let inertia = DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0));
        let m = MassProperties { mass: 1.0, center: DVec3::ZERO, inertia, radius: 1.0 };
        assert_eq!(m.principal(), (DVec3::new(3.0, 1.0, 2.0), DQuat::IDENTITY));
    }
}
