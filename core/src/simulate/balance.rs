//! Muscles that begin by holding what hangs on them, so that nothing sags at the first frames.
//!
//! A body that is guided against its parent holds, at its joint, the weight of itself and of all that is guided against it
//! in turn: `T = -(c - p) x M g`, with `c` and `M` of everything beyond the joint at `p`. What leads such a tree holds all of
//! it by force, and by torque about its own centre of mass.

use super::State;
use crate::joint::{End, Kind};
use crate::rig::Rig;
use glam::DVec3;

/// Puts the weight that each muscle holds at rest into its correction.
pub fn balance(rig: &Rig, state: &mut State) {
    let gravity = rig.world.gravity * rig.world.gravity_scale.at(state.time);
    let mut holds: Vec<Option<(usize, DVec3)>> = vec![None; rig.solids.len()];
    for joint in &rig.joints {
        if let (Kind::Pose(solid), [End::Solid(parent), _]) = (joint.kind, joint.ends) {
            let pair = |j: &&crate::joint::Joint| {
                !matches!(j.kind, Kind::Pose(_))
                    && (j.ends == joint.ends || j.ends == [joint.ends[1], joint.ends[0]])
            };
            let Some(held) = rig.joints.iter().find(pair) else { continue };
            let side = usize::from(held.ends[1] == End::Solid(solid));
            let at = state.solids[solid].placement().then(&held.frames[side]).position;
            holds[solid] = Some((parent, at));
        }
    }
    // Parents stand before their children: from the last to the first, each has all that hangs on it.
    let mut beyond: Vec<(f64, DVec3)> =
        rig.solids.iter().zip(&state.solids).map(|(s, at)| (s.mass, at.position * s.mass)).collect();
    let mut leads = vec![false; rig.solids.len()];
    for i in (0..rig.solids.len()).rev() {
        let Some((parent, _)) = holds[i] else { continue };
        leads[parent] = true;
        let (mass, moment) = beyond[i];
        beyond[parent].0 += mass;
        beyond[parent].1 += moment;
    }
    for (i, s) in rig.solids.iter().enumerate() {
        if !s.start_balanced || rig.drive(i, state.time).compensation <= 0.0 {
            continue;
        }
        let (mass, moment) = beyond[i];
        let solid = &mut state.solids[i];
        let about = |p: DVec3| (moment / mass - p).cross(gravity * -mass);
        match holds[i] {
            Some((_, joint)) => solid.torque.correction = about(joint),
            None if leads[i] => {
                if s.position_target.is_some() {
                    solid.force.correction = gravity * -mass;
                }
                if s.rotation_target.is_some() {
                    solid.torque.correction = about(solid.position);
                }
            }
            None => {}
        }
    }
}
