//! UsdPhysics as a set-up, and back.
//!
//! `facts` reads what the stage says, this module makes bodies of it, `joint` what holds them, `patch` adds what only a
//! set-up can say from the namespace `sinew:`. `write` puts a set-up into a layer.

mod facts;
mod joint;
mod patch;
mod write;

pub(super) use facts::Facts;

use super::mesh::{Solid, along};
use super::{Document, Home};
use crate::gltf::Physics;
use crate::gltf::physics::{Form, Lump, ROUGH, Reader, SECONDS_WITHOUT_KEYS, shape_of};
use facts::{BodyFact, ColliderFact, MaterialFact};
use glam::{DMat3, DQuat, DVec3};
use sinew_core::scene::{Pose, Property};
use sinew_core::setup::{self, Behaviour, Body, Contact, Setup, SetupError, Shape, Wish, choose_clip};
use sinew_core::shape::Kind;
use std::collections::{HashMap, HashSet};

/// A direction's share of a tensor below which it is rounding.
const ROUNDING: f64 = 1e-6;

impl Document {
    /// The physics of the stage as a set-up. `None` when nothing in it is to be moved by physics. A body that the time
    /// samples move is guided, the others are free. Without keys the range is that of the stage, or five seconds.
    pub fn physics(&self, clip: Option<&str>) -> Result<Option<Physics>, SetupError> {
        self.physics_of(&self.physics, clip)
    }

    /// The set-up for the keys and nothing else, in what the stage says of units and time.
    pub fn automatic_with(&self, clip: Option<&str>, wish: &Wish) -> Result<Setup, SetupError> {
        let mut setup = setup::automatic_with(&self.scene, clip, &Wish { unit: Some(1.0), ..*wish })?;
        self.in_time(&mut setup);
        Ok(setup)
    }

    /// The shapes that the stage gives bodies, by what a set-up calls them.
    fn physics_shapes(&self) -> HashMap<String, Shape> {
        let mut facts = self.physics.clone();
        facts.forget();
        let setup = self.physics_of(&facts, None).ok().flatten().map(|p| p.setup).unwrap_or_default();
        setup.bodies.into_iter().map(|b| (b.node, b.shape)).collect()
    }

    /// Whether a node's prim or one above it is a surface.
    fn is_below_surface(&self, node: usize) -> bool {
        let mut above = std::iter::successors(Some(node), |&n| self.scene.nodes[n].parent);
        above.any(|n| matches!(self.homes[n], Home::Prim(_)) && self.scene.nodes[n].mesh.is_some())
    }

    /// Takes frame rate and range from the stage.
    fn in_time(&self, setup: &mut Setup) {
        setup.world.frames_per_second = Some(self.scene.frames_per_second);
        if setup.bake.frames.is_none() {
            setup.bake.frames = self.units.range;
        }
    }

    pub(super) fn physics_of(
        &self,
        facts: &Facts,
        clip: Option<&str>,
    ) -> Result<Option<Physics>, SetupError> {
        let lists = facts.scene.as_ref().is_some_and(|s| !s.bodies.is_empty());
        if !facts.bodies.iter().any(|b| !b.is_kinematic) && !lists {
            return Ok(None);
        }
        let physics = self.physics_said(facts, clip)?;
        Ok(Some(physics).filter(|p| lists || !p.setup.bodies.is_empty()))
    }

    /// The set-up that facts make, be there bodies or not.
    pub(super) fn physics_said(&self, facts: &Facts, clip: Option<&str>) -> Result<Physics, SetupError> {
        let scene = &self.scene;
        let mut setup = setup::automatic(scene, clip)?;
        setup.bodies.clear();
        setup.groups.clear();
        setup.joints.clear();
        setup.world.floor = None;
        setup.world.metres_per_unit = 1.0;
        self.in_time(&mut setup);
        let chosen = choose_clip(scene, setup.clip.as_deref())?.map(|c| c.1);
        let rate = scene.frames_per_second;
        if chosen.is_none() && setup.bake.frames.is_none() {
            setup.bake.frames = Some([0.0, (SECONDS_WITHOUT_KEYS * rate).round()]);
        }
        let start = setup.bake.frames.map(|f| f[0] / rate);
        let start = start.or_else(|| Some((chosen?.range()?.0 * rate + 1e-3).floor() / rate)).unwrap_or(0.0);
        let mut pose = Pose::new(scene, chosen);
        pose.evaluate(start);
        let is_body: HashSet<usize> = facts.bodies.iter().map(|b| b.node).collect();
        let null = serde_json::Value::Null;
        let reader = Reader::new(&null, scene, pose, |node| is_body.contains(&node));
        let keyed = chosen.map(|c| c.keyed()).unwrap_or_default();
        let mut maker = Maker { document: self, facts, reader, keyed, start };
        maker.world(&mut setup);
        maker.bodies(&mut setup);
        maker.contacts(&mut setup);
        setup.joints = maker.joints();
        for (what, path) in &facts.notes {
            maker.reader.notes.add(what, format!("<{path}>"));
        }
        let warnings = maker.reader.notes.finish();
        let setup = patch::apply(self, facts, setup)?;
        Ok(Physics { setup, warnings })
    }
}

