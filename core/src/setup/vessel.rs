//! Simulating aboard something that moves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What carries everything that is simulated, and how much of its motion is felt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vessel {
    /// The node, by name or `#index`; it follows its keys.
    pub node: String,
    /// Share of its motion that is felt, 0 to 1: 0 simulates as if it stood still, 1 as in the world.
    #[serde(default)]
    pub felt: f64,
}
