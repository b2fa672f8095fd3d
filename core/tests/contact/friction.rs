//! Friction: a slope holds or lets slide, and a ball that skids comes to roll.

use crate::{Form, Run, Thing, rig};
use glam::{DQuat, DVec3};

fn slope(degrees: f64) -> (Run, DVec3) {
    let turn = DQuat::from_rotation_z(-degrees.to_radians());
    let up = turn * DVec3::Y;
    let mut floor = Thing::fixed(Form::Floor, DVec3::ZERO);
    floor.turn = turn;
    let half = DVec3::new(0.2, 0.1, 0.15);
    let mut block = Thing::new(Form::Box(half), up * half.y);
    block.turn = turn;
    (Run::new(rig(&[block, floor], DVec3::new(0.0, -9.81, 0.0), 60.0, 1)), turn * DVec3::X)
}

#[test]
fn a_slope_of_26_degrees_holds_with_half() {
    let (mut run, down) = slope(26.0);
    let start = run.at(0);
    for _ in 0..600 {
        run.step(1.0 / 60.0);
    }
    let crept = (run.at(0) - start).dot(down);
    println!("crept {crept:e}");
    assert!(crept.abs() < 1e-3, "{crept}");
}

#[test]
fn a_slope_of_27_degrees_slides_with_half() {
    let (mut run, down) = slope(27.0);
    for _ in 0..240 {
        run.step(1.0 / 60.0);
    }
    let tilt = 27.0_f64.to_radians();
    let expected = 9.81 * (tilt.sin() - 0.5 * tilt.cos());
    let found = run.state.solids[0].velocity.dot(down) / 4.0;
    println!("{found} of {expected}");
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}

#[test]
fn a_skidding_ball_comes_to_roll_at_five_sevenths() {
    let mut ball = Thing::new(Form::Ball(0.1), DVec3::new(0.0, 0.1, 0.0));
    ball.velocity = DVec3::new(2.0, 0.0, 0.0);
    let floor = Thing::fixed(Form::Floor, DVec3::ZERO);
    let mut run = Run::new(rig(&[ball, floor], DVec3::new(0.0, -9.81, 0.0), 60.0, 1));
    for _ in 0..120 {
        run.step(1.0 / 60.0);
    }
    let v = run.state.solids[0].velocity.x;
    println!("{v}");
    assert!((v - 10.0 / 7.0).abs() < 1e-6, "{v}");
}

#[test]
fn rolling_friction_stops_a_ball_after_the_way_it_should() {
    // Deceleration of a rolling ball: 5/7 g b / r.
    let mut ball = Thing::new(Form::Ball(0.1), DVec3::new(0.0, 0.1, 0.0));
    (ball.velocity, ball.spin) = (DVec3::new(1.0, 0.0, 0.0), DVec3::new(0.0, 0.0, -10.0));
    ball.rolling = 0.002;
    let floor = Thing::fixed(Form::Floor, DVec3::ZERO);
    let mut run = Run::new(rig(&[ball, floor], DVec3::new(0.0, -9.81, 0.0), 240.0, 1));
    for _ in 0..240 * 10 {
        run.step(1.0 / 240.0);
    }
    let slowing = 5.0 / 7.0 * 9.81 * 0.002 / 0.1;
    let expected = 0.5 / slowing;
    let way = run.at(0).x;
    println!("{way} of {expected}");
    assert!((way / expected - 1.0).abs() < 0.02, "{way} {expected}");
    let left = run.state.solids[0].velocity.length();
    assert!(left < 1e-3, "{left:e}");
}
