//! A neutral scene as a world of Rapier's.

use rapier3d_f64::math::{Pose, Rotation, Vector};
use rapier3d_f64::prelude::*;
use serde_json::Value;

/// Where bodies start, and whether body 0 is moved.
#[derive(Clone, Copy, PartialEq)]
pub enum Start {
    /// Put together, all free.
    Free,
    /// As they are to be put together, all free.
    Perturbed,
    /// Put together, body 0 moved.
    Shaken,
    /// All free; what rests may sleep.
    Drowsy,
}

/// Everything that Rapier steps.
pub struct World {
    pub gravity: Vector,
    pub parameters: IntegrationParameters,
    islands: IslandManager,
    broad: BroadPhaseBvh,
    narrow: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft: SoftBodySet,
    ccd: CCDSolver,
    pipeline: PhysicsPipeline,
    handles: Vec<RigidBodyHandle>,
    masses: Vec<(f64, Vector)>,
    /// First body or the world, second body, and the joint's place on either.
    ends: Vec<(Option<usize>, usize, Vector, Vector)>,
    motors: Vec<Motor>,
}

/// What turns a joint: see the scenes.
struct Motor {
    handle: ImpulseJointHandle,
    axis: Vector,
    amplitude: f64,
    phase: f64,
    stiffness: f64,
    damping: f64,
}

const TURNS: [JointAxis; 3] = [JointAxis::AngX, JointAxis::AngY, JointAxis::AngZ];

fn number(v: &Value) -> f64 {
    v.as_f64().expect("a number")
}

fn vector(v: &Value) -> Vector {
    Vector::new(number(&v[0]), number(&v[1]), number(&v[2]))
}

fn quaternion(v: &Value) -> Rotation {
    Rotation::from_xyzw(number(&v[1]), number(&v[2]), number(&v[3]), number(&v[0]))
}

fn list(v: &Value) -> &[Value] {
    v.as_array().expect("a list")
}

/// Reads a scene.
pub fn load(directory: &str, name: &str) -> Value {
    let text = std::fs::read_to_string(format!("{directory}/{name}.json")).expect("the scene is there");
    serde_json::from_str(&text).expect("the scene is JSON")
}

impl World {
    pub fn new(scene: &Value, iterations: usize, start: Start) -> World {
        let mut bodies = RigidBodySet::new();
        let mut colliders = ColliderSet::new();
        let mut joints = ImpulseJointSet::new();
        let parameters = IntegrationParameters {
            dt: number(&scene["dt"]),
            num_solver_iterations: iterations,
            warmstart_joints: true,
            ..IntegrationParameters::default()
        };
        let ground = bodies.insert(RigidBodyBuilder::fixed());
        let rubs = |c: ColliderBuilder| c.density(0.0).friction(number(&scene["friction"])).restitution(0.0);
        // Figures touch nothing but the floor.
        let groups = |own: Group, other: Group| InteractionGroups::new(own, other, InteractionTestMode::And);
        let figures = scene["floor"].as_bool().unwrap_or(false);
        if figures {
            let floor = ColliderBuilder::cuboid(200.0, 200.0, 0.5).translation(Vector::new(0.0, 0.0, -0.5));
            let floor = rubs(floor).collision_groups(groups(Group::GROUP_2, Group::GROUP_1));
            colliders.insert_with_parent(floor, ground, &mut bodies);
        }
        for wall in scene["walls"].as_array().into_iter().flatten() {
            let half = vector(&wall["half"]);
            let wall = ColliderBuilder::cuboid(half.x, half.y, half.z).translation(vector(&wall["pos"]));
            colliders.insert_with_parent(rubs(wall), ground, &mut bodies);
        }
        let all = list(&scene["bodies"]);
        let (mut handles, mut masses) = (Vec::new(), Vec::new());
        for (i, body) in all.iter().enumerate() {
            let at = if start == Start::Perturbed { &scene["perturbed"][i] } else { body };
            let builder = match start == Start::Shaken && i == 0 {
                true => RigidBodyBuilder::kinematic_position_based(),
                false => RigidBodyBuilder::dynamic(),
            };
            let (mass, inertia) = (number(&body["mass"]), vector(&body["inertia"]));
            let builder = builder
                .pose(Pose::from_parts(vector(&at["pos"]), quaternion(&at["quat"])))
                .can_sleep(start == Start::Drowsy)
                .gyroscopic_forces_enabled(true)
                .additional_mass_properties(MassProperties::new(Vector::ZERO, mass, inertia));
            handles.push(bodies.insert(builder));
            masses.push((mass, inertia));
            let shape = &body["shape"];
            let collider = match shape["type"].as_str() {
                Some("ball") => ColliderBuilder::ball(number(&shape["radius"])),
                Some("capsule") => ColliderBuilder::capsule_y(number(&shape["half"]), number(&shape["radius"]))
                    .collision_groups(groups(Group::GROUP_1, Group::GROUP_2)),
                Some(_) => {
                    let half = vector(&shape["half"]);
                    ColliderBuilder::cuboid(half.x, half.y, half.z)
                }
                None => continue,
            };
            colliders.insert_with_parent(rubs(collider), handles[i], &mut bodies);
        }
        let (mut ends, mut motors) = (Vec::new(), Vec::new());
        for joint in list(&scene["joints"]) {
            let a = joint["a"].as_u64().map(|a| a as usize);
            let b = joint["b"].as_u64().expect("a body") as usize;
            let (at_a, at_b) = (vector(&joint["anchor_a"]), vector(&joint["anchor_b"]));
            // Frames that agree as the bodies are when put together.
            let turned = a.map_or(Rotation::IDENTITY, |a| quaternion(&all[a]["quat"]));
            let relative = turned.inverse() * quaternion(&all[b]["quat"]);
            let axis = vector(&joint["axis"]);
            let hinge = joint["type"] == "hinge";
            let along = if hinge { Rotation::from_rotation_arc(Vector::X, axis) } else { Rotation::IDENTITY };
            let mut data: GenericJoint = match hinge {
                true => RevoluteJointBuilder::new(axis).build().into(),
                false => SphericalJointBuilder::new().build().into(),
            };
            data.set_local_frame1(Pose::from_parts(at_a, relative * along));
            data.set_local_frame2(Pose::from_parts(at_b, along));
            data.contacts_enabled = false;
            let motor = &joint["motor"];
            if motor.is_object() {
                TURNS.iter().for_each(|t| {
                    data.set_motor_model(*t, MotorModel::ForceBased);
                });
            }
            let handle = joints.insert(a.map_or(ground, |a| handles[a]), handles[b], data, true);
            if motor.is_object() {
                let [amplitude, phase, stiffness, damping] =
                    ["amplitude", "phase", "stiffness", "damping"].map(|name| number(&motor[name]));
                let axis = vector(&motor["axis"]);
                motors.push(Motor { handle, axis, amplitude, phase, stiffness, damping });
            }
            ends.push((a, b, at_a, at_b));
        }
        World {
            gravity: vector(&scene["gravity"]),
            parameters,
            islands: IslandManager::new(),
            broad: BroadPhaseBvh::new(),
            narrow: NarrowPhase::new(),
            bodies,
            colliders,
            joints,
            multibody_joints: MultibodyJointSet::new(),
            soft: SoftBodySet::new(),
            ccd: CCDSolver::new(),
            pipeline: PhysicsPipeline::new(),
            handles,
            masses,
            ends,
            motors,
        }
    }

