//! A still target: a damped oscillator with `omega = sqrt(2 alpha) / Dt`, `zeta = B`, whatever the steps.

use super::*;
use sinew_core::rotation;
use sinew_core::simulate::{State, Workspace, run, step};

/// Distance to the target over time from rest at distance 1.
fn closed_form(omega: f64, zeta: f64, t: f64) -> f64 {
    let decay = (-zeta * omega * t).exp();
    if zeta < 1.0 {
        let w = omega * (1.0 - zeta * zeta).sqrt();
        decay * ((w * t).cos() + zeta * omega / w * (w * t).sin())
    } else if zeta == 1.0 {
        decay * (1.0 + omega * t)
    } else {
        let w = omega * (zeta * zeta - 1.0).sqrt();
        0.5 * decay * ((w * t).exp() * (1.0 + zeta * omega / w) + (-w * t).exp() * (1.0 - zeta * omega / w))
    }
}

/// A ball one metre from a target that stays, on a leash long enough never to matter.
fn released(alpha: f64, b: f64, relaxation: f64) -> (Rig, State) {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let rig = rig(&scene, &setup(paper(alpha, b, relaxation), Timing::Timed, 10.0));
    let mut state = State::new(&rig);
    state.solids[0].position = DVec3::new(0.6, 0.0, 0.8);
    (rig, state)
}

const CASES: [(f64, f64, f64); 5] = [
    (0.1, 0.5, 1.0 / 24.0),
    (0.1, 1.2, 1.0 / 24.0),
    (0.1, 1.0, 1.0 / 24.0),
    (0.5, 0.7, 0.1),
    (0.02, 0.0, 0.05),
];

#[test]
fn small_steps_follow_the_oscillator_to_a_millionth() {
    for (alpha, b, relaxation) in CASES {
        let (rig, mut state) = released(alpha, b, relaxation);
        let mut work = Workspace::new(&rig);
        let omega = (2.0 * alpha).sqrt() / relaxation;
        let mut worst = 0.0_f64;
        for _ in 0..2000 {
            step(&rig, &mut state, &mut work, 1e-3);
            let expected = DVec3::new(0.6, 0.0, 0.8) * closed_form(omega, b, state.time);
            worst = worst.max((state.solids[0].position - expected).length());
        }
        println!("alpha {alpha}, B {b}: worst deviation {worst:.1e} of the step");
        assert!(worst < 5e-12, "alpha {alpha}, B {b}: {worst}");
    }
}

#[test]
fn random_steps_give_the_same_curve() {
    let mut dice = Dice(7);
    for (alpha, b, relaxation) in CASES {
        let (rig, mut state) = released(alpha, b, relaxation);
        let mut work = Workspace::new(&rig);
        let omega = (2.0 * alpha).sqrt() / relaxation;
        let mut worst = 0.0_f64;
        while state.time < 3.0 {
            let dt = 1.0 / 240.0 + (1.0 / 24.0 - 1.0 / 240.0) * dice.roll();
            step(&rig, &mut state, &mut work, dt);
            let expected = DVec3::new(0.6, 0.0, 0.8) * closed_form(omega, b, state.time);
            worst = worst.max((state.solids[0].position - expected).length());
        }
        println!("alpha {alpha}, B {b}: worst deviation {worst:.1e} of the step");
        assert!(worst < 3e-14, "alpha {alpha}, B {b}: {worst}");
    }
}

#[test]
fn uneven_substeps_give_the_same_curve() {
    // A path that lies within the base distance: its target is at the end from the first step on, and stays.
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X)]);
    for (alpha, b, relaxation) in CASES {
        let mut s = setup(paper(alpha, b, relaxation), Timing::Path, 10.0);
        s.world.frames_per_second = Some(24.0);
        s.world.substeps = 4;
        s.bake.frames = Some([0.0, 72.0]);
        let even = run(&rig(&scene, &s), |_, _| true).0;
        s.world.uneven_substeps = true;
        let uneven = run(&rig(&scene, &s), |_, _| true).0;
        let apart = even.solid(0).zip(uneven.solid(0));
        let apart = apart.map(|(a, b)| (a.node.position - b.node.position).length()).fold(0.0, f64::max);
        println!("alpha {alpha}, B {b}: even and uneven substeps {apart:.1e} m apart");
        assert!(apart < 5e-14, "alpha {alpha}, B {b}: {apart}");
        assert_ne!(even.frame(30)[0], uneven.frame(30)[0], "the steps were the same");
    }
}

