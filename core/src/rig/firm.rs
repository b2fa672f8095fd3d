//! Keys that are followed more or less closely, compiled: a factor on a body's strength over time.

use super::compile::{Compiler, curve_error};
use super::{GroupFactors, Value};
use crate::setup::{Between, Body, Keyable, Keys, SetupError, Timing};

/// At a hard key a body is so many times as strong: a thousand times as quick.
const HARD: f64 = 1e6;

/// A body takes so long to gain and to lose that strength, s, at most.
const OVER_S: f64 = 0.25;

/// Steps of the way there: by how much of the time, and of the logarithm of the strength.
const WAY: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

impl Compiler<'_> {
    /// The factors that a body's keys ask for, if they do; `path` is that of its guide.
    pub(super) fn firmness(
        &self,
        body: &Body,
        place: &str,
        path: usize,
    ) -> Result<Option<GroupFactors>, SetupError> {
        let wanted = &body.guide.keys;
        if wanted.is_empty() {
            return Ok(None);
        }
        let place = format!("{place}.guide.keys");
        if body.guide.timing != Timing::Timed {
            let why = "keys are followed more or less closely at their times; take \"timing\": \"timed\"";
            return Err(SetupError::new(place, why));
        }
        let times = &self.paths[path].keys;
        let mut factors = vec![1.0; times.len()];
        let mut hard = vec![false; times.len()];
        for (i, at) in wanted.iter().enumerate() {
            self.key_time(path, at.key, &format!("{place}[{i}]"))?;
            if !(at.strength.is_finite() && at.strength >= 0.0) {
                let why = format!("{} must be 0 or more", at.strength);
                return Err(SetupError::new(format!("{place}[{i}].strength"), why));
            }
            if wanted[..i].iter().any(|other| other.key == at.key) {
                let why = format!("key {} is there twice; keep one", at.key);
                return Err(SetupError::new(format!("{place}[{i}]"), why));
            }
            (factors[at.key], hard[at.key]) = (at.strength, at.hard);
        }
        let mut keys: Vec<[f64; 2]> = Vec::new();
        for (k, &time) in times.iter().enumerate() {
            if !hard[k] {
                keys.push([time, factors[k]]);
                continue;
            }
            let soft = factors[k].max(1e-3);
            let side = |other: Option<&f64>| other.map_or(OVER_S, |t| (0.5 * (time - t).abs()).min(OVER_S));
            let (early, late) = (side(k.checked_sub(1).map(|b| &times[b])), side(times.get(k + 1)));
            let strong = |u: f64| soft * (HARD / soft).powf(u);
            keys.push([time - early, soft]);
            keys.extend(WAY.map(|u| [time - early * (1.0 - u), strong(u)]));
            keys.push([time, HARD]);
            keys.extend(WAY.iter().rev().map(|u| [time + late * (1.0 - u), strong(*u)]));
            keys.push([time + late, soft]);
        }
        keys.dedup_by(|later, earlier| later[0] <= earlier[0]);
        let strength = Value::new(&Keyable::Keys(Keys { keys, between: Between::Linear }));
        let one = || Value::constant(1.0);
        Ok(Some(GroupFactors {
            strength: strength.map_err(curve_error(place))?,
            damping: one(),
            compensation: one(),
            blend: one(),
        }))
    }
}
