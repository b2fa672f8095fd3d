//! A lamp that hops 30 cm: base, two arms and a shade, in a plane, each on a motor of 8 N m. Rest to rest, in 1.2 s.

use super::{along, bare, link};
use glam::{DMat3, DQuat, DVec3};
use sinew_core::articulation::{Articulation, JointKind, Mass, Posed, Turning};
use sinew_core::refine::{Contact, Drive, Measure, Problem, Refinement, Row, Status};
use sinew_core::scene::Placement;

const SAMPLES: usize = 120;
const STEP: f64 = 0.01;
/// The base is still up to here, and again from there on: the ground pushes while it is still before and after.
const TAKE_OFF: usize = 48;
const LANDING: usize = 83;
const STRENGTH: f64 = 8.0;
const FAR: f64 = 0.3;
const GRAVITY: f64 = 9.81;
/// Along, up, pitch, and three joints.
const REST: [f64; 6] = [0.0, 0.0, 0.0, -0.6, 1.4, 0.9];
const BASE: usize = 2;

/// A turn from up to forward counts as positive.
fn lamp(shade: f64) -> Articulation {
    let body = |mass: f64, centre: f64, inertia: f64| Mass {
        mass,
        inertia: DVec3::splat(inertia),
        centre: Placement { position: DVec3::Y * centre, rotation: DQuat::IDENTITY },
    };
    let rod = |mass: f64, length: f64| body(mass, 0.5 * length, mass * length * length / 12.0);
    let on = |up: f64| Placement { position: DVec3::Y * up, rotation: DQuat::IDENTITY };
    let up = along(DVec3::Y, DVec3::ZERO);
    // The pitch is about -z, and the second axis of its frame is up.
    let pitch = DQuat::from_mat3(&DMat3::from_cols(DVec3::NEG_Z, DVec3::Y, DVec3::X));
    let pitch = Placement { position: DVec3::ZERO, rotation: up.rotation.conjugate() * pitch };
    Articulation::new(vec![
        link(None, JointKind::Slider, along(DVec3::X, DVec3::ZERO), None),
        link(Some(0), JointKind::Slider, up, None),
        link(Some(1), JointKind::Hinge, pitch, Some(body(1.0, 0.02, (0.04 + 0.0016) / 12.0))),
        link(Some(2), JointKind::Hinge, on(0.04), Some(rod(0.5, 0.3))),
        link(Some(3), JointKind::Hinge, on(0.3), Some(rod(0.5, 0.3))),
        link(Some(4), JointKind::Hinge, on(0.3), Some(rod(shade, 0.12))),
    ])
}

fn hop(shade: f64) -> Problem {
    let tree = lamp(shade);
    let weight = tree.total_mass() * GRAVITY;
    let pose = |i: usize| {
        let u = ((i as f64 - TAKE_OFF as f64) / (LANDING + 1 - TAKE_OFF) as f64).clamp(0.0, 1.0);
        let mut q = REST.to_vec();
        (q[0], q[1]) = (FAR * u, 0.16 * 4.0 * u * (1.0 - u));
        q
    };
    let free = Drive { unit: weight, effort: None, limited: false };
    let motor = Drive { unit: STRENGTH, effort: Some(1.0), limited: true };
    let drives = vec![free, free, free, motor, motor, motor];
    let mut p = bare(tree, (0..=SAMPLES).map(pose).collect(), STEP, drives);
    let row = |measure| Row { measure, scale: 1.0 / (GRAVITY * STEP * STEP) };
    let axes = DMat3::from_cols(DVec3::Y, DVec3::X, DVec3::Z);
    let foot = |side: f64| Contact { link: BASE, at: DVec3::Z * (0.1 * side), axes, friction: 0.8 };
    for i in 0..=SAMPLES {
        if !(TAKE_OFF..=LANDING).contains(&i) {
            p.contacts[i] = vec![foot(-1.0), foot(1.0)];
        }
        if i <= TAKE_OFF || i >= LANDING {
            let along = if i <= TAKE_OFF { 0.0 } else { FAR };
            for (k, to) in [along, 0.0, 0.0].into_iter().enumerate() {
                let measure = Measure::Coordinate { coordinate: k, freedom: k, sign: 1.0, to };
                p.holds.push((i, row(measure)));
            }
        } else {
            for side in [-1.0, 1.0] {
                let at = DVec3::Z * (0.1 * side);
                p.bounds.push((i, row(Measure::Height { link: BASE, at, normal: DVec3::Y, level: 0.0 })));
            }
        }
        for (k, [least, most]) in [[-1.5, 1.5], [0.1, 2.6], [-1.5, 2.0]].into_iter().enumerate() {
            let limit = |sign, to| Measure::Coordinate { coordinate: k + 3, freedom: k + 3, sign, to };
            p.bounds.push((i, Row { measure: limit(1.0, least), scale: 1.0 }));
            p.bounds.push((i, Row { measure: limit(-1.0, most), scale: 1.0 }));
        }
    }
    p
}

