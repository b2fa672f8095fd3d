//! Colliders of a set-up, compiled: shapes become pieces on what carries them, layers become bits.

use super::compile::Compiler;
use super::form::{Form, Maker, Piece};
use super::mass::{own_mesh, reach};
use super::{Carrier, Coating, Collider, Colliders, Material};
use crate::scene::Placement;
use crate::setup::{self, Behaviour, Body, Contact, Setup, SetupError, Shape, nearest};
use crate::shape::Geometry;
use glam::DVec3;
use std::collections::HashMap;
use std::f64::consts::PI;

/// Layers that a set-up can name: one bit each, and one for what is in none.
const MOST_LAYERS: usize = 63;
pub(super) const NO_LAYER: u64 = 1 << MOST_LAYERS;

/// Coordinates beyond this many units have too few digits left for contact.
const FAR: f64 = 1e8;

/// Forms of meshes that many nodes show: by mesh, stretch, shape, and whether it is an obstacle.
type Known = HashMap<(usize, [u64; 9], u8, bool), Form>;

/// What a node touches with: pieces in the frames of what carries them, and in words how they were found.
pub(super) struct Carried {
    pub(super) how: String,
    pub(super) pieces: Vec<(Carrier, Piece)>,
}

/// How the collider of a node was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColliderNote {
    /// The node.
    pub node: usize,
    /// In words.
    pub how: String,
}

