//! Joints between bodies: which two, where, and of which kind.

use super::drive::{Drive, drives};
use super::limit::Limits;
use super::nearest::{Nearest, nearest};
use super::{Dialect, KHR_BODY, OMI_JOINT, Reader, index};
use glam::{DMat3, DQuat, DVec3};
use serde_json::Value;
use sinew_core::scene::Placement;
use sinew_core::setup::{At, Joint, JointFrame, JointKind};

/// Frames turned by less than this against each other are the same, rad.
const SAME_TURN: f64 = 1e-3;

/// A joint as the document has it.
struct Found<'a> {
    dialect: Dialect,
    limits: Vec<&'a Value>,
    drives: Vec<Drive>,
    notes: Vec<&'static str>,
    /// Whether the two touch each other, too.
    collides: bool,
    /// The two nodes that it joins; each belongs to the nearest body above it.
    nodes: [Option<usize>; 2],
    /// Where it is, on each side.
    at: [usize; 2],
}

impl Reader<'_> {
    /// The joint of a node. Where both dialects have one, they mean the same.
    pub(super) fn joint(&mut self, node: usize) -> Option<Joint> {
        let root = &self.json["extensions"];
        let extensions = self.extensions(node);
        let (omi, khronos) = (&extensions[OMI_JOINT], &extensions[KHR_BODY]["joint"]);
        let found = if khronos.is_object() {
            self.found(node, khronos, &root[KHR_BODY]["physicsJoints"], Dialect::Khronos)
        } else if let Some(constraints) = omi["constraints"].as_array() {
            // As it was before 2024: a node of its own, between two others.
            let list = &root[OMI_JOINT]["constraints"];
            Found {
                dialect: Dialect::Omi,
                limits: constraints.iter().filter_map(index).map(|i| &list[i]).collect(),
                drives: Vec::new(),
                notes: Vec::new(),
                collides: false,
                nodes: [self.node(&omi["nodeA"]), self.node(&omi["nodeB"])],
                at: [node, node],
            }
        } else if omi.is_object() {
            self.found(node, omi, &root[OMI_JOINT]["physicsJoints"], Dialect::Omi)
        } else {
            return None;
        };
        self.joined(node, &found)
    }

    fn found<'v>(&self, node: usize, joint: &Value, list: &'v Value, dialect: Dialect) -> Found<'v> {
        let described = index(&joint["joint"]).map_or(&Value::Null, |i| &list[i]);
        let other = self.node(&joint["connectedNode"]);
        let (drives, notes) = drives(described);
        Found {
            dialect,
            limits: described["limits"].as_array().map_or_else(Vec::new, |l| l.iter().collect()),
            drives,
            notes,
            collides: joint["enableCollision"] == true,
            nodes: [Some(node), other],
            at: [node, other.unwrap_or(node)],
        }
    }

    fn joined(&mut self, node: usize, found: &Found<'_>) -> Option<Joint> {
        let [Some(a), Some(b)] = found.nodes else {
            self.note("a joint that does not say what it joins is left out", node);
            return None;
        };
        let ends = [a, b].map(|n| self.owner[n].unwrap_or(n));
        if ends[0] == ends[1] || !ends.iter().any(|n| self.simulated.contains(n)) {
            self.note("a joint that joins nothing that physics moves is left out", node);
            return None;
        }
        let mut limits = Limits::default();
        found.limits.iter().for_each(|l| limits.add(l, found.dialect));
        let (nearest, notes) = nearest(&limits, &found.drives);
        found.notes.iter().chain(&notes).for_each(|what| self.note(what, node));
        let nearest = nearest?;
        let place = self.place(&nearest, found.at, ends);
        let Nearest { kind, length, size, slide, turn_deg, swing_deg, give, .. } = nearest;
        Some(Joint {
            name: Some(self.reference(node)),
            at: place.at,
            frames: place.frames,
            axis: place.axis,
            length,
            size: size.map(|s| s.0),
            slide,
            turn_deg,
            swing_deg,
            give,
            collide: found.collides,
            ..Joint::new(kind, [&self.reference(ends[0]), &self.reference(ends[1])])
        })
    }

    /// Where a joint is that the file has at two nodes: at these, if its main axis is their x axis; about a direction
    /// in the world, if that says as much; else in frames of its own.
    fn place(&self, joint: &Nearest, at: [usize; 2], ends: [usize; 2]) -> Place {
        let frames = at.map(|n| self.pose.placement(n));
        let middle = joint.size.map_or(DVec3::ZERO, |s| DVec3::from_array(s.1));
        let nodes = || {
            let [here, there] = at.map(|n| self.reference(n));
            Some(if here == there { At::Node(here) } else { At::Nodes([here, there]) })
        };
        let has_fields = joint.turn_deg.is_some() || joint.swing_deg.is_some();
        let is_along = |kind| matches!(kind, JointKind::BallSocket | JointKind::SmoothContact);
        let has_axis = has_fields
            || is_along(joint.kind)
            || matches!(
                joint.kind,
                JointKind::Pin | JointKind::Cylindrical | JointKind::Prismatic | JointKind::Plane
            );
        if middle == DVec3::ZERO && (joint.axis == 0 || !has_axis) {
            return Place { at: nodes(), ..Place::default() };
        }
        let in_line = frames[0].rotation.angle_between(frames[1].rotation) <= SAME_TURN;
        let is_round = joint.swing_deg.as_ref().and_then(|s| s.cone).is_none_or(|cone| cone[0] == cone[1]);
        let says_enough = is_round && (in_line || (is_along(joint.kind) && !has_fields));
        if middle == DVec3::ZERO && says_enough {
            let axis = frames[0].rotation * DVec3::AXES[joint.axis];
            return Place { at: nodes(), axis: Some(axis.to_array()), frames: None };
        }
        let turn = main_axis(joint.axis);
        let shifts = [turn.inverse() * middle, DVec3::ZERO];
        let frame = |i: usize| {
            let main = Placement { position: DVec3::ZERO, rotation: turn };
            let shift = Placement { position: shifts[i], rotation: DQuat::IDENTITY };
            let local = self.pose.placement(ends[i]).to(&frames[i].then(&main).then(&shift));
            JointFrame {
                position: local.position.to_array(),
                rotation: local.rotation.normalize().to_array(),
            }
        };
        Place { frames: Some([frame(0), frame(1)]), ..Place::default() }
    }
}

/// How a set-up says where a joint is.
#[derive(Default)]
struct Place {
    at: Option<At>,
    axis: Option<[f64; 3]>,
    frames: Option<[JointFrame; 2]>,
}

/// The rotation that takes x, y, z to the axis of that index and the two after it.
pub(crate) fn main_axis(axis: usize) -> DQuat {
    let of = |i: usize| DVec3::AXES[(axis + i) % 3];
    DQuat::from_mat3(&DMat3::from_cols(of(0), of(1), of(2)))
}
