//! What a motion tells of its contacts, against closed forms: when things strike, how hard, and what they bear.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::motion::{Motion, points, touching};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Scene};
use sinew_core::setup::{Behaviour, Body, Part, Setup, Shape};
use sinew_core::simulate::{Session, run};
use std::sync::Arc;

const G: f64 = 9.81;

/// One thing of a scene: where it is, and its body.
fn thing(scene: &mut Scene, setup: &mut Setup, name: &str, at: DVec3, behaviour: Behaviour, shape: Shape) {
    let local = Local::Channels(Channels { translation: at, ..Channels::default() });
    scene.nodes.push(Node { name: name.into(), local, ..Node::default() });
    let mut body = Body::new(name);
    (body.behaviour, body.shape) = (behaviour, shape);
    setup.bodies.push(body);
}

/// Empty ground for `frames` frames of `rate`, in units of `metres`.
fn ground(rate: f64, frames: f64, metres: f64, floor: Shape) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: rate, ..Scene::default() };
    let mut setup = Setup::default();
    setup.bake.frames = Some([0.0, frames]);
    setup.world.metres_per_unit = metres;
    let depth = match &floor {
        Shape::Box { size: Some(size) } => 0.5 * size[1],
        _ => 0.0,
    };
    thing(&mut scene, &mut setup, "Floor", DVec3::Y * -depth, Behaviour::Static, floor);
    (scene, setup)
}

/// A ball of `mass` whose lowest point is `height` metres above the floor.
fn ball(scene: &mut Scene, setup: &mut Setup, mass: f64, height: f64, bounce: f64) {
    let metres = setup.world.metres_per_unit;
    let radius = 0.1 / metres;
    let at = DVec3::new(0.5, height / metres + radius, -0.25);
    thing(scene, setup, "Ball", at, Behaviour::Free, Shape::Sphere { radius: Some(radius) });
    let body = setup.bodies.last_mut().unwrap();
    (body.mass, body.contact.bounce) = (Some(mass), Some(bounce));
}

fn bake(scene: &Scene, setup: &Setup) -> (Rig, Motion) {
    let rig = compile(scene, setup, None).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    (rig, motion)
}

#[test]
fn a_fall_ends_when_and_as_hard_as_it_must() {
    let slab = || Shape::Box { size: Some([40.0, 8.0, 40.0]) };
    for (rate, substeps, height, mass, metres, floor) in [
        (24.0, 16, 1.0, 2.0, 1.0, Shape::Plane {}),
        (60.0, 8, 2.3, 0.4, 1.0, Shape::Plane {}),
        (30.0, 16, 0.7, 5.0, 0.01, Shape::Plane {}),
        (25.0, 16, 1.37, 1.5, 1.0, slab()),
        (24.0, 1, 1.0, 2.0, 1.0, Shape::Plane {}),
        (25.0, 1, 1.37, 1.5, 1.0, slab()),
    ] {
        let (mut scene, mut setup) = ground(rate, 2.0 * rate, metres, floor);
        ball(&mut scene, &mut setup, mass, height, 0.0);
        setup.world.substeps = substeps;
        let (rig, motion) = bake(&scene, &setup);
        let said = touching(&rig, &motion);
        let first = said.strikes.first().expect("it falls onto the floor");
        let (fall, speed) = ((2.0 * height / G).sqrt(), (2.0 * G * height).sqrt());
        let what = format!("{rate} fps, {height} m: {first:?}, {fall} s, {} N s", mass * speed);
        println!("{what}; {} strikes", said.strikes.len());
        assert!((first.time - fall).abs() < 1e-3, "{what}");
        assert_eq!(first.frame, first.time * rate);
        assert_eq!((first.a.as_str(), first.b.as_str()), ("Floor", "Ball"));
        // The step of the strike also bears the weight for what is left of it, and closing speeds are those at its
        // start: with one long step per frame both may be off by what gravity does in a step.
        let off = 0.01 * speed + if substeps == 1 { G / rate } else { 0.0 };
        assert!((first.impulse_ns - mass * speed).abs() < mass * off, "{what}");
        assert!((first.speed * metres - speed).abs() < off, "{what}");
        let push = DVec3::from(first.impulse_on_b_ns);
        assert!((push - DVec3::Y * first.impulse_ns).length() < 1e-9, "up, on the ball: {what}");
        assert!((DVec3::from(first.normal) - DVec3::Y).length() < 1e-6, "{what}");
        let at = DVec3::new(0.5, 0.0, -0.25);
        assert!((DVec3::from(first.point) - at).length() < 1e-2 * rig.solids[0].radius, "{what}");
        let [body] = said.bodies.as_slice() else { panic!("{:?}", said.bodies) };
        let hardest = body.hardest.as_ref().unwrap();
        assert_eq!((body.node.as_str(), hardest.with.as_str()), ("Ball", "Floor"));
        assert_eq!((hardest.impulse_ns, hardest.time), (first.impulse_ns, first.time));
        // From its fall to the end.
        let lies = 1.0 - fall / 2.0;
        assert!((body.touching - lies).abs() < 2.0 / rate, "{} {lies}", body.touching);
        assert_eq!(body.strikes, said.strikes.len());
        assert_eq!(body.strikes, 1, "what lies there strikes no more: {:?}", said.strikes);
    }
}