fn centres(refinement: &Refinement) -> Vec<DVec3> {
    let tree = &refinement.problem().tree;
    let mut posed = Posed::default();
    let mut centre = |q: &Vec<f64>| {
        tree.place(q, &mut posed);
        posed.centre_of_mass(tree)
    };
    refinement.motion().iter().map(&mut centre).collect()
}

/// Of the whole, about its centre of mass, in every interval, kg m^2/s.
fn angular_momenta(refinement: &Refinement) -> Vec<f64> {
    let tree = &refinement.problem().tree;
    let placed = |q: &Vec<f64>| {
        let mut posed = Posed::default();
        tree.place(q, &mut posed);
        posed
    };
    let posed: Vec<Posed> = refinement.motion().iter().map(placed).collect();
    let between = |pair: &[Posed]| {
        let of = |mass: f64, a: DVec3, b: DVec3| a.cross(b - a) * (mass / STEP);
        let one = |i: usize| {
            let Some(m) = tree.links()[i].mass else { return DVec3::ZERO };
            let (a, b) = (pair[0].centres[i], pair[1].centres[i]);
            Turning::new(a.rotation, b.rotation, m.inertia, STEP).momentum
                + of(m.mass, a.position, b.position)
        };
        let whole: DVec3 = (0..tree.links().len()).map(one).sum();
        (whole - of(tree.total_mass(), pair[0].centre_of_mass(tree), pair[1].centre_of_mass(tree))).z
    };
    posed.windows(2).map(between).collect()
}

/// The most that `of` is above `from`, of some knots.
fn most(knots: &[DVec3], of: impl Fn(DVec3) -> f64) -> f64 {
    knots.iter().map(|c| of(*c)).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn a_lamp_gathers_itself_flies_and_lands_softly() {
    let mut refinement = Refinement::new(hop(0.4), 1e-10);
    let status = refinement.run(100).clone();
    let effort = refinement.objective() * STRENGTH * STRENGTH;
    println!("{} iterations, effort {effort:.6}", refinement.iterations().len());
    assert_eq!(status, Status::Converged, "{:#?}", refinement.iterations());
    // What IPOPT found for the same poses and rows, from the same start, in N^2 m^2 s.
    assert!(effort <= 30.67, "{effort}");
    let centre = centres(&refinement);
    for i in TAKE_OFF..=LANDING {
        let bend = centre[i + 1] - 2.0 * centre[i] + centre[i - 1];
        let off = (bend / (STEP * STEP) + DVec3::Y * GRAVITY).length() / GRAVITY;
        assert!(off < 1e-6, "{off} g off its parabola at {i}");
    }
    let momenta = &angular_momenta(&refinement)[TAKE_OFF - 1..=LANDING];
    let spread = momenta.iter().fold(0.0_f64, |m, l| m.max((l - momenta[0]).abs()));
    assert!(spread < 1e-9, "angular momentum changes by {spread} in flight");
    // It gathers itself, down and back, before it leaves the ground, and gives way after it landed.
    let down = most(&centre[..TAKE_OFF], |c| centre[0].y - c.y);
    let back = most(&centre[..TAKE_OFF], |c| centre[0].x - c.x);
    let sinks = most(&centre[LANDING..], |c| centre[SAMPLES].y - c.y);
    println!("down {down:.4} m, back {back:.4} m, sinks {sinks:.4} m");
    assert!(down > 0.01 && back > 0.005 && sinks > 0.05, "down {down}, back {back}, sinks {sinks}");
    // The ground only pushes, within its friction, and stays where it is.
    for i in 0..=SAMPLES {
        for l in refinement.contact_forces(i).chunks_exact(3) {
            assert!(l[0] > 0.0 && l[1].abs() <= 0.8 * l[0] + 1e-9);
        }
        let q = &refinement.motion()[i];
        let height = (0.1 * q[2].sin()).abs();
        assert!(q[1] - height > -1e-6, "{} in the ground at {i}", height - q[1]);
        assert!(q[3].abs() < 1.5 && q[4] > 0.1 && q[4] < 2.6 && q[5] > -1.5 && q[5] < 2.0);
        assert!(refinement.forces(i)[3..].iter().all(|t| t.abs() <= 1.0 + 1e-8));
    }
}

#[test]
fn a_heavier_shade_takes_more_effort() {
    let found = |shade: f64| {
        let mut refinement = Refinement::new(hop(shade), 1e-8);
        let status = refinement.run(100).clone();
        assert_eq!(status, Status::Converged, "{shade}");
        refinement.objective()
    };
    let efforts = [0.3, 0.4, 0.5].map(found);
    assert!(efforts[0] < efforts[1] && efforts[1] < efforts[2], "{efforts:?}");
}
