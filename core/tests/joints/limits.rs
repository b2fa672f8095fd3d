//! Ranges: of turning, sliding, tilting; threads.

use crate::Stage;
use glam::DVec3;
use sinew_core::setup::{At, Direction, Joint, JointFrame, JointKind, Swing};

fn range(least: f64, most: f64) -> Option<Direction> {
    Some(Direction { limits: Some([least, most]), ..Direction::default() })
}

/// A rod along x, hinged to the world at its left end, about z.
fn pendulum() -> Stage {
    let mut stage = Stage::new();
    stage.body("Rod", DVec3::X * 0.5, [1.0, 0.1, 0.1]);
    stage.node("Hinge", DVec3::ZERO);
    stage.join(Joint {
        at: Some(At::Node("Hinge".into())),
        axis: Some([0.0, 0.0, 1.0]),
        ..Joint::new(JointKind::Pin, ["world", "Rod"])
    });
    stage
}

#[test]
fn a_pendulum_stops_at_its_limit() {
    for dt in [1.0 / 240.0, 1.0 / 24.0] {
        let mut stage = pendulum();
        stage.setup.joints[0].turn_deg = range(-60.0, 30.0);
        let mut play = stage.play();
        let (limit, mut past) = ((-60.0_f64).to_radians(), 0.0_f64);
        for _ in 0..(3.0 / dt) as usize {
            play.step(dt);
            let angle = play.turn(0, DVec3::Z);
            past = past.max(limit - angle);
            assert!(play.open() < 1e-6);
        }
        let angle = play.turn(0, DVec3::Z);
        assert!(past < 1e-6, "{past} past the limit");
        assert!((angle - limit).abs() < 1e-6 && play.spin(0).length() < 1e-6, "{angle} {}", play.spin(0));
    }
}

#[test]
fn a_pendulum_does_not_feel_limits_it_does_not_reach() {
    let (mut free, mut wide) = (pendulum(), pendulum());
    free.setup.bodies[0].spin = Some([0.0, 0.0, 1.0]);
    wide.setup.bodies[0].spin = Some([0.0, 0.0, 1.0]);
    wide.setup.joints[0].turn_deg = range(-200.0, 60.0);
    let (mut free, mut wide) = (free.play(), wide.play());
    for _ in 0..200 {
        free.step(1.0 / 240.0);
        wide.step(1.0 / 240.0);
        // What is carried from step to step is not where there are limits.
        assert!((free.turn(0, DVec3::Z) - wide.turn(0, DVec3::Z)).abs() < 1e-4);
    }
}

#[test]
fn limits_are_counted_from_where_frames_meet() {
    // The rod's own frame is turned by 90 degrees about z: the two frames meet where it hangs.
    let mut stage = pendulum();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // x of the frames is z of the world: a turn about y by -90 degrees.
    let world = JointFrame { position: [0.0; 3], rotation: [0.0, -half, 0.0, half] };
    // The same after a turn of the rod by +90 degrees about z: undone in the rod's own space.
    let turned = glam::DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2)
        * glam::DQuat::from_rotation_y(-std::f64::consts::FRAC_PI_2);
    let own = JointFrame { position: [-0.5, 0.0, 0.0], rotation: turned.to_array() };
    stage.setup.joints[0] = Joint {
        frames: Some([world, own]),
        turn_deg: range(20.0, 100.0),
        ..Joint::new(JointKind::Pin, ["world", "Rod"])
    };
    let mut play = stage.play();
    for _ in 0..1000 {
        play.step(1.0 / 240.0);
    }
    // It hangs 20 degrees from straight down.
    let angle = play.turn(0, DVec3::Z).to_degrees();
    assert!((angle - (20.0 - 90.0)).abs() < 1e-4, "{angle}");
}

