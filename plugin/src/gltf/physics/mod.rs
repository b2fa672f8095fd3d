//! Physics that the file itself carries, as a set-up, and back: OMI_physics_body, OMI_physics_shape and OMI_physics_joint,
//! OMI_physics_gravity of the document, and the drafts KHR_physics_rigid_bodies and KHR_implicit_shapes.
//!
//! These extensions are made for games: they say what a thing is, and an engine decides how it moves. What has no
//! counterpart in a set-up is left out and said in a warning, once for each kind of thing. Nothing in them makes
//! a file unreadable: what makes no sense counts as not there.
//!
//! `motion` reads bodies, `collider` their shapes, `contact` what these are made of, `joint` what holds them; `limit` and `drive` read what a joint
//! holds and pulls, and `nearest` finds the kind and the fields for it; `note` collects what was left out.
//! `write` puts a set-up into a document.

mod collider;
mod contact;
mod drive;
mod joint;
mod limit;
mod motion;
mod nearest;
mod note;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use collider::{Form, Lump, ROUGH, shape_of};
pub(crate) use drive::Drive;
pub(crate) use joint::main_axis;
pub(crate) use limit::{Limits, Way};
pub(crate) use nearest::{Nearest, nearest};
pub(crate) use write::{Frame, describe, towards};

use super::Document;
use motion::Motion;
use note::Notes;
use serde_json::Value;
use sinew_core::scene::{Local, Pose, Property, Scene};
use sinew_core::setup::{self, Behaviour, Setup, SetupError, choose_clip};
use std::collections::{HashMap, HashSet};

/// How long a scene is simulated that has free bodies and no keys to say so, s.
pub(crate) const SECONDS_WITHOUT_KEYS: f64 = 5.0;

/// The physics of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Physics {
    /// As a set-up.
    pub setup: Setup,
    /// What it says that a set-up cannot, each with the node that says it.
    pub warnings: Vec<String>,
}

/// A family of extensions: they differ in defaults and in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OMI_physics_body, OMI_physics_shape, OMI_physics_joint and OMI_physics_gravity.
    Omi,
    /// KHR_physics_rigid_bodies and KHR_implicit_shapes.
    Khronos,
}

impl Dialect {
    /// The name of the extension that makes nodes bodies.
    pub fn extension(self) -> &'static str {
        match self {
            Dialect::Omi => OMI_BODY,
            Dialect::Khronos => KHR_BODY,
        }
    }
}

const OMI_BODY: &str = "OMI_physics_body";
const OMI_SHAPE: &str = "OMI_physics_shape";
const OMI_JOINT: &str = "OMI_physics_joint";
const OMI_GRAVITY: &str = "OMI_physics_gravity";
const KHR_BODY: &str = "KHR_physics_rigid_bodies";
const KHR_SHAPE: &str = "KHR_implicit_shapes";

impl Document {
    /// The physics that the file carries, as a set-up under the clip of that name (default: the first that moves
    /// something). `None` when nothing in it is to be moved by physics. A body that the clip moves is guided, the
    /// others are free. Without keys the range is five seconds.
    pub fn physics(&self, clip: Option<&str>) -> Result<Option<Physics>, SetupError> {
        let scene = self.scene();
        let nodes = &self.json()["nodes"];
        let motions: Vec<Option<Motion<'_>>> =
            (0..scene.nodes.len()).map(|i| Motion::of(&nodes[i]["extensions"])).collect();
        if !motions.iter().flatten().any(|m| m.is_dynamic) {
            return Ok(None);
        }
        // Clip and frame rate are chosen as without physics; glTF's physics is in metres.
        let mut setup = setup::automatic(scene, clip)?;
        setup.bodies.clear();
        setup.groups.clear();
        setup.world.floor = None;
        setup.world.metres_per_unit = 1.0;
        let clip = choose_clip(scene, setup.clip.as_deref())?.map(|c| c.1);
        let rate = setup.world.frames_per_second.unwrap_or(scene.frames_per_second);
        let start = match clip.and_then(|c| c.range()) {
            Some((start, _)) => (start * rate + 1e-3).floor() / rate,
            None => {
                setup.bake.frames = Some([0.0, (SECONDS_WITHOUT_KEYS * rate).round()]);
                0.0
            }
        };
        let mut pose = Pose::new(scene, clip);
        pose.evaluate(start);
        let mut reader = Reader::new(self.json(), scene, pose, |node| motions[node].is_some());
        let keyed = clip.map(|c| c.keyed()).unwrap_or_default();
        let mut colliders = reader.colliders();
        for (node, motion) in motions.iter().enumerate() {
            let Some(motion) = motion else { continue };
            let lumps = if motion.is_dynamic { colliders.remove(&node) } else { None };
            let Some(mut body) = reader.body(node, motion, lumps.unwrap_or_default()) else { continue };
            let moved =
                [Property::Translation, Property::Rotation].into_iter().any(|p| keyed.contains(&(node, p)));
            body.behaviour = if moved { Behaviour::Guided } else { Behaviour::Free };
            reader.simulated.insert(node);
            setup.bodies.push(body);
        }
        if setup.bodies.is_empty() {
            return Ok(None);
        }
        let mut still: Vec<usize> = colliders.into_values().flatten().map(|l| l.node).collect();
        still.sort_unstable();
        for node in still {
            let above = std::iter::successors(Some(node), |&n| scene.nodes[n].parent);
            let moved = above.into_iter().any(|n| {
                [Property::Translation, Property::Rotation].into_iter().any(|p| keyed.contains(&(n, p)))
            });
            // A kinematic body that no key moves stands still, too.
            let behaviour = if moved { Behaviour::Animated } else { Behaviour::Static };
            setup.bodies.extend(reader.obstacle(node, behaviour));
        }
        contact::clean(&mut setup.bodies);
        setup.joints = (0..scene.nodes.len()).filter_map(|node| reader.joint(node)).collect();
        let pull = &self.json()["extensions"][OMI_GRAVITY];
        let mut warnings = reader.notes.finish();
        match gravity(pull) {
            Some(gravity) => setup.world.gravity = gravity,
            None if pull.is_null() => {}
            None => warnings.push(
                "physics of the scene: its gravity is not a strength and a direction that can be; the usual one counts".into(),
            ),
        }
        Ok(Some(Physics { setup, warnings }))
    }
}

