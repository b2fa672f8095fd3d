//! Putting chains and nets together: convergence, conservation, contradictions.

use glam::{DQuat, DVec3};
use sinew_core::assemble::{Assembly, Body, Ending, Goal};
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
                    let ends = [End::Solid(y * w + x), End::Solid((y + dy) * w + x + dx)];
                    joints.push(Joint::new(format!("{x},{y}"), ends, [at(half), at(-half)], Kind::UNIVERSAL));
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
        assert!(out.reached() && out.rounds <= 10, "{out:?}");
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

fn pin(name: &str, ends: [End; 2], points: [DVec3; 2], kind: Kind) -> Joint {
    Joint::new(name, ends, points.map(at), kind)
}

/// A body of one metre along x.
fn bar(position: DVec3) -> Body {
    Body { placement: at(position), per_mass: 1.0, per_inertia: DVec3::new(100.0, 12.0, 12.0) }
}

#[test]
fn contradictions_end_at_the_least_squares() {
    // A bar of one metre pinned to two points of the world that are three apart.
    let joints = [(-0.5, -1.5), (0.5, 1.5)].map(|(x, wall)| {
        pin("", [End::World, End::Solid(0)], [DVec3::X * wall, DVec3::X * x], Kind::UNIVERSAL)
    });
    for (position, turn) in [
        (DVec3::new(0.3, 0.4, 0.0), DVec3::ZERO),
        (DVec3::new(-2.0, 1.0, 0.5), DVec3::new(0.3, 0.2, 1.0)),
        (DVec3::new(0.0, -4.0, 0.0), DVec3::new(0.0, 1.0, 2.0)),
    ] {
        let mut bodies = [bar(position)];
        bodies[0].placement.rotation = rotation::exp(turn);
        let mut assembly = Assembly::new(&joints, 1);
        let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
        println!("{out:?} {:?}", bodies[0].placement);
        assert_eq!(out.ending, Ending::LeastSquares);
        assert!(bodies[0].placement.position.length() < 1e-8, "centred");
        assert!((bodies[0].placement.rotation * DVec3::X - DVec3::X).length() < 1e-8, "along");
        for open in assembly.open() {
            assert!((open.0 - 1.0).abs() < 1e-8, "both are open by a metre: {open:?}");
        }
    }
}

/// Three bars between two points of the ground that are `apart`, hinged in space: nine rows too many.
fn four_bar(apart: f64) -> (Vec<Body>, Vec<Joint>) {
    let z = rotation::exp(DVec3::Y * -std::f64::consts::FRAC_PI_2); // x to z: the hinges' axis
    let hinge = |name: &str, ends, points| {
        let mut joint = pin(name, ends, points, Kind::PIN);
        joint.frames.iter_mut().for_each(|f| f.rotation = z);
        joint
    };
    let half = DVec3::X * 0.5;
    let joints = vec![
        hinge("ground - crank", [End::World, End::Solid(0)], [DVec3::ZERO, -half]),
        hinge("crank - coupler", [End::Solid(0), End::Solid(1)], [half, -half]),
        hinge("coupler - rocker", [End::Solid(1), End::Solid(2)], [half, -half]),
        hinge("rocker - ground", [End::Solid(2), End::World], [half, DVec3::X * apart]),
    ];
    let bodies = (0..3).map(|i| bar(DVec3::new(0.5 + f64::from(i), 0.0, 0.0))).collect();
    (bodies, joints)
}

#[test]
fn a_four_bar_linkage_in_space_closes() {
    let (mut bodies, joints) = four_bar(2.2);
    shake(&mut bodies, 3);
    let mut assembly = Assembly::new(&joints, 3);
    let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert!(out.reached(), "{out:?}");
}

#[test]
fn bars_too_short_share_the_gap_and_are_named() {
    // Three bars of a metre cannot span four: each of the four joints gives a quarter.
    let (mut bodies, joints) = four_bar(4.0);
    shake(&mut bodies, 3);
    let mut assembly = Assembly::new(&joints, 3);
    let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert_eq!(out.ending, Ending::LeastSquares, "{out:?}");
    for (joint, open) in joints.iter().zip(assembly.open()) {
        println!("{} is open by {} m and {} rad", joint.name, open.0, open.1);
        assert!((open.0 - 0.25).abs() < 1e-7 && open.1 < 1e-7, "{}: {open:?}", joint.name);
    }
}

/// Squared distance in the metric of mass.
fn distance(bodies: &[Body], before: &[Body]) -> f64 {
    let mut sum = 0.0;
    for (b, a) in bodies.iter().zip(before) {
        let turn = rotation::log(b.placement.rotation * a.placement.rotation.conjugate());
        let local = a.placement.rotation.conjugate() * turn;
        sum += (b.placement.position - a.placement.position).length_squared() / b.per_mass;
        sum += (local * local / b.per_inertia).element_sum();
    }
    sum
}

