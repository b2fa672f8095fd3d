//! What is written: a layer with the motion and nothing else, which OpenUSD opens, plays and finds no fault with.

use crate::worlds;
use glam::DVec3;
use serde_json::{Value, json};
use sinew_core::scene::Pose;
use sinew_plugin::job::{
    AssembleRequest, BakeRequest, Report, SetupSource, assemble_file, bake_file, load_setup,
};
use sinew_plugin::usd::Document;
use sinew_tests::oracle::openusd;
use sinew_tests::program::Program;
use sinew_tests::{backend, built, made, sample, scratch};
use std::path::{Path, PathBuf};

fn bake(scene: &Path, output: Option<&Path>, with: impl FnOnce(&mut BakeRequest)) -> Report {
    let mut request = BakeRequest {
        scene: scene.into(),
        output: output.map(Into::into),
        read: backend::options(),
        ..BakeRequest::default()
    };
    with(&mut request);
    bake_file(&request, &mut |_| true).unwrap_or_else(|e| panic!("{}: {e}", scene.display()))
}

/// Made stages and copies of the samples in a folder, since layers are written beside them.
fn copies(folder: &Path) -> Vec<PathBuf> {
    let copy = |file: PathBuf| {
        let to = folder.join(file.file_name().unwrap());
        if to != file {
            sinew_tests::scratch::copy(&file, &to).unwrap();
        }
        to
    };
    sample::usd_files(folder).into_iter().map(copy).collect()
}

/// Linkages of four bars: a file, what of its text puts a bar in place, and where else to put it.
fn linkages(folder: &Path) -> Vec<(PathBuf, [&'static str; 2])> {
    let made = made::stage::write(folder, "linkage", &made::stage::linkage());
    let mut all = vec![(made, ["(0, 0, 0.21000000000000002)", "(0, 0, 0.22)"])];
    if let Some(sample) = sample::file("usd/boxes_fourbar.usda") {
        let copy = folder.join("fourbar.usda");
        sinew_tests::scratch::copy(sample, &copy).unwrap();
        all.push((copy, ["(0.0, 0.0, 0.11700000613927841)", "(0.0, 0.0, 0.125)"]));
    }
    all
}

/// What differs, and is not the motion of what was simulated: operations of its prims, and what skeletons are bound to
/// whose joints were.
fn touched(output: &Path, file: &Path, report: &Report) -> Result<Vec<String>, String> {
    let document = Document::open(file, &backend::options()).map_err(|e| e.to_string())?;
    let node = |name: &str| document.scene().find(name).and_then(|n| document.path_of_node(n));
    let simulated: Vec<String> = report.bodies.iter().filter_map(|b| node(&b.node)).collect();
    let is_motion = |path: &str| {
        let Some((prim, property)) = path.split_once('.') else { return false };
        let below = format!("{prim}/");
        match property {
            "xformOpOrder" => simulated.iter().any(|p| p == prim),
            "skel:animationSource" => simulated.iter().any(|p| p.starts_with(&below)),
            other => other.starts_with("xformOp:") && simulated.iter().any(|p| p == prim),
        }
    };
    let (changed, mut missing) = openusd::changes(output, file)?;
    if changed.is_empty() {
        return Err("nothing moves".into());
    }
    // A schema for being bound is applied where a skeleton had none.
    let is_bound = |p: &String| changed.contains(&format!("{p}.skel:animationSource"));
    missing.extend(changed.iter().filter(|p| !is_motion(p) && !is_bound(p)).cloned());
    Ok(missing)
}

#[test]
fn a_layer_holds_the_motion_and_leaves_everything_else_as_it_was() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-layer");
    sample::each(&copies(folder.path()), |file| {
        let before = std::fs::read(file).unwrap();
        let report = bake(file, None, |r| r.frames = Some([0.0, 40.0]));
        let output = file.with_extension("sinew.usda");
        if report.output.as_deref() != output.to_str() {
            return Err(format!("went to {:?}", report.output));
        }
        if std::fs::read(file).unwrap() != before {
            return Err("the input changed".into());
        }
        let text = std::fs::read_to_string(&output).unwrap();
        let sublayer = format!("@./{}@", file.file_name().unwrap().to_string_lossy());
        if !text.contains(&sublayer) {
            return Err(format!("does not have {sublayer} as a sublayer"));
        }
        if let Some(path) = touched(&output, file, &report)?.first() {
            return Err(format!("{path} changed"));
        }
        let fresh = openusd::fresh_errors(&[&output], Some(file))?;
        // OpenUSD names its root layer in these; the file has them as well.
        if let Some(error) = fresh.first() {
            return Err(error.clone());
        }
        let (worst, place, count) = worlds::deviation(&output, &[0.0, 7.0, 13.0, 20.0, 40.0])?;
        // OpenUSD takes the angle of an `orient` from its real part: of single precision, that tells angles below the root
        // of 2^-23 from none only now and then.
        let most = if text.contains("quatf xformOp:orient") { 3.5e-4 } else { 1e-6 };
        if worst.is_nan() || worst > most {
            return Err(format!("off by {worst:.1e}: {place}"));
        }
        Ok(format!("{} bodies, {count} transforms off by {worst:.1e}", report.bodies.len()))
    });
}

