//! Muscles between two bodies: a body that is guided against the body it is joined to turns both.

use crate::{Play, Stage, crossings};
use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Clip, Property};
use sinew_core::setup::{At, Behaviour, Joint, JointKind, Parts, Preset, Space};
use std::f64::consts::TAU;

/// A child of 1 kg joined to a parent of 2 kg, keyed to turn about z by this angle against it.
fn pair(kind: JointKind, offset: f64, angle: impl Fn(f64) -> f64, seconds: f64) -> Stage {
    let mut stage = Stage::weightless();
    stage.body("Parent", DVec3::ZERO, [1.0, 0.4, 0.3]).mass = Some(2.0);
    stage.body("Child", DVec3::X * 2.0 * offset, [1.0, 0.3, 0.2]);
    stage.scene.nodes[1].parent = Some(0);
    stage.node("Hinge", DVec3::X * offset);
    let count = (seconds * 240.0) as usize;
    let times: Vec<f64> = (0..=count).map(|i| i as f64 / 240.0).collect();
    let values = times.iter().flat_map(|t| DQuat::from_rotation_z(angle(*t)).to_array()).collect();
    let curve = Curve::new(Kind::Rotation, 4, times, values, Segments::Linear).unwrap();
    let channel = Channel { node: 1, property: Property::Rotation, curve };
    stage.scene.clips.push(Clip { name: "Wave".into(), channels: vec![channel] });
    let child = &mut stage.setup.bodies[1];
    child.behaviour = Behaviour::Guided;
    child.guide.space = Space::Parent;
    child.guide.follow = Parts::Orientation;
    child.actuator.preset = Preset::Subtle;
    for body in &mut stage.setup.bodies {
        (body.velocity, body.spin) = (Some([0.0; 3]), Some([0.0; 3]));
    }
    stage.join(Joint {
        at: Some(At::Node("Hinge".into())),
        axis: Some([0.0, 0.0, 1.0]),
        ..Joint::new(kind, ["Parent", "Child"])
    });
    stage
}

/// The turn of the child against the parent, about z.
fn relative(play: &Play) -> f64 {
    let q = play.node(0).1.conjugate() * play.node(1).1;
    2.0 * q.z.atan2(q.w)
}

#[test]
fn a_muscle_turns_both_and_the_whole_not_at_all() {
    for kind in [JointKind::Universal, JointKind::Pin] {
        for offset in [0.0, 0.5] {
            let wave = |t: f64| 0.5 * (1.0 - (3.0 * t).cos());
            let stage = pair(kind, offset, wave, 4.0);
            let mut play = stage.play();
            let (mut spun, mut off) = (0.0_f64, 0.0_f64);
            for _ in 0..480 {
                play.step(1.0 / 120.0);
                spun = spun.max(play.momentum().length());
                off = off.max((relative(&play) - wave(play.state.time)).abs());
                assert!(play.open() < 1e-6);
            }
            assert!(spun < 1e-9, "{kind:?} {offset}: {spun}");
            assert!(off < 0.05, "{kind:?} {offset}: off by {off}");
            assert!(play.turn(0, DVec3::Z).abs() > 0.01, "the parent turns, too");
        }
    }
}

#[test]
fn no_gain_makes_it_explode() {
    for factor in [1e2, 1e4, 1e6] {
        for damping in [0.0, 1.0, 30.0] {
            let wave = |t: f64| 0.5 * (1.0 - (3.0 * t).cos());
            let mut stage = pair(JointKind::Universal, 0.5, wave, 4.0);
            let actuator = &mut stage.setup.bodies[1].actuator;
            actuator.alpha = Some((2.0 * factor).into());
            actuator.damping = Some(damping.into());
            let mut play = stage.play();
            let mut off = 0.0_f64;
            for _ in 0..96 {
                play.step(1.0 / 24.0);
                off = off.max((relative(&play) - wave(play.state.time)).abs());
                let fastest = play.spin(0).length().max(play.spin(1).length());
                assert!(fastest < 20.0, "{factor} {damping}: {fastest} rad/s at {}", play.state.time);
                assert!(play.momentum().length() < 1e-6, "{}", play.momentum());
            }
            assert!(off < 0.1, "{factor} {damping}: off by {off}");
        }
    }
}

#[test]
fn a_weak_muscle_swings_like_an_oscillator_of_both_inertias() {
    let (alpha, damping, relaxation) = (0.0425, 0.1, 1.0 / 24.0);
    let mut stage = pair(JointKind::Universal, 0.0, |_| 0.0, 1.0);
    let actuator = &mut stage.setup.bodies[1].actuator;
    actuator.alpha = Some(alpha.into());
    actuator.damping = Some(damping.into());
    actuator.compensation = Some(0.0.into());
    actuator.keep_up = Some(0.0.into());
    let mut play = stage.play();
    let start = 0.3;
    let s = &mut play.state.solids[1];
    s.orientation = sinew_core::rotation::exp(DVec3::Z * start) * s.orientation;
    let about_z = |i: usize| {
        let size: [f64; 2] = if i == 0 { [1.0, 0.4] } else { [1.0, 0.3] };
        play.rig.solids[i].mass * (size[0] * size[0] + size[1] * size[1]) / 12.0
    };
    // T = -I_child (k e + c e'), on both: e'' = T (1 / I_child + 1 / I_parent).
    let share = 1.0 + about_z(1) / about_z(0);
    let k = 2.0 * alpha / (relaxation * relaxation) * share;
    let c = 2.0 * damping * (2.0_f64 * alpha).sqrt() / relaxation * share;
    let (decay, w) = (0.5 * c, (k - 0.25 * c * c).sqrt());
    let (mut worst, mut samples) = (0.0_f64, Vec::new());
    for _ in 0..720 {
        play.step(1.0 / 240.0);
        let t = play.state.time;
        let exact = start * (-decay * t).exp() * ((w * t).cos() + decay / w * (w * t).sin());
        worst = worst.max((relative(&play) - exact).abs());
        samples.push((t, relative(&play)));
        assert!(play.momentum().length() < 1e-9);
    }
    assert!(worst < 1e-3 * start, "{worst}");
    let zero = crossings(&samples);
    let period = 2.0 * (zero[zero.len() - 1] - zero[0]) / (zero.len() - 1) as f64;
    assert!((period * w / TAU - 1.0).abs() < 1e-3, "{period}");
}

#[test]
fn a_weak_muscle_reports_no_more_than_its_strength() {
    let mut stage = pair(JointKind::Pin, 0.5, |t| if t < 0.5 { 0.0 } else { 2.0 }, 3.0);
    stage.setup.bodies[1].actuator.max_torque = Some(sinew_core::setup::Limit::Absolute(0.2.into()));
    let mut play = stage.play();
    let mut most = 0.0_f64;
    for _ in 0..300 {
        play.state.begin_frame();
        play.step(1.0 / 120.0);
        most = most.max(play.state.solids[1].torque.strongest.length());
        assert!(play.momentum().length() < 1e-9, "{}", play.momentum());
    }
    assert!(most > 0.19 && most < 0.2 * 1.8, "{most}");
}
