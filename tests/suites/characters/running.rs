//! A fox that runs into a box: it pushes it away, or is held up and climbs over it, is shaken, and is itself again afterwards.

use super::{Judge, NEAR_DEG, OPEN, RECOVERED_S, SUNK, apart, automatic_of, extent, times, vertices};
use crate::figures::Figure;
use glam::DVec3;
use sinew_core::bake::bake;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::motion::Motion;
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Pose, Property, Scene};
use sinew_core::setup::{Behaviour, Body, Setup, Shape};
use sinew_core::simulate;
use sinew_tests::made::character::Character;
use sinew_tests::touching;
use std::collections::HashSet;

/// About how long it runs, s, in whole turns of the clip; and how fast it goes along z, units/s.
const SECONDS: f64 = 5.8;
const SPEEDS: [f64; 3] = [200.0, 300.0, 400.0];

/// Edges of the box, and how far along the way it stands, units.
const BOX: DVec3 = DVec3::new(40.0, 35.0, 40.0);
const AHEAD: f64 = 480.0;

/// How far beside the way the middle of a box stands that gives way, and of one that does not, units. Nearer the middle the
/// fox pushes the former along for good, and never is without it.
const GIVES_ASIDE: [f64; 3] = [-22.0, 18.0, 25.0];
const STANDS_ASIDE: [f64; 4] = [-22.0, -8.0, 8.0, 18.0];

/// In front of the chest.
const STRAIGHT: f64 = 18.0;

/// The box's share of the fox's mass.
const SHARE: f64 = 0.3;

/// Joints turn by at least this because of a box that is grazed, degrees.
const GRAZED_DEG: f64 = 5.0;

/// A fox's `Run` over and over, on a node that goes along.
fn running(fox: &Scene, speed: f64) -> Scene {
    let mut scene = fox.clone();
    let run = fox.clips.iter().find(|c| c.name == "Run").expect("the fox runs").clone();
    let (start, end) = run.range().unwrap();
    let turn = end - start;
    let turns = (SECONDS / turn).round() as usize;
    let again = |channel: &Channel| {
        let (curve, width) = (&channel.curve, channel.curve.width());
        assert!(*curve.segments() == Segments::Linear && curve.start() == start && curve.end() == end);
        let (mut times, mut values) = (curve.times().to_vec(), curve.values().to_vec());
        for k in 1..turns {
            times.extend(curve.times()[1..].iter().map(|t| t + k as f64 * turn));
            values.extend_from_slice(&curve.values()[width..]);
        }
        let curve = Curve::new(curve.kind(), width, times, values, Segments::Linear).unwrap();
        Channel { curve, ..channel.clone() }
    };
    let mut channels: Vec<Channel> = run.channels.iter().map(again).collect();
    let way = scene.nodes.len();
    scene.nodes.iter_mut().filter(|n| n.parent.is_none()).for_each(|n| n.parent = Some(way));
    scene.nodes.push(Node { name: "Way".into(), ..Node::default() });
    let last = start + turns as f64 * turn;
    let values = vec![0.0, 0.0, 0.0, 0.0, 0.0, speed * (last - start)];
    let curve = Curve::new(Kind::Vector, 3, vec![start, last], values, Segments::Linear).unwrap();
    channels.push(Channel { node: way, property: Property::Translation, curve });
    scene.clips = vec![Clip { name: run.name, channels }];
    scene
}

/// What came of a run, and the clip that it is baked to.
struct Ran {
    rig: Rig,
    motion: Motion,
    clip: Clip,
}

fn ran(scene: &Scene, setup: &Setup) -> Ran {
    let keys = &scene.clips[0];
    let rig = compile(scene, setup, Some(keys)).unwrap().rig;
    let (motion, _) = simulate::run(&rig, |_, _| true);
    let channels = bake(scene, Some(keys), &rig, &motion, &setup.bake, false).unwrap().channels;
    let replaced: HashSet<_> = channels.iter().map(|c| (c.node, c.property)).collect();
    let kept = keys.channels.iter().filter(|c| !replaced.contains(&(c.node, c.property))).cloned();
    let clip = Clip { name: keys.name.clone(), channels: kept.chain(channels).collect() };
    Ran { rig, motion, clip }
}

/// The undisturbed run at a speed, and what the runs into boxes are judged by.
struct Course {
    scene: Scene,
    setup: Setup,
    alone: Ran,
    /// What leads the animal.
    hips: usize,
    /// Joints turn by at least this because of a box that is met, degrees.
    felt: f64,
    height: f64,
    /// Lowest vertex of the keys.
    low: f64,
}

fn lowest(scene: &Scene, clip: &Clip) -> f64 {
    let low = |t: f64| extent(&vertices(scene, clip, t)).0.y;
    times(&scene.clips[0]).into_iter().map(low).fold(f64::INFINITY, f64::min)
}

impl Course {
    fn new(fox: &Scene, hips: &str, felt: f64, speed: f64) -> Course {
        let scene = running(fox, speed);
        let hips = scene.find(hips).unwrap();
        let setup = automatic_of(&scene, "Run");
        let (lo, hi) = extent(&vertices(&scene, &scene.clips[0], 0.0));
        let (alone, low) = (ran(&scene, &setup), lowest(&scene, &scene.clips[0]));
        Course { scene, setup, alone, hips, felt, height: hi.y - lo.y, low }
    }

