//! Every kind and field of a joint, against an exact answer or something that must not change.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod anchors;
mod holds;
mod limits;
mod parent;
mod refused;
mod springs;
mod tracks;

use glam::{DQuat, DVec3};
use sinew_core::dynamics::top;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Scene};
use sinew_core::setup::{Behaviour, Between, Body, Joint, Keyable, Keys, Setup, Shape};
use sinew_core::simulate::{State, Workspace, step};

/// A scene of free boxes of 1 kg and nodes without mass, one hour long.
pub(crate) struct Stage {
    pub(crate) scene: Scene,
    pub(crate) setup: Setup,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let scene = Scene { frames_per_second: 24.0, ..Scene::default() };
        let mut setup = Setup::default();
        setup.world.collisions = false;
        setup.bake.frames = Some([0.0, 86400.0]);
        Stage { scene, setup }
    }

    pub(crate) fn weightless() -> Stage {
        let mut stage = Stage::new();
        stage.setup.world.gravity = [0.0; 3];
        stage
    }

    pub(crate) fn node(&mut self, name: &str, at: DVec3) -> &mut Node {
        let local = Local::Channels(Channels { translation: at, ..Channels::default() });
        self.scene.nodes.push(Node { name: name.into(), local, ..Node::default() });
        self.scene.nodes.last_mut().unwrap()
    }

    pub(crate) fn body(&mut self, name: &str, at: DVec3, size: [f64; 3]) -> &mut Body {
        self.node(name, at);
        let mut body = Body::new(name);
        body.behaviour = Behaviour::Free;
        body.shape = Shape::Box { size: Some(size) };
        body.mass = Some(1.0);
        self.setup.bodies.push(body);
        self.setup.bodies.last_mut().unwrap()
    }

    pub(crate) fn join(&mut self, joint: Joint) -> &mut Joint {
        self.setup.joints.push(joint);
        self.setup.joints.last_mut().unwrap()
    }

    pub(crate) fn play(&self) -> Play {
        let rig = compile(&self.scene, &self.setup, self.scene.clips.first()).expect("compiles").rig;
        Play { state: State::new(&rig), work: Workspace::new(&rig), rig }
    }

    pub(crate) fn refusal(&self) -> String {
        match compile(&self.scene, &self.setup, self.scene.clips.first()) {
            Ok(_) => "compiles".into(),
            Err(e) => e.to_string(),
        }
    }
}

/// A rig in motion.
pub(crate) struct Play {
    pub(crate) rig: Rig,
    pub(crate) state: State,
    pub(crate) work: Workspace,
}

impl Play {
    pub(crate) fn step(&mut self, dt: f64) {
        step(&self.rig, &mut self.state, &mut self.work, dt);
    }

    /// Where a body's node is, in the world.
    pub(crate) fn node(&self, solid: usize) -> (DVec3, DQuat) {
        let (s, offset) = (&self.state.solids[solid], &self.rig.solids[solid].offset);
        let rotation = s.orientation * offset.rotation.conjugate();
        (s.position - rotation * offset.position, rotation)
    }

    /// Turn of a body's node about an axis of the world that it keeps, rad within half a turn.
    pub(crate) fn turn(&self, solid: usize, axis: DVec3) -> f64 {
        let q = self.node(solid).1;
        let sine = DVec3::new(q.x, q.y, q.z).dot(axis);
        let angle = 2.0 * sine.atan2(q.w);
        angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
    }

    /// Angular velocity of a body.
    pub(crate) fn spin(&self, solid: usize) -> DVec3 {
        let s = &self.state.solids[solid];
        top::angular_velocity(s.orientation, s.momentum, self.rig.solids[solid].per_inertia)
    }

    /// Angular momentum of everything about the origin.
    pub(crate) fn momentum(&self) -> DVec3 {
        let each = self.rig.solids.iter().zip(&self.state.solids);
        each.map(|(solid, s)| s.position.cross(s.velocity * solid.mass) + s.momentum).sum()
    }

    pub(crate) fn open(&self) -> f64 {
        self.work.open_joints().iter().fold(0.0, |m, o| m.max(o.0).max(o.1))
    }
}

pub(crate) fn keys(keys: &[[f64; 2]]) -> Option<Keyable> {
    Some(Keyable::Keys(Keys { keys: keys.to_vec(), between: Between::Linear }))
}

/// Times at which samples `(t, x)` pass zero, by straight lines.
pub(crate) fn crossings(samples: &[(f64, f64)]) -> Vec<f64> {
    let passes = samples.windows(2).filter(|w| w[0].1 * w[1].1 < 0.0 || w[0].1 == 0.0);
    passes.map(|w| w[0].0 + (w[1].0 - w[0].0) * w[0].1 / (w[0].1 - w[1].1)).collect()
}
