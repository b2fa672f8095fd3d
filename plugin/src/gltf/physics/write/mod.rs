//! A set-up as the physics of a document, in either family of extensions.
//!
//! What a set-up says is written so that reading gives it back; what the file has besides stays as it is: triggers,
//! materials, filters, colliders of what is not simulated, joints that no set-up can say. Physics of the other family
//! becomes that of the one asked for, so that a file does not say things twice. What cannot be expressed is a warning.
//!
//! Lengths of the file count as metres when it is read. Where a set-up says otherwise, masses stay and forces follow,
//! so that the same motion comes out in scene units.
//!
//! `body` writes motions, `shape` colliders, `contact` what these are made of, `joint` which nodes a joint is at, `limit` what it holds; `tree` changes
//! the JSON.

mod body;
mod contact;
mod joint;
mod limit;
mod shape;
mod tree;

use super::motion::Motion;
use super::note::Notes;
use super::{
    Dialect, KHR_BODY, KHR_SHAPE, OMI_BODY, OMI_GRAVITY, OMI_JOINT, OMI_SHAPE, Physics, Reader, gravity,
    owners,
};
use crate::gltf::Document;
use glam::DVec3;
pub(crate) use joint::towards;
pub(crate) use limit::{Frame, describe};
use serde_json::{Value, json};
use sinew_core::rig::{Rig, compile, resolve_node};
use sinew_core::scene::{Clip, Node, Pose, Property, Scene};
use sinew_core::setup::{Behaviour, Keyable, Setup, SetupError, World, choose_clip};
use std::collections::{HashMap, HashSet};
use tree::{at, take};

impl Document {
    /// Writes a set-up into the document, as physics that [`Document::physics`] reads. Returns what cannot be
    /// expressed, each with the body or joint that says it.
    ///
    /// Fails, changing nothing, when the set-up does not fit the scene.
    pub fn set_physics(&mut self, setup: &Setup, dialect: Dialect) -> Result<Vec<String>, SetupError> {
        let scene = self.scene();
        let clip = choose_clip(scene, setup.clip.as_deref())?.map(|c| c.1);
        // Masses and the first frame, as a bake would have them.
        let mut alone = setup.clone();
        alone.joints.clear();
        if clip.and_then(Clip::range).is_none() {
            alone.bake.frames.get_or_insert([0.0, 0.0]);
        }
        let rig = compile(scene, &alone, clip)?.rig;
        let before = self.physics(setup.clip.as_deref())?;
        let mut pose = Pose::new(scene, clip);
        pose.evaluate(rig.range.start());
        let was_body = |node: usize| Motion::of(&self.json()["nodes"][node]["extensions"]).is_some();
        let reader = Reader::new(self.json(), scene, pose, was_body);
        let mut writer = Writer {
            scene,
            setup,
            dialect,
            rig,
            keyed: clip.map(Clip::keyed).unwrap_or_default(),
            json: self.json().clone(),
            added: Vec::new(),
            simulated: HashMap::new(),
            obstacles: HashMap::new(),
            bodies: HashSet::new(),
            owner: Vec::new(),
            centers: HashMap::new(),
            notes: Notes::default(),
            reader,
        };
        writer.write(before.as_ref())?;
        let Writer { json, added, notes, .. } = writer;
        self.json = json;
        self.scene.nodes.extend(added);
        Ok(notes.finish())
    }
}

/// A document on its way from one physics to another.
struct Writer<'a> {
    scene: &'a Scene,
    setup: &'a Setup,
    dialect: Dialect,
    /// The bodies, compiled.
    rig: Rig,
    /// What the clip moves.
    keyed: HashSet<(usize, Property)>,
    /// The document as it was.
    reader: Reader<'a>,
    /// The document as it will be.
    json: Value,
    /// Nodes behind those of the scene.
    added: Vec<Node>,
    /// Nodes that physics moves, with the index of the body.
    simulated: HashMap<usize, usize>,
    /// Nodes that others touch and physics does not move, with the index of the body.
    obstacles: HashMap<usize, usize>,
    /// All nodes that are bodies, of whatever kind.
    bodies: HashSet<usize>,
    /// For every node of the scene the nearest of itself and its ancestors that will be a body.
    owner: Vec<Option<usize>>,
    /// Of bodies that keep their colliders, the middle of these in the node's frame.
    centers: HashMap<usize, DVec3>,
    notes: Notes,
}

