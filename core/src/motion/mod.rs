//! The sampled result: where every body was at every frame, where its target was, how hard it pulled, and what it
//! touched.

mod contact;
mod fault;
mod halving;
mod report;
mod touching;

pub use contact::{Contact, Strike, contacts, strikes};
pub use fault::{Fault, FaultKind, faults};
pub use halving::{Halving, halvings};
pub use report::{Follow, report};
pub use touching::{Hardest, Point, Struck, Touch, Touching, points, touching};

use crate::rig::{Carrier, Frame, Rig};
use crate::rotation;
use crate::scene::Placement;
use crate::setup::Parts;
use crate::simulate::{Halved, State};
use glam::DVec3;
use std::collections::HashMap;

/// Samples of a simulation, frame by frame; only ever appended to.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    solids: usize,
    times: Vec<f64>,
    samples: Vec<Sample>,
    quarantined: Vec<(usize, usize)>,
    broken: Vec<(usize, usize)>,
    open_joints: Vec<(f64, f64)>,
    /// Of all frames one behind the other, and where each frame's end.
    contacts: Vec<Contact>,
    contact_ends: Vec<usize>,
    strikes: Vec<Strike>,
    halved: Vec<Halved>,
}

/// One body at one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Where the node is: physics, blended with the keys as the set-up says.
    pub node: Placement,
    /// Where the keys would have it.
    pub keys: Placement,
    /// Where the target of its position is (centre of mass), if it has one.
    pub target_position: Option<DVec3>,
    /// Where the target of its orientation is (the node's axes), if it has one.
    pub target_rotation: Option<glam::DQuat>,
    /// Velocity of the centre of mass, units/s.
    pub velocity: DVec3,
    /// Actuator's strongest force since the frame before, kg unit/s^2.
    pub force: DVec3,
    /// Actuator's strongest torque since the frame before, kg unit^2/s^2.
    pub torque: DVec3,
    /// Whether either was at its limit since then.
    pub saturated: bool,
}

impl Motion {
    /// Whether memory can be had for `frames` frames of a rig, and for what is made of them.
    pub fn fits(rig: &Rig, frames: usize) -> bool {
        let samples = frames.checked_mul(rig.solids.len());
        let bytes = samples.and_then(|n| n.checked_mul(3 * size_of::<Sample>()));
        bytes.is_some_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok())
    }

    /// Room for `frames` frames of a rig.
    pub fn with_capacity(rig: &Rig, frames: usize) -> Motion {
        let solids = rig.solids.len();
        Motion {
            solids,
            times: Vec::with_capacity(frames),
            samples: Vec::with_capacity(frames * solids),
            quarantined: Vec::new(),
            broken: Vec::new(),
            open_joints: vec![(0.0, 0.0); rig.joints.len()],
            contacts: Vec::new(),
            contact_ends: Vec::with_capacity(frames),
            strikes: Vec::new(),
            halved: Vec::new(),
        }
    }

    /// A motion that was not simulated: where bodies are, frame by frame.
    pub fn of_places(rig: &Rig, times: Vec<f64>, places: &[Vec<Placement>]) -> Motion {
        let mut motion = Motion::with_capacity(rig, times.len());
        for (&time, places) in times.iter().zip(places) {
            for (i, place) in places.iter().enumerate() {
                let back = rig.solids[i].offset.to(&Placement::IDENTITY);
                let sample = Sample {
                    node: place.then(&back),
                    keys: rig.keyed(i, time).then(&back),
                    target_position: None,
                    target_rotation: None,
                    velocity: DVec3::ZERO,
                    force: DVec3::ZERO,
                    torque: DVec3::ZERO,
                    saturated: false,
                };
                motion.samples.push(rig.vessel.as_ref().map_or(sample, |v| v.seen(time, sample)));
            }
            motion.contact_ends.push(0);
        }
        motion.times = times;
        motion
    }

    /// Appends the state as one frame.
    pub fn record(&mut self, rig: &Rig, state: &State) {
        self.times.push(state.time);
        for (i, _) in state.solids.iter().enumerate().filter(|(_, s)| s.quarantined) {
            if !self.quarantined.iter().any(|q| q.0 == i) {
                self.quarantined.push((i, self.times.len() - 1));
            }
        }
        for (joint, _) in rig.joints.iter().zip(&state.joints).filter(|(_, s)| s.broken) {
            if !self.broken.iter().any(|b| b.0 == joint.of) {
                self.broken.push((joint.of, self.times.len() - 1));
            }
        }
        let mut seen: Vec<Seen> = Vec::with_capacity(rig.solids.len());
        for i in 0..rig.solids.len() {
            let carrier = rig.carrier(i).map(|c| seen[c]);
            seen.push(Seen::new(rig, state, i, carrier));
            self.samples.push(seen[i].sample(rig, state, i));
        }
        self.contacts.extend(contacts(rig, state));
        self.contact_ends.push(self.contacts.len());
        self.halved.extend_from_slice(&state.halved);
        let from = self.strikes.len();
        self.strikes.extend(strikes(rig, state));
        // Pairs that struck in one step come in the order of the pairs.
        self.strikes[from..].sort_by(|a, b| a.time.total_cmp(&b.time));
    }

    /// Frame times (s).
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.times.len()
    }

    /// Number of bodies.
    pub fn solids(&self) -> usize {
        self.solids
    }

    /// Bodies whose numbers left all bounds and which were stopped: `(solid, frame)`.
    pub fn quarantined(&self) -> &[(usize, usize)] {
        &self.quarantined
    }

    /// Joints that broke: `(joint of the set-up, frame)`.
    pub fn broken(&self) -> &[(usize, usize)] {
        &self.broken
    }

    /// How far each joint was open at most at any frame: scene units and rad, in the rig's order.
    pub fn open_joints(&self) -> &[(f64, f64)] {
        &self.open_joints
    }

    /// Takes over what a run saw of its joints.
    pub fn note_joints(&mut self, open: &[(f64, f64)]) {
        for (worst, now) in self.open_joints.iter_mut().zip(open) {
            *worst = (worst.0.max(now.0), worst.1.max(now.1));
        }
    }

    /// The points at which something bore on something else in the last step before a frame.
    pub fn contacts(&self, frame: usize) -> &[Contact] {
        let from = if frame == 0 { 0 } else { self.contact_ends[frame - 1] };
        &self.contacts[from..self.contact_ends[frame]]
    }

    /// Everything that began to touch, in the order of time.
    pub fn strikes(&self) -> &[Strike] {
        &self.strikes
    }

    /// All bodies at a frame, in the rig's order.
    pub fn frame(&self, frame: usize) -> &[Sample] {
        &self.samples[frame * self.solids..(frame + 1) * self.solids]
    }

    /// All bodies at a frame, to change.
    pub(crate) fn frame_mut(&mut self, frame: usize) -> &mut [Sample] {
        &mut self.samples[frame * self.solids..(frame + 1) * self.solids]
    }

    /// Brings a later turn of a loop back in time (s) and place: each solid by its `travel`, and what it touches with
    /// it. Strikes that belong to the turn before go.
    pub(crate) fn bring_back(&mut self, rig: &Rig, seconds: f64, travel: &[DVec3]) {
        // The times of the first turn to the bit.
        self.times.iter_mut().enumerate().for_each(|(f, t)| *t = rig.range.time(f));
        for frame in self.samples.chunks_exact_mut(self.solids.max(1)) {
            for (sample, &by) in frame.iter_mut().zip(travel) {
                sample.node.position -= by;
                sample.keys.position -= by;
                sample.target_position = sample.target_position.map(|p| p - by);
            }
        }
        let mut by_node: HashMap<usize, DVec3> = HashMap::new();
        for c in &rig.colliders.all {
            if let Carrier::Solid(s) = c.carrier {
                by_node.insert(c.node, travel[s]);
            }
        }
        let of_node = |node: usize| by_node.get(&node).copied().unwrap_or_default();
        // Whoever travels takes the point along.
        let moves = |nodes: [usize; 2]| {
            let [a, b] = nodes.map(of_node);
            if a.length_squared() > b.length_squared() { a } else { b }
        };
        self.contacts.iter_mut().for_each(|c| c.point -= moves(c.nodes));
        for strike in &mut self.strikes {
            strike.time -= seconds;
            strike.point -= moves(strike.nodes);
        }
        let start = self.times.first().copied().unwrap_or_default();
        self.strikes.retain(|s| s.time > start);
    }

    /// One body over all frames.
    pub fn solid(&self, solid: usize) -> impl Iterator<Item = &Sample> {
        self.samples.iter().skip(solid).step_by(self.solids.max(1))
    }
}