/// World places of every simulated node over time, as a file has them.
fn places(file: &Path, codes: &[f64]) -> Vec<(String, DVec3)> {
    let document = Document::open(file, &backend::options()).unwrap();
    let scene = document.scene();
    let mut pose = Pose::new(scene, scene.clips.first());
    let mut found = Vec::new();
    for code in codes {
        pose.evaluate(code / scene.frames_per_second);
        for node in 0..scene.nodes.len() {
            let Some(path) = document.path_of_node(node) else { continue };
            found.push((path, pose.world(node).translation));
        }
    }
    found
}

#[test]
fn every_way_to_write_gives_the_same_motion() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-ways");
    let codes = [0.0, 5.0, 17.0, 33.0];
    sample::each(&copies(folder.path()), |file| {
        let frames = |r: &mut BakeRequest| r.frames = Some([0.0, 33.0]);
        let report = bake(file, None, frames);
        let layer = file.with_extension("sinew.usda");
        let exact = places(&layer, &codes);
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut ways = Vec::new();
        for ending in ["usda", "usdc", "usdz"] {
            for flat in [false, true] {
                let out = folder.path().join(format!("{stem}-{flat}.out.{ending}"));
                bake(file, Some(&out), |r| {
                    frames(r);
                    r.flatten = flat;
                });
                ways.push(out);
            }
        }
        if file.extension().is_some_and(|e| e != "usdz") {
            let own =
                folder.path().join(format!("{stem}-own.{}", file.extension().unwrap().to_string_lossy()));
            sinew_tests::scratch::copy(file, &own).unwrap();
            bake(&own, Some(&own), |r| {
                frames(r);
                r.in_place = true;
            });
            ways.push(own);
        }
        for way in &ways {
            let found = places(way, &codes);
            let label = way.file_name().unwrap().to_string_lossy().into_owned();
            if let Some(path) = touched(way, file, &report)?.first() {
                return Err(format!("{label}: {path} changed"));
            }
            if found.len() != exact.len() {
                return Err(format!("{label} has {} nodes, not {}", found.len(), exact.len()));
            }
            for ((path, a), (other, b)) in exact.iter().zip(&found) {
                if path != other || (*a - *b).length() > 1e-9 * (1.0 + a.length()) {
                    return Err(format!("{label}: {path} {a:?}, {other} {b:?}"));
                }
            }
        }
        if let Some(error) = openusd::fresh_errors(&ways, Some(file))?.first() {
            return Err(error.clone());
        }
        Ok(format!("{} ways", ways.len()))
    });
}

