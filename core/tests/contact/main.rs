//! Every check of contact that has an exact answer. Scenes are made here.
#![allow(clippy::unwrap_used, missing_docs)] // helpers of tests are tests

mod bits;
mod bounce;
mod deforming;
mod friction;
mod jointed;
mod soft;
mod spectrum;
mod stack;

use glam::{DQuat, DVec3};
use parry3d_f64::math::Pose;
use parry3d_f64::query::contact;
use parry3d_f64::shape::Shape as Solid;
use sinew_core::contact::pose;
use sinew_core::rig::{Carrier, Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{Behaviour, Body, Coating, Joint, Setup, Shape};
use sinew_core::simulate::{State, Workspace, step};

/// What a thing is.
#[derive(Clone, Copy)]
pub enum Form {
    Ball(f64),
    /// Half edges.
    Box(DVec3),
    /// Length between the centres of its ends, along y, and radius.
    Capsule(f64, f64),
    /// Everything below it.
    Floor,
}

/// One thing of a test's scene.
#[derive(Clone, Copy)]
pub struct Thing {
    pub form: Form,
    pub at: DVec3,
    pub turn: DQuat,
    /// kg; `None` stands still.
    pub mass: Option<f64>,
    pub velocity: DVec3,
    pub spin: DVec3,
    pub friction: f64,
    pub bounce: f64,
    pub rolling: f64,
    pub coating: Option<Coating>,
}

impl Thing {
    pub fn new(form: Form, at: DVec3) -> Thing {
        Thing {
            form,
            at,
            turn: DQuat::IDENTITY,
            mass: Some(1.0),
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            friction: 0.5,
            bounce: 0.0,
            rolling: 0.0,
            coating: None,
        }
    }

    pub fn fixed(form: Form, at: DVec3) -> Thing {
        Thing { mass: None, ..Thing::new(form, at) }
    }
}

/// A rig of these things.
pub fn rig(things: &[Thing], gravity: DVec3, frames_per_second: f64, substeps: u32) -> Rig {
    jointed(things, &[], gravity, frames_per_second, substeps)
}

/// The same, with joints.
pub fn jointed(
    things: &[Thing],
    joints: &[Joint],
    gravity: DVec3,
    frames_per_second: f64,
    substeps: u32,
) -> Rig {
    let (mut scene, mut setup) = (Scene { frames_per_second, ..Scene::default() }, Setup::default());
    setup.world.gravity = gravity.to_array();
    setup.world.substeps = substeps;
    setup.bake.frames = Some([0.0, 1.0]);
    for (i, thing) in things.iter().enumerate() {
        let local = Channels { translation: thing.at, rotation: thing.turn, ..Channels::default() };
        scene.nodes.push(Node { name: format!("T{i}"), local: Local::Channels(local), ..Node::default() });
        let mut body = Body::new(format!("T{i}"));
        body.shape = match thing.form {
            Form::Ball(r) => Shape::Sphere { radius: Some(r) },
            Form::Box(h) => Shape::Box { size: Some((h * 2.0).to_array()) },
            Form::Capsule(length, r) => Shape::Capsule { radius: Some(r), length: Some(length) },
            Form::Floor => Shape::Plane {},
        };
        body.behaviour = if thing.mass.is_some() { Behaviour::Free } else { Behaviour::Static };
        body.mass = thing.mass;
        body.velocity = thing.mass.map(|_| thing.velocity.to_array());
        body.spin = thing.mass.map(|_| thing.spin.to_array());
        body.contact.friction = Some(thing.friction);
        body.contact.bounce = Some(thing.bounce);
        body.contact.rolling = (thing.rolling > 0.0).then_some(thing.rolling);
        body.contact.coating = thing.coating;
        setup.bodies.push(body);
    }
    setup.joints = joints.to_vec();
    let compiled = compile(&scene, &setup, None).unwrap();
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    compiled.rig
}

/// A rig in motion.
pub struct Run {
    pub rig: Rig,
    pub state: State,
    pub work: Workspace,
}

impl Run {
    pub fn new(rig: Rig) -> Run {
        Run { state: State::new(&rig), work: Workspace::new(&rig), rig }
    }

    pub fn step(&mut self, dt: f64) {
        step(&self.rig, &mut self.state, &mut self.work, dt);
    }

    /// The deepest overlap of any two colliders now, as a share of the smaller one, asked of the library of shapes.
    pub fn overlap(&self) -> f64 {
        let colliders = &self.rig.colliders;
        let place = |c: usize| match colliders.all[c].carrier {
            Carrier::Solid(s) => self.state.solids[s].placement(),
            Carrier::Keys(p) => self.rig.paths[p].placement(self.state.time),
            Carrier::World => Placement::IDENTITY,
        };
        let mut worst = 0.0_f64;
        for a in 0..colliders.all.len() {
            for b in a + 1..colliders.all.len() {
                if !colliders.may_touch(a, b) {
                    continue;
                }
                let (x, y) = (&colliders.all[a], &colliders.all[b]);
                let [p, q] = [a, b].map(|c| pose(&place(c).then(&colliders.all[c].place)));
                let (first, second) = (x.geometry.shape(), y.geometry.shape());
                // Above a half space, the lowest point tells.
                let above = |plane: &Pose, other: &dyn Solid, at: &Pose| {
                    let up = plane.rotation * DVec3::Y;
                    let lowest = other.as_support_map().unwrap().support_point(at, -up);
                    up.dot(lowest - plane.translation)
                };
                let gap = if first.as_halfspace().is_some() {
                    above(&p, second, &q)
                } else if second.as_halfspace().is_some() {
                    above(&q, first, &p)
                } else {
                    contact(&p, first, &q, second, 0.0).unwrap().map_or(0.0, |c| c.dist)
                };
                worst = worst.max(-gap / x.size.min(y.size));
            }
        }
        worst
    }

    pub fn at(&self, i: usize) -> DVec3 {
        self.state.solids[i].position
    }
}
