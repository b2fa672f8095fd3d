//! Things that touch as nobody would make them: sizes, places, masses and materials from the corners of what a set-up
//! takes. Refused with words, or simulated to finite numbers.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::compile;
use sinew_core::scene::{Channel, Channels, Clip, Local, Mesh, Node, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Coating, Joint, JointKind, Release, Setup, Shape};
use sinew_core::simulate::{End, run};

fn one_of(values: &'static [f64]) -> impl Strategy<Value = f64> {
    prop::sample::select(values)
}

/// Extents, from nothing to as far as the moon.
fn size() -> impl Strategy<Value = f64> {
    prop_oneof![6 => 0.05..2.0_f64, 2 => one_of(&[1e-12, 1e-6, 1e-3, 30.0, 1e4, 1e9]), 1 => Just(0.0)]
}

fn place() -> impl Strategy<Value = DVec3> {
    let near = (-2.0..2.0_f64, -2.0..2.0_f64, -2.0..2.0_f64).prop_map(|(x, y, z)| DVec3::new(x, y, z));
    let far = (one_of(&[-1e9, 0.0, 1e9]), one_of(&[0.0, 1e9]), one_of(&[0.0, 1e4]));
    prop_oneof![6 => near, 3 => Just(DVec3::ZERO), 1 => far.prop_map(|(x, y, z)| DVec3::new(x, y, z))]
}

fn shape() -> impl Strategy<Value = Shape> {
    (0..11_u8, size(), size(), size()).prop_map(|(kind, a, b, c)| match kind {
        0 | 1 => Shape::Box { size: Some([a, b, c]) },
        2 | 3 => Shape::Sphere { radius: Some(a) },
        4 => Shape::Capsule { radius: Some(a), length: Some(b) },
        5 => Shape::Cylinder { radius: Some(a), length: Some(b) },
        6 => Shape::Cone { radius: Some(a), length: Some(b) },
        7 => Shape::Plane {},
        8 => Shape::Mesh {},
        9 => Shape::Hull {},
        _ => Shape::Auto {},
    })
}

/// A tetrahedron, a card, cards without an area, and all of it in one.
fn mesh(kind: usize) -> Mesh {
    let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::X * 0.5, DVec3::ZERO];
    let closed = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let flat = [[0, 4, 1], [0, 5, 0], [2, 2, 2]];
    let triangles = match kind % 4 {
        0 => closed.to_vec(),
        1 => vec![[0, 1, 2]],
        2 => flat.to_vec(),
        _ => closed.into_iter().chain(flat).collect(),
    };
    Mesh { positions, triangles, ..Mesh::default() }
}

#[derive(Clone, Debug)]
struct Thing {
    behaviour: Behaviour,
    shape: Shape,
    at: DVec3,
    to: DVec3,
    mass: f64,
    friction: f64,
    bounce: f64,
    rolling: f64,
    coating: Option<Coating>,
    release: Option<Release>,
    layer: usize,
    scaled: f64,
    joined: bool,
}

fn thing() -> impl Strategy<Value = Thing> {
    let behaviour = prop::sample::select(vec![
        Behaviour::Free,
        Behaviour::Free,
        Behaviour::Guided,
        Behaviour::Static,
        Behaviour::Animated,
    ]);
    let material = (
        one_of(&[1e-12, 1e-3, 1.0, 50.0, 1e12]),
        one_of(&[0.0, 0.5, 1.0, 1e6]),
        one_of(&[0.0, 0.0, 0.5, 1.0]),
        one_of(&[0.0, 0.0, 0.1, 1e6]),
    );
    let coating = (one_of(&[1e-6, 0.05, 10.0]), one_of(&[1.0, 1e5, 1e9]), one_of(&[0.0, 0.3, 1.0]));
    let release = (
        prop::option::of(0.0..30.0_f64),
        any::<bool>(),
        one_of(&[0.0, 1.0, 1e9]),
        prop::option::of(0.0..0.5_f64),
    );
    let odd = (prop::option::weighted(0.15, coating), prop::option::weighted(0.2, release));
    let ends = (place(), place());
    let rest = (0..3_usize, one_of(&[1.0, 1.0, 0.0, -1.5, 1e4]), prop::bool::weighted(0.25));
    (behaviour, shape(), ends, material, odd, rest).prop_map(
        |(
            behaviour,
            shape,
            (at, to),
            (mass, friction, bounce, rolling),
            (coating, release),
            (layer, scaled, joined),
        )| {
            let coating = coating.map(|(thickness, stiffness, damping)| Coating {
                thickness: Some(thickness),
                stiffness: Some(stiffness),
                damping: Some(damping),
            });
            let release =
                release.filter(|_| behaviour.simulated()).map(|(frame, touched, speed, back_after)| {
                    Release { frame, touched, speed, back_after, ..Release::default() }
                });
            Thing {
                behaviour,
                shape,
                at,
                to,
                mass,
                friction,
                bounce,
                rolling,
                coating,
                release,
                layer,
                scaled,
                joined,
            }
        },
    )
}