/// What is needed to make any part of a set-up.
struct Maker<'a> {
    document: &'a Document,
    facts: &'a Facts,
    reader: Reader<'a>,
    keyed: HashSet<(usize, Property)>,
    /// Time of the first frame, s.
    start: f64,
}

impl Maker<'_> {
    fn note(&mut self, what: &'static str, path: &str) {
        self.reader.notes.add(what, format!("<{path}>"));
    }

    /// Gravity: where the scene does not say, that of the earth, downwards.
    fn world(&mut self, setup: &mut Setup) {
        let units = &self.document.units;
        let scene = self.facts.scene.as_ref();
        let direction = scene.and_then(|s| s.direction).and_then(DVec3::try_normalize);
        let direction = direction.map_or(-DVec3::Y, |d| units.direction(d));
        let size = scene.and_then(|s| s.magnitude).map_or(9.81, |m| m * units.metres);
        // Without minus zeros.
        setup.world.gravity = (direction * size).to_array().map(|v| v + 0.0);
    }

    /// Whether keys move a node or what it is on.
    fn is_moved(&self, node: usize) -> bool {
        let nodes = std::iter::successors(Some(node), |&n| self.reader.parent_of(n));
        nodes.into_iter().any(|n| {
            [Property::Translation, Property::Rotation].into_iter().any(|p| self.keyed.contains(&(n, p)))
        })
    }

    fn bodies(&mut self, setup: &mut Setup) {
        let dynamic: HashMap<usize, &BodyFact> =
            self.facts.bodies.iter().filter(|b| !b.is_kinematic).map(|b| (b.node, b)).collect();
        let mut of_body: HashMap<usize, Vec<&ColliderFact>> = HashMap::new();
        let mut still = Vec::new();
        for collider in &self.facts.colliders {
            match self.reader.owner[collider.node].filter(|owner| dynamic.contains_key(owner)) {
                Some(owner) => of_body.entry(owner).or_default().push(collider),
                None => still.push(collider),
            }
        }
        let mut order: Vec<usize> = dynamic.keys().copied().collect();
        order.sort_unstable();
        for node in order {
            let colliders = of_body.remove(&node).unwrap_or_default();
            let Some(mut body) = self.body(dynamic[&node], &colliders) else { continue };
            let own = [Property::Translation, Property::Rotation];
            let moved = own.into_iter().any(|p| self.keyed.contains(&(node, p)));
            body.behaviour = if moved { Behaviour::Guided } else { Behaviour::Free };
            self.reader.simulated.insert(node);
            setup.bodies.push(body);
        }
        for collider in still {
            let behaviour =
                if self.is_moved(collider.node) { Behaviour::Animated } else { Behaviour::Static };
            setup.bodies.extend(self.obstacle(collider, behaviour));
        }
    }

    /// A body that physics moves.
    fn body(&mut self, fact: &BodyFact, colliders: &[&ColliderFact]) -> Option<Body> {
        let node = fact.node;
        if !self.reader.can_move(node) {
            self.note("a sheared matrix cannot be moved by curves: left as it is", &fact.path);
            return None;
        }
        let units = self.document.units;
        let mut body = Body::new(self.reader.reference(node));
        let mut lumps: Vec<(Lump, &ColliderFact)> = Vec::new();
        for collider in colliders {
            match self.lump(node, collider) {
                Some(lump) if lump.shape == (Shape::Plane {}) => {
                    self.note("a plane on something that moves is left out", &collider.path);
                }
                Some(lump) => lumps.push((lump, collider)),
                None => self.note(
                    "a collider without a shape that is known, or without a size, is left out",
                    &collider.path,
                ),
            }
        }
        for (lump, collider) in &lumps {
            if lump.is_rough {
                self.reader.notes.add(ROUGH, format!("<{}>", collider.path));
            }
        }
        let by_size = |a: &&(Lump, &ColliderFact), b: &&(Lump, &ColliderFact)| {
            a.0.filled.mass.total_cmp(&b.0.filled.mass)
        };
        let largest = lumps.iter().max_by(by_size).map(|l| l.1);
        if let Some(largest) = largest {
            body.contact = contact(largest.material.as_ref());
            if lumps.iter().any(|l| l.1.material != largest.material) {
                self.note("colliders of one body differ in material: that of the largest counts", &fact.path);
            }
            body.shape = shape_of(&lumps.into_iter().map(|l| l.0).collect::<Vec<_>>());
        }
        // Mass: the body's own, else the sum of its colliders', else by density.
        let of_colliders: Vec<f64> = colliders.iter().filter_map(|c| c.mass.mass).collect();
        let sum = (!of_colliders.is_empty() && of_colliders.len() == colliders.len())
            .then(|| of_colliders.iter().sum());
        body.mass = fact.mass.mass.or(sum).map(|m: f64| m * units.kilograms);
        let density = fact
            .mass
            .density
            .or_else(|| largest?.mass.density)
            .or_else(|| largest?.material.as_ref()?.density);
        if body.mass.is_none() {
            body.density = density.map(|d| d * units.kilograms / units.metres.powi(3));
        }
        let frame = self.reader.pose.placement(node);
        let stretch = *self.reader.pose.world(node);
        if let Some(center) = fact.mass.center {
            let stretched = stretch.matrix3 * (center * units.metres);
            body.center = Some((frame.rotation.inverse() * stretched).to_array());
        }
        body.inertia = self.moments(fact);
        let parent =
            self.reader.parent_world(node).map_or_else(|| DMat3::from_quat(units.turn()), |w| w.matrix3);
        body.velocity = fact.velocity.map(|v| (parent * (v * units.metres)).to_array());
        body.spin = fact.spin.map(|v| (rotation_of(&parent) * v.map(f64::to_radians)).to_array());
        Some(body)
    }

    /// Moments of inertia about the node's axes, where a body can have them.
    fn moments(&mut self, fact: &BodyFact) -> Option<[f64; 3]> {
        let units = self.document.units;
        let given = fact.mass.inertia? * units.kilograms * units.metres * units.metres;
        let turn = DMat3::from_quat(fact.mass.axes.unwrap_or(DQuat::IDENTITY));
        let m = turn * DMat3::from_diagonal(given) * turn.transpose();
        let v = DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
        let off = [m.y_axis.x, m.z_axis.x, m.z_axis.y].into_iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        if off > ROUNDING * v.max_element() {
            self.note("principalAxes are left out: only the part about the prim's axes counts", &fact.path);
        }
        let slack = 1e-6 * v.max_element();
        let possible =
            v.min_element() > 0.0 && (0..3).all(|i| v[i] <= v[(i + 1) % 3] + v[(i + 2) % 3] + slack);
        if !possible {
            self.note("diagonalInertia is that of no solid thing: taken from the shape", &fact.path);
        }
        possible.then(|| v.to_array())
    }

    /// A collider in the frame of a body.
    fn lump(&mut self, body: usize, collider: &ColliderFact) -> Option<Lump> {
        let metres = self.document.units.metres;
        let Some((solid, axis)) = collider.solid else {
            let mesh = self.document.scene.nodes[collider.node].mesh?;
            let mut lump = self.reader.lump(body, collider.node, Form::Mesh(mesh, false))?;
            if lump.shape == (Shape::Auto {}) {
                lump.shape = approximated(&collider.approximation, false);
            }
            return Some(lump);
        };
        let form = match solid {
            Solid::Cube(size) => Form::Primitive(Kind::Box(DVec3::splat(size * metres))),
            Solid::Sphere(r) => Form::Primitive(Kind::Sphere(r * metres)),
            Solid::Capsule(r, h) => Form::Primitive(Kind::Capsule(1, r * metres, h * metres)),
            Solid::Cylinder(r, h) => Form::Primitive(Kind::Cylinder(1, r * metres, h * metres)),
            Solid::Cone(r, h) => Form::Primitive(Kind::Cone(1, r * metres, h * metres)),
            Solid::Plane(..) => Form::Plane,
        };
        let turn = DMat3::from_cols(along(axis, DVec3::X), along(axis, DVec3::Y), along(axis, DVec3::Z));
        self.reader.lump_turned(body, collider.node, form, &turn)
    }

    /// A collider that belongs to nothing that physics moves, as a body of its own.
    fn obstacle(&mut self, collider: &ColliderFact, behaviour: Behaviour) -> Option<Body> {
        let node = collider.node;
        let shape = match collider.solid {
            // A plane lies across y in a set-up.
            Some((Solid::Plane(..), 1)) => Shape::Plane {},
            Some((Solid::Plane(..), _)) | None => {
                self.document.scene.nodes[node].mesh?;
                approximated(&collider.approximation, true)
            }
            Some(_) => {
                let Some(lump) = self.lump(node, collider) else {
                    self.note(
                        "a collider without a shape that is known, or without a size, is left out",
                        &collider.path,
                    );
                    return None;
                };
                shape_of(&[lump])
            }
        };
        let contact = contact(collider.material.as_ref());
        Some(Body { behaviour, shape, contact, ..Body::new(self.reader.reference(node)) })
    }

    /// Groups and pairs: who touches whom.
    fn contacts(&mut self, setup: &mut Setup) {
        let names: HashMap<String, usize> =
            setup.bodies.iter().enumerate().map(|(i, b)| (b.node.clone(), i)).collect();
        // The body of the set-up that a node belongs to.
        let body_of = |maker: &Self, node: usize| {
            let own = names.get(&maker.reader.reference(node)).copied();
            own.or_else(|| names.get(&maker.reader.reference(maker.reader.owner[node]?)).copied())
        };
        let short = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        for collider in &self.facts.colliders {
            let Some(body) = body_of(self, collider.node) else { continue };
            for group in &self.facts.groups {
                let within = |p: &String| collider.path == *p || collider.path.starts_with(&format!("{p}/"));
                if !group.includes.iter().any(within) || group.excludes.iter().any(within) {
                    continue;
                }
                let contact = &mut setup.bodies[body].contact;
                let name = short(&group.path);
                if contact.layers.contains(&name) {
                    continue;
                }
                contact.layers.push(name);
                let others: Vec<String> = group.filtered.iter().map(|p| short(p)).collect();
                match group.inverts {
                    true => contact.touches = Some(others),
                    false => contact.passes.extend(others.into_iter().filter(|o| !o.is_empty())),
                }
            }
        }
        for [a, b] in self.facts.pairs.clone() {
            if let (Some(a), Some(b)) = (body_of(self, a), body_of(self, b))
                && a != b
            {
                let other = setup.bodies[b].node.clone();
                let ignores = &mut setup.bodies[a].contact.ignores;
                if !ignores.contains(&other) {
                    ignores.push(other);
                }
            }
        }
        // A set-up refuses names that nothing is in; layers that nobody speaks of say nothing.
        let layers: HashSet<String> =
            setup.bodies.iter().flat_map(|b| b.contact.layers.iter().cloned()).collect();
        for contact in setup.bodies.iter_mut().map(|b| &mut b.contact) {
            contact.passes.retain(|n| layers.contains(n));
            if let Some(touches) = &mut contact.touches {
                touches.retain(|n| layers.contains(n));
            }
        }
        let spoken: HashSet<String> = setup
            .bodies
            .iter()
            .flat_map(|b| b.contact.passes.iter().chain(b.contact.touches.iter().flatten()).cloned())
            .collect();
        let restricts = setup.bodies.iter().any(|b| b.contact.touches.is_some());
        for contact in setup.bodies.iter_mut().map(|b| &mut b.contact) {
            contact.layers.retain(|n| restricts || spoken.contains(n));
        }
    }
}

/// How a material touches.
fn contact(material: Option<&MaterialFact>) -> Contact {
    let Some(m) = material else { return Contact::default() };
    let grip = Some(m.grip.max(m.friction)).filter(|g| *g != m.friction);
    Contact { friction: Some(m.friction), grip, bounce: Some(m.bounce), ..Contact::default() }
}

/// The shape for a mesh as it is approximated.
fn approximated(word: &str, is_obstacle: bool) -> Shape {
    match word {
        "convexHull" => Shape::Hull {},
        "convexDecomposition" => Shape::Parts {},
        "boundingCube" => Shape::Box { size: None },
        "boundingSphere" => Shape::Sphere { radius: None },
        _ if is_obstacle => Shape::Mesh {},
        _ => Shape::Auto {},
    }
}

fn rotation_of(m: &DMat3) -> DQuat {
    sinew_core::rotation::of_linear(*m).unwrap_or(DQuat::IDENTITY)
}
