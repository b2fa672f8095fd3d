//! Where joints are written: at two nodes, each below the body that it belongs to.
//!
//! Nodes of the scene are used where a set-up names them and they lie right; else new ones are made.

use super::limit::{Described, Frame, describe};
use super::tree::at;
use super::{Dialect, KHR_BODY, OMI_BODY, OMI_JOINT, Physics, Writer};
use glam::{DQuat, DVec3};
use serde_json::json;
use sinew_core::rig::resolve_node;
use sinew_core::scene::Placement;
use sinew_core::setup::{At, Joint, JointKind, Keyable, SetupError};
use std::collections::{HashMap, HashSet};

/// Axes and frames this near to each other are the same: files have six digits.
const SAME: f64 = 1e-6;

/// A joint that can be written.
pub(super) struct Planned<'a> {
    joint: &'a Joint,
    name: String,
    /// The nodes that it joins; `None` is the world.
    pub ends: [Option<usize>; 2],
    /// The nodes that the set-up has it at; `None` for the world, or where it has frames of its own.
    origins: [Option<usize>; 2],
}

/// Where a joint is: the frame on each side in the world, and whether the nodes' own axes are that.
struct Place {
    frames: [Placement; 2],
    /// The main axis among the nodes' own, if they can be used as they are.
    own_axis: Option<usize>,
    length: f64,
}

