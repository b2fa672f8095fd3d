//! When joints hold: breaking, switching, grabbing; and several on one pair.

use crate::{Stage, keys};
use glam::DVec3;
use sinew_core::setup::{At, Between, Direction, Joint, JointKind, Keyable, Keys};

fn steps(keys: &[[f64; 2]]) -> Option<Keyable> {
    Some(Keyable::Keys(Keys { keys: keys.to_vec(), between: Between::Step }))
}

#[test]
fn a_chain_breaks_under_more_than_it_bears() {
    for (limit, breaks) in [(9.0, true), (11.0, false)] {
        for mpu in [1.0, 0.01] {
            let mut stage = Stage::new();
            stage.setup.world.metres_per_unit = mpu;
            for (i, mass) in [0.001, 0.001, 10.0].into_iter().enumerate() {
                let name = format!("Link {i}");
                stage.body(&name, DVec3::Y * (-0.5 - i as f64), [0.1, 1.0, 0.1]).mass = Some(mass);
                stage.node(&format!("End {i}"), DVec3::Y * -(i as f64));
                let above = if i == 0 { "world".into() } else { format!("Link {}", i - 1) };
                stage.join(Joint {
                    at: Some(At::Node(format!("End {i}"))),
                    break_force: Some(if i == 1 { limit * 9.81 } else { 1000.0 }),
                    ..Joint::new(JointKind::Universal, [&above, &name])
                });
            }
            let mut play = stage.play();
            for _ in 0..120 {
                play.step(1.0 / 240.0);
            }
            let broken: Vec<bool> = play.state.joints.iter().map(|j| j.broken).collect();
            assert_eq!(broken, [false, breaks, false], "{limit} kg worth, {mpu} m");
            let fallen = -2.5 - play.state.solids[2].position.y;
            let free = 0.5 * 9.81 / mpu * 0.25 * if breaks { 1.0 } else { 0.0 };
            assert!((fallen - free).abs() < 0.02 * (free + 0.1), "{fallen} {free}");
        }
    }
}

#[test]
fn a_ball_that_is_let_go_falls_freely() {
    let mut stage = Stage::new();
    stage.body("Ball", DVec3::ZERO, [0.2; 3]);
    stage.join(Joint {
        on: steps(&[[0.0, 1.0], [0.5, 0.0]]),
        turn_deg: Some(Direction { limits: Some([-10.0, 10.0]), ..Direction::default() }),
        ..Joint::new(JointKind::Universal, ["world", "Ball"])
    });
    let mut play = stage.play();
    let dt = 1.0 / 100.0;
    for i in 1..=100 {
        play.step(dt);
        let y = play.state.solids[0].position.y;
        // It holds until the step that ends at 0.5 s.
        let fell = (f64::from(i) * dt - 0.49).max(0.0);
        assert!((y + 0.5 * 9.81 * fell * fell).abs() < 1e-6, "{y} at {}", play.state.time);
    }
}

#[test]
fn what_is_grabbed_does_not_jump() {
    for kind in [JointKind::Fixed, JointKind::Universal, JointKind::Pin, JointKind::Cylindrical] {
        let mut stage = Stage::weightless();
        let b = stage.body("Ball", DVec3::ZERO, [0.2, 0.3, 0.4]);
        (b.velocity, b.spin) = (Some([1.0, 0.5, 0.0]), Some([0.3, 1.0, -0.4]));
        stage.body("Cart", DVec3::X * 3.0, [0.5; 3]);
        let ranged = matches!(kind, JointKind::Universal | JointKind::Pin | JointKind::Cylindrical);
        stage.join(Joint {
            on: steps(&[[0.0, 0.0], [1.0, 1.0]]),
            grab: true,
            turn_deg: ranged.then(|| Direction {
                limits: Some([-5.0, 5.0]),
                stiffness: Some(3.0.into()),
                ..Direction::default()
            }),
            slide: (kind == JointKind::Cylindrical)
                .then(|| Direction { limits: Some([-0.1, 0.1]), ..Direction::default() }),
            ..Joint::new(kind, ["Cart", "Ball"])
        });
        let mut play = stage.play();
        let mut last = play.node(0);
        for _ in 0..240 {
            play.step(1.0 / 100.0);
            let now = play.node(0);
            let (moved, turned) = ((now.0 - last.0).length(), now.1.angle_between(last.1));
            assert!(moved < 0.02 && turned < 0.04, "{kind:?}: {moved} {turned} at {}", play.state.time);
            last = now;
            assert!(play.open() < 1e-6, "{kind:?} {}", play.open());
        }
        assert!(play.state.solids[1].velocity.length() > 0.01, "{kind:?}: the cart is dragged along");
    }
}

#[test]
fn what_is_grabbed_again_is_taken_where_it_then_is() {
    let mut stage = Stage::new();
    stage.body("Ball", DVec3::ZERO, [0.2; 3]);
    stage.join(Joint {
        on: steps(&[[0.0, 1.0], [0.2, 0.0], [0.4, 1.0], [0.6, 0.0], [0.8, 1.0]]),
        grab: true,
        ..Joint::new(JointKind::Fixed, ["world", "Ball"])
    });
    let mut play = stage.play();
    let mut heights = Vec::new();
    for _ in 0..100 {
        play.step(1.0 / 100.0);
        heights.push(play.state.solids[0].position.y);
    }
    assert!(heights[15].abs() < 1e-9 && heights[45] < -0.1, "{heights:?}");
    assert!((heights[50] - heights[45]).abs() < 1e-9 && heights[85] < heights[50] - 0.1, "{heights:?}");
}

#[test]
fn two_joints_on_one_pair_hold_both() {
    // Two ball joints make a hinge.
    let mut stage = Stage::new();
    stage.body("Frame", DVec3::ZERO, [0.2, 2.0, 0.2]).mass = Some(5.0);
    stage.body("Door", DVec3::X * 0.5, [1.0, 2.0, 0.1]).spin = Some([0.0, 2.0, 0.0]);
    stage.join(Joint::new(JointKind::Fixed, ["world", "Frame"]));
    for (name, y) in [("Upper", 0.8), ("Lower", -0.8)] {
        stage.node(name, DVec3::new(0.0, y, 0.0));
        stage.join(Joint {
            at: Some(At::Node(name.into())),
            ..Joint::new(JointKind::Universal, ["Frame", "Door"])
        });
    }
    let mut play = stage.play();
    for _ in 0..480 {
        play.step(1.0 / 240.0);
        assert!(play.open() < 1e-6);
        let up = play.node(1).1 * DVec3::Y;
        assert!((up - DVec3::Y).length() < 1e-5, "{up}");
    }
    assert!(play.spin(1).y > 0.2, "{}", play.spin(1));
}

#[test]
fn a_hand_that_lets_go_and_keys_of_other_kinds_share_one_joint() {
    // `on` between keys: it holds above one half.
    let mut stage = Stage::new();
    stage.body("Ball", DVec3::ZERO, [0.2; 3]);
    stage.join(Joint {
        on: keys(&[[0.0, 1.0], [1.0, 0.0]]),
        ..Joint::new(JointKind::Fixed, ["world", "Ball"])
    });
    let mut play = stage.play();
    for _ in 0..49 {
        play.step(1.0 / 100.0);
    }
    assert!(play.state.solids[0].position.length() < 1e-9);
    for _ in 0..20 {
        play.step(1.0 / 100.0);
    }
    assert!(play.state.solids[0].position.y < -0.1);
}
