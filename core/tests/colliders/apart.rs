//! What may touch what: layers, joints, skeletons, names, and what overlaps from the beginning.

use crate::{Stage, block};
use glam::DVec3;
use sinew_core::rig::Compiled;
use sinew_core::setup::{Behaviour, Joint, JointKind, Parts, Shape};

/// Boxes of size 1 in a row, a gap of 1 in between, and the pairs of them that may touch.
fn row(count: usize) -> Stage {
    let mut stage = Stage::empty();
    for i in 0..count {
        let name = format!("Box {i}");
        stage.node(&name, None, DVec3::X * 2.0 * i as f64, Some(block(DVec3::ONE)));
        stage.body(&name, Behaviour::Free, Shape::Auto {});
    }
    stage
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|s| s.to_string()).collect()
}

fn touching(made: &Compiled) -> Vec<(usize, usize)> {
    let colliders = &made.rig.colliders;
    let all = |a: usize| (a + 1..colliders.all.len()).map(move |b| (a, b));
    (0..colliders.all.len())
        .flat_map(all)
        .filter(|(a, b)| colliders.may_touch(*a, *b) && colliders.inside(*a, *b).is_none())
        .collect()
}

#[test]
fn everything_touches_everything_at_first() {
    let made = row(3).compile().unwrap();
    assert_eq!(touching(&made), [(0, 1), (0, 2), (1, 2)]);
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
}

#[test]
fn two_touch_where_each_touches_a_layer_of_the_other() {
    let mut stage = row(4);
    let layer = |stage: &mut Stage, i: usize, own: &[&str], touches: Option<&[&str]>| {
        let contact = &mut stage.setup.bodies[i].contact;
        contact.layers = names(own);
        contact.touches = touches.map(names);
    };
    layer(&mut stage, 0, &["ground"], None);
    layer(&mut stage, 1, &["ghosts"], Some(&["ground"]));
    layer(&mut stage, 2, &["ghosts", "props"], Some(&["ground", "props"]));
    // The last is in no layer and touches all; the ghosts touch layers only.
    assert_eq!(touching(&stage.compile().unwrap()), [(0, 1), (0, 2), (0, 3)]);
    layer(&mut stage, 3, &["props"], None);
    assert_eq!(touching(&stage.compile().unwrap()), [(0, 1), (0, 2), (0, 3), (2, 3)]);
    layer(&mut stage, 3, &["props"], Some(&[]));
    assert_eq!(touching(&stage.compile().unwrap()), [(0, 1), (0, 2)]);
}

#[test]
fn joined_and_ignored_pairs_are_apart() {
    let mut stage = row(4);
    stage.setup.joints.push(Joint::new(JointKind::Universal, ["Box 0", "Box 1"]));
    stage.setup.joints.push(Joint::new(JointKind::Universal, ["world", "Box 0"]));
    stage.setup.bodies[3].contact.ignores = vec!["Box 2".into()];
    // A thing on Box 0 goes with it.
    stage.node("Horn", Some(0), DVec3::Y * 3.0, Some(block(DVec3::ONE)));
    stage.body("Horn", Behaviour::Animated, Shape::Auto {});
    let made = stage.compile().unwrap();
    assert_eq!(touching(&made), [(0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4)]);
    assert!(made.rig.colliders.apart.is_sorted());
    // What is carried can be ignored alone.
    stage.setup.bodies[2].contact.ignores = vec!["Horn".into()];
    assert_eq!(touching(&stage.compile().unwrap()), [(0, 2), (0, 3), (1, 2), (1, 3), (3, 4)]);
    // What hangs on a ceiling does not touch a thing on it.
    let ceiling = stage.node("Ceiling", None, DVec3::Y * 9.0, None);
    stage.node("Beam", Some(ceiling), DVec3::ZERO, Some(block(DVec3::ONE)));
    stage.body("Beam", Behaviour::Static, Shape::Auto {});
    stage.setup.joints.push(Joint::new(JointKind::Universal, ["Ceiling", "Box 3"]));
    let made = stage.compile().unwrap();
    assert!(!made.rig.colliders.may_touch(3, 5) && made.rig.colliders.may_touch(2, 5));
}

#[test]
fn bones_do_not_touch_their_parents() {
    let mut stage = Stage::empty();
    let arm = stage.node("Arm", None, DVec3::ZERO, Some(block(DVec3::ONE)));
    let helper = stage.node("Helper", Some(arm), DVec3::ZERO, None);
    stage.node("Hand", Some(helper), DVec3::X * 0.9, Some(block(DVec3::ONE)));
    stage.body("Arm", Behaviour::Guided, Shape::Auto {});
    stage.body("Hand", Behaviour::Guided, Shape::Auto {}).simulate = Parts::Orientation;
    let made = stage.compile().unwrap();
    assert!(touching(&made).is_empty());
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
}

#[test]
fn what_overlaps_at_first_passes_through_with_a_warning() {
    let mut stage = Stage::empty();
    stage.node("Floor", None, DVec3::new(0.0, -0.5, 0.0), Some(block(DVec3::new(9.0, 1.0, 9.0))));
    stage.node("Sunk", None, DVec3::new(0.0, 0.4, 0.0), Some(block(DVec3::ONE)));
    stage.node("Resting", None, DVec3::new(3.0, 0.495, 0.0), Some(block(DVec3::ONE)));
    stage.body("Floor", Behaviour::Static, Shape::Auto {});
    stage.body("Sunk", Behaviour::Free, Shape::Auto {});
    stage.body("Resting", Behaviour::Free, Shape::Auto {});
    for ground in [Shape::Auto {}, Shape::Mesh {}, Shape::Hull {}] {
        stage.setup.bodies[0].shape = ground;
        let made = stage.compile().unwrap();
        assert_eq!(touching(&made), [(0, 2), (1, 2)]);
        let [warning] = &made.warnings[..] else { panic!("{:?}", made.warnings) };
        assert!(
            warning.starts_with("\"Floor\" and \"Sunk\" overlap at the first frame by 0.100"),
            "{warning}"
        );
    }
}

#[test]
fn many_overlaps_are_counted_and_far_things_named() {
    let mut stage = Stage::empty();
    for i in 0..6 {
        let name = format!("Box {i}");
        stage.node(&name, None, DVec3::X * 2e8, Some(block(DVec3::ONE)));
        stage.body(&name, Behaviour::Free, Shape::Auto {});
    }
    let made = stage.compile().unwrap();
    assert!(touching(&made).is_empty());
    let count = |text: &str| made.warnings.iter().filter(|w| w.contains(text)).count();
    assert_eq!((count("until they have come apart; move"), count("7 more pairs"), count("1e8")), (8, 1, 6));
}
