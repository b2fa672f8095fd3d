//! The recursions over a tree against Newton and Euler body by body, with every joint a constraint and all of it solved at once,
//! densely, by another library.
#![forbid(unsafe_code)]

use glam::{DMat3, DQuat, DVec3};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use sinew_core::articulation::{
    Articulation, Force, JointKind, Link, Mass, Motion, Posed, Spatial, forward_dynamics, inverse_dynamics,
    mass_matrix,
};
use sinew_core::rotation;
use sinew_core::scene::Placement;

const GRAVITY: DVec3 = DVec3::new(0.3, -9.81, 0.7);

fn vector(limit: f64) -> impl Strategy<Value = DVec3> {
    (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * limit)
}

fn placement() -> impl Strategy<Value = Placement> {
    (vector(1.0), vector(2.0))
        .prop_map(|(position, turn)| Placement { position, rotation: rotation::exp(turn) })
}

fn mass() -> impl Strategy<Value = Mass> {
    let numbers = (0.2..3.0, 0.5..1.0, 0.5..1.0, 0.5..1.0, placement());
    // Moments of some mass: no one is more than the sum of the others.
    numbers.prop_map(|(mass, a, b, c, centre)| Mass {
        mass,
        inertia: DVec3::new(a, b, c) * mass * 0.1,
        centre,
    })
}

/// A joint of an animator's, as the links it takes.
#[derive(Clone, Copy, Debug)]
enum Joint {
    One(JointKind),
    Universal,
    Floating,
}

fn joint() -> impl Strategy<Value = Joint> {
    use JointKind::*;
    prop_oneof![
        Just(Joint::One(Fixed)),
        Just(Joint::One(Hinge)),
        Just(Joint::One(Slider)),
        Just(Joint::One(Ball)),
        Just(Joint::One(CarriedBall)),
        Just(Joint::One(Translation)),
        Just(Joint::Universal),
        Just(Joint::Floating),
    ]
}

fn tree() -> impl Strategy<Value = Articulation> {
    proptest::collection::vec((joint(), 0..1000_usize, placement(), mass()), 1..9).prop_map(|wanted| {
        let mut links: Vec<Link> = Vec::new();
        let mut ends: Vec<usize> = Vec::new();
        for (joint, on, place, mass) in wanted {
            // The world is one of what it may hang on.
            let parent = (on % (ends.len() + 1)).checked_sub(1).map(|e| ends[e]);
            let light = |kind| Link { parent, kind, place, mass: None, body: None };
            let (first, then) = match joint {
                Joint::One(kind) => (None, kind),
                Joint::Universal => (Some(light(JointKind::Hinge)), JointKind::Hinge),
                Joint::Floating => (Some(light(JointKind::Translation)), JointKind::Ball),
            };
            let across = rotation::exp(DVec3::Z * std::f64::consts::FRAC_PI_2);
            let (parent, place) = match first {
                Some(first) => {
                    links.push(first);
                    (Some(links.len() - 1), Placement { rotation: across, ..Placement::IDENTITY })
                }
                None => (parent, place),
            };
            links.push(Link { parent, kind: then, place, mass: Some(mass), body: Some(ends.len()) });
            ends.push(links.len() - 1);
        }
        Articulation::new(links)
    })
}

/// A tree, a configuration of it, and twice as many numbers as it has freedoms.
fn moving() -> impl Strategy<Value = (Articulation, Vec<f64>, Vec<f64>, Vec<f64>, Vec<Force>)> {
    tree().prop_flat_map(|tree| {
        let n = tree.freedoms();
        let links = tree.links().len();
        let numbers = || proptest::collection::vec(-1.5..1.5, n);
        let pulls = proptest::collection::vec((vector(3.0), vector(3.0)), links);
        (Just(tree), numbers(), numbers(), numbers(), pulls).prop_map(|(tree, by, rates, last, pulls)| {
            let mut q = tree.neutral();
            tree.integrate(&tree.neutral(), &by, &mut q);
            let pulls = pulls.into_iter().map(|(torque, force)| Force { torque, force }).collect();
            (tree, q, rates, last, pulls)
        })
    })
}

fn posed(tree: &Articulation, q: &[f64]) -> Posed {
    let mut posed = Posed::default();
    tree.place(q, &mut posed);
    posed
}

