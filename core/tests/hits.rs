//! Blows: impulses without an object against closed forms, and figures that give way to what strikes them.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Scene};
use sinew_core::setup::{
    Behaviour, Body, Hit, Impulse, Joint, JointKind, Parts, Release, Setup, Shape, Space,
};
use sinew_core::simulate::{Session, SolidState, run};
use std::sync::Arc;

fn node(name: &str, at: DVec3, parent: Option<usize>) -> Node {
    let local = Local::Channels(Channels { translation: at, ..Channels::default() });
    Node { name: name.into(), local, parent, ..Node::default() }
}

/// A pelvis of 30 kg that stands on its keys with a trunk of 40 kg on it, and a ball that comes at the trunk's chest.
fn struck(mass: f64, speed: f64, hit: Option<Hit>) -> Rig {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    scene.nodes.push(node("Pelvis", DVec3::Y, None));
    scene.nodes.push(node("Trunk", DVec3::Y * 0.2, Some(0)));
    scene.nodes.push(node("Ball", DVec3::new(0.0, 1.5, 0.6), None));
    let mut setup = Setup::default();
    setup.bake.frames = Some([0.0, 48.0]);
    setup.world.gravity = [0.0; 3];
    let shape = |size: [f64; 3]| Shape::Box { size: Some(size) };
    let mut pelvis = Body { mass: Some(30.0), shape: shape([0.3, 0.2, 0.2]), ..Body::new("Pelvis") };
    pelvis.hit = hit;
    pelvis.actuator.frequency = Some(6.0.into());
    pelvis.actuator.carries = Some(2.0);
    let mut trunk = Body { mass: Some(40.0), shape: shape([0.3, 0.9, 0.2]), ..Body::new("Trunk") };
    trunk.center = Some([0.0, 0.25, 0.0]);
    trunk.actuator.frequency = Some(3.0.into());
    (trunk.guide.space, trunk.guide.follow) = (Space::Parent, Parts::Orientation);
    let mut ball = Body { mass: Some(mass), shape: Shape::Sphere { radius: Some(0.1) }, ..Body::new("Ball") };
    (ball.behaviour, ball.velocity) = (Behaviour::Free, Some([0.0, 0.0, -speed]));
    setup.bodies = vec![pelvis, trunk, ball];
    for body in &mut setup.bodies[..2] {
        body.contact.layers = vec!["figure".into()];
        body.contact.passes = vec!["figure".into()];
    }
    setup.joints = vec![Joint::new(JointKind::Universal, ["Pelvis", "Trunk"])];
    compile(&scene, &setup, None).unwrap().rig
}

/// The largest angle by which the trunk was bent.
fn bent(rig: &Rig) -> f64 {
    let (motion, _) = run(rig, |_, _| true);
    motion
        .solid(1)
        .map(|s| sinew_core::rotation::log(s.node.rotation).length())
        .fold(0.0, f64::max)
        .to_degrees()
}

/// m v = p, whatever the step: in the air, and with the mass of the thing alone.
#[test]
fn an_impulse_gives_a_free_body_its_speed() {
    for (substeps, metres) in [(1, 1.0), (4, 0.01), (7, 1.0)] {
        let mut scene = Scene { frames_per_second: 30.0, ..Scene::default() };
        scene.nodes.push(node("Ball", DVec3::ZERO, None));
        let mut setup = Setup::default();
        (setup.world.gravity, setup.world.substeps) = ([0.0; 3], substeps);
        setup.world.metres_per_unit = metres;
        setup.bake.frames = Some([0.0, 30.0]);
        let ball = Body { behaviour: Behaviour::Free, mass: Some(4.0), ..Body::new("Ball") };
        setup.bodies = vec![Body { shape: Shape::Sphere { radius: Some(0.1 / metres) }, ..ball }];
        setup.hits = vec![Impulse { node: "Ball".into(), frame: 10.0, impulse: [6.0, -2.0, 0.0] }];
        let (motion, _) = run(&compile(&scene, &setup, None).unwrap().rig, |_, _| true);
        let at = |frame: usize| motion.frame(frame)[0].node.position;
        assert!(at(10).length() < 1e-12);
        let speed = (at(20) - at(15)) * 6.0;
        let wanted = DVec3::new(1.5, -0.5, 0.0) / metres;
        assert!((speed - wanted).length() < 1e-9 * wanted.length(), "{substeps}: {speed}");
    }
}

