//! The example scenes in which things touch, baked by the real command and measured in the written file: nothing is
//! inside anything, what rests does not tremble, and each shows what its page claims.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::{DQuat, DVec3};
use sinew_core::scene::Pose;
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{built, repository, scratch, touching};
use std::path::Path;

/// Frames per second of all these scenes.
const RATE: f64 = 24.0;

/// A baked scene.
struct Baked {
    document: Document,
    frames: usize,
    rigid: touching::Deepest,
    soft: touching::Deepest,
}

impl Baked {
    /// Bakes an example and measures how deep its things are in each other.
    fn new(name: &str) -> Baked {
        let folder = scratch::folder(name);
        let scene = repository::root().join("examples/scenes").join(name).with_extension("gltf");
        let (output, plot) = (folder.path().join("out.gltf"), folder.path().join("out.svg"));
        let done = Program::new(built::command().unwrap())
            .args([Path::new("bake"), &scene, Path::new("-o"), &output, Path::new("--plot"), &plot])
            .arg("--json")
            .run()
            .and_then(|done| done.success())
            .unwrap();
        let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(report["status"], "done", "{name}");
        if oracle::are_installed() {
            assert_eq!(khronos::judge(&output, &scene), Ok(0), "{name}");
        }
        let picture = repository::root().join("docs/pictures").join(name).with_extension("svg");
        assert!(
            std::fs::read_to_string(&picture).unwrap_or_default() == std::fs::read_to_string(&plot).unwrap(),
            "{} is not what the program draws; run the example program make_pictures and look at it",
            picture.display()
        );
        let frames = report["frames"].as_u64().unwrap() as usize;
        let [rigid, soft] = touching::deepest(&scene, &output, frames).unwrap();
        println!("{name}: rigid {rigid}, soft {soft}");
        let document = Document::open(&output, &ReadOptions::default()).unwrap();
        Baked { document, frames, rigid, soft }
    }

    /// Asserts that rigid things are in each other by less than a thousandth of the smaller one, soft ones by less than
    /// their skin.
    fn apart(self) -> Baked {
        assert!(self.rigid.share < 1e-3, "{}", self.rigid);
        assert!(self.soft.share < 1.0, "{}", self.soft);
        self
    }

    /// Where a node is in the world at every frame, and how it is turned.
    fn of(&self, node: &str) -> Vec<(DVec3, DQuat)> {
        let scene = self.document.scene();
        let index = scene.find(node).unwrap_or_else(|| panic!("no node \"{node}\""));
        let pose = Pose::new(scene, scene.clips.last());
        (0..self.frames)
            .map(|f| pose.placement_at(index, f as f64 / RATE))
            .map(|p| (p.position, p.rotation))
            .collect()
    }

    /// How far any of these nodes moves in its last `frames` frames.
    fn stirs(&self, nodes: impl Iterator<Item = String>, frames: usize) -> (f64, String) {
        let mut most = (0.0, String::new());
        for name in nodes {
            let places = self.of(&name);
            let (end, _) = *places.last().unwrap();
            let moved =
                places[self.frames - frames..].iter().map(|p| (p.0 - end).length()).fold(0.0, f64::max);
            if moved > most.0 {
                most = (moved, name);
            }
        }
        most
    }
}

fn numbered(name: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |i| format!("{name} {i}"))
}

#[test]
fn a_stack_of_boxes_stands() {
    let baked = Baked::new("stack").apart();
    let top = baked.of("Box 10");
    let moved = top.iter().map(|p| (p.0 - top[0].0).length()).fold(0.0, f64::max);
    let stirs = baked.stirs(numbered("Box", 10), 12);
    println!("stack: the top moves {moved:.1e}, at the end {stirs:?}");
    assert!(moved < 1e-3, "{moved}");
    assert!(stirs.0 < 1e-5, "{stirs:?}");
}

#[test]
fn heavy_things_bounce_and_soft_ones_slide_around_an_obstacle() {
    let baked = Baked::new("obstacle").apart();
    let [light, heavy, soft] = ["light", "heavy", "soft"].map(|name| {
        let places = baked.of(name);
        // How far it goes back before the beam.
        let before: Vec<f64> = places.iter().map(|p| p.0.x).take_while(|x| *x < 0.0).collect();
        let back = (1..before.len()).map(|i| before[i - 1] - before[i]).fold(0.0, f64::max);
        let near = places.iter().map(|p| (p.0 - DVec3::Z * p.0.z).length()).fold(f64::INFINITY, f64::min);
        let end = (places.last().unwrap().0 - DVec3::new(2.5, 0.2, 0.0)).length();
        println!("{name}: goes back by {back:.3} in a frame, comes as near as {near:.4}, ends {end:.1e} from its key");
        assert!(end < 0.02, "{name}: {end}");
        (back, near)
    });
    // Rigid ones never come nearer than their radius and the beam's; the soft one does, and hardly bounces.
    assert!(heavy.0 > 2.0 * light.0 && light.0 > 0.0, "{light:?} {heavy:?}");
    assert!(light.1 > 0.7 * 0.999 && heavy.1 > 0.7 * 0.999, "{light:?} {heavy:?}");
    assert!(soft.0 < light.0 && (0.55..0.68).contains(&soft.1), "{soft:?}");
}

