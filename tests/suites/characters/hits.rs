//! Blows to the chest of somebody who stands: seen, made up for, and nobody sits down.

use super::{Judge, automatic_of, baked, extent, vertices};
use crate::figures::Figure;
use glam::DVec3;
use sinew_core::rotation;
use sinew_core::scene::{Channels, Clip, Local, Node, Pose, Scene};
use sinew_core::setup::{Behaviour, Body, Impulse, Setup, Shape, Wish, automatic_with};
use sinew_tests::made::character::Character;

/// How far 5 kg at 5 m/s bend the chest or the head of a human of 80 kg, degrees in the world: at least, and at most; and 12 kg.
const BENT_DEG: [f64; 2] = [10.0, 35.0];
const BENT_MOST_DEG: f64 = 60.0;

/// Within this it is over...
const OVER_DEG: f64 = 5.0;
/// ...after so long, s.
const OVER_S: f64 = 1.6;

/// How far feet are moved at most by the two, per cent of the height, and how far the hips may sink.
const FEET: [f64; 2] = [3.0, 5.0];
const SINKS: f64 = 4.0;

const SECONDS: f64 = 3.0;

/// Somebody who is struck, and bones of theirs.
struct Victim {
    figure: Figure,
    chest: &'static str,
    head: &'static str,
    hips: &'static str,
    feet: [&'static str; 2],
}

fn victims() -> Vec<Victim> {
    let mut all = vec![
        Victim {
            figure: Figure::made(&Character::biped(), "Idle"),
            chest: "Chest",
            head: "Head",
            hips: "Hips",
            feet: ["LeftFoot", "RightFoot"],
        },
        Victim {
            figure: Figure::made(&Character::dancer(), "Idle"),
            chest: "chest",
            head: "head",
            hips: "hips",
            feet: ["foot.L", "foot.R"],
        },
    ];
    let samples = [
        ("../characters/Character.glb", "CharacterArmature|Idle_Neutral", "Chest", "Head", "Hips"),
        ("../characters/KnightCharacter.glb", "HumanArmature|Idle", "Torso", "Head", "Hips"),
    ];
    all.extend(samples.into_iter().filter_map(|(file, clip, chest, head, hips)| {
        let figure = Figure::sample(file, clip)?;
        Some(Victim { figure, chest, head, hips, feet: ["Foot.L", "Foot.R"] })
    }));
    all
}

impl Victim {
    fn node(&self, name: &str) -> usize {
        let nodes = &self.figure.scene.nodes;
        nodes
            .iter()
            .position(|n| n.name == name)
            .unwrap_or_else(|| panic!("{}: no {name}", self.figure.label))
    }

    /// A set-up of them at 80 kg.
    fn setup(&self) -> Setup {
        let wish = Wish { mass: Some(80.0), ..Wish::default() };
        let mut setup = automatic_with(&self.figure.scene, Some(&self.figure.clip), &wish).unwrap();
        setup.bake.keys = automatic_of(&self.figure.scene, &self.figure.clip).bake.keys;
        let rate = setup.world.frames_per_second.unwrap();
        setup.bake.frames = Some([0.0, (SECONDS * rate).round()]);
        setup
    }

    /// The chest's middle as the clip begins.
    fn middle(&self) -> DVec3 {
        let pose = Pose::new(&self.figure.scene, Some(self.figure.keys()));
        let at = |name: &str| pose.placement_at(self.node(name), 0.0).position;
        0.5 * (at(self.chest) + at(self.head))
    }

    /// How a bake differs from one without a blow, of some bones.
    fn differs(&self, clips: [&Clip; 2], times: &[f64], of: impl Fn(&Pose, &Pose, f64) -> f64) -> Vec<f64> {
        let [still, hit] = clips.map(|c| Pose::new(&self.figure.scene, Some(c)));
        times.iter().map(|t| of(&still, &hit, *t)).collect()
    }

