//! Every row's derivatives, first and second, against differences.

use super::knot::{Around, Room, turnings};
use super::measure::At;
use super::*;
use crate::articulation::{Articulation, JointKind, Link, Mass, Posed};
use crate::rotation;
use crate::scene::Placement;
use glam::{DMat3, DQuat, DVec3};

/// Numbers between -1 and 1, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }

    fn placement(&mut self) -> Placement {
        Placement { position: self.vector(), rotation: rotation::exp(self.vector() * 2.0) }
    }

    fn many(&mut self, count: usize, size: f64) -> Vec<f64> {
        (0..count).map(|_| self.next() * size).collect()
    }
}

/// A tree with a branch and every kind of joint, on a floating base.
fn problem(numbers: &mut Numbers) -> Problem {
    use JointKind::*;
    let kinds = [
        (None, Translation),
        (Some(0), Ball),
        (Some(1), Hinge),
        (Some(2), CarriedBall),
        (Some(1), Slider),
        (Some(4), Ball),
        (Some(3), Fixed),
        (Some(5), Hinge),
    ];
    let link = |(i, (parent, kind)): (usize, (Option<usize>, JointKind))| {
        let mass = Mass {
            mass: 1.5 + numbers.next(),
            inertia: DVec3::new(0.3, 0.5, 0.4) + numbers.vector() * 0.1,
            centre: numbers.placement(),
        };
        Link { parent, kind, place: numbers.placement(), mass: (i > 0).then_some(mass), body: None }
    };
    let tree = Articulation::new(kinds.into_iter().enumerate().map(link).collect());
    let n = tree.freedoms();
    let mut pose = |size: f64| {
        let mut q = tree.neutral();
        tree.integrate(&tree.neutral(), &numbers.many(n, size), &mut q);
        q
    };
    let input = vec![pose(1.0), pose(1.0), pose(1.0)];
    let drives = (0..n).map(|k| Drive { unit: 1.0 + k as f64, effort: Some(1.0), limited: false }).collect();
    let mut contact = |link: usize| Contact {
        link,
        at: numbers.vector(),
        axes: DMat3::from_quat(rotation::exp(numbers.vector())),
        friction: 0.7,
    };
    Problem {
        contacts: vec![Vec::new(), vec![contact(3), contact(7)], Vec::new()],
        gravity: DVec3::new(1.0, -9.81, 2.0),
        steps: vec![0.7, 0.4],
        closeness: vec![0.0; n],
        weight: 5.0,
        ease: 1.0,
        holds: Vec::new(),
        bounds: Vec::new(),
        keys: Vec::new(),
        price: 1.0,
        ends: [End::Free, End::Free],
        input,
        drives,
        tree,
    }
}

/// What acts at the middle knot, and how it changes with the three poses and the contact forces.
struct Found {
    forces: Vec<f64>,
    slopes: Vec<f64>,
    bent: Vec<f64>,
}

fn find(p: &Problem, poses: &[Vec<f64>], l: &[f64], prices: &[f64]) -> Found {
    let n = p.tree.freedoms();
    let placed = |q: &Vec<f64>| {
        let mut posed = Posed::default();
        p.tree.place(q, &mut posed);
        posed
    };
    let posed: Vec<Posed> = poses.iter().map(placed).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    turnings(p, &posed[0], &posed[1], p.steps[0], &mut a);
    turnings(p, &posed[1], &posed[2], p.steps[1], &mut b);
    let around = Around {
        problem: p,
        knot: 1,
        now: &posed[1],
        before: Some((&posed[0], &a)),
        after: Some((&posed[2], &b)),
        forces: l,
    };
    let mut room = Room::default();
    let wide = 3 * n + l.len();
    let mut found = Found { forces: vec![0.0; n], slopes: vec![0.0; n * wide], bent: vec![0.0; wide * wide] };
    around.forces(&mut room, &mut found.forces);
    around.slopes(&mut room, &mut found.slopes, wide);
    around.curvature(&mut room, prices, |row, column, v| {
        assert!(row >= column);
        found.bent[row * wide + column] += v;
        if row != column {
            found.bent[column * wide + row] += v;
        }
    });
    found
}

