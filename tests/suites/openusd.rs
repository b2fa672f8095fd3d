//! A studio's own OpenUSD, over the bridge: the whole suite `usd` through it, and stages in a host's memory. Where the
//! environment names no SDK (`OPENUSD_ROOT`, `PXR_USD_LOCATION`, `USD_ROOT`, `OPENUSD_PATH`), it is skipped.
#![forbid(unsafe_code)]

use sinew_tests::program::Program;
use sinew_tests::{backend, built, repository, scratch};
use std::path::PathBuf;
use std::time::Duration;

/// As much as the suite takes with the built-in reader, several times over.
const LIMIT: Duration = Duration::from_secs(900);

#[test]
fn the_suite_of_usd_passes_through_the_bridge() {
    let Some(bridge) = backend::bridge() else { return };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut suite = Program::new(cargo);
    if !cfg!(debug_assertions) {
        suite = suite.arg("--config").arg("profile.dev.inherits='release'");
    }
    let done = suite
        .args(["test", "--workspace", "--ignore-rust-version", "--test", "usd", "--", "--show-output"])
        .folder(repository::root())
        .env(backend::VARIABLE, "openusd")
        .env("SINEW_OPENUSD_BRIDGE", bridge)
        .limit(LIMIT)
        .run()
        .and_then(|done| done.success());
    let done = done.unwrap_or_else(|e| panic!("{e}"));
    let told = done.stdout.lines().filter(|l| l.starts_with("test result"));
    told.for_each(|line| println!("  through OpenUSD: {line}"));
}

/// Where the SDK has its Python modules.
fn modules(sdk: &std::path::Path) -> Option<PathBuf> {
    let python = ["lib/python", "lib/python3.11/site-packages", "lib/python3.12/site-packages", ""];
    python.iter().map(|p| sdk.join(p)).find(|p| p.join("pxr/Usd").is_dir())
}

#[test]
fn a_stage_in_the_hosts_memory_is_baked_without_a_file() {
    let Some(bridge) = backend::bridge() else { return };
    let sdk = backend::sdk().expect("there is a bridge");
    let Some(modules) = modules(&sdk) else {
        eprintln!("skipped: the OpenUSD SDK has no Python modules, so there is no host to try");
        return;
    };
    let folder = scratch::folder("usd-stage");
    let python = std::env::var_os("SINEW_OPENUSD_PYTHON").unwrap_or_else(|| "python3".into());
    let search =
        std::env::join_paths([modules, repository::root().join("plugin/python")]).expect("plain names");
    let said = Program::new(python)
        .arg(repository::root().join("tests/hosts/stage.py"))
        .arg(repository::root().join("examples/usd/pendulum.usda"))
        .arg(folder.path())
        .env("PYTHONPATH", search)
        .env("SINEW_LIBRARY", built::library().unwrap_or_else(|e| panic!("{e}")))
        .env("SINEW_OPENUSD_BRIDGE", bridge)
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    print!("{}", said.stdout);
}
