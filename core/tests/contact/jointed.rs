//! Joints and contacts together: chains fall, lie and are pushed, and neither open nor sink.

use crate::{Form, Run, Thing, jointed};
use glam::{DQuat, DVec3};
use sinew_core::setup::{Joint, JointFrame, JointKind};

const DOWN: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// Capsules end to end along x, at a height, with a floor.
pub fn chain(links: usize, height: f64) -> Run {
    chains(&[(links, height)])
}

/// Several chains of so many links at these heights, ten apart.
pub fn chains(all: &[(usize, f64)]) -> Run {
    let (length, radius) = (0.2, 0.04);
    let half = 0.5 * length + radius;
    let frame = |y: f64| JointFrame { position: [0.0, y, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
    let (mut things, mut joints) = (Vec::new(), Vec::new());
    for (k, &(links, height)) in all.iter().enumerate() {
        let first = things.len();
        for i in 0..links {
            let at = DVec3::new(2.0 * half * i as f64, height, 10.0 * k as f64);
            let mut link = Thing::new(Form::Capsule(length, radius), at);
            link.turn = DQuat::from_rotation_z(0.5 * std::f64::consts::PI);
            things.push(link);
        }
        for i in first + 1..first + links {
            let mut joint = Joint::new(JointKind::Universal, [&format!("T{}", i - 1), &format!("T{i}")]);
            joint.frames = Some([frame(-half), frame(half)]);
            joints.push(joint);
        }
    }
    things.push(Thing::fixed(Form::Floor, DVec3::ZERO));
    Run::new(jointed(&things, &joints, DOWN, 24.0, 4))
}

fn open(run: &Run) -> f64 {
    run.work.open_joints().iter().fold(0.0, |m, o| m.max(o.0))
}

#[test]
fn a_chain_falls_and_comes_to_rest() {
    for links in [2, 5, 9] {
        let mut run = chain(links, 0.5);
        let (mut opened, mut sunk) = (0.0_f64, 0.0_f64);
        for _ in 0..96 * 3 {
            run.step(1.0 / 96.0);
            opened = opened.max(open(&run));
            sunk = sunk.max(run.overlap());
        }
        let speed = run.state.solids.iter().fold(0.0_f64, |m, s| m.max(s.velocity.length()));
        println!(
            "{links} links: open {opened:e}, sunk {sunk:e}, speed {speed:e}, halvings {}",
            run.state.halvings()
        );
        assert!(opened < 1e-6 * 0.28, "{opened}");
        assert!(sunk < 1e-3, "{sunk}");
        assert!(speed < 1e-3, "{speed}");
    }
}
