//! What touched what, as hosts see it: by nodes, not by the shapes that nodes are made of.

use crate::rig::Rig;
use crate::simulate::{self, State};
use glam::DVec3;

/// A point at which one thing bore on another in the last step before a frame. Of several shapes on one node each has
/// points of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The two nodes of the scene; of the same two, always in the same order.
    pub nodes: [usize; 2],
    /// Where, world, scene units.
    pub point: DVec3,
    /// From the first to the second.
    pub normal: DVec3,
    /// Force along the normal, mean over the step, kg unit/s^2.
    pub load: f64,
    /// Friction on the second, likewise. It belongs to several points together, and is told with the first of them.
    pub friction: DVec3,
}

/// Two things began to touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// The two nodes of the scene; of the same two, always in the same order.
    pub nodes: [usize; 2],
    /// Scene time (s), between frames.
    pub time: f64,
    /// Where, world, scene units.
    pub point: DVec3,
    /// From the first to the second.
    pub normal: DVec3,
    /// Impulse on the second in the step of the strike, friction included, kg unit/s. Of soft things that is only the
    /// beginning of the push.
    pub impulse: DVec3,
    /// Speed at which they closed in, units/s.
    pub speed: f64,
}

/// The points at which something bears on something else in a state.
pub fn contacts<'a>(rig: &'a Rig, state: &'a State) -> impl ExactSizeIterator<Item = Contact> + 'a {
    state.touched.iter().map(|t| {
        let (at, turned) = seen(rig, state.time);
        Contact {
            nodes: nodes(rig, t.colliders),
            point: at(t.point),
            normal: turned(t.normal),
            load: t.load,
            friction: turned(t.rub),
        }
    })
}

/// What began to touch in the frame, or the single step, that led to a state; pair by pair within each of its steps.
pub fn strikes<'a>(rig: &'a Rig, state: &'a State) -> impl ExactSizeIterator<Item = Strike> + 'a {
    state.strikes.iter().map(|s: &simulate::Strike| {
        let (at, turned) = seen(rig, s.time);
        Strike {
            nodes: nodes(rig, s.colliders),
            time: s.time,
            point: at(s.point),
            normal: turned(s.normal),
            impulse: turned(s.impulse),
            speed: s.speed,
        }
    })
}

/// How points and directions of the simulation are seen in the world at `time` (s).
fn seen(rig: &Rig, time: f64) -> (impl Fn(DVec3) -> DVec3, impl Fn(DVec3) -> DVec3) {
    let back = rig.vessel.as_ref().map(|v| v.into_world(time));
    let turned = move |v: DVec3| back.map_or(v, |b| b.rotation * v);
    (move |p: DVec3| back.map_or(p, |b| b.position + b.rotation * p), turned)
}

fn nodes(rig: &Rig, colliders: [u32; 2]) -> [usize; 2] {
    colliders.map(|c| rig.colliders.all[c as usize].node)
}
