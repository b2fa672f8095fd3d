//! What is put on top of each other stays there.

use crate::{Form, Run, Thing, rig};
use glam::DVec3;
use sinew_core::simulate::Touched;

#[test]
fn ten_boxes_stand_for_ten_seconds() {
    let half = DVec3::splat(0.1);
    let mut things: Vec<Thing> = (0..10)
        .map(|i| Thing::new(Form::Box(half), DVec3::new(0.0, 0.1 + 0.2 * f64::from(i), 0.0)))
        .collect();
    things.push(Thing::fixed(Form::Floor, DVec3::ZERO));
    let mut run = Run::new(rig(&things, DVec3::new(0.0, -9.81, 0.0), 60.0, 1));
    let start = run.at(9);
    let mut worst = 0.0_f64;
    for _ in 0..600 {
        run.step(1.0 / 60.0);
        worst = worst.max((run.at(9) - start).length());
    }
    println!("top moved {worst:e}");
    assert!(worst < 1e-3, "{worst}");
}

/// Balls and cubes, in turn, over a floor between walls.
pub fn heap(count: usize) -> Vec<Thing> {
    bin(count, 4)
}

/// The same, with so many beside each other.
pub fn bin(count: usize, side: usize) -> Vec<Thing> {
    let mut things = Vec::new();
    let (wide, middle) = (0.15 * side as f64, 0.5 * (side - 1) as f64);
    for i in 0..count {
        let (layer, c) = (i / (side * side), i % (side * side));
        let cell = DVec3::new((c % side) as f64 - middle, 0.0, (c / side) as f64 - middle);
        let jitter = DVec3::new(((i * 7) % 5) as f64, 0.0, ((i * 3) % 5) as f64) * 0.008;
        let at = cell * 0.29 + jitter + DVec3::Y * (0.3 + 0.29 * layer as f64);
        things.push(match i % 3 {
            0 => Thing::new(Form::Box(DVec3::splat(0.1)), at),
            _ => Thing::new(Form::Ball(0.1), at),
        });
    }
    things.push(Thing::fixed(Form::Box(DVec3::new(3.0, 0.5, 3.0)), DVec3::new(0.0, -0.5, 0.0)));
    for (x, z) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
        let at = DVec3::new(x, 0.0, z) * (wide + 0.5) + DVec3::Y * 3.0;
        things.push(Thing::fixed(Form::Box(DVec3::new(0.5 + z.abs(), 3.0, 0.5 + x.abs())), at));
    }
    things
}

#[test]
fn a_heap_of_balls_and_cubes_settles_without_overlap() {
    let mut run = Run::new(rig(&heap(64), DVec3::new(0.0, -9.81, 0.0), 60.0, 1));
    let mut worst = 0.0_f64;
    for _ in 0..240 {
        run.step(1.0 / 60.0);
        worst = worst.max(run.overlap());
    }
    let speed = run.state.solids.iter().fold(0.0_f64, |m, s| m.max(s.velocity.length()));
    println!("overlap {worst:e}, speed {speed:e}");
    assert!(worst < 1e-2, "{worst}");
}

/// So many contacts that they are solved four at a time, and pushed apart as planes.
#[test]
fn a_crowd_settles_without_overlap_and_bears_its_weight() {
    let count = 500;
    let mut run = Run::new(rig(&bin(count, 8), DVec3::new(0.0, -9.81, 0.0), 60.0, 1));
    let (mut worst, mut mean) = (0.0_f64, DVec3::ZERO);
    for frame in 0..240 {
        run.step(1.0 / 60.0);
        if frame % 10 == 9 {
            worst = worst.max(run.overlap());
        }
        // What bears on the floor and the walls, which come last.
        let stands = |t: &&Touched| t.colliders[1] as usize >= count;
        let forces = run.state.touched.iter().filter(stands).map(|t| t.normal * t.load + t.rub);
        if frame >= 180 {
            mean += forces.sum::<DVec3>() / 60.0;
        }
    }
    let off = (mean.y / (-9.81 * count as f64) - 1.0).abs();
    let squares: f64 = run.state.solids.iter().map(|s| s.velocity.length_squared()).sum();
    let speed = (squares / count as f64).sqrt();
    println!("{} touch; overlap {worst:e}, weight off by {off:e}, speed {speed:e}", run.state.touched.len());
    assert!(run.state.touched.len() > 1000);
    assert!(worst < 5e-3, "{worst}");
    assert!(off < 5e-3, "{mean}");
    assert!(speed < 0.02, "{speed}");
}

#[test]
fn what_has_settled_stays_to_the_last_digit_and_wakes_when_hit() {
    let half = DVec3::splat(0.1);
    let mut things: Vec<Thing> = (0..3)
        .map(|i| Thing::new(Form::Box(half), DVec3::new(0.0, 0.12 + 0.23 * f64::from(i), 0.0)))
        .collect();
    let mut ball = Thing::new(Form::Ball(0.05), DVec3::new(-6.0, 0.05, 0.0));
    (ball.velocity, ball.spin) = (DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 0.0, -40.0));
    things.push(ball);
    things.push(Thing::fixed(Form::Floor, DVec3::ZERO));
    let mut run = Run::new(rig(&things, DVec3::new(0.0, -9.81, 0.0), 60.0, 1));
    for _ in 0..120 {
        run.step(1.0 / 60.0);
    }
    let settled = run.state.solids[..3].to_vec();
    for _ in 0..30 {
        run.step(1.0 / 60.0);
    }
    for (s, before) in run.state.solids[..3].iter().zip(&settled) {
        assert_eq!((s.position, s.orientation), (before.position, before.orientation));
    }
    // The ball arrives after about three seconds.
    for _ in 0..120 {
        run.step(1.0 / 60.0);
    }
    assert_ne!(run.state.solids[0].position, settled[0].position);
}
