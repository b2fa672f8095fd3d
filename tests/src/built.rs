//! What this workspace compiles: the `sinew` command and the C library.
//!
//! Cargo itself is asked to build and to name the files, so that a test never meets yesterday's program, whatever
//! the target folder and profile. `SINEW_BIN` and `SINEW_LIBRARY` put a packaged build in their place.

use crate::program::Program;
use crate::repository;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The `sinew` command.
pub fn command() -> Result<PathBuf, String> {
    packaged("SINEW_BIN").unwrap_or_else(|| program(own_artifacts(), "sinew"))
}

/// The C library: `libsinew.so`, `libsinew.dylib` or `sinew.dll`.
pub fn library() -> Result<PathBuf, String> {
    packaged("SINEW_LIBRARY").unwrap_or_else(|| dynamic_library(own_artifacts(), "sinew"))
}

/// The C library with a function that panics.
pub fn panicking_library() -> Result<PathBuf, String> {
    dynamic_library(own_artifacts(), "sinew_panicking")
}

/// The host in Rust.
pub fn rust_host() -> Result<PathBuf, String> {
    program(own_artifacts(), "sinew-host-example")
}

/// The command and the library as they are shipped: a release build, made when it is first asked for.
pub fn released() -> Result<(PathBuf, PathBuf), String> {
    static ARTIFACTS: OnceLock<Artifacts> = OnceLock::new();
    let artifacts = ARTIFACTS.get_or_init(|| build("release", &["--lib", "--bins"]));
    Ok((program(artifacts, "sinew")?, dynamic_library(artifacts, "sinew")?))
}

fn program(artifacts: &Artifacts, name: &str) -> Result<PathBuf, String> {
    find(artifacts, name, |message| {
        let file = Path::new(message["executable"].as_str()?);
        (message["target"]["name"] == name && is_kind(message, "bin")).then(|| file.to_owned())
    })
}

fn dynamic_library(artifacts: &Artifacts, name: &str) -> Result<PathBuf, String> {
    find(artifacts, name, |message| {
        let is_it = message["target"]["name"] == name;
        let mut files = message["filenames"].as_array().filter(|_| is_it)?.iter().flat_map(Value::as_str);
        files.find(|f| [".so", ".dylib", ".dll"].iter().any(|end| f.ends_with(end))).map(PathBuf::from)
    })
}

fn packaged(variable: &str) -> Option<Result<PathBuf, String>> {
    let path = PathBuf::from(std::env::var_os(variable)?);
    Some(if path.is_file() { Ok(path) } else { Err(format!("{variable} names no file: {}", path.display())) })
}

fn is_kind(message: &Value, kind: &str) -> bool {
    message["target"]["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind))
}

fn find(
    artifacts: &Artifacts,
    what: &str,
    pick: impl Fn(&Value) -> Option<PathBuf>,
) -> Result<PathBuf, String> {
    let artifacts = artifacts.as_ref().map_err(String::clone)?;
    artifacts.iter().find_map(pick).ok_or_else(|| format!("the workspace does not build {what}"))
}

/// Cargo's messages about what it built, or why it did not.
type Artifacts = Result<Vec<Value>, String>;

/// Everything in the profile that the test itself has, once per test program.
fn own_artifacts() -> &'static Artifacts {
    static ARTIFACTS: OnceLock<Artifacts> = OnceLock::new();
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    ARTIFACTS.get_or_init(|| build(profile, &["--lib", "--bins", "--examples"]))
}

fn build(profile: &str, what: &[&str]) -> Artifacts {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Program::new(cargo)
        .args(["build", "--ignore-rust-version", "--message-format=json", "--profile", profile])
        .args(what)
        .folder(repository::root())
        .run()?
        .success()?;
    let messages = done.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter(|m| m["reason"] == "compiler-artifact").collect())
}
