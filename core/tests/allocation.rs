//! A step allocates nothing, whatever it has to do: a counting allocator watches.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use sinew_core::coating::patch;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Carrier, Coating, Collider, Material, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Placement, Property, Scene};
use sinew_core::setup::{
    self, Behaviour, Between, Body, Field, Joint, JointFrame, JointKind, Keyable, Keys, Setup, Shape, Space,
    Targets, Timing, Wait,
};
use sinew_core::shape::Geometry;
use sinew_core::simulate::{State, Workspace, step};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller keeps GlobalAlloc's contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A row of keyed nodes, each the child of the one before every third time, with every kind of guide among them.
fn everything(count: usize) -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Keys".into(), channels: Vec::new() };
    let mut setup = Setup::default();
    setup.world.collisions = false;
    setup.world.fields.push(Field::Drag { rate: 0.2.into(), spin_rate: None, region: None });
    for i in 0..count {
        let parent = (i % 3 != 0).then(|| i - 1);
        scene.nodes.push(Node { name: format!("N{i}"), parent, ..Node::default() });
        let values = (0..4).flat_map(|k| [f64::from(k), (i as f64).sin(), 0.3 * f64::from(k * k)]).collect();
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0, 2.0, 3.0], values, Segments::Linear)
            .expect("these are keys");
        clip.channels.push(Channel { node: i, property: Property::Translation, curve });
        let mut body = Body::new(format!("N{i}"));
        body.shape = Shape::Sphere { radius: Some(0.2) };
        body.guide.timing = [Timing::Timed, Timing::Path, Timing::Timed][i % 3];
        body.guide.space = if i % 2 == 0 { Space::Parent } else { Space::World };
        body.guide.targets = if i % 5 == 0 { Targets::Apart } else { Targets::Together };
        if i % 7 == 0 {
            let keys = vec![[0.0, 0.1], [3.0, 0.4]];
            body.actuator.alpha = Some(Keyable::Keys(Keys { keys, between: Between::Linear }));
        }
        if i % 11 == 10 {
            body.behaviour = Behaviour::Free;
            body.spin = Some([0.1, 5.0, 0.2]);
            body.inertia = Some([1.0, 1.2, 1.9]);
        }
        if i == 4 {
            body.guide.waits.push(Wait { at_key: 1, for_node: "N3".into(), passes_key: 2 });
        }
        setup.bodies.push(body);
    }
    for (a, b) in [(10, 21), (21, 32), (32, 43), (10, 43)] {
        setup.joints.push(Joint::new(JointKind::Universal, [&format!("N{a}"), &format!("N{b}")]));
    }
    scene.clips.push(clip);
    (scene, setup)
}

#[test]
fn ten_thousand_steps_of_everything_allocate_nothing() {
    let (scene, setup) = everything(100);
    let rig = compile(&scene, &setup, scene.clips.first()).unwrap().rig;
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    let before = COUNT.with(Cell::get);
    for i in 0..100 {
        step(&rig, &mut state, &mut work, 0.003 + 0.0003 * f64::from(i));
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0, "a step allocated");
    let seen = Box::new(DVec3::ZERO);
    assert!(COUNT.with(Cell::get) > before, "the counter counts");
    drop(seen);
}

/// Boxes, balls and a soft ball above a floor, and a chain that falls onto them.
fn heap() -> (Scene, Setup) {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut setup = Setup::default();
    setup.bake.frames = Some([0.0, 96.0]);
    let mut add = |name: String, at: DVec3, behaviour: Behaviour, shape: Shape| {
        let local = Local::Channels(Channels { translation: at, ..Channels::default() });
        scene.nodes.push(Node { name: name.clone(), local, ..Node::default() });
        setup.bodies.push(Body { behaviour, shape, ..Body::new(name) });
    };
    add("Floor".into(), DVec3::ZERO, Behaviour::Static, Shape::Plane {});
    for i in 0..24 {
        let (x, z) = (0.3 * f64::from(i % 3) - 0.3, 0.3 * f64::from(i / 3 % 3) - 0.3);
        let at = DVec3::new(x + 0.01 * f64::from(i), 0.2 + 0.25 * f64::from(i / 3), z);
        let shape = match i % 2 {
            0 => Shape::Box { size: Some([0.2, 0.15, 0.25]) },
            _ => Shape::Sphere { radius: Some(0.1) },
        };
        add(format!("T{i}"), at, Behaviour::Free, shape);
    }
    for i in 0..6 {
        let at = DVec3::new(0.3 * f64::from(i) - 0.75, 2.5, 0.05);
        add(format!("Link{i}"), at, Behaviour::Free, Shape::Box { size: Some([0.26, 0.06, 0.06]) });
    }
    add("Soft".into(), DVec3::new(0.1, 3.0, 0.0), Behaviour::Free, Shape::Sphere { radius: Some(0.15) });
    if let Some(soft) = setup.bodies.last_mut() {
        soft.contact.coating = Some(setup::Coating::default());
    }
    for i in 1..6 {
        let frame = |x: f64| JointFrame { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        let mut joint = Joint::new(JointKind::Universal, [&format!("Link{}", i - 1), &format!("Link{i}")]);
        joint.frames = Some([frame(0.15), frame(-0.15)]);
        setup.joints.push(joint);
    }
    (scene, setup)
}

#[test]
fn a_heap_that_falls_and_settles_allocates_nothing_once_it_has_gathered() {
    let (scene, setup) = heap();
    let rig = compile(&scene, &setup, None).unwrap().rig;
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for i in 0..4 * 96 {
        let before = COUNT.with(Cell::get);
        if i % 4 == 0 {
            state.begin_frame();
        }
        step(&rig, &mut state, &mut work, 1.0 / 96.0);
        let count = COUNT.with(Cell::get) - before;
        // A crowd makes room for itself once, when it first gathers.
        assert!(i < 96 || count == 0, "step {i} allocated, with {} contacts", state.touched.len());
    }
    assert!(state.touched.len() > 20, "they touch");
    assert!(state.quarantined().is_none());
}

#[test]
fn spots_between_coatings_need_no_room_but_their_own() {
    let collider = |geometry: Geometry| Collider {
        node: 0,
        name: String::new(),
        carrier: Carrier::World,
        place: Placement::IDENTITY,
        geometry,
        material: Material { friction: 0.5, grip: 0.5, bounce: 0.0, rolling: 0.0 },
        size: 1.0,
        member: 1,
        touches: 1,
        coating: Some(Coating { thickness: 0.1, stiffness: 1e4, damping: 0.5 }),
    };
    let shapes = [
        collider(Geometry::ball(0.5)),
        collider(Geometry::cuboid(DVec3::splat(0.45))),
        collider(Geometry::capsule(0.3, 0.4)),
        collider(Geometry::half_space()),
    ];
    let mut spots = Vec::with_capacity(200);
    for (i, a) in shapes.iter().enumerate() {
        for (j, b) in shapes[..3].iter().enumerate() {
            let high = if i == 3 { 0.4 } else { 0.84 };
            let pose =
                Placement { position: DVec3::new(0.1, high, 0.05), rotation: DQuat::from_rotation_z(0.2) };
            let (before, began) = (COUNT.with(Cell::get), std::time::Instant::now());
            for _ in 0..100 {
                spots.clear();
                patch(a, &Placement::IDENTITY, b, &pose, &mut spots);
            }
            let each = began.elapsed().as_secs_f64() * 1e4;
            assert_eq!(COUNT.with(Cell::get) - before, 0, "shapes {i} and {j} allocated");
            println!("shapes {i} and {j}: {} spots, {each:.1} us", spots.len());
        }
    }
}
