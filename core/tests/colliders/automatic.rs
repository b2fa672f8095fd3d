//! What is in the way without a set-up.

use crate::{Stage, block};
use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Carrier, compile};
use sinew_core::scene::{Channel, Property, Skin};
use sinew_core::setup::{Behaviour, automatic};

#[test]
fn still_meshes_are_in_the_way_and_carried_ones_go_along() {
    let mut stage = Stage::empty();
    let cart = stage.node("Cart", None, DVec3::Y, Some(block(DVec3::ONE)));
    let hook = stage.node("Hook", Some(cart), DVec3::ZERO, None);
    stage.node("Lamp", Some(hook), DVec3::X * 3.0, Some(block(DVec3::ONE)));
    stage.node("Floor", None, DVec3::Y * -3.0, Some(block(DVec3::new(9.0, 1.0, 9.0))));
    let balloon = stage.node("Balloon", None, DVec3::Y * 9.0, Some(block(DVec3::ONE)));
    stage.key(cart, DVec3::X);
    stage.key(balloon, DVec3::ONE);
    let values = vec![1.0, 1.0, 1.0, 1.0, 1.1, 1.0];
    let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0], values, Segments::Linear).unwrap();
    stage.scene.clips[0].channels[1] = Channel { node: balloon, property: Property::Scale, curve };
    let setup = automatic(&stage.scene, None).unwrap();
    let bodies: Vec<(&str, Behaviour)> =
        setup.bodies.iter().map(|b| (b.node.as_str(), b.behaviour)).collect();
    assert_eq!(
        bodies,
        [
            ("Cart", Behaviour::Guided),
            ("Floor", Behaviour::Static),
            ("Balloon", Behaviour::Animated),
            ("Lamp", Behaviour::Animated)
        ]
    );
    let made = compile(&stage.scene, &setup, stage.scene.clips.first()).unwrap();
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let carriers = |name: &str| -> Vec<Carrier> {
        made.rig.colliders.all.iter().filter(|c| c.name == name).map(|c| c.carrier).collect()
    };
    assert_eq!(carriers("Cart"), [Carrier::Solid(0)]);
    assert_eq!(carriers("Floor"), [Carrier::World]);
    assert_eq!(carriers("Lamp"), [Carrier::Solid(0)]);
    assert!(carriers("Balloon").len() > 1, "it is blown up");
}

#[test]
fn skeletons_are_bodies_on_joints_that_pass_through_what_they_are_near() {
    let mut stage = Stage::empty();
    let hip = stage.node("Hip", None, DVec3::ZERO, Some(block(DVec3::ONE)));
    let leg = stage.node("Leg", Some(hip), DVec3::X, None);
    stage.node("Boot", Some(leg), DVec3::X, Some(block(DVec3::ONE)));
    stage.node("Wall", None, DVec3::Y * -30.0, Some(block(DVec3::ONE)));
    stage.key(hip, DVec3::Y);
    stage.scene.skins.push(Skin { joints: vec![hip, leg], ..Skin::default() });
    let setup = automatic(&stage.scene, None).unwrap();
    let names: Vec<&str> = setup.bodies.iter().map(|b| b.node.as_str()).collect();
    assert_eq!(names, ["Hip", "Leg", "Wall"], "a mesh on a bone is a part of it");
    assert_eq!(setup.joints.len(), 1);
    assert_eq!(setup.joints[0].between, ["Hip", "Leg"].map(String::from));
    assert_eq!(setup.world.floor, None, "the scene shows what there is to stand on");
    let made = compile(&stage.scene, &setup, stage.scene.clips.first()).unwrap();
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let of = |name: &str| made.rig.colliders.all.iter().position(|c| c.name == name).unwrap();
    assert!(!made.rig.colliders.may_touch(of("Hip"), of("Leg")));
    assert!(made.rig.colliders.may_touch(of("Leg"), of("Wall")));
}
