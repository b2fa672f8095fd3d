//! Figures that any engine can simulate: 22 capsules on 21 ball joints, each turned by a motor, dropped 2.5 cm onto a
//! floor where they move, lose their balance and fall. SI units, z up.
//!
//! One source for all, like the [`crate::neutral`] scenes. A joint's motor turns it with
//! `stiffness * log(turn^-1 aim(t)) - damping * spin`, `aim(t) = exp(axis amplitude sin(2 pi t + phase))`, counted from how
//! the figure stands. Sinew has this as springs of the joints ([`Motors::Springs`]) or as the muscles of guided bodies
//! ([`Motors::Muscles`]), whose strength goes with each body's own inertia: the same but for twists, which are weaker.
//! Only the floor touches: figures pass through themselves and each other.

use crate::neutral::{GRAVITY, NeutralBody, NeutralJoint};
use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::Rig;
use sinew_core::rotation;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Placement, Property, Scene};
use sinew_core::setup::{
    At, Behaviour, Between, Body, Contact, Direction, Joint, JointKind, Keyable, Keys, Limit, Parts, Setup,
    Shape, Space, Swing,
};
use sinew_core::simulate::State;
use std::f64::consts::TAU;

/// Of every foot on the floor.
const FRICTION: f64 = 0.8;
/// From one figure to the next, m.
const SPACING: f64 = 3.0;
/// How long figures are simulated, s: they stand, fall and lie, and go on moving there.
pub const SECONDS: f64 = 10.0;
/// How often springs' aims are keyed, straight in between: a ten-thousandth of a degree from the sines.
const KEYS_PER_SECOND: f64 = 480.0;
/// How often those of muscles are, as animators key: on smooth curves, as near to the sines.
const FRAMES_PER_SECOND: f64 = 60.0;
/// Damping of a motor per stiffness, s.
const DAMPING: f64 = 0.05;
/// Relaxation time of the muscles, s; strength alone counts.
const RELAXATION: f64 = 1.0 / 24.0;

/// How many figures there are.
pub const COPIES: [usize; 3] = [1, 16, 64];
/// Steps per second.
pub const RATES: [usize; 4] = [240, 120, 60, 30];
/// So many a single figure takes as well: with as many, others come nearest to keeping it out of the floor as Sinew does.
pub const FINE: usize = 1920;
/// And so many, to know better how long steps may be for others.
pub const BETWEEN: [usize; 2] = [50, 40];
/// And so few, where only Sinew still holds it.
pub const COARSE: [usize; 7] = [24, 20, 16, 15, 14, 12, 10];

/// Standing figures.
#[derive(Clone, Debug)]
pub struct Figures {
    /// How many.
    pub copies: usize,
    /// The bodies, figure by figure, each with the radius and half the length of its capsule, which is along y.
    pub bodies: Vec<(NeutralBody, f64, f64)>,
    /// What holds and turns them.
    pub joints: Vec<(NeutralJoint, Motor)>,
}

/// What turns a joint.
#[derive(Clone, Copy, Debug)]
pub struct Motor {
    /// N m/rad.
    pub stiffness: f64,
    /// N m s/rad.
    pub damping: f64,
    /// In the second body's frame.
    pub axis: DVec3,
    /// rad.
    pub amplitude: f64,
    /// rad.
    pub phase: f64,
    /// The second body in the first one's frame as the figure stands.
    pub rest: DQuat,
}

impl Motor {
    /// How far it is to turn from rest at a time (s), rad.
    pub fn angle(&self, time: f64) -> f64 {
        self.amplitude * libm::sin(TAU * time + self.phase)
    }

    /// How fast, rad/s.
    fn speed(&self, time: f64) -> f64 {
        self.amplitude * TAU * libm::cos(TAU * time + self.phase)
    }

    /// How the second body is to be in the first one's frame.
    pub fn aim(&self, time: f64) -> DQuat {
        self.rest * rotation::exp(self.axis * self.angle(time))
    }
}