    /// Aims the motors of joints at where they are to be at a time (s).
    pub fn aim(&mut self, time: f64) {
        for motor in &self.motors {
            let angle = motor.amplitude * (std::f64::consts::TAU * time + motor.phase).sin();
            let turn = motor.axis * angle;
            let Some(joint) = self.joints.get_mut(motor.handle, false) else { continue };
            for (axis, to) in TURNS.into_iter().zip([turn.x, turn.y, turn.z]) {
                joint.data.set_motor_position(axis, to, motor.stiffness, motor.damping);
            }
        }
    }

    pub fn step(&mut self) {
        self.pipeline.step(
            self.gravity,
            &self.parameters,
            &mut self.islands,
            &mut self.broad,
            &mut self.narrow,
            &mut self.bodies,
            &mut self.colliders,
            &mut self.joints,
            &mut self.multibody_joints,
            &mut self.soft,
            &mut self.ccd,
            &(),
            &(),
        );
    }

    /// Moves body 0 to where it is at a time (s).
    pub fn shake(&mut self, scene: &Value, time: f64) {
        let shake = &scene["shake"];
        let along = |axis: usize| {
            let phase = number(&shake["phase"][axis]);
            let angle = std::f64::consts::TAU * number(&shake["hertz"][axis]) * time + phase;
            number(&shake["amplitude"][axis]) * (angle.sin() - phase.sin())
        };
        let moved = Vector::new(along(0), along(1), along(2));
        let to = vector(&scene["bodies"][0]["pos"]) + moved;
        self.bodies[self.handles[0]].set_next_kinematic_translation(to);
    }

    /// Takes all velocities away.
    pub fn stand_still(&mut self) {
        for handle in &self.handles {
            let body = &mut self.bodies[*handle];
            body.set_linvel(Vector::ZERO, true);
            body.set_angvel(Vector::ZERO, true);
        }
    }

    /// The largest distance between the two ends of a joint, m.
    pub fn opening(&self) -> f64 {
        let place = |body: usize, at: Vector| self.bodies[self.handles[body]].position().transform_point(at);
        let open = |(a, b, at_a, at_b): &(Option<usize>, usize, Vector, Vector)| {
            (a.map_or(*at_a, |a| place(a, *at_a)) - place(*b, *at_b)).length()
        };
        self.ends.iter().map(open).fold(0.0, f64::max)
    }

    /// Where the last body is.
    pub fn last(&self) -> [f64; 3] {
        let handle = self.handles.last().expect("there are bodies");
        let p = self.bodies[*handle].translation();
        [p.x, p.y, p.z]
    }

    /// Adds where every body is: x, y, z, and the quaternion w, x, y, z.
    pub fn note(&self, poses: &mut Vec<u8>) {
        for handle in &self.handles {
            let (p, q) = (self.bodies[*handle].translation(), self.bodies[*handle].rotation());
            let numbers = [p.x, p.y, p.z, q.w, q.x, q.y, q.z];
            poses.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        }
    }

    /// Kinetic energy and weight, J.
    pub fn energy(&self) -> f64 {
        let of = |(handle, (mass, inertia)): (&RigidBodyHandle, &(f64, Vector))| {
            let body = &self.bodies[*handle];
            let spin = body.position().inverse_transform_vector(body.angvel());
            0.5 * mass * body.linvel().length_squared() + 0.5 * (spin * spin).dot(*inertia)
                - mass * self.gravity.dot(body.translation())
        };
        self.handles.iter().zip(&self.masses).map(of).sum()
    }
}
