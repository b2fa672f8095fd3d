//! A joint's drives: springs along and about its axes.

use super::{index, number};
use serde_json::Value;

/// One drive that a set-up can have, in metres or radians, in the axes of the joint's node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drive {
    /// Along the axis, or else about it.
    pub is_linear: bool,
    pub axis: usize,
    /// Where it pulls to; it only brakes without.
    pub target: Option<f64>,
    /// N/m, or N m/rad.
    pub stiffness: f64,
    /// N s/m, or N m s/rad.
    pub damping: f64,
    /// N, or N m.
    pub most: Option<f64>,
}

/// The drives of a joint's description, and what of them no set-up can say.
pub(crate) fn drives(described: &Value) -> (Vec<Drive>, Vec<&'static str>) {
    let mut notes = Vec::new();
    let items = described["drives"].as_array().map_or(&[][..], Vec::as_slice);
    let found = items.iter().filter_map(|d| drive(d, &mut notes)).collect();
    (found, notes)
}

fn drive(value: &Value, notes: &mut Vec<&'static str>) -> Option<Drive> {
    let is_linear = match value["type"].as_str() {
        Some("linear") => Some(true),
        Some("angular") => Some(false),
        _ => None,
    };
    let (Some(is_linear), Some(axis)) = (is_linear, index(&value["axis"]).filter(|&a| a < 3)) else {
        notes.push("a drive of no known type or axis is left out");
        return None;
    };
    let positive = |key: &str| number(&value[key]).filter(|v| *v >= 0.0);
    let target = number(&value["positionTarget"]);
    let stiffness = target.and_then(|_| positive("stiffness")).unwrap_or(0.0);
    let damping = positive("damping").unwrap_or(0.0);
    if value["mode"] == "acceleration" {
        notes.push("drives by acceleration are left out: springs are in newtons");
        return None;
    }
    let moves = number(&value["velocityTarget"]).is_some_and(|v| v != 0.0);
    if moves && stiffness == 0.0 {
        notes.push("drives by velocity are left out: key `rest` instead");
        return None;
    }
    if moves {
        notes.push("velocityTarget of drives is left out: they pull to their positionTarget");
    }
    if stiffness == 0.0 && damping == 0.0 {
        return None;
    }
    let target = target.filter(|_| stiffness > 0.0);
    Some(Drive { is_linear, axis, target, stiffness, damping, most: positive("maxForce") })
}
