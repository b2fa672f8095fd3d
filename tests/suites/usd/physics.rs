//! UsdPhysics: scenes that carry it simulate from it alone, and set-ups survive it.

use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_core::rig::compile;
use sinew_core::scene::{Placement, Pose, Scene};
use sinew_core::setup::{BakedKeys, Behaviour, Body, Setup, Shape, choose_clip};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::PhysicsDialect;
use sinew_plugin::job::{PhysicsRequest, SetupSource, load_setup, physics_file, simulate};
use sinew_tests::oracle::openusd;
use sinew_tests::{backend, made, repository, sample, scratch};
use std::path::{Path, PathBuf};

fn open(file: &Path) -> Document {
    Document::open(file, &backend::options()).unwrap()
}

fn physics(document: &Document) -> Setup {
    document.physics(None).unwrap().expect("the file carries physics").setup
}

/// Where joints were open at most, as a share of the smallest link: of the least distance that any body reaches from its
/// middle.
fn worst_opening(document: &Document, setup: &Setup) -> f64 {
    let outcome = simulate(document.scene(), setup, "physics", false, &mut |_| true).unwrap();
    let size = outcome.compiled.rig.solids.iter().fold(f64::INFINITY, |m, s| m.min(s.radius));
    assert!(!outcome.report.joints.is_empty());
    outcome.report.joints.iter().fold(0.0_f64, |m, j| m.max(j.max_opening)) / size
}

/// Figures and linkages with physics of their own: a name, the file, and where a floor is under them.
fn with_physics(folder: &Path) -> Vec<(&'static str, PathBuf, f64)> {
    let made = [("doll", made::stage::doll(), -0.5), ("linkage", made::stage::linkage(), -0.2)];
    let mut all: Vec<_> = made
        .into_iter()
        .map(|(name, text, floor)| (name, made::stage::write(folder, name, &text), floor))
        .collect();
    for (name, floor) in [("humanoid", -1.6), ("boxes_fourbar", -0.2)] {
        let Some(file) = sample::file(&format!("usd/{name}.usda")) else { continue };
        let copy = folder.join(format!("{name}.usda"));
        sinew_tests::scratch::copy(file, &copy).unwrap();
        all.push((name, copy, floor));
    }
    all
}

#[test]
fn joints_of_stages_hold_for_ten_seconds() {
    let folder = scratch::folder("usd-joints");
    for (name, file, floor) in with_physics(folder.path()) {
        let document = open(&file);
        let mut setup = physics(&document);
        let rate = document.scene().frames_per_second;
        setup.bake.frames = Some([0.0, 10.0 * rate]);
        let worst = worst_opening(&document, &setup);
        println!("  {name}: open by {worst:.1e} of its smallest link");
        assert!(worst < 1e-6, "{name}: open by {worst:.1e}");
        // The same on a floor, where all of it is pressed against its limits.
        setup.world.floor = Some(floor);
        let worst = worst_opening(&document, &setup);
        println!("  {name} on a floor: open by {worst:.1e} of its smallest link");
        assert!(worst < 1e-6, "{name} on a floor: open by {worst:.1e}");
    }
}

/// The rotation of a joint's second frame as seen from its first, at a frame.
fn relative(pose: &Pose<'_>, scene: &Scene, document: &Document, joint: &Value) -> DQuat {
    let frame = |i: usize| {
        let path = joint["bodies"][i].as_str().unwrap();
        let Document::Usd(usd) = document else { unreachable!() };
        let node = scene.find(usd.node_of_path(path).unwrap()).unwrap();
        let q: Vec<f64> = serde_json::from_value(joint["rotations"][i].clone()).unwrap();
        pose.placement(node).rotation * DQuat::from_slice(&q).normalize()
    };
    frame(0).inverse() * frame(1)
}

