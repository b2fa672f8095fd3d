//! Hits, compiled.

use super::compile::Compiler;
use crate::setup::{Body, SetupError, nearest};
use glam::DVec3;

/// How a figure takes a blow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// How far it is bent, beside what is usual.
    pub amount: f64,
    /// How long it takes to be itself again, s.
    pub seconds: f64,
}

/// A blow without an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impulse {
    /// The body that is struck.
    pub solid: usize,
    /// Scene time (s).
    pub time: f64,
    /// World, kg units/s.
    pub impulse: DVec3,
}

/// A blow lasts so long, s: shorter ones look the same, and longer ones like a push.
const LASTS: f64 = 1.0 / 60.0;

impl Impulse {
    /// The share of it that falls between two moments (s).
    #[inline]
    pub fn share(&self, from: f64, to: f64) -> f64 {
        ((to.min(self.time + LASTS) - from.max(self.time)) / LASTS).max(0.0)
    }
}

impl Compiler<'_> {
    /// How a figure takes a blow.
    pub(super) fn hit(&self, body: &Body, place: &str) -> Result<Option<Hit>, SetupError> {
        let Some(wanted) = &body.hit else { return Ok(None) };
        let check = |field: &str, value: f64, [least, most]: [f64; 2]| match value >= least && value <= most {
            true => Ok(()),
            false => Err(SetupError::new(
                format!("{place}.hit.{field}"),
                format!("{value} must be between {least} and {most}"),
            )),
        };
        check("amount", wanted.amount, [0.0, 10.0])?;
        check("seconds", wanted.seconds, [0.0, 60.0])?;
        let does = wanted.amount > 0.0 && wanted.seconds > 0.0;
        Ok(does.then_some(Hit { amount: wanted.amount, seconds: wanted.seconds }))
    }

    /// Blows without an object, in the set-up's order.
    pub(super) fn impulses(&self) -> Result<Vec<Impulse>, SetupError> {
        let mut all = Vec::with_capacity(self.setup.hits.len());
        for (k, hit) in self.setup.hits.iter().enumerate() {
            let place = format!("hits[{k}]");
            let node = super::resolve_node(self.scene, &self.names, &hit.node, &format!("{place}.node"))?;
            let Some(&solid) = self.solid_of_node.get(&node) else {
                let known = self.solids.iter().map(|s| s.name.as_str());
                let meant =
                    nearest(&hit.node, known).map_or(String::new(), |m| format!("; did you mean \"{m}\"?"));
                let what = format!("physics does not move \"{}\"{meant}", hit.node);
                return Err(SetupError::new(format!("{place}.node"), what));
            };
            if !(hit.frame.is_finite() && hit.impulse.iter().all(|v| v.is_finite())) {
                return Err(SetupError::new(place, "frame and impulse must be finite numbers"));
            }
            let time = hit.frame / self.frames_per_second;
            let impulse = DVec3::from_array(hit.impulse) / self.mpu;
            all.push(Impulse { solid, time, impulse });
        }
        Ok(all)
    }
}
