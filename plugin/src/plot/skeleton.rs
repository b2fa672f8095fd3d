//! Jointed bodies as lines between the places where they are joined, and bodies that touch as their shapes.

use glam::DVec3;
use sinew_core::joint::{End, Kind};
use sinew_core::motion::Sample;
use sinew_core::rig::{Carrier, Rig};
use sinew_core::scene::Placement;

/// Lines of one moment, in the world.
#[derive(Default)]
pub struct Skeleton {
    /// Simulated bodies.
    pub bodies: Vec<[DVec3; 2]>,
    /// Nodes that move as keyed, from their origin to what hangs on them.
    pub keyed: Vec<[DVec3; 2]>,
    /// Rods and ropes without a body of their own.
    pub ties: Vec<[DVec3; 2]>,
    /// Shapes of simulated bodies, by the index of the collider, and where their bodies are.
    pub shapes: Vec<(usize, Placement)>,
    /// Shapes of what moves as keyed.
    pub hands: Vec<(usize, Placement)>,
}

impl Skeleton {
    /// The skeleton with the rig's nodes at `samples` and keyed nodes where they are at `time` (s).
    pub fn new(rig: &Rig, samples: &[Sample], time: f64, node: fn(&Sample) -> Placement) -> Skeleton {
        let solid = |i: usize| node(&samples[i]).then(&rig.solids[i].offset);
        let place = |end: End| match end {
            End::World => Placement::IDENTITY,
            End::Solid(i) => solid(i),
            End::Keys(p) => rig.in_world(time, rig.paths[p].placement(time)),
            End::Hand(h) => rig.hands[h].at(time),
        };
        let mut of_solid: Vec<Vec<DVec3>> = vec![Vec::new(); rig.solids.len()];
        let mut skeleton = Skeleton::default();
        // Muscles and pins are none of the set-up's joints.
        for joint in rig.joints.iter().filter(|j| j.of != usize::MAX) {
            let at = [0, 1].map(|k| place(joint.ends[k]).then(&joint.frames[k]).position);
            for (end, at) in joint.ends.iter().zip(at) {
                match end {
                    End::Solid(i) => of_solid[*i].push(at),
                    End::Keys(_) => skeleton.keyed.push([place(*end).position, at]),
                    End::World | End::Hand(_) => {}
                }
            }
            if matches!(joint.kind, Kind::Distance { .. }) {
                skeleton.ties.push(at);
            }
        }
        for (c, collider) in rig.colliders.all.iter().enumerate() {
            match collider.carrier {
                Carrier::Solid(i) => {
                    // Its shape says more than a line.
                    of_solid[i].clear();
                    skeleton.shapes.push((c, solid(i)));
                }
                Carrier::Keys(p) => {
                    skeleton.hands.push((c, rig.in_world(time, rig.paths[p].placement(time))));
                }
                Carrier::World => {}
            }
        }
        for (i, mut joined) in of_solid.into_iter().enumerate() {
            let (middle, near) = (solid(i).position, 1e-3 * rig.solids[i].radius);
            let all = std::mem::take(&mut joined);
            for at in all {
                if !joined.iter().any(|j: &DVec3| (*j - at).length() < near) {
                    joined.push(at);
                }
            }
            match joined.as_slice() {
                [] => {}
                // As far beyond its middle as it is joined before it.
                [only] => skeleton.bodies.push([*only, 2.0 * middle - *only]),
                [from, to] => skeleton.bodies.push([*from, *to]),
                many => skeleton.bodies.extend(many.iter().map(|at| [middle, *at])),
            }
        }
        skeleton
    }

    /// Every end of a line, and the middle of every shape.
    pub fn points(&self) -> impl Iterator<Item = DVec3> {
        let lines = self.bodies.iter().chain(&self.keyed).chain(&self.ties).flatten().copied();
        lines.chain(self.shapes.iter().map(|s| s.1.position))
    }
}
