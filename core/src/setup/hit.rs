//! Hits: how a figure takes a blow, and blows that nothing strikes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a figure takes a blow: its muscles go soft for a moment, so that what strikes it is seen, and recover. Of the body that
/// leads it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hit {
    /// How far it is bent, beside what a blow of that strength usually does; 0 takes it like a statue. Default 1.
    pub amount: f64,
    /// How long it takes to be itself again, s. A second blow within that time does nothing new. Default 0.6.
    pub seconds: f64,
}

impl Default for Hit {
    fn default() -> Self {
        Hit { amount: 1.0, seconds: 0.6 }
    }
}

/// A blow without an object: an impulse at a body, at a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impulse {
    /// The body that is struck, at its centre of mass: its node's name, or `#index`.
    pub node: String,
    /// The frame.
    pub frame: f64,
    /// Direction and strength in the world, N s: 5 kg that come at 5 m/s and stop have 25.
    pub impulse: [f64; 3],
}
