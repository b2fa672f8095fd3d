//! Simulating aboard something that moves: a space that has only a share of the carrier's motion.
//!
//! With `C(t)` where the keys have the carrier, and `C_f(t)` the same with every move and turn of it made smaller by the share
//! that is felt, everything that is keyed comes into the space by `F = C_f C^-1`, and what is simulated goes back by its
//! inverse. At the first frame the two are the same. Gravity keeps its direction. Turns are made smaller one after the other,
//! so that a carrier may turn as far as it likes.

use super::Rig;
use super::compile::Compiler;
use crate::guide::Path;
use crate::motion::Sample;
use crate::rotation;
use crate::scene::Placement;
use crate::setup::{Body, SetupError};
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// The carrier of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Vessel {
    /// Where the keys have it.
    path: Arc<Path>,
    felt: f64,
    start: Placement,
    /// Time (s), its keyed and its felt orientation then.
    turns: Arc<Vec<(f64, DQuat, DQuat)>>,
}

/// Turns are added up this often, 1/s: a carrier turns by less than half a circle in between.
const TURNS_PER_S: f64 = 240.0;

/// Velocities are looked at over so short a time, s.
const MOMENT_S: f64 = 1e-7;

impl Vessel {
    /// A carrier on a path, from `start` to `end` (s).
    pub(super) fn new(path: Path, felt: f64, (start, end): (f64, f64)) -> Vessel {
        let first = path.placement(start);
        let mut turns = vec![(start, first.rotation, first.rotation)];
        for k in 1..=((end - start) * TURNS_PER_S).ceil().max(0.0) as usize {
            let time = start + k as f64 / TURNS_PER_S;
            let (_, keyed, feels) = turns[k - 1];
            let now = path.placement(time).rotation;
            turns.push((time, now, smaller(keyed, now, felt, feels)));
        }
        Vessel { path: Arc::new(path), felt, start: first, turns: Arc::new(turns) }
    }

    /// From the world into the space at `time` (s).
    pub fn into_space(&self, time: f64) -> Placement {
        let keyed = self.path.placement(time);
        let known = self.turns.partition_point(|t| t.0 <= time).saturating_sub(1);
        let (_, before, feels) = self.turns[known];
        let feels = Placement {
            position: self.start.position.lerp(keyed.position, self.felt),
            rotation: smaller(before, keyed.rotation, self.felt, feels),
        };
        feels.then(&keyed.to(&Placement::IDENTITY))
    }

    /// From the space into the world at `time` (s).
    pub fn into_world(&self, time: f64) -> Placement {
        self.into_space(time).to(&Placement::IDENTITY)
    }

    /// Velocity (units/s) and spin (rad/s) that the space has in the world at a point of it.
    fn drift(&self, time: f64, point: DVec3) -> (DVec3, DVec3) {
        // At its end a path still has the velocity that it came with.
        let from = if time + MOMENT_S > self.path.end() { time - MOMENT_S } else { time };
        let [a, b] = [from, from + MOMENT_S].map(|t| self.into_world(t));
        let at = |p: &Placement| p.position + p.rotation * point;
        ((at(&b) - at(&a)) / MOMENT_S, rotation::log(b.rotation * a.rotation.conjugate()) / MOMENT_S)
    }

    /// A velocity and spin of the world at the first frame, at a place, as they are in the space.
    pub(super) fn feels(&self, time: f64, point: DVec3, velocity: DVec3, spin: DVec3) -> (DVec3, DVec3) {
        let (drift, turning) = self.drift(time, point);
        (velocity - drift, spin - turning)
    }

    /// What was simulated, as the world sees it.
    pub fn seen(&self, time: f64, sample: Sample) -> Sample {
        let back = self.into_world(time);
        let turned = |v: DVec3| back.rotation * v;
        let drift = self.drift(time, sample.node.position).0;
        Sample {
            node: back.then(&sample.node),
            keys: back.then(&sample.keys),
            target_position: sample.target_position.map(|p| back.position + turned(p)),
            target_rotation: sample.target_rotation.map(|q| back.rotation * q),
            velocity: turned(sample.velocity) + drift,
            force: turned(sample.force),
            torque: turned(sample.torque),
            saturated: sample.saturated,
        }
    }
}

impl Rig {
    /// A place of the simulation at `time` (s), in the world.
    pub fn in_world(&self, time: f64, place: Placement) -> Placement {
        self.vessel.as_ref().map_or(place, |v| v.into_world(time).then(&place))
    }

    /// A place of the world at `time` (s), in the simulation.
    pub fn in_space(&self, time: f64, place: Placement) -> Placement {
        self.vessel.as_ref().map_or(place, |v| v.into_space(time).then(&place))
    }
}

impl Compiler<'_> {
    /// The carrier of the set-up, and its node.
    pub(super) fn board(&mut self) -> Result<Option<(usize, Vessel)>, SetupError> {
        let Some(wanted) = &self.setup.world.space else { return Ok(None) };
        if !(0.0..=1.0).contains(&wanted.felt) {
            let why = format!("{} is out of range; give 0 to 1", wanted.felt);
            return Err(SetupError::new("world.space.felt", why));
        }
        let node = super::resolve_node(self.scene, &self.names, &wanted.node, "world.space.node")?;
        if self.range.turns > 1 {
            let why =
                "a loop in a space of its own would begin elsewhere than it ends; drop \"space\" or \"loop\"";
            return Err(SetupError::new("world.space", why));
        }
        let moves = !self.pose.breaks(node).0.is_empty();
        if wanted.felt == 1.0 || !moves {
            return Ok(None);
        }
        let pose = self.pose;
        self.path_between(node, pose.breaks(node), move |t| pose.placement_at(node, t));
        let Some(path) = self.paths.pop() else { return Ok(None) };
        let end = self.range.start() + self.range.length();
        Ok(Some((node, Vessel::new(path, wanted.felt, (self.start, end)))))
    }

    /// The velocity and spin that a body starts with at a place: as given in the world, or as its keys have them here.
    pub(super) fn starting(&self, body: &Body, at: DVec3, keyed: (DVec3, DVec3)) -> (DVec3, DVec3) {
        let given =
            (body.velocity.map(|v| DVec3::from_array(v) / self.mpu), body.spin.map(DVec3::from_array));
        let felt = |velocity: DVec3, spin: DVec3| match &self.vessel {
            Some((_, vessel)) => vessel.feels(self.start, at, velocity, spin),
            None => (velocity, spin),
        };
        let (velocity, spin) = felt(given.0.unwrap_or_default(), given.1.unwrap_or_default());
        (given.0.map_or(keyed.0, |_| velocity), given.1.map_or(keyed.1, |_| spin))
    }
}

/// The turn from one orientation to another made smaller, and added to `to`.
fn smaller(from: DQuat, now: DQuat, share: f64, to: DQuat) -> DQuat {
    rotation::renormalize(rotation::exp(rotation::log(now * from.conjugate()) * share) * to)
}
