//! Pins of a set-up, compiled: a body's own keys in the world as the other end of a joint that gives way a little, and that
//! is switched on and off softly.
//!
//! The spring answers at [`RAD_PER_S`] with all the mass that joints hold together with the body, critically damped: a foot
//! that a whole figure leans on gives way as little as one alone.

use super::compile::{Compiler, curve_error};
use super::settings::LETS_GO;
use super::{GroupFactors, Value};
use crate::joint::{self, End, Holds, Joint, Kind, Spring};
use crate::scene::Placement;
use crate::setup::{Between, Keyable, Keys, Pin, SetupError};
use std::collections::HashMap;

/// How quickly a pin answers, rad/s: a whole weight sideways moves it by 2.7 mm.
const RAD_PER_S: f64 = 60.0;

/// Moments nearer than this are one, s: set-ups have few digits.
const HAIR_S: f64 = 1e-3;

impl Compiler<'_> {
    /// Compiles the pins of every body; `bodies`: set-up body by node, `joints`: those that hold bodies together.
    pub(super) fn pins(
        &mut self,
        bodies: &HashMap<usize, usize>,
        joints: &[Joint],
        groups: &[GroupFactors],
    ) -> Result<Vec<Joint>, SetupError> {
        let mut pins = Vec::new();
        for solid in 0..self.solids.len() {
            let (node, offset) = (self.solids[solid].node, self.solids[solid].offset);
            let b = bodies[&node];
            let wanted = &self.setup.bodies[b].pins;
            // What has no strength holds on to nothing.
            let gone = self.setup.bodies[b].actuator.point(self.setup.looseness) >= 1.0;
            if wanted.is_empty() || gone {
                continue;
            }
            let place = format!("bodies[{b}] {}.pins", self.solids[solid].label);
            let grip = self.grip(wanted, &place)?;
            let pose = self.pose;
            let path = self.path(node, move |t| pose.placement_at(node, t).then(&offset));
            let s = &self.solids[solid];
            let (moves, turns) = (s.simulate.position(), s.simulate.orientation());
            let held = joint::together(self.solids.len(), joints, solid);
            let (mut mass, mut inertia) = (0.0, 0.0);
            for i in (0..held.len()).filter(|i| held[*i]) {
                let other = &self.solids[i];
                let away = (self.keyed_at_start(i).position - self.keyed_at_start(solid).position).length();
                mass += other.mass;
                inertia += other.inertia.max_element() + other.mass * away * away;
            }
            let strength = |t: f64| s.groups.iter().map(|&g| groups[g].strength.at(t)).product::<f64>();
            let times = Self::grip_times(&grip, s.groups.iter().flat_map(|&g| groups[g].strength.times()));
            let share = |t: f64| grip.at(t) * (strength(t) / LETS_GO).min(1.0);
            let over_time = |most: f64| {
                let keys = times.iter().map(|&t| [t, most * share(t)]).collect();
                Value::new(&Keyable::Keys(Keys { keys, between: Between::Linear }))
                    .map_err(curve_error(place.clone()))
            };
            let pair = |inertia: f64| {
                Ok::<_, SetupError>([
                    over_time(inertia * RAD_PER_S * RAD_PER_S)?,
                    over_time(2.0 * inertia * RAD_PER_S)?,
                ])
            };
            let spring = Spring {
                slide: moves.then(|| pair(mass)).transpose()?,
                turn: turns.then(|| pair(inertia)).transpose()?,
                strength: f64::INFINITY,
            };
            let name = format!("pin of {}", s.label);
            let ends = [End::Keys(path), End::Solid(solid)];
            let kind = Kind::Directions([moves, moves, moves, turns, turns, turns]);
            pins.push(Joint {
                of: usize::MAX,
                spring: Some(spring),
                holds: Holds { on: Some(Self::holds_on(wanted, &place)?), ..Holds::default() },
                ..Joint::new(name, ends, [Placement::IDENTITY; 2], kind)
            });
        }
        Ok(pins)
    }

    fn keyed_at_start(&self, solid: usize) -> Placement {
        super::compile::keyed(&self.paths, &self.solids, self.solids[solid].hold, self.start)
    }

    /// How firmly pins hold over time, 0 to 1.
    fn grip(&self, pins: &[Pin], place: &str) -> Result<Value, SetupError> {
        let mut keys: Vec<[f64; 2]> = Vec::new();
        for (i, pin) in pins.iter().enumerate() {
            let place = format!("{place}[{i}]");
            if !(pin.from.is_finite() && pin.to.is_finite() && pin.from < pin.to) {
                let why = format!(
                    "{} to {} is no time; give two moments in seconds, the earlier first",
                    pin.from, pin.to
                );
                return Err(SetupError::new(place, why));
            }
            if !(pin.over.is_finite() && pin.over >= 0.0) {
                return Err(SetupError::new(
                    format!("{place}.over"),
                    format!("{} must be 0 or more", pin.over),
                ));
            }
            if let Some(before) = i.checked_sub(1).map(|b| pins[b]).filter(|b| b.to > pin.from) {
                let why = format!(
                    "begins at {} s, before the one before it ends at {} s; make one of the two, or sort them",
                    pin.from, before.to
                );
                return Err(SetupError::new(place, why));
            }
            let Pin { from, to, .. } = *pin;
            let half = 0.5 * (to - from);
            let over = pin.over.min(half).max(1e-9);
            // What stands at an end of the range stood before, and goes on standing.
            let (first, last) = (self.range.start(), self.range.start() + self.range.length());
            let ends = [from > first + HAIR_S, to < last - HAIR_S];
            keys.push([from, if ends[0] { 0.0 } else { 1.0 }]);
            keys.push([from + over, 1.0]);
            if to - over > from + over {
                keys.push([to - over, 1.0]);
            }
            keys.push([to, if ends[1] { 0.0 } else { 1.0 }]);
        }
        // One that begins where another ends goes on holding.
        keys.dedup_by(|later, earlier| {
            let same = later[0] <= earlier[0];
            earlier[1] = if same { earlier[1].max(later[1]) } else { earlier[1] };
            same
        });
        Value::new(&Keyable::Keys(Keys { keys, between: Between::Linear })).map_err(curve_error(place))
    }

    /// When the grip, or what weakens it, changes.
    fn grip_times<'a>(grip: &'a Value, others: impl Iterator<Item = &'a f64>) -> Vec<f64> {
        let own = grip.times();
        let (first, last) = (own[0], own[own.len() - 1]);
        let mut times: Vec<f64> =
            own.iter().chain(others).copied().filter(|t| (first..=last).contains(t)).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// Whether any holds, over time.
    fn holds_on(pins: &[Pin], place: &str) -> Result<Value, SetupError> {
        let mut keys = vec![[pins[0].from - 1.0, 0.0]];
        for pin in pins {
            let Pin { from, to, .. } = *pin;
            if keys.last().is_some_and(|k| k[0] >= from) {
                keys.pop();
            }
            keys.extend([[from, 1.0], [to, 0.0]]);
        }
        Value::new(&Keyable::Keys(Keys { keys, between: Between::Step })).map_err(curve_error(place))
    }
}
