//! Set-ups written into documents and read back.

use super::*;
use glam::DQuat;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::Placement;
use sinew_core::setup::{At, Body, Field, Give, Joint, JointKind, Keyable, Keys};

pub(super) const DIALECTS: [Dialect; 2] = [Dialect::Khronos, Dialect::Omi];

/// Three nodes to simulate, one that holds still, each with a mark below it; one in a scaled parent.
pub(super) fn scene() -> Value {
    let turned = |x: f64, y: f64, z: f64| DQuat::from_euler(glam::EulerRot::XYZ, x, y, z).to_array();
    json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0, 3, 7] }],
        "nodes": [
            { "name": "Root", "children": [1, 2], "scale": [2, 2, 2], "rotation": turned(0.3, 0.0, -0.5) },
            { "name": "A", "children": [4], "translation": [1, 2, 3], "rotation": turned(0.0, 1.0, 0.2) },
            { "name": "B", "children": [5], "translation": [-1, 0, 0.5], "scale": [0.5, 1.5, 1] },
            { "name": "C", "children": [6], "translation": [0, 4, 0], "rotation": turned(0.1, 0.2, 0.3) },
            { "name": "A mark", "translation": [0.5, 0, 0], "rotation": turned(1.0, 0.0, 0.0) },
            { "name": "B mark", "rotation": turned(0.0, 0.0, 2.0) },
            { "name": "C mark", "translation": [0, -1, 0] },
            { "name": "D", "translation": [3, 0, 0] }
        ]
    })
}

/// Writes a set-up into a document; the document, what it is read as, and what was said.
pub(super) fn written(json: &Value, setup: &Setup, dialect: Dialect) -> (Document, Setup, Vec<String>) {
    let mut changed = document(json);
    let warnings = changed.set_physics(setup, dialect).unwrap();
    let again = document(changed.json());
    let names = |d: &Document| d.scene().nodes.iter().map(|n| (n.name.clone(), n.parent)).collect::<Vec<_>>();
    assert_eq!(names(&changed), names(&again), "the scene is that of the JSON");
    let read = again.physics(setup.clip.as_deref()).unwrap().expect("there is physics").setup;
    (again, read, warnings)
}

pub(super) fn rig(document: &Document, setup: &Setup) -> Rig {
    let mut alone = setup.clone();
    alone.joints.clear();
    alone.bake.frames = Some([0.0, 1.0]);
    compile(document.scene(), &alone, None).unwrap().rig
}

/// What a joint means, in scene units, whatever words it has.
#[derive(Debug)]
pub(super) struct Meaning {
    pub kind: JointKind,
    /// Simulated bodies by name; all that holds still is the same.
    pub ends: [String; 2],
    pub numbers: Vec<(String, f64)>,
}

