//! Joints between bodies: which two, where, and of which kind.

use super::limit::{Limits, Nearest};
use super::{KHR_BODY, OMI_JOINT, Reader, index};
use glam::DVec3;
use serde_json::Value;
use sinew_core::setup::{At, Joint, JointKind};

/// Frames turned by less than this against each other are the same, rad.
const SAME_TURN: f64 = 1e-3;

/// A joint as the document has it.
struct Found<'a> {
    limits: Vec<&'a Value>,
    has_drives: bool,
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
            self.found(node, khronos, &root[KHR_BODY]["physicsJoints"])
        } else if let Some(constraints) = omi["constraints"].as_array() {
            // As it was before 2024: a node of its own, between two others.
            let list = &root[OMI_JOINT]["constraints"];
            Found {
                limits: constraints.iter().filter_map(index).map(|i| &list[i]).collect(),
                has_drives: false,
                nodes: [self.node(&omi["nodeA"]), self.node(&omi["nodeB"])],
                at: [node, node],
            }
        } else if omi.is_object() {
            self.found(node, omi, &root[OMI_JOINT]["physicsJoints"])
        } else {
            return None;
        };
        self.joined(node, &found)
    }

    fn found<'v>(&self, node: usize, joint: &Value, list: &'v Value) -> Found<'v> {
        let described = index(&joint["joint"]).map_or(&Value::Null, |i| &list[i]);
        let other = self.node(&joint["connectedNode"]);
        Found {
            limits: described["limits"].as_array().map_or_else(Vec::new, |l| l.iter().collect()),
            has_drives: described["drives"].as_array().is_some_and(|d| !d.is_empty()),
            nodes: [Some(node), other],
            at: [node, other.unwrap_or(node)],
        }
    }

    fn joined(&mut self, node: usize, found: &Found<'_>) -> Option<Joint> {
        let [Some(a), Some(b)] = found.nodes else {
            self.note("a joint that does not say what it joins is left out", node);
            return None;
        };
        let [a, b] = [a, b].map(|n| self.owner[n].unwrap_or(n));
        if a == b || !(self.simulated.contains(&a) || self.simulated.contains(&b)) {
            self.note("a joint that joins nothing that physics moves is left out", node);
            return None;
        }
        let mut limits = Limits::default();
        found.limits.iter().for_each(|l| limits.add(l));
        let nearest = limits.nearest();
        let is_exact = nearest.is_none_or(|n| n.is_exact);
        for (what, there) in [
            ("joint drives are left out", found.has_drives),
            ("soft joint limits are held hard", limits.is_soft && nearest.is_some()),
            ("ranges of joints are left out: what they bound is free", limits.has_range),
            (
                "the joint becomes the nearest kind there is, which holds less or more than its limits",
                !is_exact,
            ),
            ("a joint that holds no place and no distance is left out", nearest.is_none()),
        ] {
            if there {
                self.note(what, node);
            }
        }
        let Nearest { kind, axis, length, .. } = nearest?;
        let turns = found.at.map(|n| self.pose.placement(n).rotation);
        let has_axis =
            !matches!(kind, JointKind::Universal | JointKind::Fixed | JointKind::Distance | JointKind::Rope);
        // The x axes of the two nodes are what a set-up takes by itself.
        let axis = (has_axis && axis != 0).then(|| {
            let apart = turns[0].angle_between(turns[1]);
            if apart > SAME_TURN && !matches!(kind, JointKind::BallSocket | JointKind::SmoothContact) {
                self.note("a joint that starts turned stays so: its two sides are not brought in line", node);
            }
            (turns[0] * DVec3::AXES[axis]).to_array()
        });
        let [here, there] = found.at.map(|n| self.reference(n));
        Some(Joint {
            name: Some(self.reference(node)),
            at: Some(if here == there { At::Node(here) } else { At::Nodes([here, there]) }),
            axis,
            length,
            ..Joint::new(kind, [&self.reference(a), &self.reference(b)])
        })
    }
}
