//! Coatings: they carry weights by pressure, bounce, and give way to the one surface between them.

use crate::{Form, Run, Thing, rig};
use glam::DVec3;
use sinew_core::coating::{force, patch};
use sinew_core::rig::Carrier;
use sinew_core::scene::Placement;
use sinew_core::setup::Coating;

const DOWN: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// The force of the pressure between two colliders where they are now.
fn pressed(run: &Run, a: usize, b: usize) -> DVec3 {
    let at = |c: usize| {
        let collider = &run.rig.colliders.all[c];
        let carrier = match collider.carrier {
            Carrier::Solid(s) => run.state.solids[s].placement(),
            _ => Placement::IDENTITY,
        };
        carrier.then(&collider.place)
    };
    let mut spots = Vec::new();
    patch(&run.rig.colliders.all[a], &at(a), &run.rig.colliders.all[b], &at(b), &mut spots);
    force(&spots, DVec3::ZERO).0
}

pub fn soft(form: Form, at: DVec3, stiffness: f64) -> Thing {
    let mut thing = Thing::new(form, at);
    thing.coating = Some(Coating { thickness: Some(0.08), stiffness: Some(stiffness), damping: Some(0.3) });
    thing
}

#[test]
fn a_squashed_ball_at_rest_carries_its_weight() {
    for (stiffness, fps) in [(2e4, 96.0), (1e5, 60.0), (1e5, 24.0), (1e6, 60.0)] {
        let mut ball = soft(Form::Ball(0.1), DVec3::new(0.0, 0.2, 0.0), stiffness);
        ball.mass = Some(2.0);
        let floor = Thing::fixed(Form::Floor, DVec3::ZERO);
        let mut run = Run::new(rig(&[ball, floor], DOWN, fps, 1));
        for _ in 0..(6.0 * fps) as usize {
            run.step(1.0 / fps);
        }
        let (s, weight) = (&run.state.solids[0], 2.0 * 9.81);
        let push = -pressed(&run, 0, 1).y;
        println!(
            "k {stiffness:e}: at {:.5}, speed {:e}, {push:.4} of {weight}",
            s.position.y,
            s.velocity.length()
        );
        assert!(s.velocity.length() < 1e-4, "{}", s.velocity);
        assert!((push / weight - 1.0).abs() < 0.01, "{push} {weight}");
        assert!(s.position.y < 0.0999);
    }
}

#[test]
fn a_soft_ball_on_a_soft_box_rests_and_keeps_momentum_when_it_hits_another() {
    let ball = soft(Form::Ball(0.1), DVec3::new(0.01, 0.5, 0.0), 5e4);
    let block = soft(Form::Box(DVec3::new(0.3, 0.1, 0.3)), DVec3::new(0.0, 0.1, 0.0), 2e5);
    let floor = Thing::fixed(Form::Floor, DVec3::ZERO);
    let mut run = Run::new(rig(&[ball, block, floor], DOWN, 96.0, 1));
    for _ in 0..96 * 8 {
        run.step(1.0 / 96.0);
    }
    for s in &run.state.solids {
        println!("{:?} {:?}", s.position, s.velocity);
    }
    let push = pressed(&run, 0, 1).length();
    assert!((push / 9.81 - 1.0).abs() < 0.01, "{push}");
    let below = pressed(&run, 1, 2).length();
    assert!((below / (2.0 * 9.81) - 1.0).abs() < 0.01, "{below}");

    let mut a = soft(Form::Ball(0.1), DVec3::new(-0.5, 0.02, 0.0), 5e4);
    a.velocity = DVec3::new(2.0, 0.0, 0.0);
    let b = soft(Form::Ball(0.15), DVec3::ZERO, 2e4);
    let mut run = Run::new(rig(&[a, b], DVec3::ZERO, 60.0, 1));
    for _ in 0..60 {
        run.step(1.0 / 60.0);
    }
    let total = run.state.solids[0].velocity + run.state.solids[1].velocity;
    println!("{:?} {:?}", run.state.solids[0].velocity, run.state.solids[1].velocity);
    assert!((total - DVec3::new(2.0, 0.0, 0.0)).length() < 1e-9, "{total}");
    assert!(run.state.solids[1].velocity.x > 1.0);
}