/// Angles of a joint as UsdPhysics has its limits, degrees: about x first, then the tilt, as its rotation vector.
fn angles(pose: &Pose<'_>, scene: &Scene, document: &Document, joint: &Value) -> [f64; 3] {
    let q = relative(pose, scene, document, joint);
    let q = if q.w < 0.0 { -q } else { q };
    let twist = DQuat::from_xyzw(q.x, 0.0, 0.0, q.w);
    let twist = if twist.length() > 1e-9 { twist.normalize() } else { DQuat::IDENTITY };
    let swing = (q * twist.inverse()).to_scaled_axis();
    [2.0 * twist.x.atan2(twist.w), swing.y, swing.z].map(f64::to_degrees)
}

/// Directions of a joint, as they come in [`angles`].
const WAYS: [&str; 3] = ["rotX", "rotY", "rotZ"];

/// Joints of a file, as OpenUSD reads them.
fn joints_of(file: &Path) -> Vec<Value> {
    let joints = openusd::ask(&serde_json::json!({ "ask": "joints", "file": file })).unwrap();
    joints.as_array().unwrap().clone()
}

#[test]
fn limits_of_stages_are_kept_when_they_fall_on_a_floor() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-limits");
    for (name, file, floor) in with_physics(folder.path()) {
        let joints = joints_of(&file);
        let document = open(&file);
        let scene = document.scene();
        let rate = scene.frames_per_second;
        let mut setup = physics(&document);
        setup.bake.frames = Some([0.0, (10.0 * rate).round()]);
        setup.world.floor = Some(floor);
        // What was simulated, and not what few keys make of it.
        setup.bake.keys = BakedKeys::EveryFrame;
        let outcome = simulate(scene, &setup, "physics", false, &mut |_| true).unwrap();
        let clip = sinew_core::scene::Clip { name: String::new(), channels: outcome.baked.channels.clone() };
        let mut pose = Pose::new(scene, Some(&clip));
        let (mut worst, mut moved, mut checked) = (0.0_f64, 0.0_f64, 0);
        let mut place = String::new();
        for frame in 0..outcome.motion.frames() {
            pose.evaluate(frame as f64 / rate);
            for joint in &joints {
                let angles = angles(&pose, scene, &document, joint);
                for (angle, way) in angles.iter().zip(WAYS) {
                    let Some(ends) = joint["limits"][way].as_array() else { continue };
                    let [low, high] = [0, 1].map(|k| ends[k].as_f64().unwrap());
                    let over = if low > high { angle.abs() } else { (low - angle).max(angle - high) };
                    moved = moved.max(angle.abs());
                    checked += 1;
                    if over > worst {
                        worst = over;
                        place = format!(
                            "{} {way} at frame {frame}: {angle:.3}, limits {low} {high}",
                            joint["name"]
                        );
                    }
                }
            }
        }
        println!(
            "  {name}: {checked} angles, up to {moved:.0} degrees; {worst:.3} degrees over at most: {place}"
        );
        assert!(moved > 20.0, "{name}: nothing bends: {moved}");
        assert!(worst < 0.1, "{name}: {place}");
    }
}

/// Turns the drives of the bars on, which in the file have neither stiffness nor a target.
fn drive_bars(joint: &str) -> String {
    format!(
        "        over \"{joint}\"\n        {{\n            float drive:angular:physics:targetPosition = 20\n            float drive:angular:physics:stiffness = 10\n            float drive:angular:physics:damping = 5\n        }}\n"
    )
}

