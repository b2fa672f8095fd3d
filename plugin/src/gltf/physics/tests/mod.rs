//! Each mapping on a document as small as it can be.

mod contact;
mod joint;
mod round_trip;
mod write;

use super::*;
use crate::gltf::ReadOptions;
use glam::{DMat3, DVec3};
use serde_json::json;
use sinew_core::setup::{Body, Shape};

fn document(json: &Value) -> Document {
    let text = serde_json::to_vec(json).unwrap();
    Document::from_bytes(&text, "made.gltf", None, &ReadOptions::default()).unwrap()
}

fn physics(extensions: Value, nodes: Value) -> Physics {
    let json = json!({ "asset": { "version": "2.0" }, "extensions": extensions, "nodes": nodes });
    document(&json).physics(None).unwrap().expect("there is physics")
}

/// The body of a dynamic node with one collider on itself.
fn shaped(dialect: &str, shape: Value) -> Body {
    let (extension, shapes) = match dialect {
        "OMI" => {
            (json!({ OMI_BODY: { "motion": { "type": "dynamic" }, "collider": { "shape": 0 } } }), OMI_SHAPE)
        }
        _ => (json!({ KHR_BODY: { "motion": {}, "collider": { "geometry": { "shape": 0 } } } }), KHR_SHAPE),
    };
    let nodes = json!([{ "name": "Thing", "extensions": extension }]);
    physics(json!({ shapes: { "shapes": [shape] } }), nodes).setup.bodies.remove(0)
}

#[test]
fn a_file_without_moving_bodies_has_no_physics() {
    let body = |motion: Value| json!([{ "extensions": { OMI_BODY: motion } }]);
    for nodes in [
        json!([{ "name": "Plain" }]),
        body(json!({ "motion": { "type": "static" } })),
        body(json!({ "motion": 7 })),
        body(json!([])),
    ] {
        let json = json!({ "asset": { "version": "2.0" }, "nodes": nodes });
        assert_eq!(document(&json).physics(None), Ok(None), "{nodes}");
    }
}

#[test]
fn bodies_have_their_masses_and_velocities() {
    let half = 0.5_f64.sqrt();
    let found = physics(
        json!({ OMI_GRAVITY: { "gravity": 1.62 } }),
        json!([
            { "name": "Omi", "extensions": { OMI_BODY: { "motion": { "type": "dynamic",
                "linearVelocity": [1, 2, 3] } } } },
            { "name": "Khronos", "rotation": [0, 0, half, half], "extensions": { KHR_BODY: { "motion": {
                "mass": 4, "linearVelocity": [1, 0, 0], "angularVelocity": [0, 1, 0], "centerOfMass": [0, 0.5, 0],
                "inertiaDiagonal": [2, 3, 4], "gravityFactor": 0.5 } } } },
            { "name": "Lift", "extensions": { OMI_BODY: { "motion": { "type": "kinematic" } } } }
        ]),
    );
    let bodies = &found.setup.bodies;
    assert_eq!(bodies.len(), 2);
    assert_eq!((bodies[0].mass, bodies[0].velocity), (Some(1.0), Some([1.0, 2.0, 3.0])));
    assert_eq!(bodies[0].behaviour, Behaviour::Free);
    assert_eq!(bodies[1].mass, Some(4.0));
    assert_eq!(bodies[1].inertia, Some([2.0, 3.0, 4.0]));
    let near =
        |v: Option<[f64; 3]>, to: [f64; 3]| (DVec3::from_array(v.unwrap()) - DVec3::from_array(to)).length();
    assert!(near(bodies[1].center, [0.0, 0.5, 0.0]) < 1e-6);
    assert!(
        near(bodies[1].velocity, [0.0, 1.0, 0.0]) < 1e-6 && near(bodies[1].spin, [-1.0, 0.0, 0.0]) < 1e-6
    );
    assert_eq!(found.setup.world.gravity, [0.0, -1.62, 0.0]);
    assert_eq!(found.setup.bake.frames, Some([0.0, 120.0]), "five seconds without keys");
    assert_eq!(
        found.warnings,
        ["physics of node \"Khronos\": gravityFactor is left out: gravity is the same for all"]
    );
}

