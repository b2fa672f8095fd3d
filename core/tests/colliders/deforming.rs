//! Which meshes touch as pieces that move with their skin.

use crate::{Stage, block};
use glam::{DAffine3, DVec3};
use sinew_core::rig::Carrier;
use sinew_core::scene::{Influence, Skin};
use sinew_core::setup::{Behaviour, Shape};

/// Two blocks in one mesh, each on a bone of its own.
fn pair() -> Stage {
    let mut stage = Stage::empty();
    let mesh = crate::together(block(DVec3::ONE), &crate::mapped(block(DVec3::ONE), |p| p + DVec3::X * 3.0));
    let first = stage.node("First", None, DVec3::ZERO, None);
    let second = stage.node("Second", None, DVec3::X * 3.0, None);
    let shown = stage.node("Pair", None, DVec3::Y * 9.0, Some(mesh));
    let influences = (0..16).map(|vertex| Influence { vertex, joint: vertex / 8, weight: 1.0 });
    stage.scene.meshes[0].influences = influences.collect();
    stage.scene.skins.push(Skin {
        joints: vec![first, second],
        inverse_bind: vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X * -3.0)],
    });
    stage.scene.nodes[shown].skin = Some(0);
    stage.key(second, DVec3::new(3.0, 2.0, 0.0));
    stage
}

#[test]
fn each_bone_moves_its_part_and_what_stands_is_the_worlds() {
    let mut stage = pair();
    stage.body("Pair", Behaviour::Animated, Shape::Auto {});
    let made = stage.compile().unwrap();
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    assert_eq!(made.collider_notes[0].how, "2 pieces that move with its skin, within 0.0000");
    let all = &made.rig.colliders.all;
    assert_eq!(all.len(), 2);
    let stands = all.iter().find(|c| c.carrier == Carrier::World).unwrap();
    assert!(stands.place.position.length() < 1e-12, "{:?}", stands.place);
    let path = all.iter().find_map(|c| match c.carrier {
        Carrier::Keys(p) => Some(&made.rig.paths[p]),
        _ => None,
    });
    let path = path.unwrap();
    for (time, height) in [(0.0, 0.0), (0.3, 0.6), (0.77, 1.54), (1.0, 2.0), (5.0, 2.0)] {
        let at = path.placement(time).position;
        assert!((at - DVec3::new(3.0, height, 0.0)).length() < 1e-9, "{at} at {time}");
    }
    assert!((path.velocity(0.5).0 - DVec3::Y * 2.0).length() < 1e-9);
}

#[test]
fn a_static_skin_stands_where_the_first_frame_puts_it() {
    let mut stage = pair();
    stage.body("Pair", Behaviour::Static, Shape::Mesh {});
    let made = stage.compile().unwrap();
    assert!(
        made.warnings.len() == 1 && made.warnings[0].contains("take \"animated\""),
        "{:?}",
        made.warnings
    );
    let all = &made.rig.colliders.all;
    assert_eq!(all.iter().map(|c| c.carrier).collect::<Vec<_>>(), [Carrier::World]);
    assert!((all[0].place.position - DVec3::X * 1.5).length() < 1e-12, "{:?}", all[0].place);
}

#[test]
fn a_skin_whose_bones_are_simulated_is_refused_by_name() {
    let mut stage = pair();
    stage.body("Pair", Behaviour::Animated, Shape::Auto {});
    stage.body("Second", Behaviour::Guided, Shape::Sphere { radius: Some(0.5) });
    let why = stage.refused();
    assert!(why.contains("\"Pair\"") && why.contains("\"Second\"") && why.contains("remove"), "{why}");
}
