//! Who reads and writes the USD of a suite: Sinew itself, or a studio's own OpenUSD.
//!
//! The suite `usd` is written for both; the suite `openusd` runs it again with [`VARIABLE`] set, where an SDK is.

use crate::program::Program;
use crate::{repository, skip};
use serde_json::Value;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::usd::Backend;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// `openusd` for a studio's own.
pub const VARIABLE: &str = "SINEW_TEST_USD_BACKEND";

/// What names an SDK, as plugin/openusd looks for it.
const ROOTS: [&str; 4] = ["OPENUSD_ROOT", "PXR_USD_LOCATION", "USD_ROOT", "OPENUSD_PATH"];

/// Whether it is OpenUSD.
pub fn is_openusd() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|v| v == "openusd")
}

/// Whether it reads splines: OpenUSD does since 25.05.
pub fn reads_splines() -> bool {
    let header =
        sdk().map(|root| std::fs::read_to_string(root.join("include/pxr/pxr.h")).unwrap_or_default());
    let version =
        header.as_deref().unwrap_or_default().lines().find_map(|l| l.strip_prefix("#define PXR_VERSION "));
    is_openusd() && version.and_then(|v| v.trim().parse::<u32>().ok()).is_some_and(|v| v >= 2505)
}

/// How files are read.
pub fn options() -> ReadOptions {
    let usd_backend = if is_openusd() { Backend::OpenUsd } else { Backend::BuiltIn };
    ReadOptions { usd_backend, ..ReadOptions::default() }
}

/// The same for the command.
pub fn arguments() -> &'static [&'static str] {
    if is_openusd() { &["--usd-backend", "openusd"] } else { &[] }
}

/// The SDK that the environment names.
pub fn sdk() -> Option<PathBuf> {
    let mut named = ROOTS.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    named.find(|root| root.join("include/pxr/pxr.h").is_file())
}

/// The bridge to it, built; `None`, with a line that says so, where there is no SDK. None is needed.
pub fn bridge() -> Option<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if sdk().is_none() {
        skip::rightly(&format!("no OpenUSD SDK ({} name none)", ROOTS.join(", ")));
        return None;
    }
    Some(BUILT.get_or_init(|| build().unwrap_or_else(|e| panic!("{e}"))))
}

fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Program::new(cargo)
        .args(["build", "--ignore-rust-version", "--message-format=json", "--package", "sinew-openusd"])
        .folder(repository::root())
        .run()?
        .success()?;
    let messages = done.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut files = messages
        .filter(|m| m["target"]["name"] == "sinew_openusd")
        .flat_map(|m| m["filenames"].as_array().cloned().unwrap_or_default());
    let file = files.find_map(|f| Some(PathBuf::from(f.as_str()?)));
    file.ok_or_else(|| "plugin/openusd builds no library".into())
}