fn six(m: &Motion) -> [f64; 6] {
    [m.angular.x, m.angular.y, m.angular.z, m.linear.x, m.linear.y, m.linear.z]
}

fn six_of(f: &Force) -> [f64; 6] {
    [f.torque.x, f.torque.y, f.torque.z, f.force.x, f.force.y, f.force.z]
}

fn square(s: &Spatial) -> DMatrix<f64> {
    let blocks = [[s.aa, s.al], [s.la, s.ll]];
    DMatrix::from_fn(6, 6, |r, c| blocks[r / 3][c / 3].col(c % 3)[r % 3])
}

/// Accelerations of all links, each free but for constraints along what its joint does not let it do; and which constraint forces
/// that takes is not asked.
fn by_constraints(
    tree: &Articulation,
    posed: &Posed,
    rates: &[f64],
    forces: &[f64],
    pulls: &[Force],
) -> DVector<f64> {
    let links = tree.links().len();
    let n = tree.freedoms();
    // Link motions A (6 each), rates' derivatives (n), constraint forces (6 each): A_i - A_p - S a = carried.
    let size = 12 * links + n;
    let (mut k, mut b) = (DMatrix::zeros(size, size), DVector::zeros(size));
    let mut motions = Vec::new();
    posed.motions(tree, rates, &mut motions);
    for (i, link) in tree.links().iter().enumerate() {
        let row = 6 * i;
        let holds = 6 * links + n + 6 * i;
        let mut push = pulls[i];
        if let Some(m) = link.mass {
            let c = posed.centres[i];
            let axes = DMat3::from_quat(c.rotation);
            let about = axes * DMat3::from_diagonal(m.inertia) * axes.transpose();
            let inertia = Spatial::inertia(m.mass, c.position, about);
            k.view_mut((row, row), (6, 6)).copy_from(&square(&inertia));
            push -= motions[i].cross_force(&inertia.force(&motions[i]));
            push += Force::at(c.position, GRAVITY * m.mass, DVec3::ZERO);
        }
        let carrier = link.parent.map_or(Motion::default(), |p| motions[p]);
        let mut carried = Motion::default();
        for f in tree.freedoms_of(i) {
            // A joint's axes are fixed in what it is on.
            carried += carrier.cross(&posed.axes[f]) * rates[f];
            for (r, s) in six(&posed.axes[f]).into_iter().enumerate() {
                k[(holds + r, 6 * links + f)] = -s;
                k[(6 * links + f, holds + r)] = -s;
            }
            b[6 * links + f] = forces[f];
        }
        for r in 0..6 {
            k[(holds + r, row + r)] = 1.0;
            k[(row + r, holds + r)] = 1.0;
            if let Some(p) = link.parent {
                k[(holds + r, 6 * p + r)] = -1.0;
                k[(6 * p + r, holds + r)] = -1.0;
            }
            b[row + r] = six_of(&push)[r];
            b[holds + r] = six(&carried)[r];
        }
    }
    let found = k.lu().solve(&b).expect("a tree whose joints all move something");
    found.rows(6 * links, n).into_owned()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, x| m.max(x.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn accelerations_are_those_of_bodies_held_by_constraints((tree, q, rates, forces, pulls) in moving()) {
        let posed = posed(&tree, &q);
        let found = forward_dynamics(&tree, &posed, &rates, &forces, GRAVITY, &pulls).unwrap();
        let wanted = by_constraints(&tree, &posed, &rates, &forces, &pulls);
        let scale = 1.0 + largest(wanted.as_slice());
        for (f, w) in found.iter().zip(wanted.iter()) {
            prop_assert!((f - w).abs() < 1e-9 * scale, "{f} for {w}");
        }
    }

    #[test]
    fn inverse_dynamics_undoes_forward_dynamics((tree, q, rates, forces, pulls) in moving()) {
        let posed = posed(&tree, &q);
        let found = forward_dynamics(&tree, &posed, &rates, &forces, GRAVITY, &pulls).unwrap();
        let back = inverse_dynamics(&tree, &posed, &rates, &found, GRAVITY, &pulls);
        let scale = 1.0 + largest(&forces) + largest(&found);
        for (f, w) in back.iter().zip(&forces) {
            prop_assert!((f - w).abs() < 1e-9 * scale, "{f} for {w}");
        }
    }

    #[test]
    fn the_mass_matrix_solves_to_the_same_accelerations((tree, q, rates, forces, pulls) in moving()) {
        let posed = posed(&tree, &q);
        let n = tree.freedoms();
        let bias = inverse_dynamics(&tree, &posed, &rates, &vec![0.0; n], GRAVITY, &pulls);
        let m = DMatrix::from_row_slice(n, n, &mass_matrix(&tree, &posed));
        prop_assert!((&m - m.transpose()).abs().max() < 1e-12 * (1.0 + m.abs().max()));
        let left = DVector::from_fn(n, |k, _| forces[k] - bias[k]);
        if n > 0 {
            let wanted = m.cholesky().expect("positive").solve(&left);
            let found = forward_dynamics(&tree, &posed, &rates, &forces, GRAVITY, &pulls).unwrap();
            let scale = 1.0 + largest(wanted.as_slice());
            for (f, w) in found.iter().zip(wanted.iter()) {
                prop_assert!((f - w).abs() < 1e-9 * scale, "{f} for {w}");
            }
        }
    }

    #[test]
    fn differences_lead_where_they_come_from((tree, q, by, _, _) in moving()) {
        let mut to = q.clone();
        tree.integrate(&q, &by, &mut to);
        let mut found = vec![0.0; tree.freedoms()];
        tree.difference(&q, &to, &mut found);
        for (f, w) in found.iter().zip(&by) {
            // 1.5 rad about each of three axes is less than half a turn.
            prop_assert!((f - w).abs() < 1e-12, "{f} for {w}");
        }
    }

    #[test]
    fn points_move_as_their_jacobian_says((tree, q, by, _, _) in moving(), spot in vector(1.0)) {
        let e = 1e-6;
        let now = posed(&tree, &q);
        let step = |e: f64| {
            let mut to = q.clone();
            tree.integrate(&q, &by.iter().map(|b| b * e).collect::<Vec<_>>(), &mut to);
            posed(&tree, &to)
        };
        let (after, before) = (step(e), step(-e));
        for link in 0..tree.links().len() {
            let at = |p: &Posed| p.links[link].position + p.links[link].rotation * spot;
            let moved: DVec3 = now.point_jacobian(&tree, link, at(&now)).map(|(k, d)| d * by[k]).sum();
            let wanted = (at(&after) - at(&before)) / (2.0 * e);
            prop_assert!((moved - wanted).length() < 1e-7, "{moved} for {wanted}");
        }
    }
}

#[test]
fn a_joint_that_moves_nothing_has_no_acceleration() {
    let link =
        Link { parent: None, kind: JointKind::Hinge, place: Placement::IDENTITY, mass: None, body: None };
    let tree = Articulation::new(vec![link]);
    let posed = posed(&tree, &tree.neutral());
    assert!(forward_dynamics(&tree, &posed, &[0.0], &[1.0], GRAVITY, &[]).is_none());
}

#[test]
fn a_stick_on_a_hinge_weighs_half_its_length() {
    let mass = Mass {
        mass: 2.0,
        inertia: DVec3::splat(2.0 * 9.0 / 12.0),
        centre: Placement { position: DVec3::new(0.0, 1.5, 0.0), rotation: DQuat::IDENTITY },
    };
    // About the world's z, hanging along x after a quarter turn.
    let place =
        Placement { position: DVec3::ZERO, rotation: rotation::exp(DVec3::Y * -std::f64::consts::FRAC_PI_2) };
    let tree = Articulation::new(vec![Link {
        parent: None,
        kind: JointKind::Hinge,
        place,
        mass: Some(mass),
        body: None,
    }]);
    let posed = posed(&tree, &[-std::f64::consts::FRAC_PI_2]);
    assert!((posed.centres[0].position - DVec3::X * 1.5).length() < 1e-15);
    let g = DVec3::NEG_Y * 9.81;
    let held = inverse_dynamics(&tree, &posed, &[0.0], &[0.0], g, &[]);
    assert!((held[0] - 2.0 * 9.81 * 1.5).abs() < 1e-12);
    assert!((mass_matrix(&tree, &posed)[0] - 2.0 * 9.0 / 3.0).abs() < 1e-12);
}
