//! Every check of contact that has an exact answer. Scenes are made here.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod bounce;
mod friction;
mod stack;

use glam::{DQuat, DVec3};
use sinew_core::rig::{Carrier, Collider, Colliders, Material, Rig, compile};
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{Behaviour, Body, Setup, Shape};
use sinew_core::shape::Geometry;
use sinew_core::simulate::{State, Workspace, step};

/// What a thing is.
#[derive(Clone, Copy)]
pub enum Form {
    Ball(f64),
    /// Half edges.
    Box(DVec3),
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
        }
    }

    pub fn fixed(form: Form, at: DVec3) -> Thing {
        Thing { mass: None, ..Thing::new(form, at) }
    }
}

/// A rig of these things.
pub fn rig(things: &[Thing], gravity: DVec3, frames_per_second: f64, substeps: u32) -> Rig {
    let (mut scene, mut setup) = (Scene { frames_per_second, ..Scene::default() }, Setup::default());
    setup.world.gravity = gravity.to_array();
    setup.world.substeps = substeps;
    setup.bake.frames = Some([0.0, 1.0]);
    let mut colliders = Colliders::default();
    for (i, thing) in things.iter().enumerate() {
        let local = Channels { translation: thing.at, rotation: thing.turn, ..Channels::default() };
        scene.nodes.push(Node { name: format!("T{i}"), local: Local::Channels(local), ..Node::default() });
        let (shape, geometry, size) = match thing.form {
            Form::Ball(r) => (Shape::Sphere { radius: Some(r) }, Geometry::ball(r), 2.0 * r),
            Form::Box(h) => {
                let shape = Shape::Box { size: Some((h * 2.0).to_array()) };
                (shape, Geometry::cuboid(h), 2.0 * h.min_element())
            }
            Form::Floor => (Shape::Auto {}, Geometry::half_space(), 1e9),
        };
        let place = Placement { position: thing.at, rotation: thing.turn };
        let (carrier, place) = match thing.mass {
            Some(mass) => {
                let mut body = Body::new(format!("T{i}"));
                body.behaviour = Behaviour::Free;
                body.shape = shape;
                body.mass = Some(mass);
                body.velocity = Some(thing.velocity.to_array());
                body.spin = Some(thing.spin.to_array());
                setup.bodies.push(body);
                (Carrier::Solid(setup.bodies.len() - 1), Placement::IDENTITY)
            }
            None => (Carrier::World, place),
        };
        colliders.all.push(Collider {
            node: i,
            name: format!("T{i}"),
            carrier,
            place,
            geometry,
            material: Material {
                friction: thing.friction,
                grip: thing.friction,
                bounce: thing.bounce,
                rolling: 0.0,
            },
            size,
            member: 1,
            touches: 1,
            coating: None,
        });
    }
    let mut rig = compile(&scene, &setup, None).unwrap().rig;
    rig.colliders = colliders;
    rig
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

    pub fn at(&self, i: usize) -> DVec3 {
        self.state.solids[i].position
    }
}