/// One body of a state, as hosts see it.
pub fn sample(rig: &Rig, state: &State, solid: usize) -> Sample {
    seen(rig, state, solid).sample(rig, state, solid)
}

fn seen(rig: &Rig, state: &State, solid: usize) -> Seen {
    let carrier = rig.carrier(solid).map(|c| seen(rig, state, c));
    Seen::new(rig, state, solid, carrier)
}

/// A solid's frame three times: under the keys, in the simulation, and blended between the two.
#[derive(Clone, Copy)]
struct Seen {
    keys: Placement,
    simulated: Placement,
    shown: Placement,
}

impl Seen {
    /// A body that lives in its carrier's frame is blended there and put on the carrier as that is shown, so that
    /// blending a parent takes its children along; one that lives in the world is blended in the world.
    fn new(rig: &Rig, state: &State, solid: usize, carrier: Option<Seen>) -> Seen {
        let body = &rig.solids[solid];
        let own = rig.paths[body.hold.0].placement(state.time);
        let simulated = state.solids[solid].placement();
        let blend = rig.blend(solid, state.time) * state.released[solid].share;
        let mix = |keys: &Placement, physics: &Placement| Placement {
            position: keys.position.lerp(physics.position, blend),
            rotation: rotation::slerp(keys.rotation, physics.rotation, blend),
        };
        let keys = carrier.map_or(own, |c| c.keys.then(&own));
        let whole = body.simulate == Parts::Both && body.frame == Frame::World;
        let shown = match carrier.filter(|_| !whole) {
            // The plain case keeps its bits.
            Some(c) if blend == 1.0 && c.shown == c.simulated => simulated,
            Some(c) => c.shown.then(&mix(&own, &c.simulated.to(&simulated))),
            None if blend == 1.0 => simulated,
            None => mix(&keys, &simulated),
        };
        Seen { keys, simulated, shown }
    }

    fn sample(&self, rig: &Rig, state: &State, solid: usize) -> Sample {
        let (s, body) = (&state.solids[solid], &rig.solids[solid]);
        // From the centre of mass and principal axes back to the node.
        let back = body.offset.to(&Placement::IDENTITY);
        let axes = back.rotation;
        let sample = Sample {
            node: self.shown.then(&back),
            keys: self.keys.then(&back),
            target_position: body.position_target.map(|t| state.targets[t].point.position),
            target_rotation: body.rotation_target.map(|t| state.targets[t].point.rotation * axes),
            velocity: s.velocity,
            force: s.force.strongest,
            torque: s.torque.strongest,
            saturated: s.force.was_saturated || s.torque.was_saturated,
        };
        rig.vessel.as_ref().map_or(sample, |v| v.seen(state.time, sample))
    }
}
