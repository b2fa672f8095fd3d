//! Keyed settings, groups, presets, live changes and jumps in time.

use super::*;
use sinew_core::rig::Setting;
use sinew_core::setup::{Between, Group, Keys, Preset};
use sinew_core::simulate::{Session, State, Workspace, step};
use std::sync::Arc;

fn still() -> Scene {
    ball(&[(0.0, DVec3::ZERO), (4.0, DVec3::ZERO)])
}

fn keyed(keys: &[[f64; 2]]) -> Keyable {
    Keyable::Keys(Keys { keys: keys.to_vec(), between: Between::Linear })
}

#[test]
fn a_keyed_setting_is_what_its_curve_says() {
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].actuator.alpha = Some(keyed(&[[0.0, 0.1], [2.0, 0.5]]));
    let rig = rig(&still(), &s);
    let k = |t| rig.drive(0, t).stiffness * (1.0f64 / 24.0).powi(2) / 2.0;
    assert!((k(0.0) - 0.1).abs() < 1e-12 && (k(1.0) - 0.3).abs() < 1e-12 && (k(9.0) - 0.5).abs() < 1e-12);
}

#[test]
fn strength_keyed_to_zero_lets_go() {
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.gravity = [0.0, -10.0, 0.0];
    s.bodies[0].actuator.alpha =
        Some(Keyable::Keys(Keys { keys: vec![[0.0, 0.1], [1.0, 0.0]], between: Between::Step }));
    let rig = rig(&still(), &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    while state.time < 1.0 - 1e-9 {
        step(&rig, &mut state, &mut work, 1.0 / 16.0);
    }
    let (y, v) = (state.solids[0].position.y, state.solids[0].velocity.y);
    step(&rig, &mut state, &mut work, 0.5);
    assert!((state.solids[0].position.y - (y + v * 0.5 - 1.25)).abs() < 1e-9, "it falls freely");
}

#[test]
fn groups_multiply_their_members() {
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].actuator.max_force = Some(Limit::Absolute(8.0.into()));
    let group = |name: &str, strength: f64, blend: f64| Group {
        name: name.into(),
        strength: strength.into(),
        damping: 1.0.into(),
        compensation: 1.0.into(),
        blend: blend.into(),
    };
    s.groups = vec![group("arms", 0.5, 1.0), group("left", 0.5, 0.3)];
    s.bodies[0].groups = vec!["arms".into(), "left".into()];
    let rig = rig(&still(), &s);
    let d = rig.drive(0, 0.0);
    assert!((d.stiffness - 2.0 * 0.025 * 576.0).abs() < 1e-9);
    assert_eq!((d.max_force, rig.blend(0, 0.0)), (2.0, 0.3));
    // B stays the animator's: the damping follows the stiffness.
    assert!((d.damping / (2.0 * d.stiffness.sqrt()) - 1.0).abs() < 1e-12);
}

#[test]
fn unknown_groups_and_nodes_are_named_with_a_proposal() {
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.groups = vec![];
    s.bodies[0].groups = vec!["arms".into()];
    assert!(compile(&still(), &s, None).is_err());
    s.bodies[0].groups.clear();
    s.bodies[0].node = "Bal".into();
    let e = compile(&still(), &s, still().clips.first()).unwrap_err().to_string();
    assert!(e.contains("did you mean \"Ball\"?"), "{e}");
}

#[test]
fn presets_settle_in_the_order_of_their_names() {
    let settle = |preset: Preset| {
        let mut s = setup(Actuator { preset, ..Actuator::default() }, Timing::Timed, 10.0);
        s.bodies[0].actuator.compensation = Some(0.0.into());
        let rig = rig(&still(), &s);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        state.solids[0].position = DVec3::X;
        let mut last_out = 0.0;
        while state.time < 4.0 {
            step(&rig, &mut state, &mut work, 1.0 / 240.0);
            if state.solids[0].position.length() > 0.05 {
                last_out = state.time;
            }
        }
        last_out
    };
    let times: Vec<f64> = Preset::ALL.into_iter().map(settle).collect();
    assert!(times[0] < 0.15 && times[0] < times[1] && times[1] < times[2], "{times:?}");
}

