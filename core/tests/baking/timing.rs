//! On twos, and frozen from a frame on.

use super::*;

#[test]
fn on_twos_every_second_pose_is_held() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    let plain = bake_it(&scene, &setup);
    setup.bake.every = Some(2);
    let twos = bake_it(&scene, &setup);
    assert_eq!(twos.baked.channels.len(), plain.baked.channels.len());
    let tip = curve(&twos.baked.channels, 2, Property::Rotation).unwrap();
    assert_eq!((tip.segments(), tip.times().len()), (&Segments::Step, 10));
    let shown = |d: &Done, f: usize| {
        d.motion.frame(f)[1].node.rotation.conjugate() * d.motion.frame(f)[2].node.rotation
    };
    for f in 0..18 {
        // In the middle of a frame, so that no rounding of times decides.
        let found = tip.quaternion((f as f64 + 0.5) / 24.0);
        let pose = shown(&plain, f - f % 2);
        assert!(sinew_core::rotation::distance(found, pose) < 1e-6, "{f}");
    }
    setup.bake.every = Some(0);
    assert!(refused(&scene, &setup).contains("bake.every"));
}

#[test]
fn from_the_held_frame_on_nothing_moves() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    let plain = bake_it(&scene, &setup);
    setup.bake.hold = Some(7.0);
    let held = bake_it(&scene, &setup);
    for c in &held.baked.channels {
        let free = curve(&plain.baked.channels, c.node, c.property).unwrap();
        let value = |curve: &Curve, f: f64| {
            let mut out = vec![0.0; curve.width()];
            curve.evaluate(f / 24.0, &mut out);
            out
        };
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart(&value(&c.curve, 3.0), &value(free, 3.0)) < 2e-3);
        for f in [8.0, 9.5, 13.0, 18.0] {
            assert!(
                apart(&value(&c.curve, f), &value(&c.curve, 7.0)) < 2e-3,
                "{} {:?} {f}",
                c.node,
                c.property
            );
        }
    }
}
