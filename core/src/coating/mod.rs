//! Elastic coatings (Gascuel 1993): soft skins that press, and give way, where they meet.
//!
//! A coating is a layer of springs that know nothing of each other (Winkler): its pressure is its stiffness times how
//! deep it is pressed in there. With the signed distance d to the shape's surface, below 0 inside, its field is
//! `f = 1 - k d`. Where two coatings overlap both give way to the surface on which the fields are equal; what has no
//! coating is stiff beyond measure and gives way nowhere.
//!
//! [`field`] is the distance and where it grows; [`patch`] cuts the surface between two colliders into a few spots
//! whose forces add up to the pressure's; [`deform`] moves the vertices of a mesh to it, with a bulge around it that
//! keeps the volume.

mod deform;
mod field;
mod line;
mod patch;
mod polygon;
mod slices;

pub use deform::{Placed, deform};
pub use field::{Field, field};
pub use patch::{Spot, force, patch};

use crate::rig::Collider;
use crate::scene::Placement;
use glam::DVec3;

/// Pressure per depth of a collider's coating, infinite without one.
fn stiffness(collider: &Collider) -> f64 {
    collider.coating.map_or(f64::INFINITY, |c| c.stiffness)
}

/// How much of an overlap the first of two layers gives way: the share of the other's stiffness in the sum.
fn share(own: f64, other: f64) -> f64 {
    match (own.is_finite(), other.is_finite()) {
        (true, true) => other / (own + other),
        (true, false) => 1.0,
        (false, true) => 0.0,
        (false, false) => 0.5,
    }
}

/// The field of a collider at `pose`, at a point of the world.
fn field_in_world(collider: &Collider, pose: &Placement, point: DVec3) -> Field {
    let at = field(&collider.geometry, pose.rotation.conjugate() * (point - pose.position));
    Field { gradient: pose.rotation * at.gradient, ..at }
}
