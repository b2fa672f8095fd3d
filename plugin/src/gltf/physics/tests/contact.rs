//! Colliders, materials and filters of set-ups, written into documents and read back.

use super::write::{DIALECTS, rig, scene, written};
use super::*;
use proptest::prelude::*;
use sinew_core::rig::{Carrier, Collider, Rig};
use sinew_core::setup::{Contact, Part};

fn contact() -> impl Strategy<Value = Contact> {
    let some = || prop::option::of(0.0..1.0);
    (some(), some(), some(), 0_usize..4).prop_map(|(friction, more, bounce, filter)| {
        let names = |n: &[&str]| n.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let mut contact = Contact { friction, bounce, ..Contact::default() };
        contact.grip = friction.and_then(|f| more.map(|m| f + m + 0.01));
        match filter {
            0 => contact.layers = names(&["ground"]),
            1 => (contact.layers, contact.touches) = (names(&["props", "toys"]), Some(names(&["ground"]))),
            2 => contact.collide = Some(false),
            _ => {}
        }
        contact
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let sized = || {
        prop_oneof![
            [(); 3].map(|()| 0.1..3.0).prop_map(|s| Shape::Box { size: Some(s) }),
            (0.1..2.0).prop_map(|r| Shape::Sphere { radius: Some(r) }),
            (0.1..2.0, 0.1..2.0).prop_map(|(r, l)| Shape::Capsule { radius: Some(r), length: Some(l) }),
            (0.1..2.0, 0.1..2.0).prop_map(|(r, l)| Shape::Cylinder { radius: Some(r), length: Some(l) }),
            (0.1..2.0, 0.1..2.0).prop_map(|(r, l)| Shape::Cone { radius: Some(r), length: Some(l) }),
        ]
    };
    let part = (sized(), [(); 3].map(|()| -2.0..2.0), [(); 3].map(|()| -80.0..80.0))
        .prop_map(|(shape, at, turn_deg)| Part { shape, at, turn_deg });
    prop_oneof![sized(), prop::collection::vec(part, 1..4).prop_map(|parts| Shape::Compound { parts }),]
}

/// What every collider is, in numbers that do not tell a turned ball from one that is not.
fn numbers(document: &Document, setup: &Setup) -> Vec<(String, Vec<f64>)> {
    let rig = rig(document, setup);
    let all_of = |c: &Collider| {
        let at = reaches(&rig, c);
        [c.size, c.material.friction, c.material.grip, c.material.bounce].into_iter().chain(at).collect()
    };
    let mut all: Vec<(String, Vec<f64>)> =
        rig.colliders.all.iter().map(|c| (c.name.clone(), all_of(c))).collect();
    // By all of them, without their last digits: parts of one size are told apart by where they are.
    let rounded = |of: &[f64]| of.iter().map(|v| (v * 1e6).round() as i64).collect::<Vec<_>>();
    all.sort_by_key(|(name, numbers)| (name.clone(), rounded(numbers)));
    all
}

/// The middle of a collider, and how far it reaches in some directions, in the frame of its node: which of its principal axes a body
/// counts first is nobody's business.
fn reaches(rig: &Rig, c: &Collider) -> Vec<f64> {
    let at = match c.carrier {
        Carrier::Solid(s) => rig.solids[s].offset.then(&c.place),
        _ => c.place,
    };
    let reach = |way: DVec3| {
        let own = at.rotation.conjugate() * way;
        let shape = c.geometry.shape().as_support_map().unwrap();
        (at.rotation * shape.local_support_point(own)).dot(way)
    };
    let ways = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE, DVec3::new(1.0, -2.0, 3.0)];
    at.position.to_array().into_iter().chain(ways.map(reach)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_touches_comes_back(a in (shape(), contact()), c in (shape(), contact()), d in contact()) {
        let body = |node: &str, behaviour, shape, contact| Body { behaviour, shape, contact, ..Body::new(node) };
        let ground = Contact { layers: vec!["ground".into()], ..Contact::default() };
        let mut setup = Setup { bodies: vec![
            body("A", Behaviour::Free, a.0, a.1),
            body("C", Behaviour::Static, c.0, c.1),
            body("D", Behaviour::Free, Shape::Box { size: Some([0.5; 3]) }, d),
            body("C mark", Behaviour::Static, Shape::Sphere { radius: Some(0.5) }, ground),
        ], ..Setup::default() };
        setup.world.gravity = [0.0, -9.81, 0.0];
        let before = document(&scene());
        for dialect in DIALECTS {
            let (after, read, warnings) = written(&scene(), &setup, dialect);
            prop_assert!(warnings.is_empty(), "{:?}", warnings);
            // What stands still and touches nothing is nothing.
            let is_there = |b: &&Body| b.behaviour == Behaviour::Free || b.contact.collide.is_none();
            for body in setup.bodies.iter().filter(is_there) {
                let same = |b: &&Body| b.node == body.node || b.node.starts_with(&format!("{} shape", body.node));
                let is = read.bodies.iter().find(same).unwrap();
                prop_assert_eq!(is.behaviour, body.behaviour);
                prop_assert_eq!(&is.contact, &body.contact);
            }
            let (was, is) = (numbers(&before, &setup), numbers(&after, &read));
            prop_assert_eq!(was.len(), is.len());
            for (was, is) in was.iter().zip(&is).filter(|(w, _)| w.0 == "A" || w.0 == "D") {
                for (w, i) in was.1.iter().zip(&is.1) {
                    prop_assert!((w - i).abs() < 1e-6, "{:?} {:?}", was, is);
                }
            }
            let (twice, again, _) = written(after.json(), &read, dialect);
            prop_assert_eq!(after.json(), twice.json());
            prop_assert_eq!(read, again);
        }
    }
}

#[test]
fn what_files_have_no_words_for_is_named() {
    let mut body = Body { behaviour: Behaviour::Free, ..Body::new("A") };
    body.shape = Shape::Sphere { radius: Some(0.5) };
    body.contact.rolling = Some(0.01);
    body.contact.ignores = vec!["C".into()];
    body.contact.coating = Some(sinew_core::setup::Coating::default());
    let plane = Body { behaviour: Behaviour::Static, shape: Shape::Plane {}, ..Body::new("C") };
    let setup = Setup { bodies: vec![body, plane], ..Setup::default() };
    let (_, read, warnings) = written(&scene(), &setup, Dialect::Khronos);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert_eq!((read.bodies[1].behaviour, &read.bodies[1].shape), (Behaviour::Static, &Shape::Plane {}));
    let (_, read, warnings) = written(&scene(), &setup, Dialect::Omi);
    assert!(warnings.iter().any(|w| w.contains("no planes")), "{warnings:?}");
    assert_eq!(read.bodies.len(), 1);
}
