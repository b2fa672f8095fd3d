//! Ball joints whose anchor moves on the first body as keyed.

use crate::Stage;
use glam::DVec3;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Clip, Property};
use sinew_core::setup::{Joint, JointKind};

/// Two free boxes: the second slides out along the first by its keys, `way(t)` on the x axis.
fn sliding(way: impl Fn(f64) -> f64) -> Stage {
    let mut stage = Stage::weightless();
    stage.body("Sleeve", DVec3::ZERO, [1.0, 0.3, 0.2]).spin = Some([0.3, 0.2, 1.5]);
    stage.body("Rod", DVec3::X * way(0.0), [0.6, 0.2, 0.1]).center = Some([0.2, 0.05, 0.0]);
    stage.scene.nodes[1].parent = Some(0);
    stage.join(Joint { keyed_anchor: true, ..Joint::new(JointKind::Universal, ["Sleeve", "Rod"]) });
    let times: Vec<f64> = (0..=120).map(|k| f64::from(k) / 60.0).collect();
    let values = times.iter().flat_map(|t| [way(*t), 0.0, 0.0]).collect();
    let curve = Curve::new(Kind::Vector, 3, times, values, Segments::Linear).unwrap();
    let channels = vec![Channel { node: 1, property: Property::Translation, curve }];
    stage.scene.clips.push(Clip { channels, ..Clip::default() });
    stage
}

/// The rod stays where its keys have it on the tumbling sleeve, and what moves it there is between the two.
#[test]
fn what_slides_by_its_keys_is_held_where_they_have_it() {
    let way = |t: f64| 0.5 + 0.3 * (2.0 * t).sin();
    let stage = sliding(way);
    let mut play = stage.play();
    let push = |play: &crate::Play| -> DVec3 {
        play.rig.solids.iter().zip(&play.state.solids).map(|(r, s)| s.velocity * r.mass).sum()
    };
    play.step(1.0 / 240.0);
    let before = (push(&play), play.momentum());
    for _ in 0..400 {
        play.step(1.0 / 240.0);
        let ((at, turned), (rod, _)) = (play.node(0), play.node(1));
        let keyed = at + turned * DVec3::X * way(play.state.time);
        // Straight between keys a 60th of a second apart.
        assert!((rod - keyed).length() < 1e-4, "{} at {}", (rod - keyed).length(), play.state.time);
        assert!(play.open() < 1e-6, "{}", play.open());
    }
    assert!((push(&play) - before.0).length() < 1e-9, "{}", push(&play) - before.0);
    assert!((play.momentum() - before.1).length() < 1e-6, "{}", play.momentum() - before.1);
}

/// Keys that do not move the anchor make the joint that holds still, to the bit.
#[test]
fn an_anchor_that_stays_is_a_plain_joint() {
    let end = |keyed: bool| {
        let mut stage = sliding(|_| 0.5);
        stage.setup.joints[0].keyed_anchor = keyed;
        let mut play = stage.play();
        (0..100).for_each(|_| play.step(1.0 / 120.0));
        play.node(1).0
    };
    assert!((end(true) - end(false)).length() < 1e-12);
}

#[test]
fn other_kinds_have_no_anchor_that_moves() {
    let mut stage = sliding(|_| 0.5);
    stage.setup.joints[0].kind = JointKind::Pin;
    let said = stage.refusal();
    assert!(said.contains("keyed_anchor") && said.contains("universal"), "{said}");
}
