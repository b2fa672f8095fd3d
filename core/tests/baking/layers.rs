//! Keys and layer make the whole motion.

use super::*;
use sinew_core::rotation;
use sinew_core::scene::Pose;
use sinew_core::setup::{BakedKeys, BakedLayer};

/// The farthest that keys and layer are from the whole motion: units, rad; at frames and often between.
fn apart(scene: &Scene, done: &Done) -> (f64, f64) {
    let mut pose = Pose::new(scene, scene.clips.first());
    let mut worst = (0.0_f64, 0.0_f64);
    for i in 0..=18 * 24 {
        let t = f64::from(i) / (24.0 * 24.0);
        pose.evaluate(t);
        for c in &done.baked.channels {
            let layer = curve(&done.baked.additive, c.node, c.property).expect("a layer for every curve");
            let keyed = pose.local(c.node);
            match c.property {
                Property::Rotation => {
                    let sum = keyed.rotation * layer.quaternion(t);
                    worst.1 = worst.1.max(rotation::distance(sum, c.curve.quaternion(t)));
                }
                _ => {
                    let sum = keyed.translation + layer.vector(t);
                    worst.0 = worst.0.max(sum.distance(c.curve.vector(t)));
                }
            }
        }
    }
    worst
}

#[test]
fn keys_and_layer_make_the_whole_at_frames_and_between() {
    let scene = walker(0.5);
    for looped in [false, true] {
        let mut setup = limp(&scene);
        setup.bake.layer = BakedLayer::Both;
        setup.bake.looped = looped;
        (setup.bake.tolerance, setup.bake.tolerance_deg) = (Some(1e-3), Some(0.1));
        let done = bake_it(&scene, &setup);
        assert_eq!(done.baked.additive.len(), done.baked.channels.len());
        let (units, rad) = apart(&scene, &done);
        assert!(units <= 1.2e-3 && rad.to_degrees() <= 0.12, "{units} {}", rad.to_degrees());
    }
}

#[test]
fn keys_on_every_frame_have_a_layer_on_every_frame() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    setup.bake.layer = BakedLayer::Both;
    setup.bake.keys = BakedKeys::EveryFrame;
    let done = bake_it(&scene, &setup);
    assert!(done.baked.additive.iter().all(|c| c.curve.times().len() == 19));
    let (units, rad) = apart(&scene, &done);
    // Slerps of factors are not the slerp of their product, but near it.
    assert!(units < 1e-9 && rad.to_degrees() < 0.1, "{units} {}", rad.to_degrees());
}

#[test]
fn a_layer_alone_is_that_of_both_and_small_where_the_motion_keeps_to_the_keys() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    setup.bake.layer = BakedLayer::Both;
    let both = bake_it(&scene, &setup);
    setup.bake.layer = BakedLayer::Additive;
    let alone = bake_it(&scene, &setup);
    assert!(alone.baked.channels.is_empty());
    let curves = |d: &Done| d.baked.additive.iter().map(|c| c.curve.clone()).collect::<Vec<_>>();
    assert_eq!(curves(&alone), curves(&both));
    let keys: usize = alone.baked.additive.iter().map(|c| c.curve.times().len()).sum();
    assert_eq!(alone.baked.keys, keys);
    for b in &mut setup.bodies {
        b.actuator.preset = Preset::Subtle;
    }
    let subtle = bake_it(&scene, &setup);
    let tip = |d: &Done| {
        let c = curve(&d.baked.additive, 2, Property::Rotation).unwrap();
        (0..19)
            .map(|f| rotation::distance(c.quaternion(f64::from(f) / 24.0), DQuat::IDENTITY))
            .fold(0.0, f64::max)
    };
    assert!(tip(&subtle) < 0.2 * tip(&alone), "{} {}", tip(&subtle), tip(&alone));
}

#[test]
fn held_poses_have_no_layer() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    setup.bake.layer = BakedLayer::Additive;
    setup.bake.every = Some(2);
    assert!(refused(&scene, &setup).contains("bake.layer"));
}
