//! World transforms: ours and OpenUSD's, at fifty times, of every prim and joint.

use glam::{DAffine3, DMat4, DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::scene::Pose;
use sinew_plugin::usd::Document;
use sinew_tests::oracle::openusd;
use sinew_tests::{backend, sample, scatter, scratch};
use std::fmt::Write;
use std::path::Path;

/// What is promised, as a share of the size of what is compared.
const CLOSE: f64 = 1e-6;

/// The largest distance of our world transforms from OpenUSD's, and where; and how many were compared.
pub fn deviation(file: &Path, codes: &[f64]) -> Result<(f64, String, usize), String> {
    let document = Document::open(file, &backend::options()).map_err(|e| e.to_string())?;
    let answer = openusd::ask(&json!({ "ask": "worlds", "file": file, "times": codes }))?;
    deviation_from(&answer, &document, codes)
}

/// The same from what OpenUSD answered.
pub fn deviation_from(
    answer: &Value,
    document: &Document,
    codes: &[f64],
) -> Result<(f64, String, usize), String> {
    let metres = answer["units"].as_f64().unwrap();
    let turn = match answer["z_up"].as_bool().unwrap() {
        true => DAffine3::from_quat(DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2)),
        false => DAffine3::IDENTITY,
    };
    let scene = document.scene();
    let mut pose = Pose::new(scene, scene.clips.first());
    let theirs: Vec<(&String, &Value)> =
        ["prims", "joints"].iter().flat_map(|k| answer[k].as_object().unwrap()).collect();
    let (mut worst, mut place, mut count) = (0.0, String::new(), 0);
    for (i, code) in codes.iter().enumerate() {
        pose.evaluate(code / scene.frames_per_second);
        for (path, all) in &theirs {
            let name = document.node_of_path(path).ok_or(format!("we have no node for <{path}>"))?;
            let node = scene.find(name).unwrap();
            let rows: Vec<f64> = serde_json::from_value(all[i].clone()).unwrap();
            let mut exact = DAffine3::from_mat4(DMat4::from_cols_slice(&rows));
            exact.translation *= metres;
            let exact = turn * exact;
            let found = pose.world(node);
            let size = exact.to_cols_array().iter().fold(1.0_f64.min(metres), |m: f64, v| m.max(v.abs()));
            let apart = found.to_cols_array().into_iter().zip(exact.to_cols_array());
            let apart =
                apart.fold(0.0_f64, |m, (a, b)| if (a - b).abs() <= m { m } else { (a - b).abs() }) / size;
            count += 1;
            if apart.is_nan() || apart > worst {
                worst = apart;
                place = format!("<{path}> at time code {code}: {found:?}, OpenUSD {exact:?}");
            }
        }
    }
    Ok((worst, place, count))
}

/// Fifty times from before the first to after the last, not all of them on frames.
fn moments(first: f64, last: f64) -> Vec<f64> {
    (0..50_u64).map(|i| first - 1.0 + (last - first + 2.0) * (i as f64 + scatter::unit(i)) / 50.0).collect()
}

#[test]
fn every_prim_and_joint_is_where_openusd_has_it() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-worlds");
    sample::each(&sample::usd_files(folder.path()), |file| {
        let document = Document::open(file, &backend::options()).map_err(|e| e.to_string())?;
        let [first, last] = document.range().unwrap_or([0.0, 100.0]);
        let (worst, place, count) = deviation(file, &moments(first, last))?;
        if count == 0 {
            return Err("nothing was compared".into());
        }
        if worst.is_nan() || worst > CLOSE {
            return Err(format!("off by {worst:.1e}: {place}"));
        }
        Ok(format!("{count} transforms, off by {worst:.1e}"))
    });
}

/// Kinds of operations, their types, and the numbers of a value.
const KINDS: [(&str, &[&str]); 19] = [
    ("translate", &["double3", "float3", "half3"]),
    ("translateX", &["double", "float", "half"]),
    ("translateY", &["double", "float", "half"]),
    ("translateZ", &["double", "float", "half"]),
    ("scale", &["double3", "float3", "half3"]),
    ("scaleX", &["double", "float", "half"]),
    ("scaleY", &["double", "float", "half"]),
    ("scaleZ", &["double", "float", "half"]),
    ("rotateX", &["double", "float", "half"]),
    ("rotateY", &["double", "float", "half"]),
    ("rotateZ", &["double", "float", "half"]),
    ("rotateXYZ", &["double3", "float3", "half3"]),
    ("rotateXZY", &["double3", "float3", "half3"]),
    ("rotateYXZ", &["double3", "float3", "half3"]),
    ("rotateYZX", &["double3", "float3", "half3"]),
    ("rotateZXY", &["double3", "float3", "half3"]),
    ("rotateZYX", &["double3", "float3", "half3"]),
    ("orient", &["quatd", "quatf", "quath"]),
    ("transform", &["matrix4d"]),
];