fn made(things: &[Thing]) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut setup = Setup::default();
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    setup.bake.frames = Some([0.0, 24.0]);
    setup.world.floor = Some(-3.0);
    for (i, thing) in things.iter().enumerate() {
        let local = Channels { translation: thing.at, rotation: DQuat::IDENTITY, scale: DVec3::ONE };
        scene.meshes.push(mesh(i));
        let name = format!("T{i}");
        scene.nodes.push(Node {
            name: name.clone(),
            local: Local::Channels(local),
            mesh: Some(i),
            ..Node::default()
        });
        let mut key = |property, values: Vec<f64>| {
            let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0], values, Segments::Linear).unwrap();
            clip.channels.push(Channel { node: i, property, curve });
        };
        if matches!(thing.behaviour, Behaviour::Guided | Behaviour::Animated) {
            key(Property::Translation, [thing.at, thing.to].iter().flat_map(|p| p.to_array()).collect());
        }
        if thing.behaviour == Behaviour::Animated && thing.scaled != 1.0 {
            key(Property::Scale, vec![1.0, 1.0, 1.0, thing.scaled, 1.0, thing.scaled]);
        }
        let mut body = Body { behaviour: thing.behaviour, shape: thing.shape.clone(), ..Body::new(name) };
        body.mass = thing.behaviour.simulated().then_some(thing.mass);
        body.release = thing.release;
        let c = &mut body.contact;
        (c.friction, c.bounce, c.rolling) = (Some(thing.friction), Some(thing.bounce), Some(thing.rolling));
        c.coating = thing.coating;
        c.layers = vec![["all", "some", "few"][thing.layer].into()];
        c.collide = Some(true);
        setup.bodies.push(body);
        // One that is refused does not spoil the others.
        if compile(&scene, &setup, Some(&clip)).is_err() {
            setup.bodies.pop();
        } else if thing.joined && i > 0 {
            let kind = [JointKind::Universal, JointKind::Fixed, JointKind::Pin][thing.layer];
            setup.joints.push(Joint::new(kind, [&format!("T{}", i - 1), &format!("T{i}")]));
            if compile(&scene, &setup, Some(&clip)).is_err() {
                setup.joints.pop();
            }
        }
    }
    scene.clips.push(clip);
    (scene, setup)
}

proptest! {
    // The same things every time: how long all of them take is known.
    #![proptest_config(ProptestConfig {
        cases: 60,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_things_that_touch_make_it_panic_hang_or_leave_what_is_no_number(
        things in prop::collection::vec(thing(), 1..7),
    ) {
        let (scene, setup) = made(&things);
        let rig = match compile(&scene, &setup, scene.clips.first()) {
            Ok(compiled) => compiled.rig,
            Err(e) => {
                prop_assert!(!e.place.is_empty() && !e.problem.is_empty());
                return Ok(());
            }
        };
        let began = std::time::Instant::now();
        let (motion, end) = run(&rig, |_, _| began.elapsed().as_secs() < 20);
        prop_assert!(end != End::Cancelled, "it hangs");
        for frame in 0..motion.frames() {
            for s in motion.frame(frame) {
                prop_assert!(s.node.position.is_finite() && s.node.rotation.is_finite() && s.velocity.is_finite());
            }
        }
    }
}
