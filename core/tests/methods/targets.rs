//! The base distance: every point of the path comes within it, and targets never go back.

use super::*;
use sinew_core::simulate::{State, Workspace, step};

/// A random path of six keys, straight, cubic or Catmull-Rom.
fn random_scene(dice: &mut Dice, smooth: bool) -> Scene {
    let keys: Vec<(f64, DVec3)> = (0..6).map(|i| (f64::from(i) * 0.5, dice.point(2.0))).collect();
    let mut scene = ball(&keys);
    if smooth {
        let old = &scene.clips[0].channels[0].curve;
        let curve = Curve::catmull_rom(Kind::Vector, 3, old.times().to_vec(), old.values().to_vec()).unwrap();
        scene.clips[0].channels[0].curve = curve;
    }
    scene
}

#[test]
fn every_point_of_a_hundred_random_paths_comes_within_the_base_distance() {
    let mut dice = Dice(2024);
    let mut worst = 0.0_f64;
    for case in 0..100 {
        let scene = random_scene(&mut dice, case % 2 == 0);
        let d = 0.05 + 0.5 * dice.roll();
        let b = 0.5 + dice.roll();
        let rig = rig(&scene, &setup(paper(0.1, b, 1.0 / 24.0), Timing::Path, d));
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        let mut trajectory = vec![state.solids[0].position];
        let mut parameter = 0.0;
        let end = rig.paths[0].end();
        // On until the target is at the end of the path, with steps of any length.
        while state.targets[0].on_path.parameter < end && state.time < 200.0 {
            step(&rig, &mut state, &mut work, 1.0 / 240.0 + dice.roll() / 30.0);
            trajectory.push(state.solids[0].position);
            assert!(state.targets[0].on_path.parameter >= parameter, "the target went back");
            parameter = state.targets[0].on_path.parameter;
        }
        assert_eq!(state.targets[0].on_path.parameter, end, "case {case} did not arrive");
        for i in 0..=1000 {
            let p = rig.paths[0].placement(end * f64::from(i) / 1000.0).position;
            let nearest = trajectory.iter().fold(f64::INFINITY, |m, x| m.min((*x - p).length()));
            worst = worst.max(nearest / d);
            assert!(
                nearest <= d * (1.0 + 1e-6),
                "case {case}: a point is {} base distances away",
                nearest / d
            );
        }
    }
    println!("farthest point of 100 random paths: {worst:.6} base distances");
}

#[test]
fn a_solid_pushed_back_leaves_its_target() {
    let scene = ball(&[(0.0, DVec3::ZERO), (1.0, DVec3::X * 100.0)]);
    let rig = rig(&scene, &setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Path, 0.5));
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..240 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
    }
    let before = state.targets[0];
    state.solids[0].position.x -= 0.4;
    state.solids[0].velocity = -DVec3::X * 2.0;
    for _ in 0..10 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        let now = state.targets[0];
        assert_eq!((now.on_path, now.point), (before.on_path, before.point));
    }
    for _ in 0..480 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
    }
    assert!(state.targets[0].on_path.parameter > before.on_path.parameter);
}

#[test]
fn orientation_keys_are_passed_within_the_base_angle() {
    let turn = |a: f64, axis: DVec3| sinew_core::rotation::exp(axis * a);
    let scene = spinner(&[
        (0.0, DQuat::IDENTITY),
        (1.0, -turn(2.0, DVec3::Y)), // the other sign of the same rotation
        (2.0, turn(1.5, DVec3::X)),
    ]);
    let mut s = setup(paper(0.1, 1.0, 1.0 / 24.0), Timing::Path, 1.0);
    s.bodies[0].guide.follow = sinew_core::setup::Parts::Orientation;
    s.bodies[0].guide.base_angle_deg = Some(15.0.into());
    let rig = rig(&scene, &s);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let mut seen = vec![state.solids[0].orientation];
    for _ in 0..240 * 20 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        seen.push(state.solids[0].orientation);
    }
    assert_eq!(state.targets[0].on_path.parameter, 2.0);
    for i in 0..=100 {
        let q = rig.paths[0].placement(f64::from(i) * 0.02).rotation;
        let nearest = seen.iter().fold(f64::INFINITY, |m, o| m.min(sinew_core::rotation::distance(*o, q)));
        assert!(nearest <= 15.0_f64.to_radians() * (1.0 + 1e-6));
    }
}
