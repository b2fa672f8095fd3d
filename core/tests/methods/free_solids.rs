//! Free solids: parabolas, tops, drag and wind.

use super::*;
use sinew_core::setup::{Behaviour, Field};
use sinew_core::simulate::{State, Workspace, step};

fn free(velocity: [f64; 3]) -> (Scene, Setup) {
    let scene = ball(&[(0.0, DVec3::ZERO), (10.0, DVec3::ZERO)]);
    let mut s = setup(Actuator::default(), Timing::Timed, 1.0);
    s.bodies[0].behaviour = Behaviour::Free;
    s.bodies[0].velocity = Some(velocity);
    (scene, s)
}

#[test]
fn a_throw_is_a_parabola_for_any_steps() {
    let (scene, mut s) = free([3.0, 7.0, -1.0]);
    s.world.gravity = [0.0, -9.81, 0.0];
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let mut dice = Dice(3);
    while state.time < 5.0 {
        step(&rig, &mut state, &mut work, 0.001 + dice.roll() * 0.1);
        let t = state.time;
        let expected = DVec3::new(3.0 * t, 7.0 * t - 4.905 * t * t, -t);
        assert!((state.solids[0].position - expected).length() < 1e-11);
    }
}

#[test]
fn a_free_body_starts_with_the_motion_of_its_keys() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::new(2.0, 0.0, 1.0)), (9.0, DVec3::ZERO)]);
    let mut s = setup(Actuator::default(), Timing::Timed, 1.0);
    s.bodies[0].behaviour = Behaviour::Free;
    let rig = rig(&scene, &s);
    assert!((State::new(&rig).solids[0].velocity - DVec3::new(2.0, 0.0, 1.0)).length() < 1e-12);
}

#[test]
fn a_torque_free_top_keeps_its_angular_momentum() {
    let (scene, mut s) = free([0.0; 3]);
    s.bodies[0].inertia = Some([0.5, 1.0, 1.4]);
    s.bodies[0].spin = Some([0.3, 6.0, -0.2]);
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let momentum = |state: &State| {
        // From orientation and angular velocity, not from what the state happens to store.
        let b = &state.solids[0];
        let w =
            sinew_core::dynamics::top::angular_velocity(b.orientation, b.momentum, rig.solids[0].per_inertia);
        sinew_core::dynamics::top::angular_momentum(b.orientation, w, rig.solids[0].inertia)
    };
    let start = momentum(&state);
    let mut worst = 0.0_f64;
    let mut turned = 0.0_f64;
    for _ in 0..10_000 {
        let before = state.solids[0].orientation;
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        turned += sinew_core::rotation::distance(before, state.solids[0].orientation);
        worst = worst.max((momentum(&state) - start).length() / start.length());
    }
    println!("angular momentum over 10,000 steps: {worst:.1e} relative");
    assert!(worst < 4e-14, "{worst:e}");
    assert!(turned > 900.0, "it must really have tumbled: {turned}");
}

#[test]
fn drag_slows_exponentially_for_any_step() {
    let (scene, mut s) = free([4.0, 0.0, 0.0]);
    s.world.fields.push(Field::Drag { rate: 0.7.into(), spin_rate: None, region: None });
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..20 {
        step(&rig, &mut state, &mut work, 0.25);
        assert!((state.solids[0].velocity.x - 4.0 * (-0.7 * state.time).exp()).abs() < 1e-12);
        assert!((state.solids[0].position.x - 4.0 / 0.7 * (1.0 - (-0.7 * state.time).exp())).abs() < 1e-12);
    }
}

#[test]
fn wind_carries_a_feather_and_leaves_a_stone() {
    let run = |mass: f64| {
        let (scene, mut s) = free([0.0; 3]);
        s.bodies[0].mass = Some(mass);
        s.world.fields.push(Field::Wind {
            velocity: [5.0, 0.0, 0.0],
            strength: 1.0.into(),
            air_density: 1.225,
            region: None,
        });
        let rig = rig(&scene, &s);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        for _ in 0..100 {
            step(&rig, &mut state, &mut work, 0.05);
        }
        state.solids[0].velocity.x
    };
    let (feather, stone) = (run(0.001), run(10.0));
    assert!(feather > 4.5 && feather < 5.0, "{feather}");
    assert!(stone < 0.3 && stone > 0.0, "{stone}");
}

#[test]
fn falling_in_air_ends_at_terminal_speed() {
    let (scene, mut s) = free([0.0; 3]);
    s.world.gravity = [0.0, -9.81, 0.0];
    s.world.fields.push(Field::Wind {
        velocity: [0.0; 3],
        strength: 1.0.into(),
        air_density: 1.225,
        region: None,
    });
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..4000 {
        step(&rig, &mut state, &mut work, 0.05);
    }
    // m g = 1/2 rho C A v^2 with C = 0.8
    let terminal = (2.0 * 2.0 * 9.81 / (1.225 * 0.8 * std::f64::consts::PI * 0.01)).sqrt();
    assert!(
        (-state.solids[0].velocity.y / terminal - 1.0).abs() < 1e-3,
        "{} {terminal}",
        state.solids[0].velocity.y
    );
}

#[test]
fn time_scale_makes_a_fall_take_longer() {
    let (scene, mut s) = free([0.0; 3]);
    s.world.gravity = [0.0, -10.0, 0.0];
    s.world.time_scale = 0.5.into();
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..20 {
        step(&rig, &mut state, &mut work, 0.1);
    }
    assert!((state.solids[0].position.y + 5.0).abs() < 1e-12); // two seconds look like one
}

#[test]
fn a_wild_state_is_quarantined_not_spread() {
    let (scene, s) = free([0.0; 3]);
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    state.solids[0].velocity = DVec3::X * f64::MAX;
    step(&rig, &mut state, &mut work, 10.0);
    step(&rig, &mut state, &mut work, 10.0);
    assert_eq!(state.quarantined(), Some(0));
    assert!(state.solids[0].position.is_finite());
}
