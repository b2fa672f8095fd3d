//! One scene in glTF, usda, usdc and usdz, in metres and centimetres, Y up and Z up: one motion. And scenes of one format
//! as the other.

use glam::{DQuat, DVec3};
use sinew_core::scene::{Clip, Node, Pose, Scene};
use sinew_core::setup::{BakedKeys, Setup};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::PhysicsDialect;
use sinew_plugin::job::{
    BakeRequest, PhysicsRequest, Report, SetupSource, bake_file, physics_file, simulate,
};
use sinew_plugin::usd::Destination;
use sinew_tests::made::character::Character;
use sinew_tests::oracle::{self, khronos, openusd};
use sinew_tests::program::Program;
use sinew_tests::{backend, built, repository, sample, scratch};
use std::path::{Path, PathBuf};

fn open(file: &Path) -> Document {
    Document::open(file, &backend::options()).unwrap_or_else(|e| panic!("{e}"))
}

/// A keyed box that leads another on a joint, a ball that is thrown, and what they fall on; in any units and axes. Every
/// number is one that floats have exactly.
fn text(metres: f64, z_up: bool) -> String {
    let unit = 1.0 / metres;
    let point = |x: f64, y: f64, z: f64| {
        let [x, y, z] = if z_up { [x, -z, y] } else { [x, y, z] };
        format!("({}, {}, {})", x * unit, y * unit, z * unit)
    };
    // Turned so that up is up, whatever the axes of the shapes.
    let turn = if z_up { "(0.7071067811865476, 0.7071067811865475, 0, 0)" } else { "(1, 0, 0, 0)" };
    let up = if z_up { "Z" } else { "Y" };
    let gravity = if z_up { "(0, 0, -1)" } else { "(0, -1, 0)" };
    format!(
        r#"#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = {metres}
    upAxis = "{up}"
    timeCodesPerSecond = 24
    startTimeCode = 0
    endTimeCode = 48
)
def Xform "Root"
{{
    def PhysicsScene "Scene"
    {{
        vector3f physics:gravityDirection = {gravity}
        float physics:gravityMagnitude = {magnitude}
    }}
    def Cube "Leader" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI"]
    )
    {{
        double size = {size}
        float physics:mass = 2
        double3 xformOp:translate.timeSamples = {{ 0: {a}, 24: {b}, 48: {c} }}
        quatd xformOp:orient = {turn}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    }}
    def Cube "Follower" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI"]
    )
    {{
        double size = {size}
        float physics:mass = 1
        double3 xformOp:translate = {f}
        quatd xformOp:orient = {turn}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    }}
    def Sphere "Ball" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI"]
    )
    {{
        double radius = {radius}
        float physics:mass = 0.5
        vector3f physics:velocity = {v}
        double3 xformOp:translate = {s}
        quatd xformOp:orient = {turn}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    }}
    def Cube "Ground" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {{
        double size = {ground}
        double3 xformOp:translate = {g}
        quatd xformOp:orient = {turn}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    }}
    def PhysicsRevoluteJoint "Hinge"
    {{
        rel physics:body0 = </Root/Leader>
        rel physics:body1 = </Root/Follower>
        uniform token physics:axis = "Z"
        point3f physics:localPos0 = ({half}, 0, 0)
        point3f physics:localPos1 = (-{half}, 0, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
    }}
}}
"#,
        magnitude = 10.0 * unit,
        size = 0.5 * unit,
        half = 0.5 * unit,
        radius = 0.25 * unit,
        ground = 8.0 * unit,
        a = point(0.0, 2.0, 0.0),
        b = point(1.0, 3.0, 0.5),
        c = point(-1.0, 2.0, 0.0),
        f = point(1.0, 2.0, 0.0),
        // Not so that it meets the ground just at a step.
        s = point(0.0, 1.0703125, 2.0),
        g = point(0.0, -4.0, 0.0),
        v = point(0.5, 1.0, -0.25),
    )
}

