//! The add-on in real Blenders: the program of the system, and the versions of `tests/oracles/blender-versions.txt` as
//! modules of Python. `tests/run` installs all of them.
#![forbid(unsafe_code)]

use glam::{DMat4, DVec3};
use serde_json::{Value, json};
use sinew_plugin::job::{BakeRequest, bake_file};
use sinew_tests::made::character::Character;
use sinew_tests::oracle::openusd;
use sinew_tests::program::Program;
use sinew_tests::{built, repository, sample, scratch, skip};
use std::f64::consts::FRAC_PI_2;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

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
        if Program::new("python3.11").arg("--version").run().is_err() {
            skip::rightly("there is no Python 3.11, which Blender as a module is made for");
        } else {
            skip::because(&format!(
                "there is no bpy {pinned} in tests/oracles/blender; tests/run installs it"
            ));
        }
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
    // Characters to import: made ones, and those of others where there are samples.
    let made = scratch::folder("bpy-characters");
    let characters = [Character::biped(), Character::quadruped(), Character::knight()];
    let mut files: Vec<PathBuf> = characters.iter().map(|c| c.write(made.path())).collect();
    files.extend(
        ["Fox", "RiggedFigure", "RobotExpressive"]
            .iter()
            .filter_map(|f| sample::file(&format!("gltf/{f}.glb"))),
    );
    let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let done = program
        .env("SINEW_CHARACTERS", files.join("\n"))
        .arg(archive())
        .arg(built::command().unwrap_or_else(|e| panic!("{e}")))
        .arg(folder)
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

/// Bakes scenes into every kind of USD file.
fn baked_usd(folder: &Path) -> Vec<PathBuf> {
    let mut scenes = vec![source("examples/usd/pendulum.usda"), source("examples/scenes/chain.gltf")];
    let made = scratch::folder("bpy-made");
    // But for the doll that falls for seconds: limbs of it come out of Blender's import turned otherwise, which is not understood.
    let doll = |f: &PathBuf| f.file_stem().is_some_and(|n| n == "doll");
    scenes.extend(sample::usd_files(made.path()).into_iter().filter(|f| !doll(f)));
    let mut written = Vec::new();
    for scene in &scenes {
        let name = scene.file_name().expect("a file").to_string_lossy().into_owned();
        let copy = folder.join(&name);
        sinew_tests::scratch::copy(scene, &copy).expect("there is room");
        let setup = scene.with_extension("sinew.json");
        if setup.is_file() {
            sinew_tests::scratch::copy(&setup, copy.with_extension("sinew.json")).expect("there is room");
        }
        for (ending, flatten) in [("layer.usda", false), ("flat.usdc", true), ("whole.usdz", false)] {
            let output = folder.join(format!("{}-{ending}", name.replace('.', "_")));
            let frames = Some([0.0, 24.0]);
            let request = BakeRequest {
                scene: copy.clone(),
                output: Some(output.clone()),
                flatten,
                frames,
                ..BakeRequest::default()
            };
            bake_file(&request, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
            written.push(output);
        }
    }
    written
}

#[test]
fn blender_5_0_imports_what_was_written_with_the_same_animation() {
    let Some(python) = module("5.0") else { return };
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("bpy-usd");
    let files = baked_usd(folder.path());
    let frames = [0, 1, 7, 16, 24];
    let done = Program::new(python)
        .arg(source("tests/oracles/blender_usd.py"))
        .args(frames.map(|f: i32| f.to_string()))
        .input(json!(files).to_string())
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    let answer = done.stdout.lines().find_map(|l| l.strip_prefix("answer ")).expect("an answer");
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    let mut moving = 0;
    for file in &files {
        let request = json!({ "ask": "worlds", "file": file, "times": frames });
        let exact = openusd::ask(&request).unwrap_or_else(|e| panic!("{e}"));
        let (worst, moved, count) = blender_apart(&answer[file.to_string_lossy().as_ref()], &exact);
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        println!("  {name}: {count} things, moving by up to {moved:.2}, off by {worst:.1e}");
        assert!(count > 0, "{name}: nothing is compared");
        assert!(worst < 1e-5, "{name}: off by {worst:.1e}");
        // Some of the samples hang still within these frames.
        moving += usize::from(moved > 0.01);
    }
    assert!(2 * moving > files.len(), "only {moving} of {} move", files.len());
}

/// How far Blender's world is from OpenUSD's, metres and shares of axes; how far anything moves; how many were compared.
fn blender_apart(blender: &Value, exact: &Value) -> (f64, f64, usize) {
    let units = DMat4::from_scale(DVec3::splat(exact["units"].as_f64().expect("a number")));
    // Blender's Z is up.
    let turn = if exact["z_up"] == true { 0.0 } else { FRAC_PI_2 };
    let world = DMat4::from_rotation_x(turn) * units;
    let matrices = |all: &Value| -> Vec<DMat4> {
        let all: Vec<Vec<f64>> = serde_json::from_value(all.clone()).expect("matrices");
        all.iter().map(|m| DMat4::from_cols_slice(m)).collect()
    };
    let (mut worst, mut moved, mut count) = (0.0_f64, 0.0_f64, 0);
    for (kind, of) in [("objects", "prims"), ("bones", "joints")] {
        let theirs = exact[of].as_object().expect("a map");
        let short = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        for (path, all) in theirs {
            let is_one = theirs.keys().filter(|p| short(p) == short(path)).count() == 1;
            let mut named = blender[kind].as_object().expect("a map").iter();
            let found = named.find(|(name, _)| short(name) == short(path));
            let (true, Some((_, found))) = (is_one, found) else { continue };
            count += 1;
            let mut wanted: Vec<DMat4> = matrices(all).into_iter().map(|m| world * m).collect();
            let mut own: Vec<DMat4> = matrices(found).into_iter().map(|m| m.transpose()).collect();
            if kind == "bones" {
                // Bones have axes of their own: how they have moved since the first frame is the same.
                let since =
                    |all: &[DMat4]| -> Vec<DMat4> { all.iter().map(|m| *m * all[0].inverse()).collect() };
                worst = worst.max((wanted[0].w_axis - own[0].w_axis).abs().max_element());
                (wanted, own) = (since(&wanted), since(&own));
            }
            for (a, b) in wanted.iter().zip(&own) {
                let size = a.to_cols_array().iter().fold(1.0_f64, |m, v| m.max(v.abs()));
                let apart = |x: &DMat4, y: &DMat4| {
                    (*x - *y).to_cols_array().iter().fold(0.0_f64, |m, v| m.max(v.abs()))
                };
                worst = worst.max(apart(a, b) / size);
                moved = moved.max(apart(b, &own[0]));
            }
        }
    }
    (worst, moved, count)
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
        .run()
        .and_then(|done| done.success())
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(done.stdout.contains("passed"), "{}{}", done.stdout, done.stderr);
    println!("{}", done.stdout);
}
