//! Joints of UsdPhysics: their limits and drives in metres and radians, and the joint of a set-up that is nearest.

use super::Maker;
use super::facts::{DriveFact, JointFact};
use crate::gltf::physics::{Drive, Limits, Nearest, Way, main_axis, nearest};
use glam::{DQuat, DVec3};
use sinew_core::scene::Placement;
use sinew_core::setup::{Between, Joint, JointFrame, Keyable, Keys, Swing};
use std::collections::HashMap;
use std::f64::consts::PI;

/// One-sided slides end this far away, m: farther than anything in a scene, and still a number in JSON.
const FAR: f64 = 1e6;

/// Longer than any shot, s.
const FOREVER: f64 = 1e5;

/// Directions of limits and drives.
const WAYS: [(&str, bool, usize); 6] = [
    ("transX", true, 0),
    ("transY", true, 1),
    ("transZ", true, 2),
    ("rotX", false, 0),
    ("rotY", false, 1),
    ("rotZ", false, 2),
];

impl Maker<'_> {
    /// The joints, in the order of the stage.
    pub(super) fn joints(&mut self) -> Vec<Joint> {
        let facts = self.facts;
        let short = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let mut count: HashMap<String, usize> = HashMap::new();
        facts.joints.iter().for_each(|j| *count.entry(short(&j.path)).or_default() += 1);
        let mut joints = Vec::new();
        for fact in &facts.joints {
            let name = short(&fact.path);
            let name = if count[&name] == 1 { name } else { fact.path.clone() };
            let Some((joint, range)) = self.joint(fact, name) else { continue };
            joints.push(joint);
            joints.extend(range);
        }
        joints
    }

    /// A joint, and one more for ranges of tilting that are wider to one side: a cone is as wide to both, about a middle
    /// that springs need not have.
    fn joint(&mut self, fact: &JointFact, name: String) -> Option<(Joint, Option<Joint>)> {
        if !fact.is_on {
            self.note("a joint that is not enabled is left out", &fact.path);
            return None;
        }
        let ends = fact.ends.map(|n| n.map(|n| self.reader.owner[n].unwrap_or(n)));
        let is_simulated = |n: &usize| self.reader.simulated.contains(n);
        if fact.is_astray {
            self.note("a joint to a prim that does not exist is left out; correct its bodies", &fact.path);
            return None;
        }
        if !fact.is_lost && ends[0] == ends[1] && ends[0].is_some() {
            self.note("a joint from a body to itself is left out; give it another body", &fact.path);
            return None;
        }
        if fact.is_lost || ends[0] == ends[1] || !ends.iter().flatten().any(is_simulated) {
            self.note("a joint that joins nothing that physics moves is left out", &fact.path);
            return None;
        }
        let limits = self.limits(fact);
        let drives: Vec<Drive> = fact.drives.iter().filter_map(|d| self.drive(fact, d)).collect();
        let (found, notes) = nearest(&limits, &drives);
        let mut found = found?;
        self.turn_on(fact, &mut found);
        let frames = self.frames(fact, &found, ends);
        let tilt =
            tilt(&limits, found.axis).filter(|_| found.swing_deg.as_ref().is_some_and(|s| s.cone.is_some()));
        if tilt.is_some()
            && let Some(swing) = &mut found.swing_deg
        {
            swing.cone = None;
            found.swing_deg = found.swing_deg.filter(|s| *s != Swing::default());
        }
        let is_said = |what: &&&str| {
            tilt.is_some() && **what == "a cone is as wide to both sides: it is as wide as the wider one"
        };
        notes.iter().filter(|what| !is_said(what)).for_each(|what| self.note(what, &fact.path));
        let reference = |n: Option<usize>| n.map_or_else(|| "world".to_owned(), |n| self.reader.reference(n));
        let [a, b] = ends.map(reference);
        let units = self.document.units;
        let force = units.kilograms * units.metres;
        let Nearest { kind, length, size, slide, turn_deg, swing_deg, give, .. } = found;
        let range = tilt.map(|(cone, turn)| {
            let mut frames = frames;
            let rotation = DQuat::from_array(frames[0].rotation) * turn;
            frames[0].rotation = rotation.normalize().to_array();
            let swing_deg = Some(Swing { cone: Some(cone), ..Swing::default() });
            let name = Some(format!("{name} range"));
            let collide = fact.collides;
            Joint { name, frames: Some(frames), swing_deg, collide, ..Joint::new(kind, [&a, &b]) }
        });
        let joint = Joint {
            name: Some(name),
            frames: Some(frames),
            length,
            size: size.map(|s| s.0),
            slide,
            turn_deg,
            swing_deg,
            give,
            break_force: fact.break_force.map(|f| f * force),
            break_torque: fact.break_torque.map(|f| f * force * units.metres),
            collide: fact.collides,
            ..Joint::new(kind, [&a, &b])
        };
        Some((joint, range))
    }

    /// The frames in the spaces of the two ends, the main axis along x.
    fn frames(&self, fact: &JointFact, joint: &Nearest, ends: [Option<usize>; 2]) -> [JointFrame; 2] {
        let units = self.document.units;
        let turn = main_axis(joint.axis);
        let middle = joint.size.map_or(DVec3::ZERO, |s| DVec3::from_array(s.1));
        let frame = |i: usize| {
            let (position, rotation) = (fact.positions[i] * units.metres, fact.rotations[i]);
            let at = match fact.ends[i] {
                Some(node) => Placement {
                    position: self.reader.pose.world(node).transform_point3(position),
                    rotation: self.reader.pose.placement(node).rotation * rotation,
                },
                None => Placement { position: units.direction(position), rotation: units.turn() * rotation },
            };
            let shift = if i == 0 { turn.inverse() * middle } else { DVec3::ZERO };
            let main = Placement { position: DVec3::ZERO, rotation: turn };
            let shift = Placement { position: shift, rotation: DQuat::IDENTITY };
            let from = ends[i].map_or(Placement::IDENTITY, |n| self.reader.pose.placement(n));
            let local = from.to(&at.then(&main).then(&shift));
            JointFrame {
                position: local.position.to_array(),
                rotation: local.rotation.normalize().to_array(),
            }
        };
        [frame(0), frame(1)]
    }

    /// What a joint holds.
    fn limits(&mut self, fact: &JointFact) -> Limits {
        let metres = self.document.units.metres;
        let locked = Way { hold: Some(0.0), ..Way::default() };
        let mut limits = Limits::default();
        let [a, b, c] = [fact.axis, (fact.axis + 1) % 3, (fact.axis + 2) % 3];
        let range = |unit: f64, far: f64| -> Option<[f64; 2]> {
            let [low, high] = fact.limits;
            if low.is_none() && high.is_none() {
                return None;
            }
            Some([low.map_or(-far, |v| v * unit), high.map_or(far, |v| v * unit)])
        };
        let degrees = 1_f64.to_radians();
        match fact.kind.as_str() {
            "PhysicsFixedJoint" => (limits.linear, limits.angular) = ([locked; 3], [locked; 3]),
            "PhysicsRevoluteJoint" => {
                (limits.linear, limits.angular) = ([locked; 3], [locked; 3]);
                limits.angular[a] = way(range(degrees, PI));
            }
            "PhysicsPrismaticJoint" => {
                (limits.linear, limits.angular) = ([locked; 3], [locked; 3]);
                limits.linear[a] = way(range(metres, FAR));
            }
            "PhysicsSphericalJoint" => {
                limits.linear = [locked; 3];
                // Each angle is towards an axis, so about the other one; negative ones do not bound.
                let cone = fact.limits.map(|l| l.filter(|v| *v >= 0.0).map(|v| v * degrees));
                match cone {
                    [Some(x), Some(y)] if x == y => limits.cone = Some((a, x)),
                    [toward_b, toward_c] => {
                        limits.angular[c].range = toward_b.map(|v| [-v, v]);
                        limits.angular[b].range = toward_c.map(|v| [-v, v]);
                    }
                }
            }
            "PhysicsDistanceJoint" => {
                let [least, most] = fact.limits.map(|l| l.filter(|v| *v >= 0.0).map(|v| v * metres));
                if least.is_some() || most.is_some() {
                    limits.distance = Some(([least.unwrap_or(0.0), most.unwrap_or(FAR)], None));
                }
            }
            _ => self.bounds(fact, &mut limits),
        }
        limits
    }

    /// Limits by direction; a least above the most locks.
    fn bounds(&mut self, fact: &JointFact, limits: &mut Limits) {
        let metres = self.document.units.metres;
        for (name, is_linear, axis) in WAYS {
            let Some(&[low, high]) = fact.bounds.get(name) else { continue };
            let (unit, far) = if is_linear { (metres, FAR) } else { (1_f64.to_radians(), PI) };
            let end = |v: f64, far: f64| if v.is_finite() { v * unit } else { far };
            let found = match low > high {
                true => Way { hold: Some(0.0), ..Way::default() },
                false if !low.is_finite() && !high.is_finite() => Way::default(),
                false => way(Some([end(low, -far), end(high, far)])),
            };
            if is_linear {
                limits.linear[axis] = found;
            } else {
                limits.angular[axis] = found;
            }
        }
        if let Some(&[low, high]) = fact.bounds.get("distance")
            && high.is_finite()
            && high >= low
        {
            limits.distance = Some(([low.max(0.0) * metres, high * metres], None));
        }
    }

    /// Gives what is driven by velocity a rest that runs ahead of it, which its damping keeps up with.
    fn turn_on(&mut self, fact: &JointFact, joint: &mut Nearest) {
        for drive in
            fact.drives.iter().filter(|d| d.velocity != 0.0 && d.stiffness == 0.0 && !d.by_acceleration)
        {
            let way = WAYS.iter().find(|w| w.0 == drive.direction);
            let (is_linear, axis) = way.map_or((drive.direction == "linear", fact.axis), |w| (w.1, w.2));
            let of = if is_linear { &mut joint.slide } else { &mut joint.turn_deg };
            let Some(direction) = of.as_mut().filter(|_| axis == joint.axis) else {
                self.note("drives by velocity of what the kind has no field for are left out", &fact.path);
                continue;
            };
            let velocity = drive.velocity * if is_linear { self.document.units.metres } else { 1.0 };
            let keys = vec![[self.start, 0.0], [self.start + FOREVER, velocity * FOREVER]];
            direction.rest = Some(Keyable::Keys(Keys { keys, between: Between::Linear }));
        }
    }

    /// A drive in newtons, metres and radians.
    fn drive(&mut self, joint: &JointFact, fact: &DriveFact) -> Option<Drive> {
        let (is_linear, axis) = match fact.direction.as_str() {
            "linear" => (true, joint.axis),
            "angular" => (false, joint.axis),
            other => {
                let Some(way) = WAYS.iter().find(|w| w.0 == other) else {
                    self.note("a drive of no known direction is left out", &joint.path);
                    return None;
                };
                (way.1, way.2)
            }
        };
        if fact.by_acceleration {
            self.note("drives by acceleration are left out: springs are in newtons", &joint.path);
            return None;
        }
        if fact.velocity != 0.0 && fact.stiffness > 0.0 {
            self.note("targetVelocity of drives is left out: they pull to their targetPosition", &joint.path);
        }
        if fact.stiffness == 0.0 && fact.damping == 0.0 {
            return None;
        }
        let units = self.document.units;
        // Per degree in the file.
        let (unit, spring) = match is_linear {
            true => (units.metres, units.kilograms),
            false => (1_f64.to_radians(), units.kilograms * units.metres * units.metres * 1_f64.to_degrees()),
        };
        let force = units.kilograms * units.metres * if is_linear { 1.0 } else { units.metres };
        Some(Drive {
            is_linear,
            axis,
            target: (fact.stiffness > 0.0).then_some(fact.target * unit),
            stiffness: fact.stiffness * spring,
            damping: fact.damping * spring,
            most: fact.most.map(|m| m * force),
        })
    }
}

/// Half the widths of ranges of tilting that are wider to one side, degrees, and the rotation to their middle; in the joint's
/// axes, the main one being x. `None` where they are as wide to both sides.
fn tilt(limits: &Limits, axis: usize) -> Option<([f64; 2], DQuat)> {
    let ranges = [1, 2].map(|i| limits.angular[(axis + i) % 3].range);
    if ranges.into_iter().flatten().all(|[low, high]| low == -high) {
        return None;
    }
    // Nearly all the way round, where one of the two is free; cones end below 180.
    let half = ranges.map(|r| r.map_or(179.9, |[low, high]| (0.5 * (high - low)).to_degrees().min(179.9)));
    let [y, z] = ranges.map(|r| r.map_or(0.0, |[low, high]| 0.5 * (low + high)));
    Some((half, DQuat::from_rotation_y(y) * DQuat::from_rotation_z(z)))
}

/// A direction that is bounded, held where both ends are the same, or free.
fn way(range: Option<[f64; 2]>) -> Way {
    match range {
        Some([low, high]) if low == high => Way { hold: Some(low), ..Way::default() },
        range => Way { range: range.filter(|r| r[0] < r[1]), ..Way::default() },
    }
}