/// Places and rotations of every body, in metres, Y up, as its curves have them four times a frame; and the times of their
/// keys, s.
fn curves(scene: &Scene, setup: &Setup, keys: BakedKeys) -> (Vec<(DVec3, DQuat)>, Vec<f64>) {
    let mut setup = Setup { clip: None, ..setup.clone() };
    setup.bake.keys = keys;
    let outcome = simulate(scene, &setup, "set-up", false, &mut |_| true).unwrap();
    let solids = &outcome.compiled.rig.solids;
    let names: Vec<&str> = solids.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["Leader", "Follower", "Ball"]);
    let clip = Clip { name: String::new(), channels: outcome.baked.channels.clone() };
    let mut pose = Pose::new(scene, Some(&clip));
    let mut places = Vec::new();
    for quarter in 0..=4 * (outcome.motion.frames() - 1) {
        pose.evaluate(quarter as f64 / (4.0 * scene.frames_per_second));
        places.extend(solids.iter().map(|s| pose.placement(s.node)).map(|p| (p.position, p.rotation)));
    }
    (places, clip.channels.iter().flat_map(|c| c.curve.times().to_vec()).collect())
}

/// The largest distance between the curves of two scenes, fitted and of every frame, which have their keys at the same times.
fn curves_apart(a: (&Scene, &Setup), b: (&Scene, &Setup)) -> f64 {
    let one = |keys| {
        let ((a, a_keys), (b, b_keys)) = (curves(a.0, a.1, keys), curves(b.0, b.1, keys));
        assert_eq!(a_keys.len(), b_keys.len(), "another number of keys");
        let late = a_keys.iter().zip(&b_keys).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        apart(&a, &b).max(late)
    };
    one(BakedKeys::EveryFrame).max(one(BakedKeys::default()))
}

/// The largest distance between two motions; angles count as metres.
fn apart(a: &[(DVec3, DQuat)], b: &[(DVec3, DQuat)]) -> f64 {
    assert_eq!(a.len(), b.len());
    let one = |((p, q), (r, s)): (&(DVec3, DQuat), &(DVec3, DQuat))| {
        let turn = (*q - *s).length().min((*q + *s).length());
        (*p - *r).length().max(turn)
    };
    a.iter().zip(b).map(one).fold(0.0, f64::max)
}

#[test]
fn one_scene_moves_alike_in_every_format_unit_and_axis() {
    let folder = scratch::folder("usd-formats");
    let path = |name: &str| folder.path().join(name);
    let first = path("metres-y.usda");
    std::fs::write(&first, text(1.0, false)).unwrap();
    let document = open(&first);
    let setup = document.physics(None).unwrap().unwrap().setup;
    let (places, _) = curves(document.scene(), &setup, BakedKeys::EveryFrame);
    let travelled = places.iter().fold(0.0_f64, |m, (p, _)| m.max((*p - places[2].0).length()));
    let exact = (document.scene(), &setup);
    assert!(travelled > 1.0, "nothing moves");
    let mut files: Vec<PathBuf> = Vec::new();
    for (metres, z_up) in [(1.0, true), (0.01, false), (0.01, true)] {
        let file = path(&format!("{metres}-{z_up}.usda"));
        std::fs::write(&file, text(metres, z_up)).unwrap();
        files.push(file);
    }
    for ending in ["usdc", "usdz"] {
        for from in [first.clone(), files[2].clone()] {
            let to = path(&format!("{}.out.{ending}", from.file_stem().unwrap().to_string_lossy()));
            let saved = open(&from).save(&to, Destination::Flat, None);
            saved.unwrap_or_else(|e| panic!("{e}"));
            files.push(to);
        }
    }
    for ending in ["glb", "gltf"] {
        let to = path(&format!("converted.{ending}"));
        document.save(&to, Destination::Layer, None).unwrap();
        files.push(to);
    }
    let back = path("and-back.usda");
    open(&path("converted.glb")).save(&back, Destination::Layer, None).unwrap();
    files.push(back);
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let document = open(file);
        let off = curves_apart(exact, (document.scene(), &setup));
        println!("  {name}: off by {off:.1e} m with the same set-up");
        assert!(off < 1e-9, "{name}: off by {off:.1e}");
        // And by what the file itself says of physics, where that is USD's own: Khronos' has no gravity.
        if name != "and-back.usda" && file.extension().is_some_and(|e| e.to_string_lossy().starts_with("usd"))
        {
            let own = document.physics(None).unwrap().unwrap().setup;
            let off = curves_apart(exact, (document.scene(), &own));
            assert!(off < 1e-9, "{name}: off by {off:.1e} with its own physics");
        }
    }
}