/// A value of an operation, another one for each seed.
fn value(kind: &str, seed: u64) -> String {
    let v = scatter::signed(seed, 12);
    let list = |v: Vec<f64>| format!("({})", v.iter().map(f64::to_string).collect::<Vec<_>>().join(", "));
    match kind {
        "translate" => list(v[..3].iter().map(|v| 4.0 * v).collect()),
        "scale" => list(v[..3].iter().map(|v| 1.5 + v).collect()),
        "orient" => list(scatter::rotations(seed, 1)),
        // Always turned alike: between matrices that turn, OpenUSD has sheared ones, which no curve can say.
        "transform" => {
            let q = DQuat::from_xyzw(0.1, 0.2, 0.3, 1.0).normalize();
            let size = DVec3::splat(1.5 + v[3]);
            let m = DMat4::from_scale_rotation_translation(size, q, DVec3::new(v[0], v[1], v[2]));
            let rows: Vec<String> = m.to_cols_array().chunks(4).map(|r| list(r.to_vec())).collect();
            format!("( {} )", rows.join(", "))
        }
        _ if kind.starts_with("translate") => (4.0 * v[0]).to_string(),
        _ if kind.starts_with("scale") => (1.5 + v[0]).to_string(),
        _ if kind.len() == 7 => (170.0 * v[0]).to_string(),
        _ => list(v[..3].iter().map(|v| 170.0 * v).collect()),
    }
}

/// Where a matrix of operations is compared.
#[derive(Clone, Copy, PartialEq)]
enum When {
    /// At samples and in between.
    Anytime,
    /// At samples, which all operations have at the same times: then also what OpenUSD rounds in between.
    AtSamples,
}

/// A prim with these operations (kind, suffix, inverted), below another that moves too.
fn prim(text: &mut String, number: usize, ops: &[(usize, bool)], resets: bool, when: When) {
    let mut seed = number as u64 * 1000;
    let mut next = || {
        seed += 1;
        seed
    };
    let mut order = Vec::new();
    let _ = writeln!(text, "        def Xform \"P{number}\"\n        {{");
    for (i, &(kind, inverted)) in ops.iter().enumerate() {
        let (kind, types) = KINDS[kind];
        let of_type = types[(number + i) % types.len()];
        let name = format!("xformOp:{kind}:s{i}");
        let samples = [0, 1, 2, 3][(number + i) % 4];
        let rounded = of_type.starts_with("half") || matches!(of_type, "quath" | "quatf");
        let (samples, late) = match when {
            When::Anytime => (samples, i),
            When::AtSamples => (if rounded { 1 + samples % 3 } else { samples }, 0),
        };
        // An animated matrix is only tried on its own: mixed with others its shear has no curve.
        let samples = if kind == "transform" && ops.len() > 1 { 0 } else { samples };
        // OpenUSD rounds what lies between samples of halves to halves, in steps of a thousandth, and quaternions of floats
        // to floats, of which it takes the angles by their cosines.
        let samples = if rounded && when == When::Anytime { 0 } else { samples };
        // OpenUSD 26.11 takes the negative of a scale along one axis for its inverse.
        let inverted = inverted && !matches!(kind, "scaleX" | "scaleY" | "scaleZ");
        if samples == 0 {
            let _ = writeln!(text, "            {of_type} {name} = {}", value(kind, next()));
        } else {
            let _ = writeln!(text, "            {of_type} {name}.timeSamples = {{");
            for k in 0..=samples {
                let _ = writeln!(text, "                {}: {},", 7 * k + late, value(kind, next()));
            }
            let _ = writeln!(text, "            }}");
        }
        order.push(format!("\"{}{name}\"", if inverted { "!invert!" } else { "" }));
        // A pivot and its way back share one attribute.
        if kind == "translate" && number.is_multiple_of(3) && !inverted {
            order.push(format!("\"!invert!{name}\""));
        }
    }
    if resets {
        order.insert(order.len() / 2, "\"!resetXformStack!\"".into());
    }
    let _ = writeln!(text, "            uniform token[] xformOpOrder = [{}]\n        }}", order.join(", "));
}

