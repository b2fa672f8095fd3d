//! Flags of `sinew bake` do what their help says, or say that they did not.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use serde_json::Value;
use sinew_tests::program::Program;
use sinew_tests::{built, repository, scratch};
use std::path::Path;

/// The report of a bake of an example into `output`.
fn baked(scene: &str, output: &Path, flags: &[&str]) -> Value {
    let done = Program::new(built::command().unwrap())
        .arg("bake")
        .arg(repository::root().join("examples").join(scene))
        .args([Path::new("-o"), output, Path::new("--json")])
        .args(flags)
        .run()
        .and_then(|done| done.success())
        .unwrap();
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn detail_that_leaves_nothing_out_says_so() {
    let folder = scratch::folder("detail");
    let out = folder.path().join("out.gltf");
    let warnings = |flags: &[&str]| baked("scenes/ball.gltf", &out, flags)["warnings"].to_string();
    assert!(warnings(&["--detail", "0.5"]).contains("--detail left nothing out"));
    assert_eq!(warnings(&["--detail", "1"]), "[]");
    let figure = baked("scenes/figure_ball.gltf", &out, &["--auto", "--detail", "0.5"]);
    assert!(!figure["warnings"].to_string().contains("--detail"), "a figure has limbs to leave out");
}

#[test]
fn splines_are_counted_as_they_are_written() {
    let folder = scratch::folder("spline-keys");
    let out = folder.path().join("out.usda");
    let report = baked("usd/pendulum.usda", &out, &["--splines"]);
    let text = std::fs::read_to_string(&out).unwrap();
    // A knot is a line: "3.0: 28.8; pre (...); post curve (...),".
    let splines = text.split(".spline = {").skip(1).filter_map(|s| s.split('}').next());
    let knots = splines.flat_map(str::lines).filter(|l| l.contains("post curve")).count();
    assert!(knots > 4, "{text}");
    assert_eq!(report["keys"], knots);
    let off = report["max_fit_error_deg"].as_f64().unwrap();
    assert!(off > 0.0 && off <= 0.05, "within the tolerance, and not exactly: {off}");
    let samples = baked("usd/pendulum.usda", &out, &[]);
    assert!(samples["keys"].as_u64().unwrap() > 3 * knots as u64, "{samples}");
}

#[test]
fn a_playblast_is_written_where_it_is_asked_for() {
    let folder = scratch::folder("playblast");
    let (out, film) = (folder.path().join("out.gltf"), folder.path().join("film.svg"));
    let report = baked("scenes/ball.gltf", &out, &["--playblast", film.to_str().unwrap()]);
    assert_eq!(report["playblast"], film.to_str().unwrap());
    let text = std::fs::read_to_string(&film).unwrap();
    assert!(text.contains("<animate ") && text.contains("class=\"ghost\""), "{text}");
    let refused = Program::new(built::command().unwrap())
        .args(["bake", "examples/scenes/ball.gltf", "--playblast", "film.mp4"])
        .folder(repository::root());
    assert!(refused.run().and_then(|done| done.code_is(2)).unwrap().stderr.contains(".svg"));
}