/// The largest distance of any node of one scene, in units of so many metres, from the node of the same name in another, as
/// a share of the size.
fn scenes_apart(a: &Scene, b: &Scene, times: &[f64], metres: f64) -> Result<f64, String> {
    let plain = |n: &str| n.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let mut poses = [a, b].map(|s| Pose::new(s, s.clips.last()));
    let (mut worst, mut size, mut met) = (0.0_f64, 1e-3_f64, 0);
    for &time in times {
        poses.iter_mut().for_each(|p| p.evaluate(time));
        for (i, node) in a.nodes.iter().enumerate().filter(|(_, n)| !n.name.is_empty()) {
            let name = plain(node.name.rsplit('/').next().unwrap_or_default());
            let same =
                |n: &sinew_core::scene::Node| plain(n.name.rsplit('/').next().unwrap_or_default()) == name;
            if a.nodes.iter().filter(|n| same(n)).count() > 1 {
                continue;
            }
            let Some(j) = b.nodes.iter().position(same) else {
                return Err(format!("\"{}\" is gone", node.name));
            };
            let (p, q) = (poses[0].world(i).translation * metres, poses[1].world(j).translation);
            size = size.max(p.length());
            worst = worst.max((p - q).length());
            met += 1;
        }
    }
    let named = a.nodes.iter().filter(|n| !n.name.is_empty()).count();
    if met == 0 && named > 2 { Err("nothing was compared".into()) } else { Ok(worst / size) }
}

/// Whether bones pull at any mesh.
fn is_skinned(scene: &Scene) -> bool {
    let pulled = |n: &Node| n.mesh.is_some_and(|m| !scene.meshes[m].influences.is_empty());
    scene.nodes.iter().any(|n| n.skin.is_some() && pulled(n))
}

/// glTF files to try, but for the made one that scales a node to nothing and past it: it has no size to weigh or to bake by.
fn gltf_files(made: &Path) -> Vec<PathBuf> {
    sample::gltf_files(made).into_iter().filter(|f| !f.ends_with("edges.gltf")).collect()
}

/// Blocking in steps: on the frame of a key, a pose is there.
#[test]
#[ignore = "a key at a third of a second is a little later in single precision, and in USD a frame late"]
fn stepped_keys_are_on_their_frames_in_usd() {
    let folder = scratch::folder("stepped-usd");
    let biped = Character::biped();
    let clip = biped.takes.iter().position(|t| t.held.is_some()).unwrap();
    let document = Document::open(&biped.write(folder.path()), &backend::options()).unwrap();
    let out = folder.path().join("stepped.usda");
    document.save(&out, Destination::Layer, Some(clip)).unwrap();
    let mut scene = document.scene().clone();
    scene.clips = vec![scene.clips.swap_remove(clip)];
    let times = scene.clips[0].channels[0].curve.times().to_vec();
    let off = scenes_apart(&scene, open(&out).scene(), &times, 1.0).unwrap();
    assert!(off < 1e-4, "off by {off:.1e}");
}

#[test]
fn gltf_files_become_usd_that_plays_alike_and_has_no_faults() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("gltf-to-usd");
    let mut written = Vec::new();
    let small = |f: &PathBuf| std::fs::metadata(f).is_ok_and(|m| m.len() < 600_000);
    let made = scratch::folder("gltf-made");
    let files: Vec<PathBuf> = gltf_files(made.path()).into_iter().filter(small).collect();
    sample::each(&files, |file| {
        let Ok(document) = Document::open(file, &backend::options()) else { return Ok("refused".into()) };
        let out = folder.path().join(format!("{}.usda", written.len()));
        let said = document.save(&out, Destination::Layer, None).map_err(|e| e.to_string())?.remarks;
        written.push(out.clone());
        let usd = Document::open(&out, &backend::options()).map_err(|e| e.to_string())?;
        // At keys: between them glTF may bend, and USD runs straight.
        let scene = document.scene();
        let keys =
            scene.clips.last().map(|c| c.channels.iter().flat_map(|c| c.curve.times().to_vec()).collect());
        let mut times: Vec<f64> = keys.unwrap_or_else(|| vec![0.0]);
        times.truncate(40);
        // Not all glTF is in metres; USD says what it is in.
        let metres = document.automatic(None).map_or(1.0, |s| s.world.metres_per_unit);
        let metres = if document.physics(None).ok().flatten().is_some() { 1.0 } else { metres };
        let off = scenes_apart(scene, usd.scene(), &times, metres)?;
        let weight = |d: &Document| {
            let setup = d.automatic(None).ok()?;
            let clip = sinew_core::setup::choose_clip(d.scene(), setup.clip.as_deref()).ok()??.1;
            let rig = sinew_core::rig::compile(d.scene(), &setup, Some(clip)).ok()?.rig;
            Some(rig.solids.iter().map(|s| s.mass).sum::<f64>())
        };
        if let (Some(a), Some(b)) = (weight(&document), weight(&usd))
            // Where nothing is said to be lost.
            && scene.clips.len() == 1
            && said.is_empty()
            && document.warnings().is_empty()
            // A human weighs by its height at rest, and rest is not the same pose in both: a few per cent.
            && (a - b).abs() > 0.05 * a
        {
            return Err(format!("the automatic set-up weighs {a} kg, as USD {b}"));
        }
        if off.is_nan() || off >= 1e-4 {
            return Err(format!("off by {off:.1e}"));
        }
        if is_skinned(scene) != is_skinned(usd.scene()) {
            return Err("the skin is lost".into());
        }
        Ok(format!("off by {off:.1e}, {} remarks", said.len()))
    });
    let fresh = openusd::fresh_errors(&written, None).unwrap();
    assert!(
        fresh.is_empty(),
        "{} errors, the first of them {}",
        fresh.len(),
        fresh[..fresh.len().min(5)].join("\n")
    );
}