impl Compiler<'_> {
    /// Compiles every collider of the set-up; `bodies`: set-up body by node.
    pub(super) fn colliders(
        &mut self,
        bodies: &HashMap<usize, usize>,
    ) -> Result<(Colliders, Vec<ColliderNote>), SetupError> {
        let setup = self.setup;
        let layers = layers(setup)?;
        let mut order: Vec<(usize, usize)> = bodies.iter().map(|(&node, &b)| (b, node)).collect();
        order.sort_unstable();
        let (mut all, mut notes, mut known) = (Vec::new(), Vec::new(), Known::new());
        for (b, node) in order {
            let body = &setup.bodies[b];
            let place = format!("bodies[{b}] {}", self.scene.label(node));
            let material = self.material(&body.contact, &place)?;
            let bits = bits(&body.contact, &layers, &place)?;
            let coating = body.contact.coating.as_ref();
            if let Some(coating) = coating {
                check_coating(coating, &format!("{place}.contact.coating"))?;
            }
            let collides = body
                .contact
                .collide
                .unwrap_or_else(|| has_shape(self.scene, node, &body.shape, !self.skin(node).is_empty()))
                || body.contact.collide.is_none() && self.is_shown_by_bones(node, body);
            if !(setup.world.collisions && collides) {
                if body.behaviour == Behaviour::Static && !collides && body.contact.collide.is_none() {
                    self.warnings.push(format!("{place} is static and has no shape: nothing touches it"));
                }
                continue;
            }
            let Carried { how, mut pieces } = match self.deforming(node, body, &place)? {
                Some(deforming) => deforming,
                None => self.rigid(node, body, &place, &mut known)?,
            };
            pieces.retain(|(_, p)| p.size > 0.0);
            if pieces.is_empty() {
                self.warnings.push(format!(
                    "{place} touches nothing: its mesh has no extent, or no triangle with an area; give it a shape with a size"
                ));
                continue;
            }
            notes.push(ColliderNote { node, how });
            for (carrier, piece) in pieces {
                all.push(Collider {
                    node,
                    name: self.scene.reference(&self.names, node),
                    carrier,
                    place: piece.at,
                    coating: coating.map(|c| self.coating(c, &piece, carrier, body)),
                    geometry: piece.geometry,
                    material,
                    size: piece.size,
                    member: bits.0,
                    touches: bits.1,
                });
            }
        }
        let mut floors = self.floors(bodies)?;
        all.append(&mut floors.all);
        let mut colliders = Colliders { all, ..Colliders::default() };
        self.keep_apart(&mut colliders, &floors, bodies)?;
        Ok((colliders, notes))
    }

    /// The pieces of a thing that keeps its shape.
    fn rigid(
        &mut self,
        node: usize,
        body: &Body,
        place: &str,
        known: &mut Known,
    ) -> Result<Carried, SetupError> {
        let (carrier, from) = self.carrier(node, body, place);
        let obstacle = !matches!(carrier, Carrier::Solid(_));
        let Form { how, pieces } = self.form(node, &body.shape, obstacle, place, known)?;
        let placed = |p: Piece| (carrier, Piece { at: from.then(&p.at), ..p });
        Ok(Carried { how, pieces: pieces.into_iter().map(placed).collect() })
    }

    /// What a body is fixed to, and where its node is in that frame.
    fn carrier(&mut self, node: usize, body: &Body, place: &str) -> (Carrier, Placement) {
        let pose = self.pose;
        let here = pose.placement(node);
        let ancestors = std::iter::successors(Some(node), |&p| self.scene.nodes[p].parent);
        if let Some(s) = ancestors.into_iter().find_map(|p| self.solid_of_node.get(&p).copied()) {
            let solid = &self.solids[s];
            if solid.node == node {
                return (Carrier::Solid(s), solid.offset.to(&Placement::IDENTITY));
            }
            if !pose.breaks_below(Some(solid.node), node).0.is_empty() {
                self.warnings.push(format!(
                    "{place} moves on {}, but touches as if it stayed where it is at the first frame; guide it, if it matters",
                    solid.label
                ));
            }
            return (Carrier::Solid(s), pose.placement(solid.node).then(&solid.offset).to(&here));
        }
        let moves = !pose.breaks(node).0.is_empty();
        if moves && body.behaviour == Behaviour::Animated {
            let path = self.path(node, move |t| pose.placement_at(node, t));
            return (Carrier::Keys(path), Placement::IDENTITY);
        }
        if moves {
            self.warnings.push(format!(
                "{place} is static, but has keys: it is seen to move, and touches where it is at the first frame; take \"animated\""
            ));
        }
        self.standing(Some(node), here)
    }

    /// What stands somewhere in the world: it goes by, where the simulation is carried along.
    pub(super) fn standing(&mut self, node: Option<usize>, here: Placement) -> (Carrier, Placement) {
        match self.vessel.as_ref().map(|v| v.0) {
            None => (Carrier::World, here),
            Some(carrier) => {
                let path = self.path(node.unwrap_or(carrier), move |_| here);
                (Carrier::Keys(path), Placement::IDENTITY)
            }
        }
    }

    fn form(
        &self,
        node: usize,
        wanted: &Shape,
        obstacle: bool,
        place: &str,
        known: &mut Known,
    ) -> Result<Form, SetupError> {
        let reach = reach(self.scene, self.pose, &self.children, node);
        let maker =
            Maker { scene: self.scene, pose: self.pose, node, obstacle, place, reach, skin: self.skin(node) };
        let kind = match wanted {
            Shape::Auto {} => 0,
            Shape::Mesh {} => 1,
            Shape::Hull {} => 2,
            Shape::Parts {} => 3,
            _ => return maker.form(wanted),
        };
        let Some(mesh) = self.scene.nodes[node].mesh.filter(|_| own_mesh(self.scene, node).is_some()) else {
            return maker.form(wanted);
        };
        let stretch = self.pose.stretch(node).to_cols_array().map(f64::to_bits);
        let key = (mesh, stretch, kind, obstacle);
        if let Some(form) = known.get(&key) {
            return Ok(form.clone());
        }
        let form = maker.form(wanted)?;
        known.insert(key, form.clone());
        Ok(form)
    }

    pub(super) fn material(&self, contact: &Contact, place: &str) -> Result<Material, SetupError> {
        let at_least = |name: &str, v: f64, least: f64| match v.is_finite() && v >= least {
            true => Ok(v),
            false => Err(SetupError::new(
                format!("{place}.contact.{name}"),
                match least == 0.0 {
                    true => format!("{v} is out of range; give 0 or more"),
                    false => {
                        format!("{v} is less than the friction of what slides, {least}; give as much or more")
                    }
                },
            )),
        };
        let friction = at_least("friction", contact.friction.unwrap_or(0.5), 0.0)?;
        let grip = at_least("grip", contact.grip.unwrap_or(friction), friction)?;
        let bounce = contact.bounce.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&bounce) {
            return Err(SetupError::new(
                format!("{place}.contact.bounce"),
                format!("{bounce} is out of range; give 0 to 1"),
            ));
        }
        let rolling = at_least("rolling", contact.rolling.unwrap_or(0.0), 0.0)? / self.mpu;
        Ok(Material { friction, grip, bounce, rolling })
    }

    // Inlined, it would look at a coating before knowing that there is one; memory checkers do not like that.
    #[inline(never)]
    fn coating(&self, wanted: &setup::Coating, piece: &Piece, carrier: Carrier, body: &Body) -> Coating {
        let size = if piece.size.is_finite() { piece.size } else { 1.0 / self.mpu };
        let thickness = wanted.thickness.unwrap_or(0.2 * size);
        let mass = match carrier {
            Carrier::Solid(s) => self.solids[s].mass,
            // Nothing carries its weight: as stiff as a cube of its smallest extent.
            _ => body.density.unwrap_or(1000.0) * (size * self.mpu).powi(3),
        };
        let stiffness = match wanted.stiffness {
            Some(given) => given * self.mpu * self.mpu,
            None => {
                let weight = mass * 9.81 / self.mpu;
                let depth = 0.05 * thickness;
                // The integral of the depth over what is pressed in by a flat floor.
                let pressed = match &piece.geometry {
                    Geometry::Ball(b) => PI * b.radius * depth * depth,
                    Geometry::Capsule(c) => {
                        let length = (c.segment.b - c.segment.a).length();
                        let side = 4.0 / 3.0 * (2.0 * c.radius * depth).sqrt() * depth * length;
                        PI * c.radius * depth * depth + side
                    }
                    _ => {
                        let radius = match carrier {
                            Carrier::Solid(s) => self.solids[s].radius,
                            _ => size / 2.0,
                        };
                        PI * radius * radius * depth
                    }
                };
                weight / pressed
            }
        };
        Coating { thickness, stiffness, damping: wanted.damping.unwrap_or(0.3) }
    }

    /// Warns of colliders whose coordinates are too large for contact.
    pub(super) fn check_far(&mut self, node: usize, corner: DVec3) {
        if corner.abs().max_element() > FAR {
            self.warnings.push(format!(
                "{} is further than {FAR:e} units from the origin, where contact has no digits left; move the scene",
                self.scene.label(node)
            ));
        }
    }
}