/// A stage with every kind alone, every pair of kinds in both orders, and longer lists.
fn matrix(up: &str, metres: &str, when: When) -> String {
    let mut text = format!(
        "#usda 1.0\n(\n    upAxis = \"{up}\"\n    metersPerUnit = {metres}\n    timeCodesPerSecond = 30\n    startTimeCode = 0\n    endTimeCode = 24\n)\n\
         def Xform \"W\"\n{{\n    double3 xformOp:translate.timeSamples = {{ 0: (1, 2, 3), 20: (3, -2, 1) }}\n    float3 xformOp:rotateXYZ.timeSamples = {{ 0: (0, 10, 20), 20: (80, 100, -40) }}\n    uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:rotateXYZ\"]\n    def Scope \"S\"\n    {{\n"
    );
    let mut number = 0;
    let mut add = |text: &mut String, ops: &[(usize, bool)], resets: bool| {
        prim(text, number, ops, resets, when);
        number += 1;
    };
    for a in 0..KINDS.len() {
        for inverted in [false, true] {
            add(&mut text, &[(a, inverted)], false);
            add(&mut text, &[(a, inverted)], false);
        }
        for b in 0..KINDS.len() {
            add(&mut text, &[(a, false), (b, (a + b) % 5 == 0)], (a * b) % 11 == 1);
        }
    }
    for n in 0..60_u64 {
        let length = 3 + (n % 3) as usize;
        let ops: Vec<(usize, bool)> = (0..length as u64)
            .map(|i| ((scatter::unit(n * 31 + i) * 18.0) as usize, scatter::unit(n * 77 + i) < 0.2))
            .collect();
        add(&mut text, &ops, n % 9 == 0);
    }
    text.push_str("    }\n}\n");
    text
}

#[test]
fn every_kind_and_order_of_operations_is_where_openusd_has_it() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-matrix");
    for when in [When::Anytime, When::AtSamples] {
        let (codes, what) = match when {
            When::Anytime => (moments(0.0, 24.0), "at any time"),
            When::AtSamples => (vec![0.0, 7.0, 14.0, 21.0], "at samples of every precision"),
        };
        for (up, metres) in AXES.iter().flat_map(|up| UNITS.map(|metres| (up, metres))) {
            let file = folder.path().join(format!("{up}{metres}.usda"));
            std::fs::write(&file, matrix(up, metres, when)).unwrap();
            let (worst, place, count) = deviation(&file, &codes).unwrap();
            assert!(worst <= CLOSE, "{up} up, {metres} m, {what}: off by {worst:.1e}: {place}");
            println!("  {up} up, {metres} m, {what}: {count} transforms, off by {worst:.1e}");
        }
    }
}

/// Axes and units of the matrix.
const AXES: [&str; 2] = ["Y", "Z"];
const UNITS: [&str; 3] = ["1", "0.01", "0.0254"];