    /// Judges what a blow did, with what only the second of two blows may.
    fn judge(&self, judge: &mut Judge, what: &str, clips: [&Clip; 2], hard: bool) -> f64 {
        let (label, keys) = (format!("{}, {what}", self.figure.label), self.figure.keys());
        let (low, high) = extent(&vertices(&self.figure.scene, keys, 0.0));
        let height = (high - low).max_element();
        let times: Vec<f64> = (0..=(60.0 * SECONDS) as usize).map(|k| k as f64 / 60.0).collect();
        let angle = |name: &str| {
            let node = self.node(name);
            let off = |a: &Pose, b: &Pose, t: f64| {
                rotation::distance(a.placement_at(node, t).rotation, b.placement_at(node, t).rotation)
                    .to_degrees()
            };
            self.differs(clips, &times, off)
        };
        let [chest, head, hips] = [self.chest, self.head, self.hips].map(angle);
        let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
        let bent = most(&chest).max(most(&head));
        judge.hear(
            &format!("{label}: bent"),
            bent,
            if hard { BENT_MOST_DEG } else { BENT_DEG[1] },
            "degrees",
        );
        assert!(bent > BENT_DEG[0], "{label}: bent by {bent} degrees only");
        assert!(most(&hips) > 1.0, "{label}: the hips turn by {} degrees only", most(&hips));
        let off = |k: usize| chest[k].max(head[k]);
        let begins = (0..times.len()).find(|k| off(*k) > 1.0).unwrap();
        let over = (0..times.len()).rev().find(|k| off(*k) > OVER_DEG).unwrap();
        judge.hear(&format!("{label}: over after"), times[over] - times[begins], OVER_S, "s");
        for foot in self.feet {
            let node = self.node(foot);
            let moved = |a: &Pose, b: &Pose, t: f64| {
                100.0 * a.placement_at(node, t).position.distance(b.placement_at(node, t).position) / height
            };
            let moved = most(&self.differs(clips, &times, moved));
            judge.hear(&format!("{label}: {foot} moved"), moved, FEET[usize::from(hard)], "% of height");
        }
        let node = self.node(self.hips);
        let sinks = |a: &Pose, b: &Pose, t: f64| {
            100.0 * (a.placement_at(node, t).position.y - b.placement_at(node, t).position.y) / height
        };
        let sinks = most(&self.differs(clips, &times, sinks));
        judge.hear(&format!("{label}: hips sink"), sinks, SINKS, "% of height");
        bent
    }
}

/// With a ball of so many kilograms that comes from the front at 5 m/s.
fn with_ball(scene: &Scene, setup: &Setup, chest: DVec3, mass: f64) -> (Scene, Setup) {
    let (mut scene, mut setup) = (scene.clone(), setup.clone());
    let metre = 1.0 / setup.world.metres_per_unit;
    let from = chest + DVec3::Z * (0.6 * metre);
    let local = Local::Channels(Channels { translation: from, ..Channels::default() });
    scene.nodes.push(Node { name: "Ball".into(), local, ..Node::default() });
    setup.bodies.push(Body {
        behaviour: Behaviour::Free,
        shape: Shape::Sphere { radius: Some(0.1 * metre) },
        mass: Some(mass),
        velocity: Some([0.0, 0.0, -5.0]),
        ..Body::new("Ball")
    });
    (scene, setup)
}

#[test]
fn blows_are_seen_and_made_up_for() {
    let mut judge = Judge::default();
    for victim in victims() {
        let (scene, setup, keys) = (&victim.figure.scene, victim.setup(), victim.figure.keys());
        let still = baked(scene, &setup, keys);
        let bent = [5.0, 12.0].map(|mass| {
            let (with, setup) = with_ball(scene, &setup, victim.middle(), mass);
            let mut hit = baked(&with, &setup, keys);
            hit.channels.retain(|c| c.node < scene.nodes.len());
            victim.judge(&mut judge, &format!("{mass} kg"), [&still, &hit], mass > 5.0)
        });
        assert!(bent[1] > bent[0], "{}: {bent:?}", victim.figure.label);
    }
}

/// The same impulse without a ball.
#[test]
fn blows_without_an_object_are_seen_and_made_up_for() {
    let mut judge = Judge::default();
    for victim in victims() {
        let (scene, mut setup, keys) = (&victim.figure.scene, victim.setup(), victim.figure.keys());
        let still = baked(scene, &setup, keys);
        setup.hits.push(Impulse { node: victim.chest.into(), frame: 3.0, impulse: [0.0, 0.0, -25.0] });
        let hit = baked(scene, &setup, keys);
        victim.judge(&mut judge, "25 N s", [&still, &hit], false);
    }
}
