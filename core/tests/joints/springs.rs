//! Springs, rests and strengths.

use crate::{Play, Stage, crossings, keys};
use glam::DVec3;
use sinew_core::joint::Kind;
use sinew_core::setup::{At, Direction, Give, Joint, JointKind, Swing};
use std::f64::consts::TAU;

/// A door hinged at its edge about y, and its moment of inertia about the hinge.
fn door(turn_deg: Direction) -> (Stage, f64) {
    let mut stage = Stage::weightless();
    stage.body("Door", DVec3::X * 0.5, [1.0, 2.0, 0.1]);
    stage.node("Hinge", DVec3::ZERO);
    stage.join(Joint {
        at: Some(At::Node("Hinge".into())),
        axis: Some([0.0, 1.0, 0.0]),
        turn_deg: Some(turn_deg),
        ..Joint::new(JointKind::Pin, ["world", "Door"])
    });
    (stage, (1.0 + 0.01) / 12.0 + 0.25)
}

fn spring(stiffness: f64, damping: f64) -> Direction {
    Direction { stiffness: Some(stiffness.into()), damping: Some(damping.into()), ..Direction::default() }
}

/// Turns a door by an angle about its hinge.
fn open(play: &mut Play, angle: f64) {
    let q = sinew_core::rotation::exp(DVec3::Y * angle);
    let s = &mut play.state.solids[0];
    s.orientation = q * s.orientation;
    s.position = q * s.position;
}

fn swing(play: &mut Play, dt: f64, seconds: f64) -> Vec<(f64, f64)> {
    let mut samples = vec![(play.state.time, play.turn(0, DVec3::Y))];
    for _ in 0..(seconds / dt).round() as usize {
        play.step(dt);
        samples.push((play.state.time, play.turn(0, DVec3::Y)));
    }
    samples
}

#[test]
fn a_door_swings_with_the_period_of_its_spring() {
    for mpu in [1.0, 0.01] {
        let stiffness = 30.0;
        let (mut stage, inertia) = door(spring(stiffness, 0.0));
        stage.setup.world.metres_per_unit = mpu;
        let inertia = inertia * mpu * mpu;
        stage.setup.joints[0].turn_deg = Some(spring(stiffness * mpu * mpu, 0.0));
        let mut play = stage.play();
        open(&mut play, 0.4);
        let samples = swing(&mut play, 1.0 / 240.0, 10.0);
        let zero = crossings(&samples);
        let period = 2.0 * (zero[zero.len() - 1] - zero[0]) / (zero.len() - 1) as f64;
        let exact = TAU * (inertia / (stiffness * mpu * mpu)).sqrt();
        assert!((period / exact - 1.0).abs() < 1e-3, "{period} {exact}");
        let last = samples[samples.len() - 300..].iter().fold(0.0_f64, |m, s| m.max(s.1.abs()));
        assert!((last / 0.4 - 1.0).abs() < 1e-2, "kept {last} of 0.4");
    }
}

#[test]
fn a_door_comes_to_rest_as_its_damping_says() {
    let (stiffness, damping) = (30.0, 0.6);
    let (stage, inertia) = door(spring(stiffness, damping));
    let mut play = stage.play();
    open(&mut play, 0.4);
    let samples = swing(&mut play, 1.0 / 240.0, 6.0);
    let (decay, pace) = (damping / (2.0 * inertia), stiffness / inertia);
    let w = (pace - decay * decay).sqrt();
    let worst = samples.iter().fold(0.0_f64, |m, (t, angle)| {
        let exact = 0.4 * (-decay * t).exp() * ((w * t).cos() + decay / w * (w * t).sin());
        m.max((angle - exact).abs())
    });
    assert!(worst < 0.4 * 0.01, "{worst}");
}

