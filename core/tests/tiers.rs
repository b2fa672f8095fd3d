//! Joints solved exactly, by iterating and pair by pair, and within limits of rounds and time.

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use glam::{DMat3, DQuat, DVec3};
use sinew_core::assemble::{Assembly, Body, Goal};
use sinew_core::joint::{Aim, End, Joint, Kind, Rows};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{self, At, Behaviour, JointKind, Setup, Shape, Tier};
use sinew_core::simulate::{State, Workspace, step};
use sinew_core::solve::{self, Budget};
use std::cell::Cell;
use std::time::Duration;

/// Rods one metre long along x, thrown about, the left end of the first at the origin: there they hang if `hung`.
fn chain(links: usize, hung: bool, solver: setup::Solver) -> Rig {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.bake.frames = Some([0.0, 24.0]);
    setup.world.solver = solver;
    if !hung {
        setup.world.gravity = [0.0; 3];
    }
    let at = |x: f64| Local::Channels(Channels { translation: DVec3::X * x, ..Channels::default() });
    for i in 0..links {
        let x = i as f64;
        scene.nodes.push(Node { name: format!("Rod {i}"), local: at(x + 0.5), ..Node::default() });
        scene.nodes.push(Node { name: format!("End {i}"), local: at(x), ..Node::default() });
        let mut body = setup::Body::new(format!("Rod {i}"));
        body.behaviour = Behaviour::Free;
        body.shape = Shape::Box { size: Some([1.0, 0.2, 0.1]) };
        body.mass = Some(1.0);
        body.velocity = Some([0.1 * x, (x * 1.7).sin(), (x * 2.9).cos()]);
        setup.bodies.push(body);
        if i > 0 || hung {
            let left = if i == 0 { "world".to_string() } else { format!("Rod {}", i - 1) };
            setup.joints.push(setup::Joint {
                at: Some(At::Node(format!("End {i}"))),
                ..setup::Joint::new(JointKind::Universal, [&left, &format!("Rod {i}")])
            });
        }
    }
    compile(&scene, &setup, None).expect("the set-up compiles").rig
}

fn start(rig: &Rig) -> (State, Workspace) {
    (State::new(rig), Workspace::new(rig))
}

fn largest(work: &Workspace) -> f64 {
    work.open_joints().iter().fold(0.0, |m, o| m.max(o.0))
}

fn momenta(rig: &Rig, state: &State) -> (DVec3, DVec3) {
    rig.solids.iter().zip(&state.solids).fold((DVec3::ZERO, DVec3::ZERO), |(p, l), (solid, s)| {
        let own = s.velocity * solid.mass;
        (p + own, l + s.position.cross(own) + s.momentum)
    })
}

/// Five bodies in a loop of different joints, all open.
fn loop_of_five() -> (Vec<Joint>, Vec<Body>) {
    let kinds = [Kind::PIN, Kind::UNIVERSAL, Kind::CYLINDRICAL, Kind::UNIVERSAL, Kind::UNIVERSAL];
    let bodies = (0..5).map(|i| {
        let angle = f64::from(i) * 1.3;
        Body {
            placement: Placement {
                position: DVec3::new(angle.cos(), angle.sin(), 0.1 * angle),
                rotation: DQuat::from_axis_angle(DVec3::new(1.0, angle, -0.5).normalize(), 0.3 * angle),
            },
            per_mass: 1.0 / (1.0 + f64::from(i)),
            per_inertia: DVec3::new(3.0, 4.0, 5.0 + f64::from(i)),
        }
    });
    let joints = kinds.iter().enumerate().map(|(j, kind)| {
        let frame =
            |x: f64| Placement { position: DVec3::new(x, 0.2, 0.0), rotation: DQuat::from_rotation_y(x) };
        Joint::new("joint", [End::Solid(j), End::Solid((j + 1) % 5)], [frame(0.6), frame(-0.4)], *kind)
    });
    (joints.collect(), bodies.collect())
}