#[test]
fn a_ball_leaves_a_bat_with_its_speed() {
    let baked = Baked::new("bat").apart();
    let ball = baked.of("Ball");
    let hit = ball.iter().position(|p| p.0.x > 0.01).unwrap();
    let speed = (ball[hit + 4].0 - ball[hit + 1].0) * RATE / 3.0;
    // The bat turns by 2.5 rad in six frames and meets the ball 0.8 from its grip; of its 8 m/s, half again.
    let expected = (1.0 + 0.5) * 2.5 / 6.0 * RATE * 0.8;
    println!("bat: the ball leaves at {:.3} m/s and not {expected}, {:.3} to the side", speed.x, speed.z);
    assert!((speed.x / expected - 1.0).abs() < 0.005, "{speed} and not {expected}");
    assert!(speed.z.abs() < 0.1 * expected, "{speed}");
}

#[test]
fn dominoes_all_fall() {
    let baked = Baked::new("dominoes").apart();
    // When each has leant by a quarter of a right angle.
    let leans = |p: &(DVec3, DQuat)| (p.1 * DVec3::Y).y < 22.5_f64.to_radians().cos();
    let falls: Vec<usize> =
        numbered("Domino", 20).map(|n| baked.of(&n).iter().position(leans).expect("it falls")).collect();
    assert!(falls.is_sorted(), "{falls:?}");
    let speed = |from: usize, to: usize| 0.5 * (to - from) as f64 / (falls[to] - falls[from]) as f64 * RATE;
    let (first, second) = (speed(4, 11), speed(11, 18));
    let stirs = baked.stirs(numbered("Domino", 20), 12);
    println!("dominoes: the wave runs at {first:.2}, then {second:.2} m/s; at the end {stirs:?}");
    // It runs at a steady speed, of the order of a fall through their height.
    assert!((first / second - 1.0).abs() < 0.1 && (2.0..5.0).contains(&second), "{first} {second}");
    assert!(stirs.0 < 1e-5, "{stirs:?}");
}

#[test]
fn birds_push_light_balls_and_yield_to_heavy_ones() {
    let baked = Baked::new("bird_ball").apart();
    let [light, heavy, falling] = ["Light", "Heavy", "Falling"].map(|name| {
        let (bird, ball) = (baked.of(&format!("{name} ball's Body")), baked.of(&format!("{name} ball")));
        let off = bird.iter().map(|p| (p.0.y - 2.0).hypot(p.0.z - bird[0].0.z)).fold(0.0, f64::max);
        let end = (bird[84].0 - bird[0].0 - DVec3::X * 6.0).length();
        let sent = ball[84].0 - ball[0].0;
        println!("{name}: the bird is {off:.3} off, and {end:.3} at the end; the ball goes {sent:.3}");
        assert!(end < 0.03, "{name}: {end}");
        (off, sent)
    });
    // The first is as far off as its own wings throw it.
    assert!(light.0 < 0.03 && light.1.x > 2.0, "{light:?}");
    assert!(heavy.0 > 0.15 && heavy.1.length() < 0.05, "{heavy:?}");
    assert!(falling.0 > 0.1 && falling.1.x > 2.0, "{falling:?}");
}

#[test]
fn toys_are_knocked_off_a_shelf() {
    let baked = Baked::new("shelf").apart();
    for name in ["Cube", "Marble", "Brick", "Drum"] {
        let places = baked.of(name);
        let (start, end) = (places[0].0, places.last().unwrap().0);
        let stirs = baked.stirs(std::iter::once(name.to_owned()), 12);
        println!("shelf: {name} ends at {end:.3}, moves {:.1e} in the last half second", stirs.0);
        assert!(start.y > 1.0 && (0.0..0.2).contains(&end.y) && end.x > 2.4, "{name}: {end}");
        // The round ones still roll.
        assert!(stirs.0 < 1e-5 || ["Marble", "Drum"].contains(&name), "{name}: {}", stirs.0);
    }
    let ball = baked.of("Ball");
    assert!((ball.last().unwrap().0 - DVec3::new(2.5, 1.2, 0.0)).length() < 0.01);
}

#[test]
fn a_soft_snake_drags_a_roll() {
    let baked = Baked::new("soft_snake").apart();
    let roll = baked.of("Roll");
    let way = roll.last().unwrap().0 - roll[0].0;
    let high = roll.iter().map(|p| p.0.y).fold(0.0, f64::max);
    println!("soft_snake: the roll goes {way:.3}, at most {high:.3} high");
    assert!(way.x > 4.0 && high < 0.2, "{way} {high}");
}

#[test]
fn balls_come_to_rest_in_a_box() {
    let baked = Baked::new("ball_pit").apart();
    let stirs = baked.stirs(numbered("Ball", 150), 12);
    println!("ball_pit: at the end {stirs:?}");
    assert!(stirs.0 < 1e-5, "{stirs:?}");
    for name in numbered("Ball", 150) {
        let (end, _) = *baked.of(&name).last().unwrap();
        assert!(end.x.abs().max(end.z.abs()) < 0.75 && end.y > 0.09 && end.y < 1.2, "{name}: {end}");
    }
}
