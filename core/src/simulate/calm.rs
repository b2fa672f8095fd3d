//! Steps that failed at any length: what contradicts itself may not make anything faster.
//!
//! Limbs that are jammed between what they touch and the ends of their joints have no motion that does right by all of them;
//! what is found then is a compromise of places, and the velocities that lead there are no physics.

use super::cluster::Cluster;
use super::lane::Lane;
use super::{SolidState, State};
use crate::dynamics::top;
use crate::rig::{Rig, Solid};

/// Kinetic energy of a body.
fn energy(solid: &Solid, s: &SolidState) -> f64 {
    let spin = top::angular_velocity(s.orientation, s.momentum, solid.per_inertia);
    0.5 * (solid.mass * s.velocity.length_squared() + s.momentum.dot(spin))
}

/// Has the bodies of a cluster end a step no faster than they began it, but for what gravity did.
pub fn calm(rig: &Rig, state: &mut State, lane: &Lane, cluster: &Cluster<'_>) {
    let (mut before, mut after) = (0.0, 0.0);
    let moves = |s: &SolidState| !s.fixed();
    for &i in cluster.solids {
        let (solid, was, is) = (&rig.solids[i as usize], &lane.before[i as usize], &state.solids[i as usize]);
        if moves(is) {
            let fallen = rig.world.gravity.dot(is.position - was.position) * solid.mass;
            before += energy(solid, was) + fallen.max(0.0);
            after += energy(solid, is);
        }
    }
    if after <= before {
        return;
    }
    let share = (before / after).sqrt();
    for &i in cluster.solids {
        let s = &mut state.solids[i as usize];
        if moves(s) {
            s.velocity *= share;
            s.momentum *= share;
        }
    }
}