pub(super) fn meaning(document: &Document, setup: &Setup, joint: &Joint) -> Meaning {
    let scene = document.scene();
    let mut pose = Pose::new(scene, None);
    pose.evaluate(0.0);
    let of = |name: &str| match name {
        "world" => Placement::IDENTITY,
        name => pose.placement(scene.find(name).unwrap()),
    };
    let [a, b] = &joint.between;
    let at = match &joint.at {
        None => [b, b],
        Some(At::Node(n)) => [n, n],
        Some(At::Nodes([n, m])) => [n, m],
    };
    let mut frames = at.map(|n| of(n));
    if let Some(axis) = joint.axis {
        let turn = DQuat::from_rotation_arc(DVec3::X, DVec3::from_array(axis).normalize());
        frames.iter_mut().for_each(|f| f.rotation = turn);
    }
    if let Some(own) = joint.frames {
        for i in 0..2 {
            let rotation = DQuat::from_array(own[i].rotation).normalize();
            frames[i] = of(&joint.between[i]).then(&Placement { position: own[i].position.into(), rotation });
        }
    }
    let mut numbers = Vec::new();
    let mut put = |name: &str, of: &[f64]| {
        numbers.extend(of.iter().enumerate().map(|(i, v)| (format!("{name} {i}"), *v)));
    };
    frames.iter().for_each(|f| put("position", &f.position.to_array()));
    let has_fields = joint.turn_deg.is_some() || joint.swing_deg.is_some();
    let free = [JointKind::Universal, JointKind::Distance, JointKind::Rope];
    if has_fields || !free.contains(&joint.kind) {
        let apart = DMat3::from_quat(frames[1].rotation * frames[0].rotation.inverse());
        put("apart", &apart.to_cols_array());
        if joint.kind != JointKind::Fixed {
            put("main axis", &(frames[0].rotation * DVec3::X).to_array());
        }
        let cone = joint.swing_deg.as_ref().and_then(|s| s.cone);
        if joint.kind == JointKind::InsideBox || cone.is_some_and(|c| c[0] != c[1]) {
            put("cross axis", &(frames[0].rotation * DVec3::Y).to_array());
        }
    }
    if matches!(joint.kind, JointKind::Distance | JointKind::Rope) {
        let apart = (frames[1].position - frames[0].position).length();
        put("length", &[joint.length.unwrap_or(apart)]);
    }
    put("size", &joint.size.unwrap_or_default());
    let mpu = setup.world.metres_per_unit;
    let fields = [
        ("slide", serde_json::to_value(&joint.slide).unwrap()),
        ("turn", serde_json::to_value(&joint.turn_deg).unwrap()),
        ("swing", serde_json::to_value(&joint.swing_deg).unwrap()),
        ("give", serde_json::to_value(&joint.give).unwrap()),
    ];
    for (field, value) in &fields {
        for (key, value) in value.as_object().into_iter().flatten() {
            let is_turn = matches!(*field, "turn" | "swing") || key.starts_with("turn_");
            let unit = match (is_turn, key.as_str()) {
                (false, "strength") => 1.0 / mpu,
                (true, "limits" | "rest" | "cone") | (false, _) => 1.0,
                (true, _) => 1.0 / (mpu * mpu),
            };
            let list = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            let list: Vec<f64> = list.iter().map(|v| v.as_f64().unwrap() * unit).collect();
            put(&format!("{field}.{key}"), &list);
        }
    }
    let is_simulated = |n: &String| setup.bodies.iter().any(|b| b.node == *n);
    let end = |n: &String| if is_simulated(n) { n.clone() } else { "still".into() };
    Meaning { kind: joint.kind, ends: [end(a), end(b)], numbers }
}

#[test]
fn nothing_but_physics_changes() {
    let mut json = scene();
    json["extras"] = json!({ "keep": [1, 2] });
    json["nodes"][1]["extensions"] =
        json!({ "EXT_unknown": {}, KHR_BODY: { "trigger": { "geometry": { "shape": 0 } } } });
    json["nodes"][6]["extensions"] =
        json!({ KHR_BODY: { "collider": { "geometry": { "shape": 0 }, "physicsMaterial": 0 } } });
    json["extensions"] =
        json!({ KHR_SHAPE: { "shapes": [{ "type": "sphere" }] }, KHR_BODY: { "physicsMaterials": [{}] } });
    json["extensionsUsed"] = json!(["EXT_unknown", KHR_BODY, KHR_SHAPE]);
    let free = Body { behaviour: Behaviour::Free, mass: Some(2.0), ..Body::new("A") };
    let setup = Setup {
        bodies: vec![free],
        joints: vec![Joint::new(JointKind::Pin, ["C", "A"])],
        ..Setup::default()
    };
    let (after, _, warnings) = written(&json, &setup, Dialect::Khronos);
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut after = after.json().clone();
    let added = &after["nodes"][8];
    assert_eq!((&added["name"], &after["nodes"][3]["children"]), (&json!("C - A"), &json!([6, 8])));
    assert_eq!(added["extensions"][KHR_BODY]["joint"], json!({ "joint": 0, "connectedNode": 1 }));
    let body = after["nodes"][1]["extensions"][KHR_BODY].as_object_mut().unwrap();
    assert_eq!(body.remove("motion"), Some(json!({ "mass": 2.0 })));
    assert_eq!(
        body.remove("collider"),
        Some(json!({ "geometry": { "shape": 1 }, "collisionFilter": 0 })),
        "the ball that it is taken for, which touches nothing"
    );
    // Taken away again, the file is as before.
    after["nodes"].as_array_mut().unwrap().pop();
    after["nodes"][3]["children"] = json!([6]);
    after["nodes"][3].as_object_mut().unwrap().remove("extensions");
    after["extensions"][KHR_BODY].as_object_mut().unwrap().remove("physicsJoints");
    after["extensions"][KHR_BODY].as_object_mut().unwrap().remove("collisionFilters");
    after["extensions"][KHR_SHAPE]["shapes"].as_array_mut().unwrap().pop();
    assert_eq!(after, json);
}

