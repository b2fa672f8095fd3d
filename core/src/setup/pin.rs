//! When an object is held to where its keys have it, whatever its muscles do: feet that stand, hands that hold on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From one moment to another an object is held to its keyed place and turn in the world. It takes hold and lets go softly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// From when on it is held, s.
    pub from: f64,
    /// When it is let go, s.
    pub to: f64,
    /// How long it takes to take hold after the one and to let go before the other, s, 0 or more. Default 0.1. Not at the
    /// first and last frame of a bake: what stands there stood before, and goes on standing.
    #[serde(default = "over", skip_serializing_if = "is_default")]
    pub over: f64,
}

/// Long enough not to be seen as a jerk, short beside a step.
const OVER_S: f64 = 0.1;

fn over() -> f64 {
    OVER_S
}

fn is_default(over: &f64) -> bool {
    *over == OVER_S
}

impl Pin {
    /// From one moment to another (s), softly.
    pub fn new(from: f64, to: f64) -> Pin {
        Pin { from, to, over: OVER_S }
    }
}
