//! Elastic coatings: forces against closed forms, and surfaces that meet.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod baking;
mod forces;
mod mesh;
mod surfaces;

use glam::{DQuat, DVec3};
use sinew_core::rig::{Carrier, Coating, Collider, Material};
use sinew_core::scene::Placement;
use sinew_core::shape::Geometry;

/// Pressure per depth, N/m^3.
pub const STIFFNESS: f64 = 2e4;

/// Something in the world, soft where a stiffness is given.
pub fn collider(geometry: Geometry, stiffness: Option<f64>) -> Collider {
    Collider {
        node: 0,
        name: "thing".into(),
        carrier: Carrier::World,
        place: Placement::IDENTITY,
        geometry,
        material: Material { friction: 0.5, grip: 0.5, bounce: 0.0, rolling: 0.0 },
        size: 1.0,
        member: 1,
        touches: 1,
        coating: stiffness.map(|stiffness| Coating { thickness: 0.3, stiffness, damping: 0.5 }),
    }
}

/// Unturned.
pub fn at(position: DVec3) -> Placement {
    Placement { position, rotation: DQuat::IDENTITY }
}

/// Somewhere.
pub fn turned(position: DVec3, rotation: DQuat) -> Placement {
    Placement { position, rotation }
}
