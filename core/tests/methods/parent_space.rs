//! Guides relative to a parent, held parts, and hierarchies.

use super::*;
use sinew_core::bake::{bake, tolerances};
use sinew_core::rotation;
use sinew_core::setup::{Bake, BakedKeys, Parts, Space};
use sinew_core::simulate::{State, Workspace, run, step};

/// A carrier that moves along x and turns, with a child one unit above it that is keyed to stay.
fn carried() -> Scene {
    let mut scene = ball(&[(0.0, DVec3::ZERO), (4.0, DVec3::X * 4.0)]);
    scene.nodes.push(node("Child", Some(0), DVec3::Y));
    let turn = Curve::new(
        Kind::Rotation,
        4,
        vec![0.0, 4.0],
        [DQuat::IDENTITY, rotation::exp(DVec3::Z * 1.5)].iter().flat_map(|q| q.to_array()).collect(),
        Segments::Linear,
    )
    .unwrap();
    scene.clips[0].channels.push(Channel { node: 0, property: Property::Rotation, curve: turn });
    let stay =
        Curve::new(Kind::Vector, 3, vec![0.0, 4.0], vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0], Segments::Linear)
            .unwrap();
    scene.clips[0].channels.push(Channel { node: 1, property: Property::Translation, curve: stay });
    scene
}

fn pair(space: Space, simulate: Parts) -> Setup {
    let mut s = setup(paper(0.5, 1.0, 1.0 / 24.0), Timing::Timed, 100.0);
    let mut child = s.bodies[0].clone();
    child.node = "Child".into();
    child.guide.space = space;
    child.simulate = simulate;
    s.bodies.push(child);
    s.world.frames_per_second = Some(24.0);
    s.world.substeps = 4;
    s
}

#[test]
fn a_target_in_parent_space_goes_where_the_simulated_parent_goes() {
    let scene = carried();
    for (space, lifted) in [(Space::World, 0.0), (Space::Parent, 3.0)] {
        let rig = rig(&scene, &pair(space, Parts::Both));
        let mut state = State::new(&rig);
        let mut work = Workspace::new(&rig);
        for _ in 0..3840 {
            step(&rig, &mut state, &mut work, 1.0 / 960.0);
            state.solids[0].position.y = 3.0; // a hand lifts the parent away from its keys
            state.solids[0].velocity.y = 0.0;
        }
        let keyed = rig.keyed(1, 4.0).position;
        assert!((state.targets[1].point.position - keyed - DVec3::Y * lifted).length() < 0.2, "{space:?}");
    }
}

#[test]
fn parts_that_are_not_simulated_stay_on_the_parent() {
    let scene = carried();
    let rig = rig(&scene, &pair(Space::Parent, Parts::Orientation));
    let mut state = State::new(&rig);
    let mut work = Workspace::new(&rig);
    for _ in 0..60 {
        step(&rig, &mut state, &mut work, 1.0 / 24.0);
        let parent = state.solids[0].placement();
        let expected = parent.position + parent.rotation * DVec3::Y;
        assert!((state.solids[1].position - expected).length() < 1e-9);
    }
}

#[test]
fn a_bake_with_no_physics_gives_the_keys_back() {
    // Blend 0: whatever is simulated, the baked curves are the keys, under any hierarchy.
    let mut scene = carried();
    let Local::Channels(c) = &mut scene.nodes[0].local else { unreachable!() };
    c.scale = DVec3::new(-2.0, 2.0, 2.0); // mirrored and scaled
    let mut s = pair(Space::World, Parts::Both);
    for b in &mut s.bodies {
        b.actuator.blend = Some(0.0.into());
    }
    let rig = rig(&scene, &s);
    let (motion, _) = run(&rig, |_, _| true);
    let options = Bake { keys: BakedKeys::EveryFrame, ..Bake::default() };
    let baked = bake(&scene, scene.clips.first(), &rig, &motion, &options, false).unwrap();
    let clip = &scene.clips[0];
    for channel in &baked.channels {
        for (k, &t) in channel.curve.times().iter().enumerate() {
            match channel.property {
                Property::Translation => {
                    let keyed = clip.curve(channel.node, Property::Translation).unwrap().vector(t);
                    let v = DVec3::from_slice(&channel.curve.values()[3 * k..]);
                    assert!((v - keyed).length() < 1e-6, "{v} {keyed}");
                }
                _ => {
                    let keyed = clip
                        .curve(channel.node, Property::Rotation)
                        .map_or(DQuat::IDENTITY, |c| c.quaternion(t));
                    let q = DQuat::from_slice(&channel.curve.values()[4 * k..]);
                    assert!(rotation::distance(q, keyed) < 1e-6);
                }
            }
        }
    }
    assert!(baked.channels.iter().filter(|c| c.property == Property::Translation).count() == 2);
}

