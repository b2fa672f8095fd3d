//! Bodies as motions: who moves a node, its mass and how it starts.

use super::tree::{at, take};
use super::{Dialect, KHR_BODY, OMI_BODY, Physics, Writer};
use crate::gltf::physics::motion::Motion;
use glam::{DMat3, DVec3};
use serde_json::{Value, json};
use sinew_core::setup::{Actuator, Behaviour, Guide, Parts};

/// What a set-up says of a motion. Whatever else a file has in it stays.
const OURS: [&str; 8] = [
    "type",
    "isKinematic",
    "mass",
    "centerOfMass",
    "inertiaDiagonal",
    "inertiaOrientation",
    "linearVelocity",
    "angularVelocity",
];

impl Writer<'_> {
    /// Writes the motion of a node, if it is a body and the file does not say just that already.
    pub(super) fn motion(&mut self, node: usize, before: Option<&Physics>) {
        if !self.bodies.contains(&node) {
            return;
        }
        let old = Motion::of(self.reader.extensions(node)).map(|m| (m.dialect, m.is_dynamic));
        let body = self.simulated.get(&node).copied();
        let listed = self.obstacles.get(&node).map(|&b| self.setup.bodies[b].behaviour);
        if body.is_none() && old == Some((self.dialect, false)) {
            return;
        }
        let is_said = |body: usize| {
            let mut read = before.iter().flat_map(|p| &p.setup.bodies);
            self.is_in_metres()
                && old == Some((self.dialect, true))
                && read.any(|b| *b == self.setup.bodies[body])
        };
        if let Some(body) = body.filter(|&b| is_said(b)) {
            self.note_rest(node, body);
            return;
        }
        let mut motion = self.take_motion(node);
        OURS.iter().for_each(|key| _ = take(&mut motion, key));
        let is_kinematic = match listed {
            Some(behaviour) => behaviour == Behaviour::Animated,
            None => self.is_moved(node),
        };
        match (body, self.dialect) {
            (Some(body), _) => self.dynamic(node, body, &mut motion),
            (None, Dialect::Khronos) => *at(&mut motion, "isKinematic") = json!(true),
            (None, Dialect::Omi) => {
                *at(&mut motion, "type") = json!(if is_kinematic { "kinematic" } else { "static" });
            }
        }
        *at(self.extension(node, self.dialect.extension()), "motion") = motion;
    }

    /// Removes the motions that a node has, and returns that of the family to write.
    fn take_motion(&mut self, node: usize) -> Value {
        let khronos = self.take(node, KHR_BODY, "motion");
        let mut omi = self.take(node, OMI_BODY, "motion");
        // Before 2024 it stood in the extension itself.
        if omi.is_none() && self.reader.extensions(node)[OMI_BODY]["type"].is_string() {
            let taken = OURS.iter().filter_map(|key| Some(((*key).into(), self.take(node, OMI_BODY, key)?)));
            omi = Some(Value::Object(taken.collect()));
        }
        let same = if self.dialect == Dialect::Khronos { khronos } else { omi };
        same.filter(Value::is_object).unwrap_or_else(|| json!({}))
    }

    /// The motion of something that physics moves.
    fn dynamic(&mut self, node: usize, index: usize, motion: &mut Value) {
        let body = &self.setup.bodies[index];
        let is_khronos = self.dialect == Dialect::Khronos;
        let per_unit = 1.0 / self.setup.world.metres_per_unit;
        if !is_khronos {
            *at(motion, "type") = json!("dynamic");
        }
        // Without a mass, a file of Khronos means 1000 kg/m^3 of its colliders, as a set-up does.
        let is_by_volume = is_khronos && body.density.is_none() && per_unit == 1.0;
        let solid = self.rig.solids.iter().find(|s| s.node == node);
        let mass = body.mass.or_else(|| solid.filter(|_| !is_by_volume).map(|s| s.mass));
        if let Some(mass) = mass {
            *at(motion, "mass") = json!(mass);
        }
        let frame = self.reader.pose.placement(node);
        if let Some(center) = body.center.map(DVec3::from_array) {
            let stretch: DMat3 = self.reader.pose.world(node).matrix3;
            let center = stretch.inverse() * (frame.rotation * center);
            match center.is_finite() {
                true => *at(motion, "centerOfMass") = json!(center.to_array()),
                false => self.note_body("`center` is left out: the node is flat", node),
            }
        }
        if let Some(inertia) = body.inertia {
            *at(motion, "inertiaDiagonal") = json!(inertia.map(|i| i * per_unit * per_unit));
        }
        let turn = |v: DVec3| if is_khronos { frame.rotation.inverse() * v } else { v };
        if let Some(velocity) = body.velocity.map(DVec3::from_array) {
            *at(motion, "linearVelocity") = json!(turn(velocity * per_unit).to_array());
        }
        if let Some(spin) = body.spin.map(DVec3::from_array) {
            *at(motion, "angularVelocity") = json!(turn(spin).to_array());
        }
        self.note_rest(node, index);
    }

    /// Notes what motions have no words for.
    fn note_rest(&mut self, node: usize, index: usize) {
        let body = &self.setup.bodies[index];
        let is_guided = body.behaviour == Behaviour::Guided;
        let is_keyed = self.is_keyed(node);
        let has_settings =
            body.guide != Guide::default() || body.actuator != Actuator::default() || !body.groups.is_empty();
        for (what, there) in [
            (
                "`guide`, `actuator` and `groups` are left out: where the clip moves a body, it is read as guided by default",
                is_guided && has_settings,
            ),
            ("a guided body that the clip does not move is read as free", is_guided && !is_keyed),
            ("a free body that the clip moves is read as guided", !is_guided && is_keyed),
            ("`simulate` is left out: position and orientation are simulated", body.simulate != Parts::Both),
            (
                "`center` of 0 0 0 is read as not given: OMI_physics_body has it for a default",
                self.dialect == Dialect::Omi
                    && body.center == Some([0.0; 3])
                    && self.is_off_center(node, index),
            ),
        ] {
            if there {
                self.note_body(what, node);
            }
        }
    }
}