/// What would bend a statue by a degree or two bends a figure so that one sees it; more by a harder blow, not by a brush.
#[test]
fn a_figure_gives_way_to_a_blow() {
    let statue = bent(&struck(5.0, 5.0, None));
    let figure = bent(&struck(5.0, 5.0, Some(Hit::default())));
    let harder = bent(&struck(12.0, 5.0, Some(Hit::default())));
    println!("statue {statue:.1}, figure {figure:.1}, harder {harder:.1} degrees");
    assert!(figure > 3.0 * statue && figure > 8.0, "{statue} {figure}");
    assert!(harder > figure && harder < 60.0, "{figure} {harder}");
    let [brushed, by_statue] = [Some(Hit::default()), None].map(|hit| bent(&struck(0.05, 2.0, hit)));
    assert_eq!(brushed, by_statue, "what brushes by softens nothing");
}

#[test]
fn more_of_it_bends_further_and_none_is_a_statue() {
    let by = |amount: f64| bent(&struck(5.0, 5.0, Some(Hit { amount, ..Hit::default() })));
    let all: Vec<f64> = [0.0, 0.5, 1.0, 2.0].map(by).into();
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(all[0], bent(&struck(5.0, 5.0, None)));
}

/// It begins in the step of the contact, once, and a second touch within its time does nothing new.
#[test]
fn it_begins_in_the_contacts_own_step_and_only_once() {
    let rig = Arc::new(struck(5.0, 5.0, Some(Hit::default())));
    let mut session = Session::new(rig.clone());
    let mut begun: Vec<f64> = Vec::new();
    let mut struck_at = None;
    let step = 1.0 / 96.0;
    for _ in 0..96 {
        let from = session.state().time;
        session.step(step);
        let state = session.state();
        if let Some(s) = state.strikes.first() {
            struck_at.get_or_insert((from, s.time));
        }
        let since = state.solids[0].softened.since;
        if since.is_finite() && begun.last() != Some(&since) {
            begun.push(since);
        }
    }
    let (from, time) = struck_at.unwrap();
    assert_eq!(begun, [from], "struck at {time}");
}

/// A blow without an object softens as well: in the same way, wherever its frame is in a step.
#[test]
fn a_blow_without_an_object_is_one_too() {
    let mut rig = struck(5.0, 0.0, Some(Hit::default()));
    let blow = |time: f64| sinew_core::rig::Impulse { solid: 1, time, impulse: DVec3::Z * -25.0 };
    rig.impulses = vec![blow(0.5)];
    let hit = bent(&rig);
    rig.solids[0].hit = None;
    let statue = bent(&rig);
    println!("{hit:.1} degrees, a statue {statue:.1}");
    assert!(hit > 2.5 * statue && hit > 4.0, "{hit} {statue}");
}

/// What lies on a thing that has gone back to its keys does not release it a second time.
#[test]
fn what_is_released_by_a_touch_falls_once() {
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    scene.nodes.push(node("Shelf", DVec3::Y, None));
    scene.nodes.push(node("Ball", DVec3::new(0.0, 1.6, 0.0), None));
    let mut setup = Setup::default();
    setup.bake.frames = Some([0.0, 72.0]);
    setup.world.floor = Some(0.0);
    let release = Release { touched: true, back_after: Some(0.2), back_over: 0.2, ..Release::default() };
    let shelf = Shape::Box { size: Some([2.0, 0.1, 2.0]) };
    setup.bodies = vec![
        Body {
            release: Some(release),
            shape: shelf,
            mass: Some(5.0),
            behaviour: Behaviour::Free,
            ..Body::new("Shelf")
        },
        Body {
            behaviour: Behaviour::Free,
            shape: Shape::Sphere { radius: Some(0.1) },
            mass: Some(2.0),
            ..Body::new("Ball")
        },
    ];
    let mut session = Session::new(Arc::new(compile(&scene, &setup, None).unwrap().rig));
    let (mut falls, mut held) = (0, true);
    for _ in 0..288 {
        session.step(1.0 / 96.0);
        let now: &SolidState = &session.state().solids[0];
        falls += u32::from(held && !now.held);
        held = now.held;
    }
    assert_eq!((falls, held), (1, true));
}
