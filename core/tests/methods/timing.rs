//! Timed targets with their leash, preferred speeds, and guides that wait for each other.

use super::*;
use sinew_core::setup::{SpeedAtKey, Wait};
use sinew_core::simulate::{End, State, Workspace, run, step};

#[test]
fn a_timed_target_keeps_the_keys_own_times() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X), (2.0, DVec3::X * 4.0)]);
    let rig = rig(&scene, &setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 10.0));
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..48 {
        step(&rig, &mut state, &mut work, 1.0 / 24.0);
        assert!((state.targets[0].on_path.parameter - state.time.min(2.0)).abs() < 1e-9 || state.time > 2.0);
    }
}

#[test]
fn keeping_up_leaves_no_lag_behind_even_keys() {
    let scene = ball(&[(0.0, DVec3::ZERO), (10.0, DVec3::X * 30.0)]);
    for (keep_up, expected) in [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)] {
        let mut s = setup(paper(0.5, 0.8, 1.0 / 24.0), Timing::Timed, 10.0);
        s.bodies[0].actuator.keep_up = Some(keep_up.into());
        let rig = rig(&scene, &s);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        for _ in 0..24 * 5 {
            step(&rig, &mut state, &mut work, 1.0 / 24.0);
        }
        // Without keeping up the lag is 2 zeta v / omega.
        let full = 2.0 * 0.8 * 3.0 / 24.0;
        let lag = 3.0 * state.time - state.solids[0].position.x;
        assert!((lag - full * expected).abs() < 1e-9, "{lag}");
    }
}

#[test]
fn the_leash_holds_a_blocked_body_and_lets_it_catch_up_at_a_bounded_rate() {
    let scene = ball(&[(0.0, DVec3::ZERO), (10.0, DVec3::X * 10.0)]);
    let mut s = setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 0.5);
    s.bodies[0].guide.catch_up = Some(3.0);
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    // Something holds it at the start for two seconds.
    while state.time < 2.0 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        state.solids[0].position = DVec3::ZERO;
        state.solids[0].velocity = DVec3::ZERO;
    }
    assert!((state.targets[0].point.position.x - 0.5).abs() < 1e-6, "held by the leash");
    let mut before = state.targets[0].on_path.parameter;
    let mut fastest = 0.0_f64;
    while state.time < 6.0 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        fastest = fastest.max((state.targets[0].on_path.parameter - before) * 60.0);
        before = state.targets[0].on_path.parameter;
    }
    assert!(fastest > 1.5 && fastest <= 3.0 + 1e-9, "catches up at {fastest}");
    assert!((before - state.time).abs() < 1e-9, "and is on time again");
}

#[test]
fn preferred_speeds_are_reached() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X * 50.0), (2.0, DVec3::X * 100.0)]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Speeds, 0.5);
    s.bodies[0].guide.speeds = vec![SpeedAtKey { key: 0, speed: 2.0 }, SpeedAtKey { key: 1, speed: 9.0 }];
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let mut speeds = Vec::new();
    while state.targets[0].on_path.parameter < 1.9 {
        step(&rig, &mut state, &mut work, 1.0 / 120.0);
        speeds.push((state.targets[0].on_path.parameter, state.solids[0].velocity.x));
    }
    // Past the last speed it is steady; before, it follows the straight line between the two wishes.
    assert!((speeds.last().unwrap().1 / 9.0 - 1.0).abs() < 1e-3);
    let middle = speeds.iter().find(|s| s.0 >= 0.5).unwrap();
    assert!((middle.1 / 5.5 - 1.0).abs() < 0.1, "{}", middle.1);
}

/// Two balls on parallel lines; the first waits at its second key for the other's last.
fn relay() -> (Scene, Setup) {
    let mut scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X), (2.0, DVec3::X * 2.0)]);
    let mut other = ball(&[(0.0, DVec3::Y), (3.0, DVec3::new(3.0, 1.0, 0.0))]);
    other.nodes[0].name = "Other".into();
    other.clips[0].channels[0].node = 1;
    scene.nodes.append(&mut other.nodes);
    scene.clips[0].channels.append(&mut other.clips[0].channels);
    let mut s = setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    let mut second = s.bodies[0].clone();
    second.node = "Other".into();
    s.bodies[0].guide.waits = vec![Wait { at_key: 1, for_node: "Other".into(), passes_key: 1 }];
    s.bodies.push(second);
    (scene, s)
}