/// How Sinew turns joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motors {
    /// By springs of the joints, as the other engines do.
    Springs,
    /// By the muscles of guided bodies, as Sinew turns skeletons.
    Muscles,
}

/// A part of a figure: parent, joint, far end (m), radius (m), mass (kg), stiffness, amplitude, axis.
type Limb = (Option<usize>, [f64; 3], [f64; 3], f64, f64, f64, f64, [f64; 3]);

/// A person of 1.8 m and 81 kg.
fn limbs() -> Vec<Limb> {
    let (x, y, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    let mut limbs: Vec<Limb> = vec![
        (None, [0.0, -0.08, 1.0], [0.0, 0.08, 1.0], 0.09, 10.0, 0.0, 0.0, y),
        (Some(0), [0.0, 0.0, 1.06], [0.0, 0.0, 1.16], 0.09, 6.0, 300.0, 0.1, y),
        (Some(1), [0.0, 0.0, 1.18], [0.0, 0.0, 1.28], 0.09, 6.0, 300.0, 0.1, x),
        (Some(2), [0.0, 0.0, 1.3], [0.0, 0.0, 1.42], 0.11, 8.0, 300.0, 0.1, z),
        (Some(3), [0.0, 0.0, 1.5], [0.0, 0.0, 1.56], 0.05, 1.0, 60.0, 0.15, y),
        (Some(4), [0.0, 0.0, 1.58], [0.0, 0.0, 1.7], 0.09, 4.0, 60.0, 0.15, z),
    ];
    for side in [1.0, -1.0] {
        let n = limbs.len();
        let (arm, leg) = (0.2 * side, 0.1 * side);
        limbs.extend([
            (Some(3), [0.0, 0.03 * side, 1.46], [0.0, 0.15 * side, 1.46], 0.04, 1.5, 150.0, 0.1, x),
            (Some(n), [0.0, arm, 1.46], [0.0, arm, 1.2], 0.045, 2.0, 100.0, 0.6 * side, y),
            (Some(n + 1), [0.0, arm, 1.16], [0.0, arm, 0.94], 0.04, 1.5, 60.0, 0.3, y),
            (Some(n + 2), [0.0, arm, 0.9], [0.0, arm, 0.8], 0.035, 0.5, 20.0, 0.2, y),
            (Some(0), [0.0, leg, 0.93], [0.0, leg, 0.56], 0.06, 7.0, 400.0, 0.3 * side, y),
            (Some(n + 4), [0.0, leg, 0.5], [0.0, leg, 0.14], 0.05, 4.0, 300.0, 0.2, y),
            (Some(n + 5), [-0.02, leg, 0.06], [0.1, leg, 0.05], 0.045, 1.0, 150.0, 0.1, y),
            (Some(n + 6), [0.14, leg, 0.05], [0.19, leg, 0.05], 0.045, 0.3, 30.0, 0.1, y),
        ]);
    }
    limbs
}

/// A capsule along y.
fn capsule_inertia(mass: f64, radius: f64, half: f64) -> DVec3 {
    let (tube, ends) = (2.0 * half, 4.0 / 3.0 * radius);
    let (tube, ends) = (mass * tube / (tube + ends), mass * ends / (tube + ends));
    let square = radius * radius;
    let along = tube * square / 2.0 + ends * 0.4 * square;
    let across = tube * (square / 4.0 + half * half / 3.0)
        + ends * (0.4 * square + half * half + 0.75 * half * radius);
    DVec3::new(across, along, across)
}

/// So many figures on a square grid.
pub fn figures(copies: usize) -> Figures {
    let limbs = limbs();
    let side = (copies as f64).sqrt().ceil() as usize;
    let (mut bodies, mut joints) = (Vec::new(), Vec::new());
    for copy in 0..copies {
        let base = bodies.len();
        let offset = DVec3::new(SPACING * (copy % side) as f64, SPACING * (copy / side) as f64, 0.02);
        for (k, &(parent, joint, end, radius, mass, stiffness, amplitude, axis)) in limbs.iter().enumerate() {
            let [joint, end] = [joint, end].map(|p| DVec3::from_array(p) + offset);
            let half = 0.5 * (end - joint).length();
            let rotation = DQuat::from_rotation_arc(DVec3::Y, (end - joint).normalize());
            let placement = Placement { position: (joint + end) / 2.0, rotation };
            let inertia = capsule_inertia(mass, radius, half);
            bodies.push((NeutralBody { mass, inertia, placement }, radius, half));
            let Some(a) = parent.map(|p| base + p) else { continue };
            let first: Placement = bodies[a].0.placement;
            let local = |p: &Placement| p.rotation.conjugate() * (joint - p.position);
            let anchors = [local(&first), local(&placement)];
            joints.push((
                NeutralJoint { a: Some(a), b: base + k, anchors, axis: None, tree: true },
                Motor {
                    stiffness,
                    damping: DAMPING * stiffness,
                    axis: rotation.conjugate() * DVec3::from_array(axis),
                    amplitude,
                    phase: 0.3 * k as f64,
                    rest: first.rotation.conjugate() * rotation,
                },
            ));
        }
    }
    Figures { copies, bodies, joints }
}

impl Figures {
    /// Its file's stem.
    pub fn name(&self) -> String {
        format!("figure_{}", self.copies)
    }

    /// The scene as other engines read it; quaternions are w, x, y, z.
    pub fn json(&self) -> Value {
        let quat = |q: DQuat| [q.w, q.x, q.y, q.z];
        let body = |(b, radius, half): &(NeutralBody, f64, f64)| {
            json!({
                "mass": b.mass, "inertia": b.inertia.to_array(), "pos": b.placement.position.to_array(),
                "quat": quat(b.placement.rotation),
                "shape": {"type": "capsule", "radius": radius, "half": half},
            })
        };
        let joint = |(j, m): &(NeutralJoint, Motor)| {
            json!({
                "type": "ball", "a": j.a, "b": j.b, "tree": true, "axis": [0, 1, 0],
                "anchor_a": j.anchors[0].to_array(), "anchor_b": j.anchors[1].to_array(),
                "motor": {
                    "stiffness": m.stiffness, "damping": m.damping, "axis": m.axis.to_array(),
                    "amplitude": m.amplitude, "phase": m.phase,
                },
            })
        };
        json!({
            "name": self.name(),
            "gravity": [0.0, 0.0, -GRAVITY],
            "dt": 1.0 / RATES[0] as f64,
            "bodies": self.bodies.iter().map(body).collect::<Vec<_>>(),
            "joints": self.joints.iter().map(joint).collect::<Vec<_>>(),
            "floor": true,
            "friction": FRICTION,
            "seconds": SECONDS,
            "rates": match self.copies {
                1 => RATES.into_iter().chain(BETWEEN).chain([FINE]).collect(),
                _ => RATES.to_vec(),
            },
        })
    }

    /// The scene and the set-up for [`sinew_core::rig::compile`], with the scene's first clip if there is one. Body `i` is
    /// node `i`.
    pub fn rigged(&self, motors: Motors, threads: usize) -> (Scene, Setup) {
        let mut scene = Scene { name: self.name(), frames_per_second: RATES[0] as f64, ..Scene::default() };
        let mut setup = Setup::default();
        setup.world.gravity = [0.0, 0.0, -GRAVITY];
        setup.world.solver.threads = Some(threads);
        setup.bake.frames = Some([0.0, SECONDS * RATES[0] as f64]);
        let local = |p: Placement| {
            let (translation, rotation) = (p.position, p.rotation);
            Local::Channels(Channels { translation, rotation, ..Channels::default() })
        };
        let contact = Contact { friction: Some(FRICTION), bounce: Some(0.0), ..Contact::default() };
        for (i, (b, radius, half)) in self.bodies.iter().enumerate() {
            let name = format!("Body {i}");
            scene.nodes.push(Node { name: name.clone(), local: local(b.placement), ..Node::default() });
            let layer = vec!["figures".to_string()];
            setup.bodies.push(Body {
                behaviour: Behaviour::Free,
                shape: Shape::Capsule { radius: Some(*radius), length: Some(2.0 * half) },
                mass: Some(b.mass),
                inertia: Some(b.inertia.to_array()),
                contact: Contact { layers: layer.clone(), passes: layer, ..contact.clone() },
                ..Body::new(name)
            });
        }
        let mut clip = Clip { name: "Aims".into(), channels: Vec::new() };
        for (k, (j, motor)) in self.joints.iter().enumerate() {
            let Some(a) = j.a else { continue };
            let b = self.bodies[j.b].0.placement;
            let name = format!("Joint {k}");
            let at =
                Placement { position: b.position + b.rotation * j.anchors[1], rotation: DQuat::IDENTITY };
            scene.nodes.push(Node { name: name.clone(), local: local(at), ..Node::default() });
            let mut joint = Joint {
                at: Some(At::Node(name)),
                axis: Some((b.rotation * motor.axis).to_array()),
                ..Joint::new(JointKind::Universal, [&format!("Body {a}"), &format!("Body {}", j.b)])
            };
            match motors {
                Motors::Springs => spring(&mut joint, motor),
                Motors::Muscles => {
                    scene.nodes[j.b].parent = Some(a);
                    scene.nodes[j.b].local = local(self.bodies[a].0.placement.to(&b));
                    clip.channels.push(aims(j.b, motor));
                    muscle(&mut setup.bodies[j.b], motor, self.bodies[j.b].0.inertia);
                }
            }
            setup.joints.push(joint);
        }
        if motors == Motors::Muscles {
            scene.clips.push(clip);
        }
        let up = DQuat::from_rotation_arc(DVec3::Y, DVec3::Z);
        let ground = Placement { position: DVec3::ZERO, rotation: up };
        scene.nodes.push(Node { name: "Floor".into(), local: local(ground), ..Node::default() });
        let floor = Body { behaviour: Behaviour::Static, shape: Shape::Plane {}, ..Body::new("Floor") };
        setup.bodies.push(Body { contact, ..floor });
        (scene, setup)
    }

    /// Where every body is in a state of this scene's rig.
    pub fn placements(&self, rig: &Rig, state: &State) -> Vec<Placement> {
        let mut placements: Vec<Placement> = self.bodies.iter().map(|(b, ..)| b.placement).collect();
        for (solid, s) in rig.solids.iter().zip(&state.solids) {
            // The solid's frame is `offset` in the node's: take it off again.
            placements[solid.node] = s.placement().then(&solid.offset.to(&Placement::IDENTITY));
        }
        placements
    }
}

/// Moments at which aims are keyed, s.
fn moments() -> impl Iterator<Item = f64> {
    (0..=(SECONDS * KEYS_PER_SECOND) as usize + 1).map(|k| k as f64 / KEYS_PER_SECOND)
}

fn spring(joint: &mut Joint, motor: &Motor) {
    let keys = moments().map(|t| [t, motor.angle(t).to_degrees()]).collect();
    let (stiffness, damping) = (Some(motor.stiffness.into()), Some(motor.damping.into()));
    joint.turn_deg = Some(Direction {
        rest: Some(Keyable::Keys(Keys { keys, between: Between::Linear })),
        stiffness: stiffness.clone(),
        damping: damping.clone(),
        ..Direction::default()
    });
    joint.swing_deg = Some(Swing { stiffness, damping, ..Swing::default() });
}

/// The rotation that a guided body chases: at the first frame it stands as the others do.
fn aims(node: usize, motor: &Motor) -> Channel {
    let begins = 1.0 / KEYS_PER_SECOND;
    let frames = (1..=(SECONDS * FRAMES_PER_SECOND) as usize + 1).map(|k| k as f64 / FRAMES_PER_SECOND);
    let times: Vec<f64> = [0.0, begins].into_iter().chain(frames).collect();
    let aim = |t: f64| if t == 0.0 { motor.rest } else { motor.aim(t) };
    let first = (motor.aim(begins) - motor.rest) * KEYS_PER_SECOND;
    let rate = |t: f64| {
        let half = motor.axis * (0.5 * motor.speed(t));
        motor.aim(t) * DQuat::from_xyzw(half.x, half.y, half.z, 0.0)
    };
    let rates =
        |until: f64| times.iter().flat_map(move |&t| if t < until { first } else { rate(t) }.to_array());
    let (arriving, leaving) = (rates(1.5 * begins).collect(), rates(0.5 * begins).collect());
    let values = times.iter().flat_map(|&t| aim(t).to_array()).collect();
    match Curve::new(Kind::Rotation, 4, times, values, Segments::Cubic { arriving, leaving }) {
        Ok(curve) => Channel { node, property: Property::Rotation, curve },
        Err(e) => unreachable!("{e}"),
    }
}

fn muscle(body: &mut Body, motor: &Motor, inertia: DVec3) {
    // What the body's largest moment turns with: 2 alpha / relaxation^2 and 4 alpha^(1/2) B / (2^(1/2) relaxation).
    let (k, c) = (motor.stiffness / inertia.max_element(), motor.damping / inertia.max_element());
    body.behaviour = Behaviour::Guided;
    body.guide.space = Space::Parent;
    body.guide.follow = Parts::Orientation;
    let actuator = &mut body.actuator;
    actuator.relaxation_time = Some(RELAXATION.into());
    actuator.alpha = Some((k * RELAXATION * RELAXATION / 2.0).into());
    actuator.damping = Some((c / (2.0 * k.sqrt())).into());
    actuator.max_torque = Some(Limit::Unlimited);
    actuator.compensation = Some(0.0.into());
    actuator.keep_up = Some(0.0.into());
    actuator.start_balanced = Some(false);
    (body.velocity, body.spin) = (Some([0.0; 3]), Some([0.0; 3]));
}

/// How well figures are simulated, measured from where their bodies are and not taken from the engine's word.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The largest distance between the two ends of a joint, m.
    pub opening: f64,
    /// How deep a body is in the floor at most, m.
    pub deepest: f64,
    /// Height of the first figure's pelvis after a second, m, when it still stands.
    pub pelvis: f64,
    squares: f64,
    count: usize,
}