#[test]
fn what_acts_at_joints_has_the_slopes_and_the_curvature_of_differences() {
    let mut numbers = Numbers(7);
    for _ in 0..20 {
        let p = problem(&mut numbers);
        let n = p.tree.freedoms();
        let l = numbers.many(6, 1.0);
        let prices = numbers.many(n, 1.0);
        let wide = 3 * n + l.len();
        let now = find(&p, &p.input, &l, &prices);
        let e = 1e-5;
        let moved = |c: usize, by: f64| {
            let (mut poses, mut l) = (p.input.clone(), l.clone());
            if c < 3 * n {
                let mut step = vec![0.0; n];
                step[c % n] = by;
                p.tree.integrate(&p.input[c / n], &step, &mut poses[c / n]);
            } else {
                l[c - 3 * n] += by;
            }
            find(&p, &poses, &l, &prices)
        };
        let size = now.slopes.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let bend = now.bent.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for c in 0..wide {
            let (after, before) = (moved(c, e), moved(c, -e));
            for j in 0..n {
                let wanted = (after.forces[j] - before.forces[j]) / (2.0 * e);
                let found = now.slopes[j * wide + c];
                assert!((wanted - found).abs() < 1e-6 * size, "row {j}, column {c}: {found} for {wanted}");
            }
            // Two freedoms of one ball are turned one after the other by a difference, and together by the mean of both orders.
            let ball = |a: usize| if a < 3 * n { (a / n, p.tree.link_of(a % n)) } else { (3, a) };
            for d in (0..wide).filter(|d| ball(*d) != ball(c) || *d == c) {
                let slope = |f: &Found| (0..n).map(|j| prices[j] * f.slopes[j * wide + d]).sum::<f64>();
                let wanted = (slope(&after) - slope(&before)) / (2.0 * e);
                let found = now.bent[d * wide + c];
                assert!((wanted - found).abs() < 1e-6 * bend, "{d} by {c}: {found} for {wanted}");
            }
        }
    }
}

#[test]
fn every_measure_has_the_slope_and_the_curvature_of_differences() {
    let mut numbers = Numbers(3);
    for _ in 0..20 {
        let p = problem(&mut numbers);
        let n = p.tree.freedoms();
        let across = [numbers.vector(), numbers.vector()];
        let measures = [
            Measure::Point { link: 6, at: numbers.vector(), to: numbers.vector() },
            Measure::Height {
                link: 7,
                at: numbers.vector(),
                normal: numbers.vector().normalize(),
                level: 0.3,
            },
            Measure::Turn { link: 5, to: rotation::exp(numbers.vector()) },
            Measure::Aim { link: 3, axis: numbers.vector(), across },
            Measure::Centre { to: numbers.vector() },
            Measure::Coordinate { coordinate: 1, freedom: 1, sign: -1.0, to: 0.4 },
        ];
        for row in measures.map(|measure| Row { measure, scale: 1.7 }) {
            let along = numbers.vector();
            let find = |q: &[f64]| {
                let mut posed = Posed::default();
                p.tree.place(q, &mut posed);
                let at = At { tree: &p.tree, q, posed: &posed };
                let (mut slope, mut bent) = (vec![DVec3::ZERO; n], vec![0.0; n * n]);
                row.slope(at, |k, v| slope[k] += v);
                row.curvature(at, along, |l, k, v| {
                    bent[l * n + k] = v;
                    bent[k * n + l] = v;
                });
                (row.value(at), slope, bent)
            };
            let now = find(&p.input[1]);
            let e = 1e-5;
            for c in 0..n {
                let moved = |by: f64| {
                    let (mut step, mut q) = (vec![0.0; n], p.input[1].clone());
                    step[c] = by;
                    p.tree.integrate(&p.input[1], &step, &mut q);
                    find(&q)
                };
                let (after, before) = (moved(e), moved(-e));
                let wanted = (after.0 - before.0) / (2.0 * e);
                assert!((wanted - now.1[c]).length() < 1e-6, "{row:?} by {c}: {} for {wanted}", now.1[c]);
                for d in (0..n).filter(|d| p.tree.link_of(*d) != p.tree.link_of(c) || *d == c) {
                    let wanted = along.dot(after.1[d] - before.1[d]) / (2.0 * e);
                    let found = now.2[d * n + c];
                    assert!((wanted - found).abs() < 1e-6, "{row:?}, {d} by {c}: {found} for {wanted}");
                }
            }
        }
    }
}

#[test]
fn a_thrown_tree_needs_nothing_at_its_root_when_it_spins_as_it_should() {
    // One body that turns about a principal axis and flies on its parabola.
    let place = Placement { position: DVec3::ZERO, rotation: DQuat::IDENTITY };
    let mass = Mass { mass: 2.0, inertia: DVec3::new(0.2, 0.3, 0.4), centre: Placement::IDENTITY };
    let link = |parent, kind, mass| Link { parent, kind, place, mass, body: None };
    let tree = Articulation::new(vec![
        link(None, JointKind::Translation, None),
        link(Some(0), JointKind::Ball, Some(mass)),
    ]);
    let g = DVec3::new(0.0, -9.81, 0.0);
    let pose = |t: f64| {
        let x = DVec3::new(3.0, 2.0, 1.0) * t + g * (0.5 * t * t);
        let r = rotation::exp(DVec3::Z * (5.0 * t));
        [x.x, x.y, x.z, r.x, r.y, r.z, r.w].to_vec()
    };
    let mut p = problem(&mut Numbers(1));
    p.drives.truncate(6);
    (p.tree, p.gravity, p.contacts, p.steps) = (tree, g, vec![Vec::new(); 3], vec![0.1, 0.1]);
    let found = find(&p, &[pose(0.2), pose(0.3), pose(0.4)], &[], &[0.0; 6]);
    for f in found.forces {
        assert!(f.abs() < 1e-12, "{f}");
    }
}
