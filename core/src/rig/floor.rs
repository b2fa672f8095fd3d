//! Floors without end: the world's, and those of bodies that have one of their own.

use super::Collider;
use super::compile::Compiler;
use super::touch::NO_LAYER;
use crate::scene::Placement;
use crate::setup::{Contact, SetupError};
use crate::shape::Geometry;
use glam::DVec3;
use std::collections::{BTreeSet, HashMap};

/// The floors of a set-up, and which nodes stand on one of their own.
#[derive(Default)]
pub(super) struct Floors {
    pub(super) all: Vec<Collider>,
    /// Nodes with the numbers of their own floors.
    own: Vec<(usize, usize)>,
}

impl Compiler<'_> {
    /// Makes the floors. They have numbers beyond all nodes, the world's the first of these; `bodies`: set-up body by node.
    pub(super) fn floors(&mut self, bodies: &HashMap<usize, usize>) -> Result<Floors, SetupError> {
        let (mut floors, first) = (Floors::default(), self.scene.nodes.len());
        if !self.setup.world.collisions {
            return Ok(floors);
        }
        if let Some(height) = self.setup.world.floor {
            floors.all.push(self.floor(height, first, "world.floor")?);
        }
        let mut order: Vec<(usize, usize)> = bodies.iter().map(|(&node, &b)| (b, node)).collect();
        order.sort_unstable();
        for (b, node) in order {
            let Some(height) = self.setup.bodies[b].contact.floor else { continue };
            let number = first + 1 + floors.own.len();
            let place = format!("bodies[{b}] {}.contact.floor", self.scene.label(node));
            floors.all.push(self.floor(height, number, &place)?);
            floors.own.push((node, number));
        }
        Ok(floors)
    }

    fn floor(&mut self, height: f64, number: usize, place: &str) -> Result<Collider, SetupError> {
        if !height.is_finite() {
            return Err(SetupError::new(place, format!("{height} is no height; give a finite number")));
        }
        let at = Placement { position: DVec3::Y * height, ..Placement::IDENTITY };
        let (carrier, at) = self.standing(None, at);
        Ok(Collider {
            node: number,
            name: "floor".into(),
            carrier,
            place: at,
            geometry: Geometry::half_space(),
            material: self.material(&Contact::default(), place)?,
            size: f64::INFINITY,
            member: NO_LAYER,
            touches: u64::MAX,
            coating: None,
        })
    }
}

impl Floors {
    /// Keeps everything from the floors of others, of `nodes` that touch, and what has its own from the world's.
    pub(super) fn keep_apart(
        &self,
        world: usize,
        nodes: &BTreeSet<usize>,
        pairs: &mut BTreeSet<(usize, usize)>,
    ) {
        for &(node, floor) in &self.own {
            pairs.insert((node, world));
            let others = nodes.iter().copied().filter(|n| *n != node && *n < world);
            pairs.extend(others.map(|other| (other, floor)));
        }
    }
}