#[test]
fn one_family_becomes_the_other() {
    let half = 0.5_f64.sqrt();
    let json = json!({
        "asset": { "version": "2.0" },
        "extensionsUsed": [OMI_BODY, OMI_SHAPE, OMI_JOINT],
        "extensionsRequired": [OMI_BODY],
        "extensions": {
            OMI_SHAPE: { "shapes": [{ "type": "capsule", "capsule": { "radius": 0.25, "height": 2 } }] },
            OMI_JOINT: { "physicsJoints": [{ "limits": [{ "linearAxes": [0, 1, 2], "min": 0, "max": 0 }] }] }
        },
        "nodes": [
            { "name": "Link", "children": [1, 2], "extensions": { OMI_BODY: { "motion": { "type": "dynamic", "mass": 3 } } } },
            { "name": "Form", "rotation": [0, 0, half, half], "extensions": { OMI_BODY: { "collider": { "shape": 0 } } } },
            { "name": "Pin", "extensions": { OMI_JOINT: { "joint": 0, "connectedNode": 4 } } },
            { "name": "Floor", "children": [4], "extensions": { OMI_BODY: { "motion": { "type": "static" }, "collider": { "shape": 0 } } } },
            { "name": "Hook" }
        ]
    });
    let before = document(&json).physics(None).unwrap().unwrap().setup;
    let (khronos, read, warnings) = written(&json, &before, Dialect::Khronos);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(read, before);
    let text = khronos.json().to_string();
    assert!(!text.contains("OMI_") && !text.contains("extensionsRequired"), "{text}");
    let floor = &khronos.json()["nodes"][3]["extensions"][KHR_BODY];
    assert_eq!(
        (&floor["motion"]["isKinematic"], &floor["collider"]["geometry"]["shape"]),
        (&json!(true), &json!(0))
    );
    let (omi, read, _) = written(khronos.json(), &before, Dialect::Omi);
    assert_eq!(read, before);
    assert!(!omi.json().to_string().contains("KHR_"));
}

#[test]
fn colliders_of_what_holds_still_become_those_of_the_other_family() {
    let mut json = keyed();
    let shape = |i: usize| json!({ OMI_BODY: { "collider": { "shape": i, "physicsMaterial": 0 } } });
    json["nodes"].as_array_mut().unwrap().extend([
        json!({ "name": "Ground", "extensions": shape(0) }),
        json!({ "name": "Horn", "extensions": shape(1) }),
        json!({ "name": "Zone", "extensions": { OMI_BODY: { "trigger": { "shape": 1 } } } }),
    ]);
    let horn = json!({ "radiusTop": 0.1, "radiusBottom": 0.3, "height": 1 });
    json["extensions"] = json!({ OMI_SHAPE: { "shapes": [
        { "type": "trimesh", "trimesh": { "mesh": 0 } }, { "type": "cylinder", "cylinder": horn }] } });
    json["extensionsUsed"] = json!([OMI_BODY, OMI_SHAPE]);
    let free = Body { behaviour: Behaviour::Free, ..Body::new("Load") };
    let setup = Setup { bodies: vec![free], ..Setup::default() };
    let (after, _, warnings) = written(&json, &setup, Dialect::Khronos);
    let collider = |node: usize| &after.json()["nodes"][node]["extensions"][KHR_BODY]["collider"]["geometry"];
    assert_eq!(*collider(2), json!({ "node": 1, "convexHull": false }), "a floor may be hollow");
    assert_eq!(*collider(1), json!({ "node": 1, "convexHull": true }), "what moves is solid");
    assert_eq!(*collider(3), json!({ "shape": 0 }));
    // Triggers are nothing to us, and stay.
    assert_eq!(after.json()["nodes"][4], json["nodes"][4]);
    assert_eq!(after.json()["extensions"][OMI_SHAPE], json["extensions"][OMI_SHAPE]);
    assert_eq!(warnings, ["physics of node \"Horn\": tapered shapes are written with their mean radius",]);
}

