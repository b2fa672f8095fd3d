//! The scenes of `examples/scenes`, made from numbers: small, self-contained, the same bytes every time.
//!
//! Their set-up files lie beside them and are written by hand, where they are not too long: they are what a reader
//! learns from. The example programs `make_scenes` and `make_pictures` of this crate write the scenes and their pictures anew; the
//! `examples` suite compares and bakes them.

mod articulated;
mod bat;
mod bird;
mod bridge;
mod dominoes;
mod figure;
mod figures;
mod flock;
mod hanging;
mod joined;
mod maker;
mod net;
mod obstacle;
mod pit;
mod pyramid;
mod shelf;
mod snake;
mod solid;
mod stack;
mod star;
mod tow;

pub use figures::{PALM, SHOULDER};
use glam::{DQuat, DVec3};
use maker::Maker;
use sinew_core::rotation;

/// Name and content of every scene.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("ball", ball()),
        ("smoothing", on_the_same_keys(&["base distance 0.2", "base distance 0.4", "base distance 0.8"])),
        ("damping", on_the_same_keys(&["B 0.3", "B 0.6", "B 1", "B 2"])),
        ("random_steps", random_steps()),
        ("sag", sag()),
        ("relay", relay()),
        ("crane", crane()),
        ("strength", dash(&["subtle", "reactive", "limp"])),
        ("limit", dash(&["8 weights", "3 weights", "2 weights"])),
        ("keep_up", dash(&["keep up 1", "keep up 0.5", "keep up 0"])),
        ("chain", articulated::chain()),
        ("linkage", articulated::linkage()),
        ("bird", bird::bird()),
        ("snake", snake::snake()),
        ("hand_to_foot", pyramid::hand_to_foot()),
        ("drag", star::drag()),
        ("plate", net::plate()),
        ("bridge", bridge::bridge()),
        ("hanging_chain", hanging::hanging_chain()),
        ("blend", dash(&["blend 0", "blend 0.5", "blend 1"])),
        ("stack", stack::stack()),
        ("obstacle", obstacle::obstacle()),
        ("bat", bat::bat()),
        ("dominoes", dominoes::dominoes()),
        ("bird_ball", flock::bird_ball()),
        ("shelf", shelf::shelf()),
        ("soft_snake", tow::soft_snake()),
        ("ball_pit", pit::ball_pit()),
        ("hard_keys", hard_keys(&["hint", "as keyed", "hard"])),
        ("balance", figures::balance()),
        ("fox_box", figures::fox_box()),
        ("figure_ball", figures::figure_ball()),
        ("robot_arm", figures::robot_arm()),
        ("stairs", figures::stairs()),
        ("tug", figures::tug()),
        ("shoulder", figures::shoulder()),
    ]
}

/// Name and content of the set-ups that are too long to write by hand.
pub fn setups() -> Vec<(&'static str, String)> {
    vec![
        ("hand_to_foot", pyramid::hand_to_foot_setup()),
        ("drag", star::drag_setup()),
        ("plate", net::plate_setup()),
        ("bridge", bridge::bridge_setup()),
        ("hanging_chain", hanging::hanging_chain_setup()),
        ("stack", stack::stack_setup()),
        ("dominoes", dominoes::dominoes_setup()),
        ("bird_ball", flock::bird_ball_setup()),
        ("soft_snake", tow::soft_snake_setup()),
        ("ball_pit", pit::ball_pit_setup()),
        ("balance", figures::balance_setup()),
        ("fox_box", figures::fox_box_setup()),
        ("figure_ball", figures::figure_ball_setup()),
        ("robot_arm", figures::robot_arm_setup()),
        ("stairs", figures::stairs_setup()),
        ("tug", figures::tug_setup()),
        ("shoulder", figures::shoulder_setup()),
    ]
}

/// Scenes that are shown in motion, too, as `NAME_playblast.svg`.
pub const PLAYBLASTS: [&str; 2] = ["stairs", "figure_ball"];

