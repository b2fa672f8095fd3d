//! Guides relative to a parent, held parts, and hierarchies.

use super::*;
use sinew_core::bake::bake;
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
        let keyed = rig.paths[rig.solids[1].keys].placement(4.0).position;
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
    assert!(baked.max_error <= 1e-3 && baked.max_error_deg <= 0.05);
    assert!(baked.keys * 6 < baked.samples, "{} keys for {} samples", baked.keys, baked.samples);
}