/// Files that compose: a sublayer that is later and slower, a reference with an offset, a payload, a variant, something
/// inherited, two instances of one thing.
const COMPOSED: [(&str, &str); 4] = [
    (
        "shot.usda",
        r#"#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
    timeCodesPerSecond = 48
    startTimeCode = 0
    endTimeCode = 60
    subLayers = [@./anim.usda@ (offset = 10; scale = 2)]
)
def Xform "Set"
{
    def "Near" (
        references = @./asset.usda@ (offset = 5)
    )
    {
        double3 xformOp:translate = (100, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def "Far" (
        payload = @./asset.usda@</Thing>
        variants = {
            string size = "large"
        }
    )
    {
    }
    def "First" (
        instanceable = true
        references = @./asset.usda@
    )
    {
    }
    def "Second" (
        instanceable = true
        references = @./asset.usda@
    )
    {
        double3 xformOp:translate = (0, 50, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    over "Gone" (
        active = false
    )
    {
    }
}
def Xform "Heir" (
    inherits = </_class>
)
{
}
class Xform "_class"
{
    float xformOp:rotateZ.timeSamples = { 0: 0, 40: 300 }
    uniform token[] xformOpOrder = ["xformOp:rotateZ"]
}
"#,
    ),
    (
        "anim.usda",
        r#"#usda 1.0
(
    timeCodesPerSecond = 24
)
over "Set"
{
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 20: (10, 20, 30) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Xform "Gone"
    {
    }
}
"#,
    ),
    (
        "asset.usda",
        r#"#usda 1.0
(
    defaultPrim = "Thing"
    timeCodesPerSecond = 24
    subLayers = [@./parts/more.usda@]
)
def Xform "Thing" (
    variants = {
        string size = "small"
    }
    prepend variantSets = "size"
)
{
    variantSet "size" = {
        "small" {
            over "Part"
            {
                float3 xformOp:scale = (1, 1, 1)
            }
        }
        "large" {
            over "Part"
            {
                float3 xformOp:scale = (3, 4, 5)
            }
        }
    }
    def Cube "Part"
    {
        float3 xformOp:rotateXYZ.timeSamples = { 0: (0, 0, 0), 10: (90, 45, 10) }
        uniform token[] xformOpOrder = ["xformOp:rotateXYZ", "xformOp:scale"]
    }
}
"#,
    ),
    (
        "parts/more.usda",
        "#usda 1.0\nover \"Thing\"\n{\n    def Sphere \"Knob\"\n    {\n        double3 xformOp:translate = (0, 0, 7)\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }\n}\n",
    ),
];

#[test]
fn stages_compose_as_openusd_composes_them() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-composed");
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    for (name, text) in COMPOSED {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let file = folder.path().join("shot.usda");
    let (worst, place, count) = deviation(&file, &moments(0.0, 80.0)).unwrap();
    assert!(count >= 50 * 14, "{count}");
    assert!(worst <= CLOSE, "off by {worst:.1e}: {place}");
    let document = Document::open(&file, &backend::options()).unwrap();
    assert!(document.node_of_path("/Set/Gone").is_none());
    assert!(document.node_of_path("/Set/Far/Knob").is_some());
    assert!(document.warnings().is_empty(), "{:?}", document.warnings());
}

/// Every way that a spline can go: bends, tangents of any width, straight, held, jumps, and on past its ends.
const SPLINES: &str = r#"#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Y"
    startTimeCode = -10
    endTimeCode = 70
    timeCodesPerSecond = 24
)
def Xform "Curved"
{
    double xformOp:translateX.spline = {
        1: 0; post curve (4, 0.5),
        20: 5; pre (3, -0.25); post curve (6, 0.75),
        48: -2; pre (9, 0.1),
    }
    float xformOp:rotateZ.spline = {
        pre: linear,
        post: sloped (2.5),
        1: 0; post curve (3, 10),
        24: 200; pre (6, 0); post linear,
        40: 90; post curve (2, 1),
    }
    uniform token[] xformOpOrder = ["xformOp:translateX", "xformOp:rotateZ"]

    def Xform "Stepped"
    {
        double xformOp:translateY.spline = {
            0: 1; post held,
            10: 2 & 3; post linear,
            30: -1; post curve (5, 0),
            50: 4; pre (5, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translateY"]
    }
    def Xform "Turns"
    {
        double xformOp:translateZ.spline = {
            post: loop repeat,
            0: 0; post curve (3, 0),
            12: 3; pre (3, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translateZ"]
    }
}
"#;

#[test]
fn splines_are_where_openusd_has_them_or_refused() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-splines");
    for ending in ["usda", "usdc"] {
        let file = folder.path().join(format!("splines.{ending}"));
        let text = folder.path().join("text.usda");
        std::fs::write(&text, SPLINES).unwrap();
        openusd::ask(&json!({ "ask": "export", "file": text, "to": file })).unwrap();
        if !backend::reads_splines() {
            // Not read, and never taken for something that stands still.
            let error = Document::open(&file, &backend::options()).expect_err("a refusal").to_string();
            assert!(error.contains("spline"), "{ending}: {error}");
            continue;
        }
        // Not in the thousandth of a frame before a jump, which straight lines take for it.
        let codes: Vec<f64> =
            moments(-9.0, 69.0).into_iter().chain([0.0, 9.99, 10.0, 10.01, 24.0, 50.0]).collect();
        let (worst, place, count) = deviation(&file, &codes).unwrap();
        println!("  {ending}: {count} transforms, off by {worst:.1e}");
        // Lines between samples are within a millionth of the size that a spline reaches, which is more than it has now.
        assert!(worst < 1e-5, "{place}");
    }
}