/// The command that draws the picture of a scene, and what it needs besides `--plot`.
pub fn picture_command(name: &str) -> &'static [&'static str] {
    match name {
        "random_steps" => &["bake", "--compare-steps"],
        "hand_to_foot" => &["assemble"],
        _ => &["bake"],
    }
}

/// Frames per second that the keys lie on.
const RATE: f64 = 24.0;

/// How far keys may be from the simulation, scene units and degrees, where things touch: a thousandth of a body's width,
/// which is as good anywhere else, shows between two of them.
const FIT: f64 = 2e-5;
const FIT_DEG: f64 = 0.003;

const BLUE: [f64; 3] = [0.0, 0.17, 0.45];
const RED: [f64; 3] = [0.67, 0.11, 0.0];
const GREEN: [f64; 3] = [0.0, 0.34, 0.17];
const PURPLE: [f64; 3] = [0.43, 0.09, 0.32];
const CREAM: [f64; 3] = [0.85, 0.78, 0.6];
const GREY: [f64; 3] = [0.4, 0.4, 0.42];

const COLOURS: [[f64; 3]; 4] = [BLUE, RED, GREEN, PURPLE];

fn seconds(frames: &[f64]) -> Vec<f64> {
    frames.iter().map(|f| f / RATE).collect()
}

/// A ball that hops twice, blocked with seven straight keys.
fn ball() -> String {
    let mut m = Maker::new("Hop");
    let skin = m.ball(0.25, &[RED, CREAM]);
    let ball = m.node("Ball", Some(skin), DVec3::new(-2.4, 0.3, 0.0), None);
    let plate = m.block(DVec3::new(6.4, 0.1, 1.6), GREY);
    m.node("Floor", Some(plate), DVec3::new(0.0, -0.05, 0.0), None);
    let times = seconds(&[0.0, 8.0, 16.0, 24.0, 32.0, 40.0, 52.0]);
    let places = [
        DVec3::new(-2.4, 0.3, 0.0),
        DVec3::new(-2.4, 0.3, 0.0),
        DVec3::new(-1.1, 1.7, 0.0),
        DVec3::new(0.2, 0.32, 0.0),
        DVec3::new(1.1, 1.1, 0.0),
        DVec3::new(2.0, 0.3, 0.0),
        DVec3::new(2.4, 0.3, 0.0),
    ];
    m.translate(ball, &times, &places);
    let turns = [0.0, 0.0, -2.2, -4.4, -5.8, -7.2, -9.2].map(|a| rotation::exp(DVec3::Z * a));
    m.rotate(ball, &times, &turns);
    m.finish()
}

/// Lamouret 1995, 4.2: a path that no body can follow, with corners and a fall straight down, for several balls.
fn on_the_same_keys(names: &[&str]) -> String {
    let places = [
        DVec3::ZERO,
        DVec3::new(1.0, 1.2, 0.0),
        DVec3::new(1.8, 0.0, 0.0),
        DVec3::new(2.6, 1.2, 0.0),
        DVec3::new(2.6, 0.0, 0.0),
        DVec3::new(4.0, 0.0, 0.0),
    ];
    let times: Vec<f64> = (0..places.len()).map(|i| i as f64 * 0.5).collect();
    let mut m = Maker::new("Zigzag");
    for (name, colour) in names.iter().zip(COLOURS) {
        let mesh = m.ball(0.06, &[colour]);
        let node = m.node(name, Some(mesh), places[0], None);
        m.translate(node, &times, &places);
    }
    m.finish()
}

/// Two metres in half a second, from rest to rest, for several balls.
fn dash(names: &[&str]) -> String {
    let times = seconds(&[0.0, 6.0, 18.0, 36.0]);
    let places = [DVec3::ZERO, DVec3::ZERO, DVec3::X * 2.0, DVec3::X * 2.0];
    let mut m = Maker::new("Dash");
    for (name, colour) in names.iter().zip(COLOURS) {
        let mesh = m.ball(0.1, &[colour]);
        let node = m.node(name, Some(mesh), places[0], None);
        m.translate(node, &times, &places);
    }
    m.finish()
}

