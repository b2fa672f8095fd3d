//! The same bits in every build.

use crate::jointed::{chain, chains};
use crate::soft::soft;
use crate::stack::{bin, heap};
use crate::{Form, Run, Thing, rig};
use glam::DVec3;
use sinew_core::simulate::{Leg, Workspace, advance};

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

/// Things far away have no part in what happens here: not their halving, nor their number, nor their rest.
#[test]
fn what_happens_far_away_changes_no_digit() {
    let here = heap(32);
    let mut both = here.clone();
    for i in 0..4 {
        let at = DVec3::new(900.0 + 0.05 * f64::from(i), 0.2 + 0.5 * f64::from(i), 0.0);
        let mut thing = Thing::new(Form::Box(DVec3::splat(0.1)), at);
        (thing.velocity, thing.bounce) = (DVec3::new(0.0, -6.0, 0.0), 0.8);
        both.push(thing);
    }
    both.push(Thing::fixed(Form::Box(DVec3::new(3.0, 0.5, 3.0)), DVec3::new(900.0, -0.5, 0.0)));
    let run = |things: &[Thing]| Run::new(rig(things, DOWN, 60.0, 1));
    let (mut alone, mut among) = (run(&here), run(&both));
    for step in 0..240 {
        alone.step(1.0 / 60.0);
        among.step(1.0 / 60.0);
        assert_eq!(digest(&alone, 32), digest(&among, 32), "step {step}");
    }
}

/// Two chains, each with its own joints to close and floor to lie on.
#[test]
fn what_other_joints_do_changes_no_digit() {
    let (mut alone, mut among) = (chain(5, 0.5), chains(&[(5, 0.5), (9, 0.4)]));
    for step in 0..120 {
        alone.step(1.0 / 60.0);
        among.step(1.0 / 60.0);
        assert_eq!(digest(&alone, 5), digest(&among, 5), "step {step}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_digits() {
    let mut things = Vec::new();
    for k in 0..12 {
        things.extend(heap(32).into_iter().map(|t| Thing { at: t.at + DVec3::X * 9.0 * f64::from(k), ..t }));
    }
    let rig = rig(&things, DOWN, 60.0, 1);
    let all = [1, 2, 4].map(|threads| {
        let mut run = Run::new(rig.clone());
        run.work = Workspace::with_threads(&run.rig, threads);
        let run = run_on(run, 120);
        (digest(&run, run.rig.solids.len()), run.state)
    });
    assert_eq!(all[0].0, all[1].0);
    assert_eq!(all[0].1, all[1].1);
    assert_eq!(all[0].1, all[2].1);
}

/// Heaps on floors, and balls so fast that they come from one to the next within a few frames, scattering them: what is far
/// apart when a frame begins is not when it ends.
fn traffic() -> Run {
    let mut things = Vec::new();
    for k in 0..6 {
        let aside = DVec3::X * 4.0 * f64::from(k);
        // Without the walls.
        things.extend(heap(12).into_iter().take(13).map(|t| Thing { at: t.at + aside, ..t }));
        let mut ball = Thing::new(Form::Ball(0.15), aside + DVec3::new(-2.0, 0.4, 0.02 * f64::from(k)));
        (ball.bounce, ball.velocity) = (0.6, DVec3::new(40.0 + 15.0 * f64::from(k), 1.0, 0.0));
        things.push(ball);
    }
    Run::new(rig(&things, DOWN, 30.0, 8))
}

/// A ball knocks another against a post, all within a frame, at whose start nobody heads for the post; and a third far away.
fn ricochet() -> Run {
    let ball = |at: DVec3| Thing { bounce: 0.6, ..Thing::new(Form::Ball(0.1), at) };
    let knocks = ball(DVec3::new(-0.5, 0.0, 0.1));
    let things = [
        ball(DVec3::ZERO),
        Thing { velocity: DVec3::X * 30.0, ..knocks },
        ball(DVec3::X * 50.0),
        Thing::fixed(Form::Box(DVec3::new(0.05, 0.5, 0.05)), DVec3::new(0.29, 0.0, -0.17)),
    ];
    Run::new(rig(&things, DVec3::ZERO, 30.0, 8))
}

#[test]
fn steps_at_once_give_the_digits_of_steps_one_by_one() {
    const STEPS: usize = 8;
    let dt = 1.0 / 240.0;
    let chains = chains(&[(5, 0.5), (9, 0.4), (7, 0.45)]);
    for (scene, frames) in [(traffic(), 45), (ricochet(), 3), (chains, 30)] {
        let [mut single, mut one, mut two, mut three] = [0, 1, 2, 3].map(|threads| {
            let mut run = Run::new(scene.rig.clone());
            run.work = Workspace::with_threads(&run.rig, threads);
            run
        });
        for frame in 0..frames {
            single.state.begin_frame();
            (0..STEPS).for_each(|_| single.step(dt));
            for run in [&mut one, &mut two, &mut three] {
                run.state.begin_frame();
                let legs: Vec<Leg> = Leg::evenly(run.state.time, dt, STEPS).collect();
                advance(&run.rig, &mut run.state, &mut run.work, &legs);
                single.state.touched.sort_by_key(|t| (t.colliders, t.nth));
                single
                    .state
                    .strikes
                    .sort_by(|a, b| a.time.total_cmp(&b.time).then(a.colliders.cmp(&b.colliders)));
                assert_eq!(single.state, run.state, "frame {frame}");
            }
        }
    }
}

/// What these scenes come to on any machine and in any build. A change of the method changes them, and nothing else may.
#[test]
fn six_scenes_have_the_digits_they_had() {
    let all = [
        ("ball", digest(&run_on(ball(), 120), 1)),
        ("stack", digest(&run_on(stack(), 120), 5)),
        ("heap", digest(&run_on(Run::new(rig(&heap(32), DOWN, 60.0, 1)), 120), 32)),
        ("chain", digest(&run_on(chain(5, 0.5), 120), 5)),
        ("squash", digest(&run_on(squash(), 120), 2)),
        ("crowd", digest(&run_on(Run::new(rig(&bin(500, 8), DOWN, 60.0, 1)), 90), 500)),
    ];
    let told: Vec<String> = all.iter().map(|(name, d)| format!("{name} {d:016x}")).collect();
    assert_eq!(told, GOLDEN);
}

const GOLDEN: [&str; 6] = [
    "ball cf2c0abecf272543",
    "stack eb4e3968cf440383",
    "heap d1d999c510ccca8c",
    "chain af67d6d6492274c7",
    "squash 30bd07fb2b410136",
    "crowd 46a86081c585eb3d",
];