/// A prim with these operations and a mesh, guided by its keys.
const OPERATIONS: &str = r#"#usda 1.0
(
    metersPerUnit = 1
    defaultPrim = "W"
    upAxis = "Z"
    startTimeCode = 1
    endTimeCode = 40
)
def Xform "W"
{
    def Cube "Pivoted"
    {
        double3 xformOp:translate.timeSamples = { 1: (0, 0, 0), 20: (4, 0, 2), 40: (8, 0, 0) }
        float3 xformOp:translate:pivot = (0.5, 0.5, 0)
        float3 xformOp:rotateZYX.timeSamples = { 1: (0, 0, 0), 20: (200, 20, 10), 40: (380, 0, 0) }
        float3 xformOp:scale = (1, 2, 0.5)
        custom double mine = 7
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:translate:pivot", "xformOp:rotateZYX", "xformOp:scale", "!invert!xformOp:translate:pivot"]
    }
    def Cube "Matrix"
    {
        matrix4d xformOp:transform.timeSamples = {
            1: ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 5, 0, 1) ),
            40: ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (6, 5, 0, 1) ),
        }
        uniform token[] xformOpOrder = ["xformOp:transform"]
    }
    def Cube "Angles"
    {
        double xformOp:translateX.timeSamples = { 1: 0, 40: 6 }
        float xformOp:rotateX.timeSamples = { 1: 0, 40: 90 }
        float xformOp:rotateY = 10
        uniform token[] xformOpOrder = ["xformOp:translateX", "xformOp:rotateX", "xformOp:rotateY"]
    }
    def Cube "Sheared"
    {
        double3 xformOp:translate.timeSamples = { 1: (0, 10, 0), 40: (6, 10, 0) }
        float3 xformOp:scale = (1, 2, 1)
        float xformOp:rotateX.timeSamples = { 1: 0, 40: 60 }
        float3 xformOp:scale:inner = (1, 1, 3)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale", "xformOp:rotateX", "xformOp:scale:inner"]
    }
    def Cube "Resets"
    {
        double3 xformOp:translate.timeSamples = { 1: (0, -9, 0), 40: (3, -9, 0) }
        uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:translate"]
    }
}
"#;

#[test]
fn a_prim_keeps_its_operations_where_these_can_say_the_motion() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-operations");
    let file = folder.path().join("shot.usda");
    std::fs::write(&file, OPERATIONS).unwrap();
    let report = bake(&file, None, |_| ());
    let output = folder.path().join("shot.sinew.usda");
    let (changed, missing) = openusd::changes(&output, &file).unwrap();
    assert!(missing.is_empty(), "{missing:?}");
    let of = |prim: &str| -> Vec<String> {
        let all = changed.iter().filter_map(|p| p.strip_prefix(&format!("/W/{prim}.")));
        all.map(str::to_owned).collect()
    };
    assert_eq!(of("Pivoted"), ["xformOp:rotateZYX", "xformOp:translate"]);
    assert_eq!(of("Matrix"), ["xformOp:transform"]);
    assert!(of("Angles").contains(&"xformOpOrder".to_string()), "{changed:?}");
    assert!(
        report.warnings.iter().any(|w| w.contains("/W/Angles") && w.contains("translate, orient, scale")),
        "{:?}",
        report.warnings
    );
    assert!(openusd::fresh_errors(&[&output], Some(&file)).unwrap().is_empty());
    let codes: Vec<f64> = (1..=40).map(f64::from).collect();
    let (worst, place, _) = worlds::deviation(&output, &codes).unwrap();
    assert!(worst <= 1e-6, "off by {worst:.1e}: {place}");
    // Angles go on past a full turn, as they were keyed.
    let request = json!({ "ask": "values", "file": output, "attributes": ["/W/Pivoted.xformOp:rotateZYX"], "times": codes });
    let answer = openusd::ask(&request).unwrap();
    let turns: Vec<f64> = answer["/W/Pivoted.xformOp:rotateZYX"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v[0].as_f64().unwrap())
        .collect();
    assert!(turns.windows(2).all(|w| (w[1] - w[0]).abs() < 60.0) && turns[39] > 330.0, "{turns:?}");
}

#[test]
fn prims_are_named_in_set_ups_by_path_or_by_a_name_that_only_they_have() {
    let folder = scratch::folder("usd-names");
    let file = folder.path().join("shot.usda");
    std::fs::write(&file, OPERATIONS.replace("def Cube \"Angles\"", "def Cube \"W\"")).unwrap();
    for (name, works) in
        [("Pivoted", true), ("/W/Pivoted", true), ("/W/W", true), ("W", false), ("/W/Nobody", false)]
    {
        let setup = folder.path().join("setup.json");
        std::fs::write(&setup, json!({ "sinew": 1, "bodies": [{ "node": name }] }).to_string()).unwrap();
        let request = BakeRequest {
            scene: file.clone(),
            output: Some(folder.path().join("out.usda")),
            setup: SetupSource::File(setup),
            read: backend::options(),
            ..BakeRequest::default()
        };
        let done = bake_file(&request, &mut |_| true);
        assert_eq!(done.is_ok(), works, "{name}: {done:?}");
        if let Ok(report) = done {
            assert_eq!((report.first_frame, report.frames), (1.0, 40), "the range is the stage's");
        }
    }
}

