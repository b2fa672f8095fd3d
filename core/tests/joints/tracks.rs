//! Points on curves, surfaces and segments, and inside boxes and spheres.

use crate::{Stage, crossings};
use glam::{DQuat, DVec3};
use sinew_core::scene::{Channels, Local, Mesh};
use sinew_core::setup::{At, Joint, JointKind};
use std::f64::consts::TAU;

fn bead(stage: &mut Stage, at: DVec3) {
    stage.body("Bead", at, [0.05; 3]);
}

/// A ring of radius 1 across z, of so many points.
fn ring(points: usize) -> Vec<[f64; 3]> {
    let at = |i: usize| TAU * i as f64 / points as f64;
    (0..points).map(|i| [at(i).sin(), -at(i).cos(), 0.0]).collect()
}

#[test]
fn a_bead_on_a_ring_is_a_pendulum_of_its_curvature() {
    let mut stage = Stage::new();
    let start = 0.1_f64;
    bead(&mut stage, DVec3::new(start.sin(), -start.cos(), 0.0));
    stage.join(Joint { points: ring(96), closed: true, ..Joint::new(JointKind::Curve, ["world", "Bead"]) });
    let mut play = stage.play();
    let (mut samples, dt) = (Vec::new(), 1.0 / 480.0);
    for _ in 0..(12.0 / dt) as usize {
        play.step(dt);
        let p = play.state.solids[0].position;
        samples.push((play.state.time, p.x));
        // Catmull-Rom through 96 points is a circle to some 1e-6.
        assert!(
            (p.length() - 1.0).abs() < 1e-5 && p.z.abs() < 1e-6 && play.open() < 1e-6,
            "{p} {}",
            play.open()
        );
    }
    let zero = crossings(&samples);
    let period = 2.0 * (zero[zero.len() - 1] - zero[0]) / (zero.len() - 1) as f64;
    let exact = TAU * (1.0 / 9.81_f64).sqrt() * (1.0 + start * start / 16.0);
    assert!((period / exact - 1.0).abs() < 1e-3, "{period} {exact}");
    let last = samples[samples.len() - 1000..].iter().fold(0.0_f64, |m, s| m.max(s.1.abs()));
    assert!((last / start - 1.0).abs() < 2e-2, "kept {last} of {start}");
}

#[test]
fn a_bead_stops_at_the_ends_of_an_open_curve() {
    let mut stage = Stage::new();
    bead(&mut stage, DVec3::new(0.2, 0.0, 0.0));
    let points = vec![[0.0, 0.2, 0.0], [0.2, 0.0, 0.0], [0.5, -0.2, 0.1], [1.0, -0.6, 0.0]];
    stage.join(Joint { points, ..Joint::new(JointKind::Curve, ["world", "Bead"]) });
    for dt in [1.0 / 240.0, 1.0 / 24.0] {
        let mut play = stage.play();
        for _ in 0..(4.0 / dt) as usize {
            play.step(dt);
            assert!(play.open() < 1e-6, "{} at {}", play.open(), play.state.time);
        }
        let p = play.state.solids[0].position;
        assert!((p - DVec3::new(1.0, -0.6, 0.0)).length() < 1e-5, "{dt}: {p}");
    }
}

#[test]
fn a_curve_moves_with_its_object() {
    // A free ring around a bead, both falling: nothing happens between the two.
    let mut stage = Stage::new();
    stage.body("Ring", DVec3::new(5.0, 0.0, 0.0), [2.0, 2.0, 0.1]).velocity = Some([0.0, 3.0, 0.0]);
    bead(&mut stage, DVec3::new(6.0, 0.0, 0.0));
    stage.setup.bodies[1].velocity = Some([0.0, 3.0, 0.0]);
    stage.join(Joint { points: ring(48), closed: true, ..Joint::new(JointKind::Curve, ["Ring", "Bead"]) });
    let mut play = stage.play();
    for _ in 0..240 {
        play.step(1.0 / 240.0);
        let apart = play.state.solids[1].position - play.state.solids[0].position;
        assert!((apart - DVec3::X).length() < 1e-6, "{apart}");
    }
}

