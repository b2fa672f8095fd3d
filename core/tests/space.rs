//! Simulating aboard something that moves, of which a share is felt: against exact answers.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::Motion;
use sinew_core::rig::compile;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{
    Behaviour, Body, Field, Joint, JointKind, Setup, Shape, Swing, Vessel, from_json, to_text,
};
use sinew_core::simulate::run;

const SECONDS: f64 = 10.0;

/// How hard the carrier accelerates along x, m/s^2.
const PUSH: f64 = 3.0;

/// A cart, whose motion `keys` give, with a ball of 1 kg hanging one metre below its node "Hook". The joint is damped.
fn cart(property: Property, curve: Curve, hook: DVec3, felt: Option<f64>) -> (Scene, Setup) {
    let node = |name: &str, parent: Option<usize>, translation: DVec3| Node {
        name: name.into(),
        parent,
        local: Local::Channels(Channels { translation, ..Channels::default() }),
        ..Node::default()
    };
    let scene = Scene {
        nodes: vec![
            node("Cart", None, DVec3::ZERO),
            node("Hook", Some(0), hook),
            node("Ball", None, hook - DVec3::Y),
        ],
        clips: vec![Clip { name: "Go".into(), channels: vec![Channel { node: 0, property, curve }] }],
        frames_per_second: 24.0,
        ..Scene::default()
    };
    let mut ball = Body::new("Ball");
    (ball.behaviour, ball.mass, ball.velocity) = (Behaviour::Free, Some(1.0), Some([0.0; 3]));
    ball.shape = Shape::Sphere { radius: Some(0.05) };
    let mut joint = Joint::new(JointKind::Universal, ["Hook", "Ball"]);
    joint.at = Some(sinew_core::setup::At::Node("Hook".into()));
    joint.swing_deg = Some(Swing { damping: Some(3.0.into()), ..Swing::default() });
    let mut setup = Setup { bodies: vec![ball], joints: vec![joint], ..Setup::default() };
    setup.world.collisions = false;
    setup.world.space = felt.map(|felt| Vessel { node: "Cart".into(), felt });
    setup.bake.frames = Some([0.0, SECONDS * 24.0]);
    (scene, setup)
}

/// Half of a t^2, as a cubic curve says it exactly.
fn pushed(felt: Option<f64>) -> (Scene, Setup) {
    let end = 0.5 * PUSH * SECONDS * SECONDS;
    let slopes = vec![0.0, 0.0, 0.0, PUSH * SECONDS, 0.0, 0.0];
    let segments = Segments::Cubic { arriving: slopes.clone(), leaving: slopes };
    let values = vec![0.0, 0.0, 0.0, end, 0.0, 0.0];
    let curve = Curve::new(Kind::Vector, 3, vec![0.0, SECONDS], values, segments).unwrap();
    cart(Property::Translation, curve, DVec3::ZERO, felt)
}

fn played(scene: &Scene, setup: &Setup) -> Motion {
    run(&compile(scene, setup, scene.clips.first()).unwrap().rig, |_, _| true).0
}

#[test]
fn a_pendulum_tilts_by_as_much_of_the_push_as_it_feels() {
    for felt in [0.0, 0.25, 0.5, 1.0] {
        let (scene, setup) = pushed(Some(felt));
        let motion = played(&scene, &setup);
        for (frame, s) in motion.solid(0).enumerate() {
            let t = motion.times()[frame];
            let seen = s.node.position - DVec3::X * (0.5 * PUSH * t * t);
            assert!((seen.length() - 1.0).abs() < 1e-4, "felt {felt}, frame {frame}: {seen}");
            if felt == 0.0 {
                assert!((seen + DVec3::Y).length() < 1e-6, "frame {frame}: {seen}");
                // Carried along: it has the cart's velocity, and none of its own.
                assert!((s.velocity - DVec3::X * (PUSH * t)).length() < 1e-2, "{frame}: {}", s.velocity);
            }
        }
        let last = motion.solid(0).last().unwrap().node.position;
        let seen = last - DVec3::X * (0.5 * PUSH * SECONDS * SECONDS);
        let tilt = (-seen.x).atan2(-seen.y);
        let wanted = (felt * PUSH / 9.81).atan();
        assert!((tilt - wanted).abs() < 1e-4, "felt {felt}: {tilt} rad, not {wanted}");
    }
}

