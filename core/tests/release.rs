//! Bodies that follow their keys until physics takes over.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Joint, JointKind, Release, Setup, Shape};
use sinew_core::simulate::{End, run};

/// Nodes with keys at 0 s and 4 s, or one place, and a set-up with a body of a kilogram for each.
fn stage(things: &[(DVec3, DVec3, Behaviour, Option<Release>)]) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.substeps = 4;
    setup.bake.frames = Some([0.0, 72.0]);
    for (i, (from, to, behaviour, release)) in things.iter().enumerate() {
        let local = Local::Channels(Channels { translation: *from, ..Channels::default() });
        scene.nodes.push(Node { name: format!("T{i}"), local, ..Node::default() });
        let values = [from.to_array(), to.to_array()].concat();
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 4.0], values, Segments::Linear).unwrap();
        clip.channels.push(Channel { node: i, property: Property::Translation, curve });
        let mut body = Body::new(format!("T{i}"));
        (body.behaviour, body.release, body.mass) = (*behaviour, *release, Some(1.0));
        body.shape = Shape::Sphere { radius: Some(0.1) };
        body.contact.friction = Some(0.0);
        setup.bodies.push(body);
    }
    scene.clips.push(clip);
    (scene, setup)
}

fn rig(scene: &Scene, setup: &Setup) -> Rig {
    compile(scene, setup, scene.clips.first()).unwrap().rig
}

const ALONG: DVec3 = DVec3::new(8.0, 0.0, 0.0);

#[test]
fn what_is_released_in_time_flies_on_as_its_keys_moved() {
    for inherit in [1.0, 0.5, 0.0] {
        let release = Release { frame: Some(24.0), inherit, ..Release::default() };
        let (scene, setup) = stage(&[(DVec3::ZERO, ALONG, Behaviour::Free, Some(release))]);
        let rig = rig(&scene, &setup);
        let (motion, end) = run(&rig, |_, _| true);
        assert_eq!(end, End::Done);
        for (frame, s) in motion.solid(0).enumerate() {
            let t = (frame as f64 / 24.0 - 1.0).max(0.0);
            let x = 2.0 * (frame as f64 / 24.0).min(1.0) + 2.0 * inherit * t;
            let there = DVec3::new(x, -0.5 * 9.81 * t * t, 0.0);
            assert!((s.node.position - there).length() < 1e-9, "{frame}: {} {there}", s.node.position);
        }
    }
}

/// A ball flies at one that stands on its keys: the two part as two free balls do, and only then.
#[test]
fn what_is_touched_wakes_and_takes_its_share_of_the_blow() {
    let release = Release { touched: true, ..Release::default() };
    let still = DVec3::new(1.0, 0.0, 0.0);
    let (scene, mut setup) =
        stage(&[(DVec3::ZERO, ALONG, Behaviour::Free, None), (still, still, Behaviour::Free, Some(release))]);
    setup.world.gravity = [0.0; 3];
    setup.bodies.iter_mut().for_each(|b| b.contact.bounce = Some(1.0));
    let (motion, _) = run(&rig(&scene, &setup), |_, _| true);
    let strike = motion.strikes()[0];
    assert!((strike.time - 0.4).abs() < 1e-9, "{}", strike.time);
    for frame in 0..motion.frames() {
        let [a, b] = [0, 1].map(|i| &motion.frame(frame)[i]);
        let (t, after) = (motion.times()[frame], motion.times()[frame] > 0.4);
        let want = if after { [0.8, 1.0 + 2.0 * (t - 0.4)] } else { [2.0 * t, 1.0] };
        assert!((a.node.position.x - want[0]).abs() < 1e-9, "{frame} {}", a.node.position);
        assert!((b.node.position.x - want[1]).abs() < 1e-9, "{frame} {}", b.node.position);
    }
}

/// What comes too slowly is only pushed away, as by anything that is keyed.
#[test]
fn a_touch_that_is_too_slow_wakes_nothing() {
    let release = Release { touched: true, speed: 2.5, ..Release::default() };
    let still = DVec3::new(1.0, 0.0, 0.0);
    let (scene, mut setup) =
        stage(&[(DVec3::ZERO, ALONG, Behaviour::Free, None), (still, still, Behaviour::Free, Some(release))]);
    setup.world.gravity = [0.0; 3];
    let (motion, _) = run(&rig(&scene, &setup), |_, _| true);
    let last = motion.frames() - 1;
    assert_eq!(motion.frame(last)[1].node.position, still);
    assert!((motion.frame(last)[0].node.position.x - 0.8).abs() < 1e-4);
}

/// It goes back without a jump, and is on its keys again.
#[test]
fn what_was_released_goes_back_to_its_keys() {
    let release = Release { frame: Some(24.0), back_after: Some(0.5), back_over: 0.5, ..Release::default() };
    let (scene, setup) = stage(&[(DVec3::ZERO, ALONG, Behaviour::Free, Some(release))]);
    let (motion, _) = run(&rig(&scene, &setup), |_, _| true);
    let mut last = DVec3::ZERO;
    let mut lowest = 0.0_f64;
    for (frame, s) in motion.solid(0).enumerate() {
        assert!((s.node.position - last).length() < 0.45, "frame {frame} jumps");
        last = s.node.position;
        lowest = lowest.min(last.y);
        if !(24..=49).contains(&frame) {
            assert!((s.node.position - s.keys.position).length() < 1e-12, "frame {frame}");
        }
    }
    assert!(lowest < -1.0, "it fell: {lowest}");
}

#[test]
fn what_is_joined_is_released_together() {
    let release = Some(Release { touched: true, ..Release::default() });
    let at = |x: f64| DVec3::new(x, 0.0, 0.0);
    let (scene, mut setup) = stage(&[
        (DVec3::new(1.0, 2.0, 0.0), DVec3::new(1.0, -6.0, 0.0), Behaviour::Free, None),
        (at(1.0), at(1.0), Behaviour::Free, release),
        (at(1.5), at(1.5), Behaviour::Free, release),
    ]);
    setup.joints.push(Joint::new(JointKind::Fixed, ["T1", "T2"]));
    let (motion, _) = run(&rig(&scene, &setup), |_, _| true);
    let struck = motion.strikes()[0].time;
    for frame in 0..motion.frames() {
        let [a, b] = [1, 2].map(|i| motion.frame(frame)[i].node.position);
        if motion.times()[frame] < struck {
            assert_eq!((a, b), (at(1.0), at(1.5)));
        } else if motion.times()[frame] > struck + 0.3 {
            assert!(a.y < -0.2 && b.y < 0.0, "{a} {b}");
        }
        assert!(((a - b).length() - 0.5).abs() < 1e-5, "{frame} {a} {b}");
    }
    assert!(motion.open_joints().iter().all(|o| o.0 < 1e-6), "{:?}", motion.open_joints());
}

#[test]
fn what_makes_no_sense_is_named() {
    let wrong = [
        Release::default(),
        Release { frame: Some(f64::NAN), ..Release::default() },
        Release { touched: true, speed: -1.0, ..Release::default() },
        Release { touched: true, inherit: f64::INFINITY, ..Release::default() },
        Release { touched: true, back_after: Some(-1.0), ..Release::default() },
    ];
    for release in wrong {
        let (scene, setup) = stage(&[(DVec3::ZERO, ALONG, Behaviour::Free, Some(release))]);
        let error = compile(&scene, &setup, scene.clips.first()).unwrap_err().to_string();
        assert!(error.contains("T0") && error.contains("release"), "{error}");
    }
}