/// What is needed to read any part of a document's physics.
pub(crate) struct Reader<'a> {
    json: &'a Value,
    scene: &'a Scene,
    /// At the first frame.
    pub(crate) pose: Pose<'a>,
    pub(crate) names: HashMap<&'a str, Vec<usize>>,
    /// For every node the nearest of itself and its ancestors that is a body of some kind.
    pub(crate) owner: Vec<Option<usize>>,
    /// Bodies that made it into the set-up.
    pub(crate) simulated: HashSet<usize>,
    pub(crate) notes: Notes,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        json: &'a Value,
        scene: &'a Scene,
        pose: Pose<'a>,
        is_body: impl Fn(usize) -> bool,
    ) -> Self {
        Reader {
            json,
            scene,
            pose,
            names: scene.by_name(),
            owner: owners(scene, is_body),
            simulated: HashSet::new(),
            notes: Notes::default(),
        }
    }
}

/// For every node the nearest of itself and its ancestors that is a body.
fn owners(scene: &Scene, is_body: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut owner = vec![None; scene.nodes.len()];
    for node in scene.parents_first() {
        owner[node] = match is_body(node) {
            true => Some(node),
            false => scene.nodes[node].parent.and_then(|p| owner[p]),
        };
    }
    owner
}

impl Reader<'_> {
    /// The extensions of a node.
    fn extensions(&self, node: usize) -> &Value {
        &self.json["nodes"][node]["extensions"]
    }

    /// How a set-up refers to a node.
    pub(crate) fn reference(&self, node: usize) -> String {
        self.scene.reference(&self.names, node)
    }

    /// Notes that `what` of that node is not carried over.
    pub(crate) fn note(&mut self, what: &'static str, node: usize) {
        self.notes.add(what, format!("node {}", self.scene.label(node)));
    }

    /// The parent of a node.
    pub(crate) fn parent_of(&self, node: usize) -> Option<usize> {
        self.scene.nodes[node].parent
    }

    /// The map of a node's parent to the world, if it has one.
    pub(crate) fn parent_world(&self, node: usize) -> Option<&glam::DAffine3> {
        self.parent_of(node).map(|p| self.pose.world(p))
    }

    /// Whether curves can move the node.
    pub(crate) fn can_move(&self, node: usize) -> bool {
        !matches!(self.scene.nodes[node].local, Local::Matrix(_))
    }

    /// The node that a value is the index of.
    fn node(&self, value: &Value) -> Option<usize> {
        index(value).filter(|&i| i < self.scene.nodes.len())
    }
}

fn gravity(of: &Value) -> Option<[f64; 3]> {
    let strength = number(&of["gravity"])?;
    let direction = glam::DVec3::from_array(vector(&of["direction"]).unwrap_or([0.0, -1.0, 0.0]));
    direction.try_normalize().map(|d| (d * strength).to_array())
}

/// A finite number of a size that glTF, which is single precision, can mean.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|v| v.abs() <= f64::from(f32::MAX))
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|i| usize::try_from(i).ok())
}

fn numbers<const N: usize>(value: &Value) -> Option<[f64; N]> {
    let items = value.as_array().filter(|a| a.len() == N)?;
    let mut out = [0.0; N];
    for (o, item) in out.iter_mut().zip(items) {
        *o = number(item)?;
    }
    Some(out)
}

fn vector(value: &Value) -> Option<[f64; 3]> {
    numbers(value)
}
