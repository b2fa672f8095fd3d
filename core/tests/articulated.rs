//! Articulated bodies in motion: joints stay closed, momenta stay constant, energy stays near.

use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::dynamics::top;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{At, Behaviour, Body, Joint, JointKind, Setup, Shape};
use sinew_core::simulate::{State, Workspace, step};

/// A chain of `links` rods one metre long along x, free, with the joint of each at its left end.
fn chain(links: usize, kind: JointKind, hung: bool) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.bake.frames = Some([0.0, 24.0]);
    for i in 0..links {
        let rod = Channels { translation: DVec3::X * (i as f64 + 0.5), ..Channels::default() };
        let end = Channels { translation: DVec3::X * i as f64, ..Channels::default() };
        scene.nodes.push(Node { name: format!("Rod {i}"), local: Local::Channels(rod), ..Node::default() });
        scene.nodes.push(Node { name: format!("End {i}"), local: Local::Channels(end), ..Node::default() });
        let mut body = Body::new(format!("Rod {i}"));
        body.behaviour = Behaviour::Free;
        body.shape = Shape::Box { size: Some([1.0, 0.2, 0.1]) };
        body.mass = Some(1.0);
        setup.bodies.push(body);
        if i > 0 || hung {
            let left = if i == 0 { "world".to_string() } else { format!("Rod {}", i - 1) };
            setup.joints.push(Joint {
                at: Some(At::Node(format!("End {i}"))),
                axis: (kind == JointKind::Pin).then_some([0.0, 0.0, 1.0]),
                ..Joint::new(kind, [&left, &format!("Rod {i}")])
            });
        }
    }
    (scene, setup)
}

fn rig(scene: &Scene, setup: &Setup) -> Rig {
    compile(scene, setup, scene.clips.first()).expect("the set-up compiles").rig
}

fn momenta(rig: &Rig, state: &State) -> (DVec3, DVec3) {
    rig.solids.iter().zip(&state.solids).fold((DVec3::ZERO, DVec3::ZERO), |(p, l), (solid, s)| {
        let own = s.velocity * solid.mass;
        (p + own, l + s.position.cross(own) + s.momentum)
    })
}

fn largest(work: &Workspace) -> f64 {
    work.open_joints().iter().fold(0.0, |m, o| m.max(o.0))
}

fn energy(rig: &Rig, state: &State) -> f64 {
    rig.solids.iter().zip(&state.solids).fold(0.0, |e, (solid, s)| {
        let w = top::angular_velocity(s.orientation, s.momentum, solid.per_inertia);
        e + 0.5 * solid.mass * s.velocity.length_squared() + 0.5 * w.dot(s.momentum)
            - solid.mass * rig.world.gravity.dot(s.position)
    })
}

#[test]
fn an_isolated_chain_keeps_its_momenta() {
    for kind in [JointKind::Universal, JointKind::Pin] {
        let (scene, mut setup) = chain(8, kind, false);
        setup.world.gravity = [0.0; 3];
        setup.bodies[0].velocity = Some([0.0, 2.0, 0.0]);
        setup.bodies[5].velocity = Some([0.3, -1.0, if kind == JointKind::Pin { 0.0 } else { 0.7 }]);
        let rig = rig(&scene, &setup);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        step(&rig, &mut state, &mut work, 1.0 / 240.0); // the start is not consistent; its impulse is
        let (p, l) = momenta(&rig, &state);
        let (mut worst, mut open) = (0.0_f64, 0.0_f64);
        for _ in 0..10_000 {
            step(&rig, &mut state, &mut work, 1.0 / 240.0);
            let (p2, l2) = momenta(&rig, &state);
            worst = worst.max((p2 - p).length() / p.length()).max((l2 - l).length() / l.length());
            open = open.max(largest(&work));
        }
        println!("{kind:?}: momenta {worst:.1e} relative over 10,000 steps, joints open {open:.1e}");
        assert!(worst < 3e-13, "{worst:e}");
        assert!(open < 1e-6, "{open}");
    }
}

#[test]
fn a_hanging_chain_keeps_its_energy() {
    let (scene, setup) = chain(10, JointKind::Universal, true);
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let start = energy(&rig, &state);
    let scale = 10.0 * 9.81 * 5.0;
    let (mut worst, mut open) = (0.0_f64, 0.0_f64);
    for _ in 0..2400 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        worst = worst.max((energy(&rig, &state) - start).abs() / scale);
        open = open.max(largest(&work));
    }
    println!("10 links, 10 s: energy within {:.3} %, joints open {open:.1e}", worst * 100.0);
    assert!(worst < 0.01, "energy off by {worst}");
    assert!(open < 1e-6);
}

