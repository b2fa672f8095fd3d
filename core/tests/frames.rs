//! Steps that have a length of their own: frames only look at the motion, and it is the same at every rate.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::motion::{Motion, Strike};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{Behaviour, Body, Joint, JointFrame, JointKind, Setup, Shape};
use sinew_core::simulate::{Session, run};
use std::sync::Arc;

const STEPS: f64 = 120.0;
const SECONDS: f64 = 2.0;

/// A chain and a ball that fall onto a floor.
fn rig(frames_per_second: f64) -> Rig {
    let mut scene = Scene { frames_per_second, ..Scene::default() };
    let mut setup = Setup::default();
    setup.world.steps_per_second = Some(STEPS);
    setup.bake.frames = Some([0.0, SECONDS * frames_per_second]);
    let mut add = |name: String, at: DVec3, behaviour: Behaviour, shape: Shape| {
        let local = Local::Channels(Channels { translation: at, ..Channels::default() });
        scene.nodes.push(Node { name: name.clone(), local, ..Node::default() });
        setup.bodies.push(Body { behaviour, shape, ..Body::new(name) });
    };
    add("Floor".into(), DVec3::ZERO, Behaviour::Static, Shape::Plane {});
    for i in 0..4 {
        let at = DVec3::new(0.3 * f64::from(i), 0.6 + 0.05 * f64::from(i), 0.0);
        add(format!("Link{i}"), at, Behaviour::Free, Shape::Box { size: Some([0.26, 0.06, 0.06]) });
    }
    add("Ball".into(), DVec3::new(0.4, 1.2, 0.02), Behaviour::Free, Shape::Sphere { radius: Some(0.1) });
    for i in 1..4 {
        let frame = |x: f64| JointFrame { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        let mut joint = Joint::new(JointKind::Universal, [&format!("Link{}", i - 1), &format!("Link{i}")]);
        joint.frames = Some([frame(0.15), frame(-0.15)]);
        setup.joints.push(joint);
    }
    compile(&scene, &setup, None).unwrap().rig
}

fn places(motion: &Motion, frame: usize) -> Vec<Placement> {
    motion.frame(frame).iter().map(|s| s.node).collect()
}

#[test]
fn every_frame_rate_looks_at_the_same_motion() {
    let finest = run(&rig(600.0), |_, _| true).0;
    let strikes = |motion: &Motion| -> Vec<Strike> { motion.strikes().to_vec() };
    assert!(strikes(&finest).len() > 3, "something happens");
    for rate in [24.0, 25.0, 30.0, 60.0, 120.0] {
        let motion = run(&rig(rate), |_, _| true).0;
        let every = (600.0 / rate) as usize;
        for frame in 0..(SECONDS * rate) as usize {
            assert_eq!(places(&motion, frame), places(&finest, frame * every), "frame {frame} at {rate}");
        }
        assert_eq!(strikes(&motion), strikes(&finest), "strikes at {rate}");
    }
}

#[test]
fn going_to_a_frame_between_steps_is_playing_to_it() {
    let rig = Arc::new(rig(25.0));
    let mut played = Session::new(rig.clone());
    (0..33).for_each(|_| played.step_frame());
    let mut sought = Session::new(rig.clone());
    sought.seek(rig.range.time(50));
    sought.seek(rig.range.time(33));
    assert_eq!(played.state(), sought.state());
    played.step_frame();
    sought.step_frame();
    assert_eq!(played.state(), sought.state());
}