#[test]
fn a_guide_waits_for_another() {
    let (scene, s) = relay();
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let mut reached_end = None;
    while state.time < 6.0 {
        let other_before = state.targets[1].on_path.parameter;
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        if other_before < 3.0 {
            assert!(state.targets[0].on_path.parameter <= 1.0);
        }
        if state.targets[0].on_path.parameter >= 2.0 && reached_end.is_none() {
            reached_end = Some(state.time);
        }
    }
    // Released at 3 s, one second of keys at twice their speed.
    assert!((reached_end.unwrap() - 3.5).abs() < 0.05);
}

#[test]
fn waiting_in_a_circle_is_refused_by_name() {
    let (scene, mut s) = relay();
    s.bodies[1].guide.waits = vec![Wait { at_key: 0, for_node: "Ball".into(), passes_key: 2 }];
    let e = compile(&scene, &s, scene.clips.first()).unwrap_err().to_string();
    assert!(e.contains("\"Ball\"") && e.contains("\"Other\"") && e.contains("wait for each other"), "{e}");
}

#[test]
fn a_path_job_goes_on_until_it_arrives() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X * 3.0)]);
    let rig = rig(&scene, &setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Path, 0.3));
    let (motion, end) = run(&rig, |_, _| true);
    assert_eq!(end, End::Done);
    assert!(motion.frames() > 241, "{} frames", motion.frames());
    let last = motion.frame(motion.frames() - 1)[0].node.position;
    assert!((last - DVec3::X * 3.0).length() < 0.01, "{last}");
}

#[test]
fn cancelling_keeps_what_is_there() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X * 3.0)]);
    let rig = rig(&scene, &setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 9.0));
    let (motion, end) = run(&rig, |frame, _| frame < 10);
    assert_eq!((motion.frames(), end), (11, End::Cancelled));
}

#[test]
fn a_stepped_key_is_answered_like_a_still_target_elsewhere() {
    // No kick from the target's "velocity" over the jump: the response is the oscillator's, for any step.
    let mut scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X), (9.0, DVec3::X)]);
    let old = &scene.clips[0].channels[0].curve;
    let stepped =
        Curve::new(Kind::Vector, 3, old.times().to_vec(), old.values().to_vec(), Segments::Step).unwrap();
    scene.clips[0].channels[0].curve = stepped;
    let mut s = setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].actuator.keep_up = Some(1.0.into());
    let rig = rig(&scene, &s);
    for steps in [96, 480] {
        let dt = 1.0 / f64::from(steps);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        let mut farthest = 0.0_f64;
        for _ in 0..2 * steps {
            step(&rig, &mut state, &mut work, dt);
            farthest = farthest.max(state.solids[0].position.x);
        }
        assert!(farthest <= 1.0 + 1e-9, "critically damped, yet it went to {farthest}");
        // One second after the jump, or up to a step more: 1 - (1 + w t) exp(-w t) with w = 24.
        assert!((state.solids[0].position.x - 1.0).abs() < 1e-8);
    }
}

/// Files have times as single numbers, which may be after the frame that they are meant for.
#[test]
fn what_is_keyed_from_a_later_frame_on_starts_with_the_speed_of_its_keys() {
    for frame in 1..=60 {
        let first = f64::from((f64::from(frame) / 24.0) as f32);
        let scene = ball(&[(first, DVec3::ZERO), (first + 2.0, DVec3::X * 6.0)]);
        let mut s = setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
        s.world.frames_per_second = Some(24.0);
        let velocity = State::new(&rig(&scene, &s)).solids[0].velocity;
        assert!((velocity - DVec3::X * 3.0).length() < 1e-4, "from frame {frame}: {velocity}");
    }
}
