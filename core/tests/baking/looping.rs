//! A cycle in, a seamless cycle out.

use super::*;
use sinew_core::rotation;
use sinew_core::setup::{BakedKeys, Group, Keyable, Timing};

fn looped(scene: &Scene) -> Setup {
    let mut setup = limp(scene);
    setup.bake.looped = true;
    setup
}

/// Position (or, of a rotation, direction of the node's axes) and its velocity just after the start and just before
/// the end, from the curve's values alone.
fn ends(curve: &Curve) -> [(Vec<f64>, Vec<f64>); 2] {
    let h = 1e-5;
    let (start, end) = (curve.start(), curve.end());
    let at = |t: f64| {
        let mut out = vec![0.0; curve.width()];
        curve.evaluate(t, &mut out);
        if curve.kind() == Kind::Rotation {
            let q = DQuat::from_slice(&out);
            out = [q * DVec3::X, q * DVec3::Y].iter().flat_map(|v| v.to_array()).collect();
        }
        out
    };
    // Three points: exact for a parabola.
    let velocity = |t: f64, h: f64| {
        let (a, b, c) = (at(t), at(t + h), at(t + 2.0 * h));
        (0..a.len()).map(|i| (4.0 * b[i] - 3.0 * a[i] - c[i]) / (2.0 * h)).collect::<Vec<_>>()
    };
    [(at(start), velocity(start, h)), (at(end), velocity(end, -h))]
}

fn length(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|x| x * x).sum::<f64>().sqrt()
}

/// Gap of a curve's ends: pose in its unit (or rad), velocity as a share of the fastest.
fn gap(curve: &Curve, travel: DVec3) -> (f64, f64) {
    let [(a, va), (b, vb)] = ends(curve);
    let travel = travel.to_array();
    let offset = |i: usize| if curve.kind() == Kind::Vector { travel[i] } else { 0.0 };
    let apart = length((0..a.len()).map(|i| b[i] - a[i] - offset(i)));
    let fastest = (0..200)
        .map(|i| {
            let t = curve.start() + (curve.end() - curve.start()) * f64::from(i) / 200.0;
            match curve.kind() {
                Kind::Vector => curve.velocity(t).length(),
                Kind::Rotation => curve.angular_velocity(t).length(),
            }
        })
        .fold(1e-3, f64::max);
    (apart, length((0..va.len()).map(|i| vb[i] - va[i])) / fastest)
}

#[test]
fn the_end_of_a_cycle_meets_its_start_in_pose_and_velocity() {
    let scene = walker(0.0);
    let done = bake_it(&scene, &looped(&scene));
    assert_eq!(done.baked.channels.len(), 4);
    for c in &done.baked.channels {
        let (pose, velocity) = gap(&c.curve, DVec3::ZERO);
        // The bar: a tenth of a degree and a hundredth of the fastest.
        assert!(pose < 1e-6 && velocity < 1e-3, "{} {:?}: {pose} {velocity}", c.node, c.property);
        let n = c.curve.values().len() - c.curve.width();
        assert_eq!(c.curve.values()[..c.curve.width()], c.curve.values()[n..], "to the bit");
    }
    let seam = done.baked.seam.unwrap();
    assert!(seam.angle_deg < 1e-4 && seam.velocity_percent.unwrap() < 0.01, "{seam:?}");
    let (turns, first, before, repeats) = done.turn.unwrap();
    assert!(repeats && turns > 2 && before.angle_deg < 0.1, "{turns} {before:?}");
    assert!(first.angle_deg > 1.0 && first.velocity_percent.unwrap() > 5.0, "{first:?}");
}

#[test]
fn without_the_loop_the_same_bake_does_not_close() {
    let scene = walker(0.0);
    let done = bake_it(&scene, &limp(&scene));
    let (pose, velocity) = gap(curve(&done.baked.channels, 2, Property::Rotation).unwrap(), DVec3::ZERO);
    assert!(pose > 0.02 && velocity > 0.05, "{pose} {velocity}");
    assert!(done.baked.seam.is_none());
}

#[test]
fn a_loop_is_what_many_turns_come_to() {
    // The keys written out sixteen times and simulated plainly: the last turn is the loop.
    let scene = walker(0.0);
    let once = bake_it(&scene, &looped(&scene));
    let mut long = scene.clone();
    for c in &mut long.clips[0].channels {
        c.curve = c.curve.repeated(16, &vec![0.0; c.curve.width()]);
    }
    let all = bake_it(&long, &limp(&long));
    for f in 0..=18 {
        for (a, b) in once.motion.frame(f).iter().zip(all.motion.frame(15 * 18 + f)) {
            let angle = rotation::distance(a.node.rotation, b.node.rotation).to_degrees();
            assert!(angle < 0.05 && a.node.position.distance(b.node.position) < 1e-4, "{f}: {angle}");
        }
    }
}

#[test]
fn a_walk_that_travels_goes_on_where_it_ended() {
    let (scene, still) = (walker(1.5), walker(0.0));
    let done = bake_it(&scene, &looped(&scene));
    let hip = curve(&done.baked.channels, 0, Property::Translation).unwrap();
    let (pose, velocity) = gap(hip, DVec3::Z * 1.5);
    assert!(pose < 1e-6 && velocity < 1e-3, "{pose} {velocity}");
    for c in done.baked.channels.iter().filter(|c| c.property == Property::Rotation) {
        let (pose, velocity) = gap(&c.curve, DVec3::ZERO);
        assert!(pose < 1e-6 && velocity < 1e-3, "{}: {pose} {velocity}", c.node);
    }
    // It is the walk on the spot, moved, and behind its keys by the same everywhere: nothing in it knows where it is.
    let on_the_spot = bake_it(&still, &looped(&still));
    let moved: Vec<DVec3> = done
        .motion
        .solid(2)
        .zip(on_the_spot.motion.solid(2))
        .enumerate()
        .map(|(f, (a, b))| a.node.position - b.node.position - DVec3::Z * (1.5 * f as f64 / 18.0))
        .collect();
    assert!(moved.iter().all(|m| m.distance(moved[0]) < 2e-3), "{moved:?}");
    assert!(done.compiled.warnings.is_empty(), "{:?}", done.compiled.warnings);
}