#[test]
fn the_command_bakes_inspects_sets_up_and_assembles_usd_as_it_does_gltf() {
    let source = scratch::folder("usd-command-source");
    for (linkage, _) in linkages(source.path()) {
        let folder = scratch::folder("usd-command");
        let file = folder.path().join("bar.usda");
        sinew_tests::scratch::copy(linkage, &file).unwrap();
        commands(folder.path(), &file);
    }
}

fn commands(folder: &Path, file: &Path) {
    let run = |arguments: &[&str]| -> String {
        let command = Program::new(built::command().unwrap());
        let command = command.args(arguments).args(backend::arguments()).folder(folder);
        command.run().and_then(|done| done.success()).unwrap_or_else(|e| panic!("{e}")).stdout
    };
    assert!(run(&["inspect", "bar.usda"]).contains("physics in the scene"));
    run(&["bake", "bar.usda", "--frames", "0", "200"]);
    assert!(folder.join("bar.sinew.usda").is_file());
    let told: Value = serde_json::from_str(&run(&[
        "bake",
        "bar.usda",
        "--frames",
        "0",
        "200",
        "--flatten",
        "-o",
        "flat.usdc",
        "--json",
    ]))
    .unwrap();
    assert_eq!(told["status"], "done");
    assert!(!std::fs::read(folder.join("flat.usdc")).unwrap().windows(8).any(|w| w == b"bar.usda"));
    run(&["setup", "bar.usda"]);
    assert!(std::fs::read_to_string(folder.join("bar.sinew.json")).unwrap().contains("joint_1"));
    run(&["setup", "bar.usda", "--to-usd", "physics.usda"]);
    assert!(std::fs::read_to_string(folder.join("physics.usda")).unwrap().contains("PhysicsRigidBodyAPI"));
    run(&["bake", "physics.usda", "--frames", "0", "200", "-o", "again.usda"]);
    run(&["assemble", "bar.usda", "--pose", "-o", "posed.usda"]);
    run(&["bake", "bar.usda", "--in-place", "--frames", "0", "200"]);
    assert!(std::fs::read_to_string(file).unwrap().contains("timeSamples"));
}

#[test]
fn a_soft_body_is_pressed_in_by_its_points() {
    if !openusd::is_installed() {
        return;
    }
    let scene = sinew_tests::repository::root().join("examples/scenes/soft_snake.gltf");
    let folder = scratch::folder("usd-soft");
    let file = folder.path().join("soft.usda");
    // The scene as USD, its set-up inside.
    let document = sinew_plugin::document::Document::open(&scene, &backend::options()).unwrap();
    let setup = load_setup(&scene, &document, &SetupSource::Beside, None).unwrap().setup;
    document.convert(&file, None, Some(&setup)).unwrap();
    let report = bake(&file, None, |_| ());
    assert!(report.warnings.iter().all(|w| !w.contains("not written")), "{:?}", report.warnings);
    let output = folder.path().join("soft.sinew.usda");
    let (changed, _) = openusd::changes(&output, &file).unwrap();
    let points: Vec<&String> = changed.iter().filter(|p| p.ends_with(".points")).collect();
    assert!(!points.is_empty(), "{changed:?}");
    assert!(openusd::fresh_errors(&[&output], Some(&file)).unwrap().is_empty());
}

#[test]
fn an_assembled_pose_is_an_over_with_a_new_place() {
    let folder = scratch::folder("usd-pose");
    for (file, [from, to]) in linkages(folder.path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{} has another bar", file.display());
        // One bar is put a little beside where it belongs.
        std::fs::write(&file, text.replace(from, to)).unwrap();
        assembled(folder.path(), &file);
    }
}