/// A ball of radius 1 of triangles.
fn ball() -> Mesh {
    let (rings, around) = (24_u32, 48_u32);
    let mut mesh = Mesh { name: "ball".into(), ..Mesh::default() };
    for i in 0..=rings {
        for k in 0..around {
            let (a, b) =
                (TAU * 0.5 * f64::from(i) / f64::from(rings), TAU * f64::from(k) / f64::from(around));
            mesh.positions.push(DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin()));
        }
    }
    for i in 0..rings {
        for k in 0..around {
            let (a, b) = (i * around + k, i * around + (k + 1) % around);
            mesh.triangles.push([a, b, a + around]);
            mesh.triangles.push([b, b + around, a + around]);
        }
    }
    mesh
}

#[test]
fn a_point_stays_on_the_surface_of_a_mesh() {
    let mut stage = Stage::new();
    bead(&mut stage, DVec3::new(0.6, 2.8, 0.0));
    stage.setup.bodies[0].velocity = Some([0.0, 0.0, 1.5]);
    stage.scene.meshes.push(ball());
    let globe = stage.node("Globe", DVec3::new(0.0, 2.0, 0.0));
    globe.mesh = Some(0);
    globe.local = Local::Channels(Channels {
        translation: DVec3::new(0.0, 2.0, 0.0),
        rotation: DQuat::from_rotation_x(0.3),
        scale: DVec3::ONE,
    });
    stage.join(Joint { mesh: Some("Globe".into()), ..Joint::new(JointKind::Surface, ["world", "Bead"]) });
    let mut play = stage.play();
    let (mut worst, mut least, mut most) = (0.0_f64, 2.0_f64, 0.0_f64);
    for _ in 0..960 {
        play.step(1.0 / 240.0);
        worst = worst.max(play.open());
        let far = (play.state.solids[0].position - DVec3::new(0.0, 2.0, 0.0)).length();
        (least, most) = (least.min(far), most.max(far));
    }
    assert!(worst < 1e-6, "{worst}");
    // A facet of 7.5 degrees is at most 0.5 % below the ball.
    assert!(least > 0.99 && most < 1.0 + 1e-3, "{least} {most}");
    assert!(play.state.solids[0].position.y < 2.0, "it slid down to the lower side");
}

#[test]
fn a_point_stays_between_the_ends_of_a_segment() {
    let mut stage = Stage::new();
    bead(&mut stage, DVec3::new(0.3, 0.0, 0.0));
    let points = vec![[0.0, 0.0, 0.0], [1.2, -0.5, 0.0]];
    stage.join(Joint { points, ..Joint::new(JointKind::Segment, ["world", "Bead"]) });
    let mut play = stage.play();
    let along = DVec3::new(1.2, -0.5, 0.0);
    for _ in 0..1200 {
        play.step(1.0 / 240.0);
        let p = play.state.solids[0].position;
        assert!(p.cross(along).length() < 1e-6 && p.dot(along) / 1.69 < 1.0 + 1e-6, "{p}");
    }
    assert!((play.state.solids[0].position - along).length() < 1e-5, "it comes to the lower end");
}

#[test]
fn a_point_stays_inside_a_box_and_a_sphere() {
    for kind in [JointKind::InsideBox, JointKind::InsideSphere] {
        let mut stage = Stage::new();
        bead(&mut stage, DVec3::new(0.1, 0.0, 0.0));
        stage.setup.bodies[0].velocity = Some([2.0, 1.0, 3.0]);
        stage.node("Middle", DVec3::ZERO);
        let mut joint = Joint::new(kind, ["world", "Bead"]);
        joint.at = Some(At::Nodes(["Middle".into(), "Bead".into()]));
        if kind == JointKind::InsideBox {
            joint.size = Some([1.0, 2.0, 0.6]);
        } else {
            joint.length = Some(0.8);
        }
        stage.join(joint);
        let mut play = stage.play();
        let mut lowest = 0.0_f64;
        for _ in 0..1200 {
            play.step(1.0 / 240.0);
            let p = play.state.solids[0].position;
            lowest = lowest.min(p.y);
            let past = match kind {
                JointKind::InsideBox => (p.abs() - DVec3::new(0.5, 1.0, 0.3)).max_element(),
                _ => p.length() - 0.8,
            };
            assert!(past < 1e-6, "{kind:?} {past}");
        }
        let ground = if kind == JointKind::InsideBox { -1.0 } else { -0.8 };
        assert!(lowest < ground + 0.1, "{kind:?}: it falls to the ground: {lowest}");
    }
}
