//! The add-on in real Blenders: the program of the system, and the versions of `tests/oracles/blender-versions.txt` as
//! modules of Python. `tests/run` installs all of them.
#![forbid(unsafe_code)]

use sinew_tests::program::Program;
use sinew_tests::{built, repository, sample, scratch, skip};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

/// Generous: each takes a few seconds where nothing else runs.
const LIMIT: Duration = Duration::from_secs(300);

fn source(relative: &str) -> PathBuf {
    repository::root().join(relative)
}

/// The add-on as it is installed, packed once.
fn archive() -> &'static Path {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| scratch::folder("addon"));
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        let done = Program::new("python3")
            .arg(source("plugin/blender/build"))
            .arg("--library")
            .arg(built::library().unwrap_or_else(|e| panic!("{e}")))
            .arg("--output")
            .arg(FOLDER.path())
            .run()
            .and_then(|done| done.success())
            .unwrap_or_else(|e| panic!("{e}"));
        PathBuf::from(done.stdout.trim())
    })
}

/// The Python that has this version of Blender as a module; says so when there is none.
fn module(version: &str) -> Option<PathBuf> {
    let versions = include_str!("../oracles/blender-versions.txt");
    let pinned = versions.lines().find(|line| line.starts_with(version)).expect("a version that is pinned");
    let python = source("tests/oracles/blender").join(pinned).join("bin/python");
    if !python.exists() {
        skip::because(&format!("there is no bpy {pinned} in tests/oracles/blender; tests/run installs it"));
        return None;
    }
    Some(python)
}

/// Whether a program can be started; says so when it cannot.
fn has(program: &str) -> bool {
    let found = Program::new("sh").args(["-c", &format!("command -v {program}")]).run();
    let is_there = found.is_ok_and(|done| done.code == Some(0));
    if !is_there {
        skip::because(&format!("there is no `{program}`; tests/run installs it"));
    }
    is_there
}

/// Runs the suite; what it says must end in its own verdict, since Blender itself may exit with 0 after a failure.
fn passes(program: Program, folder: &Path) {
    // Characters that others made, where there are any.
    let samples =
        sample::file("gltf/Fox.glb").and_then(|f| f.parent().map(Path::to_owned)).unwrap_or_default();
    let done = program
        .env("SINEW_SAMPLES", samples)
        .arg(archive())
        .arg(built::command().unwrap_or_else(|e| panic!("{e}")))
        .arg(folder)
        .limit(LIMIT)
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(done.stdout.lines().any(|line| line.starts_with("passed ")), "{}{}", done.stdout, done.stderr);
    for line in done.stdout.lines().filter(|l| l.starts_with("passed ") || l.starts_with("  ")) {
        println!("  {line}");
    }
}

fn passes_as_a_module(version: &str) {
    let Some(python) = module(version) else { return };
    let folder = scratch::folder("bpy");
    passes(Program::new(python).arg(source("plugin/blender/tests/suite.py")), folder.path());
}

#[test]
fn the_program_of_the_system_runs_the_suite() {
    if has("blender") {
        let folder = scratch::folder("blender");
        let program = Program::new("blender")
            .args(["-b", "--factory-startup", "--python-exit-code", "7", "--python"])
            .arg(source("plugin/blender/tests/suite.py"))
            .arg("--");
        passes(program, folder.path());
    }
}

#[test]
fn blender_4_2_runs_the_suite() {
    passes_as_a_module("4.2");
}

#[test]
fn blender_4_5_runs_the_suite() {
    passes_as_a_module("4.5");
}

#[test]
fn blender_5_0_runs_the_suite() {
    passes_as_a_module("5.0");
}

#[test]
fn blender_takes_the_zip_for_an_extension() {
    let Some(python) = module("5.0") else { return };
    // Found and not imported: the module may crash at its end, before what was printed is out.
    let find = "import importlib.util, pathlib; \
        folder = pathlib.Path(importlib.util.find_spec('bpy').origin).parent; \
        print(*folder.glob('*/scripts/addons_core/bl_pkg/cli/blender_ext.py'))";
    let found = Program::new(&python).args(["-c", find]).run().unwrap_or_else(|e| panic!("{e}"));
    let tool = found.stdout.lines().last().unwrap_or_default().to_owned();
    let done = Program::new(&python)
        .arg(tool.trim())
        .arg("validate")
        .arg(archive())
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(done.stdout.contains("Success"), "{}{}", done.stdout, done.stderr);
}

#[test]
fn a_window_is_clicked_cancelled_and_undone() {
    if !["blender", "Xvfb", "xdotool", "import"].into_iter().all(has) {
        return;
    }
    let folder = scratch::folder("window");
    let done = Program::new("python3")
        .arg(source("plugin/blender/tests/window.py"))
        .arg(archive())
        .arg(folder.path())
        .limit(LIMIT)
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(done.stdout.contains("passed"), "{}{}", done.stdout, done.stderr);
    println!("{}", done.stdout);
}