#[test]
fn drives_of_stages_reach_their_targets() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-stage-drives");
    for (name, file, _) in with_physics(folder.path()) {
        let joints = joints_of(&file);
        let root = [("boxes_fourbar", "boxes_fourbar"), ("linkage", "Linkage")].iter().find(|r| r.0 == name);
        let is_bar = root.is_some();
        let driven = folder.path().join(format!("driven-{name}.usda"));
        let bars = ["joint_1", "joint_3"].map(drive_bars).concat();
        let bars = root
            .map(|(_, root)| format!("over \"{root}\"\n{{\n    over \"Joints\"\n    {{\n{bars}    }}\n}}\n"));
        let text =
            format!("#usda 1.0\n(\n    subLayers = [@./{name}.usda@]\n)\n{}", bars.unwrap_or_default());
        std::fs::write(&driven, text).unwrap();
        let document = open(&driven);
        let scene = document.scene();
        let mut setup = physics(&document);
        // A drive is a spring: with weight on it, it would come to rest beside its target.
        setup.world.gravity = [0.0; 3];
        setup.bake.keys = BakedKeys::EveryFrame;
        setup.bake.frames = Some([0.0, 10.0 * scene.frames_per_second]);
        // Humans begin at their targets: so they are thrown off them. Limbs of the made one in pairs, so that it does not go on
        // turning as a whole, which would pull at its drives.
        if !is_bar {
            for (i, body) in setup.bodies.iter_mut().enumerate() {
                let sign = match (name, body.node.contains("Left"), body.node.contains("Right")) {
                    ("doll", true, _) => 1.0,
                    ("doll", _, true) => -1.0,
                    ("doll", ..) => 0.0,
                    _ if i % 2 == 0 => 1.0,
                    _ => -1.0,
                };
                body.spin = Some([42.0, -56.0, 28.0].map(|v| v * sign));
            }
        }
        let outcome = simulate(scene, &setup, "physics", false, &mut |_| true).unwrap();
        let clip = sinew_core::scene::Clip { name: String::new(), channels: outcome.baked.channels };
        let mut pose = Pose::new(scene, Some(&clip));
        let target = if is_bar { 20.0 } else { 0.0 };
        let (mut thrown, mut worst, mut count) = (0.0_f64, 0.0_f64, 0);
        for frame in 0..outcome.motion.frames() {
            pose.evaluate(frame as f64 / scene.frames_per_second);
            let is_last = frame + 1 == outcome.motion.frames();
            for joint in &joints {
                let found = angles(&pose, scene, &document, joint);
                for way in joint["drives"].as_object().unwrap().keys() {
                    let off = (found[WAYS.iter().position(|w| w == way).unwrap()] - target).abs();
                    thrown = thrown.max(off);
                    if is_last {
                        (worst, count) = (worst.max(off), count + 1);
                    }
                }
            }
        }
        println!("  {name}: {count} drives, {thrown:.0} degrees off at most, after 10 s {worst:.1e}");
        assert!(count >= 2 && thrown > 1.0, "{name}: {count} drives, {thrown}");
        assert!(worst < 0.01, "{name}: off by {worst} degrees");
    }
}

/// Two boxes side by side, the second on a joint with these lines; nothing pulls at them.
fn driven(joint: &str, lines: &str, header: &str) -> String {
    format!(
        "#usda 1.0\n(\n{header}    timeCodesPerSecond = 24\n)\n\
         def PhysicsScene \"Scene\"\n{{\n    float physics:gravityMagnitude = 0\n}}\n\
         def Cube \"Base\" (\n    prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{{\n    double size = 1\n}}\n\
         def Cube \"Arm\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]\n)\n{{\n    double size = 1\n    float physics:mass = 2\n    double3 xformOp:translate = (2, 0, 0)\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n\
         def {joint} \"Joint\" (\n    prepend apiSchemas = [{lines}\n    rel physics:body0 = </Base>\n    rel physics:body1 = </Arm>\n    point3f physics:localPos0 = (1, 0, 0)\n    point3f physics:localPos1 = (-1, 0, 0)\n}}\n"
    )
}

