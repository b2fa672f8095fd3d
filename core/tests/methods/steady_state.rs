//! Steady speed, sag under gravity, and the correction that takes the sag away.

use super::*;
use sinew_core::simulate::{State, Workspace, step};

#[test]
fn on_a_straight_line_the_speed_is_alpha_d_over_beta_dt() {
    for (alpha, b, relaxation, d, dt) in [
        (0.1, 1.0, 1.0 / 24.0, 0.5, 1.0 / 240.0),
        (0.1, 0.6, 0.05, 0.2, 1.0 / 60.0),
        (0.5, 1.2, 0.1, 1.0, 1.0 / 24.0),
    ] {
        let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::new(6000.0, 0.0, 8000.0))]);
        let rig = rig(&scene, &setup(paper(alpha, b, relaxation), Timing::Path, d));
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        for _ in 0..(20.0 / dt) as usize {
            step(&rig, &mut state, &mut work, dt);
        }
        let beta = b * (2.0 * alpha).sqrt();
        let expected = alpha * d / (beta * relaxation);
        let error = (state.solids[0].velocity.length() / expected - 1.0).abs();
        println!("steady speed {expected:.4} m/s at dt {dt:.4}: off by {:.2e}", error);
        assert!(error < 2e-13, "{} {expected}", state.solids[0].velocity);
    }
}

#[test]
fn gravity_pulls_down_by_g_dt2_over_2_alpha() {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.gravity = [0.0, -9.81, 0.0];
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..24 * 10 {
        step(&rig, &mut state, &mut work, 1.0 / 24.0);
    }
    let sag = 9.81 / (24.0 * 24.0) / (2.0 * 0.1);
    let error = (-state.solids[0].position.y / sag - 1.0).abs();
    println!("sag {sag:.4} m: off by {error:.1e}");
    assert!(error < 4e-15, "{error:e}");
}

#[test]
fn the_correction_takes_the_sag_away_with_its_time_constant() {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let filter = 0.8; // per second: slow beside the actuator, so that the sag follows it
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.gravity = [0.0, -9.81, 0.0];
    s.bodies[0].actuator.compensation = Some(filter.into());
    s.bodies[0].actuator.start_balanced = Some(false);
    let rig = rig(&scene, &s);
    for dt in [1.0 / 240.0, 1.0 / 24.0] {
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        let sag_at = |state: &State| -state.solids[0].position.y;
        while state.time < 2.0 - 1e-9 {
            step(&rig, &mut state, &mut work, dt);
        }
        let early = sag_at(&state);
        while state.time < 4.0 - 1e-9 {
            step(&rig, &mut state, &mut work, dt);
        }
        let rate = (early / sag_at(&state)).ln() / 2.0;
        assert!((rate / filter - 1.0).abs() < 1e-3, "decays at {rate} per second");
        while state.time < 20.0 {
            step(&rig, &mut state, &mut work, dt);
        }
        assert!(sag_at(&state).abs() < 1e-6);
    }
}

#[test]
fn a_balanced_start_does_not_sag_at_all() {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.world.gravity = [0.0, -9.81, 0.0];
    s.bodies[0].actuator.compensation = Some(4.0.into());
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..240 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        assert!(state.solids[0].position.length() < 1e-12);
    }
}

#[test]
fn a_push_deflects_and_the_body_comes_back() {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].actuator.compensation = Some(4.0.into());
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    state.solids[0].velocity = DVec3::X * 5.0;
    let mut farthest = 0.0_f64;
    for _ in 0..240 * 5 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        farthest = farthest.max(state.solids[0].position.length());
    }
    assert!(farthest > 0.1);
    assert!(state.solids[0].position.length() < 1e-3);
}
