//! Guided things in contact do not jitter: of the energy of their motion, less than a hundredth is above 10 Hz, sampled
//! at 240 Hz. Where contact lasts, of the velocity (m/s), which weighs what is fast; across blows, of the way (m): a blow
//! is a jump of the velocity, which has every frequency.

use crate::Run;
use glam::{DQuat, DVec3};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::compile;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Coating, Parts, Setup, Shape};
use std::f64::consts::TAU;

const HZ: f64 = 240.0;
const HIGHEST_HZ: f64 = 10.0;

/// Share of the energy of a signal that is above the highest frequency: by the sum that defines it, over all but the
/// mean. The line from the first sample to the last is taken off, since a jump at the ends is no motion.
fn share_above(signal: &[DVec3]) -> f64 {
    let n = signal.len() as f64;
    let line = |i: usize| signal[0].lerp(signal[signal.len() - 1], i as f64 / (n - 1.0));
    let flat: Vec<DVec3> = signal.iter().enumerate().map(|(i, s)| *s - line(i)).collect();
    let (mut all, mut above) = (0.0, 0.0);
    for k in 1..=signal.len() / 2 {
        let (mut re, mut im) = (DVec3::ZERO, DVec3::ZERO);
        for (i, s) in flat.iter().enumerate() {
            let angle = TAU * ((k * i) % signal.len()) as f64 / n;
            re += *s * angle.cos();
            im += *s * angle.sin();
        }
        let energy = re.length_squared() + im.length_squared();
        all += energy;
        if k as f64 * HZ / n > HIGHEST_HZ {
            above += energy;
        }
    }
    above / all
}

/// A guided thing on smooth keys (seconds, place; at rest at each of them), and what is in its way.
struct Guided {
    scene: Scene,
    setup: Setup,
    last: f64,
}

impl Guided {
    fn new(shape: Shape, keys: &[(f64, DVec3)]) -> Guided {
        let mut scene = Scene { frames_per_second: 60.0, ..Scene::default() };
        let last = keys[keys.len() - 1].0;
        let still = vec![0.0; 3 * keys.len()];
        let segments = Segments::Cubic { arriving: still.clone(), leaving: still };
        let times = keys.iter().map(|k| k.0).collect();
        let values = keys.iter().flat_map(|k| k.1.to_array()).collect();
        let curve = Curve::new(Kind::Vector, 3, times, values, segments).unwrap();
        let channel = Channel { node: 0, property: Property::Translation, curve };
        scene.clips.push(Clip { name: "Keys".into(), channels: vec![channel] });
        let mut made = Guided { scene, setup: Setup::default(), last };
        made.setup.world.substeps = 4;
        made.add("Thing", Behaviour::Guided, shape, keys[0].1, DQuat::IDENTITY);
        made
    }

    fn add(&mut self, name: &str, behaviour: Behaviour, shape: Shape, at: DVec3, turn: DQuat) {
        let local = Local::Channels(Channels { translation: at, rotation: turn, ..Channels::default() });
        self.scene.nodes.push(Node { name: name.into(), local, ..Node::default() });
        self.setup.bodies.push(Body { behaviour, shape, ..Body::new(name) });
    }

    /// Its way and its velocity, sampled from the first key to the last.
    fn run(&self) -> (Vec<DVec3>, Vec<DVec3>) {
        let made = compile(&self.scene, &self.setup, self.scene.clips.first()).unwrap();
        let mut run = Run::new(made.rig);
        let (mut way, mut velocity) = (vec![run.at(0)], vec![run.state.solids[0].velocity]);
        for _ in 0..(self.last * HZ) as usize {
            run.step(1.0 / HZ);
            way.push(run.at(0));
            velocity.push(run.state.solids[0].velocity);
        }
        (way, velocity)
    }
}

#[test]
fn the_share_above_is_that_of_the_faster_of_two_waves() {
    let wave = |i: usize| {
        let t = i as f64 / HZ;
        DVec3::X * ((TAU * 2.0 * t).sin() + 0.5 * (TAU * 30.0 * t).sin())
    };
    let signal: Vec<DVec3> = (0..480).map(wave).collect();
    assert!((share_above(&signal) - 0.2).abs() < 0.01, "{}", share_above(&signal));
}