#[test]
fn an_orientation_swings_like_a_position() {
    let turn = DVec3::new(0.3, -0.5, 0.4);
    for (alpha, b, relaxation) in CASES {
        let scene = spinner(&[(0.0, DQuat::IDENTITY), (100.0, DQuat::IDENTITY)]);
        let mut s = setup(paper(alpha, b, relaxation), Timing::Timed, 10.0);
        s.bodies[0].guide.base_angle_deg = Some(360.0.into());
        let rig = rig(&scene, &s);
        let mut state = State::new(&rig);
        state.solids[0].orientation = rotation::exp(turn);
        let mut work = Workspace::new(&rig);
        let omega = (2.0 * alpha).sqrt() / relaxation;
        for _ in 0..200 {
            step(&rig, &mut state, &mut work, 1.0 / 100.0);
            let expected = rotation::exp(turn * closed_form(omega, b, state.time));
            assert!(rotation::distance(state.solids[0].orientation, expected) < 1e-6);
        }
    }
}

#[test]
fn a_tumbling_asymmetric_body_comes_round_on_a_geodesic() {
    // J far from isotropic: with the paper's printed sign of the gyroscopic term the axis would wander.
    let scene = spinner(&[(0.0, DQuat::IDENTITY), (100.0, DQuat::IDENTITY)]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].inertia = Some([0.1, 1.0, 1.05]);
    s.bodies[0].guide.base_angle_deg = Some(360.0.into());
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let axis = DVec3::new(1.0, 2.0, -0.7).normalize();
    state.solids[0].orientation = rotation::exp(axis * 2.0);
    let mut work = Workspace::new(&rig);
    // Spinning about the same line: the controlled motion must stay on the line all the way.
    let solid = &rig.solids[0];
    state.solids[0].momentum =
        sinew_core::dynamics::top::angular_momentum(state.solids[0].orientation, axis * 3.0, solid.inertia);
    for _ in 0..240 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        let left = rotation::log(state.solids[0].orientation);
        let off = left - axis * left.dot(axis);
        assert!(off.length() < 1e-9, "off the geodesic by {}", off.length());
    }
    assert!(rotation::log(state.solids[0].orientation).length() < 0.01);
}

#[test]
fn any_gain_and_step_is_stable() {
    for alpha in [1e-3, 1.0, 1e3, 1e9] {
        let (rig, mut state) = released(alpha, 0.7, 1.0 / 24.0);
        let mut work = Workspace::new(&rig);
        for _ in 0..200 {
            step(&rig, &mut state, &mut work, 1.0 / 12.0);
            assert!(state.solids[0].position.length() < 1.1);
        }
    }
}

#[test]
fn a_limited_actuator_keeps_its_limit_and_arrives() {
    let scene = ball(&[(0.0, DVec3::ZERO), (100.0, DVec3::ZERO)]);
    let mut s = setup(paper(0.2, 1.0, 1.0 / 24.0), Timing::Timed, 10.0);
    s.bodies[0].actuator.max_force = Some(Limit::Absolute(20.0.into()));
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    state.solids[0].position = DVec3::X;
    let mut work = Workspace::new(&rig);
    let mut saturated = 0;
    for _ in 0..2400 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        assert!(state.solids[0].force.action.length() <= 20.0 * (1.0 + 1e-12));
        saturated += usize::from(state.solids[0].force.saturated);
    }
    assert!(saturated > 20);
    assert!(state.solids[0].position.length() < 1e-3, "{}", state.solids[0].position);
}
