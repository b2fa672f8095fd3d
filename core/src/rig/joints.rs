//! Joints of a set-up, compiled: names become ends, nodes become frames in the ends' own terms.

use super::Solver;
use super::compile::Compiler;
use crate::joint::{End, Joint, Kind};
use crate::rotation;
use crate::scene::Placement;
use crate::setup::{self, At, JointKind, SetupError, Tier};
use glam::{DQuat, DVec3};

impl Compiler<'_> {
    /// Compiles every joint of the set-up.
    pub(super) fn joints(&mut self) -> Result<Vec<Joint>, SetupError> {
        let wanted = &self.setup.joints;
        wanted.iter().enumerate().map(|(i, j)| self.joint(i, j)).collect()
    }

    fn joint(&mut self, index: usize, wanted: &setup::Joint) -> Result<Joint, SetupError> {
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
        let origins = match &wanted.at {
            None => [b.as_str(), b.as_str()],
            Some(At::Node(n)) => [n.as_str(), n.as_str()],
            Some(At::Nodes([n, m])) => [n.as_str(), m.as_str()],
        };
        let mut frames = [Placement::IDENTITY; 2];
        for (frame, origin) in frames.iter_mut().zip(origins) {
            *frame = self.placement_of(origin, &place)?;
        }
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
        let apart = (frames[1].position - frames[0].position).length();
        let kind = self.kind(wanted, apart, &place)?;
        let time = self.start;
        let at = |c: &Self, end: End| match end {
            End::World | End::Hand(_) => Placement::IDENTITY,
            End::Solid(s) => super::compile::keyed(&c.paths, &c.solids, c.solids[s].hold, time),
            End::Keys(p) => c.paths[p].placement(time),
        };
        let frames = [at(self, ends[0]).to(&frames[0]), at(self, ends[1]).to(&frames[1])];
        Ok(Joint { of: index, ..Joint::new(name, ends, frames, kind) })
    }

    fn kind(&self, wanted: &setup::Joint, apart: f64, place: &str) -> Result<Kind, SetupError> {
        let length = wanted.length.unwrap_or(apart);
        if !(length.is_finite() && length >= 0.0) {
            return Err(SetupError::new(format!("{place}.length"), format!("{length} must be 0 or more")));
        }
        Ok(match wanted.kind {
            JointKind::Universal => Kind::UNIVERSAL,
            JointKind::Pin => Kind::PIN,
            JointKind::Cylindrical => Kind::CYLINDRICAL,
            JointKind::Prismatic => Kind::PRISMATIC,
            JointKind::BallSocket => Kind::BALL_SOCKET,
            JointKind::SmoothContact => Kind::SMOOTH_CONTACT,
            JointKind::Plane => Kind::PLANE,
            JointKind::Fixed => Kind::FIXED,
            JointKind::Distance => Kind::Distance { least: length, most: length },
            JointKind::Rope | JointKind::InsideSphere => Kind::Distance { least: 0.0, most: length },
            other => return Err(SetupError::new(place, format!("{other:?} cannot be simulated yet"))),
        })
    }

    /// What a joint's end is: a solid, a keyed node, or the world.
    fn end(&mut self, name: &str, place: &str) -> Result<End, SetupError> {
        if name == "world" && !self.names.contains_key(name) {
            return Ok(End::World);
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

/// How the joints of a rig are solved, compiled.
pub fn solver(wanted: &setup::Solver, joints: &[Joint]) -> Result<Solver, SetupError> {
    let place = |field: &str| format!("world.solver.{field}");
    let few = |field: &str, value: Option<usize>, least: usize, most: usize, default: usize| match value {
        Some(v) if !(least..=most).contains(&v) => {
            Err(SetupError::new(place(field), format!("{v} must be between {least} and {most}")))
        }
        v => Ok(v.unwrap_or(default)),
    };
    let budget = match wanted.microseconds {
        None => None,
        Some(us) if us.is_finite() && us > 0.0 && us <= 1e9 => {
            Some(std::time::Duration::from_nanos((us * 1000.0) as u64))
        }
        Some(us) => {
            return Err(SetupError::new(place("microseconds"), format!("{us} must be above 0, at most 1e9")));
        }
    };
    let rows = joints.len() * crate::solve::MOST;
    let rounds = if wanted.tier == Tier::Pairwise { 200 } else { 24 };
    Ok(Solver {
        tier: wanted.tier,
        rounds: few("rounds", wanted.rounds, 1, 100_000, rounds)?,
        iterations: few("iterations", wanted.iterations, 1, 1_000_000, 3 * rows.max(1))?,
        budget,
        halvings: few("halvings", wanted.halvings, 0, 8, 4)?,
        limited: wanted.tier == Tier::Pairwise
            || wanted.rounds.is_some()
            || wanted.iterations.is_some()
            || wanted.microseconds.is_some(),
    })
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