/// `W J^T l` with `(J W J^T) l = -g`, by elimination of the whole matrix.
fn dense(joints: &[Joint], bodies: &[Body]) -> Vec<(DVec3, DVec3)> {
    let place = |end: End| match end {
        End::Solid(s) => bodies[s].placement,
        _ => Placement::IDENTITY,
    };
    let turn = |b: &Body| {
        let axes = DMat3::from_quat(b.placement.rotation);
        axes * DMat3::from_diagonal(b.per_inertia) * axes.transpose()
    };
    let (mut jacobian, mut rhs) = (Vec::new(), Vec::new());
    for joint in joints {
        let rows = Rows::new(joint, &joint.ends.map(place), &Aim::default());
        for r in 0..rows.count {
            let mut row = vec![(DVec3::ZERO, DVec3::ZERO); bodies.len()];
            for (e, end) in joint.ends.iter().enumerate() {
                if let End::Solid(s) = end {
                    row[*s].0 += rows.on[e][r].linear;
                    row[*s].1 += rows.on[e][r].angular;
                }
            }
            jacobian.push(row);
            rhs.push(-rows.error[r]);
        }
    }
    let yields = |row: &[(DVec3, DVec3)]| -> Vec<(DVec3, DVec3)> {
        row.iter().zip(bodies).map(|(r, b)| (r.0 * b.per_mass, turn(b) * r.1)).collect()
    };
    let n = rhs.len();
    let mut a: Vec<Vec<f64>> = jacobian
        .iter()
        .map(|row| {
            let moved = yields(row);
            let with = |other: &Vec<(DVec3, DVec3)>| -> f64 {
                other.iter().zip(&moved).map(|(o, m)| o.0.dot(m.0) + o.1.dot(m.1)).sum()
            };
            jacobian.iter().map(with).collect()
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        rhs.swap(k, pivot);
        for i in k + 1..n {
            let share = a[i][k] / a[k][k];
            for c in k..n {
                a[i][c] -= share * a[k][c];
            }
            rhs[i] -= share * rhs[k];
        }
    }
    for k in (0..n).rev() {
        for c in k + 1..n {
            rhs[k] -= a[k][c] * rhs[c];
        }
        rhs[k] /= a[k][k];
    }
    let mut sum = vec![(DVec3::ZERO, DVec3::ZERO); bodies.len()];
    for (row, l) in jacobian.iter().zip(&rhs) {
        for (s, m) in sum.iter_mut().zip(yields(row)) {
            *s = (s.0 + m.0 * *l, s.1 + m.1 * *l);
        }
    }
    sum
}

#[test]
fn one_correction_is_the_same_by_factor_by_iteration_and_dense() {
    let (joints, bodies) = loop_of_five();
    let reference = dense(&joints, &bodies);
    for tier in [solve::Tier::Direct, solve::Tier::Iterative(Budget::default())] {
        let mut assembly = Assembly::with(tier, &joints, bodies.len());
        assembly.measure(&joints, |end| match end {
            End::Solid(s) => bodies[s].placement,
            _ => Placement::IDENTITY,
        });
        assembly.factor(&bodies);
        let found = assembly.correct(&bodies);
        let off = found
            .iter()
            .zip(&reference)
            .fold(0.0_f64, |m, (f, r)| m.max((f.0 - r.0).length()).max((f.1 - r.1).length()));
        println!("{tier:?}: {off:.1e} from the dense solution");
        assert!(off < 1e-9, "{tier:?}: {off}");
    }
}

#[test]
fn iterating_to_the_end_moves_like_the_factor() {
    let rigs = [Tier::Direct, Tier::Iterative]
        .map(|tier| chain(8, true, setup::Solver { tier, ..setup::Solver::default() }));
    let mut states = rigs.each_ref().map(State::new);
    for (rig, state) in rigs.iter().zip(&mut states) {
        let mut work = Workspace::new(rig);
        for _ in 0..60 {
            step(rig, state, &mut work, 1.0 / 240.0);
        }
    }
    let apart = states[0].solids.iter().zip(&states[1].solids).fold(0.0_f64, |m, (a, b)| {
        m.max((a.position - b.position).length()).max((a.velocity - b.velocity).length())
    });
    println!("60 steps: {apart:.1e} apart");
    assert!(apart < 1e-6, "{apart}");
}

#[test]
fn pairs_close_a_short_chain_in_their_rounds() {
    let rig = chain(5, true, setup::Solver { tier: Tier::Pairwise, ..setup::Solver::default() });
    let (mut state, mut work) = start(&rig);
    let (mut open, mut rounds) = (0.0_f64, 0);
    for _ in 0..240 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        open = open.max(largest(&work));
        rounds = rounds.max(work.rounds());
    }
    println!("5 links, {rounds} rounds at most: open {open:.1e}");
    assert!(open < 1e-3, "{open}");
    assert!(rounds <= 200);
    // The same without time.
    let (joints, mut bodies) = loop_of_five();
    let mut assembly = Assembly::with(solve::Tier::Pairwise, &joints, bodies.len());
    let goal = Goal { opening: 1e-6, angle: 1e-6, ..Goal::default() };
    let outcome = assembly.assemble(&joints, &mut bodies, |_| Placement::IDENTITY, &goal, |_, _, _| {});
    println!("a loop of five: {outcome:?}");
    assert!(outcome.opening < 1e-3 && outcome.angle < 1e-3, "{outcome:?}");
}

