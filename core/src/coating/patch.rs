//! The surface between two colliders, cut into spots.
//!
//! Along the common normal n the two overlap by some depth at each place of the plane across it. Layers that know
//! nothing of each other share the depth: `kA dA = kB dB`, so the pressure is `depth kA kB / (kA + kB)`. A spot is a
//! point of a quadrature over that plane: a piece of area, its depth, and its place on the surface that both have
//! given way to. The sum over spots of stiffness times area times depth is the integral of the pressure, which is the
//! combined stiffness times the volume that the two share; it changes smoothly as they move, and so does its moment.

use super::{polygon, share, slices, stiffness};
use crate::rig::Collider;
use crate::scene::Placement;
use glam::DVec3;

/// A piece of the surface between two colliders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// On the surface that both give way to, world.
    pub point: DVec3,
    /// Unit vector from the first collider to the second.
    pub normal: DVec3,
    /// How far the two overlap there along the normal, scene units.
    pub depth: f64,
    /// Of the plane across the normal, square units.
    pub area: f64,
    /// Pressure per depth of both together, kg / (unit s)^2 per unit; infinite where neither has a coating.
    pub stiffness: f64,
    /// Share of critical damping of both together, 0 to 1.
    pub damping: f64,
    /// The depth at which one of the coatings is used up and it gets hard, scene units.
    pub hard: f64,
}

impl Spot {
    /// With which it pushes them apart, kg unit/s^2.
    pub fn force(&self) -> f64 {
        self.stiffness * self.area * self.depth
    }
}

/// Two coatings as one.
pub(super) struct Layers {
    stiffness: f64,
    damping: f64,
    hard: f64,
    /// How much of the depth the first one gives way.
    share: f64,
}

impl Layers {
    pub fn new(a: &Collider, b: &Collider) -> Layers {
        let (ka, kb) = (stiffness(a), stiffness(b));
        let (of_a, of_b) = (share(ka, kb), share(kb, ka));
        let used_up = |c: &Collider, share: f64| c.coating.map(|c| c.thickness / share);
        Layers {
            stiffness: if ka.is_finite() { ka * of_a } else { kb },
            // Each is damped for its part of the motion.
            damping: a.coating.map_or(0.0, |c| c.damping * of_a)
                + b.coating.map_or(0.0, |c| c.damping * of_b),
            hard: used_up(a, of_a).into_iter().chain(used_up(b, of_b)).fold(f64::INFINITY, f64::min),
            share: of_a,
        }
    }

    /// A spot where `surface` is on the first collider's undeformed surface.
    pub fn spot(&self, surface: DVec3, normal: DVec3, depth: f64, area: f64) -> Spot {
        let Layers { stiffness, damping, hard, share } = *self;
        Spot { point: surface - normal * (depth * share), normal, depth, area, stiffness, damping, hard }
    }
}

/// Appends the spots of two colliders at these poses; none when they do not overlap. At least one of them is coated.
///
/// Exact for boxes on boxes and on planes. Elsewhere a quadrature that is good to a few thousandths for round shapes,
/// and to a few hundredths where edges run across the contact. Always the same spots for the same poses.
pub fn patch(a: &Collider, pose_a: &Placement, b: &Collider, pose_b: &Placement, out: &mut Vec<Spot>) {
    let layers = Layers::new(a, b);
    if !polygon::spots((a, pose_a), (b, pose_b), &layers, out) {
        slices::spots((a, pose_a), (b, pose_b), &layers, out);
    }
}

/// What the spots do to the second collider: force, and moment about a point of the world.
pub fn force(spots: &[Spot], about: DVec3) -> (DVec3, DVec3) {
    spots.iter().fold((DVec3::ZERO, DVec3::ZERO), |(force, moment), s| {
        let f = s.normal * s.force();
        (force + f, moment + (s.point - about).cross(f))
    })
}
