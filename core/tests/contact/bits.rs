//! The same bits in every build.

use crate::jointed::chain;
use crate::soft::soft;
use crate::stack::heap;
use crate::{Form, Run, Thing, rig};
use glam::DVec3;

const DOWN: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// All places and motions of the first `count` bodies as one number (FNV-1a).
fn digest(run: &Run, count: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for s in &run.state.solids[..count] {
        let turned = s.orientation.to_array();
        let all = [s.position, s.velocity, s.momentum].into_iter().flat_map(|v| v.to_array());
        for byte in all.chain(turned).flat_map(|x| x.to_bits().to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

fn run_on(mut run: Run, steps: usize) -> Run {
    for _ in 0..steps {
        run.step(1.0 / 60.0);
    }
    run
}

fn ball() -> Run {
    let mut ball = Thing::new(Form::Ball(0.1), DVec3::new(0.0, 1.0, 0.0));
    (ball.bounce, ball.velocity, ball.spin) = (0.7, DVec3::new(1.0, 0.0, 0.3), DVec3::new(0.0, 3.0, 5.0));
    Run::new(rig(&[ball, Thing::fixed(Form::Floor, DVec3::ZERO)], DOWN, 60.0, 1))
}

fn stack() -> Run {
    let mut things: Vec<Thing> = (0..5)
        .map(|i| {
            Thing::new(
                Form::Box(DVec3::splat(0.1)),
                DVec3::new(0.01 * f64::from(i), 0.1 + 0.25 * f64::from(i), 0.0),
            )
        })
        .collect();
    things.push(Thing::fixed(Form::Floor, DVec3::ZERO));
    Run::new(rig(&things, DOWN, 60.0, 1))
}

fn squash() -> Run {
    let ball = soft(Form::Ball(0.1), DVec3::new(0.01, 0.5, 0.0), 5e4);
    let block = soft(Form::Box(DVec3::new(0.3, 0.1, 0.3)), DVec3::new(0.0, 0.1, 0.0), 2e5);
    Run::new(rig(&[ball, block, Thing::fixed(Form::Floor, DVec3::ZERO)], DOWN, 60.0, 1))
}

/// What these scenes come to on any machine and in any build. A change of the method changes them, and nothing else may.
#[test]
fn five_scenes_have_the_digits_they_had() {
    let all = [
        ("ball", digest(&run_on(ball(), 120), 1)),
        ("stack", digest(&run_on(stack(), 120), 5)),
        ("heap", digest(&run_on(Run::new(rig(&heap(32), DOWN, 60.0, 1)), 120), 32)),
        ("chain", digest(&run_on(chain(5, 0.5), 120), 5)),
        ("squash", digest(&run_on(squash(), 120), 2)),
    ];
    let told: Vec<String> = all.iter().map(|(name, d)| format!("{name} {d:016x}")).collect();
    assert_eq!(told, GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "ball 1c8706a78177aa74",
    "stack 81fdfb34549344bb",
    "heap d45075968709569d",
    "chain 43bebcce80e80f15",
    "squash 57c850fac2439827",
];