impl<'a> Writer<'a> {
    /// The joints that can be written.
    pub(super) fn plan_joints(&mut self) -> Result<Vec<Planned<'a>>, SetupError> {
        let mut planned = Vec::new();
        for (i, joint) in self.setup.joints.iter().enumerate() {
            let [a, b] = &joint.between;
            let name = joint.name.clone().unwrap_or_else(|| format!("{a} - {b}"));
            let place = format!("joints[{i}] \"{name}\"");
            let ends = [self.named(a, &place)?, self.named(b, &place)?];
            let origins = match &joint.at {
                _ if joint.frames.is_some() => [None, None],
                None => [ends[1], ends[1]],
                Some(At::Node(n)) => [self.named(n, &place)?; 2],
                Some(At::Nodes([n, m])) => [self.named(n, &place)?, self.named(m, &place)?],
            };
            let is_simulated = |n: &usize| self.simulated.contains_key(n);
            let why = if !ends.iter().flatten().any(is_simulated) || ends[0] == ends[1] {
                Some("it joins nothing that is simulated, or a body to itself, and is left out")
            } else if joint.on == Some(Keyable::Constant(0.0)) {
                Some("it is never on, and is left out")
            } else if matches!(joint.kind, JointKind::Curve | JointKind::Surface) {
                Some("joints on curves and surfaces have no counterpart and are left out")
            } else if joint.kind == JointKind::Segment && joint.points.len() != 2 {
                Some("a segment is between two points: it is left out")
            } else {
                None
            };
            match why {
                Some(why) => self.notes.add(why, format!("joint \"{name}\"")),
                None => planned.push(Planned { joint, name, ends, origins }),
            }
        }
        Ok(planned)
    }

    /// The node of that name; `None` is the world.
    fn named(&self, name: &str, place: &str) -> Result<Option<usize>, SetupError> {
        if name == "world" && !self.reader.names.contains_key(name) {
            return Ok(None);
        }
        resolve_node(self.scene, &self.reader.names, name, place).map(Some)
    }

    /// Whether an end has to be made a body: in files of Khronos, what holds still and is the joint's own node need not.
    pub(super) fn needs_motion(&self, planned: &Planned<'_>, side: usize) -> bool {
        let Some(end) = planned.ends[side] else { return false };
        let is_still = !self.is_moved(end) && self.reader.owner[end].is_none();
        self.dialect == Dialect::Omi || !is_still || planned.origins[side] != Some(end)
    }

    /// Writes the joints in place of those that were read before. Those that the file has just so already, and those
    /// that no set-up can say, stay.
    pub(super) fn joints(&mut self, planned: &[Planned<'_>], before: Option<&Physics>) {
        let read: HashMap<&str, &Joint> = before
            .iter()
            .flat_map(|p| &p.setup.joints)
            .filter_map(|j| Some((j.name.as_deref()?, j)))
            .collect();
        let mut done = HashSet::new();
        let mut with_joint = HashSet::new();
        for node in 0..self.scene.nodes.len() {
            let extensions = self.reader.extensions(node);
            let khronos = extensions[KHR_BODY]["joint"].is_object();
            let omi = extensions[OMI_JOINT].is_object();
            let Some(old) = read.get(self.reader.reference(node).as_str()).filter(|_| khronos || omi) else {
                if khronos || omi {
                    with_joint.insert(node);
                }
                continue;
            };
            let is_ours = if self.dialect == Dialect::Khronos { khronos && !omi } else { omi && !khronos };
            let nodes = [Some(node), self.connected(node)];
            let same = planned.iter().position(|p| p.joint == *old && self.owns(&p.ends, &nodes));
            if let Some(same) = same.filter(|_| is_ours && self.is_in_metres()) {
                done.insert(same);
                with_joint.insert(node);
                continue;
            }
            self.take(node, KHR_BODY, "joint");
            self.take_extension(node, OMI_JOINT);
        }
        for (_, joint) in planned.iter().enumerate().filter(|(i, _)| !done.contains(i)) {
            self.joint(joint, &mut with_joint);
        }
    }

    /// The node that a joint in the file connects its own to.
    fn connected(&self, node: usize) -> Option<usize> {
        let extensions = self.reader.extensions(node);
        let joint = match self.dialect {
            Dialect::Khronos => &extensions[KHR_BODY]["joint"],
            Dialect::Omi => &extensions[OMI_JOINT],
        };
        self.reader.node(&joint["connectedNode"])
    }

    /// Whether each node belongs to the end of its side.
    fn owns(&self, ends: &[Option<usize>; 2], nodes: &[Option<usize>; 2]) -> bool {
        (0..2).all(|i| nodes[i].is_some_and(|n| self.owner[n].or(Some(n)) == ends[i]))
    }

    fn joint(&mut self, planned: &Planned<'_>, with_joint: &mut HashSet<usize>) {
        let joint = planned.joint;
        let place = self.place(planned);
        let is_free = |n: usize| !with_joint.contains(&n);
        // A node is called like the joint on it.
        let keeps_name = |n: usize| joint.name.as_ref().is_none_or(|name| *name == self.reader.reference(n));
        // OMI wants a node of its own for each joint, and two bodies.
        let may_be_body = self.dialect == Dialect::Khronos;
        let lies_right = |i: usize| {
            planned.origins[i].filter(|&n| match planned.ends[i] {
                Some(end) => self.owner[n].unwrap_or(n) == end,
                None => may_be_body && self.owner[n].is_none() && !self.is_moved(n),
            })
        };
        let own = [
            lies_right(0)
                .filter(|&n| is_free(n) && keeps_name(n) && (may_be_body || !self.bodies.contains(&n))),
            lies_right(1),
        ];
        let (own, axis) = match place.own_axis {
            // Other axes than x are read back as a direction in the world only if both nodes have it.
            Some(axis) if axis == 0 || own.iter().all(Option::is_some) => (own, axis),
            _ => ([None, None], 0),
        };
        let frame = Frame { axis, length: place.length, metres_per_unit: self.setup.world.metres_per_unit };
        let Some(Described { value, notes }) = describe(joint, frame) else { return };
        let label = format!("joint \"{}\"", planned.name);
        notes.into_iter().for_each(|what| self.notes.add(what, label.clone()));
        let other = format!("{} (other side)", planned.name);
        let names = [planned.name.as_str(), other.as_str()];
        let sides =
            [0, 1].map(|i| own[i].or_else(|| self.add_node(planned.ends[i], names[i], &place.frames[i])));
        let [Some(here), Some(there)] = sides else {
            self.notes.add("it is left out: a body is flat, and has no place for it", label);
            return;
        };
        if self.dialect == Dialect::Omi {
            // It joins bodies only; the world is one that holds still.
            let still = (0..2).filter(|&i| planned.ends[i].is_none());
            for i in still {
                *at(self.extension([here, there][i], OMI_BODY), "motion") = json!({ "type": "static" });
            }
        }
        with_joint.insert(here);
        let (extension, key) = match self.dialect {
            Dialect::Khronos => (KHR_BODY, Some("joint")),
            Dialect::Omi => (OMI_JOINT, None),
        };
        let described = self.listed(extension, "physicsJoints", value);
        let mut value = json!({ "joint": described, "connectedNode": there });
        if joint.collide && self.dialect == Dialect::Khronos {
            *at(&mut value, "enableCollision") = json!(true);
        } else if joint.collide {
            self.notes.add(
                "`collide` is left out: what is joined does not touch",
                format!("joint \"{}\"", planned.name),
            );
        }
        let to = self.extension(here, extension);
        match key {
            Some(key) => *at(to, key) = value,
            None => *to = value,
        }
    }

    /// Where a joint is at the first frame.
    fn place(&self, planned: &Planned<'_>) -> Place {
        let joint = planned.joint;
        let of = |node: Option<usize>| node.map_or(Placement::IDENTITY, |n| self.reader.pose.placement(n));
        let ends = planned.ends.map(of);
        let mut frames = planned.origins.map(of);
        let mut own_axis = planned.origins.iter().any(Option::is_some).then_some(0);
        if let Some(own) = joint.frames {
            for ((frame, end), own) in frames.iter_mut().zip(&ends).zip(own) {
                let rotation = DQuat::from_array(own.rotation).normalize();
                *frame = end.then(&Placement { position: own.position.into(), rotation });
            }
            own_axis = None;
        } else if let Some(axis) = joint.axis.and_then(|a| DVec3::from_array(a).try_normalize()) {
            let in_line = frames[0].rotation.angle_between(frames[1].rotation) < SAME;
            let is_own = |k: &usize| (frames[0].rotation * DVec3::AXES[*k] - axis).length() < SAME;
            own_axis = (0..3).find(is_own).filter(|_| in_line && is_round(joint));
            if own_axis != Some(0) {
                frames.iter_mut().for_each(|f| f.rotation = towards(axis));
            }
        }
        let apart = (frames[1].position - frames[0].position).length();
        let mut length = joint.length.unwrap_or(apart);
        if let (JointKind::Segment, &[from, to]) = (joint.kind, joint.points.as_slice()) {
            let (from, to) = (DVec3::from_array(from), DVec3::from_array(to));
            length = (to - from).length();
            let along = towards((to - from).try_normalize().unwrap_or(DVec3::X));
            frames[0] = ends[0].then(&Placement { position: from, rotation: along });
            frames[1].rotation = frames[0].rotation;
            own_axis = None;
        }
        Place { frames, own_axis, length }
    }
}

/// Whether a joint is the same however it is turned about its main axis.
fn is_round(joint: &Joint) -> bool {
    let cone = joint.swing_deg.as_ref().and_then(|s| s.cone);
    joint.kind != JointKind::InsideBox && cone.is_none_or(|c| c[0] == c[1])
}

/// A rotation that takes x to `axis` the shortest way, as set-ups mean it.
pub(crate) fn towards(axis: DVec3) -> DQuat {
    match axis.x < -1.0 + 1e-12 {
        true => DQuat::from_rotation_y(std::f64::consts::PI),
        false => DQuat::from_rotation_arc(DVec3::X, axis),
    }
}