/// A joint on a round rod's own axis cannot turn it about that axis; where rods swing by half a radian in a step, little of
/// their energy may end there all the same.
#[test]
fn rods_that_swing_fast_are_not_spun_about_themselves() {
    let (scene, mut setup) = chain(6, JointKind::Universal, true);
    for body in &mut setup.bodies {
        body.shape = Shape::Box { size: Some([1.0, 0.1, 0.1]) };
    }
    // A whip's end, out of the plane in which the others fall.
    setup.bodies[5].velocity = Some([0.0, 8.0, 25.0]);
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let (mut swing, mut about) = (0.0_f64, 0.0_f64);
    for _ in 0..600 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        for (solid, s) in rig.solids.iter().zip(&state.solids) {
            let w = s.orientation.conjugate()
                * top::angular_velocity(s.orientation, s.momentum, solid.per_inertia);
            let energy = 0.5 * w * w * solid.inertia;
            let own = solid.inertia.min_position();
            about = about.max(energy[own]);
            swing = swing.max(energy.element_sum() - energy[own]);
        }
    }
    println!("rods swing with {swing:.1} J, and turn about themselves with {about:.1} J");
    assert!(swing > 25.0, "{swing}");
    assert!(about < 0.2 * swing, "{about} beside {swing}");
}

#[test]
fn a_short_pendulum_swings_with_its_period() {
    let (scene, setup) = chain(1, JointKind::Pin, true);
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    // Start near the bottom: 0.05 rad from hanging straight down.
    let tilt = 0.05 - std::f64::consts::FRAC_PI_2;
    let q = sinew_core::rotation::exp(DVec3::Z * tilt);
    state.solids[0].orientation = q;
    state.solids[0].position = q * (DVec3::X * 0.5);
    let (mut last, mut crossings) = (state.solids[0].position.x, Vec::new());
    while crossings.len() < 9 {
        step(&rig, &mut state, &mut work, 1.0 / 480.0);
        let x = state.solids[0].position.x;
        if last * x < 0.0 {
            crossings.push(state.time - x / (x - last) / 480.0);
        }
        last = x;
    }
    let period = (crossings[8] - crossings[0]) / 4.0;
    let inertia = (1.0 + 0.04) / 12.0 + 0.25;
    let expected = std::f64::consts::TAU * (inertia / (9.81_f64 * 0.5)).sqrt() * (1.0 + 0.05 * 0.05 / 16.0);
    assert!((period / expected - 1.0).abs() < 1e-4, "{period} {expected}");
}

#[test]
fn a_rope_holds_when_it_is_taut() {
    let (scene, mut setup) = chain(1, JointKind::Universal, false);
    setup.bodies[0].velocity = Some([0.0, 0.0, 1.0]);
    setup.joints.push(Joint {
        name: Some("rope".into()),
        at: Some(At::Nodes(["End 0".into(), "Rod 0".into()])),
        length: Some(2.0),
        ..Joint::new(JointKind::Rope, ["world", "Rod 0"])
    });
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let (mut farthest, mut taut) = (0.0_f64, 0);
    for _ in 0..2400 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        let far = state.solids[0].position.length();
        farthest = farthest.max(far);
        taut += usize::from(far > 2.0 - 1e-6);
    }
    assert!(farthest < 2.0 + 1e-8 && taut > 100, "{farthest} {taut}");
}

#[test]
fn a_keyed_hand_swings_a_chain() {
    let (mut scene, mut setup) = chain(5, JointKind::Universal, true);
    let keys = vec![0.0, 0.0, 0.0, 2.0, 1.0, 0.0, -1.0, 0.5, 1.0, 0.0, 0.0, 0.0];
    let curve = Curve::new(Kind::Vector, 3, vec![0.0, 0.5, 1.2, 2.0], keys, Segments::Linear).unwrap();
    scene.nodes.push(Node { name: "Hand".into(), ..Node::default() });
    scene.clips.push(Clip {
        name: "Wave".into(),
        channels: vec![Channel { node: 10, property: Property::Translation, curve }],
    });
    setup.joints[0].between[0] = "Hand".into();
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..480 {
        step(&rig, &mut state, &mut work, 1.0 / 240.0);
        assert!(largest(&work) < 1e-6);
        let hand = scene.clips[0].channels[0].curve.vector(state.time);
        let s = &state.solids[0];
        let end =
            s.position + s.orientation * (rig.solids[0].offset.rotation.conjugate() * (DVec3::X * -0.5));
        assert!((end - hand).length() < 1e-6, "{}", (end - hand).length());
    }
}

