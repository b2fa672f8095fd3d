//! How well bodies followed their keys, and what it cost them.

use super::Motion;
use crate::rig::Rig;
use crate::rotation;

/// One body's summary, in scene units, degrees, newtons.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Follow {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Whether anything guides it.
    pub guided: bool,
    /// kg.
    pub mass_kg: f64,
    /// Root mean square distance from the keys.
    pub rms_distance: f64,
    /// Largest distance from the keys.
    pub max_distance: f64,
    /// Frame of that, counted from the first.
    pub max_distance_frame: usize,
    /// Root mean square angle from the keys, degrees.
    pub rms_angle_deg: f64,
    /// Largest angle from the keys, degrees.
    pub max_angle_deg: f64,
    /// Strongest pull of its actuator, N.
    pub peak_force_n: f64,
    /// Strongest turn of its actuator, N m.
    pub peak_torque_nm: f64,
    /// Frames at which the actuator was at its limit.
    pub saturated_frames: usize,
}

/// Summaries in the rig's order.
pub fn report(rig: &Rig, motion: &Motion) -> Vec<Follow> {
    let metres = rig.world.metres_per_unit;
    let frames = motion.frames().max(1) as f64;
    let follow = |i: usize| {
        let solid = &rig.solids[i];
        let mut f = Follow {
            node: solid.name.clone(),
            guided: solid.position_target.is_some() || solid.rotation_target.is_some(),
            mass_kg: solid.mass,
            rms_distance: 0.0,
            max_distance: 0.0,
            max_distance_frame: 0,
            rms_angle_deg: 0.0,
            max_angle_deg: 0.0,
            peak_force_n: 0.0,
            peak_torque_nm: 0.0,
            saturated_frames: 0,
        };
        for (frame, s) in motion.solid(i).enumerate() {
            let distance = (s.node.position - s.keys.position).length();
            let angle = rotation::distance(s.node.rotation, s.keys.rotation).to_degrees();
            f.rms_distance += distance * distance / frames;
            f.rms_angle_deg += angle * angle / frames;
            if distance > f.max_distance {
                (f.max_distance, f.max_distance_frame) = (distance, frame);
            }
            f.max_angle_deg = f.max_angle_deg.max(angle);
            f.peak_force_n = f.peak_force_n.max(s.force.length() * metres);
            f.peak_torque_nm = f.peak_torque_nm.max(s.torque.length() * metres * metres);
            f.saturated_frames += usize::from(s.saturated);
        }
        f.rms_distance = f.rms_distance.sqrt();
        f.rms_angle_deg = f.rms_angle_deg.sqrt();
        f
    };
    (0..rig.solids.len()).map(follow).collect()
}
