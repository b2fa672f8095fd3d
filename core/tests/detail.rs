//! Less detail, keys that are followed more or less closely, and parts that fade back to their keys one by one.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::{Motion, Sample};
use sinew_core::rig::compile;
use sinew_core::rotation;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{
    Between, Body, Group, HardKey, Joint, JointKind, KeyStrength, Keyable, Keys, Parts, Preset, Setup, Shape,
    Space, from_json, to_text,
};
use sinew_core::simulate::run;

/// A chain of bars that hang on each other, lighter and lighter, all keyed to swing.
fn chain(bars: usize) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Swing".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    for i in 0..bars {
        let name = format!("Bar {i}");
        let translation = if i == 0 { DVec3::ZERO } else { DVec3::X * 0.3 };
        let local = Local::Channels(Channels { translation, ..Channels::default() });
        let parent = i.checked_sub(1);
        scene.nodes.push(Node { name: name.clone(), parent, local, ..Node::default() });
        let turns = [0.0, 0.8, -0.8, 0.0].map(|a| rotation::exp(DVec3::Z * a));
        let values = turns.iter().flat_map(|q: &DQuat| q.to_array()).collect();
        let curve =
            Curve::new(Kind::Rotation, 4, vec![0.0, 0.5, 1.5, 2.0], values, Segments::Linear).unwrap();
        clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
        let mut body = Body::new(name.clone());
        body.shape = Shape::Box { size: Some([0.3, 0.05, 0.05]) };
        body.mass = Some(1.0 / (1.0 + i as f64));
        if let Some(parent) = parent {
            (body.guide.space, body.guide.follow) = (Space::Parent, Parts::Orientation);
            setup.joints.push(Joint::new(JointKind::Universal, [&format!("Bar {parent}"), &name]));
        }
        setup.bodies.push(body);
    }
    scene.clips.push(clip);
    (scene, setup)
}

fn played(scene: &Scene, setup: &Setup) -> Motion {
    run(&compile(scene, setup, scene.clips.first()).unwrap().rig, |_, _| true).0
}

#[test]
fn less_detail_leaves_the_lightest_as_keyed_on_what_carries_them() {
    let (scene, mut setup) = chain(5);
    let mass = |setup: &Setup| {
        let rig = compile(&scene, setup, scene.clips.first()).unwrap().rig;
        (rig.solids.len(), rig.solids.iter().map(|s| s.mass).sum::<f64>(), rig.joints.len())
    };
    let (all, weight, joints) = mass(&setup);
    for (detail, left) in [(1.0, 5), (0.75, 4), (0.5, 3), (0.3, 3), (0.0, 1)] {
        setup.world.detail = detail;
        let (solids, now, held) = mass(&setup);
        assert_eq!(solids, left, "detail {detail}");
        assert!((now - weight).abs() < 1e-12, "what is left weighs {now}, not {weight}");
        assert_eq!(joints - held, 2 * (all - left), "detail {detail}");
    }
    setup.world.detail = 0.5;
    let motion = played(&scene, &setup);
    assert_eq!(motion.solids(), 3);
    setup.world.detail = 1.5;
    let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
    assert!(why.contains("world.detail: 1.5 is out of range"), "{why}");
}

/// A ball that is far too weak for its keys.
fn ball(keys: Vec<KeyStrength>) -> (Scene, Setup) {
    let places = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::new(3.0, 0.0, 0.0)];
    let values = places.iter().flat_map(|p| p.to_array()).collect();
    let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0, 1.5, 2.0], values, Segments::Linear).unwrap();
    let scene = Scene {
        nodes: vec![Node { name: "Ball".into(), ..Node::default() }],
        clips: vec![Clip {
            name: "Keys".into(),
            channels: vec![Channel { node: 0, property: Property::Translation, curve }],
        }],
        frames_per_second: 24.0,
        ..Scene::default()
    };
    let mut body = Body::new("Ball");
    body.shape = Shape::Sphere { radius: Some(0.1) };
    (body.actuator.preset, body.guide.keys) = (Preset::Limp, keys);
    (scene, Setup { bodies: vec![body], ..Setup::default() })
}

#[test]
fn a_hard_key_is_reached_and_the_others_are_not() {
    let off = |keys: Vec<KeyStrength>, frame: usize| {
        let (scene, setup) = ball(keys);
        let motion = played(&scene, &setup);
        let s = motion.solid(0).nth(frame).unwrap();
        (s.node.position - s.keys.position).length()
    };
    let hard = |key: usize| KeyStrength { hard: true, ..KeyStrength::new(key, 1.0) };
    for (key, frame) in [(1, 24), (2, 36)] {
        let (soft, reached) = (off(Vec::new(), frame), off(vec![hard(key)], frame));
        println!("key {key}: {soft:.4} m off, {reached:.6} when it is hard");
        assert!(soft > 0.05 && reached < 1e-12, "key {key}: {soft} {reached}");
    }
    // Only there.
    assert!((off(vec![hard(2)], 12) - off(Vec::new(), 12)).abs() < 1e-12);
    // A weak key is followed less.
    let weak = KeyStrength::new(2, 0.05);
    assert!(
        off(vec![weak], 36) > 1.2 * off(Vec::new(), 36),
        "{} {}",
        off(vec![weak], 36),
        off(Vec::new(), 36)
    );
}

