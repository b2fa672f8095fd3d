//! Every check of the methods that has an exact answer: actuators, targets, free solids. Scenes are made here.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod free_solids;
mod parent_space;
mod settings;
mod steady_state;
mod step_response;
mod targets;
mod timing;

use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::{Compiled, Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{Actuator, Body, Keyable, Limit, Setup, Shape, Timing};

/// A scene of one node "Ball" whose translation has these keys, straight in between.
pub fn ball(keys: &[(f64, DVec3)]) -> Scene {
    let curve = Curve::new(
        Kind::Vector,
        3,
        keys.iter().map(|k| k.0).collect(),
        keys.iter().flat_map(|k| k.1.to_array()).collect(),
        Segments::Linear,
    )
    .unwrap();
    let node = Node { name: "Ball".into(), ..Node::default() };
    let clip = Clip {
        name: "Keys".into(),
        channels: vec![Channel { node: 0, property: Property::Translation, curve }],
    };
    Scene {
        name: "test".into(),
        nodes: vec![node],
        clips: vec![clip],
        frames_per_second: 24.0,
        ..Scene::default()
    }
}

/// A scene of one node "Ball" whose rotation has these keys, slerped.
pub fn spinner(keys: &[(f64, DQuat)]) -> Scene {
    let curve = Curve::new(
        Kind::Rotation,
        4,
        keys.iter().map(|k| k.0).collect(),
        keys.iter().flat_map(|k| k.1.to_array()).collect(),
        Segments::Linear,
    )
    .unwrap();
    let mut scene = ball(&[(keys[0].0, DVec3::ZERO)]);
    scene.clips[0].channels = vec![Channel { node: 0, property: Property::Rotation, curve }];
    scene
}

/// The paper's actuator: no limit, no correction, no matching of the target's velocity.
pub fn paper(alpha: f64, b: f64, relaxation_time: f64) -> Actuator {
    Actuator {
        alpha: Some(alpha.into()),
        damping: Some(b.into()),
        relaxation_time: Some(relaxation_time.into()),
        max_force: Some(Limit::Unlimited),
        max_torque: Some(Limit::Unlimited),
        compensation: Some(0.0.into()),
        keep_up: Some(0.0.into()),
        ..Actuator::default()
    }
}

/// A set-up of one body of 2 kg, no gravity, a step per frame at 240 frames per second.
pub fn setup(actuator: Actuator, timing: Timing, base_distance: f64) -> Setup {
    let mut body = Body::new("Ball");
    body.shape = Shape::Sphere { radius: Some(0.1) };
    body.mass = Some(2.0);
    body.actuator = actuator;
    body.guide.timing = timing;
    body.guide.base_distance = Some(Keyable::Constant(base_distance));
    let mut setup = Setup { bodies: vec![body], ..Setup::default() };
    setup.world.collisions = false;
    setup.world.gravity = [0.0; 3];
    setup.world.frames_per_second = Some(240.0);
    setup.world.substeps = 1;
    setup
}

/// Compiles under the scene's first clip.
pub fn rig(scene: &Scene, setup: &Setup) -> Rig {
    let Compiled { rig, .. } = compile(scene, setup, scene.clips.first()).unwrap();
    rig
}

/// A node elsewhere in a hierarchy.
pub fn node(name: &str, parent: Option<usize>, translation: DVec3) -> Node {
    let local = Local::Channels(Channels { translation, ..Channels::default() });
    Node { name: name.into(), parent, local, ..Node::default() }
}

/// Numbers that look random and are the same every time (splitmix64), in [0, 1).
pub struct Dice(pub u64);

impl Dice {
    /// The next one.
    pub fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point in a cube of twice that size.
    pub fn point(&mut self, size: f64) -> DVec3 {
        (DVec3::new(self.roll(), self.roll(), self.roll()) * 2.0 - 1.0) * size
    }
}
