//! Shapes over a motion, mixed from few targets.

use super::mesh::ball_mesh;
use super::{STIFFNESS, collider};
use glam::{DQuat, DVec3};
use sinew_core::bake::{Deformation, deformations};
use sinew_core::coating::deform;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::Motion;
use sinew_core::rig::{Carrier, Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Mesh, Node, Placement, Property, Scene};
use sinew_core::setup::{Bake, BakedDeformation, BakedKeys, Body, Setup};
use sinew_core::shape::Geometry;
use sinew_core::simulate::run;

/// A ball of radius 1 (0.5 in its mesh, under a scale of 2) that comes down on the floor, rolls and leaves.
fn scene() -> Scene {
    let (positions, triangles) = ball_mesh(0.5, 4);
    let mesh = Mesh { name: "ball".into(), positions, triangles, ..Mesh::default() };
    let scale = DVec3::splat(2.0);
    let node = Node {
        name: "Ball".into(),
        local: Local::Channels(Channels { scale, ..Channels::default() }),
        mesh: Some(0),
        ..Node::default()
    };
    let curve = |kind, width, times: &[f64], values: Vec<f64>| {
        Curve::new(kind, width, times.to_vec(), values, Segments::Linear).unwrap()
    };
    let moves = [[0.0, 1.3, 0.0], [0.0, 0.9, 0.0], [0.2, 0.9, 0.0], [0.2, 1.3, 0.0]].concat();
    let turns = [DQuat::IDENTITY, DQuat::from_rotation_z(-0.2)];
    let channel = |property, curve| Channel { node: 0, property, curve };
    let clip = Clip {
        name: "Keys".into(),
        channels: vec![
            channel(Property::Translation, curve(Kind::Vector, 3, &[0.0, 0.5, 1.0, 1.5], moves)),
            channel(
                Property::Rotation,
                curve(Kind::Rotation, 4, &[0.5, 1.0], turns.iter().flat_map(|q| q.to_array()).collect()),
            ),
        ],
    };
    Scene {
        name: "test".into(),
        nodes: vec![node, Node { name: "Floor".into(), ..Node::default() }],
        meshes: vec![mesh],
        clips: vec![clip],
        frames_per_second: 24.0,
        ..Scene::default()
    }
}

/// As keyed: what is tested is the shape.
fn simulated(scene: &Scene) -> (Rig, Motion) {
    let mut body = Body::new("Ball");
    body.actuator.blend = Some(0.0.into());
    let setup = Setup { bodies: vec![body], ..Setup::default() };
    let mut rig = compile(scene, &setup, scene.clips.first()).unwrap().rig;
    let mut ball = collider(Geometry::ball(1.0), Some(STIFFNESS));
    ball.carrier = Carrier::Solid(0);
    ball.place = rig.solids[0].offset.to(&Placement::IDENTITY);
    let mut floor = collider(Geometry::half_space(), None);
    floor.node = 1;
    rig.colliders.all = vec![ball, floor];
    let (motion, _) = run(&rig, |_, _| true);
    (rig, motion)
}

fn baked(scene: &Scene, options: &Bake) -> (Rig, Motion, Vec<Deformation>) {
    let (rig, motion) = simulated(scene);
    let found = deformations(scene, scene.clips.first(), &rig, &motion, options);
    (rig, motion, found)
}

#[test]
fn baked_shapes_are_within_the_tolerance_at_every_frame() {
    let scene = scene();
    for (keys, tolerance) in
        [(BakedKeys::EveryFrame, None), (BakedKeys::Fitted, None), (BakedKeys::Fitted, Some(0.02))]
    {
        let options = Bake { keys, tolerance, ..Bake::default() };
        let (rig, motion, found) = baked(&scene, &options);
        let [d] = &found[..] else { panic!("{} deformations", found.len()) };
        let n = d.targets.len();
        println!("{n} targets, {} keys for {} frames, {} pressed", d.times.len(), motion.frames(), d.frames);
        assert!(n < d.frames && d.times.len() <= motion.frames());
        let weights =
            Curve::new(Kind::Vector, n, d.times.clone(), d.weights.clone(), Segments::Linear).unwrap();
        let tolerance = tolerance.unwrap_or(2e-3);
        let (all, mesh) = (&rig.colliders.all, &scene.meshes[0]);
        let rest: Vec<DVec3> = mesh.positions.iter().map(|p| *p * 2.0).collect();
        let (mut out, mut mixed) = (rest.clone(), vec![0.0; n]);
        let mut worst: f64 = 0.0;
        for (f, &time) in motion.times().iter().enumerate() {
            let seen = motion.frame(f)[0].node.to(&Placement::IDENTITY);
            deform(&[(&all[0], Placement::IDENTITY)], &[(&all[1], seen)], &rest, &mesh.triangles, &mut out);
            weights.evaluate(time, &mut mixed);
            for (v, p) in mesh.positions.iter().enumerate() {
                let moved: DVec3 = (0..n).map(|k| d.targets[k][v] * mixed[k]).sum();
                worst = worst.max(((*p + moved) * 2.0 - out[v]).length());
            }
        }
        println!("worst {worst:.2e} of {tolerance:.2e}");
        assert!(worst <= tolerance, "{worst}");
    }
}

#[test]
fn nothing_is_deformed_where_none_is_wanted_or_nothing_touches() {
    let scene = scene();
    let none = Bake { deformation: BakedDeformation::None, ..Bake::default() };
    assert!(baked(&scene, &none).2.is_empty());
    let (mut rig, motion) = simulated(&scene);
    let find = |rig: &Rig| deformations(&scene, scene.clips.first(), rig, &motion, &Bake::default()).len();
    assert_eq!(find(&rig), 1);
    rig.colliders.apart = vec![(0, 1)];
    assert_eq!(find(&rig), 0);
}
