//! When physics takes over from the keys, and when they get an object back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An object that follows its keys exactly, pushing what it touches, until physics takes over. Objects that joints hold
/// together are released together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Release {
    /// The frame at which physics takes over. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<f64>,
    /// Whether something that physics moves releases it by touching it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    /// How fast that must come at it, m/s. Default 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub speed: f64,
    /// How much of the keys' velocity it has then: 1 goes on as the keys did, 0 starts from rest.
    pub inherit: f64,
    /// Seconds after which it goes back to its keys. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_after: Option<f64>,
    /// How long that takes, s. Afterwards it can be released again.
    pub back_over: f64,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl Default for Release {
    fn default() -> Self {
        Release { frame: None, touched: false, speed: 0.0, inherit: 1.0, back_after: None, back_over: 0.5 }
    }
}
