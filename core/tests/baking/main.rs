//! What a bake writes: loops, layers, chosen nodes, held poses, keys under scaled parents. Scenes are made here.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod chosen;
mod layers;
mod looping;
mod rotations;
mod timing;

use glam::{DQuat, DVec3};
use sinew_core::bake::{Baked, bake};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::cycle;
use sinew_core::motion::Motion;
use sinew_core::rig::{Compiled, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{Body, Parts, Preset, Setup, Space};
use sinew_core::simulate::run;
use std::f64::consts::TAU;

/// Seconds of a turn of [`walker`]: 18 frames.
const TURN: f64 = 0.75;

/// "Hip" bobs and sways (and travels along z), "Tail" and "Tip" hang on it and swing; one turn, keys on every frame.
fn walker(travel: f64) -> Scene {
    let times: Vec<f64> = (0..=18).map(|f| f64::from(f) / 24.0).collect();
    let wave = |t: f64, turns: f64| libm::sin(TAU * turns * t / TURN);
    let hip = |t: f64| DVec3::new(0.02 * wave(t, 1.0), 1.0 + 0.05 * wave(t, 2.0), travel * t / TURN);
    let sway = |t: f64| DQuat::from_rotation_z(0.2 * wave(t, 1.0));
    let swing = |t: f64| DQuat::from_rotation_x(0.5 * wave(t + 0.1, 1.0) + 0.2);
    let positions: Vec<f64> = times.iter().flat_map(|&t| hip(t).to_array()).collect();
    let turned = |f: &dyn Fn(f64) -> DQuat| times.iter().flat_map(|&t| f(t).to_array()).collect::<Vec<_>>();
    let channel = |node, property, kind, width, values| Channel {
        node,
        property,
        curve: Curve::new(kind, width, times.clone(), values, Segments::Linear).unwrap(),
    };
    let channels = vec![
        channel(0, Property::Translation, Kind::Vector, 3, positions),
        channel(0, Property::Rotation, Kind::Rotation, 4, turned(&sway)),
        channel(1, Property::Rotation, Kind::Rotation, 4, turned(&swing)),
        channel(2, Property::Rotation, Kind::Rotation, 4, turned(&swing)),
    ];
    let below = |name: &str, parent: usize| Node {
        name: name.into(),
        parent: Some(parent),
        local: Local::Channels(Channels { translation: DVec3::new(0.0, -0.2, 0.0), ..Channels::default() }),
        ..Node::default()
    };
    let nodes = vec![Node { name: "Hip".into(), ..Node::default() }, below("Tail", 0), below("Tip", 1)];
    let clips = vec![Clip { name: "Walk".into(), channels }];
    Scene { name: "walker".into(), nodes, clips, frames_per_second: 24.0, ..Scene::default() }
}

/// Everything in [`walker`] simulated: the hip wholly, the others as bones.
fn limp(scene: &Scene) -> Setup {
    let mut setup = Setup::default();
    for node in &scene.nodes {
        let mut body = Body::new(node.name.as_str());
        body.mass = Some(1.0);
        body.actuator.preset = Preset::Limp;
        if node.parent.is_some() {
            body.simulate = Parts::Orientation;
            body.guide.space = Space::Parent;
        }
        setup.bodies.push(body);
    }
    setup
}

/// What came out.
struct Done {
    compiled: Compiled,
    motion: Motion,
    turn: Option<(usize, cycle::Gap, cycle::Gap, bool)>,
    baked: Baked,
}

fn bake_it(scene: &Scene, setup: &Setup) -> Done {
    let clip = scene.clips.first();
    let compiled = compile(scene, setup, clip).unwrap_or_else(|e| panic!("{e}"));
    let mut turn = None;
    let motion = match setup.bake.looped {
        false => run(&compiled.rig, |_, _| true).0,
        true => {
            let done = cycle::run(&compiled.rig, |_, _| true).unwrap();
            turn = Some((done.turns, done.first, done.before, done.repeats));
            done.motion
        }
    };
    let baked = bake(scene, clip, &compiled.rig, &motion, &setup.bake, true).unwrap();
    Done { compiled, motion, turn, baked }
}

fn refused(scene: &Scene, setup: &Setup) -> String {
    compile(scene, setup, scene.clips.first()).map(|_| ()).unwrap_err().to_string()
}

fn curve(channels: &[Channel], node: usize, property: Property) -> Option<&Curve> {
    channels.iter().find(|c| c.node == node && c.property == property).map(|c| &c.curve)
}
