//! The Khronos glTF validator.

use super::script;
use crate::program::Program;
use serde_json::Value;
use std::path::Path;

/// Passes when `file` has no error that `original` has not as well, counted by kind: a published file may itself
/// be at fault. Returns how many errors both have; the message of a refusal quotes the first new ones.
pub fn judge(file: &Path, original: &Path) -> Result<u64, String> {
    verdict(script("validate.mjs").arg(file).arg(original))
}

/// Passes when `file` has no error at all.
pub fn is_valid(file: &Path) -> Result<(), String> {
    verdict(script("validate.mjs").arg(file)).map(drop)
}

fn verdict(asked: Program) -> Result<u64, String> {
    let done = asked.run()?;
    let verdict: Value = match serde_json::from_str(&done.stdout) {
        Ok(verdict) => verdict,
        Err(_) => {
            return Err(done.success().map_or_else(|e| e, |done| format!("no verdict: {}", done.stdout)));
        }
    };
    let fresh = verdict["fresh"].as_array().ok_or("the verdict names no codes")?;
    if !fresh.is_empty() {
        let quoted: Vec<_> =
            verdict["messages"].as_array().into_iter().flatten().flat_map(Value::as_str).collect();
        return Err(format!("new validator errors:\n    {}", quoted.join("\n    ")));
    }
    done.success()?;
    Ok(verdict["errors"].as_object().into_iter().flat_map(|o| o.values()).filter_map(Value::as_u64).sum())
}