#[test]
fn springs_a_thousand_million_times_stiffer_neither_explode_nor_jitter() {
    for damping in [0.0, 1e5, 1e9] {
        let (mut stage, _) = door(spring(30.0e9, damping));
        stage.setup.world.gravity = [3.0, -9.81, 5.0];
        let mut play = stage.play();
        open(&mut play, 0.3);
        let samples = swing(&mut play, 1.0 / 24.0, 4.0);
        assert!(samples.iter().all(|s| s.1.abs() < 0.3 + 1e-6), "damping {damping}: {samples:?}");
        let late = samples[12..].iter().fold(0.0_f64, |m, s| m.max(s.1.abs()));
        assert!(late < 1e-3, "damping {damping}: still {late}");
    }
}

#[test]
fn an_angle_follows_its_keys() {
    for dt in [1.0 / 240.0, 1.0 / 24.0] {
        let track = [[0.0, 0.0], [0.5, 80.0], [1.0, 80.0], [2.0, -300.0]];
        let (stage, _) = door(Direction { rest: keys(&track), ..Direction::default() });
        let mut play = stage.play();
        let curve = keys(&track).unwrap().curve().unwrap().unwrap();
        for _ in 0..(2.0 / dt) as usize {
            play.step(dt);
            let off = play.turn(0, DVec3::Y) - curve.scalar(play.state.time).to_radians();
            let off = off - TAU * (off / TAU).round();
            assert!(off.abs() < 1e-6, "{off} at {}", play.state.time);
        }
        // It moves as it is told to: -380 degrees in a second.
        assert!((play.spin(0).y + 380.0_f64.to_radians()).abs() < 1e-6, "{}", play.spin(0));
    }
}

#[test]
fn a_slide_follows_its_keys() {
    let mut stage = Stage::new();
    stage.body("Lift", DVec3::ZERO, [0.5; 3]);
    stage.join(Joint {
        axis: Some([0.0, 1.0, 0.0]),
        slide: Some(Direction { rest: keys(&[[0.0, 0.0], [1.0, 3.0]]), ..Direction::default() }),
        ..Joint::new(JointKind::Prismatic, ["world", "Lift"])
    });
    let mut play = stage.play();
    for _ in 0..90 {
        play.step(1.0 / 100.0);
        let y = play.state.solids[0].position.y;
        assert!((y - 3.0 * play.state.time).abs() < 1e-6, "{y}");
    }
    assert!((play.state.solids[0].velocity.y - 3.0).abs() < 1e-6);
}

#[test]
fn a_motor_that_is_too_weak_stalls_with_its_strength() {
    // The door lies across gravity: its weight turns it with 9.81 N m / 2 about the hinge.
    let weight = 9.81 * 0.5;
    for (strength, holds) in [(0.8 * weight, false), (1.2 * weight, true)] {
        let (mut stage, inertia) =
            door(Direction { rest: Some(0.0.into()), strength: Some(strength), ..Direction::default() });
        stage.setup.world.gravity = [0.0, 0.0, 9.81];
        let mut play = stage.play();
        for _ in 0..24 {
            play.step(1.0 / 240.0);
        }
        let motor = play.rig.joints.iter().position(|j| j.kind == Kind::TurnTo).unwrap();
        let torque = play.state.joints[motor].multipliers[0].abs();
        let angle = play.turn(0, DVec3::Y);
        if holds {
            assert!(angle.abs() < 1e-6 && (torque - weight).abs() < 1e-2 * weight, "{angle} {torque}");
        } else {
            assert!((torque - strength).abs() < 1e-9, "{torque} {strength}");
            // It gives way with what is left.
            let exact = -0.5 * (weight - strength) / inertia * 0.01;
            assert!((angle / exact - 1.0).abs() < 1e-2, "{angle} {exact}");
        }
    }
}

