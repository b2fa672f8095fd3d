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

/// Has the bodies of a cluster end a step no faster, all together, than they began it, but for what gravity did. Those that
/// gained lose, by what they gained: others go on as they were.
pub fn calm(rig: &Rig, state: &mut State, lane: &Lane, cluster: &Cluster<'_>) {
    // Energy before, with what falling adds, and after.
    let of = |state: &State, i: u32| {
        let (solid, was, is) = (&rig.solids[i as usize], &lane.before[i as usize], &state.solids[i as usize]);
        let fallen = rig.world.gravity.dot(is.position - was.position) * solid.mass;
        (energy(solid, was) + fallen.max(0.0), energy(solid, is))
    };
    let (mut excess, mut gains) = (0.0, 0.0);
    for &i in cluster.solids.iter().filter(|i| !state.solids[**i as usize].fixed()) {
        let (before, after) = of(state, i);
        excess += after - before;
        gains += (after - before).max(0.0);
    }
    if excess.is_nan() || excess <= 0.0 {
        return;
    }
    for &i in cluster.solids {
        let (before, after) = of(state, i);
        if after > before && !state.solids[i as usize].fixed() {
            let share = (1.0 - excess / gains * (after - before) / after).max(0.0).sqrt();
            let s = &mut state.solids[i as usize];
            s.velocity *= share;
            s.momentum *= share;
        }
    }
}
