//! The part of a state that joints are about.

use crate::simulate::{JointState, SolidState, State, TargetState};

/// Of a state, or of what a linkage has of one: parallel to the solids, trackers and joints of its rig.
#[derive(Debug)]
pub struct Part<'a> {
    /// Scene time (s).
    pub time: f64,
    pub solids: &'a mut [SolidState],
    pub targets: &'a [TargetState],
    pub joints: &'a mut [JointState],
}

impl Part<'_> {
    /// All of it.
    pub fn whole(state: &mut State) -> Part<'_> {
        let State { time, solids, targets, joints, .. } = state;
        Part { time: *time, solids, targets, joints }
    }
}