#[test]
fn a_slide_spring_swings_with_its_period() {
    for (dt, tolerance) in [(1.0 / 240.0, 1e-3), (1.0 / 24.0, 1e-2)] {
        let mut stage = Stage::weightless();
        stage.body("Box", DVec3::ZERO, [0.5; 3]).velocity = Some([1.0, 0.0, 0.0]);
        stage.join(Joint {
            slide: Some(spring(40.0, 0.0)),
            ..Joint::new(JointKind::Prismatic, ["world", "Box"])
        });
        let mut play = stage.play();
        let w = 40.0_f64.sqrt();
        for _ in 0..(3.0 / dt) as usize {
            play.step(dt);
            let exact = (w * play.state.time).sin() / w;
            let x = play.state.solids[0].position.x;
            assert!((x - exact).abs() < tolerance / w, "{x} {exact} at {}", play.state.time);
        }
    }
}

#[test]
fn a_swing_spring_brings_a_tilt_back() {
    let (stiffness, mut stage) = (20.0, Stage::weightless());
    stage.body("Rod", DVec3::X * 0.5, [1.0, 0.1, 0.1]);
    stage.node("Hinge", DVec3::ZERO);
    stage.join(Joint {
        at: Some(At::Node("Hinge".into())),
        swing_deg: Some(Swing { stiffness: Some(stiffness.into()), ..Swing::default() }),
        ..Joint::new(JointKind::Universal, ["world", "Rod"])
    });
    let mut play = stage.play();
    open(&mut play, 0.3);
    let zero = crossings(&swing(&mut play, 1.0 / 240.0, 6.0));
    let period = 2.0 * (zero[zero.len() - 1] - zero[0]) / (zero.len() - 1) as f64;
    let exact = TAU * (((1.0 + 0.01) / 12.0 + 0.25) / stiffness).sqrt();
    assert!((period / exact - 1.0).abs() < 1e-3, "{period} {exact}");
}

#[test]
fn a_joint_that_gives_way_hangs_by_weight_over_stiffness() {
    for (kind, stiffness) in [(JointKind::Universal, 200.0), (JointKind::Pin, 200.0), (JointKind::Fixed, 1e9)]
    {
        let mut stage = Stage::new();
        stage.body("Box", DVec3::ZERO, [0.5; 3]);
        stage.join(Joint {
            give: Some(Give {
                stiffness: Some(stiffness.into()),
                damping: Some((0.1 * stiffness).into()),
                turn_stiffness: None,
                turn_damping: None,
            }),
            ..Joint::new(kind, ["world", "Box"])
        });
        let mut play = stage.play();
        for _ in 0..1200 {
            play.step(1.0 / 120.0);
        }
        let (sag, exact) = (-play.state.solids[0].position.y, 9.81 / stiffness);
        assert!((sag - exact).abs() < 1e-3 * exact + 1e-7, "{kind:?}: {sag} {exact}");
    }
}

#[test]
fn a_rubber_band_pulls_and_never_pushes() {
    let mut stage = Stage::weightless();
    stage.body("Box", DVec3::X, [0.1; 3]).velocity = Some([-1.0, 0.0, 0.0]);
    stage.node("Wall", DVec3::ZERO);
    stage.join(Joint {
        at: Some(At::Nodes(["Wall".into(), "Box".into()])),
        length: Some(1.5),
        give: Some(Give {
            stiffness: Some(50.0.into()),
            damping: None,
            turn_stiffness: None,
            turn_damping: None,
        }),
        ..Joint::new(JointKind::Rope, ["world", "Box"])
    });
    let mut play = stage.play();
    let dt = 1.0 / 240.0;
    for i in 1..=480 {
        play.step(dt);
        assert!((play.state.solids[0].position.x - (1.0 - f64::from(i) * dt)).abs() < 1e-9, "loose");
    }
    // Taut at -1.5, half a period of sqrt(50 / 1) there and back, and loose again with the same speed.
    let mut farthest = 0.0_f64;
    for _ in 0..480 {
        play.step(dt);
        farthest = farthest.min(play.state.solids[0].position.x);
    }
    assert!((farthest + 1.5 + 1.0 / 50.0_f64.sqrt()).abs() < 5e-3, "{farthest}");
    assert!((play.state.solids[0].velocity.x - 1.0).abs() < 1e-2, "{}", play.state.solids[0].velocity);
}