/// Whether a shape can be told from the node or from what is given.
fn has_shape(scene: &crate::scene::Scene, node: usize, shape: &Shape, is_bone: bool) -> bool {
    let given = match shape {
        Shape::Box { size } => size.is_some(),
        Shape::Sphere { radius } => radius.is_some(),
        Shape::Capsule { radius, length }
        | Shape::Cylinder { radius, length }
        | Shape::Cone { radius, length } => radius.is_some() && length.is_some(),
        Shape::Plane {} | Shape::Compound { .. } => true,
        Shape::HeightField { heights, .. } => !heights.is_empty(),
        Shape::Hull {} => is_bone,
        Shape::Auto {} | Shape::Mesh {} | Shape::Parts {} => false,
    };
    given || own_mesh(scene, node).is_some()
}

/// Every layer that a body is in, in the order of the set-up.
fn layers(setup: &Setup) -> Result<Vec<&str>, SetupError> {
    let mut layers: Vec<&str> = Vec::new();
    for name in setup.bodies.iter().flat_map(|b| &b.contact.layers) {
        if !layers.contains(&name.as_str()) {
            layers.push(name);
        }
    }
    match layers.len() <= MOST_LAYERS {
        true => Ok(layers),
        false => Err(SetupError::new(
            "bodies.contact.layers",
            format!("there are {} layers, and no more than {MOST_LAYERS} can be told apart", layers.len()),
        )),
    }
}

/// The layers a body is in and those it touches, as bits.
fn bits(contact: &Contact, layers: &[&str], place: &str) -> Result<(u64, u64), SetupError> {
    let bit = |name: &String| layers.iter().position(|l| l == name).map(|i| 1_u64 << i);
    let member = contact.layers.iter().filter_map(bit).fold(0, |all, b| all | b);
    let all_of = |names: &[String], field: &str| {
        let mut bits = 0;
        for name in names {
            let Some(bit) = bit(name) else {
                let remedy = nearest(name, layers.iter().copied())
                    .map_or("put something in it, or remove it".into(), |m| format!("did you mean \"{m}\"?"));
                return Err(SetupError::new(
                    format!("{place}.contact.{field}"),
                    format!("nothing is in a layer \"{name}\"; {remedy}"),
                ));
            };
            bits |= bit;
        }
        Ok(bits)
    };
    let mut touches = match &contact.touches {
        Some(names) => all_of(names, "touches")?,
        None => u64::MAX,
    };
    touches &= !all_of(&contact.passes, "passes")?;
    Ok((if member == 0 { NO_LAYER } else { member }, touches))
}

fn check_coating(coating: &setup::Coating, place: &str) -> Result<(), SetupError> {
    for (name, value) in [("thickness", coating.thickness), ("stiffness", coating.stiffness)] {
        if let Some(v) = value.filter(|v| !(v.is_finite() && *v > 0.0)) {
            return Err(SetupError::new(format!("{place}.{name}"), format!("{v} must be above 0")));
        }
    }
    match coating.damping.filter(|d| !(0.0..=1.0).contains(d)) {
        Some(d) => {
            Err(SetupError::new(format!("{place}.damping"), format!("{d} is out of range; give 0 to 1")))
        }
        None => Ok(()),
    }
}