fn assembled(folder: &Path, file: &Path) {
    let request = AssembleRequest {
        scene: file.into(),
        output: Some(folder.join("out.usda")),
        pose: true,
        read: backend::options(),
        ..AssembleRequest::default()
    };
    let report = assemble_file(&request, &mut |_| true).unwrap();
    let most = report
        .joints
        .iter()
        .fold((0.0_f64, 0.0_f64), |m, j| (m.0.max(j.opening_before), m.1.max(j.max_opening)));
    assert!(most.0 > 0.005 && most.1 < 1e-8, "{most:?}");
    let document = Document::open(&folder.join("out.usda"), &backend::options()).unwrap();
    assert!(document.scene().clips.is_empty());
    let moved = std::fs::read_to_string(folder.join("out.usda")).unwrap();
    assert!(moved.contains("xformOp:translate") && !moved.contains("timeSamples"), "{moved}");
}

#[test]
fn the_page_on_usd_shows_what_its_commands_do() {
    let root = sinew_tests::repository::root();
    let page = std::fs::read_to_string(root.join("docs/usd.md")).unwrap();
    let shown = page.split("```usda\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = scratch::folder("usd-page");
    let file = folder.path().join("pendulum.usda");
    sinew_tests::scratch::copy(root.join("examples/usd/pendulum.usda"), &file).unwrap();
    bake(&file, None, |_| ());
    if backend::is_openusd() {
        return; // It sorts and spaces its text otherwise.
    }
    let written = std::fs::read_to_string(folder.path().join("pendulum.sinew.usda")).unwrap();
    let mut rest = written.as_str();
    for line in shown.lines() {
        let at = rest.find(line).unwrap_or_else(|| panic!("no line \"{line}\" in {rest}"));
        rest = &rest[at + line.len()..];
    }
    if openusd::is_installed() {
        let both = [file, folder.path().join("pendulum.sinew.usda")];
        assert_eq!(openusd::fresh_errors(&both, None), Ok(Vec::new()));
    }
}

#[test]
fn a_spline_that_is_not_simulated_stays_below_a_layer_and_is_never_lost() {
    let folder = scratch::folder("usd-spline");
    let file = folder.path().join("shot.usda");
    let camera = "    def Camera \"Eye\"\n    {\n        float focalLength.spline = {\n            1: 20,\n            9: 50,\n        }\n    }\n    def Cube \"Resets\"";
    std::fs::write(&file, OPERATIONS.replace("    def Cube \"Resets\"", camera)).unwrap();
    bake(&file, None, |_| ());
    for (name, flat) in [("flat.usda", true), ("whole.usdz", false)] {
        let request = BakeRequest {
            scene: file.clone(),
            output: Some(folder.path().join(name)),
            flatten: flat,
            read: backend::options(),
            ..BakeRequest::default()
        };
        let done = bake_file(&request, &mut |_| true);
        if backend::reads_splines() || (backend::is_openusd() && !flat) {
            done.unwrap();
            let bytes = std::fs::read(folder.path().join(name)).unwrap();
            let has = |word: &[u8]| bytes.windows(word.len()).any(|w| w == word);
            assert!(has(b"spline") && has(b"focalLength"), "{name}");
            continue;
        }
        let error = done.unwrap_err().to_string();
        assert!(error.contains("/W/Eye.focalLength") && error.contains("spline"), "{error}");
        assert!(!folder.path().join(name).exists());
    }
}

#[test]
fn splines_play_what_was_simulated_with_few_keys() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-spline-out");
    let file = folder.path().join("pendulum.usda");
    sinew_tests::scratch::copy(sinew_tests::repository::root().join("examples/usd/pendulum.usda"), &file)
        .unwrap();
    bake(&file, None, |_| ());
    let times: Vec<f64> = (0..=72).map(f64::from).collect();
    let worlds = |file: &Path| -> Vec<Vec<f64>> {
        let answer = openusd::ask(&json!({ "ask": "worlds", "file": file, "times": times })).unwrap();
        serde_json::from_value(answer["prims"]["/World/Bar"].clone()).unwrap()
    };
    let exact = worlds(&file.with_extension("sinew.usda"));
    // The bar is 40 cm long and scaled so: a twentieth of a degree, and a little of its width.
    let most = 40.0 * 0.05_f64.to_radians() + 0.1;
    let mut outputs = vec![("splines.usda", false)];
    if backend::reads_splines() {
        outputs.extend([("splines.usdc", false), ("flat.usda", true), ("whole.usdz", false)]);
    } else if !backend::is_openusd() {
        let request = BakeRequest {
            scene: file.clone(),
            output: Some(folder.path().join("no.usdc")),
            splines: true,
            ..BakeRequest::default()
        };
        let error = bake_file(&request, &mut |_| true).unwrap_err().to_string();
        assert!(error.contains(".usda") && error.contains("OpenUSD"), "{error}");
    }
    for (name, flat) in outputs {
        let out = folder.path().join(name);
        let report = bake(&file, Some(&out), |r| (r.splines, r.flatten) = (true, flat));
        let found = worlds(&out);
        let off = exact
            .iter()
            .flatten()
            .zip(found.iter().flatten())
            .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert_eq!(openusd::fresh_errors(&[&out], Some(&file)), Ok(Vec::new()));
        let keys = openusd::ask(&json!({ "ask": "knots", "file": out })).unwrap();
        let keys: Vec<u64> = keys.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).collect();
        println!("  {name}: {keys:?} keys for 73 frames, off by {off:.1e} cm");
        assert!(off < most, "{name}: off by {off}");
        assert!(!keys.is_empty() && keys.iter().all(|n| *n < 37), "{keys:?}");
        assert_eq!(
            report.keys as u64,
            keys.iter().sum::<u64>(),
            "the report counts the keys that were written"
        );
        let off = report.max_fit_error_deg;
        assert!(off > 0.0 && off <= 0.05, "and says how far they are off: {off}");
    }
}

