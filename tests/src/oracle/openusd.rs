//! OpenUSD itself, in Python: world transforms, validation, what differs between two stages.

use crate::program::Program;
use crate::{repository, skip};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// OpenUSD computes for ever on some broken files; a test must not.
const LIMIT: Duration = Duration::from_secs(300);

fn python() -> PathBuf {
    repository::root().join("tests/oracles/venv/bin/python")
}

/// Whether OpenUSD can be asked; says why not when it cannot. A panic then under `tests/run`, which installs it.
pub fn is_installed() -> bool {
    let there = python().exists();
    if !there {
        skip::because("usd-core is not installed in tests/oracles/venv; tests/run does that");
    }
    there
}

/// Asks it.
pub fn ask(request: &Value) -> Result<Value, String> {
    let script = repository::root().join("tests/oracles/usd.py");
    let done = Program::new(python()).arg(script).input(request.to_string()).limit(LIMIT).run()?.success()?;
    serde_json::from_str(&done.stdout).map_err(|e| format!("OpenUSD answered {e}: {}", done.stdout))
}

/// Errors of validation that the files have and `original` has not.
pub fn fresh_errors<P: AsRef<Path>>(files: &[P], original: Option<&Path>) -> Result<Vec<String>, String> {
    let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
    let answer = ask(&json!({ "ask": "validate", "files": files, "original": original }))?;
    serde_json::from_value(answer["fresh"].clone()).map_err(|e| e.to_string())
}

/// Paths of what differs, and of what is missing, in `file` beside `original`.
pub fn changes(file: &Path, original: &Path) -> Result<(Vec<String>, Vec<String>), String> {
    let answer = ask(&json!({ "ask": "changes", "file": file, "original": original }))?;
    let list = |key: &str| serde_json::from_value(answer[key].clone()).map_err(|e| e.to_string());
    Ok((list("changed")?, list("missing")?))
}