#[test]
fn heights_mean_what_each_extension_says() {
    let capsule = |radius: f64, length: f64| Shape::Capsule { radius: Some(radius), length: Some(length) };
    for (dialect, shape, wanted) in [
        ("OMI", json!({ "type": "capsule", "capsule": { "radius": 0.25, "height": 2 } }), capsule(0.25, 1.5)),
        ("OMI", json!({ "type": "capsule", "radius": 0.25, "height": 2 }), capsule(0.25, 1.5)),
        (
            "OMI",
            json!({ "type": "capsule", "capsule": { "radiusTop": 0.25, "radiusBottom": 0.25, "height": 2 } }),
            capsule(0.25, 2.0),
        ),
        ("OMI", json!({ "type": "capsule" }), capsule(0.5, 1.0)),
        (
            "KHR",
            json!({ "type": "capsule", "capsule": { "radiusTop": 0.1, "radiusBottom": 0.3, "height": 2 } }),
            capsule(0.2, 2.0),
        ),
        (
            "KHR",
            json!({ "type": "cylinder", "cylinder": { "radiusTop": 1, "radiusBottom": 1, "height": 3 } }),
            Shape::Cylinder { radius: Some(1.0), length: Some(3.0) },
        ),
        ("KHR", json!({ "type": "sphere", "sphere": {} }), Shape::Sphere { radius: Some(0.5) }),
        (
            "OMI",
            json!({ "type": "box", "box": { "size": [1, 2, 3] } }),
            Shape::Box { size: Some([1.0, 2.0, 3.0]) },
        ),
        ("OMI", json!({ "type": "box", "box": { "size": [1, -2, 3] } }), Shape::Auto {}),
        ("KHR", json!({ "type": "plane" }), Shape::Auto {}),
    ] {
        assert_eq!(shaped(dialect, shape.clone()).shape, wanted, "{dialect} {shape}");
    }
}

#[test]
fn colliders_below_a_body_are_its_shape() {
    let half = 0.5_f64.sqrt();
    let shapes = json!([{ "type": "box", "box": { "size": [1, 2, 3] } }, { "type": "sphere" }]);
    let with = |children: Value, more: Vec<Value>| {
        let body = json!({ "name": "Body", "children": children, "scale": [2, 2, 2],
            "extensions": { OMI_BODY: { "motion": { "type": "dynamic", "mass": 6 } } } });
        let nodes: Vec<Value> = std::iter::once(body).chain(more).collect();
        let json = json!({ "asset": { "version": "2.0" }, "extensions": { OMI_SHAPE: { "shapes": shapes } }, "nodes": nodes });
        let document = document(&json);
        let setup = document.physics(None).unwrap().unwrap().setup;
        let rig = write::rig(&document, &setup);
        (setup.bodies[0].shape.clone(), rig)
    };
    let collider = |shape: usize, at: [f64; 3], turn: [f64; 4]| json!({ "translation": at, "rotation": turn, "extensions": { OMI_BODY: { "collider": { "shape": shape } } } });
    // A quarter turn swaps edges; scale and place count.
    let (one, rig) = with(json!([1]), vec![collider(0, [0.0, 1.0, 0.0], [0.0, 0.0, half, half])]);
    let Shape::Compound { parts } = one else { panic!("{one:?}") };
    let Shape::Box { size: Some(size) } = parts[0].shape else { panic!("{parts:?}") };
    assert!((DVec3::from_array(size) - DVec3::new(4.0, 2.0, 6.0)).length() < 1e-5, "{size:?}");
    assert_eq!((parts[0].at, parts[0].turn_deg), ([0.0, 2.0, 0.0], [0.0; 3]));
    assert!((rig.solids[0].offset.position - DVec3::Y * 2.0).length() < 1e-12);
    assert_eq!(rig.colliders.all.len(), 1);
    // Two balls of radius 1 at +-3 along x: each 3 kg, 2/5 m r^2 and m d^2.
    let none = [0.0, 0.0, 0.0, 1.0];
    let (_, rig) =
        with(json!([1, 2]), vec![collider(1, [1.5, 0.0, 0.0], none), collider(1, [-1.5, 0.0, 0.0], none)]);
    let moments = rig.solids[0].inertia;
    let ball = 2.0 * 0.4 * 3.0;
    assert!((moments - DVec3::new(ball, ball + 54.0, ball + 54.0)).length() < 1e-9, "{moments}");
    let at: Vec<DVec3> = rig.colliders.all.iter().map(|c| c.place.position).collect();
    assert_eq!(at, [DVec3::X * 3.0, DVec3::X * -3.0]);
    // A box that is turned askew keeps its turn.
    let turn = glam::DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -0.8, 0.4);
    let (_, rig) = with(json!([1]), vec![collider(0, [0.0; 3], turn.to_array())]);
    let c = &rig.colliders.all[0];
    let is = rig.solids[0].offset.rotation * c.place.rotation;
    assert!(is.angle_between(turn) < 1e-6, "{is} {turn}");
}

