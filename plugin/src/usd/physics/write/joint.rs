//! Joints, written: the kind of UsdPhysics that holds the same, else one with limits by direction.

use super::{Writer, quatf, vec3f};
use crate::error::Error;
use crate::gltf::physics::{Frame, describe, towards};
use crate::usd::Home;
use crate::usd::physics::facts::JointFact;
use crate::usd::physics::patch;
use glam::{DQuat, DVec3};
use openusd::sdf::Value;
use sinew_core::scene::Placement;
use sinew_core::setup::{At, Joint, JointKind};

impl Writer<'_> {
    /// Lets go of the joints that the stage has and the set-up does not.
    pub(super) fn release(&mut self) {
        for joint in &self.document.physics.joints {
            if !self.joint_paths.contains(&Some(joint.path.clone())) {
                self.edits.set(&joint.path, "physics:jointEnabled", "bool", Value::Bool(false));
            }
        }
    }

    /// Writes a joint.
    pub(super) fn joint(&mut self, joint: &Joint) -> Result<(), Error> {
        let [a, b] = &joint.between;
        let is_world = |name: &str| name == "world" && !self.names.contains_key("world");
        let ends: [Option<usize>; 2] =
            match [a, b].map(|n| if is_world(n) { Ok(None) } else { self.node(n).map(Some) }) {
                [Ok(a), Ok(b)] => [a, b],
                [Err(e), _] | [_, Err(e)] => return Err(e),
            };
        let is_prim = |n: &usize| matches!(self.document.homes[*n], Home::Prim(_));
        let frame = self.place(joint, ends)?;
        let length = joint.length.unwrap_or((frame[1].position - frame[0].position).length());
        let described = describe(joint, Frame { axis: 0, length, metres_per_unit: 1.0 });
        let (Some(described), true) = (described, ends.iter().flatten().all(is_prim)) else {
            self.warnings.push(format!(
                "the joint \"{}\" has no counterpart in UsdPhysics: only Sinew reads it back",
                joint.name.clone().unwrap_or_else(|| format!("{a} - {b}"))
            ));
            self.joint_paths.push(None);
            return Ok(());
        };
        let name = joint.name.clone().unwrap_or_else(|| format!("{a}_{b}"));
        let is_own = |j: &&JointFact| j.path == name || patch::joint_name(&j.path, j.patch.as_ref()) == name;
        let old = self
            .document
            .physics
            .joints
            .iter()
            .find(is_own)
            .map(|j| j.path.clone())
            .filter(|p| !self.joint_paths.contains(&Some(p.clone())));
        let path = old.unwrap_or_else(|| self.fresh(&name));
        if let Some(fact) = self.document.physics.joints.iter().find(|j| j.path == path) {
            for way in fact.bounds.keys() {
                self.edits.unapply(&path, &format!("PhysicsLimitAPI:{way}"));
            }
            for drive in &fact.drives {
                self.edits.unapply(&path, &format!("PhysicsDriveAPI:{}", drive.direction));
            }
        }
        self.joint_prim(joint, &path, ends, &frame, length, &described.value);
        self.joint_paths.push(Some(path));
        Ok(())
    }

    /// Frames in the world at the first frame.
    fn place(&self, joint: &Joint, ends: [Option<usize>; 2]) -> Result<[Placement; 2], Error> {
        let of = |n: Option<usize>| n.map_or(Placement::IDENTITY, |n| self.pose.placement(n));
        if let Some(own) = joint.frames {
            let frame = |i: usize| {
                let rotation = DQuat::from_array(own[i].rotation).normalize();
                of(ends[i]).then(&Placement { position: own[i].position.into(), rotation })
            };
            return Ok([frame(0), frame(1)]);
        }
        let origins = match &joint.at {
            None => [ends[1]; 2],
            Some(At::Node(n)) => [Some(self.node(n)?); 2],
            Some(At::Nodes([n, m])) => [Some(self.node(n)?), Some(self.node(m)?)],
        };
        let mut frames = origins.map(of);
        if let Some(axis) = joint.axis.and_then(|a| DVec3::from_array(a).try_normalize()) {
            frames.iter_mut().for_each(|f| f.rotation = towards(axis));
        }
        Ok(frames)
    }

    fn joint_prim(
        &mut self,
        joint: &Joint,
        path: &str,
        ends: [Option<usize>; 2],
        frames: &[Placement; 2],
        length: f64,
        described: &serde_json::Value,
    ) {
        let units = self.document.units;
        let turn = joint.turn_deg.as_ref().and_then(|t| t.limits);
        let slide = joint.slide.as_ref().and_then(|s| s.limits);
        let cone = joint.swing_deg.as_ref().and_then(|s| s.cone);
        let is_plain_ball =
            joint.kind == JointKind::Universal && joint.turn_deg.is_none() && joint.give.is_none();
        let kind = match joint.kind {
            JointKind::Fixed => "PhysicsFixedJoint",
            JointKind::Pin => "PhysicsRevoluteJoint",
            JointKind::Prismatic => "PhysicsPrismaticJoint",
            JointKind::Distance | JointKind::Rope => "PhysicsDistanceJoint",
            _ if is_plain_ball => "PhysicsSphericalJoint",
            _ => "PhysicsJoint",
        };
        self.edits.define(path, kind);
        for (i, end) in ends.into_iter().enumerate() {
            let target = end.and_then(|n| self.document.path_of_node(n));
            let rel = format!("physics:body{i}");
            match &target {
                Some(target) => self.edits.target(path, &rel, &[target]),
                None => self.edits.target(path, &rel, &[]),
            }
            let (position, rotation) = match end {
                Some(n) => {
                    let place = self.pose.placement(n);
                    let local = self.pose.world(n).inverse().transform_point3(frames[i].position);
                    (local / units.metres, place.rotation.inverse() * frames[i].rotation)
                }
                None => (
                    units.direction_back(frames[i].position) / units.metres,
                    units.turn().inverse() * frames[i].rotation,
                ),
            };
            self.edits.set(path, &format!("physics:localPos{i}"), "point3f", vec3f(position));
            self.edits.set(path, &format!("physics:localRot{i}"), "quatf", quatf(rotation));
        }
        self.edits.set(path, "physics:jointEnabled", "bool", Value::Bool(true));
        self.edits.set(path, "physics:collisionEnabled", "bool", Value::Bool(joint.collide));
        if kind != "PhysicsFixedJoint" && kind != "PhysicsJoint" && kind != "PhysicsDistanceJoint" {
            self.edits.set_uniform(path, "physics:axis", "token", Value::Token("X".into()));
        }
        let infinite = f64::INFINITY;
        let force = units.kilograms * units.metres;
        let mut number =
            |name: &str, value: f64| self.edits.set(path, name, "float", Value::Float(value as f32));
        number("physics:breakForce", joint.break_force.map_or(infinite, |f| f / force));
        number("physics:breakTorque", joint.break_torque.map_or(infinite, |f| f / (force * units.metres)));
        match kind {
            "PhysicsRevoluteJoint" => {
                let [low, high] = turn.unwrap_or([-infinite, infinite]);
                number("physics:lowerLimit", low);
                number("physics:upperLimit", high);
            }
            "PhysicsPrismaticJoint" => {
                let [low, high] = slide.map_or([-infinite, infinite], |s| s.map(|v| v / units.metres));
                number("physics:lowerLimit", low);
                number("physics:upperLimit", high);
            }
            "PhysicsSphericalJoint" => {
                let [about_y, about_z] = cone.unwrap_or([-1.0, -1.0]);
                number("physics:coneAngle0Limit", about_z);
                number("physics:coneAngle1Limit", about_y);
            }
            "PhysicsDistanceJoint" => {
                let least = if joint.kind == JointKind::Distance { length / units.metres } else { 0.0 };
                number("physics:minDistance", least);
                number("physics:maxDistance", length / units.metres);
            }
            "PhysicsJoint" => self.bounds(path, described),
            _ => {}
        }
        for drive in described["drives"].as_array().into_iter().flatten() {
            self.drive(path, kind, drive);
        }
    }

    /// Limits by direction.
    fn bounds(&mut self, path: &str, described: &serde_json::Value) {
        let metres = self.document.units.metres;
        for limit in described["limits"].as_array().into_iter().flatten() {
            let end = |key: &str| limit[key].as_f64();
            let (least, most) = (end("min"), end("max"));
            for (key, letter, unit) in
                [("linearAxes", "trans", 1.0 / metres), ("angularAxes", "rot", 1_f64.to_degrees())]
            {
                let axes: Vec<usize> = limit[key]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|a| a.as_u64())
                    .map(|a| a as usize)
                    .collect();
                let is_tilt = axes.len() == 2 && letter == "rot" && most != Some(0.0);
                for axis in &axes {
                    let way = format!("{letter}{}", ["X", "Y", "Z"][*axis % 3]);
                    let [low, high] = match (least, most) {
                        (Some(a), Some(b)) if a == 0.0 && b == 0.0 => [1.0, -1.0],
                        (_, Some(b)) if is_tilt => [-b * unit, b * unit],
                        (a, b) => {
                            [a.map_or(f64::NEG_INFINITY, |v| v * unit), b.map_or(f64::INFINITY, |v| v * unit)]
                        }
                    };
                    self.edits.apply(path, &format!("PhysicsLimitAPI:{way}"));
                    for (name, value) in [("low", low), ("high", high)] {
                        let name = format!("limit:{way}:physics:{name}");
                        self.edits.set(path, &name, "float", Value::Float(value as f32));
                    }
                }
            }
        }
    }

    fn drive(&mut self, path: &str, kind: &str, drive: &serde_json::Value) {
        let units = self.document.units;
        let is_linear = drive["type"] == "linear";
        let axis = drive["axis"].as_u64().unwrap_or(0) as usize % 3;
        let letter = ["X", "Y", "Z"][axis];
        let way = match (kind, is_linear) {
            ("PhysicsRevoluteJoint", false) => "angular".to_owned(),
            ("PhysicsPrismaticJoint", true) => "linear".to_owned(),
            (_, true) => format!("trans{letter}"),
            (_, false) => format!("rot{letter}"),
        };
        let (unit, spring) = match is_linear {
            true => (1.0 / units.metres, 1.0 / units.kilograms),
            false => {
                let torque = units.kilograms * units.metres * units.metres;
                (1_f64.to_degrees(), 1_f64.to_radians() / torque)
            }
        };
        let force = units.kilograms * units.metres * if is_linear { 1.0 } else { units.metres };
        self.edits.apply(path, &format!("PhysicsDriveAPI:{way}"));
        let number = |key: &str| drive[key].as_f64();
        let mut set = |name: &str, value: f64| {
            let name = format!("drive:{way}:physics:{name}");
            self.edits.set(path, &name, "float", Value::Float(value as f32));
        };
        set("stiffness", number("stiffness").unwrap_or(0.0) * spring);
        set("damping", number("damping").unwrap_or(0.0) * spring);
        set("targetPosition", number("positionTarget").unwrap_or(0.0) * unit);
        set("maxForce", number("maxForce").map_or(f64::INFINITY, |m| m / force));
        let name = format!("drive:{way}:physics:type");
        self.edits.set_uniform(path, &name, "token", Value::Token("force".into()));
    }
}
