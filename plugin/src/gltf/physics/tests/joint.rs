//! Joints, their limits and drives.

use super::*;
use glam::DQuat;
use sinew_core::setup::{At, Direction, Give, Joint, JointKind, Swing};

/// The joint of these limits between a dynamic node and a static one, turned about z by a quarter.
fn joined(limits: Value) -> (Option<Joint>, Vec<String>) {
    described(json!({ "limits": limits }))
}

/// The same of a whole description.
fn described(joint: Value) -> (Option<Joint>, Vec<String>) {
    let half = 0.5_f64.sqrt();
    let found = physics(
        json!({ KHR_BODY: { "physicsJoints": [joint] } }),
        json!([
            { "name": "Door", "children": [1], "extensions": { KHR_BODY: { "motion": {} } } },
            { "name": "Hinge", "rotation": [0, 0, half, half],
              "extensions": { KHR_BODY: { "joint": { "joint": 0, "connectedNode": 2 } } } },
            { "name": "Post", "rotation": [0, 0, half, half] }
        ]),
    );
    (found.setup.joints.first().cloned(), found.warnings)
}

#[test]
fn locked_directions_make_the_nearest_joint() {
    let lock = |linear: &[usize], angular: &[usize]| {
        let mut limits = Vec::new();
        if !linear.is_empty() {
            limits.push(json!({ "linearAxes": linear, "min": 0, "max": 0 }));
        }
        if !angular.is_empty() {
            limits.push(json!({ "angularAxes": angular, "min": 0, "max": 0 }));
        }
        joined(json!(limits))
    };
    let x = DVec3::X;
    // The node is turned about z: its y axis is -x of the world, its z axis is z.
    for (linear, angular, kind, axis) in [
        (&[0, 1, 2][..], &[][..], JointKind::Universal, None),
        (&[0, 1, 2], &[0, 1, 2], JointKind::Fixed, None),
        (&[0, 1, 2], &[1, 2], JointKind::Pin, None),
        (&[0, 1, 2], &[0, 2], JointKind::Pin, Some(-x)),
        (&[0, 1, 2], &[0, 1], JointKind::Pin, Some(DVec3::Z)),
        (&[0, 2], &[0, 1, 2], JointKind::Prismatic, Some(-x)),
        (&[0, 2], &[0, 2], JointKind::Cylindrical, Some(-x)),
        (&[0, 2], &[], JointKind::BallSocket, Some(-x)),
        (&[1], &[], JointKind::SmoothContact, Some(-x)),
        (&[1], &[0, 2], JointKind::Plane, Some(-x)),
    ] {
        let (joint, warnings) = lock(linear, angular);
        let joint = joint.unwrap();
        assert_eq!(joint.kind, kind, "{linear:?} {angular:?}");
        assert_eq!(joint.between, ["Door", "Post"]);
        assert_eq!(joint.at, Some(At::Nodes(["Hinge".into(), "Post".into()])));
        match (joint.axis, axis) {
            (None, None) => {}
            (Some(a), Some(b)) => assert!((DVec3::from_array(a) - b).length() < 1e-6, "{kind:?} {a:?}"),
            other => panic!("{kind:?}: {other:?}"),
        }
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    // A rotation that is locked alone is a turn that is held, about that axis.
    let (joint, warnings) = lock(&[0, 1, 2], &[1]);
    let joint = joint.unwrap();
    assert_eq!((joint.kind, joint.axis.is_some()), (JointKind::Universal, true));
    assert_eq!(joint.turn_deg, Some(Direction { rest: Some(0.0.into()), ..Direction::default() }));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(lock(&[0, 1], &[1]).1[0].contains("nearest kind"));
    assert!(lock(&[], &[1]).0.is_none());
}

#[test]
fn distances_are_ropes_and_rods() {
    let all = [0, 1, 2];
    let (rope, _) = joined(json!([{ "linearAxes": all, "min": 0, "max": 2 }]));
    assert_eq!(rope.map(|j| (j.kind, j.length)), Some((JointKind::Rope, Some(2.0))));
    let (rod, _) = joined(json!([{ "linearAxes": all, "min": 2, "max": 2 }]));
    assert_eq!(rod.map(|j| (j.kind, j.length)), Some((JointKind::Distance, Some(2.0))));
    let (rope, _) = joined(json!([{ "linearAxes": all, "min": 0, "max": 2, "stiffness": 5 }]));
    assert_eq!(rope.unwrap().give.unwrap().stiffness, Some(5.0.into()));
    let (_, warnings) = joined(json!([{ "linearAxes": all, "min": 1, "max": 2 }]));
    assert!(warnings[0].contains("nearest kind"), "{warnings:?}");
}

#[test]
fn joints_as_they_were_before_2024_are_read() {
    let body = json!({ OMI_BODY: { "type": "rigid" } });
    let found = physics(
        json!({ OMI_JOINT: { "constraints": [{ "linearAxes": [0, 1, 2] }] } }),
        json!([
            { "name": "Pin", "extensions": { OMI_JOINT: { "constraints": [0], "nodeA": 1, "nodeB": 2 } } },
            { "name": "A", "extensions": body }, { "name": "B", "extensions": body }
        ]),
    );
    let joint = &found.setup.joints[0];
    assert_eq!((joint.kind, &joint.at), (JointKind::Universal, &Some(At::Node("Pin".into()))));
    assert_eq!(joint.between, ["A", "B"]);
}

#[test]
fn ranges_become_limits_in_degrees_and_metres() {
    let close = |a: Option<[f64; 2]>, b: [f64; 2]| {
        let a = a.unwrap();
        assert!((0..2).all(|i| (a[i] - b[i]).abs() < 1e-9), "{a:?} {b:?}");
    };
    let half = std::f64::consts::FRAC_PI_2;
    let (door, warnings) = joined(json!([
        { "linearAxes": [0, 1, 2], "min": 0, "max": 0, "stiffness": 500, "damping": 2 },
        { "angularAxes": [0, 2], "min": 0, "max": 0, "stiffness": 30 },
        { "angularAxes": [1], "min": -half, "max": half / 3.0 }
    ]));
    let door = door.unwrap();
    assert_eq!(door.kind, JointKind::Pin);
    close(door.turn_deg.unwrap().limits, [-90.0, 30.0]);
    let give = Give {
        stiffness: Some(500.0.into()),
        damping: Some(2.0.into()),
        turn_stiffness: Some(30.0.into()),
        turn_damping: None,
    };
    assert_eq!(door.give, Some(give));
    assert!(warnings.is_empty(), "{warnings:?}");

    let (slider, _) = joined(json!([
        { "linearAxes": [1, 2], "min": 0, "max": 0 },
        { "angularAxes": [0, 1, 2], "min": 0, "max": 0 },
        { "linearAxes": [0], "min": -0.5 }
    ]));
    let slider = slider.unwrap();
    assert_eq!(slider.kind, JointKind::Prismatic);
    close(slider.slide.unwrap().limits, [-0.5, 1e6]);

    let (ball, _) = joined(json!([
        { "linearAxes": [0, 1, 2], "min": 0, "max": 0 },
        { "angularAxes": [1, 2], "max": half / 2.0 },
        { "angularAxes": [0], "min": -half, "max": half }
    ]));
    let ball = ball.unwrap();
    assert_eq!((ball.kind, ball.axis), (JointKind::Universal, None));
    close(ball.swing_deg.unwrap().cone, [45.0, 45.0]);
    close(ball.turn_deg.unwrap().limits, [-90.0, 90.0]);

    let (inside, _) = joined(json!([
        { "linearAxes": [0], "min": -1, "max": 1 }, { "linearAxes": [1], "min": -2, "max": 2 },
        { "linearAxes": [2], "min": 0, "max": 6 }
    ]));
    let inside = inside.unwrap();
    assert_eq!((inside.kind, inside.size, inside.at), (JointKind::InsideBox, Some([2.0, 4.0, 6.0]), None));
    // The box is 3 m along z from the joint, in the first object's space.
    let at = DVec3::from_array(inside.frames.unwrap()[0].position);
    assert!((at - DVec3::Z * 3.0).length() < 1e-9, "{at}");
}

#[test]
fn a_hinge_that_starts_turned_has_frames() {
    let half = 0.5_f64.sqrt();
    let found = physics(
        json!({ KHR_BODY: { "physicsJoints": [{ "limits": [
            { "linearAxes": [0, 1, 2], "max": 0 }, { "angularAxes": [0, 1], "max": 0 },
            { "angularAxes": [2], "min": -1, "max": 1 }] }] } }),
        json!([
            { "name": "Door", "translation": [1, 0, 0], "extensions": { KHR_BODY: { "motion": {},
              "joint": { "joint": 0, "connectedNode": 1 } } } },
            { "name": "Post", "rotation": [0, 0, half, half], "translation": [1, 2, 3] }
        ]),
    );
    let joint = &found.setup.joints[0];
    assert_eq!((joint.kind, &joint.at, joint.axis), (JointKind::Pin, &None, None));
    // The main axis, x of the frames, is z of the nodes.
    for frame in joint.frames.unwrap() {
        assert_eq!(frame.position, [0.0; 3]);
        let axis = DQuat::from_array(frame.rotation) * DVec3::X;
        assert!((axis - DVec3::Z).length() < 1e-9, "{axis}");
    }
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn drives_are_springs() {
    let all = [0, 1, 2];
    let (hinge, warnings) = described(json!({
        "limits": [{ "linearAxes": all, "max": 0 }, { "angularAxes": [1, 2], "max": 0 }],
        "drives": [{ "type": "angular", "mode": "force", "axis": 0, "positionTarget": std::f64::consts::PI,
            "stiffness": 7, "damping": 2, "maxForce": 9 }]
    }));
    let spring = hinge.unwrap().turn_deg.unwrap();
    assert_eq!(spring.rest, Some(180.0.into()));
    assert_eq!((spring.stiffness, spring.damping), (Some(7.0.into()), Some(2.0.into())));
    assert_eq!((spring.strength, warnings.len()), (Some(9.0), 0));

    let tilt = |axis: usize| json!({ "type": "angular", "mode": "force", "axis": axis, "positionTarget": 0, "stiffness": 3 });
    let (ball, warnings) = described(json!({
        "limits": [{ "linearAxes": all, "max": 0 }], "drives": [tilt(1), tilt(2)]
    }));
    let swing = Swing { stiffness: Some(3.0.into()), ..Swing::default() };
    assert_eq!((ball.unwrap().swing_deg, warnings.len()), (Some(swing), 0));
}

#[test]
fn what_a_joint_cannot_say_is_named() {
    let drive = |key: &str, value: Value| {
        let mut drive = json!({ "type": "linear", "mode": "force", "axis": 0, "damping": 1 });
        drive[key] = value;
        let limits = json!([{ "linearAxes": [1, 2], "max": 0 }, { "angularAxes": [0, 1, 2], "max": 0 }]);
        described(json!({ "limits": limits, "drives": [drive] })).1.join("; ")
    };
    assert_eq!(drive("damping", json!(2)), "");
    for (key, value, says) in [
        ("velocityTarget", json!(2), "drives by velocity"),
        ("mode", json!("acceleration"), "by acceleration"),
        ("axis", json!(7), "no known type or axis"),
        ("axis", json!(1), "drives along what the joint holds"),
    ] {
        let said = drive(key, value);
        assert!(said.starts_with("physics of node \"Hinge\": ") && said.contains(says), "{said}");
    }
    let lock = json!({ "linearAxes": [0, 1, 2], "max": 0 });
    for (limit, says) in [
        (json!({ "angularAxes": [0], "min": -1, "max": 1, "stiffness": 4 }), "ends are hard"),
        (json!({ "angularAxes": [1, 2], "min": 1, "max": 2 }), "tilt with a least"),
        (json!({ "angularAxes": [0, 1, 2], "max": 1 }), "all rotations together"),
        (json!({ "angularAxes": [0], "min": 1, "max": -1 }), "min is above"),
    ] {
        let said = joined(json!([lock, limit])).1.join("; ");
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn settings_of_godot_are_no_newtons() {
    let joint = |extension: &str, list: &str| {
        let limit = json!({ "linearAxes": [0, 1, 2], "min": 0, "max": 0, "stiffness": 0.3, "damping": 1 });
        let at = json!({ "joint": 0, "connectedNode": 1 });
        let node = match extension {
            OMI_JOINT => json!({ OMI_BODY: { "motion": { "type": "dynamic" } }, OMI_JOINT: at }),
            _ => json!({ KHR_BODY: { "motion": {}, "joint": at } }),
        };
        let nodes = json!([{ "name": "A", "extensions": node }, { "name": "B" }]);
        let found = physics(json!({ extension: { list: [{ "limits": [limit] }] } }), nodes);
        (found.setup.joints[0].give.is_some(), found.warnings.join("; ").contains("Godot"))
    };
    assert_eq!(joint(OMI_JOINT, "physicsJoints"), (false, true));
    assert_eq!(joint(KHR_BODY, "physicsJoints"), (true, false));
}
