//! Poses that must be hit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A frame at which bodies are where their keys have them, whatever pulls at them: what is shown leaves physics a quarter of a
/// second before, and goes back to it as softly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardKey {
    /// The frame.
    pub frame: f64,
    /// Of these nodes or groups only; `*` stands for any letters. Default: everything that is simulated, the whole pose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
}