#[test]
fn drives_reach_their_targets_whatever_the_units() {
    let folder = scratch::folder("usd-drives");
    let drive = |way: &str, target: f64, stiffness: f64, damping: f64| {
        format!(
            "\"PhysicsDriveAPI:{way}\"]\n)\n{{\n    float drive:{way}:physics:targetPosition = {target}\n    float drive:{way}:physics:stiffness = {stiffness}\n    float drive:{way}:physics:damping = {damping}\n"
        )
    };
    for (metres, up) in [(1.0, "Y"), (0.01, "Z")] {
        let header = format!("    metersPerUnit = {metres}\n    upAxis = \"{up}\"\n");
        // A stiffness per degree, and lengths in units: 40 and 20 N m per radian, 40 N/m and 20 N s/m.
        let turn = std::f64::consts::PI / 180.0 / (metres * metres);
        let hinge = drive("angular", 30.0, 40.0 * turn, 20.0 * turn);
        let slide = drive("linear", 0.5, 40.0, 20.0);
        let (hinge, slide) = (
            hinge + "    uniform token physics:axis = \"Z\"\n",
            slide + "    uniform token physics:axis = \"X\"\n",
        );
        for (joint, lines) in [("PhysicsRevoluteJoint", hinge), ("PhysicsPrismaticJoint", slide)] {
            let file = folder.path().join("driven.usda");
            std::fs::write(&file, driven(joint, &lines, &header)).unwrap();
            let document = open(&file);
            let mut setup = physics(&document);
            setup.bake.frames = Some([0.0, 480.0]);
            let outcome = simulate(document.scene(), &setup, "physics", false, &mut |_| true).unwrap();
            let clip = sinew_core::scene::Clip { name: String::new(), channels: outcome.baked.channels };
            let scene = document.scene();
            let mut pose = Pose::new(scene, Some(&clip));
            pose.evaluate(20.0);
            let place = |name: &str| pose.placement(scene.find(name).unwrap());
            let Placement { position, rotation } = place("Base").to(&place("Arm"));
            let what = format!("{joint}, {metres} m, {up} up: {position:?} {rotation:?}");
            match joint {
                "PhysicsRevoluteJoint" => {
                    let exact = DQuat::from_rotation_z(30_f64.to_radians());
                    assert!(rotation.angle_between(exact) < 1e-4, "{what}");
                }
                _ => assert!(
                    (position - DVec3::new(2.5, 0.0, 0.0) * metres).length() < 1e-4 * metres,
                    "{what}"
                ),
            }
        }
    }
}

/// Example scenes that have a set-up.
fn examples() -> Vec<PathBuf> {
    let is_setup =
        |f: &PathBuf| f.starts_with("examples/scenes") && f.to_string_lossy().ends_with(".sinew.json");
    let scene = |f: PathBuf| repository::root().join(f.to_string_lossy().replace(".sinew.json", ".gltf"));
    repository::files().into_iter().filter(is_setup).map(scene).collect()
}

/// What two compiled rigs are made of, to be compared.
fn compiled(scene: &Scene, setup: &Setup) -> String {
    let clip = choose_clip(scene, setup.clip.as_deref()).unwrap().map(|c| c.1);
    let mut setup = setup.clone();
    // Some are only put together, and say no range.
    setup.bake.frames = setup.bake.frames.or(clip.is_none().then_some([0.0, 1.0]));
    format!("{:?}", compile(scene, &setup, clip).unwrap().rig)
}

fn write_physics(scene: &Path, setup: SetupSource, output: &Path) -> Vec<String> {
    let request = PhysicsRequest {
        wish: sinew_core::setup::Wish::default(),
        scene: scene.into(),
        output: output.into(),
        setup,
        clip: None,
        dialect: PhysicsDialect::Khronos,
        read: backend::options(),
    };
    physics_file(&request).unwrap_or_else(|e| panic!("{}: {e}", scene.display())).warnings
}

/// Leaves of words only what USD allows in names.
fn plain_names(value: &mut Value) {
    match value {
        Value::String(text) => text.retain(|c| c.is_ascii_alphanumeric()),
        Value::Array(items) => items.iter_mut().for_each(plain_names),
        Value::Object(map) => map.values_mut().for_each(plain_names),
        _ => {}
    }
}

