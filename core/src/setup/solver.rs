//! How joints are solved: exactly, or as well as a budget allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How joints are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// What solves them.
    pub tier: Tier,
    /// Most rounds of closing per step: how often bodies move and joints are measured anew. Default: as many as it
    /// takes, at most 24.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// `iterative`: most iterations per round. Default: as many as it takes, at most three per joint row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// How often a step whose joints do not close is halved, 0 to 8. Default 4. After the last one they are closed
    /// whatever it takes, which costs energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halvings: Option<usize>,
    /// Most time per step, microseconds; then joints stay as they are. A step that is cut short is not the same on
    /// another machine: for live work. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<f64>,
    /// On how many threads what does not meet is simulated, 1 to 64. The result is the same on any number. Default: one
    /// for each core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

impl Solver {
    pub(super) fn is_default(&self) -> bool {
        *self == Solver::default()
    }
}

/// What solves the joints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Sparse factorisation: exact, and its cost grows with the number of joints alone.
    #[default]
    Direct,
    /// Conjugate gradients (Faure 1998): as good as its iterations.
    Iterative,
    /// Each joint moves its own two objects (Lamouret 1995, eq. 5 and 6): cheapest, and slow to agree.
    Pairwise,
}