    /// Has the fox run into a box so far beside its way, which gives way or not.
    fn meet(&self, judge: &mut Judge, aside: f64, gives: bool) {
        let (mut scene, mut setup) = (self.scene.clone(), self.setup.clone());
        let (alone, height) = (&self.alone, self.height);
        let rate = setup.world.frames_per_second.unwrap();
        let floor = setup.world.floor.expect("it runs on a floor");
        let mass: f64 = setup.bodies.iter().filter_map(|b| b.mass).sum();
        let translation = DVec3::new(aside, floor + 0.5 * BOX.y, AHEAD);
        let carton = scene.nodes.len();
        let local = Local::Channels(Channels { translation, ..Channels::default() });
        scene.nodes.push(Node { name: "Box".into(), local, ..Node::default() });
        setup.bodies.push(Body {
            behaviour: if gives { Behaviour::Free } else { Behaviour::Static },
            shape: Shape::Box { size: Some(BOX.to_array()) },
            mass: gives.then_some(SHARE * mass),
            ..Body::new("Box")
        });
        let hit = ran(&scene, &setup);
        let times = times(&scene.clips[0]);
        let last = *times.last().unwrap();

        // The fox and the box, from the first touch to the last, between frames, too; the floor is no node.
        let both =
            |nodes: &[usize; 2]| nodes.contains(&carton) && nodes.iter().all(|n| *n < scene.nodes.len());
        let bear = |frame: &usize| hit.motion.contacts(*frame).iter().any(|c| both(&c.nodes));
        let seen = (0..hit.motion.frames()).filter(bear).map(|f| f as f64 / rate);
        let struck = hit.motion.strikes().iter().filter(|s| both(&s.nodes)).map(|s| s.time);
        let (first, past) =
            seen.chain(struck).fold((last, 0.0), |(a, b): (f64, f64), t| (a.min(t), b.max(t)));
        let clips = [&alone.clip, &hit.clip];
        let (turned, bone) = apart(&scene, clips, times.iter().copied());
        println!("  touched from {first:.2} to {past:.2} s, joints turned by {turned:.1} degrees ({bone})");
        let felt = if gives && aside != STRAIGHT { GRAZED_DEG } else { self.felt };
        assert!(turned > felt, "the box is felt: {turned} degrees");
        let before = apart(&scene, clips, times.iter().copied().filter(|t| *t < first - 1.0 / rate)).0;
        judge.hear("off before", before, 1e-6, "degrees");
        let later = |t: &f64| *t >= past + RECOVERED_S;
        assert!(times.iter().any(later), "the clip goes on for long enough");
        let (left, who) = apart(&scene, clips, times.iter().copied().filter(later));
        judge.hear(&format!("off {RECOVERED_S} s after"), left, NEAR_DEG, &format!("degrees ({who})"));
        let hips = self.hips;
        let [was, is] = clips.map(|clip| Pose::new(&scene, Some(clip)).placement_at(hips, last).position);
        judge.hear("off its way in the end", (is - was).length() / height, 0.02, "of its height");
        if gives && aside == STRAIGHT {
            let went = Pose::new(&scene, Some(&hit.clip)).placement_at(carton, last).position - translation;
            assert!(went.length() > BOX.z, "the box was pushed: {went}");
        }

        let opened = hit.motion.open_joints().iter().fold(0.0_f64, |m, o| m.max(o.0)) / height;
        judge.hear("joints open", opened, OPEN, "of its height");
        let [deepest, _] =
            touching::deepest_of(&hit.rig, &scene, Some(&hit.clip), rate, times.len()).unwrap();
        judge.hear("inside each other", deepest.depth / height, SUNK, &format!("of its height ({deepest})"));
        let sunk = (self.low - lowest(&scene, &hit.clip)) / height;
        judge.hear("lowest vertex", sunk, PRESSED, "of its height below the clip's");
    }
}

/// What is pressed down by a box sinks as far as the floor is lowered for it, so that paws do not trip: as a part of its height.
const PRESSED: f64 = 0.06;

/// Those that run, what leads them, and by how much their joints turn at least when they meet a box, degrees.
fn runners() -> Vec<(Figure, &'static str, f64)> {
    let made = (Figure::made(&Character::quadruped(), "Run"), "Hips", 5.0);
    std::iter::once(made).chain(Figure::sample("Fox.glb", "Run").map(|f| (f, "b_Hip_01", 15.0))).collect()
}

#[test]
fn a_fox_that_runs_into_a_box_pushes_it_away_and_runs_on() {
    let mut judge = Judge::default();
    for (figure, hips, felt) in runners() {
        for speed in SPEEDS {
            let course = Course::new(&figure.scene, hips, felt, speed);
            for aside in GIVES_ASIDE {
                println!("  {} at {speed}, a box that gives way, {aside} aside:", figure.label);
                course.meet(&mut judge, aside, true);
            }
        }
    }
}

#[test]
fn a_fox_that_a_box_holds_up_comes_over_it_and_runs_on() {
    let mut judge = Judge::default();
    for (figure, hips, felt) in runners() {
        for speed in SPEEDS {
            let course = Course::new(&figure.scene, hips, felt, speed);
            for aside in STANDS_ASIDE {
                println!("  {} at {speed}, a box that stands, {aside} aside:", figure.label);
                course.meet(&mut judge, aside, false);
            }
        }
    }
}