#[test]
fn set_ups_survive_usd_physics_whole() {
    let folder = scratch::folder("usd-setups");
    let mut written = Vec::new();
    for scene in examples() {
        let name = scene.file_stem().unwrap().to_string_lossy().into_owned();
        let file = folder.path().join(format!("{name}.usda"));
        write_physics(&scene, SetupSource::Beside, &file);
        let document = open(&file);
        let read = physics(&document);
        // Names that USD does not allow have changed, and the clip is called like the file.
        let source = open(&scene);
        let given = load_setup(&scene, &source, &SetupSource::Beside, None).unwrap().setup;
        let plain = |s: &Setup| {
            let mut s = s.clone();
            (s.clip, s.schema) = (None, None);
            let mut json = serde_json::to_value(&s).unwrap();
            plain_names(&mut json);
            json.to_string()
        };
        let (given, found) = (plain(&given), plain(&read));
        let same = given.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
        let from = same.saturating_sub(60);
        let around = |s: &str| s.chars().skip(from).take(160).collect::<String>();
        assert!(given == found, "{name}: {} became {}", around(&given), around(&found));
        // And once more, over what is there now: the same rig to the last bit.
        let setup = folder.path().join("setup.json");
        std::fs::write(&setup, serde_json::to_string(&read).unwrap()).unwrap();
        let again = folder.path().join(format!("{name}.again.usda"));
        write_physics(&file, SetupSource::File(setup), &again);
        let second = open(&again);
        let mut back = physics(&second);
        back.clip.clone_from(&second.scene().clips.first().map(|c| c.name.clone()));
        // As from any file: the range of the stage where the set-up has none.
        let mut read = document.adapt(read).unwrap();
        read.clip.clone_from(&back.clip);
        assert!(compiled(second.scene(), &read) == compiled(second.scene(), &back), "{name}: another rig");
        written.push(again);
    }
    if openusd::is_installed() {
        let fresh = openusd::fresh_errors(&written, None).unwrap();
        assert!(
            fresh.is_empty(),
            "{} errors, the first of them {}",
            fresh.len(),
            fresh[..fresh.len().min(5)].join("\n")
        );
    }
}

#[test]
fn the_physics_of_stages_survives_being_written_over_itself() {
    let folder = scratch::folder("usd-over-itself");
    let mut written = Vec::new();
    let mut stages: Vec<PathBuf> = with_physics(folder.path()).into_iter().map(|s| s.1).collect();
    stages.push(made::stage::write(folder.path(), "motor", &made::stage::motor()));
    if let Some(sample) = sample::file("usd/usdPhysicsJoints.usda") {
        stages.push(folder.path().join("usdPhysicsJoints.usda"));
        sinew_tests::scratch::copy(sample, &stages[stages.len() - 1]).unwrap();
    }
    for file in stages {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let given = physics(&open(&file));
        let out = folder.path().join(format!("over-{name}"));
        write_physics(&file, SetupSource::Automatic, &out);
        let second = open(&out);
        let back = physics(&second);
        let text = |s: &Setup| serde_json::to_string(s).unwrap();
        assert_eq!(text(&given), text(&back), "{name}");
        assert!(compiled(second.scene(), &given) == compiled(second.scene(), &back), "{name}: another rig");
        // What was simulated from it still is.
        let size = worst_opening(&second, &Setup { bake: given.bake.clone(), ..back });
        assert!(size < 1e-6, "{name}: open by {size:.1e}");
        written.push((file, out));
    }
    if openusd::is_installed() {
        for (file, out) in &written {
            assert_eq!(openusd::fresh_errors(&[out], Some(file)), Ok(Vec::new()));
        }
    }
}

#[test]
fn what_another_program_changed_in_the_physics_wins() {
    let folder = scratch::folder("usd-edited");
    let file = folder.path().join("two.usda");
    std::fs::write(
        &file,
        driven("PhysicsFixedJoint", "\"MaterialBindingAPI\"]\n)\n{\n", "    metersPerUnit = 1\n"),
    )
    .unwrap();
    let mut setup = physics(&open(&file));
    setup.bodies.retain(|b| b.behaviour != Behaviour::Static);
    setup.bodies.push(Body { behaviour: Behaviour::Static, shape: Shape::Mesh {}, ..Body::new("Base") });
    // No float is a tenth: the namespace has to say it.
    setup.bodies[0].mass = Some(0.1);
    setup.world.substeps = 7;
    let given = folder.path().join("given.json");
    std::fs::write(&given, serde_json::to_string(&setup).unwrap()).unwrap();
    let out = folder.path().join("out.usda");
    write_physics(&file, SetupSource::File(given), &out);
    let read = physics(&open(&out));
    assert_eq!((read.bodies[0].mass, read.world.substeps), (Some(0.1), 7));
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.contains("float physics:mass = 0.1"), "{text}");
    std::fs::write(&out, text.replace("float physics:mass = 0.1", "float physics:mass = 0.5 #")).unwrap();
    let edited = physics(&open(&out));
    assert_eq!((edited.bodies[0].mass, edited.world.substeps), (Some(0.5), 7));
}