#[test]
fn what_cannot_be_written_is_named() {
    let keys = Keyable::Keys(Keys { keys: vec![[0.0, 5.0], [1.0, 6.0]], between: Default::default() });
    let mut setup = Setup { bodies: ["A", "D"].map(Body::new).to_vec(), ..Setup::default() };
    setup.bodies[1].behaviour = Behaviour::Free;
    setup.bodies[1].simulate = sinew_core::setup::Parts::Position;
    setup.world.gravity = [0.0, -1.6, 0.0];
    setup.world.gravity_scale = 0.5.into();
    setup.world.fields = vec![Field::Drag { rate: 1.0.into(), spin_rate: None, region: None }];
    let give =
        Give { stiffness: Some(keys.clone()), damping: None, turn_stiffness: None, turn_damping: None };
    let named = |name: &str, kind| Joint { name: Some(name.into()), ..Joint::new(kind, ["A", "D"]) };
    let point = [0.0; 3];
    setup.joints = vec![
        Joint { break_force: Some(9.0), grab: true, give: Some(give), ..named("weak", JointKind::Pin) },
        Joint {
            pitch: Some(0.1),
            break_torque: Some(2.0),
            on: Some(keys),
            ..named("thread", JointKind::Screw)
        },
        Joint { points: vec![point, [1.0; 3], [2.0; 3]], ..named("rail", JointKind::Curve) },
        Joint { on: Some(0.0.into()), ..named("off", JointKind::Pin) },
        Joint { name: Some("idle".into()), ..Joint::new(JointKind::Pin, ["C", "world"]) },
        Joint { points: vec![point, [0.0, 2.0, 0.0]], ..named("slot", JointKind::Segment) },
    ];
    let (after, read, warnings) = written(&scene(), &setup, Dialect::Khronos);
    for says in [
        "the world: wind and drag",
        "the world: `gravity_scale`",
        "the world: gravity is left out",
        "body \"A\": a guided body that the clip does not move",
        "body \"D\": `simulate`",
        "joint \"weak\": `break_force`",
        "joint \"weak\": `grab`",
        "joint \"weak\": keys over time",
        "joint \"thread\": `pitch`",
        "joint \"thread\": `break_torque`",
        "joint \"thread\": keys of `on`",
        "joint \"rail\": joints on curves",
        "joint \"off\": it is never on",
        "joint \"idle\": it joins nothing",
    ] {
        assert!(
            warnings.iter().any(|w| w.starts_with(&format!("physics of {says}"))),
            "{says}: {warnings:#?}"
        );
    }
    assert_eq!(warnings.len(), 14, "{warnings:#?}");
    let kinds: Vec<JointKind> = read.joints.iter().map(|j| j.kind).collect();
    assert_eq!(kinds, [JointKind::Pin, JointKind::Cylindrical, JointKind::BallSocket]);
    assert_eq!(read.joints[0].give.as_ref().unwrap().stiffness, Some(5.0.into()));
    // A segment is a line with two ends.
    let slot = &read.joints[2];
    assert_eq!(slot.slide.as_ref().unwrap().limits, Some([0.0, 2.0]));
    let slot = meaning(&after, &read, slot);
    let main = slot.numbers.iter().filter(|n| n.0.starts_with("main axis")).map(|n| n.1).collect::<Vec<_>>();
    let a = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.0, -0.5)
        * DQuat::from_euler(glam::EulerRot::XYZ, 0.0, 1.0, 0.2);
    assert!((DVec3::from_slice(&main) - a * DVec3::Y).length() < 1e-9);

    let mut unknown = Setup::default();
    unknown.bodies.push(Body::new("Nobody"));
    let mut there = document(&scene());
    let error = there.set_physics(&unknown, Dialect::Omi).unwrap_err().to_string();
    assert!(error.contains("bodies[0].node") && error.contains("Nobody"), "{error}");
    assert_eq!(*there.json(), scene());
}

/// A body with a mesh that is 2 x 4 x 2 about a middle at 0 1 0, and a hand that the clip moves.
fn keyed() -> Value {
    let corners = [[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, 3.0, -1.0], [1.0, 3.0, 1.0_f32]];
    let times = [0.0, 1.0_f32];
    let places = [[0.0; 3], [0.0, 1.0, 0.0_f32]];
    let numbers = [corners.concat(), times.to_vec(), places.concat()].concat();
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes);
    json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "name": "Hand" }, { "name": "Load", "mesh": 0, "rotation": [0, 0, 1, 0] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        "buffers": [{ "byteLength": bytes.len(), "uri": format!("data:application/octet-stream;base64,{data}") }],
        "bufferViews": [{ "buffer": 0, "byteLength": bytes.len() }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-1, -1, -1], "max": [1, 3, 1] },
            { "bufferView": 0, "byteOffset": 48, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1] },
            { "bufferView": 0, "byteOffset": 56, "componentType": 5126, "count": 2, "type": "VEC3" }],
        "animations": [{ "name": "Lift", "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 1, "output": 2 }] }]
    })
}

