//! Bouncing: heights, energy, momentum, and nothing passes through.

use crate::{Form, Run, Thing, rig};
use glam::DVec3;

const DOWN: DVec3 = DVec3::new(0.0, -9.81, 0.0);

#[test]
fn a_ball_comes_back_to_e_squared_of_its_height() {
    for (e, fps) in [(0.5, 60.0), (0.8, 60.0), (0.8, 24.0), (1.0, 60.0), (0.9, 47.0)] {
        let mut ball = Thing::new(Form::Ball(0.1), DVec3::new(0.0, 1.1, 0.0));
        ball.bounce = e;
        let mut run = Run::new(rig(&[ball, Thing::fixed(Form::Floor, DVec3::ZERO)], DOWN, fps, 1));
        let fall = (2.0 / 9.81_f64).sqrt();
        let steps = ((fall + 2.0 * e * fall) * fps) as usize;
        let mut highest = 0.0_f64;
        for i in 0..steps {
            run.step(1.0 / fps);
            if i as f64 / fps > fall {
                let s = &run.state.solids[0];
                // Where it would come to from here.
                if s.velocity.y > 0.0 {
                    highest = highest.max(s.position.y + s.velocity.y * s.velocity.y / (2.0 * 9.81));
                }
            }
        }
        let height = highest - 0.1;
        println!("e {e} at {fps}: {height:.5} of {:.5}", e * e);
        assert!((height - e * e).abs() < 0.02 * e * e, "e {e} at {fps}: {height}");
    }
}

#[test]
fn balls_in_a_closed_box_keep_their_energy() {
    // Walls of a metre, twenty balls, no gravity.
    let mut things = Vec::new();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut at = DVec3::ZERO;
            at[axis] = 1.5 * side;
            let mut wall = Thing::fixed(Form::Box(DVec3::ONE), at);
            wall.bounce = 1.0;
            wall.friction = 0.0;
            things.push(wall);
        }
    }
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31) * 2.0 - 1.0
    };
    for i in 0..20 {
        let cell = DVec3::new(f64::from(i % 3) - 1.0, f64::from(i / 3 % 3) - 1.0, f64::from(i / 9) - 1.0);
        let mut ball = Thing::new(Form::Ball(0.06), cell * 0.3);
        ball.velocity = DVec3::new(random(), random(), random()) * 4.0;
        ball.mass = Some(1.0 + 0.5 * random());
        ball.bounce = 1.0;
        ball.friction = 0.0;
        things.push(ball);
    }
    let mut run = Run::new(rig(&things, DVec3::ZERO, 60.0, 1));
    let energy = |run: &Run| -> f64 {
        run.state
            .solids
            .iter()
            .zip(&run.rig.solids)
            .map(|(s, b)| 0.5 * b.mass * s.velocity.length_squared())
            .sum()
    };
    let start = energy(&run);
    let (mut bounces, mut last) = (0, run.state.clone());
    let mut worst = (0.0_f64, 0.0_f64);
    let mut furthest = 0.0_f64;
    while bounces < 1000 {
        run.step(1.0 / 60.0);
        bounces +=
            run.state.solids.iter().zip(&last.solids).filter(|(a, b)| a.velocity != b.velocity).count();
        last = run.state.clone();
        let change = energy(&run) / start - 1.0;
        worst = (worst.0.max(change), worst.1.min(change));
        for i in 0..20 {
            furthest = furthest.max(run.at(i).abs().max_element());
        }
    }
    println!("energy {worst:?}, furthest {furthest}");
    assert!(worst.0 < 1e-3, "{worst:?}");
    assert!(worst.1 > -3e-2, "{worst:?}");
    assert!(furthest < 0.5 - 0.06 + 1e-3 * 0.12, "{furthest}");
}

#[test]
fn a_small_fast_ball_does_not_pass_a_thin_wall() {
    for slant in [0.0, 0.3] {
        for fps in [24.0, 60.0] {
            let mut ball = Thing::new(Form::Ball(0.005), DVec3::new(-1.234, 0.0, 0.0));
            ball.velocity = DVec3::new(200.0, 200.0 * slant, 0.0);
            let wall = Thing::fixed(Form::Box(DVec3::new(0.0005, 10.0, 10.0)), DVec3::ZERO);
            let mut run = Run::new(rig(&[ball, wall], DVec3::ZERO, fps, 1));
            for _ in 0..20 {
                run.step(1.0 / fps);
                assert!(run.at(0).x < -0.0055 + 1e-5, "{slant} {fps} {}", run.at(0));
            }
        }
    }
}

#[test]
fn momenta_are_kept_when_things_collide() {
    let mut a = Thing::new(Form::Ball(0.1), DVec3::new(-0.5, 0.03, 0.0));
    a.velocity = DVec3::new(3.0, 0.0, 0.2);
    let mut b = Thing::new(Form::Ball(0.15), DVec3::new(0.4, 0.0, 0.02));
    b.mass = Some(3.0);
    b.spin = DVec3::new(1.0, 4.0, -2.0);
    let mut c = Thing::new(Form::Box(DVec3::new(0.1, 0.2, 0.15)), DVec3::new(0.9, 0.1, 0.05));
    (c.spin, c.bounce) = (DVec3::new(-0.5, 0.3, 0.4), 0.5);
    let mut run = Run::new(rig(&[a, b, c], DVec3::ZERO, 60.0, 1));
    let total = |run: &Run| {
        let (mut p, mut l) = (DVec3::ZERO, DVec3::ZERO);
        for (s, b) in run.state.solids.iter().zip(&run.rig.solids) {
            p += s.velocity * b.mass;
            l += s.position.cross(s.velocity * b.mass) + s.momentum;
        }
        (p, l)
    };
    let start = total(&run);
    let first = run.state.solids[1].velocity;
    for _ in 0..120 {
        run.step(1.0 / 60.0);
    }
    let end = total(&run);
    println!("{:e} {:e}", (end.0 - start.0).length(), (end.1 - start.1).length());
    assert_ne!(run.state.solids[1].velocity, first);
    assert!((end.0 - start.0).length() < 1e-9 * start.0.length());
    assert!((end.1 - start.1).length() < 1e-9 * start.1.length(), "{} {}", start.1, end.1);
}