#[test]
fn few_iterations_open_joints_and_keep_momenta() {
    let few = setup::Solver {
        tier: Tier::Iterative,
        iterations: Some(5),
        rounds: Some(2),
        ..setup::Solver::default()
    };
    let rigs = [setup::Solver::default(), few].map(|solver| chain(20, false, solver));
    let mut opened = [0.0_f64; 2];
    for (rig, opened) in rigs.iter().zip(&mut opened) {
        let (mut state, mut work) = start(rig);
        let before = momenta(rig, &state);
        let mut worst = 0.0_f64;
        for _ in 0..480 {
            step(rig, &mut state, &mut work, 1.0 / 240.0);
            *opened = opened.max(largest(&work));
            let now = momenta(rig, &state);
            worst = worst.max((now.0 - before.0).length() / before.0.length());
            worst = worst.max((now.1 - before.1).length() / before.1.length());
        }
        println!("{:?}: open {opened:.1e}, momenta {worst:.1e}", rig.solver.tier);
        assert!(worst < 1e-9, "{worst}");
    }
    assert!(opened[1] > opened[0] && opened[1] < 0.1, "{opened:?}");
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock on which everything between two looks takes ten microseconds.
fn ticking() -> Duration {
    NOW.with(|now| {
        now.set(now.get() + 10);
        Duration::from_micros(now.get())
    })
}

#[test]
fn a_step_takes_no_round_it_has_no_time_for() {
    let mut before = 0;
    for (budget, most) in [(5.0, 1), (25.0, 1), (65.0, 5), (1000.0, 100)] {
        let solver =
            setup::Solver { tier: Tier::Pairwise, microseconds: Some(budget), ..setup::Solver::default() };
        let rig = chain(5, true, solver);
        let (mut state, mut work) = start(&rig);
        work.ask_time(ticking);
        let (mut rounds, mut longest, mut open) = (0, 0, 0.0_f64);
        for i in 0..240 {
            let began = NOW.with(Cell::get);
            step(&rig, &mut state, &mut work, 1.0 / 240.0);
            if i > 0 {
                // The first one does not know yet what rounds take.
                longest = longest.max(NOW.with(Cell::get) - began);
                rounds = rounds.max(work.rounds());
            }
            open = open.max(largest(&work));
        }
        println!("{budget} us: {rounds} rounds, {longest} us, open {open:.1e}");
        assert!(rounds <= most && rounds >= before, "{rounds}");
        assert!(longest as f64 <= (budget + 20.0).max(50.0), "{longest}");
        assert!(open < 0.05 && state.quarantined().is_none(), "{open}");
        before = rounds;
    }
}