#[test]
fn keys_that_are_no_cycle_are_named_and_close_all_the_same() {
    let mut scene = walker(0.0);
    let tail = scene.clips[0].channels.iter_mut().find(|c| c.node == 1).unwrap();
    let mut values = tail.curve.values().to_vec();
    let n = values.len();
    let off = DQuat::from_slice(&values[n - 4..]) * DQuat::from_rotation_x(0.1);
    off.write_to_slice(&mut values[n - 4..]);
    tail.curve =
        Curve::new(Kind::Rotation, 4, tail.curve.times().to_vec(), values, Segments::Linear).unwrap();
    let done = bake_it(&scene, &looped(&scene));
    let warning = done.compiled.warnings.join("\n");
    assert!(warning.contains("\"Tail\" (by 5.73 deg)") && !warning.contains("Tip"), "{warning}");
    for c in &done.baked.channels {
        let (pose, velocity) = gap(&c.curve, DVec3::ZERO);
        assert!(pose < 1e-6 && velocity < 1e-3, "{}: {pose} {velocity}", c.node);
    }
}

#[test]
fn a_motion_that_never_comes_back_keeps_its_way_there() {
    // Two keys, from one pose to another: an even drift would leave nothing of it.
    let mut scene = walker(0.0);
    scene.clips[0].channels.retain(|c| c.node == 1);
    let values: Vec<f64> = [0.0, 1.0].iter().flat_map(|a| DQuat::from_rotation_x(*a).to_array()).collect();
    scene.clips[0].channels[0].curve =
        Curve::new(Kind::Rotation, 4, vec![0.0, TURN], values, Segments::Linear).unwrap();
    let mut setup = looped(&scene);
    setup.bodies.retain(|b| b.node == "Tail");
    setup.bodies[0].actuator.preset = Preset::Subtle;
    let done = bake_it(&scene, &setup);
    let tail = curve(&done.baked.channels, 1, Property::Rotation).unwrap();
    let angle = |t: f64| rotation::distance(tail.quaternion(t), tail.quaternion(0.0));
    assert!(angle(0.5 * TURN) > 0.35 && angle(TURN) < 1e-6, "{} {}", angle(0.5 * TURN), angle(TURN));
}

#[test]
fn a_turn_may_end_between_two_frames() {
    let mut scene = walker(0.0);
    for c in &mut scene.clips[0].channels {
        let times = c.curve.times().iter().map(|t| t * 0.9777).collect();
        c.curve =
            Curve::new(c.curve.kind(), c.curve.width(), times, c.curve.values().to_vec(), Segments::Linear)
                .unwrap();
    }
    let done = bake_it(&scene, &looped(&scene));
    assert!((done.motion.times().last().unwrap() - 0.9777 * TURN).abs() < 1e-9);
    for c in &done.baked.channels {
        let (pose, velocity) = gap(&c.curve, DVec3::ZERO);
        assert!(pose < 1e-6 && velocity < 1e-3, "{}: {pose} {velocity}", c.node);
    }
}

#[test]
fn what_is_keyed_over_time_begins_anew_with_every_turn() {
    let scene = walker(0.0);
    let mut setup = looped(&scene);
    let mut group = Group::new("tail", 1.0);
    group.strength = Keyable::Keys(sinew_core::setup::Keys {
        keys: vec![[0.0, 1.0], [0.3, 0.1], [0.6, 1.0]],
        between: sinew_core::setup::Between::Linear,
    });
    setup.groups.push(group);
    setup.bodies[2].groups.push("tail".into());
    let (_, _, before, repeats) = bake_it(&scene, &setup).turn.unwrap();
    assert!(repeats, "{before:?}");
    // Were the dip only in the first turn, the loop would be that of a tail without one.
    setup.groups[0].strength = 1.0.into();
    let plain = bake_it(&scene, &setup);
    setup.groups[0].strength = 0.1.into();
    let weak = bake_it(&scene, &setup);
    let tip = |d: &Done| curve(&d.baked.channels, 2, Property::Rotation).unwrap().quaternion(0.4);
    assert!(rotation::distance(tip(&plain), tip(&weak)) > 0.02);
}

#[test]
fn keys_on_every_frame_close_too() {
    let scene = walker(0.0);
    let mut setup = looped(&scene);
    setup.bake.keys = BakedKeys::EveryFrame;
    let done = bake_it(&scene, &setup);
    for c in &done.baked.channels {
        let (w, n) = (c.curve.width(), c.curve.values().len());
        assert_eq!(c.curve.values()[..w], c.curve.values()[n - w..]);
    }
    assert_eq!(done.baked.seam.unwrap().velocity_percent, None);
}

#[test]
fn what_cannot_loop_is_refused_by_name() {
    let scene = walker(0.0);
    let mut setup = looped(&scene);
    setup.bodies[0].guide.timing = Timing::Path;
    let why = refused(&scene, &setup);
    assert!(why.contains("bake.loop") && why.contains("\"Hip\""), "{why}");
    let mut setup = looped(&scene);
    setup.bake.hold = Some(4.0);
    assert!(refused(&scene, &setup).contains("bake.hold"));
    setup.bake.hold = None;
    setup.bake.frames = Some([0.0, 2.0]);
    assert!(refused(&scene, &setup).contains("too short"));
}