#[test]
fn an_empty_list_of_words_in_a_crate_file_is_kept_or_named() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-empty-words");
    let (text, file) = (folder.path().join("text.usda"), folder.path().join("shot.usdc"));
    let words = "        custom string[] words = []\n        custom asset[] files = []\n        custom double mine = 7";
    std::fs::write(&text, OPERATIONS.replace("        custom double mine = 7", words)).unwrap();
    openusd::ask(&json!({ "ask": "export", "file": text, "to": file })).unwrap();
    // A layer over it does not touch them.
    let report = bake(&file, None, |_| ());
    assert_eq!(touched(&file.with_extension("sinew.usda"), &file, &report), Ok(Vec::new()));
    for name in ["flat.usdc", "whole.usdz"] {
        let output = folder.path().join(name);
        let request = BakeRequest {
            scene: file.clone(),
            output: Some(output.clone()),
            flatten: name.starts_with("flat"),
            read: backend::options(),
            ..BakeRequest::default()
        };
        match bake_file(&request, &mut |_| true) {
            Ok(report) => assert_eq!(touched(&output, &file, &report), Ok(Vec::new())),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("/W/Pivoted.") && error.contains("layer over the scene"), "{error}");
                assert!(!backend::is_openusd() && !output.exists(), "{error}");
            }
        }
    }
}

#[test]
fn a_layer_of_the_scene_is_never_written_over() {
    let folder = scratch::folder("usd-own-layers");
    let (shot, below) = (folder.path().join("shot.usda"), folder.path().join("below.usda"));
    std::fs::write(&below, OPERATIONS).unwrap();
    let head =
        "#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = \"Z\"\n    subLayers = [@./below.usda@]\n)\n";
    std::fs::write(&shot, head).unwrap();
    for output in [&shot, &below] {
        if backend::is_openusd() && output == &below {
            continue; // Which files OpenUSD composed it of, only OpenUSD knows.
        }
        let before = std::fs::read(output).unwrap();
        let request = BakeRequest {
            scene: shot.clone(),
            output: Some(output.clone()),
            frames: Some([1.0, 5.0]),
            read: backend::options(),
            ..BakeRequest::default()
        };
        let error = bake_file(&request, &mut |_| true).unwrap_err().to_string();
        assert!(error.contains("another name") || error.contains("in place"), "{error}");
        assert_eq!(std::fs::read(output).unwrap(), before, "{}", output.display());
    }
}