#[test]
fn usd_files_become_gltf_that_plays_alike_and_has_no_faults() {
    if !oracle::are_installed() {
        return;
    }
    let folder = scratch::folder("usd-to-gltf");
    let made = scratch::folder("usd-made");
    sample::each(&sample::usd_files(made.path()), |file| {
        let document = Document::open(file, &backend::options()).map_err(|e| e.to_string())?;
        let out = folder.path().join("out.glb");
        document.save(&out, Destination::Layer, None).map_err(|e| e.to_string())?;
        khronos::judge(&out, &out)?;
        let errors = khronos_errors(&out)?;
        if errors > 0 {
            return Err(format!("{errors} errors of the validator"));
        }
        let gltf = Document::open(&out, &backend::options()).map_err(|e| e.to_string())?;
        let times: Vec<f64> = (0..30).map(|i| f64::from(i) / 12.0).collect();
        let off = scenes_apart(document.scene(), gltf.scene(), &times, 1.0)?;
        if off.is_nan() || off >= 1e-5 {
            return Err(format!("off by {off:.1e}"));
        }
        let count = |d: &Document| d.physics(None).ok().flatten().map_or(0, |p| p.setup.bodies.len());
        let (before, after) = (count(&document), count(&gltf));
        if before != after {
            return Err(format!("{before} bodies became {after}"));
        }
        Ok(format!("off by {off:.1e}, {after} bodies"))
    });
}

/// What rests has curves of one key, whose interpolation the specification says.
#[test]
fn bakes_of_stages_are_valid_gltf() {
    if !oracle::are_installed() {
        return;
    }
    let folder = scratch::folder("usd-bake-gltf");
    let made = scratch::folder("usd-made");
    sample::each(&sample::usd_files(made.path()), |file| {
        let output = folder.path().join("out.glb");
        let request = BakeRequest {
            scene: file.into(),
            output: Some(output.clone()),
            frames: Some([0.0, 12.0]),
            read: backend::options(),
            ..BakeRequest::default()
        };
        bake_file(&request, &mut |_| true).map_err(|e| e.to_string())?;
        khronos::is_valid(&output)?;
        Ok("valid".into())
    });
}