#[test]
fn jumping_to_a_frame_gives_the_same_bits_as_playing_to_it() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X), (2.0, DVec3::Y), (8.0, DVec3::Z)]);
    let mut s = setup(paper(0.2, 0.6, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.frames_per_second = Some(24.0);
    s.world.substeps = 3;
    for uneven in [false, true] {
        s.world.uneven_substeps = uneven;
        let rig = Arc::new(rig(&scene, &s));
        let mut played = Session::new(rig.clone());
        let mut states = vec![played.state().clone()];
        for frame in 1..=190 {
            played.step_frame();
            assert_eq!(played.time(), rig.range.time(frame));
            states.push(played.state().clone());
        }
        let mut jumped = Session::new(rig);
        for frame in [150_usize, 3, 77, 190, 0, 12, 149] {
            jumped.seek(frame as f64 / 24.0);
            assert_eq!(*jumped.state(), states[frame], "frame {frame}");
        }
        jumped.seek(50.4 / 24.0);
        assert!((jumped.time() - 50.4 / 24.0).abs() < 1e-12);
    }
}

#[test]
fn a_live_change_acts_at_once_and_on_the_past_after_a_jump() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X)]);
    let mut soft = setup(paper(0.01, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    soft.world.frames_per_second = Some(24.0);
    let mut session = Session::new(Arc::new(rig(&scene, &soft)));
    session.seek(1.0);
    session.set(0, Setting::Alpha, 0.5);
    session.seek(1.0);
    soft.bodies[0].actuator.alpha = Some(0.5.into());
    let mut fresh = Session::new(Arc::new(rig(&scene, &soft)));
    fresh.seek(1.0);
    assert_eq!(session.state(), fresh.state());
}

#[test]
fn numbers_out_of_range_are_refused_with_their_place() {
    for (edit, place) in [
        (Box::new(|b: &mut Body| b.actuator.alpha = Some((-1.0).into())) as Box<dyn Fn(&mut Body)>, "alpha"),
        (Box::new(|b: &mut Body| b.actuator.blend = Some(1.5.into())), "blend"),
        (Box::new(|b: &mut Body| b.actuator.relaxation_time = Some(0.0.into())), "relaxation_time"),
        (Box::new(|b: &mut Body| b.mass = Some(0.0)), "mass"),
        (Box::new(|b: &mut Body| b.inertia = Some([1.0, 1.0, 9.0])), "inertia"),
        (Box::new(|b: &mut Body| b.guide.base_distance = Some(f64::NAN.into())), "base_distance"),
        (Box::new(|b: &mut Body| b.guide.catch_up = Some(0.5)), "catch_up"),
        (Box::new(|b: &mut Body| b.shape = Shape::Sphere { radius: Some(-1.0) }), "shape"),
    ] {
        let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
        edit(&mut s.bodies[0]);
        let e = compile(&still(), &s, still().clips.first()).unwrap_err().to_string();
        assert!(e.contains("bodies[0] \"Ball\"") && e.contains(place), "{e}");
    }
}

#[test]
fn a_group_without_strength_lets_go_whatever_the_limit() {
    for limit in [Limit::Unlimited, Limit::Weights(8.0.into())] {
        let mut s = setup(Actuator::default(), Timing::Timed, 10.0);
        s.world.gravity = [0.0, -10.0, 0.0];
        s.bodies[0].actuator.max_force = Some(limit);
        s.bodies[0].groups = vec!["arms".into()];
        let keys = Keyable::Keys(Keys { keys: vec![[0.0, 1.0], [1.0, 0.0]], between: Between::Step });
        s.groups = vec![Group { strength: keys, ..Group::new("arms", 1.0) }];
        let rig = rig(&still(), &s);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        while state.time < 1.0 - 1e-9 {
            step(&rig, &mut state, &mut work, 1.0 / 16.0);
        }
        assert!(state.solids[0].position.length() < 1e-9, "held until then");
        step(&rig, &mut state, &mut work, 0.5);
        assert!((state.solids[0].position.y + 1.25).abs() < 1e-9, "{}", state.solids[0].position.y);
    }
}

#[test]
fn a_clip_that_ends_between_frames_is_baked_to_its_end() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.01, DVec3::X)]);
    let mut s = setup(paper(0.2, 0.6, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.frames_per_second = Some(24.0);
    let rig = Arc::new(rig(&scene, &s));
    let (motion, _) = sinew_core::simulate::run(&rig, |_, _| true);
    assert_eq!(motion.times().len(), 26);
    assert!((motion.times()[25] - 1.01).abs() < 1e-12);
    let mut session = Session::new(rig);
    session.seek(1.01);
    assert_eq!(session.sample(0), motion.frame(25)[0], "a session has the job's bits there, too");
}