#[test]
fn a_roughly_posed_chain_is_put_together_before_it_moves() {
    let (mut scene, mut setup) = chain(6, JointKind::Universal, true);
    setup.world.gravity = [0.0; 3];
    for i in 0..6 {
        // Each side of a joint has its own node; the rods are moved away from where they belong.
        let near = scene.nodes[2 * i + 1].clone();
        let far = Node { name: format!("Far {i}"), parent: Some(2 * i), ..near.clone() };
        let at = |x: f64| Local::Channels(Channels { translation: DVec3::X * x, ..Channels::default() });
        scene.nodes.push(Node { local: at(-0.5), ..far });
        if let Local::Channels(c) = &mut scene.nodes[2 * i].local {
            c.translation += DVec3::new(0.1, 0.15 * (i as f64).sin(), -0.1);
        }
        if i > 0 {
            let near = Node {
                name: format!("Near {i}"),
                parent: Some(2 * (i - 1)),
                local: at(0.5),
                ..Node::default()
            };
            scene.nodes.push(near);
        }
        let near = if i == 0 { "End 0".into() } else { format!("Near {i}") };
        setup.joints[i].at = Some(At::Nodes([near, format!("Far {i}")]));
    }
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..100 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        assert!(largest(&work) < 1e-8);
        assert!(
            state.solids.iter().all(|s| s.velocity.length() < 1e-6),
            "assembling must not throw things about"
        );
    }
}

#[test]
fn joints_that_contradict_each_other_stay_open_and_finite() {
    let (scene, mut setup) = chain(1, JointKind::Universal, true);
    let mut far = setup.joints[0].clone();
    far.name = Some("far".into());
    far.at = Some(At::Nodes(["Wall".into(), "Rod 0".into()]));
    setup.joints.push(far);
    let mut scene = scene;
    let wall = Channels { translation: DVec3::X * 3.0, ..Channels::default() };
    scene.nodes.push(Node { name: "Wall".into(), local: Local::Channels(wall), ..Node::default() });
    let rig = rig(&scene, &setup);
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..600 {
        step(&rig, &mut state, &mut work, 1.0 / 60.0);
        let s = &state.solids[0];
        assert!(s.position.length() < 10.0 && s.velocity.length() < 100.0, "{} {}", s.position, s.velocity);
    }
    let open = work.open_joints();
    println!("{open:?}");
    assert!(open[0].0 + open[1].0 > 1.0, "somebody stays open");
}

#[test]
fn long_and_heavy_chains_neither_open_nor_explode() {
    for (links, load, dt) in [(20, 1.0, 1.0 / 60.0), (100, 1.0, 1.0 / 96.0), (20, 1000.0, 1.0 / 60.0)] {
        let (scene, mut setup) = chain(links, JointKind::Universal, true);
        setup.bodies[links - 1].mass = Some(load);
        let rig = rig(&scene, &setup);
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        let start = energy(&rig, &state);
        let (mut open, mut most) = (0.0_f64, f64::NEG_INFINITY);
        let steps = (3.0 / dt) as usize;
        for _ in 0..steps {
            step(&rig, &mut state, &mut work, dt);
            open = open.max(largest(&work));
            most = most.max(energy(&rig, &state) - start);
        }
        let scale = rig.solids.iter().map(|s| s.mass).sum::<f64>() * 9.81 * links as f64 * 0.5;
        println!("{links} links, {load} kg: open {open:.1e}, energy gained {:.1e}", most / scale);
        assert!(open < 1e-6, "{links} links, {load} kg open by {open}");
        assert!(most < 0.01 * scale, "{links} links, {load} kg gained {} of the energy", most / scale);
    }
}

#[test]
fn what_the_scratch_remembers_makes_no_difference() {
    let (scene, setup) = chain(12, JointKind::Pin, true);
    let rig = rig(&scene, &setup);
    let (mut kept, mut anew) = (State::new(&rig), State::new(&rig));
    let mut work = Workspace::new(&rig);
    for _ in 0..200 {
        step(&rig, &mut kept, &mut work, 1.0 / 96.0);
        step(&rig, &mut anew, &mut Workspace::new(&rig), 1.0 / 96.0);
        assert_eq!(kept, anew);
    }
}

#[test]
fn what_rounds_leave_open_shrinks_with_the_step() {
    // From rest bodies turn by the square of the step, and so much of an opening a round leaves (Faure 1998, section 5).
    let (scene, setup) = chain(3, JointKind::Universal, true);
    for (rounds, order) in [(1, 4.0), (2, 6.0)] {
        let open = |h: f64| {
            let mut rig = rig(&scene, &setup);
            (rig.solver.rounds, rig.solver.limited) = (rounds, true);
            let (mut state, mut work) = (State::new(&rig), Workspace::new(&rig));
            step(&rig, &mut state, &mut work, h);
            largest(&work)
        };
        let (long, short) = (open(0.04), open(0.02));
        let found = (long / short).log2();
        println!("{rounds} rounds: open {long:.1e} and {short:.1e}, order {found:.2}");
        assert!(found > order - 0.3, "{rounds} rounds: {found}");
    }
}