#[test]
fn each_kind_of_thing_left_out_is_said_once() {
    let collider = json!({ KHR_BODY: { "collider": { "geometry": { "shape": 0 }, "physicsMaterial": 0 } } });
    let found = physics(
        json!({ KHR_SHAPE: { "shapes": [{ "type": "box" }] },
            KHR_BODY: { "physicsMaterials": [{ "frictionCombine": "minimum" }] } }),
        json!([
            { "name": "Ball", "extensions": { KHR_BODY: { "motion": {}, "joint": { "joint": 9, "connectedNode": 99 } } } },
            { "name": "Floor", "extensions": collider }, { "name": "Wall", "extensions": collider },
            { "name": "Zone", "extensions": { KHR_BODY: { "trigger": { "geometry": { "shape": 0 } } } } }
        ]),
    );
    assert_eq!(
        found.warnings,
        [
            "physics of node \"Zone\": triggers are left out",
            "physics of node \"Floor\" and 1 more: combine modes are left out: of two that touch, frictions have their mean, and the larger restitution counts",
            "physics of node \"Ball\": a joint that does not say what it joins is left out",
        ]
    );
}

#[test]
fn what_holds_still_is_in_the_way() {
    for (family, shapes, geometry) in [
        (KHR_BODY, KHR_SHAPE, json!({ "geometry": { "shape": 0 } })),
        (OMI_BODY, OMI_SHAPE, json!({ "shape": 0 })),
    ] {
        let dynamic = if family == OMI_BODY { json!({ "type": "dynamic" }) } else { json!({}) };
        let kinematic =
            if family == OMI_BODY { json!({ "type": "kinematic" }) } else { json!({ "isKinematic": true }) };
        let with = |more: Value| {
            let mut collider = geometry.clone();
            more.as_object().into_iter().flatten().for_each(|(k, v)| collider[k] = v.clone());
            collider
        };
        let found = physics(
            json!({ shapes: { "shapes": [{ "type": "box", "box": { "size": [1, 2, 3] } }] },
                family: {
                    "physicsMaterials": [{ "staticFriction": 0.9, "dynamicFriction": 0.7, "restitution": 0.25 }],
                    "collisionFilters": [
                        { "collisionSystems": ["ground"] },
                        { "collisionSystems": ["props"], "collideWithSystems": ["ground", "nobody"] },
                        { "notCollideWithSystems": ["props"] }, { "collideWithSystems": [] }] } }),
            json!([
                { "name": "Prop", "extensions": { family: { "motion": dynamic, "collider": with(json!({ "collisionFilter": 1 })) } } },
                { "name": "Floor", "scale": [2, 2, 2], "extensions": { family: {
                    "collider": with(json!({ "physicsMaterial": 0, "collisionFilter": 0 })) } } },
                { "name": "Lift", "children": [3], "extensions": { family: { "motion": kinematic } } },
                { "name": "Rail", "translation": [1, 0, 0], "extensions": { family: { "collider": with(json!({ "collisionFilter": 2 })) } } },
                { "name": "Ghost", "extensions": { family: { "collider": with(json!({ "collisionFilter": 3 })) } } }
            ]),
        );
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        let [prop, floor, rail, ghost] = &found.setup.bodies[..] else { panic!("{:?}", found.setup.bodies) };
        assert_eq!(
            (prop.contact.layers.join(" "), prop.contact.touches.clone()),
            ("props".into(), Some(vec!["ground".into()]))
        );
        assert_eq!(
            (floor.behaviour, &floor.shape),
            (Behaviour::Static, &Shape::Box { size: Some([2.0, 4.0, 6.0]) })
        );
        let c = &floor.contact;
        assert_eq!((c.friction, c.grip, c.bounce), (Some(0.7), Some(0.9), Some(0.25)));
        assert_eq!((rail.node.as_str(), rail.behaviour), ("Rail", Behaviour::Static));
        assert_eq!(rail.contact.touches, Some(vec!["ground".into()]));
        assert_eq!(ghost.contact.collide, Some(false));
    }
}

#[test]
fn a_body_that_the_clip_moves_is_guided() {
    let data = "data:application/octet-stream;base64,AAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAA=";
    let json = json!({
        "asset": { "version": "2.0" },
        "nodes": [{ "name": "Moved", "extensions": { KHR_BODY: { "motion": {} } } },
            { "name": "Loose", "extensions": { KHR_BODY: { "motion": {} } } }],
        "buffers": [{ "byteLength": 32, "uri": data }],
        "bufferViews": [{ "buffer": 0, "byteLength": 32 }],
        "accessors": [{ "bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1] },
            { "bufferView": 0, "byteOffset": 8, "componentType": 5126, "count": 2, "type": "VEC3" }],
        "animations": [{ "name": "Go", "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 0, "output": 1 }] }]
    });
    let found = document(&json).physics(None).unwrap().unwrap().setup;
    let behaviours: Vec<Behaviour> = found.bodies.iter().map(|b| b.behaviour).collect();
    assert_eq!(behaviours, [Behaviour::Guided, Behaviour::Free]);
    assert_eq!((found.clip.as_deref(), found.bake.frames), (Some("Go"), None));
    assert!(document(&json).physics(Some("Gone")).is_err());
}
