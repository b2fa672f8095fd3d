//! What a joint's limits hold: the six directions, each locked, bounded or free; and the kind of joint that is
//! nearest to them.

use super::{index, number};
use serde_json::Value;
use sinew_core::setup::JointKind;

/// Limits of a joint, in the axes of its node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    /// Locked directions along x, y, z.
    pub linear: [bool; 3],
    /// Locked rotations about x, y, z.
    pub angular: [bool; 3],
    /// How far apart the two points may be: at least, at most.
    pub distance: Option<(f64, f64)>,
    /// Whether something is bounded that a set-up cannot bound.
    pub has_range: bool,
    /// Whether something gives way.
    pub is_soft: bool,
}

/// The nearest kind of joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearest {
    pub kind: JointKind,
    /// Which of the node's axes is the main one.
    pub axis: usize,
    pub length: Option<f64>,
    /// Whether it holds just what the limits lock.
    pub is_exact: bool,
}

impl Limits {
    /// Adds one limit of the document. What a later one says of a direction wins.
    pub fn add(&mut self, limit: &Value) {
        let axes = |key: &str| -> Vec<usize> {
            let items = limit[key].as_array().map_or(&[][..], Vec::as_slice);
            items.iter().filter_map(index).filter(|&a| a < 3).collect()
        };
        let (linear, angular) = (axes("linearAxes"), axes("angularAxes"));
        let bound = |new: &str, old: &str| number(&limit[new]).or_else(|| number(&limit[old]));
        let (min, max) = (bound("min", "lowerLimit"), bound("max", "upperLimit"));
        let (min, max) = match (min, max) {
            (None, None) => (Some(0.0), Some(0.0)),
            given => given,
        };
        self.is_soft |= limit["stiffness"].is_number();
        // Over several axes a limit is of a distance or a tilt, which is never below 0.
        let locks = |count: usize| max == Some(0.0) && (min == Some(0.0) || count > 1);
        let mut held = [false; 3];
        if locks(linear.len()) {
            linear.iter().for_each(|&a| held[a] = true);
        } else if linear.len() == 3 && max.is_some_and(|m| m > 0.0) {
            self.distance = max.map(|m| (min.unwrap_or(0.0).max(0.0), m));
        } else {
            self.has_range |= !linear.is_empty();
        }
        linear.iter().for_each(|&a| self.linear[a] = held[a]);
        self.has_range |= !angular.is_empty() && !locks(angular.len());
        angular.iter().for_each(|&a| self.angular[a] = locks(angular.len()));
    }

    /// The nearest kind of joint. `None` when nothing of it can be held.
    pub fn nearest(&self) -> Option<Nearest> {
        let count = |locked: &[bool; 3]| locked.iter().filter(|l| **l).count();
        let only = |locked: &[bool; 3], value: bool| locked.iter().position(|l| *l == value).unwrap_or(0);
        let (lines, turns) = (count(&self.linear), count(&self.angular));
        let free_turn = only(&self.angular, false);
        let new = |kind, axis, is_exact| Some(Nearest { kind, axis, length: None, is_exact });
        match lines {
            3 => match turns {
                3 => new(JointKind::Fixed, 0, true),
                2 => new(JointKind::Pin, free_turn, true),
                _ => new(JointKind::Universal, 0, turns == 0),
            },
            2 => {
                let along = only(&self.linear, false);
                match turns {
                    3 => new(JointKind::Prismatic, along, true),
                    2 if free_turn == along => new(JointKind::Cylindrical, along, true),
                    _ => new(JointKind::BallSocket, along, turns == 0),
                }
            }
            1 => {
                let across = only(&self.linear, true);
                let about = turns == 3 || (turns == 2 && free_turn == across);
                match about {
                    true => new(JointKind::Plane, across, turns == 2),
                    false => new(JointKind::SmoothContact, across, turns == 0),
                }
            }
            _ => {
                let (least, most) = self.distance?;
                let is_rod = least == most;
                let kind = if is_rod { JointKind::Distance } else { JointKind::Rope };
                let is_exact = turns == 0 && (is_rod || least == 0.0);
                Some(Nearest { kind, axis: 0, length: Some(most), is_exact })
            }
        }
    }
}