#[test]
fn a_hand_is_kinematic_and_what_it_carries_dynamic() {
    let free = Body { behaviour: Behaviour::Free, ..Body::new("Load") };
    let setup = Setup {
        bodies: vec![free],
        joints: vec![Joint::new(JointKind::Pin, ["Hand", "Load"])],
        ..Setup::default()
    };
    for (dialect, hand) in [
        (Dialect::Khronos, json!({ KHR_BODY: { "motion": { "isKinematic": true } } })),
        (Dialect::Omi, json!({ OMI_BODY: { "motion": { "type": "kinematic" } } })),
    ] {
        let (after, read, warnings) = written(&keyed(), &setup, dialect);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(after.json()["nodes"][0]["extensions"], hand);
        assert_eq!(read.joints[0].between, ["Hand", "Load"]);
        assert_eq!(
            (read.bodies[0].behaviour, read.bodies[0].shape.clone()),
            (Behaviour::Free, Shape::Auto {})
        );
    }
    // What is itself keyed is read as guided, which a free body is not.
    let mut hand = setup.clone();
    hand.bodies.push(Body { mass: Some(1.0), actuator: Default::default(), ..Body::new("Hand") });
    let (_, read, warnings) = written(&keyed(), &hand, Dialect::Omi);
    assert_eq!((read.bodies[0].behaviour, warnings.len()), (Behaviour::Guided, 0), "{warnings:?}");
    hand.bodies[1].behaviour = Behaviour::Free;
    hand.bodies[0].actuator.damping = Some(1.0.into());
    let (_, _, warnings) = written(&keyed(), &hand, Dialect::Omi);
    assert!(warnings.len() == 1 && warnings[0].contains("read as guided"), "{warnings:?}");
}

#[test]
fn sizes_that_are_fitted_to_a_mesh_are_written_where_it_is() {
    for shape in [
        Shape::Box { size: None },
        Shape::Sphere { radius: None },
        Shape::Capsule { radius: None, length: None },
        Shape::Cylinder { radius: None, length: None },
        Shape::Auto {},
    ] {
        let free = Body { behaviour: Behaviour::Free, shape: shape.clone(), ..Body::new("Load") };
        let setup = Setup { bodies: vec![free], ..Setup::default() };
        let was = rig(&document(&keyed()), &setup);
        for dialect in DIALECTS {
            let (after, read, warnings) = written(&keyed(), &setup, dialect);
            assert!(warnings.is_empty(), "{warnings:?}");
            let is = rig(&after, &read);
            let near = |a: DVec3, b: DVec3| (a - b).length() < 1e-9 * (1.0 + a.length());
            let (was, is) = (&was.solids[0], &is.solids[0]);
            assert!((was.mass - is.mass).abs() < 1e-9 * was.mass, "{shape:?}: {} {}", was.mass, is.mass);
            assert!(near(was.inertia, is.inertia), "{shape:?}: {} {}", was.inertia, is.inertia);
            assert!(near(was.offset.position, is.offset.position), "{shape:?}");
        }
    }
}

#[test]
fn what_is_joined_and_touches_is_told_in_files_of_khronos() {
    let mut setup = Setup { bodies: ["A", "D"].map(Body::new).to_vec(), ..Setup::default() };
    setup.bodies.iter_mut().for_each(|b| b.behaviour = Behaviour::Free);
    setup.joints = vec![Joint { collide: true, ..Joint::new(JointKind::Pin, ["A", "D"]) }];
    for (dialect, is_said) in [(Dialect::Khronos, true), (Dialect::Omi, false)] {
        let (_, read, warnings) = written(&scene(), &setup, dialect);
        assert_eq!(read.joints[0].collide, is_said, "{dialect:?}");
        let noted = warnings.iter().any(|w| w.contains("`collide` is left out"));
        assert_eq!(noted, !is_said, "{warnings:#?}");
    }
}
