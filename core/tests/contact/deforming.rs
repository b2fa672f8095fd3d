//! Obstacles that change their shape as keyed. The judge is the library of shapes on the vertices where the skin puts
//! them, which knows nothing of pieces.

use crate::Run;
use glam::{DAffine3, DVec3};
use parry3d_f64::query::{PointQuery, Ray, RayCast};
use parry3d_f64::shape::TriMesh;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Carrier, Compiled, compile};
use sinew_core::scene::{Channel, Channels, Clip, Influence, Local, Mesh, Node, Pose, Property, Scene, Skin};
use sinew_core::setup::{Behaviour, Body, Setup, Shape};
use std::f64::consts::TAU;

const LENGTH: f64 = 4.0;
const WIDTH: f64 = 1.0;
const BONES: usize = 17;
const FRAMES: usize = 72;
const FPS: f64 = 24.0;

fn node(name: &str, at: DVec3) -> Node {
    let local = Local::Channels(Channels { translation: at, ..Channels::default() });
    Node { name: name.into(), local, ..Node::default() }
}

/// A sheet along x on a row of bones, the height of each of which is keyed every quarter of a second.
fn sheet(height: impl Fn(f64, f64) -> f64) -> Scene {
    let mut scene = Scene { frames_per_second: FPS, ..Scene::default() };
    let mut clip = Clip { name: "Wave".into(), channels: Vec::new() };
    let along = |j: usize| LENGTH * (j as f64 / (BONES - 1) as f64 - 0.5);
    for j in 0..BONES {
        scene.nodes.push(node(&format!("Bone{j}"), DVec3::X * along(j)));
        let times: Vec<f64> = (0..=FRAMES / 6).map(|k| 6.0 * k as f64 / FPS).collect();
        let values = times.iter().flat_map(|t| [along(j), height(along(j), *t), 0.0]).collect();
        let rate = |t: &f64| (height(along(j), t + 1e-6) - height(along(j), (t - 1e-6).max(0.0))) / 2e-6;
        let rates: Vec<f64> = times.iter().flat_map(|t| [0.0, rate(t), 0.0]).collect();
        let segments = Segments::Cubic { arriving: rates.clone(), leaving: rates };
        let curve = Curve::new(Kind::Vector, 3, times, values, segments).unwrap();
        clip.channels.push(Channel { node: j, property: Property::Translation, curve });
    }
    let (columns, rows) = (64, 8);
    let mut mesh = Mesh { name: "Sheet".into(), ..Mesh::default() };
    for c in 0..=columns {
        for r in 0..=rows {
            let share = f64::from(c) / f64::from(columns);
            let x = LENGTH * (share - 0.5);
            let vertex = mesh.positions.len() as u32;
            mesh.positions.push(DVec3::new(x, 0.0, WIDTH * (f64::from(r) / f64::from(rows) - 0.5)));
            let bone = share * (BONES - 1) as f64;
            let (joint, weight) = (bone.floor() as u32, bone.fract());
            mesh.influences.push(Influence { vertex, joint, weight: 1.0 - weight });
            if weight > 0.0 {
                mesh.influences.push(Influence { vertex, joint: joint + 1, weight });
            }
        }
    }
    let at = |c: u32, r: u32| c * (rows as u32 + 1) + r;
    for c in 0..columns as u32 {
        for r in 0..rows as u32 {
            let [a, b, d, e] = [at(c, r), at(c, r + 1), at(c + 1, r), at(c + 1, r + 1)];
            mesh.triangles.extend([[a, b, d], [d, b, e]]);
        }
    }
    scene.skins.push(Skin {
        joints: (0..BONES).collect(),
        inverse_bind: (0..BONES).map(|j| DAffine3::from_translation(DVec3::X * -along(j))).collect(),
    });
    scene.meshes.push(mesh);
    scene.nodes.push(Node { mesh: Some(0), skin: Some(0), ..node("Sheet", DVec3::Y * 7.0) });
    scene.clips.push(clip);
    scene
}

/// The sheet with balls on it.
fn compiled(scene: &mut Scene, balls: &[(DVec3, f64)]) -> Compiled {
    let mut setup = Setup::default();
    setup.world.substeps = 4;
    setup.bodies.push(Body { behaviour: Behaviour::Animated, ..Body::new("Sheet") });
    for (i, (at, radius)) in balls.iter().enumerate() {
        scene.nodes.push(node(&format!("Ball{i}"), *at));
        let shape = Shape::Sphere { radius: Some(*radius) };
        setup.bodies.push(Body { behaviour: Behaviour::Free, shape, ..Body::new(format!("Ball{i}")) });
    }
    compile(scene, &setup, scene.clips.first()).unwrap()
}

/// The sheet as it really is.
fn surface(pose: &mut Pose<'_>, scene: &Scene, time: f64) -> TriMesh {
    pose.evaluate(time);
    let points = pose.vertices(scene, BONES);
    TriMesh::new(points, scene.meshes[0].triangles.clone()).unwrap()
}

/// Its height there.
fn height(of: &TriMesh, x: f64, z: f64) -> Option<f64> {
    let down = Ray::new(DVec3::new(x, 50.0, z), -DVec3::Y);
    of.cast_local_ray(&down, 100.0, false).map(|t| 50.0 - t)
}

