//! A set-up as UsdPhysics: what that can say in its own words, and the rest in the namespace `sinew:`.
//!
//! The first is written and read again in memory; the difference to the set-up is the second. So a set-up comes back
//! whole, whatever UsdPhysics loses of it.

mod joint;

use super::facts::SceneFact;
use super::patch;
use crate::error::Error;
use crate::usd::edits::Edits;
use crate::usd::stage::{self, Opened};
use crate::usd::{Document, Home};
use glam::{DAffine3, DMat4, DQuat, DVec3, EulerRot};
use openusd::gf;
use openusd::sdf::Value;
use sinew_core::rig::resolve_node;
use sinew_core::scene::{Placement, Pose};
use sinew_core::setup::{Behaviour, Body, Contact, Setup, Shape, choose_clip};
use std::collections::{HashMap, HashSet};

/// Where new physics prims go.
const SCOPE: &str = "/SinewPhysics";

impl Document {
    /// Writes a set-up; what only the namespace says is in the warnings.
    pub(in crate::usd) fn physics_edits(
        &self,
        opened: &Opened,
        setup: &Setup,
        edits: &mut Edits,
    ) -> Result<Vec<String>, Error> {
        let mut writer = Writer::new(self, setup)?;
        writer.world();
        for body in &setup.bodies {
            writer.body(body)?;
        }
        writer.strip();
        for joint in &setup.joints {
            writer.joint(joint)?;
        }
        writer.release();
        let Writer { edits: own, scene, body_paths, joint_paths, warnings, .. } = writer;
        // Read again as anybody would.
        let again = self.origin.open()?;
        let file = again.stage.root_layer().identifier().to_owned();
        {
            let layer = again.stage.layer_mut(&file);
            let mut layer = layer.ok_or_else(|| Error::input("its root layer cannot be written"))?;
            let mut failed = None;
            let done = layer.edit(|edit| {
                failed = own.clone().write(edit.data_mut(), Some(&opened.stage)).err();
                Ok(())
            });
            done.map_err(|e| Error::input(stage::said(&e)))?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let read = Document::of_stage(&again, &self.file, &self.origin)?;
        let mut facts = read.physics.clone();
        facts.forget();
        let place = |e: sinew_core::setup::SetupError| Error::input(e.to_string());
        let said = read.physics_said(&facts, setup.clip.as_deref()).map_err(place)?.setup;
        edits.append(own);
        self.namespace(setup, &said, &scene, &body_paths, &joint_paths, edits);
        Ok(warnings)
    }

    /// Writes what UsdPhysics lost.
    fn namespace(
        &self,
        setup: &Setup,
        said: &Setup,
        scene: &str,
        body_paths: &HashMap<String, String>,
        joint_paths: &[Option<String>],
        edits: &mut Edits,
    ) {
        let json = |of: Result<String, serde_json::Error>| of.unwrap_or_default();
        let mut list = Vec::new();
        for body in &setup.bodies {
            let found = said.bodies.iter().find(|b| b.node == body.node);
            match (body_paths.get(&body.node), found) {
                (Some(path), Some(found)) => {
                    if let Some(text) = patch::difference(found, body) {
                        edits.set(path, "sinew:body", "string", Value::String(text));
                    }
                    list.push(path.clone());
                }
                _ => list.push(json(serde_json::to_string(body))),
            }
        }
        let was = |of: fn(&SceneFact) -> &Vec<String>| {
            self.physics.scene.as_ref().is_some_and(|s| !of(s).is_empty())
        };
        if !list.is_empty() || was(|s| &s.bodies) {
            edits.set(scene, "sinew:bodies", "string[]", Value::StringVec(list));
        }
        let mut list = Vec::new();
        for (joint, path) in setup.joints.iter().zip(joint_paths) {
            let named = |path: &String| {
                let short = path.rsplit('/').next().unwrap_or(path);
                said.joints.iter().find(|j| j.name.as_deref() == Some(short) || j.name.as_ref() == Some(path))
            };
            match path.as_ref().and_then(|p| Some((p, named(p)?))) {
                Some((path, found)) => {
                    if let Some(text) = patch::difference(found, joint) {
                        edits.set(path, "sinew:joint", "string", Value::String(text));
                    }
                    list.push(path.clone());
                }
                None => list.push(json(serde_json::to_string(joint))),
            }
        }
        if !list.is_empty() || was(|s| &s.joints) {
            edits.set(scene, "sinew:joints", "string[]", Value::StringVec(list));
        }
        let rest = |s: &Setup| Setup { bodies: Vec::new(), joints: Vec::new(), schema: None, ..s.clone() };
        if let Some(text) = patch::difference(&rest(said), &rest(setup)) {
            edits.set(scene, "sinew:setup", "string", Value::String(text));
        }
    }
}

struct Writer<'a> {
    document: &'a Document,
    setup: &'a Setup,
    pose: Pose<'a>,
    names: HashMap<&'a str, Vec<usize>>,
    edits: Edits,
    scene: String,
    /// Paths of bodies that prims stand for, by what the set-up calls them.
    body_paths: HashMap<String, String>,
    joint_paths: Vec<Option<String>>,
    /// Shapes that the stage gives bodies, by what a set-up calls them.
    before: HashMap<String, Shape>,
    /// Paths that are taken.
    taken: HashSet<String>,
    materials: Vec<(Contact, String)>,
    warnings: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(document: &'a Document, setup: &'a Setup) -> Result<Writer<'a>, Error> {
        let place = |e: sinew_core::setup::SetupError| Error::input(e.to_string());
        let scene = &document.scene;
        let clip = choose_clip(scene, setup.clip.as_deref()).map_err(place)?.map(|c| c.1);
        let rate = setup.world.frames_per_second.unwrap_or(scene.frames_per_second);
        let first = setup.bake.frames.map(|f| f[0] / rate);
        let start = first.or_else(|| Some((clip?.range()?.0 * rate + 1e-3).floor() / rate)).unwrap_or(0.0);
        let mut pose = Pose::new(scene, clip);
        pose.evaluate(start);
        let mut taken: HashSet<String> = document.prims.iter().map(|p| p.path.clone()).collect();
        taken.extend(document.physics.joints.iter().map(|j| j.path.clone()));
        let mut edits = Edits::default();
        let path = match &document.physics.scene {
            Some(scene) => scene.path.clone(),
            None => {
                edits.define(SCOPE, "Scope");
                let path = format!("{SCOPE}/Scene");
                edits.define(&path, "PhysicsScene");
                path
            }
        };
        Ok(Writer {
            document,
            setup,
            pose,
            names: scene.by_name(),
            edits,
            scene: path,
            body_paths: HashMap::new(),
            joint_paths: Vec::new(),
            before: document.physics_shapes(),
            taken,
            materials: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn world(&mut self) {
        let units = &self.document.units;
        let gravity = DVec3::from_array(self.setup.world.gravity);
        let direction = units.direction_back(gravity.try_normalize().unwrap_or(-DVec3::Y));
        let size = (gravity.length() / units.metres) as f32;
        self.edits.set(&self.scene, "physics:gravityDirection", "vector3f", vec3f(direction));
        self.edits.set(&self.scene, "physics:gravityMagnitude", "float", Value::Float(size));
    }

    fn node(&self, name: &str) -> Result<usize, Error> {
        resolve_node(&self.document.scene, &self.names, name, "the set-up")
            .map_err(|e| Error::input(e.to_string()))
    }

    /// A free path in the scope of new prims, called like that.
    fn fresh(&mut self, name: &str) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let mut base: String = name.chars().map(letter).collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        let mut path = format!("{SCOPE}/{base}");
        for n in 2.. {
            if self.taken.insert(path.clone()) {
                break;
            }
            path = format!("{SCOPE}/{base}_{n}");
        }
        self.edits.define(SCOPE, "Scope");
        path
    }

    fn body(&mut self, body: &Body) -> Result<(), Error> {
        let node = self.node(&body.node)?;
        let Home::Prim(index) = self.document.homes[node] else {
            self.warnings.push(format!(
                "\"{}\" is a joint of a skeleton, which UsdPhysics has no bodies for: only Sinew reads it back",
                body.node
            ));
            return Ok(());
        };
        let home = &self.document.prims[index];
        self.document.check(node).or_else(|e| if body.behaviour.simulated() { Err(e) } else { Ok(()) })?;
        let path = home.path.clone();
        self.edits.over(&path);
        let units = self.document.units;
        let (kg, metres) = (units.kilograms, units.metres);
        if body.behaviour == Behaviour::Static {
            self.edits.unapply(&path, "PhysicsRigidBodyAPI");
        } else {
            self.edits.apply(&path, "PhysicsRigidBodyAPI");
            let kinematic = !body.behaviour.simulated();
            self.edits.set(&path, "physics:kinematicEnabled", "bool", Value::Bool(kinematic));
        }
        if body.behaviour.simulated() {
            let world = self.pose.world(node);
            let frame = self.pose.placement(node);
            let parent = self.document.scene.nodes[node].parent.map(|p| *self.pose.world(p));
            let parent = parent.map_or_else(|| glam::DMat3::from_quat(units.turn()), |w| w.matrix3);
            let back = parent.inverse();
            let velocity = back * DVec3::from_array(body.velocity.unwrap_or_default()) / metres;
            let turn = super::rotation_of(&parent).inverse();
            let spin = (turn * DVec3::from_array(body.spin.unwrap_or_default())).map(f64::to_degrees);
            let old = self.document.physics.bodies.iter().find(|b| b.node == node);
            let edits = &mut self.edits;
            // Only what is said, or was said otherwise.
            if body.velocity.is_some() || old.is_some_and(|o| o.velocity.is_some()) {
                edits.set(&path, "physics:velocity", "vector3f", vec3f(velocity));
            }
            if body.spin.is_some() || old.is_some_and(|o| o.spin.is_some()) {
                edits.set(&path, "physics:angularVelocity", "vector3f", vec3f(spin));
            }
            edits.apply(&path, "PhysicsMassAPI");
            if body.mass.is_some() || old.is_some_and(|o| o.mass.mass.is_some()) {
                let mass = body.mass.map_or(0.0, |m| m / kg);
                edits.set(&path, "physics:mass", "float", Value::Float(mass as f32));
            }
            if body.density.is_some() || old.is_some_and(|o| o.mass.density.is_some()) {
                let density = body.density.map_or(0.0, |d| d / kg * metres.powi(3));
                edits.set(&path, "physics:density", "float", Value::Float(density as f32));
            }
            if body.center.is_some() || old.is_some_and(|o| o.mass.center.is_some()) {
                let none = DVec3::splat(f64::NEG_INFINITY);
                let of = |c| world.matrix3.inverse() * (frame.rotation * DVec3::from_array(c)) / metres;
                edits.set(&path, "physics:centerOfMass", "point3f", vec3f(body.center.map_or(none, of)));
            }
            let unit = kg * metres * metres;
            match body.inertia {
                Some(inertia) => {
                    edits.set(
                        &path,
                        "physics:diagonalInertia",
                        "float3",
                        vec3f(DVec3::from_array(inertia) / unit),
                    );
                    edits.set(&path, "physics:principalAxes", "quatf", quatf(DQuat::IDENTITY));
                }
                None if old.is_some_and(|o| o.mass.inertia.is_some()) => {
                    edits.set(&path, "physics:diagonalInertia", "float3", vec3f(DVec3::ZERO));
                    let none = Value::Quatf(gf::quatf(0.0, 0.0, 0.0, 0.0));
                    edits.set(&path, "physics:principalAxes", "quatf", none);
                }
                None => {}
            }
        }
        self.shape(body, node, &path)?;
        self.body_paths.insert(body.node.clone(), path);
        Ok(())
    }

    /// The colliders of a body: on its own prim where that is the shape, else on new prims below it.
    fn shape(&mut self, body: &Body, node: usize, path: &str) -> Result<(), Error> {
        let old: Vec<String> = self.owned(node);
        let Home::Prim(index) = self.document.homes[node] else { return Ok(()) };
        let kind = self.document.prims[index].kind.clone();
        let has_mesh = self.document.scene.nodes[node].mesh.is_some();
        let collides = body.contact.collide != Some(false) && self.setup.world.collisions;
        let mut colliders = Vec::new();
        if self.before.get(&body.node) == Some(&body.shape) && !old.is_empty() {
            colliders = old.clone();
        } else {
            // Below a surface there may be no other: what a new prim would say, the own one says as nearly as it can.
            let is_surface = self.document.is_below_surface(node);
            let approximation = match &body.shape {
                Shape::Auto {} | Shape::Mesh {} => Some("none"),
                Shape::Hull {} => Some("convexHull"),
                Shape::Parts {} => Some("convexDecomposition"),
                Shape::Box { size: None } => Some("boundingCube"),
                Shape::Sphere { radius: None } => Some("boundingSphere"),
                Shape::Plane {} if kind == "Plane" => Some("none"),
                Shape::Box { .. } if is_surface => Some("boundingCube"),
                Shape::Sphere { .. } if is_surface => Some("boundingSphere"),
                Shape::Plane {} | Shape::HeightField { .. } if is_surface => Some("none"),
                _ if is_surface => Some("convexHull"),
                _ => None,
            };
            match (approximation, has_mesh) {
                (Some(word), true) => {
                    if kind == "Mesh" {
                        self.edits.apply(path, "PhysicsMeshCollisionAPI");
                        self.edits.set_uniform(
                            path,
                            "physics:approximation",
                            "token",
                            Value::Token(word.into()),
                        );
                    }
                    colliders.push(path.to_owned());
                }
                _ if is_surface => {}
                _ => colliders = self.primitives(&body.shape, node, path),
            }
        }
        for gone in old.iter().filter(|o| !colliders.contains(o)) {
            self.edits.unapply(gone, "PhysicsCollisionAPI");
        }
        let material = self.material(&body.contact);
        for collider in &colliders {
            self.edits.apply(collider, "PhysicsCollisionAPI");
            self.edits.set(collider, "physics:collisionEnabled", "bool", Value::Bool(collides));
            if let Some(material) = &material {
                self.edits.apply(collider, "MaterialBindingAPI");
                self.edits.target(collider, "material:binding:physics", &[material]);
            }
        }
        let mut ignored = Vec::new();
        for other in &body.contact.ignores {
            ignored.extend(self.document.path_of_node(self.node(other)?));
        }
        if !ignored.is_empty() {
            self.edits.apply(path, "PhysicsFilteredPairsAPI");
            let targets: Vec<&str> = ignored.iter().map(String::as_str).collect();
            self.edits.target(path, "physics:filteredPairs", &targets);
        }
        Ok(())
    }

    /// Colliders that the stage has on a node and on what is below it and no body of its own.
    fn owned(&self, node: usize) -> Vec<String> {
        let facts = &self.document.physics;
        let bodies: HashSet<usize> = facts.bodies.iter().map(|b| b.node).collect();
        let scene = &self.document.scene;
        let owner = |n: usize| {
            std::iter::successors(Some(n), |&n| scene.nodes[n].parent)
                .find(|n| bodies.contains(n) || *n == node)
        };
        facts.colliders.iter().filter(|c| owner(c.node) == Some(node)).map(|c| c.path.clone()).collect()
    }

    /// New prims for a shape with sizes, below its body.
    fn primitives(&mut self, shape: &Shape, node: usize, path: &str) -> Vec<String> {
        let parts: Vec<(Shape, Placement)> = match shape {
            Shape::Compound { parts } => parts
                .iter()
                .map(|p| {
                    let [x, y, z] = p.turn_deg.map(f64::to_radians);
                    let rotation = DQuat::from_euler(EulerRot::ZYX, z, y, x);
                    (p.shape.clone(), Placement { position: p.at.into(), rotation })
                })
                .collect(),
            one => vec![(one.clone(), Placement::IDENTITY)],
        };
        let metres = self.document.units.metres;
        let mut made = Vec::new();
        for (shape, at) in parts {
            let (kind, sizes, scale): (&str, Vec<(&str, f64)>, DVec3) = match shape {
                Shape::Box { size: Some(s) } => ("Cube", vec![("size", 1.0)], DVec3::from_array(s) / metres),
                Shape::Sphere { radius: Some(r) } => ("Sphere", vec![("radius", r / metres)], DVec3::ONE),
                Shape::Capsule { radius: Some(r), length: Some(l) } => {
                    ("Capsule", vec![("radius", r / metres), ("height", l / metres)], DVec3::ONE)
                }
                Shape::Cylinder { radius: Some(r), length: Some(l) } => {
                    ("Cylinder", vec![("radius", r / metres), ("height", l / metres)], DVec3::ONE)
                }
                Shape::Cone { radius: Some(r), length: Some(l) } => {
                    ("Cone", vec![("radius", r / metres), ("height", l / metres)], DVec3::ONE)
                }
                Shape::Plane {} => ("Plane", Vec::new(), DVec3::ONE),
                _ => continue,
            };
            let mut name = format!("{path}/SinewShape");
            for n in 2.. {
                if self.taken.insert(name.clone()) {
                    break;
                }
                name = format!("{path}/SinewShape{n}");
            }
            self.edits.define(&name, kind);
            for (size, value) in sizes {
                self.edits.set(&name, size, "double", Value::Double(value));
            }
            if !matches!(kind, "Cube" | "Sphere") {
                self.edits.set_uniform(&name, "axis", "token", Value::Token("Y".into()));
            }
            self.edits.set_uniform(&name, "purpose", "token", Value::Token("guide".into()));
            // Lengths of the shape are the world's: the body's own stretch is taken back.
            let frame = self.pose.placement(node).then(&at);
            let world = DAffine3::from_scale_rotation_translation(DVec3::ONE, frame.rotation, frame.position);
            let local = self.pose.world(node).inverse() * world;
            let local = DAffine3 { translation: local.translation / metres, ..local };
            let matrix = DMat4::from(local) * DMat4::from_scale(scale);
            if !matrix.is_finite() {
                continue;
            }
            let value = Value::Matrix4d(gf::Matrix4d(matrix.to_cols_array()));
            self.edits.set(&name, "xformOp:transform", "matrix4d", value);
            let order = Value::TokenVec(vec!["xformOp:transform".into()]);
            self.edits.set_uniform(&name, "xformOpOrder", "token[]", order);
            made.push(name);
        }
        made
    }

    /// A material for what a contact says of friction and bounce; the same one for the same.
    fn material(&mut self, contact: &Contact) -> Option<String> {
        if contact.friction.is_none() && contact.grip.is_none() && contact.bounce.is_none() {
            return None;
        }
        let key = Contact {
            friction: contact.friction,
            grip: contact.grip,
            bounce: contact.bounce,
            ..Contact::default()
        };
        if let Some((_, path)) = self.materials.iter().find(|m| m.0 == key) {
            return Some(path.clone());
        }
        let path = self.fresh("Material");
        self.edits.define(&path, "Material");
        self.edits.apply(&path, "PhysicsMaterialAPI");
        let friction = contact.friction.unwrap_or(0.5);
        for (name, value) in [
            ("physics:dynamicFriction", friction),
            ("physics:staticFriction", contact.grip.unwrap_or(friction)),
            ("physics:restitution", contact.bounce.unwrap_or(0.0)),
        ] {
            self.edits.set(&path, name, "float", Value::Float(value as f32));
        }
        self.materials.push((key, path.clone()));
        Some(path)
    }

    /// Takes away what the stage says of physics and the set-up does not.
    fn strip(&mut self) {
        let facts = &self.document.physics;
        let kept: HashSet<&String> = self.body_paths.values().collect();
        let scene = &self.document.scene;
        let bodies: HashMap<usize, bool> =
            facts.bodies.iter().map(|b| (b.node, kept.contains(&b.path))).collect();
        for body in facts.bodies.iter().filter(|b| !kept.contains(&b.path)) {
            self.edits.unapply(&body.path, "PhysicsRigidBodyAPI");
        }
        for collider in facts.colliders.iter().filter(|c| !kept.contains(&c.path)) {
            let mut above = std::iter::successors(Some(collider.node), |&n| scene.nodes[n].parent);
            let owner = above.find_map(|n| bodies.get(&n).copied());
            if owner != Some(true) {
                self.edits.unapply(&collider.path, "PhysicsCollisionAPI");
            }
        }
    }
}

fn vec3f(v: DVec3) -> Value {
    Value::Vec3f(gf::vec3f(v.x as f32, v.y as f32, v.z as f32))
}

fn quatf(q: DQuat) -> Value {
    let q = q.normalize();
    Value::Quatf(gf::quatf(q.w as f32, q.x as f32, q.y as f32, q.z as f32))
}
