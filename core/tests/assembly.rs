//! Putting chains and nets together: convergence, conservation, contradictions.

use glam::{DQuat, DVec3};
use sinew_core::assemble::{Assembly, Body, Goal};
use sinew_core::joint::{End, Joint, Kind};
use sinew_core::rotation;
use sinew_core::scene::Placement;

fn roll(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
}

fn at(position: DVec3) -> Placement {
    Placement { position, rotation: DQuat::IDENTITY }
}

/// A net of `w` by `h` bricks one metre apart, ball joints between neighbours half way.
fn net(w: usize, h: usize) -> (Vec<Body>, Vec<Joint>) {
    let mut bodies = Vec::new();
    let mut joints = Vec::new();
    for y in 0..h {
        for x in 0..w {
            bodies.push(Body {
                placement: at(DVec3::new(x as f64, y as f64, 0.0)),
                per_mass: 1.0,
                per_inertia: DVec3::new(12.0, 9.0, 15.0),
            });
            for (dx, dy) in [(1, 0), (0, 1)] {
                if x + dx < w && y + dy < h {
                    let half = DVec3::new(dx as f64, dy as f64, 0.0) * 0.5;
                    joints.push(Joint {
                        name: format!("{x},{y}"),
                        ends: [End::Solid(y * w + x), End::Solid((y + dy) * w + x + dx)],
                        frames: [at(half), at(-half)],
                        kind: Kind::UNIVERSAL,
                    });
                }
            }
        }
    }
    (bodies, joints)
}

fn shake(bodies: &mut [Body], seed: u64) {
    let mut s = seed;
    for b in bodies {
        let mut v = || DVec3::new(roll(&mut s), roll(&mut s), roll(&mut s)) * 0.2;
        b.placement.position += v();
        b.placement.rotation = rotation::exp(v()) * b.placement.rotation;
    }
}

fn momentum_like(bodies: &[Body], before: &[Body]) -> (DVec3, DVec3) {
    let mut linear = DVec3::ZERO;
    let mut angular = DVec3::ZERO;
    for (b, a) in bodies.iter().zip(before) {
        let d = b.placement.position - a.placement.position;
        linear += d / b.per_mass;
        angular += a.placement.position.cross(d) / b.per_mass;
        let turn = rotation::log(b.placement.rotation * a.placement.rotation.conjugate());
        let local = a.placement.rotation.conjugate() * turn;
        angular += a.placement.rotation * (local / b.per_inertia);
    }
    (linear, angular)
}

fn world(_: End) -> Placement {
    Placement::IDENTITY
}

#[test]
fn nets_come_together_quadratically() {
    for (w, h) in [(6, 4), (10, 6), (20, 8)] {
        let (mut bodies, joints) = net(w, h);
        shake(&mut bodies, 1);
        let mut assembly = Assembly::new(&joints, bodies.len());
        let mut errors = Vec::new();
        let goal = Goal { opening: 1e-12, ..Goal::default() };
        let out = assembly.assemble(&joints, &mut bodies, world, &goal, |_, e, _| errors.push(e));
        let shown: Vec<String> = errors.iter().map(|e| format!("{e:.1e}")).collect();
        println!("{} bodies, {} scalars: {}", bodies.len(), 3 * joints.len(), shown.join(", "));
        assert!(out.reached && out.rounds <= 10, "{out:?}");
        // Near the end each error is about the square of the one before.
        let tail: Vec<f64> = errors.iter().copied().filter(|e| *e < 1e-3 && *e > 1e-11).collect();
        for pair in tail.windows(2) {
            assert!(pair[1] < 300.0 * pair[0] * pair[0], "{pair:?}");
        }
    }
}

#[test]
fn corrections_conserve_momentum() {
    let (mut bodies, joints) = net(8, 5);
    shake(&mut bodies, 7);
    let before = bodies.clone();
    let mut assembly = Assembly::new(&joints, bodies.len());
    // A single correction is a set of internal forces: neither momentum changes.
    assembly.measure(&joints, |e| match e {
        End::Solid(s) => before[s].placement,
        _ => Placement::IDENTITY,
    });
    assembly.factor(&before);
    let push = assembly.correct(&before).to_vec();
    let (mut linear, mut angular, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for (b, (d, w)) in before.iter().zip(&push) {
        linear += *d / b.per_mass;
        size += d.length() / b.per_mass;
        let q = b.placement.rotation;
        angular += b.placement.position.cross(*d) / b.per_mass + q * (q.conjugate() * *w / b.per_inertia);
    }
    assert!(linear.length() < 1e-12 * size, "{linear}");
    assert!(angular.length() < 1e-9 * size, "{angular}");
    assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert!(momentum_like(&bodies, &before).0.length() < 1e-12 * size);
}

#[test]
fn contradictions_end_without_a_number_that_is_none() {
    // A bar of one metre pinned to two points of the world that are three apart.
    let body = Body { placement: at(DVec3::ZERO), per_mass: 1.0, per_inertia: DVec3::splat(12.0) };
    let pin = |x: f64, wall: f64| Joint {
        name: String::new(),
        ends: [End::World, End::Solid(0)],
        frames: [at(DVec3::X * wall), at(DVec3::X * x)],
        kind: Kind::UNIVERSAL,
    };
    let joints = [pin(-0.5, -1.5), pin(0.5, 1.5)];
    let mut bodies = [body];
    bodies[0].placement.position = DVec3::new(0.3, 0.4, 0.0);
    let mut assembly = Assembly::new(&joints, 1);
    let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert!(!out.reached);
    assert!(bodies[0].placement.position.is_finite());
    println!("{out:?} {:?}", bodies[0].placement);
}

#[test]
fn a_handle_pulls_the_rest() {
    let (mut bodies, joints) = net(10, 1);
    bodies[0].per_mass = 0.0;
    bodies[0].per_inertia = DVec3::ZERO;
    bodies[0].placement.position += DVec3::new(0.3, 0.6, 0.2);
    let mut assembly = Assembly::new(&joints, bodies.len());
    let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert!(out.reached, "{out:?}");
    assert_eq!(bodies[0].placement.position, DVec3::new(0.3, 0.6, 0.2));
}