/// Up to a corner and down again, for several balls.
fn hard_keys(names: &[&str]) -> String {
    let times = seconds(&[0.0, 12.0, 24.0, 48.0]);
    let places =
        [DVec3::ZERO, DVec3::new(1.0, 1.0, 0.0), DVec3::new(2.0, 0.0, 0.0), DVec3::new(3.0, 0.0, 0.0)];
    let mut m = Maker::new("Corner");
    for (name, colour) in names.iter().zip(COLOURS) {
        let mesh = m.ball(0.06, &[colour]);
        let node = m.node(name, Some(mesh), places[0], None);
        m.translate(node, &times, &places);
    }
    m.finish()
}

/// A target that stays one metre away: the whole path lies within the base distance.
fn random_steps() -> String {
    let mut m = Maker::new("Pull");
    for (name, colour) in [("B 0.5", BLUE), ("B 1.2", RED)] {
        let mesh = m.ball(0.1, &[colour]);

        let node = m.node(name, Some(mesh), DVec3::ZERO, None);
        m.translate(node, &[0.0, 1.5], &[DVec3::ZERO, DVec3::X]);
    }
    m.finish()
}

/// Level paths under gravity.
fn sag() -> String {
    let mut m = Maker::new("Level");
    for (name, colour) in ["compensation 0", "compensation 1", "compensation 4"].iter().zip(COLOURS) {
        let mesh = m.ball(0.06, &[colour]);
        let node = m.node(name, Some(mesh), DVec3::ZERO, None);
        m.translate(node, &[0.0, 3.0], &[DVec3::ZERO, DVec3::X * 6.0]);
    }
    m.finish()
}

/// Two lanes: the runner starts, waits for the courier, and leaves when it has come.
fn relay() -> String {
    let mut m = Maker::new("Relay");
    let lanes = [
        ("Courier", BLUE, [-3.0, -1.0, 0.0].as_slice(), 0.3, [0.0, 1.0, 1.5].as_slice()),
        ("Runner", RED, [-0.6, 0.0, 3.0].as_slice(), -0.3, [0.0, 0.5, 1.5].as_slice()),
    ];
    for (name, colour, along, z, times) in lanes {
        let mesh = m.ball(0.15, &[colour, CREAM]);
        let places: Vec<DVec3> = along.iter().map(|x| DVec3::new(*x, 0.15, z)).collect();
        let node = m.node(name, Some(mesh), places[0], None);
        m.translate(node, times, &places);
    }
    let plate = m.block(DVec3::new(7.0, 0.1, 1.6), GREY);
    m.node("Track", Some(plate), DVec3::new(0.0, -0.05, 0.0), None);
    m.finish()
}

/// An arm that swings on keys, and a load that its parent carries.
fn crane() -> String {
    let mut m = Maker::new("Swing");
    let mast = m.block(DVec3::new(0.3, 2.4, 0.3), GREY);
    m.node("Mast", Some(mast), DVec3::new(0.0, 1.2, 0.0), None);
    let beam = m.long_block(DVec3::new(2.4, 0.14, 0.14), CREAM);
    let arm = m.node("Arm", Some(beam), DVec3::new(0.0, 2.4, 0.0), None);
    let weight = m.block(DVec3::new(0.4, 0.5, 0.4), RED);
    let rest = DVec3::new(2.2, -1.2, 0.0);
    let load = m.node("Load", Some(weight), rest, Some(arm));
    let times = seconds(&[0.0, 12.0, 30.0, 60.0, 78.0, 108.0]);
    let turns: Vec<DQuat> =
        [0.0, 0.0, 1.6, 1.6, 0.4, 0.4].iter().map(|a| rotation::exp(DVec3::Y * *a)).collect();
    m.rotate(arm, &times, &turns);
    m.translate(load, &[0.0, 108.0 / RATE], &[rest, rest]);
    m.finish()
}
