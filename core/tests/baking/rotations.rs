//! Rotations whatever the numbers say: no flips between keys, and any scale above.

use super::*;
use sinew_core::bake::BakeError;
use sinew_core::rotation;
use sinew_core::setup::{BakedKeys, Limit};

#[test]
fn quaternions_never_flip_between_keys() {
    // Three whole turns about a leaning axis, with keys of both signs.
    let mut scene = walker(0.0);
    scene.clips[0].channels.retain(|c| c.node == 0);
    let times: Vec<f64> = (0..=72).map(|f| f64::from(f) / 24.0).collect();
    let axis = DVec3::new(1.0, 2.0, 0.5).normalize();
    let values: Vec<f64> = (0..=72)
        .flat_map(|f| {
            let q = rotation::exp(axis * (TAU * f64::from(f) / 24.0));
            (if f % 3 == 0 { q } else { -q }).to_array()
        })
        .collect();
    for c in &mut scene.clips[0].channels {
        if c.property == Property::Rotation {
            c.curve = Curve::new(Kind::Rotation, 4, times.clone(), values.clone(), Segments::Linear).unwrap();
        }
    }
    let mut setup = limp(&scene);
    setup.bodies.truncate(1);
    for keys in [BakedKeys::Fitted, BakedKeys::EveryFrame] {
        setup.bake.keys = keys;
        let done = bake_it(&scene, &setup);
        let q = curve(&done.baked.channels, 0, Property::Rotation).unwrap().values().to_vec();
        for (k, pair) in q.chunks_exact(4).collect::<Vec<_>>().windows(2).enumerate() {
            let dot: f64 = pair[0].iter().zip(pair[1]).map(|(a, b)| a * b).sum();
            assert!(dot > 0.0, "{keys:?}: the sign changes between keys {k} and {}", k + 1);
        }
    }
}

/// An arm under a parent that is scaled, turned and keyed.
fn scaled(scale: DVec3) -> Scene {
    let mut scene = walker(0.0);
    let rest = Channels { scale, rotation: DQuat::from_rotation_y(0.4), ..Channels::default() };
    scene.nodes[0].local = Local::Channels(rest);
    scene
}

/// An actuator that nothing holds back: the keys again, but for the corners of straight keys.
fn strongest(setup: &mut Setup) {
    for body in &mut setup.bodies {
        body.actuator.preset = Preset::Subtle;
        body.actuator.alpha = Some(4000.0.into());
        body.actuator.max_torque = Some(Limit::Unlimited);
    }
    setup.bake.tolerance_deg = Some(0.0);
    setup.world.gravity = [0.0; 3];
}

#[test]
fn bones_under_any_scale_come_back_as_keyed() {
    for scale in [
        DVec3::new(1.0, 1.0, 1.0),
        DVec3::new(3.0, 0.5, 1.0),
        DVec3::new(-1.0, 1.0, 1.0),
        DVec3::new(-2.0, -0.5, 1.5),
        DVec3::new(-1.0, -1.0, -1.0),
        DVec3::new(1.0, 0.0, 1.0),
        DVec3::ZERO,
    ] {
        let scene = scaled(scale);
        let mut setup = limp(&scene);
        setup.bodies.remove(0);
        strongest(&mut setup);
        let done = bake_it(&scene, &setup);
        for node in [1, 2] {
            let found = curve(&done.baked.channels, node, Property::Rotation).unwrap();
            let keyed = scene.clips[0].curve(node, Property::Rotation).unwrap();
            for f in 0..=18 {
                let t = f64::from(f) / 24.0;
                let apart = rotation::distance(found.quaternion(t), keyed.quaternion(t)).to_degrees();
                assert!(apart < 0.1, "{scale} node {node} frame {f}: {apart} deg");
            }
        }
    }
}

#[test]
fn a_place_under_a_flat_parent_is_refused() {
    let scene = scaled(DVec3::new(1.0, 0.0, 1.0));
    let mut setup = limp(&scene);
    setup.bodies.remove(0);
    setup.bodies[0].simulate = Parts::Both;
    let clip = scene.clips.first();
    let rig = compile(&scene, &setup, clip).unwrap().rig;
    let motion = run(&rig, |_, _| true).0;
    let error = bake(&scene, clip, &rig, &motion, &setup.bake, true).unwrap_err();
    assert!(matches!(error, BakeError::FlatParent { .. }), "{error}");
}