#[test]
fn fitted_keys_are_few_and_within_the_tolerance() {
    let scene = carried();
    let rig = rig(&scene, &pair(Space::World, Parts::Both));
    let (motion, _) = run(&rig, |_, _| true);
    let options = Bake { tolerance: Some(1e-3), ..Bake::default() };
    let baked = bake(&scene, scene.clips.first(), &rig, &motion, &options, true).unwrap();
    // The parent's turn shows at the end of its child.
    let degrees = tolerances(&rig, &options).iter().map(|t| t.degrees).fold(0.0, f64::max);
    assert!(baked.max_error <= 1e-3 && baked.max_error_deg <= degrees && degrees < 1.0, "{degrees}");
    assert!(baked.keys * 6 < baked.samples, "{} keys for {} samples", baked.keys, baked.samples);
}

#[test]
fn what_is_reported_is_what_is_baked_under_partial_blends() {
    let cases =
        [(Space::Parent, Parts::Both), (Space::Parent, Parts::Orientation), (Space::World, Parts::Both)];
    for (space, simulate) in cases {
        let scene = carried();
        let mut s = pair(space, simulate);
        (s.bodies[0].actuator.blend, s.bodies[1].actuator.blend) = (Some(0.3.into()), Some(0.7.into()));
        let rig = rig(&scene, &s);
        let (motion, _) = run(&rig, |_, _| true);
        let options = Bake { keys: BakedKeys::EveryFrame, ..Bake::default() };
        let baked = bake(&scene, scene.clips.first(), &rig, &motion, &options, false).unwrap();
        // The clip as a writer makes it: baked channels over the source's.
        let mut clip = scene.clips[0].clone();
        clip.channels
            .retain(|c| !baked.channels.iter().any(|b| (b.node, b.property) == (c.node, c.property)));
        clip.channels.extend(baked.channels);
        let mut pose = sinew_core::scene::Pose::new(&scene, Some(&clip));
        for (f, &t) in motion.times().iter().enumerate() {
            pose.evaluate(t);
            for (i, solid) in rig.solids.iter().enumerate() {
                let (is, said) = (pose.placement(solid.node), motion.frame(f)[i].node);
                assert!(
                    (is.position - said.position).length() < 1e-9,
                    "{space:?} {simulate:?} frame {f} body {i}"
                );
                assert!(rotation::distance(is.rotation, said.rotation) < 1e-9);
            }
        }
    }
}

#[test]
fn a_blended_out_parent_carries_its_child_as_keyed() {
    // The parent lags behind its keys; shown on them, the child in its space hangs from what is shown.
    let scene = carried();
    let mut s = pair(Space::Parent, Parts::Orientation);
    for body in &mut s.bodies {
        body.actuator.blend = Some(0.0.into());
    }
    let rig = rig(&scene, &s);
    let (motion, _) = run(&rig, |_, _| true);
    for f in 0..motion.frames() {
        let child = motion.frame(f)[1];
        assert!((child.node.position - child.keys.position).length() < 1e-12);
        assert!(rotation::distance(child.node.rotation, child.keys.rotation) < 1e-9);
    }
}

#[test]
fn a_deep_hierarchy_with_keys_everywhere_compiles_at_once() {
    let n = 200_usize;
    let mut scene = Scene { frames_per_second: 24.0, ..Scene::default() };
    let mut clip = Clip { name: "Deep".into(), channels: Vec::new() };
    let mut s = Setup::default();
    s.world.collisions = false;
    for i in 0..n {
        scene.nodes.push(node(&format!("N{i}"), i.checked_sub(1), DVec3::Y * 0.1));
        let times: Vec<f64> = (0..60).map(|k| f64::from(k) / 24.0 + 0.0007 * i as f64).collect();
        let turns =
            (0..60).flat_map(|k| rotation::exp(DVec3::X * 0.01 * f64::from(k % 7)).to_array()).collect();
        let curve = Curve::new(Kind::Rotation, 4, times, turns, Segments::Linear).unwrap();
        clip.channels.push(Channel { node: i, property: Property::Rotation, curve });
        let mut body = sinew_core::setup::Body::new(format!("N{i}"));
        body.simulate = Parts::Orientation;
        body.guide.space = Space::Parent;
        s.bodies.push(body);
    }
    scene.clips.push(clip);
    let rig = rig(&scene, &s);
    // Each bone's path knows its own keys and no others: linear, not cubic, in the depth.
    let spans: usize = rig.paths.iter().map(|p| p.len()).sum();
    assert!(spans < 80 * n, "{spans} spans");
}
