//! What this workspace compiles: the `sinew` command and the C library.
//!
//! Cargo itself is asked to build and to name the files, so that a test never meets yesterday's program, whatever
//! the target folder and profile. `SINEW_BIN` and `SINEW_LIB` put a packaged build in their place.

use crate::program::Program;
use crate::repository;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// A cold build of the whole workspace on two cores stays well below this.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);

/// The `sinew` command.
pub fn command() -> Result<PathBuf, String> {
    packaged("SINEW_BIN").unwrap_or_else(|| {
        find("the `sinew` command", |message| {
            let file = Path::new(message["executable"].as_str()?);
            (message["target"]["name"] == "sinew" && is_kind(message, "bin")).then(|| file.to_owned())
        })
    })
}

/// The C library: `libsinew.so`, `libsinew.dylib` or `sinew.dll`.
pub fn library() -> Result<PathBuf, String> {
    packaged("SINEW_LIB").unwrap_or_else(|| {
        find("the C library", |message| {
            let is_ours = message["target"]["name"] == "sinew" && is_kind(message, "cdylib");
            let mut files =
                message["filenames"].as_array().filter(|_| is_ours)?.iter().flat_map(Value::as_str);
            files.find(|f| [".so", ".dylib", ".dll"].iter().any(|end| f.ends_with(end))).map(PathBuf::from)
        })
    })
}

fn packaged(variable: &str) -> Option<Result<PathBuf, String>> {
    let path = PathBuf::from(std::env::var_os(variable)?);
    Some(if path.is_file() { Ok(path) } else { Err(format!("{variable} names no file: {}", path.display())) })
}

fn is_kind(message: &Value, kind: &str) -> bool {
    message["target"]["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind))
}

fn find(what: &str, pick: impl Fn(&Value) -> Option<PathBuf>) -> Result<PathBuf, String> {
    let artifacts = artifacts().as_ref().map_err(String::clone)?;
    artifacts.iter().find_map(pick).ok_or_else(|| format!("the workspace does not build {what}"))
}

/// Cargo's messages about everything it built, once per test program.
fn artifacts() -> &'static Result<Vec<Value>, String> {
    static ARTIFACTS: OnceLock<Result<Vec<Value>, String>> = OnceLock::new();
    ARTIFACTS.get_or_init(|| {
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let done = Program::new(cargo)
            .args(["build", "--workspace", "--ignore-rust-version", "--message-format=json"])
            .args(["--profile", profile])
            .folder(repository::root())
            .limit(BUILD_LIMIT)
            .run()?
            .success()?;
        let messages = done.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(messages.filter(|m| m["reason"] == "compiler-artifact").collect())
    })
}