#[test]
fn the_nearest_pose_is_the_nearest() {
    let loops = {
        let (bodies, joints) = four_bar(2.2);
        (bodies, joints, 5)
    };
    let chain = {
        let (mut bodies, mut joints) = net(6, 1);
        bodies.iter_mut().enumerate().for_each(|(i, b)| b.per_mass = 0.3 + i as f64);
        joints.push(pin("", [End::World, End::Solid(0)], [DVec3::Y * 0.7, DVec3::ZERO], Kind::UNIVERSAL));
        (bodies, joints, 3)
    };
    let sheet = {
        let (bodies, joints) = net(5, 4);
        (bodies, joints, 11)
    };
    for (mut start, joints, seed) in [loops, chain, sheet] {
        shake(&mut start, seed);
        shake(&mut start, seed + 1);
        let solve = |nearest: bool| {
            let mut bodies = start.clone();
            let mut assembly = Assembly::new(&joints, bodies.len());
            let goal = Goal { opening: 1e-11, angle: 1e-11, nearest, ..Goal::default() };
            let out = assembly.assemble(&joints, &mut bodies, world, &goal, |_, _, _| {});
            assert_eq!(out.ending, if nearest { Ending::Nearest } else { Ending::Closed }, "{out:?}");
            (bodies, assembly)
        };
        let (plain, _) = solve(false);
        let (near, mut assembly) = solve(true);
        let (far, least) = (distance(&plain, &start), distance(&near, &start));
        println!("{} bodies: {far:.9} plain, {least:.9} nearest", start.len());
        assert!(least <= far * (1.0 + 1e-12));

        // Nothing that the joints allow comes nearer: random moves less what (J W J^T)^-1 says joints forbid.
        let mut s = 99;
        for _ in 0..20 {
            let mut v = || DVec3::new(roll(&mut s), roll(&mut s), roll(&mut s));
            let moves: Vec<(DVec3, DVec3)> = near.iter().map(|_| (v(), v())).collect();
            let place = |e: End| if let End::Solid(s) = e { near[s].placement } else { Placement::IDENTITY };
            assembly.measure(&joints, place);
            assembly.factor(&near);
            let none = (DVec3::ZERO, DVec3::ZERO);
            assembly.aim_at_rates(&joints, |e| if let End::Solid(s) = e { moves[s] } else { none });
            let pushes = assembly.correct(&near).to_vec();
            let (h, mut length) = (1e-4, 0.0);
            let moved = |h: f64| {
                let mut bodies = near.clone();
                for (b, (m, p)) in bodies.iter_mut().zip(moves.iter().zip(&pushes)) {
                    b.placement.position += (m.0 + p.0) * h;
                    b.placement.rotation = rotation::exp((m.1 + p.1) * h) * b.placement.rotation;
                }
                bodies
            };
            length += distance(&moved(1e-3), &near).sqrt() / 1e-3;
            let slope = (distance(&moved(h), &start) - distance(&moved(-h), &start)) / (4.0 * h);
            let share = slope.abs() / (length * least.sqrt());
            assert!(share < 1e-6, "{share:e}");
        }
    }
}

#[test]
fn a_rope_is_let_go_where_slack_is_nearer() {
    // Two balls on ropes of a metre: one is too far out, the other hangs loose and stays where it is.
    let rope = |solid| {
        let kind = Kind::Distance { least: 0.0, most: 1.0 };
        pin("", [End::World, End::Solid(solid)], [DVec3::ZERO, DVec3::ZERO], kind)
    };
    let joints = [rope(0), rope(1)];
    let mut bodies = [bar(DVec3::new(0.0, 3.0, 4.0)), bar(DVec3::X * 0.5)];
    let goal = Goal { nearest: true, ..Goal::default() };
    let mut assembly = Assembly::new(&joints, 2);
    let out = assembly.assemble(&joints, &mut bodies, world, &goal, |_, _, _| {});
    assert_eq!(out.ending, Ending::Nearest);
    assert!((bodies[0].placement.position - DVec3::new(0.0, 0.6, 0.8)).length() < 1e-8);
    assert_eq!(bodies[1].placement.position, DVec3::X * 0.5);
}

#[test]
fn a_handle_pulls_the_rest() {
    let (mut bodies, joints) = net(10, 1);
    bodies[0].per_mass = 0.0;
    bodies[0].per_inertia = DVec3::ZERO;
    bodies[0].placement.position += DVec3::new(0.3, 0.6, 0.2);
    let mut assembly = Assembly::new(&joints, bodies.len());
    let out = assembly.assemble(&joints, &mut bodies, world, &Goal::default(), |_, _, _| {});
    assert!(out.reached(), "{out:?}");
    assert_eq!(bodies[0].placement.position, DVec3::new(0.3, 0.6, 0.2));
}
