//! Heaps that any engine can simulate: balls and cubes dropped onto a floor, in SI units with z up.
//!
//! One source for all, like the [`crate::neutral`] scenes: Sinew gets it as scene and set-up ([`Pile::rigged`]), other
//! engines as a file ([`Pile::json`]).

use crate::neutral::{GRAVITY, NeutralBody, Scatter, box_inertia};
use crate::overlap::overlaps;
use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::rig::Rig;
use sinew_core::rotation;
use sinew_core::scene::{Channels, Local, Node, Placement, Scene};
use sinew_core::setup::{Behaviour, Body, Contact, Setup, Shape};
use sinew_core::simulate::State;

/// Half the side of the cubes and the radius of the balls, m.
const HALF: f64 = 0.1;
/// From one thing to the next when they are dropped, m.
const SPACING: f64 = 0.29;
/// Of every pair that touches.
const FRICTION: f64 = 0.5;

/// Frames that a pile is simulated for.
pub const FRAMES: usize = 360;
/// Frames in which it falls.
pub const FALLING: std::ops::Range<usize> = 0..120;
/// Frames in which it has settled.
pub const SETTLED: std::ops::Range<usize> = 240..FRAMES;

/// What a body touches with.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Radius, m.
    Ball(f64),
    /// Half sides, m.
    Box(DVec3),
}

/// Things above a floor.
#[derive(Clone, Debug)]
pub struct Pile {
    /// Its file's stem.
    pub name: &'static str,
    /// The step to take, s.
    pub dt: f64,
    /// What falls, and its form.
    pub bodies: Vec<(NeutralBody, Form)>,
    /// Boxes that stand still: half sides and centre, m.
    pub walls: Vec<(DVec3, DVec3)>,
    /// How far from the middle they should stay along x and y, m.
    pub room: f64,
}

/// Adds a ball or a cube of 1 kg, up to 2 cm off its place, a cube up to 0.3 rad about each axis: wherever it
/// overlaps no other.
fn put(bodies: &mut Vec<(NeutralBody, Form)>, scatter: &mut Scatter, ball: bool, place: DVec3) {
    let half = DVec3::splat(HALF);
    let (inertia, form) = match ball {
        true => (DVec3::splat(0.4 * HALF * HALF), Form::Ball(HALF)),
        false => (box_inertia(1.0, half), Form::Box(half)),
    };
    loop {
        let position = place + scatter.vector() * 0.02;
        let rotation = if ball { DQuat::IDENTITY } else { rotation::exp(scatter.vector() * 0.3) };
        let placement = Placement { position, rotation };
        if !overlaps((&placement, &form), bodies.iter().map(|(b, form)| (b.placement, *form))) {
            bodies.push((NeutralBody { mass: 1.0, inertia, placement }, form));
            return;
        }
    }
}

/// A floor whose top is at z = 0.
fn floor(half: f64) -> (DVec3, DVec3) {
    (DVec3::new(half, half, 0.5), DVec3::Z * -0.5)
}

/// `balls` of radius 0.1 m and `cubes` of side 0.2 m, 1 kg each, in layers of 13 x 13 and no order, dropped between
/// walls 4 m apart.
pub fn pile(balls: usize, cubes: usize) -> Pile {
    const SIDE: usize = 13;
    let mut scatter = Scatter::new(7);
    let count = balls + cubes;
    let mut kinds: Vec<bool> = (0..count).map(|i| i < balls).collect();
    for k in (1..count).rev() {
        let with = (scatter.unit() * (k + 1) as f64) as usize;
        kinds.swap(k, with);
    }
    let middle = (SIDE - 1) as f64 / 2.0;
    let mut bodies = Vec::new();
    for (i, &ball) in kinds.iter().enumerate() {
        let (layer, at) = (i / (SIDE * SIDE), i % (SIDE * SIDE));
        let (x, y) = ((at % SIDE) as f64 - middle, (at / SIDE) as f64 - middle);
        let place = DVec3::new(x, y, layer as f64) * SPACING + DVec3::Z * 0.3;
        put(&mut bodies, &mut scatter, ball, place);
    }
    let (w, h) = (2.0, 6.0);
    let along = |x: f64| (DVec3::new(0.5, w + 1.0, h / 2.0), DVec3::new(x, 0.0, h / 2.0));
    let across = |y: f64| (DVec3::new(w + 1.0, 0.5, h / 2.0), DVec3::new(0.0, y, h / 2.0));
    Pile {
        name: "pile",
        dt: 1.0 / 60.0,
        bodies,
        walls: vec![floor(20.0), along(w + 0.5), along(-w - 0.5), across(w + 0.5), across(-w - 0.5)],
        room: w,
    }
}