/// A whole pose by its frame: everything is on its keys there, arrives as fast as they move, and is its own self again half a
/// second later; on the way nothing pops.
#[test]
fn a_hard_pose_is_hit_on_its_frame_without_a_pop() {
    let (scene, mut setup) = ball(Vec::new());
    setup.world.frames_per_second = Some(96.0);
    let free = played(&scene, &setup);
    setup.hard_keys = vec![HardKey { frame: 120.0, of: Vec::new() }];
    let hard = played(&scene, &setup);
    let at = |k: usize| hard.solid(0).nth(k).unwrap();
    let keyed = at(120);
    assert!((keyed.node.position - keyed.keys.position).length() < 1e-12);
    let velocity = |of: fn(&Sample) -> DVec3| 48.0 * (of(at(121)) - of(at(119)));
    let off = (velocity(|s| s.node.position) - velocity(|s| s.keys.position)).length();
    assert!(off < 0.01, "{off} m/s");
    assert_eq!(at(90).node, free.solid(0).nth(90).unwrap().node, "physics until then");
    let jump = |m: &Motion| {
        let all: Vec<DVec3> = m.solid(0).map(|s| s.node.position).collect();
        let second = all.windows(3).map(|w| (w[2] - 2.0 * w[1] + w[0]).length());
        second.skip(92).take(56).fold(0.0, f64::max) * 96.0 * 96.0
    };
    // 0.3 m in a quarter of a second need 28 m/s^2 along that curve.
    println!("accelerations {} and {} m/s^2", jump(&hard), jump(&free));
    assert!(jump(&hard) < 60.0, "{}", jump(&hard));
    setup.hard_keys[0].of = vec!["Bell".into()];
    let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
    assert!(why.contains("hard_keys[0].of") && why.contains("did you mean \"Ball\"?"), "{why}");
}

#[test]
fn keys_that_make_no_sense_are_refused_by_name() {
    for (keys, said) in [
        (vec![KeyStrength::new(9, 1.0)], "there is no key 9"),
        (vec![KeyStrength::new(1, -1.0)], "guide.keys[0].strength: -1 must be 0 or more"),
        (vec![KeyStrength::new(1, 1.0), KeyStrength::new(1, 2.0)], "key 1 is there twice"),
    ] {
        let (scene, setup) = ball(keys);
        let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
        assert!(why.contains("guide.keys") && why.contains(said), "{why}");
    }
    let hard = KeyStrength { hard: true, ..KeyStrength::new(1, 1.0) };
    let mut setup = ball(vec![hard, KeyStrength::new(2, 0.25)]).1;
    setup.world.detail = 0.5;
    let text = to_text(&setup);
    assert!(
        text.contains(r#""keys": [{ "key": 1, "hard": true }, { "key": 2, "strength": 0.25 }]"#),
        "{text}"
    );
    assert_eq!(from_json(&text).unwrap(), setup);
}

/// Each group fades by its own keys: at every frame a limb is, on what carries it, as far between keys and physics as its
/// group says then.
#[test]
fn parts_fade_back_to_their_keys_one_by_one() {
    let (scene, mut setup) = chain(3);
    setup.use_preset(Preset::Limp);
    let whole = played(&scene, &setup);
    let fades = |name: &str, from: f64| Group {
        blend: Keyable::Keys(Keys { keys: vec![[from, 1.0], [from + 0.5, 0.0]], between: Between::Linear }),
        ..Group::new(name, 1.0)
    };
    setup.groups = vec![fades("first", 0.5), fades("second", 1.25)];
    setup.bodies[1].groups.push("first".into());
    setup.bodies[2].groups.push("second".into());
    let faded = played(&scene, &setup);
    for frame in 0..faded.frames() {
        let time = faded.times()[frame];
        for (bar, from) in [(1, 0.5), (2, 1.25)] {
            let on = |of: &[sinew_core::motion::Sample], keys: bool| {
                let at = |i: usize| if keys { of[i].keys.rotation } else { of[i].node.rotation };
                at(bar - 1).conjugate() * at(bar)
            };
            let share = (1.0 - (time - from) / 0.5).clamp(0.0, 1.0);
            let wanted = rotation::slerp(on(whole.frame(frame), true), on(whole.frame(frame), false), share);
            let off = rotation::distance(on(faded.frame(frame), false), wanted);
            assert!(off < 1e-9, "bar {bar} at {time} s: {off} rad from {share} of physics");
        }
    }
}