#[test]
fn balls_ride_on_a_sheet_that_waves_and_none_sinks_in() {
    let wave = |x: f64, t: f64| 0.15 * (TAU * (x / 2.0 - 0.5 * t)).sin() * (2.0 * t).min(1.0);
    let mut scene = sheet(wave);
    let balls: Vec<(DVec3, f64)> = (0..12)
        .map(|i| {
            let radius = [0.04, 0.08, 0.12][i % 3];
            let along = -1.6 + 3.2 * i as f64 / 11.0;
            (DVec3::new(along, radius + 1e-3, 0.3 * (i % 2) as f64 - 0.15), radius)
        })
        .collect();
    let made = compiled(&mut scene, &balls);
    let pieces = made.rig.colliders.all.iter().filter(|c| matches!(c.carrier, Carrier::Keys(_))).count();
    println!("{}", made.collider_notes[0].how);
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    assert!(made.collider_notes[0].how.starts_with(&format!("{pieces} pieces that move with its skin")));
    let clip = scene.clips[0].clone();
    let mut pose = Pose::new(&scene, Some(&clip));
    let mut run = Run::new(made.rig);
    let (mut deepest, mut lifted, mut carried) = (0.0_f64, 0.0_f64, 0);
    for _ in 0..FRAMES * 4 {
        run.step(1.0 / (4.0 * FPS));
        let truth = surface(&mut pose, &scene, run.state.time);
        for (i, (_, radius)) in balls.iter().enumerate() {
            let at = run.at(i);
            let Some(under) = height(&truth, at.x, at.z) else { continue };
            let near = truth.project_local_point(at, false);
            assert!(at.y > under, "ball {i} fell through at {} s", run.state.time);
            deepest = deepest.max(radius - (near.point - at).length());
            lifted = lifted.max(at.y);
            carried += 1;
        }
    }
    println!("{pieces} pieces, deepest {deepest:.4}, lifted to {lifted:.3}, {carried} looks");
    // A thousandth of the sheet; its pieces are within a quarter of a percent.
    assert!(deepest < 0.004, "{deepest}");
    assert!(lifted > 0.15 && carried > 2000, "{lifted} {carried}");
}

#[test]
fn what_lies_on_a_bulge_rises_with_its_velocity() {
    // Up by half a metre within two seconds in the middle, the ends stay.
    let rise = |t: f64| {
        let u = (t / 2.0).min(1.0);
        0.5 * u * u * (3.0 - 2.0 * u)
    };
    let bulge = |x: f64, t: f64| rise(t) * (0.25 * TAU * x / 2.0).cos().powi(2);
    let mut scene = sheet(bulge);
    let mut made = compiled(&mut scene, &[(DVec3::Y * 0.1, 0.1)]);
    made.rig.colliders.all.iter_mut().for_each(|c| c.material.rolling = 0.05);
    let mut run = Run::new(made.rig);
    let mut worst = 0.0_f64;
    for _ in 0..48 * 4 - 8 {
        run.step(1.0 / (4.0 * FPS));
        // The keys are a cubic, and so is the way up.
        let u = run.state.time / 2.0;
        let speed = 1.5 * u * (1.0 - u);
        let v = run.state.solids[0].velocity;
        if run.state.time > 0.1 {
            worst = worst.max((v.y - speed).abs());
        }
    }
    println!("velocity within {worst:.4} m/s of up to 0.375, at {}", run.at(0));
    assert!(worst < 0.02, "{worst}");
    assert!(run.at(0).y > 0.55);
}

#[test]
fn a_box_that_is_keyed_to_grow_pushes_away_what_it_reaches() {
    let mut scene = Scene { frames_per_second: FPS, ..Scene::default() };
    let corner = |i: u32| {
        let sign = |bit: u32| if i >> bit & 1 == 0 { -0.5 } else { 0.5 };
        DVec3::new(sign(0), sign(1), sign(2))
    };
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    scene.meshes.push(Mesh {
        positions: (0..8).map(corner).collect(),
        triangles: quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect(),
        ..Mesh::default()
    });
    scene.nodes.push(Node { mesh: Some(0), ..node("Sheet", DVec3::ZERO) });
    let grow = |values: Vec<f64>| {
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 2.0], values, Segments::Linear).unwrap();
        Clip { name: "Grow".into(), channels: vec![Channel { node: 0, property: Property::Scale, curve }] }
    };
    scene.clips.push(grow(vec![1.0, 1.0, 1.0, 1.0, 1.5, 1.0]));
    let made = compiled(&mut scene, &[(DVec3::new(0.2, 0.61, 0.1), 0.1)]);
    println!("{}", made.collider_notes[0].how);
    assert!(made.collider_notes[0].how.contains("pieces that move with its scale"));
    let mut run = Run::new(made.rig);
    let mut deepest = 0.0_f64;
    for _ in 0..48 * 4 {
        run.step(1.0 / (4.0 * FPS));
        let top = 0.5 + 0.125 * run.state.time;
        deepest = deepest.max(top + 0.1 - run.at(0).y);
    }
    println!("deepest {deepest:.4}, at {}", run.at(0));
    assert!(deepest < 0.01, "{deepest}");
    // Keys that change nothing leave it the box that it is.
    scene.clips[0] = grow(vec![1.0; 6]);
    let still = compiled(&mut scene, &[]);
    assert_eq!(still.collider_notes[0].how, "box, no larger than the mesh");
}