/// `side` x `side` heaps, 4 m from each other on one floor, of 20 cubes each in layers of 2 x 2: what happens in one
/// has no effect on another.
pub fn islands(side: usize) -> Pile {
    let mut scatter = Scatter::new(11);
    let middle = (side - 1) as f64 / 2.0;
    let mut bodies = Vec::new();
    for heap in 0..side * side {
        let at = DVec3::new((heap % side) as f64 - middle, (heap / side) as f64 - middle, 0.0) * 4.0;
        for i in 0..20 {
            let place = DVec3::new((i % 2) as f64, (i / 2 % 2) as f64, (i / 4) as f64) * SPACING;
            put(&mut bodies, &mut scatter, false, at + place + DVec3::Z * 0.3);
        }
    }
    let room = 4.0 * side as f64;
    Pile { name: "islands", dt: 1.0 / 60.0, bodies, walls: vec![floor(room)], room }
}

/// Every pile.
pub fn all() -> [Pile; 2] {
    [pile(1000, 500), islands(8)]
}

impl Pile {
    /// The scene as other engines read it; quaternions are w, x, y, z.
    pub fn json(&self) -> Value {
        let body = |(b, form): &(NeutralBody, Form)| {
            let q = b.placement.rotation;
            json!({
                "mass": b.mass, "inertia": b.inertia.to_array(), "pos": b.placement.position.to_array(),
                "quat": [q.w, q.x, q.y, q.z],
                "shape": match form {
                    Form::Ball(radius) => json!({"type": "ball", "radius": radius}),
                    Form::Box(half) => json!({"type": "box", "half": half.to_array()}),
                },
            })
        };
        let wall = |(half, at): &(DVec3, DVec3)| json!({"half": half.to_array(), "pos": at.to_array()});
        json!({
            "name": self.name,
            "gravity": [0.0, 0.0, -GRAVITY],
            "dt": self.dt,
            "bodies": self.bodies.iter().map(body).collect::<Vec<_>>(),
            "joints": [],
            "walls": self.walls.iter().map(wall).collect::<Vec<_>>(),
            "friction": FRICTION,
            "frames": FRAMES,
            "falling": [FALLING.start, FALLING.end],
            "settled": [SETTLED.start, SETTLED.end],
        })
    }

    /// The scene and the set-up for [`sinew_core::rig::compile`]. Body `i` is node `i`.
    pub fn rigged(&self) -> (Scene, Setup) {
        let mut scene =
            Scene { name: self.name.into(), frames_per_second: 1.0 / self.dt, ..Scene::default() };
        let mut setup = Setup::default();
        setup.world.gravity = [0.0, 0.0, -GRAVITY];
        setup.world.substeps = 1;
        setup.world.solver.threads = Some(1);
        setup.bake.frames = Some([0.0, FRAMES as f64]);
        let mut add = |name: String, placement: Placement, body: Body| {
            let Placement { position: translation, rotation } = placement;
            let local = Local::Channels(Channels { translation, rotation, ..Channels::default() });
            scene.nodes.push(Node { name, local, ..Node::default() });
            let contact = Contact { friction: Some(FRICTION), bounce: Some(0.0), ..Contact::default() };
            setup.bodies.push(Body { contact, ..body });
        };
        for (i, (b, form)) in self.bodies.iter().enumerate() {
            let name = format!("Body {i}");
            let body = Body {
                behaviour: Behaviour::Free,
                shape: match form {
                    Form::Ball(radius) => Shape::Sphere { radius: Some(*radius) },
                    Form::Box(half) => Shape::Box { size: Some((*half * 2.0).to_array()) },
                },
                mass: Some(b.mass),
                inertia: Some(b.inertia.to_array()),
                ..Body::new(name.clone())
            };
            add(name, b.placement, body);
        }
        for (i, (half, position)) in self.walls.iter().enumerate() {
            let name = format!("Wall {i}");
            let shape = Shape::Box { size: Some((*half * 2.0).to_array()) };
            let body = Body { behaviour: Behaviour::Static, shape, ..Body::new(name.clone()) };
            add(name, Placement { position: *position, rotation: DQuat::IDENTITY }, body);
        }
        (scene, setup)
    }

    /// Where every body is at the start.
    pub fn start(&self) -> Vec<Placement> {
        self.bodies.iter().map(|(b, _)| b.placement).collect()
    }

    /// Where every body is in a state of this scene's rig.
    pub fn placements(&self, rig: &Rig, state: &State) -> Vec<Placement> {
        let mut placements = self.start();
        for (solid, s) in rig.solids.iter().zip(&state.solids) {
            // The solid's frame is `offset` in the node's: take it off again.
            placements[solid.node] = s.placement().then(&solid.offset.to(&Placement::IDENTITY));
        }
        placements
    }
}
