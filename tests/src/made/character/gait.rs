//! Walking and running: the body goes straight on, feet stand still in the world, and swing in between.

use super::pose::Pose;
use super::reach::{STRAIGHT, reach};
use super::skeleton::{Leg, Skeleton};
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;

/// How a body goes.
#[derive(Clone, Copy, Debug)]
pub struct Gait {
    /// m/s along z.
    pub speed: f64,
    /// A cycle, s.
    pub period: f64,
    /// Part of a cycle in which a foot stands.
    pub stands: f64,
    /// How high feet are lifted, m.
    pub lift: f64,
    /// How far the body goes up and down, m.
    pub bob: f64,
    /// How much lower than at rest it goes, m.
    pub low: f64,
}

impl Gait {
    /// A walk, or a run, that suits legs of that length, with a cycle of whole frames. Speeds as the Froude number has them.
    pub fn new(skeleton: &Skeleton, leg: f64, runs: bool, rate: f64) -> Gait {
        let natural = (9.81 * leg).sqrt();
        let (speed, period, stands) = match (runs, skeleton.legs.len() > 2) {
            (false, _) => (0.34, 1.1, 0.62),
            (true, false) => (0.9, 0.72, 0.36),
            // Hind feet come down behind the fore feet.
            (true, true) => (0.65, 0.6, 0.4),
        };
        let frames = (period * (leg / 0.84).sqrt() * rate / 2.0).round().max(4.0) * 2.0;
        let mut gait = Gait {
            speed: speed * natural,
            period: frames / rate,
            stands,
            lift: if runs { 0.18 } else { 0.1 } * leg,
            bob: if runs { 0.03 } else { 0.01 } * leg,
            low: 0.0,
        };
        // As low as the leg needs that is stretched farthest.
        while gait.farthest(skeleton) > STRAIGHT * 0.99 && gait.low < 0.5 * leg {
            gait.low += 0.01 * leg;
        }
        gait
    }

    /// How far legs are stretched at most over a cycle, as a part of their lengths.
    fn farthest(&self, skeleton: &Skeleton) -> f64 {
        let stretched = |leg: &Leg, t: f64| {
            let head = |b: usize| skeleton.bones[b].head;
            let hip = head(leg.upper) + self.body(t);
            let length =
                (head(leg.lower) - head(leg.upper)).length() + (head(leg.foot) - head(leg.lower)).length();
            (self.ankle(skeleton, leg, t).0 - hip).length() / length
        };
        let times = (0..48).map(|k| self.period * f64::from(k) / 48.0);
        times.flat_map(|t| skeleton.legs.iter().map(move |l| stretched(l, t))).fold(0.0, f64::max)
    }

    /// How far the body is from where it is at rest.
    fn body(&self, t: f64) -> DVec3 {
        let bob = self.bob * (2.0 * TAU * (t / self.period - 0.5 * self.stands)).cos();
        DVec3::new(0.0, bob - self.low - self.bob, self.speed * t)
    }

    /// Where an ankle is, and how its foot is turned.
    fn ankle(&self, skeleton: &Skeleton, leg: &Leg, t: f64) -> (DVec3, DQuat) {
        let rest = skeleton.bones[leg.foot].head;
        let cycles = t / self.period + leg.phase;
        let (turn, share) = (cycles.floor(), cycles - cycles.floor());
        let stride = self.speed * self.period;
        // It is set down half a stand before the hips are above it.
        let stood = |n: f64| rest.z + stride * (n - leg.phase + 0.5 * self.stands);
        if share < self.stands {
            return (DVec3::new(rest.x, rest.y, stood(turn)), DQuat::IDENTITY);
        }
        let u = (share - self.stands) / (1.0 - self.stands);
        // Position, velocity and acceleration are those of standing at both ends.
        let smooth = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u);
        let up = 64.0 * (u * (1.0 - u)).powi(3);
        let at = DVec3::new(rest.x, rest.y + self.lift * up, stood(turn) + stride * smooth);
        (at, DQuat::from_rotation_x(0.5 * up * (1.0 - 1.6 * u)))
    }

    /// The body at a moment.
    pub fn pose(&self, skeleton: &Skeleton, t: f64) -> Pose {
        let mut pose = Pose::rest(skeleton);
        let phase = TAU * t / self.period;
        pose.shift[skeleton.mover] = self.body(t);
        let quick = self.speed / (self.speed + 2.0);
        swing_upper(skeleton, &mut pose, phase, 0.35 + 0.5 * quick, 0.25 + 1.2 * quick);
        let mut placed = pose.placed(skeleton);
        for leg in &skeleton.legs {
            let (ankle, foot) = self.ankle(skeleton, leg, t);
            reach(skeleton, &mut pose, &mut placed, leg, ankle, foot);
        }
        pose
    }
}

/// Trunk, arms, head and tail swing along with the legs: by so much, and with elbows bent by so much, rad.
pub fn swing_upper(skeleton: &Skeleton, pose: &mut Pose, phase: f64, swing: f64, bent: f64) {
    let count = skeleton.trunk.len() as f64;
    for bone in skeleton.trunk.iter().skip(1) {
        pose.add(*bone, DQuat::from_rotation_y(0.12 * phase.sin() / count));
    }
    // What lies on the floor would nod into it.
    let nods = !skeleton.legs.is_empty();
    for (i, bone) in skeleton.neck.iter().enumerate().filter(|_| nods) {
        pose.add(*bone, DQuat::from_rotation_x(0.04 * (2.0 * phase - i as f64).sin()));
    }
    for arm in &skeleton.arms {
        pose.add(arm.bones[1], DQuat::from_rotation_x(swing * arm.side * phase.cos()));
        pose.add(arm.bones[2], DQuat::from_rotation_x(-bent - 0.15 * arm.side * phase.sin()));
    }
    for (i, bone) in skeleton.tail.iter().enumerate() {
        pose.add(*bone, DQuat::from_rotation_y(0.12 * (phase - 0.7 * i as f64).sin()));
    }
}