#[test]
fn a_box_pressed_onto_the_floor_slides_evenly() {
    let cube = Shape::Box { size: Some([0.4; 3]) };
    // A tenth of a metre into the floor, a metre and a half to the side and back.
    let low = |x: f64| DVec3::new(x, 0.1, 0.0);
    for friction in [0.0, 0.3, 0.8] {
        let start = DVec3::new(0.0, 0.2, 0.0);
        let mut scene =
            Guided::new(cube.clone(), &[(0.0, start), (0.5, low(0.0)), (2.0, low(1.5)), (4.0, low(0.0))]);
        scene.add("Floor", Behaviour::Static, Shape::Plane {}, DVec3::ZERO, DQuat::IDENTITY);
        scene.setup.bodies.iter_mut().for_each(|b| b.contact.friction = Some(friction));
        let (way, velocity) = scene.run();
        let lowest = way.iter().fold(f64::INFINITY, |m, p| m.min(p.y));
        let reached = way.iter().fold(0.0_f64, |m, p| m.max(p.x));
        let share = share_above(&velocity);
        println!(
            "friction {friction}: {share:.2e} of the velocity, lowest {lowest:.5}, as far as {reached:.3}"
        );
        assert!(lowest > 0.199 && reached > 0.5, "{lowest} {reached}");
        assert!(share < 0.01, "{share}");
    }
}

#[test]
fn a_box_pushed_into_a_wall_and_back_does_not_tremble() {
    let cube = Shape::Box { size: Some([0.4; 3]) };
    let keys = [(0.0, DVec3::ZERO), (1.5, DVec3::X), (2.0, DVec3::X), (3.5, DVec3::ZERO)];
    for bounce in [0.0, 0.3] {
        let mut scene = Guided::new(cube.clone(), &keys);
        scene.setup.world.gravity = [0.0; 3];
        let wall = Shape::Box { size: Some([0.2, 3.0, 3.0]) };
        scene.add("Wall", Behaviour::Static, wall, DVec3::X * 0.8, DQuat::IDENTITY);
        scene.setup.bodies[0].contact.bounce = Some(bounce);
        let (way, velocity) = scene.run();
        let reached = way.iter().fold(0.0_f64, |m, p| m.max(p.x));
        // Held against the wall, half a second after the blow.
        let held = &velocity[(1.4 * HZ) as usize..(2.0 * HZ) as usize];
        let trembles = held.iter().fold(0.0_f64, |m, v| m.max(v.length()));
        let share = share_above(&way);
        println!(
            "bounce {bounce}: {share:.2e} of the way, up to {reached:.5}, {trembles:.2e} m/s while held"
        );
        assert!(reached < 0.5005 && trembles < 0.01, "{reached} {trembles}");
        assert!(share < 0.01, "{share}");
    }
}

#[test]
fn balls_led_through_a_beam_go_around_it_smoothly() {
    let soft = Coating { thickness: Some(0.15), stiffness: Some(4e4), damping: Some(0.5) };
    for (mass, bounce, coating) in [(2.0, 0.9, None), (8.0, 0.9, None), (2.0, 0.0, Some(soft))] {
        let ball = Shape::Sphere { radius: Some(0.3) };
        let at = |x: f64| DVec3::new(x, 0.2, 0.0);
        let mut scene = Guided::new(ball, &[(0.0, at(-2.5)), (4.0, at(2.5)), (5.0, at(2.5))]);
        scene.setup.world.gravity = [0.0; 3];
        let beam = Shape::Cylinder { radius: Some(0.5), length: Some(3.0) };
        scene.add("Beam", Behaviour::Static, beam, DVec3::ZERO, DQuat::from_rotation_x(TAU / 4.0));
        let body = &mut scene.setup.bodies[0];
        body.mass = Some(mass);
        body.guide.follow = Parts::Position;
        body.actuator.max_force = Some(sinew_core::setup::Limit::Absolute(100.0.into()));
        (body.contact.bounce, body.contact.coating, body.contact.friction) =
            (Some(bounce), coating, Some(0.1));
        let (way, _) = scene.run();
        let share = share_above(&way);
        let end = way[way.len() - 1];
        println!("{mass} kg, soft {}: {share:.2e} of the way, ends at {end:.3}", coating.is_some());
        assert!(end.x > 0.5, "{end}");
        assert!(share < 0.01, "{share}");
    }
}