/// Errors of the Khronos validator beside an empty file, which has none.
fn khronos_errors(file: &Path) -> Result<u64, String> {
    let empty = file.with_file_name("empty.gltf");
    std::fs::write(&empty, r#"{"asset":{"version":"2.0"}}"#).map_err(|e| e.to_string())?;
    khronos::judge(file, &empty)
}

#[test]
fn a_bake_from_gltf_to_usd_is_the_baked_clip() {
    let folder = scratch::folder("gltf-bake-usd");
    let scene = repository::root().join("examples/scenes/stack.gltf");
    let out = folder.path().join("stack.usdc");
    let read = backend::options();
    let request =
        BakeRequest { scene: scene.clone(), output: Some(out.clone()), read, ..BakeRequest::default() };
    let report = bake_file(&request, &mut |_| true).unwrap();
    let usd = open(&out);
    let clip = usd.scene().clips.first().expect("it moves");
    let (_, end) = clip.range().unwrap();
    assert!(
        (end - (report.first_frame + report.frames as f64 - 1.0) / report.frames_per_second).abs() < 1e-6
    );
    let glb = folder.path().join("stack.glb");
    let request = BakeRequest {
        scene,
        output: Some(glb.clone()),
        keys: Some(BakedKeys::EveryFrame),
        ..BakeRequest::default()
    };
    bake_file(&request, &mut |_| true).unwrap();
    let gltf = open(&glb);
    let times: Vec<f64> = (0..report.frames).map(|f| f as f64 / report.frames_per_second).collect();
    let off = scenes_apart(gltf.scene(), usd.scene(), &times, 1.0).unwrap();
    assert!(off < 1e-6, "off by {off:.1e}");
}

/// Bakes a few frames of a file.
fn bake_to(scene: &Path, output: &Path, every_frame: bool) -> Result<Report, String> {
    let request = BakeRequest {
        scene: scene.into(),
        output: Some(output.into()),
        frames: Some([0.0, 12.0]),
        keys: every_frame.then_some(BakedKeys::EveryFrame),
        read: backend::options(),
        ..BakeRequest::default()
    };
    bake_file(&request, &mut |_| true).map_err(|e| e.to_string())
}

#[test]
fn bakes_play_alike_in_either_format() {
    if !oracle::are_installed() || !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("bakes-either-format");
    let mut written = Vec::new();
    let small = |f: &PathBuf| std::fs::metadata(f).is_ok_and(|m| m.len() < 400_000);
    let (stages, scenes) = (scratch::folder("usd-made"), scratch::folder("gltf-made"));
    let mut files = sample::usd_files(stages.path());
    files.extend(gltf_files(scenes.path()).into_iter().filter(small));
    sample::each(&files, |file| {
        let Ok(document) = Document::open(file, &backend::options()) else { return Ok("refused".into()) };
        let n = written.len();
        let from_usd = matches!(document, Document::Usd(_));
        let (glb, usd) = (folder.path().join(format!("{n}.glb")), folder.path().join(format!("{n}.usdc")));
        let same = if from_usd { Some(file.to_owned()) } else { None };
        // A layer goes beside its scene, and samples are not ours to write beside.
        let scene = match &same {
            Some(_) => {
                let copy = folder.path().join(format!("{n}-{}", file.file_name().unwrap().to_string_lossy()));
                sinew_tests::scratch::copy(file, &copy).map_err(|e| e.to_string())?;
                copy
            }
            None => file.to_owned(),
        };
        match bake_to(&scene, &glb, true) {
            Ok(_) => {}
            Err(e) if e.contains("nothing") || e.contains("no clip") && document.scene().clips.is_empty() => {
                return Ok("has nothing to bake".into());
            }
            Err(e) => return Err(e),
        }
        let report = bake_to(&scene, &usd, true)?;
        written.push((usd.clone(), same));
        if khronos::judge(&glb, file).or_else(|_| khronos_errors(&glb))? > 0 && from_usd {
            return Err("errors of the validator".into());
        }
        let (a, b) = (open(&glb), open(&usd));
        let rate = report.frames_per_second;
        let times: Vec<f64> = (0..=12).map(|f| f64::from(f) / rate).collect();
        let metres = if from_usd || document.physics(None).ok().flatten().is_some() {
            1.0
        } else {
            document.automatic(None).map_or(1.0, |s| s.world.metres_per_unit)
        };
        // Every node of the scene is in both; the joints of physics are nodes in glTF only.
        let (first, second) = if from_usd { (&b, &a) } else { (&a, &b) };
        let off = scenes_apart(first.scene(), second.scene(), &times, metres)?;
        if off.is_nan() || off >= 1e-4 {
            return Err(format!("off by {off:.1e}"));
        }
        let bodies = |d: &Document| d.physics(None).ok().flatten().map_or(0, |p| p.setup.bodies.len());
        if from_usd && bodies(&a) != bodies(&b) {
            return Err(format!("{} bodies of physics in glTF, {} in USD", bodies(&a), bodies(&b)));
        }
        if is_skinned(document.scene()) != (is_skinned(a.scene()) && is_skinned(b.scene())) {
            return Err("the skin is lost".into());
        }
        Ok(format!("{} bodies, off by {off:.1e}", report.bodies.len()))
    });
    for (file, original) in &written {
        assert_eq!(openusd::fresh_errors(&[file], original.as_deref()), Ok(Vec::new()));
    }
}

#[test]
fn physics_written_as_usd_is_baked_to_gltf() {
    let folder = scratch::folder("physics-usd-gltf");
    for name in ["stack", "chain", "ball"] {
        let scene = repository::root().join(format!("examples/scenes/{name}.gltf"));
        let shot = folder.path().join("shot.usda");
        let request = PhysicsRequest {
            wish: sinew_core::setup::Wish::default(),
            scene,
            output: shot.clone(),
            setup: SetupSource::Beside,
            clip: None,
            dialect: PhysicsDialect::Khronos,
            read: backend::options(),
        };
        physics_file(&request).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Under another name as well: what the clip is called is the file's name.
        let moved = folder.path().join("moved.usda");
        sinew_tests::scratch::copy(&shot, &moved).unwrap();
        for from in [&shot, &moved] {
            let (glb, usda) = (folder.path().join("y.glb"), folder.path().join("y.usda"));
            bake_to(from, &glb, true).unwrap_or_else(|e| panic!("{name}: {e}"));
            let report = bake_to(from, &usda, true).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (a, b) = (open(&glb), open(&usda));
            let times: Vec<f64> = (0..=12).map(|f| f64::from(f) / report.frames_per_second).collect();
            let off = scenes_apart(b.scene(), a.scene(), &times, 1.0).unwrap();
            assert!(off < 1e-5, "{name}: off by {off:.1e}");
            assert!(a.physics(None).unwrap().is_some(), "{name}: the physics is lost");
        }
    }
}

#[test]
fn without_a_bridge_to_openusd_the_built_in_reader_serves_and_says_what_is_missing() {
    let folder = scratch::folder("usd-no-bridge");
    let scene = repository::root().join("examples/usd/pendulum.usda");
    let bake = |name: &str, arguments: &[&str]| {
        let command = Program::new(built::command().unwrap()).arg("bake").arg(&scene);
        let command = command.arg("-o").arg(folder.path().join(name)).args(arguments);
        let command = command.env("SINEW_OPENUSD_BRIDGE", "/nowhere/libsinew_openusd.so");
        command.run().and_then(|done| done.success()).unwrap_or_else(|e| panic!("{e}"))
    };
    bake("own.usda", &[]);
    let done = bake("asked.usda", &["--usd-backend", "openusd"]);
    let said = done.stdout + &done.stderr;
    for part in [
        "/nowhere/libsinew_openusd.so",
        "plugin/openusd",
        "OPENUSD_ROOT",
        "SINEW_OPENUSD_BRIDGE",
        "No such file",
    ] {
        assert!(said.contains(part), "no \"{part}\" in: {said}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("own.usda"), read("asked.usda"));
}

#[test]
fn usd_in_memory_is_the_scene_that_it_is_in_a_file() {
    let folder = scratch::folder("usd-memory");
    let file = folder.path().join("shot.usda");
    std::fs::write(&file, text(0.01, true)).unwrap();
    let document = open(&file);
    let setup = document.physics(None).unwrap().unwrap().setup;
    let exact = (document.scene(), &setup);
    for ending in ["usda", "usdc", "usdz"] {
        let as_file = folder.path().join(format!("flat.{ending}"));
        document.save(&as_file, Destination::Flat, None).unwrap();
        let bytes = std::fs::read(&as_file).unwrap();
        let from_memory = Document::from_bytes(&bytes, "host/shot of mine").unwrap();
        assert_eq!(from_memory.scene().name, "shot of mine");
        let own = from_memory.physics(None).unwrap().unwrap().setup;
        assert!(curves_apart(exact, (from_memory.scene(), &own)) < 1e-9, "{ending}");
        // Saved, it is whole: there is no file to be a layer over.
        let saved = folder.path().join(format!("saved-{ending}.usda"));
        from_memory.save(&saved, Destination::Layer, None).unwrap();
        assert!(!std::fs::read_to_string(&saved).unwrap().contains("subLayers"));
        assert!(curves_apart(exact, (open(&saved).scene(), &own)) < 1e-9, "{ending}");
    }
}
