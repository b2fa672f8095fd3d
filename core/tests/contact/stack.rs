//! What is put on top of each other stays there.

use crate::{Form, Run, Thing, rig};
use glam::DVec3;

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
