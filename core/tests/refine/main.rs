//! Refinement on problems whose answers are known: closed forms, other solvers' optima, and conservation laws.
#![forbid(unsafe_code)]

mod hop;
mod particle;
mod pendulum;

use glam::{DQuat, DVec3};
use sinew_core::articulation::{Force, JointKind, Link, Mass};
use sinew_core::refine::{Drive, End, Problem};
use sinew_core::rotation;
use sinew_core::scene::Placement;

/// A frame whose first axis is along `axis`.
pub fn along(axis: DVec3, position: DVec3) -> Placement {
    let rotation = match axis {
        DVec3::X => DQuat::IDENTITY,
        DVec3::Y => rotation::exp(DVec3::Z * std::f64::consts::FRAC_PI_2),
        _ => rotation::exp(DVec3::Y * -std::f64::consts::FRAC_PI_2),
    };
    Placement { position, rotation }
}

/// A link that is no body of anybody's.
pub fn link(parent: Option<usize>, kind: JointKind, place: Placement, mass: Option<Mass>) -> Link {
    Link { parent, kind, place, mass, body: None }
}

/// Nothing but a tree's motion from rest to rest.
pub fn bare(
    tree: sinew_core::articulation::Articulation,
    input: Vec<Vec<f64>>,
    step: f64,
    drives: Vec<Drive>,
) -> Problem {
    let rest = End::Moving(vec![Force::default(); tree.links().len()]);
    Problem {
        gravity: DVec3::NEG_Y * 9.81,
        steps: vec![step; input.len() - 1],
        closeness: vec![0.0; tree.freedoms()],
        contacts: vec![Vec::new(); input.len()],
        weight: tree.total_mass() * 9.81,
        ease: 1e-9,
        holds: Vec::new(),
        bounds: Vec::new(),
        keys: Vec::new(),
        price: 1.0,
        ends: [rest.clone(), rest],
        input,
        drives,
        tree,
    }
}
