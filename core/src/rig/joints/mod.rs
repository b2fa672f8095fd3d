//! Joints of a set-up, compiled: names become ends, nodes become frames in the ends' own terms, and each joint becomes as
//! many parts as it takes.

mod fields;
mod parts;
mod solver;
mod spring;

pub use solver::solver;

use super::Frame;
use super::compile::Compiler;
use crate::joint::{End, Joint, Kind};
use crate::rotation;
use crate::scene::Placement;
use crate::setup::{self, At, JointFrame, JointKind, SetupError};
use glam::{DQuat, DVec3};
use std::collections::HashMap;

/// Where a joint is at the first frame, in the world: its frames, and what carries them.
struct Site {
    frames: [Placement; 2],
    /// The first object's own space.
    first: Placement,
}

/// Joints between the same two bodies.
const MOST_BETWEEN_TWO: usize = 32;

impl Compiler<'_> {
    /// Compiles every joint of the set-up.
    pub(super) fn joints(&mut self) -> Result<Vec<Joint>, SetupError> {
        self.check_crowds()?;
        let mut joints = Vec::new();
        for (i, wanted) in self.setup.joints.iter().enumerate() {
            if self.idle.contains(&i) {
                continue;
            }
            let parts = self.joint(i, wanted)?;
            joints.extend(parts);
        }
        let poses = self.poses(&joints);
        joints.extend(poses);
        Ok(joints)
    }

    /// Refuses a crowd of joints between the same two: each is solved with every other, and all but a few are redundant.
    fn check_crowds(&self) -> Result<(), SetupError> {
        let mut counts: HashMap<[&str; 2], usize> = HashMap::new();
        for (i, joint) in self.setup.joints.iter().enumerate() {
            let mut pair = [joint.between[0].as_str(), joint.between[1].as_str()];
            pair.sort_unstable();
            let count = counts.entry(pair).or_default();
            *count += 1;
            if *count > MOST_BETWEEN_TWO {
                let [a, b] = pair;
                let what = format!(
                    "is one of more than {MOST_BETWEEN_TWO} joints between {a} and {b}; leave out those that say the same"
                );
                return Err(SetupError::new(format!("joints[{i}]"), what));
            }
        }
        Ok(())
    }

    fn joint(&mut self, index: usize, wanted: &setup::Joint) -> Result<Vec<Joint>, SetupError> {
        let [a, b] = &wanted.between;
        let name = wanted.name.clone().unwrap_or_else(|| format!("{a} - {b}"));
        let place = format!("joints[{index}] \"{name}\"");
        let ends = [self.end(a, &place)?, self.end(b, &place)?];
        if !ends.iter().any(|e| matches!(e, End::Solid(_))) {
            return Err(SetupError::new(
                place,
                "joins nothing that is simulated; name a guided or free body",
            ));
        }
        if ends[0] == ends[1] {
            return Err(SetupError::new(place, "joins a body to itself; name two"));
        }
        fields::check(wanted, &place)?;
        let site = self.site(wanted, &place)?;
        let parts = self.parts(wanted, &site, &place)?;
        let holds = spring::holds(wanted, self.mpu, &place)?;
        let time = self.start;
        let at = |end: End| match end {
            End::World | End::Hand(_) => Placement::IDENTITY,
            End::Solid(s) => super::compile::keyed(&self.paths, &self.solids, self.solids[s].hold, time),
            End::Keys(p) => self.paths[p].placement(time),
        };
        let frames = [at(ends[0]).to(&site.frames[0]), at(ends[1]).to(&site.frames[1])];
        let anchor = match wanted.keyed_anchor {
            true => Some(self.anchor(wanted, ends, &place)?),
            false => None,
        };
        let joint = |part: parts::Part| Joint {
            of: index,
            anchor: anchor.filter(|_| part.kind == Kind::UNIVERSAL),
            rest: part.rest,
            spring: part.spring,
            track: part.track,
            holds: holds.clone(),
            ..Joint::new(name.clone(), ends, frames, part.kind)
        };
        Ok(parts.into_iter().map(joint).collect())
    }

    /// The path of the second object's side of a joint, as keyed, in the frame of the first end.
    fn anchor(&mut self, wanted: &setup::Joint, ends: [End; 2], place: &str) -> Result<usize, SetupError> {
        let [a, b] = &wanted.between;
        let node = |name: &str| super::resolve_node(self.scene, &self.names, name, place);
        let (first, second) = (node(a)?, node(b)?);
        let on_second = match &wanted.frames {
            Some([_, on_b]) => frame(on_b, place)?,
            None => Placement::IDENTITY,
        };
        let offset = match ends[0] {
            End::Solid(s) => self.solids[s].offset,
            _ => Placement::IDENTITY,
        };
        Ok(self.relative_path(second, on_second, first, offset))
    }

    /// Where the joint is.
    fn site(&self, wanted: &setup::Joint, place: &str) -> Result<Site, SetupError> {
        let [a, b] = &wanted.between;
        let first = self.placement_of(a, place)?;
        let mut frames = match &wanted.frames {
            Some([on_a, on_b]) => {
                let second = self.placement_of(b, place)?;
                [first.then(&frame(on_a, place)?), second.then(&frame(on_b, place)?)]
            }
            None => {
                let origins = match &wanted.at {
                    None => [b.as_str(), b.as_str()],
                    Some(At::Node(n)) => [n.as_str(), n.as_str()],
                    Some(At::Nodes([n, m])) => [n.as_str(), m.as_str()],
                };
                [self.placement_of(origins[0], place)?, self.placement_of(origins[1], place)?]
            }
        };
        if let Some(axis) = wanted.axis {
            let axis = DVec3::from_array(axis);
            if !(axis.is_finite() && axis.length() > 1e-12) {
                return Err(SetupError::new(
                    format!("{place}.axis"),
                    "is no direction; give three numbers, not all 0",
                ));
            }
            frames.iter_mut().for_each(|f| f.rotation = towards(axis.normalize()));
        }
        if let (JointKind::Segment, [from, to]) = (wanted.kind, wanted.points.as_slice()) {
            let (from, to) = (DVec3::from_array(*from), DVec3::from_array(*to));
            let along = towards((to - from).normalize_or(DVec3::X));
            frames[0] = first.then(&Placement { position: from, rotation: along });
            frames[1].rotation = frames[0].rotation;
        }
        Ok(Site { frames, first })
    }

    /// The muscles of bodies that are guided against the body they are joined to: what turns one turns the other back.
    fn poses(&self, joints: &[Joint]) -> Vec<Joint> {
        let mut poses = Vec::new();
        for (i, solid) in self.solids.iter().enumerate() {
            let (Frame::Solid(parent), Some(_)) = (solid.frame, solid.rotation_target) else { continue };
            let pair = [End::Solid(parent), End::Solid(i)];
            let joins = |j: &&Joint| j.ends == pair || j.ends == [pair[1], pair[0]];
            if let Some(joint) = joints.iter().find(joins) {
                let name = joint.name.clone();
                let pose = Joint::new(name, pair, [Placement::IDENTITY; 2], Kind::Pose(i));
                poses.push(Joint { of: usize::MAX, ..pose });
            }
        }
        poses
    }

    /// What a joint's end is: a solid, a keyed node, or the world.
    fn end(&mut self, name: &str, place: &str) -> Result<End, SetupError> {
        if name == "world" && !self.names.contains_key(name) {
            // The world goes by.
            let carrier = self.vessel.as_ref().map(|v| v.0);
            return Ok(carrier.map_or(End::World, |n| End::Keys(self.path(n, |_| Placement::IDENTITY))));
        }
        let node = super::resolve_node(self.scene, &self.names, name, place)?;
        if let Some(&solid) = self.solid_of_node.get(&node) {
            return Ok(End::Solid(solid));
        }
        let pose = self.pose;
        Ok(End::Keys(self.path(node, move |t| pose.placement_at(node, t))))
    }

    fn placement_of(&self, name: &str, place: &str) -> Result<Placement, SetupError> {
        if name == "world" && !self.names.contains_key(name) {
            return Ok(Placement::IDENTITY);
        }
        let node = super::resolve_node(self.scene, &self.names, name, place)?;
        Ok(self.pose.placement_at(node, self.start))
    }
}

/// A frame of the set-up; its quaternion may have any length but none.
fn frame(wanted: &JointFrame, place: &str) -> Result<Placement, SetupError> {
    let (position, turn) = (DVec3::from_array(wanted.position), DQuat::from_array(wanted.rotation));
    if !(position.is_finite() && turn.is_finite() && turn.length() > 1e-12) {
        return Err(SetupError::new(
            format!("{place}.frames"),
            "are no frames; give finite numbers, and a rotation that is not all 0",
        ));
    }
    Ok(Placement { position, rotation: turn.normalize() })
}

/// A rotation that takes x to `axis` the shortest way.
fn towards(axis: DVec3) -> DQuat {
    let across = DVec3::X.cross(axis);
    let angle = libm::atan2(across.length(), axis.x);
    match across.length() > 1e-12 {
        true => rotation::exp(across.normalize() * angle),
        false if axis.x < 0.0 => rotation::exp(DVec3::Y * std::f64::consts::PI),
        false => DQuat::IDENTITY,
    }
}