impl Writer<'_> {
    fn write(&mut self, before: Option<&Physics>) -> Result<(), SetupError> {
        for (i, body) in self.setup.bodies.iter().enumerate() {
            let node =
                resolve_node(self.scene, &self.reader.names, &body.node, &format!("bodies[{i}].node"))?;
            if body.behaviour.simulated() {
                self.simulated.insert(node, i);
            } else if self.rig.colliders.all.iter().any(|c| c.node == node) {
                self.obstacles.insert(node, i);
            }
            // What stands still is a collider without a motion; so is what is a part of a body that is there.
            let is_part =
                self.reader.owner[node].is_some_and(|o| o != node) && self.obstacles.contains_key(&node);
            if body.behaviour != Behaviour::Static && !is_part {
                self.bodies.insert(node);
            }
        }
        self.carried();
        let joints = self.plan_joints()?;
        let nodes = 0..self.scene.nodes.len();
        self.bodies.extend(nodes.clone().filter(|&n| Motion::of(self.reader.extensions(n)).is_some()));
        for joint in &joints {
            let needed = (0..2).filter(|&side| self.needs_motion(joint, side));
            let needed: Vec<usize> = needed.filter_map(|side| joint.ends[side]).collect();
            self.bodies.extend(needed);
        }
        self.owner = owners(self.scene, |node| self.bodies.contains(&node));
        let kept = self.colliders(before);
        for node in nodes {
            self.motion(node, before);
            let body = self.simulated.get(&node).or(self.obstacles.get(&node)).copied();
            if let Some(body) = body.filter(|_| !kept.contains(&node)) {
                self.shape(node, body);
            }
        }
        self.joints(&joints, before);
        self.world();
        self.clear_other_family();
        self.list_extensions();
        Ok(())
    }

    /// What stands on something simulated is a part of it in a file: a collider without a motion.
    fn carried(&mut self) {
        let above = |node: usize| {
            std::iter::successors(self.scene.nodes[node].parent, |&p| self.scene.nodes[p].parent)
        };
        let on_solid = |node: &usize| above(*node).any(|p| self.simulated.contains_key(&p));
        let carried: Vec<usize> = self.obstacles.keys().copied().filter(on_solid).collect();
        for node in carried {
            self.bodies.remove(&node);
            self.note_body("it stands on a simulated body, and is read as a part of that", node);
        }
    }

    /// Notes that `what` of the body on a node cannot be written.
    fn note_body(&mut self, what: &'static str, node: usize) {
        self.notes.add(what, format!("body {}", self.scene.label(node)));
    }

    /// Whether numbers of the set-up are those of the file.
    fn is_in_metres(&self) -> bool {
        self.setup.world.metres_per_unit == 1.0
    }

    /// Whether the clip moves or turns the node itself.
    fn is_keyed(&self, node: usize) -> bool {
        [Property::Translation, Property::Rotation].into_iter().any(|p| self.keyed.contains(&(node, p)))
    }

    /// Whether the clip moves or turns the node or one above it.
    fn is_moved(&self, node: usize) -> bool {
        let above = std::iter::successors(Some(node), |&n| self.scene.nodes[n].parent);
        above.into_iter().any(|n| self.is_keyed(n))
    }

    /// Gravity, where the file has a place for it.
    fn world(&mut self) {
        let World { gravity: wanted, gravity_scale, metres_per_unit, fields, time_scale, floor, .. } =
            &self.setup.world;
        for (what, there) in [
            ("wind and drag are left out", !fields.is_empty()),
            (
                "`gravity_scale` is left out: gravity is written without it",
                *gravity_scale != Keyable::Constant(1.0),
            ),
            ("`time_scale` is left out", *time_scale != Keyable::Constant(1.0)),
            ("`floor` is left out", floor.is_some()),
            (
                "`passes` is left out: what passes through others here touches them there",
                self.setup.bodies.iter().any(|b| !b.contact.passes.is_empty()),
            ),
        ] {
            if there {
                self.notes.add(what, "the world".into());
            }
        }
        let wanted = DVec3::from_array(*wanted) / *metres_per_unit;
        let old = gravity(&self.json["extensions"][OMI_GRAVITY]);
        let is = DVec3::from_array(old.unwrap_or(World::default().gravity));
        if (is - wanted).length() <= 1e-9 * wanted.length() {
            return;
        }
        if self.dialect == Dialect::Khronos && old.is_none() {
            let what = "gravity is left out: KHR_physics_rigid_bodies has none, and most programs take 9.81 m/s^2 down";
            self.notes.add(what, "the world".into());
            return;
        }
        let to = at(at(&mut self.json, "extensions"), OMI_GRAVITY);
        *at(to, "gravity") = json!(wanted.length());
        if let Some(direction) = wanted.try_normalize() {
            *at(to, "direction") = json!(direction.to_array());
        }
    }

    fn any_node_has(&self, extension: &str) -> bool {
        let nodes = self.json["nodes"].as_array().map_or(&[][..], Vec::as_slice);
        nodes.iter().any(|n| n["extensions"][extension].is_object())
    }

    /// Drops lists of the other family to which no node refers any more.
    fn clear_other_family(&mut self) {
        // Each with the extensions of nodes that refer to it.
        let lists: &[(&str, &[&str])] = match self.dialect {
            Dialect::Khronos => {
                &[(OMI_BODY, &[OMI_BODY]), (OMI_SHAPE, &[OMI_SHAPE, OMI_BODY]), (OMI_JOINT, &[OMI_JOINT])]
            }
            Dialect::Omi => &[(KHR_BODY, &[KHR_BODY]), (KHR_SHAPE, &[KHR_BODY])],
        };
        for (name, users) in lists {
            if users.iter().any(|u| self.any_node_has(u)) {
                continue;
            }
            if let Some(extensions) = self.json.get_mut("extensions") {
                take(extensions, name);
                if extensions.as_object().is_some_and(|e| e.is_empty()) {
                    take(&mut self.json, "extensions");
                }
            }
            for list in ["extensionsUsed", "extensionsRequired"] {
                let Some(names) = self.json.get_mut(list).and_then(Value::as_array_mut) else { continue };
                names.retain(|n| n != name);
                if names.is_empty() {
                    take(&mut self.json, list);
                }
            }
        }
    }

    /// Names what is used.
    fn list_extensions(&mut self) {
        let root = &self.json["extensions"];
        let names = [KHR_BODY, KHR_SHAPE, OMI_BODY, OMI_SHAPE, OMI_JOINT, OMI_GRAVITY];
        let used: Vec<&str> =
            names.into_iter().filter(|n| root[*n].is_object() || self.any_node_has(n)).collect();
        if used.is_empty() {
            return;
        }
        let list = at(&mut self.json, "extensionsUsed");
        if !list.is_array() {
            *list = json!([]);
        }
        let Some(list) = list.as_array_mut() else { return };
        for name in used {
            if !list.iter().any(|n| n == name) {
                list.push(json!(name));
            }
        }
    }
}