#[test]
fn whether_what_is_joined_touches_is_read_and_written() {
    let folder = scratch::folder("usd-touching");
    let file = folder.path().join("two.usda");
    let lines = "\"MaterialBindingAPI\"]\n)\n{\n    bool physics:collisionEnabled = 1\n";
    std::fs::write(&file, driven("PhysicsFixedJoint", lines, "    metersPerUnit = 1\n")).unwrap();
    let mut setup = physics(&open(&file));
    assert!(setup.joints[0].collide);
    let (given, out) = (folder.path().join("given.json"), folder.path().join("out.usda"));
    for collide in [true, false] {
        setup.joints[0].collide = collide;
        std::fs::write(&given, serde_json::to_string(&setup).unwrap()).unwrap();
        write_physics(&file, SetupSource::File(given.clone()), &out);
        assert_eq!(physics(&open(&out)).joints[0].collide, collide);
        let said = format!("bool physics:collisionEnabled = {}", if collide { "1" } else { "0" });
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(
            text.contains(&said) || text.contains(&format!("bool physics:collisionEnabled = {collide}")),
            "{text}"
        );
    }
}

/// A stage of two boxes with what is said of them, and of joints.
fn boxes(body: &str, joints: &str, scene: &str) -> String {
    format!(
        r#"#usda 1.0
(
    metersPerUnit = 1
    endTimeCode = 9
    startTimeCode = 0
)
def PhysicsScene "Scene"
{{
{scene}
}}
def Cube "A" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
)
{{
{body}
}}
def Cube "B"
{{
}}
{joints}
"#
    )
}

#[test]
fn no_number_or_joint_that_means_nothing_is_passed_over_in_silence() {
    let folder = scratch::folder("usd-silence");
    let joint = |bodies: &str| format!("def PhysicsFixedJoint \"J\"\n{{\n{bodies}\n}}\n");
    let to = |one: &str, two: &str| {
        joint(&format!("    rel physics:body0 = <{one}>\n    rel physics:body1 = <{two}>"))
    };
    let cases = [
        (boxes("    float physics:mass = -2", "", ""), "below 0", "</A.physics:mass>"),
        (boxes("    float physics:mass = nan", "", ""), "not a number", "</A.physics:mass>"),
        (boxes("    float physics:density = -1", "", ""), "below 0", "</A.physics:density>"),
        (
            boxes("    vector3f physics:velocity = (0, nan, 0)", "", ""),
            "not a number",
            "</A.physics:velocity>",
        ),
        (
            boxes("", "", "    float physics:gravityMagnitude = nan"),
            "not a number",
            "</Scene.physics:gravityMagnitude>",
        ),
        (
            boxes("", "", "    vector3f physics:gravityDirection = (nan, 0, 0)"),
            "not a number",
            "</Scene.physics:gravityDirection>",
        ),
        (boxes("", &to("/A", "/Nobody"), ""), "does not exist", "</J>"),
        (boxes("", &to("/A", "/A"), ""), "to itself", "</J>"),
        (boxes("", &to("/B", "/Scene"), ""), "joins nothing that physics moves", "</J>"),
    ];
    for (i, (text, what, place)) in cases.iter().enumerate() {
        let file = folder.path().join(format!("{i}.usda"));
        std::fs::write(&file, text).unwrap();
        let said = open(&file).physics(None).unwrap().expect("A is a body").warnings;
        let names = |line: &String| line.contains(what) && line.contains(place);
        assert!(said.iter().any(names), "{place}: {what}: {said:?}");
    }
    // And nothing is said of what is in order: no joint's end, minus infinity for the earth's gravity.
    let text = boxes(
        "    float physics:mass = 2",
        &joint("    rel physics:body1 = </A>"),
        "    float physics:gravityMagnitude = -inf",
    );
    let file = folder.path().join("right.usda");
    std::fs::write(&file, text).unwrap();
    assert_eq!(open(&file).physics(None).unwrap().expect("A is a body").warnings, Vec::<String>::new());
}
