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
    leaning(all, 0.0)
}

/// The same, each leaning up by an angle (rad) from its first link on.
fn leaning(all: &[(usize, f64)], angle: f64) -> Run {
    let way = DVec3::new(libm::cos(angle), libm::sin(angle), 0.0);
    let (length, radius) = (0.2, 0.04);
    let half = 0.5 * length + radius;
    let frame = |y: f64| JointFrame { position: [0.0, y, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
    let (mut things, mut joints) = (Vec::new(), Vec::new());
    for (k, &(links, height)) in all.iter().enumerate() {
        let first = things.len();
        for i in 0..links {
            let at = DVec3::new(0.0, height, 10.0 * k as f64) + way * (2.0 * half * i as f64);
            let mut link = Thing::new(Form::Capsule(length, radius), at);
            link.turn = DQuat::from_rotation_z(0.5 * std::f64::consts::PI + angle);
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

/// A link that is pushed out of the floor has the others behind it, which would take it back.
#[test]
fn links_are_not_pushed_back_into_the_floor_however_long_the_step() {
    for rate in [240, 60, 24, 10] {
        let mut run = leaning(&[(9, 0.3)], 1.2);
        let (mut opened, mut sunk) = (0.0_f64, 0.0_f64);
        for _ in 0..2 * rate {
            run.step(1.0 / f64::from(rate));
            opened = opened.max(open(&run));
            sunk = sunk.max(run.overlap());
        }
        println!("{rate} steps/s: open {opened:e}, sunk {sunk:e}, halvings {}", run.state.halvings());
        assert!(opened < 1e-6 * 0.28, "{opened} at {rate}");
        assert!(sunk < 5e-4, "{sunk} at {rate}");
    }
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

/// Balls of these masses in a row along x, held together by fixed joints and a thousandth apart, and another that comes
/// at the first. Returns all velocities along x once it has hit.
fn struck_row(masses: &[f64], hammer: f64, bounce: f64) -> Vec<f64> {
    let pitch = 0.201;
    let mut things: Vec<Thing> = (0..masses.len())
        .map(|i| Thing {
            mass: Some(masses[i]),
            bounce,
            friction: 0.0,
            ..Thing::new(Form::Ball(0.1), DVec3::X * (pitch * i as f64))
        })
        .collect();
    let joints: Vec<Joint> = (1..masses.len())
        .map(|i| {
            let frame = |x: f64| JointFrame { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
            let mut joint = Joint::new(JointKind::Fixed, [&format!("T{}", i - 1), &format!("T{i}")]);
            joint.frames = Some([frame(0.5 * pitch), frame(-0.5 * pitch)]);
            joint
        })
        .collect();
    things.push(Thing {
        mass: Some(hammer),
        velocity: DVec3::X,
        bounce,
        friction: 0.0,
        ..Thing::new(Form::Ball(0.1), DVec3::X * -0.25)
    });
    let mut run = Run::new(jointed(&things, &joints, DVec3::ZERO, 24.0, 4));
    for _ in 0..24 {
        run.step(1.0 / 96.0);
    }
    run.state.solids.iter().map(|s| s.velocity.x).collect()
}

/// What joints hold together answers to a blow as one: by all its mass, at once.
#[test]
fn a_blow_moves_all_that_joints_hold_together() {
    for (masses, hammer) in
        [(&[1.0, 1.0][..], 1.0), (&[0.1, 5.0, 1.0], 2.0), (&[5.0, 0.1, 0.1, 0.1, 3.0], 1.0)]
    {
        let all: f64 = masses.iter().sum();
        let one = hammer / (hammer + all);
        let told = struck_row(masses, hammer, 0.0);
        for (i, v) in told.iter().enumerate() {
            assert!((v - one).abs() < 1e-6, "{masses:?}: {i} moves at {v}, all at {one}");
        }
    }
}

/// A flap on a pin beside a post falls against it, or through it.
#[test]
fn what_is_joined_touches_only_where_its_joint_says_so() {
    let swung = |collide: bool| {
        let post = Thing::fixed(Form::Box(DVec3::new(0.1, 0.5, 0.1)), DVec3::ZERO);
        let flap = Thing::new(Form::Box(DVec3::new(0.25, 0.05, 0.1)), DVec3::new(0.5, 0.4, 0.0));
        let about_z = DQuat::from_rotation_y(-0.5 * std::f64::consts::PI).to_array();
        let frame = |position| JointFrame { position, rotation: about_z };
        let mut pin = Joint::new(JointKind::Pin, ["T0", "T1"]);
        pin.frames = Some([frame([0.2, 0.4, 0.0]), frame([-0.3, 0.0, 0.0])]);
        pin.collide = collide;
        let mut run = Run::new(jointed(&[post, flap], &[pin], DOWN, 24.0, 4));
        let mut least = f64::INFINITY;
        for _ in 0..96 * 3 {
            run.step(1.0 / 96.0);
            least = least.min(run.state.solids[0].position.x);
        }
        least
    };
    let (through, against) = (swung(false), swung(true));
    println!("its middle comes to {through} through the post, to {against} against it");
    // Level with the hinge on the other side; and tilted by the 5 cm that are between the two, at an arm of 55.
    assert!((through + 0.1).abs() < 0.01, "{through}");
    assert!(against > 0.2 - 0.3 * 0.15 && against < 0.2, "{against}");
}