#[test]
fn bounces_strike_again_ever_less() {
    let (mut scene, mut setup) = ground(48.0, 96.0, 1.0, Shape::Plane {});
    ball(&mut scene, &mut setup, 2.0, 1.0, 0.5);
    let (rig, motion) = bake(&scene, &setup);
    let said = touching(&rig, &motion).strikes;
    let (fall, speed) = ((2.0 / G).sqrt(), (2.0 * G).sqrt());
    // The n-th flight takes twice the fall times e^n, and ends with e^n of the speed.
    let (mut time, mut share) = (fall, 1.0);
    for (n, strike) in said.iter().take(4).enumerate() {
        println!("{n}: {} of {time} s, {} of {} N s", strike.time, strike.impulse_ns, 3.0 * speed * share);
        assert!((strike.time - time).abs() < 1e-3 * (n + 1) as f64, "{n}: {strike:?}, {time}");
        let impulse = 2.0 * 1.5 * speed * share;
        assert!((strike.impulse_ns - impulse).abs() < 0.01 * impulse, "{n}: {strike:?}, {impulse}");
        share *= 0.5;
        time += 2.0 * fall * share;
    }
    assert!(said.len() >= 4, "{said:?}");
    assert!(said.windows(2).all(|w| w[0].time <= w[1].time), "in the order of time");
}

#[test]
fn what_lies_is_carried_with_its_weight() {
    // A crate of 3 kg, and a ball of 2 kg beside it.
    let (mut scene, mut setup) = ground(24.0, 48.0, 1.0, Shape::Plane {});
    let shape = Shape::Box { size: Some([0.5, 0.4, 0.6]) };
    thing(&mut scene, &mut setup, "Crate", DVec3::new(-2.0, 0.2, 0.0), Behaviour::Free, shape);
    setup.bodies.last_mut().unwrap().mass = Some(3.0);
    ball(&mut scene, &mut setup, 2.0, 0.1, 0.0);
    let (rig, motion) = bake(&scene, &setup);
    let all = points(&rig, &motion);
    let last = all.last().unwrap();
    for (name, weight, least) in [("Crate", 3.0 * G, 3), ("Ball", 2.0 * G, 1)] {
        let own: Vec<_> = last.iter().filter(|p| p.b == name).collect();
        assert!(own.len() >= least && own.iter().all(|p| p.a == "Floor"), "{own:?}");
        let load: f64 = own.iter().map(|p| p.load_n).sum();
        println!("{name}: {load} of {weight} N, {:e} off", load / weight - 1.0);
        assert!((load - weight).abs() < 1e-6 * weight, "{name} weighs {weight} N and is carried with {load}");
        assert!(own.iter().all(|p| p.point[1].abs() < 1e-3 && (p.normal[1] - 1.0).abs() < 1e-9), "{own:?}");
    }
}

#[test]
fn shapes_of_one_node_say_that_node() {
    let (mut scene, mut setup) = ground(24.0, 24.0, 1.0, Shape::Plane {});
    let foot =
        |x: f64| Part { shape: Shape::Sphere { radius: Some(0.1) }, at: [x, 0.0, 0.0], turn_deg: [0.0; 3] };
    let feet = Shape::Compound { parts: vec![foot(-0.5), foot(0.5)] };
    thing(&mut scene, &mut setup, "Dumbbell", DVec3::Y * 0.5, Behaviour::Free, feet);
    let (rig, motion) = bake(&scene, &setup);
    assert_eq!(rig.colliders.all.len(), 3);
    let last = motion.contacts(motion.frames() - 1);
    assert_eq!(last.len(), 2, "{last:?}");
    assert!(last.iter().all(|c| c.nodes == [0, 1]));
    assert!((last[0].point - last[1].point).length() > 0.9);
    assert!(motion.contacts(0).is_empty());
    assert_eq!(touching(&rig, &motion).bodies.len(), 1);
}

#[test]
fn a_session_tells_at_each_frame_what_a_motion_has_there() {
    let (mut scene, mut setup) = ground(24.0, 36.0, 1.0, Shape::Plane {});
    ball(&mut scene, &mut setup, 2.0, 0.6, 0.4);
    let (rig, motion) = bake(&scene, &setup);
    let mut session = Session::new(Arc::new(rig.clone()));
    let mut strikes = Vec::new();
    for frame in 0..motion.frames() {
        if frame > 0 {
            session.step_frame();
        }
        let (rig, state) = (session.rig(), session.state());
        let now: Vec<_> = sinew_core::motion::contacts(rig, state).collect();
        assert_eq!(now, motion.contacts(frame), "frame {frame}");
        strikes.extend(sinew_core::motion::strikes(rig, state));
    }
    assert!(strikes.len() > 2);
    assert_eq!(strikes, motion.strikes());
}