#[test]
fn all_felt_is_the_world_to_the_bit() {
    let [with, without] = [Some(1.0), None].map(|felt| {
        let (scene, setup) = pushed(felt);
        played(&scene, &setup)
    });
    for frame in 0..with.frames() {
        assert_eq!(with.frame(frame), without.frame(frame), "frame {frame}");
    }
}

/// Two turns in ten seconds, the hook two metres off the axis: nothing flies outward that is not felt to.
#[test]
fn a_turning_carrier_throws_nothing_outward_unless_felt() {
    let spin = 2.0 * std::f64::consts::TAU / SECONDS;
    let turns = (0..=16).map(|k| DQuat::from_rotation_y(spin * SECONDS * f64::from(k) / 16.0));
    let values = turns.flat_map(|q| q.to_array()).collect();
    let times = (0..=16).map(|k| SECONDS * f64::from(k) / 16.0).collect();
    let curve = Curve::new(Kind::Rotation, 4, times, values, Segments::Linear).unwrap();
    for felt in [0.0, 0.5, 1.0] {
        let (scene, mut setup) = cart(Property::Rotation, curve.clone(), DVec3::X * 2.0, Some(felt));
        // It goes round from the start, and so does the ball.
        setup.bodies[0].velocity = Some([0.0, 0.0, -2.0 * spin]);
        setup.bodies[0].spin = Some([0.0, spin, 0.0]);
        let motion = played(&scene, &setup);
        let s = motion.solid(0).last().unwrap();
        let aboard = DQuat::from_rotation_y(-spin * SECONDS) * s.node.position;
        let out = aboard.x - 2.0;
        if felt == 0.0 {
            assert!((aboard - DVec3::new(2.0, -1.0, 0.0)).length() < 1e-6, "{aboard}");
            continue;
        }
        // The way out where weight and what is felt of the turn balance: tan = w^2 (2 + sin) / g.
        let w = felt * spin;
        let mut sin = 0.0_f64;
        for _ in 0..100 {
            sin = (w * w * (2.0 + sin) / 9.81).atan().sin();
        }
        assert!((out - sin).abs() < 2e-3, "felt {felt}: {out} out, not {sin}");
    }
}

/// A carrier that turns aside, and stays so: the wind does not turn with it.
#[test]
fn wind_blows_from_where_it_does_in_the_world() {
    let turned = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    let values = [DQuat::IDENTITY, turned].iter().flat_map(|q| q.to_array()).collect();
    let curve = Curve::new(Kind::Rotation, 4, vec![0.0, 1.0], values, Segments::Linear).unwrap();
    let leans = |felt: f64| {
        let (scene, mut setup) = cart(Property::Rotation, curve.clone(), DVec3::ZERO, Some(felt));
        setup.world.fields.push(Field::Wind {
            velocity: [20.0, 0.0, 0.0],
            strength: 1.0.into(),
            air_density: 1.2,
            region: None,
        });
        played(&scene, &setup).solid(0).last().unwrap().node.position
    };
    for felt in [0.0, 0.5, 1.0] {
        let seen = leans(felt);
        assert!(seen.x > 0.05 && seen.z.abs() < 0.02, "felt {felt}: it leans to {seen}");
    }
}

#[test]
fn a_space_that_makes_no_sense_is_refused_by_name() {
    for (space, said) in [
        (Vessel { node: "Cart".into(), felt: 1.5 }, "world.space.felt: 1.5 is out of range"),
        (Vessel { node: "Carl".into(), felt: 0.5 }, "world.space.node"),
    ] {
        let (scene, mut setup) = pushed(None);
        setup.world.space = Some(space);
        let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
        assert!(why.contains(said), "{why}");
    }
    let (scene, mut setup) = pushed(Some(0.5));
    setup.bake.looped = true;
    let why = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
    assert!(why.contains("world.space"), "{why}");
    let text = to_text(&pushed(Some(0.5)).1);
    assert_eq!(
        from_json(&text).unwrap().world.space,
        Some(Vessel { node: "Cart".into(), felt: 0.5 }),
        "{text}"
    );
}