#[test]
fn a_slider_stops_at_both_ends() {
    let mut stage = Stage::weightless();
    stage.body("Box", DVec3::ZERO, [0.2; 3]).velocity = Some([1.0, 0.0, 0.0]);
    stage.join(Joint { slide: range(-0.3, 0.5), ..Joint::new(JointKind::Prismatic, ["world", "Box"]) });
    let mut play = stage.play();
    let mut most = 0.0_f64;
    for _ in 0..240 {
        play.step(1.0 / 240.0);
        most = most.max(play.state.solids[0].position.x);
    }
    let speed = play.state.solids[0].velocity.length();
    assert!((most - 0.5).abs() < 1e-6 && speed < 1e-9, "{most} {speed}");
    play.state.solids[0].velocity = DVec3::X * -1.0;
    for _ in 0..360 {
        play.step(1.0 / 240.0);
        assert!(play.state.solids[0].position.x > -0.3 - 1e-6);
    }
    assert!((play.state.solids[0].position.x + 0.3).abs() < 1e-6);
}

#[test]
fn a_cone_holds_the_tilt_within_its_ellipse() {
    let mut stage = Stage::new();
    stage.body("Rod", DVec3::X * 0.5, [1.0, 0.1, 0.1]).spin = Some([3.0, 2.0, -1.0]);
    stage.node("Hinge", DVec3::ZERO);
    stage.join(Joint {
        at: Some(At::Node("Hinge".into())),
        swing_deg: Some(Swing { cone: Some([40.0, 20.0]), ..Swing::default() }),
        ..Joint::new(JointKind::Universal, ["world", "Rod"])
    });
    let mut play = stage.play();
    let (mut worst, mut touched) = (0.0_f64, 0);
    for _ in 0..1200 {
        play.step(1.0 / 240.0);
        let along = play.node(0).1 * DVec3::X;
        let angle = along.x.clamp(-1.0, 1.0).acos();
        let about = DVec3::X.cross(along).normalize_or_zero() * angle;
        let share = ((about.y.to_degrees() / 40.0).powi(2) + (about.z.to_degrees() / 20.0).powi(2)).sqrt();
        worst = worst.max(share);
        touched += usize::from(share > 1.0 - 1e-6);
        assert!(play.open() < 1e-6, "{}", play.open());
    }
    assert!(worst < 1.0 + 3e-6 && touched > 100, "{worst} {touched}");
}

#[test]
fn a_screw_advances_by_its_pitch_per_turn() {
    for (pitch, dt) in [(0.25, 1.0 / 240.0), (-0.1, 1.0 / 240.0), (0.25, 1.0 / 48.0)] {
        let mut stage = Stage::weightless();
        stage.body("Screw", DVec3::ZERO, [0.5, 0.2, 0.2]).spin = Some([5.0, 0.0, 0.0]);
        stage.join(Joint { pitch: Some(pitch), ..Joint::new(JointKind::Screw, ["world", "Screw"]) });
        let mut play = stage.play();
        let (mut turned, mut last) = (0.0, 0.0);
        while turned < 2.0 * std::f64::consts::TAU {
            play.step(dt);
            let angle = play.turn(0, DVec3::X);
            turned += (angle - last + 9.0 * std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
                - std::f64::consts::PI;
            last = angle;
            let x = play.state.solids[0].position.x;
            let wanted = pitch * turned / std::f64::consts::TAU;
            assert!((x - wanted).abs() < 1e-6, "{pitch} {dt}: {x} {wanted} after {turned}");
        }
        // Nothing brakes it: I w^2 + m v^2 stays.
        let per_rad = pitch / std::f64::consts::TAU;
        let inertia = (0.04 + 0.04) / 12.0;
        let start: f64 = 5.0 * inertia / (inertia + per_rad * per_rad); // what the thread leaves of the first spin
        assert!((play.spin(0).x / start - 1.0).abs() < 1e-3, "{} {start}", play.spin(0).x);
    }
}

#[test]
fn a_screw_stops_at_the_limit_of_its_slide() {
    let mut stage = Stage::weightless();
    stage.body("Screw", DVec3::ZERO, [0.5, 0.2, 0.2]).spin = Some([5.0, 0.0, 0.0]);
    stage.join(Joint {
        pitch: Some(0.1),
        slide: range(-0.15, 0.15),
        ..Joint::new(JointKind::Screw, ["world", "Screw"])
    });
    let mut play = stage.play();
    for _ in 0..960 {
        play.step(1.0 / 240.0);
        assert!(play.state.solids[0].position.x < 0.15 + 1e-6);
    }
    assert!((play.state.solids[0].position.x - 0.15).abs() < 1e-6 && play.spin(0).length() < 1e-6);
}
