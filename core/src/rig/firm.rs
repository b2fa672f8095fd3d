//! Keys that are followed more or less closely, and hard ones, compiled: factors on a body's strength and blend over time.
//!
//! A hard key is reached on its frame whatever pulls at the body: what is shown is blended into the keys around it, along a curve
//! whose first two derivatives are 0 at both ends (smootherstep), so that it arrives with the keys' own velocity and
//! acceleration, and nothing pops. Meanwhile the body is stronger, so that there is less to blend.

use super::compile::{Compiler, curve_error};
use super::only::fits;
use super::{GroupFactors, Value};
use crate::setup::{Between, Body, Keyable, Keys, SetupError, Timing, nearest};

/// At a hard key a body is so many times as strong.
const HARD: f64 = 10.0;

/// From the keys to physics and back takes so long, s.
const OVER_S: f64 = 0.25;

/// The curve to a hard key is made of so many straight pieces.
const PIECES: usize = 24;

/// From 0 to 1 without a jerk.
fn smoother(u: f64) -> f64 {
    u * u * u * (u * (6.0 * u - 15.0) + 10.0)
}

/// 0 at hard keys, 1 far from them.
fn softness(hard: &[f64], time: f64) -> f64 {
    let nearest = hard.iter().map(|h| (time - h).abs()).fold(f64::INFINITY, f64::min);
    smoother((nearest / OVER_S).min(1.0))
}

/// A curve over time that leaves `soft` around hard keys.
fn around(hard: &[f64], soft: &[[f64; 2]], at: impl Fn(f64, f64) -> f64) -> Vec<[f64; 2]> {
    let mut times: Vec<f64> = soft.iter().map(|k| k[0]).collect();
    let piece = |h: f64, k: usize| h + OVER_S * (k as f64 / PIECES as f64 - 1.0);
    times.extend(hard.iter().flat_map(|h| (0..=2 * PIECES).map(|k| piece(*h, k))));
    times.sort_by(f64::total_cmp);
    times.dedup();
    times.into_iter().map(|t| [t, at(t, straight(soft, t))]).collect()
}

/// Straight from one to the next, and level beyond the ends; 1 of none.
fn straight(keys: &[[f64; 2]], time: f64) -> f64 {
    let after = keys.partition_point(|k| k[0] <= time);
    match (after.checked_sub(1).map(|b| keys[b]), keys.get(after)) {
        (Some([t, x]), Some([u, y])) => x + (y - x) * (time - t) / (u - t),
        (Some([_, x]), None) => x,
        (None, Some([_, y])) => *y,
        (None, None) => 1.0,
    }
}

impl Compiler<'_> {
    /// The factors that a body's keys ask for, if they do; `path` is that of its guide.
    pub(super) fn firmness(
        &self,
        body: &Body,
        place: &str,
        path: usize,
    ) -> Result<Option<GroupFactors>, SetupError> {
        let wanted = &body.guide.keys;
        let mut hard = self.hard_poses(body)?;
        if wanted.is_empty() && hard.is_empty() {
            return Ok(None);
        }
        let place = format!("{place}.guide.keys");
        if body.guide.timing != Timing::Timed && !wanted.is_empty() {
            let why = "keys are followed more or less closely at their times; take \"timing\": \"timed\"";
            return Err(SetupError::new(place, why));
        }
        let times = &self.paths[path].keys;
        let mut factors = vec![1.0; times.len()];
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
            factors[at.key] = at.strength;
            hard.extend(at.hard.then_some(times[at.key]));
        }
        let soft: Vec<[f64; 2]> = match wanted.is_empty() {
            true => Vec::new(),
            false => times.iter().copied().zip(factors).map(<[f64; 2]>::from).collect(),
        };
        let strong = |time: f64, soft: f64| soft * (HARD / soft.max(1e-3)).powf(1.0 - softness(&hard, time));
        let value = |keys: Vec<[f64; 2]>| match keys.is_empty() {
            true => Ok(Value::constant(1.0)),
            false => Value::new(&Keyable::Keys(Keys { keys, between: Between::Linear })),
        };
        let strength = value(around(&hard, &soft, strong)).map_err(curve_error(place.clone()))?;
        let blend = value(around(&hard, &[], |time, _| softness(&hard, time))).map_err(curve_error(place))?;
        let one = || Value::constant(1.0);
        Ok(Some(GroupFactors { strength, damping: one(), compensation: one(), blend }))
    }

    /// Moments (s) at which a body is to be on its keys with others.
    fn hard_poses(&self, body: &Body) -> Result<Vec<f64>, SetupError> {
        let mut all = Vec::new();
        for (k, pose) in self.setup.hard_keys.iter().enumerate() {
            if !pose.frame.is_finite() {
                return Err(SetupError::new(format!("hard_keys[{k}].frame"), "is no finite number"));
            }
            let bodies = &self.setup.bodies;
            if let Some(wish) = pose.of.iter().find(|wish| !bodies.iter().any(|b| names(wish, b))) {
                let all = bodies.iter().flat_map(|b| b.groups.iter().chain([&b.node])).map(String::as_str);
                let meant = nearest(wish, all).map_or(String::new(), |m| format!("; did you mean \"{m}\"?"));
                let what = format!("nothing that is simulated is called \"{wish}\"{meant}");
                return Err(SetupError::new(format!("hard_keys[{k}].of"), what));
            }
            if pose.of.is_empty() || pose.of.iter().any(|wish| names(wish, body)) {
                all.push(pose.frame / self.frames_per_second);
            }
        }
        Ok(all)
    }
}

/// Whether a wish means a body, by its node or one of its groups.
fn names(wish: &str, body: &Body) -> bool {
    fits(wish, &body.node) || body.groups.iter().any(|g| fits(wish, g))
}
