//! What a joint's limits say: of each of the six directions whether it is held, bounded or free.
//!
//! Values are as in the file: metres and radians, in the axes of the joint's node, of the connected node as seen from
//! the joint's. A limit over one axis bounds a signed value; over two or three it bounds a distance or a tilt, which
//! is never below 0.

use super::{Dialect, index, number};
use serde_json::Value;

/// How a limit gives way: N/m and N s/m, or N m/rad and N m s/rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Soft {
    pub stiffness: f64,
    pub damping: f64,
}

/// What the limits say of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Way {
    /// Held at this value.
    pub hold: Option<f64>,
    /// How the hold gives way; not at all without.
    pub soft: Option<Soft>,
    /// Least and most.
    pub range: Option<[f64; 2]>,
}

impl Way {
    /// Whether it is held where the two frames meet.
    pub fn is_locked(&self) -> bool {
        self.hold == Some(0.0)
    }

    /// Whether anything is said of it.
    pub fn is_free(&self) -> bool {
        *self == Way::default()
    }
}

/// The limits of a joint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// Along x, y, z.
    pub linear: [Way; 3],
    /// About x, y, z.
    pub angular: [Way; 3],
    /// How far apart the two points may be, and how that gives way.
    pub distance: Option<([f64; 2], Option<Soft>)>,
    /// How far an axis may tilt: which, and the angle.
    pub cone: Option<(usize, f64)>,
    /// How far the one frame may be turned against the other, about whatever axis.
    pub turn: Option<f64>,
    /// What no set-up can say.
    pub notes: Vec<&'static str>,
}

/// One-sided slides end this far away, m: farther than anything in a scene, and still a number in JSON.
const FAR: f64 = 1e6;

/// Godot's settings of a pin joint, which its exporter writes as stiffness and damping: shares of a solver, in no
/// unit. As N/m they would hold nothing.
const GODOT_PIN: (f64, f64) = (0.3, 1.0);

impl Limits {
    /// Adds one limit of the document. What a later one says of a direction wins.
    pub fn add(&mut self, limit: &Value, dialect: Dialect) {
        let axes = |key: &str| -> Vec<usize> {
            let items = limit[key].as_array().map_or(&[][..], Vec::as_slice);
            let mut axes: Vec<usize> = items.iter().filter_map(index).filter(|&a| a < 3).collect();
            axes.sort_unstable();
            axes.dedup();
            axes
        };
        let bound = |new: &str, old: &str| number(&limit[new]).or_else(|| number(&limit[old]));
        let (min, max) = (bound("min", "lowerLimit"), bound("max", "upperLimit"));
        let (min, max) = match (min, max) {
            (None, None) => (Some(0.0), Some(0.0)),
            given => given,
        };
        if matches!((min, max), (Some(least), Some(most)) if least > most) {
            self.notes.push("limits whose min is above their max are left out");
            return;
        }
        let soft = self.soft(limit, dialect);
        self.add_linear(&axes("linearAxes"), min, max, soft);
        self.add_angular(&axes("angularAxes"), min, max, soft);
    }

    /// How a limit gives way.
    fn soft(&mut self, limit: &Value, dialect: Dialect) -> Option<Soft> {
        let stiffness = number(&limit["stiffness"]).filter(|s| *s >= 0.0)?;
        // Before 2024 the default was 1.
        let default = if limit["lowerLimit"].is_null() && limit["upperLimit"].is_null() { 0.0 } else { 1.0 };
        let damping = number(&limit["damping"]).filter(|d| *d >= 0.0).unwrap_or(default);
        if dialect == Dialect::Omi && (stiffness, damping) == GODOT_PIN {
            self.notes.push(
                "soft joint limits are held hard: stiffness 0.3 and damping 1 are Godot's settings of a pin, not N/m",
            );
            return None;
        }
        Some(Soft { stiffness, damping })
    }

    fn add_linear(&mut self, axes: &[usize], min: Option<f64>, max: Option<f64>, soft: Option<Soft>) {
        match (axes, max) {
            ([], _) => {}
            (&[axis], _) => {
                let range = [min.unwrap_or(-FAR), max.unwrap_or(FAR)];
                self.one(true, axis, range, soft);
            }
            (axes, Some(0.0)) => axes.iter().for_each(|&a| self.linear[a] = locked(soft)),
            (&[_, _, _], Some(most)) if most > 0.0 => {
                self.linear = Default::default();
                self.distance = Some(([min.unwrap_or(0.0).max(0.0), most], soft));
            }
            _ => self.notes.push("a limit of the distance from a line, or without a most, is left out"),
        }
    }

    fn add_angular(&mut self, axes: &[usize], min: Option<f64>, max: Option<f64>, soft: Option<Soft>) {
        let is_bounded = |most: f64| most > 0.0 && min.is_none_or(|least| least <= 0.0);
        match (axes, max) {
            ([], _) => {}
            (&[axis], _) => {
                let half = std::f64::consts::PI;
                let range = [min.unwrap_or(-half), max.unwrap_or(half)];
                self.one(false, axis, range, soft);
            }
            (axes, Some(0.0)) => axes.iter().for_each(|&a| self.angular[a] = locked(soft)),
            (&[a, b], Some(most)) if is_bounded(most) => {
                [a, b].into_iter().for_each(|i| self.angular[i] = Way::default());
                self.cone = Some((3 - a - b, most));
                self.note_soft_range(soft);
            }
            (&[_, _, _], Some(most)) if is_bounded(most) => {
                self.angular = Default::default();
                self.turn = Some(most);
                self.note_soft_range(soft);
            }
            _ => self.notes.push("a tilt with a least, or without a most, is left out"),
        }
    }

    /// A limit of one direction.
    fn one(&mut self, is_linear: bool, axis: usize, range: [f64; 2], soft: Option<Soft>) {
        let way = if is_linear { &mut self.linear[axis] } else { &mut self.angular[axis] };
        if range[0] == range[1] {
            (way.hold, way.soft) = (Some(range[0]), soft);
        } else {
            *way = Way { range: Some(range), ..Way::default() };
            self.note_soft_range(soft);
        }
    }

    fn note_soft_range(&mut self, soft: Option<Soft>) {
        if soft.is_some() {
            self.notes.push("stiffness and damping of ranges are left out: their ends are hard");
        }
    }
}

fn locked(soft: Option<Soft>) -> Way {
    Way { hold: Some(0.0), soft, range: None }
}
