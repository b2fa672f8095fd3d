//! Pins: objects that are held to their keys for a time, against exact answers.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::Motion;
use sinew_core::rig::compile;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{
    Behaviour, Between, Body, Group, Keyable, Keys, Pin, Preset, Setup, Shape, from_json, to_text,
};
use sinew_core::simulate::run;

/// How quickly a pin answers, rad/s, as the documentation has it.
const RAD_PER_S: f64 = 60.0;

/// A ball of 2 kg that goes along x at 1 m/s in its keys, and that nothing but its pins holds up.
fn ball(pins: &[Pin]) -> (Scene, Setup) {
    let local = Local::Channels(Channels::default());
    let values = [DVec3::ZERO.to_array(), (DVec3::X * 4.0).to_array()].concat();
    let curve = Curve::new(Kind::Vector, 3, vec![0.0, 4.0], values, Segments::Linear).unwrap();
    let channels = vec![Channel { node: 0, property: Property::Translation, curve }];
    let scene = Scene {
        nodes: vec![Node { name: "Ball".into(), local, ..Node::default() }],
        clips: vec![Clip { name: "Keys".into(), channels }],
        frames_per_second: 24.0,
        ..Scene::default()
    };
    let mut body = Body::new("Ball");
    (body.behaviour, body.mass, body.pins) = (Behaviour::Free, Some(2.0), pins.to_vec());
    body.shape = Shape::Sphere { radius: Some(0.1) };
    let mut setup = Setup { bodies: vec![body], ..Setup::default() };
    setup.world.collisions = false;
    (scene, setup)
}

fn played(scene: &Scene, setup: &Setup) -> Motion {
    run(&compile(scene, setup, scene.clips.first()).unwrap().rig, |_, _| true).0
}

fn places(motion: &Motion) -> Vec<DVec3> {
    motion.solid(0).map(|s| s.node.position).collect()
}

#[test]
fn what_is_pinned_sags_by_its_weight_and_follows_its_keys() {
    let (scene, setup) = ball(&[Pin::new(0.0, 4.0)]);
    let at = places(&played(&scene, &setup));
    let sag = 9.81 / (RAD_PER_S * RAD_PER_S);
    for (frame, p) in at.iter().enumerate().skip(24) {
        let keyed = DVec3::new(frame as f64 / 24.0, -sag, 0.0);
        assert!((*p - keyed).length() < 1e-6, "{frame}: {p}, not {keyed}");
    }
}

#[test]
fn let_go_it_falls_as_anything_does() {
    let (scene, setup) = ball(&[Pin { over: 0.0, ..Pin::new(0.0, 1.0) }]);
    let at = places(&played(&scene, &setup));
    let sag = 9.81 / (RAD_PER_S * RAD_PER_S);
    for (frame, p) in at.iter().enumerate().skip(24) {
        let t = (frame - 24) as f64 / 24.0;
        let there = DVec3::new(1.0 + t, -sag - 0.5 * 9.81 * t * t, 0.0);
        assert!((*p - there).length() < 1e-4, "{frame}: {p}, not {there}");
    }
}

/// It takes hold over the time it is given: nothing jumps, and afterwards it is on its keys.
#[test]
fn it_takes_hold_softly() {
    let (scene, mut setup) = ball(&[Pin { over: 0.5, ..Pin::new(1.0, 4.0) }]);
    setup.world.gravity = [0.0; 3];
    setup.bodies[0].velocity = Some([0.0; 3]);
    let at = places(&played(&scene, &setup));
    // Left behind for a second, then fetched.
    assert!(at[24].length() < 1e-12, "{}", at[24]);
    assert!((at[60] - DVec3::X * 2.5).length() < 1e-3, "{}", at[60]);
    setup.bodies[0].pins[0].over = 0.0;
    let hard = places(&played(&scene, &setup));
    let jerk = |at: &[DVec3]| at.windows(3).map(|w| (w[2] - 2.0 * w[1] + w[0]).length()).fold(0.0, f64::max);
    assert!(jerk(&hard) > 1.5 * jerk(&at), "{} {}", jerk(&hard), jerk(&at));
}

/// A group that lets go lets go of its pins.
#[test]
fn without_strength_nothing_holds_on() {
    let (scene, mut setup) = ball(&[Pin::new(0.0, 4.0)]);
    let keys = vec![[0.0, 1.0], [1.0 - 1e-9, 1.0], [1.0, 0.0]];
    let strength = Keyable::Keys(Keys { keys, between: Between::Linear });
    setup.groups.push(Group { strength, ..Group::new("all", 1.0) });
    setup.bodies[0].groups.push("all".into());
    let at = places(&played(&scene, &setup));
    let fallen = at[24].y - at[48].y;
    assert!((fallen - 0.5 * 9.81).abs() < 1e-3, "{fallen} m in a second");
    setup.use_preset(Preset::Ragdoll);
    assert!(setup.bodies[0].pins.is_empty());
}

#[test]
fn pins_that_make_no_sense_are_refused_by_name() {
    for (pins, said) in [
        (vec![Pin::new(5.0, 5.0)], "pins[0]: 5 to 5 is no time"),
        (vec![Pin::new(f64::NAN, 5.0)], "is no time"),
        (vec![Pin { over: -1.0, ..Pin::new(0.0, 5.0) }], "pins[0].over: -1 must be 0 or more"),
        (vec![Pin::new(0.0, 9.0), Pin::new(8.0, 12.0)], "pins[1]: begins at 8 s, before"),
    ] {
        let (scene, setup) = ball(&pins);
        let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
        assert!(why.contains("bodies[0] \"Ball\".pins") && why.contains(said), "{why}");
    }
}

#[test]
fn pins_survive_writing_and_reading() {
    let (_, setup) = ball(&[Pin::new(0.0, 9.0), Pin { over: 0.3, ..Pin::new(9.0, 12.0) }]);
    let text = to_text(&setup);
    assert!(
        text.contains(r#""pins": [{ "from": 0, "to": 9 }, { "from": 9, "to": 12, "over": 0.3 }]"#),
        "{text}"
    );
    assert_eq!(from_json(&text).unwrap(), setup);
}
