use super::*;
use crate::joint::{Aim, End, Joint, Kind, Measure};
use crate::rotation;
use crate::scene::Placement;
use crate::solve::{BlockMatrix, Solver, Tier};
use glam::DVec3;
use proptest::prelude::*;

/// A random tree of limbs: a ball, a muscle, and one or two ends of a range to every parent; perhaps the first is held.
struct Limbs {
    joints: Vec<Joint>,
    rows: Vec<Rows>,
    mobility: Vec<Mobility>,
    gives: Vec<[f64; MOST]>,
    wanted: Vec<[f64; MOST]>,
}

/// Numbers that are the same every time.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
    }
}

fn limbs(seed: u64, bodies: usize, held: bool) -> Limbs {
    let mut next = numbers(seed);
    let mut vector = |size: f64| DVec3::new(next(), next(), next()) * size;
    let places: Vec<Placement> = (0..bodies)
        .map(|_| Placement { position: vector(1.0), rotation: rotation::exp(vector(1.0)) })
        .collect();
    let mut pairs: Vec<(usize, usize)> =
        (1..bodies).map(|b| ((vector(1.0).x.abs() * b as f64) as usize, b)).collect();
    // Numbers of bodies say nothing about who carries whom.
    if bodies > 3 {
        pairs.iter_mut().for_each(|(a, b)| (*a, *b) = ((*a + 2) % bodies, (*b + 2) % bodies));
    }
    let mut joints = Vec::new();
    for (n, (a, b)) in pairs.into_iter().enumerate() {
        let ends = if n % 3 == 0 { [b, a] } else { [a, b] }.map(End::Solid);
        let frames =
            [(); 2].map(|()| Placement { position: vector(0.4), rotation: rotation::exp(vector(0.3)) });
        for kind in
            [Kind::UNIVERSAL, Kind::Pose(b), Kind::Cone([0.5, 0.6]), Kind::Turn { least: -0.3, most: 0.2 }]
        {
            joints.push(Joint::new("", ends, frames, kind));
        }
    }
    if held {
        joints.push(Joint::new(
            "",
            [End::World, End::Solid(2 % bodies)],
            [Placement::IDENTITY; 2],
            Kind::PIN,
        ));
    }
    let (mut rows, mut gives, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    for joint in &joints {
        let at = joint.ends.map(|end| match end {
            End::Solid(s) => places[s],
            _ => Placement::IDENTITY,
        });
        let [a, b] = joint.sides(&at);
        let mut own = Rows::between(joint, &a, &b, &Aim::default(), Measure::Products);
        // Some ends of ranges are out of reach, some muscles have no strength left.
        if joint.kind.one_sided() && vector(1.0).x > 0.0 {
            own.clear();
        }
        let soft = matches!(joint.kind, Kind::Pose(_));
        gives.push(std::array::from_fn(|_| match soft {
            true if vector(1.0).x > 0.8 => f64::INFINITY,
            true => vector(3.0).x.abs(),
            false => 0.0,
        }));
        wanted.push(std::array::from_fn(|_| vector(1.0).x));
        rows.push(own);
    }
    let mobility = places
        .iter()
        .map(|p| {
            let per_inertia = DVec3::new(1.0, 3.0, 9.0) * (1.5 + vector(1.0).x);
            Mobility::of(1.2 + vector(1.0).x, p.rotation, per_inertia)
        })
        .collect();
    Limbs { joints, rows, mobility, gives, wanted }
}

/// Solves by a block for every joint.
fn by_blocks(l: &Limbs) -> (Structure, BlockMatrix, Solver) {
    let structure = Structure::new(&l.joints, l.mobility.len());
    let mut matrix = BlockMatrix::new(l.joints.len(), structure.pairs.clone());
    let mut solver = Solver::new(Tier::Direct, &matrix, &structure.ends);
    structure.fill(&mut matrix, &l.rows, &l.mobility);
    for (j, gives) in l.gives.iter().enumerate() {
        for r in 0..l.rows[j].count {
            matrix.diagonal[j][r][r] += if gives[r] == f64::INFINITY { 1e14 } else { gives[r] };
        }
    }
    solver.prepare(&matrix);
    (structure, matrix, solver)
}

proptest! {
    #[test]
    fn a_tree_and_a_matrix_of_joints_agree(seed in 0_u64..u64::MAX, bodies in 2..14_usize, held in any::<bool>()) {
        let l = limbs(seed, bodies, held);
        let (structure, matrix, mut solver) = by_blocks(&l);
        let mut expected = vec![[0.0; MOST]; l.joints.len()];
        solver.solve_anew(&matrix, &l.wanted, &mut expected, || true);
        let mut tree = Tree::new(&structure, bodies, 64).expect("joints lie side by side");
        prop_assert!(tree.prepare(&l.rows, &l.mobility, &l.gives));
        let mut found = vec![[0.0; MOST]; l.joints.len()];
        tree.solve(&l.wanted, &mut found);
        let size = expected.iter().flatten().fold(1.0_f64, |m, x| m.max(x.abs()));
        for j in 0..l.joints.len() {
            for r in 0..l.rows[j].count {
                let (x, y) = (found[j][r], expected[j][r]);
                prop_assert!((x - y).abs() < 1e-7 * size, "joint {j} row {r}: {x} and {y} of {size}");
            }
        }
    }

    #[test]
    fn pushes_do_what_forces_along_rows_leave_of_them(seed in 0_u64..u64::MAX, bodies in 2..12_usize, held in any::<bool>()) {
        let l = limbs(seed, bodies, held);
        let (structure, ..) = by_blocks(&l);
        let mut tree = Tree::new(&structure, bodies, 64).expect("joints lie side by side");
        prop_assert!(tree.prepare(&l.rows, &l.mobility, &l.gives));
        let some: Vec<u32> = (0..bodies as u32).filter(|b| b % 2 == 1 || *b == 0).rev().collect();
        let mut answers = vec![[[0.0; 6]; 6]; some.len() * some.len()];
        tree.couple(&l.mobility, &some, &mut answers);
        for (n, &pushed) in some.iter().enumerate() {
            for k in 0..6 {
                // The body alone, then what joints make of it.
                let mobility = &l.mobility[pushed as usize];
                let unit: Six = std::array::from_fn(|i| f64::from(u8::from(i == k)));
                let alone = (
                    DVec3::new(unit[0], unit[1], unit[2]) * mobility.shift,
                    mobility.turn * DVec3::new(unit[3], unit[4], unit[5]),
                );
                let mut moving = vec![(DVec3::ZERO, DVec3::ZERO); bodies];
                moving[pushed as usize] = alone;
                let still = (DVec3::ZERO, DVec3::ZERO);
                let wanted: Vec<[f64; MOST]> = structure.ends.iter().zip(&l.rows).map(|(ends, rows)| {
                    rows.rates(&ends.map(|e| e.map_or(still, |b| moving[b]))).map(|rate| -rate)
                }).collect();
                let mut forces = vec![[0.0; MOST]; l.joints.len()];
                tree.solve(&wanted, &mut forces);
                let mut pushes = vec![still; bodies];
                structure.spread(&l.rows, &forces, &mut pushes);
                for (m, &moved) in some.iter().enumerate() {
                    let (own, push) = (&l.mobility[moved as usize], pushes[moved as usize]);
                    let (v, w) = moving[moved as usize];
                    let (v, w) = (v + push.0 * own.shift, w + own.turn * push.1);
                    let expected = [v.x, v.y, v.z, w.x, w.y, w.z];
                    for i in 0..6 {
                        let found = answers[n * some.len() + m][k][i];
                        prop_assert!((found - expected[i]).abs() < 1e-8, "{pushed} {moved} {k} {i}: {found} {}", expected[i]);
                    }
                }
            }
        }
    }
}

#[test]
fn what_closes_a_loop_is_no_tree() {
    let mut l = limbs(7, 4, false);
    let loops = Joint::new("", [End::Solid(0), End::Solid(1)], [Placement::IDENTITY; 2], Kind::UNIVERSAL);
    let is_tied = |ends: [End; 2]| ends == loops.ends || ends == [loops.ends[1], loops.ends[0]];
    assert!(!l.joints.iter().any(|j| is_tied(j.ends)), "the two are not tied yet");
    let [a, b] = loops.sides(&[Placement::IDENTITY; 2]);
    l.rows.push(Rows::between(&loops, &a, &b, &Aim::default(), Measure::Products));
    l.gives.push([0.0; MOST]);
    l.joints.push(loops);
    let structure = Structure::new(&l.joints, 4);
    let mut tree = Tree::new(&structure, 4, 64).expect("joints lie side by side");
    assert!(!tree.prepare(&l.rows, &l.mobility, &l.gives));
    // Unless it holds nothing.
    l.rows.last_mut().expect("just added").clear();
    assert!(tree.prepare(&l.rows, &l.mobility, &l.gives));
}

#[test]
fn chains_of_single_joints_need_no_tree() {
    let ends = |n: usize| [End::Solid(n), End::Solid(n + 1)];
    let joints: Vec<Joint> =
        (0..5).map(|n| Joint::new("", ends(n), [Placement::IDENTITY; 2], Kind::UNIVERSAL)).collect();
    assert!(Tree::new(&Structure::new(&joints, 6), 6, 64).is_none());
}