impl Watched {
    /// The bodies at a time (s).
    pub fn see(&mut self, figures: &Figures, time: f64, now: &[Placement]) {
        let point = |p: &Placement, anchor: DVec3| p.position + p.rotation * anchor;
        for (j, motor) in &figures.joints {
            let Some(a) = j.a.map(|a| &now[a]) else { continue };
            let b = &now[j.b];
            self.opening = self.opening.max((point(a, j.anchors[0]) - point(b, j.anchors[1])).length());
            let off = rotation::distance(a.rotation.conjugate() * b.rotation, motor.aim(time));
            self.squares += off * off;
            self.count += 1;
        }
        for (p, (_, radius, half)) in now.iter().zip(&figures.bodies) {
            let end = (p.rotation * DVec3::Y).z.abs() * half;
            self.deepest = self.deepest.max(radius + end - p.position.z);
        }
        if time < 1.0 + 1e-9 {
            self.pelvis = now[0].position.z;
        }
    }

    /// Root of the mean square of the angles between joints and their aims, rad.
    pub fn tracking(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// The figures, for a row of results.
    pub fn figures(&self) -> [(&'static str, Value); 4] {
        [
            ("opening", self.opening.into()),
            ("deepest_run", self.deepest.into()),
            ("tracking", self.tracking().into()),
            ("pelvis", self.pelvis.into()),
        ]
    }
}
