//! Skeletons without a set-up: they bake, stay near their keys, keep their joints closed and their feet on the floor; and
//! with all the strength there is, they are their keys.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

#[path = "characters/controls.rs"]
mod controls;

#[path = "characters/figures.rs"]
mod figures;

#[path = "characters/hits.rs"]
mod hits;

#[path = "characters/known.rs"]
mod known;

#[path = "characters/running.rs"]
mod running;

#[path = "characters/whole.rs"]
mod whole;

#[path = "characters/thrown.rs"]
mod thrown;

use figures::{Figure, figures, some_figures};
use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_core::bake::bake;
use sinew_core::dynamics::top;
use sinew_core::rig::{Solid, compile, frame_rate};
use sinew_core::scene::{Channels, Clip, Local, Node, Pose, Property, Scene};
use sinew_core::setup::{BakedKeys, Behaviour, Body, Limit, Preset, Setup, Shape, automatic, choose_clip};
use sinew_core::simulate::{Session, SolidState, State};
use sinew_core::{rotation, simulate};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::made::character::Character;
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{built, sample, scratch};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Mean angle between baked and keyed joints, degrees.
const MEAN_ANGLE: f64 = 5.0;

/// Joints are open by no more than this part of the figure's size.
const OPEN: f64 = 1e-5;

/// How much lower than the clip's lowest vertex a vertex may come, as a part of the figure's size.
const SUNK: f64 = 0.002;

/// How far bakes in another place or unit, or at another frame rate, are from each other, degrees.
const SAME_DEG: f64 = 0.1;

/// How much rougher than its keys a figure moves, per cent of the mean squared jerk.
const ROUGHER: f64 = 5.0;

/// How far feet that stand slip per contact, as a part of the figure's size.
const SLIPS: f64 = 0.01;

/// When a blow is made up for, s; how large it is seen to be, and how near the figure is to its keys then, degrees.
const RECOVERED_S: f64 = 1.5;
const NEAR_DEG: f64 = 5.0;

/// What goes slower than this in the keys stands, sizes of the figure per second.
const STANDS: f64 = 0.05;

/// Prints figures beside what they are held to; in the end fails if one is beyond.
#[derive(Default)]
struct Judge {
    beyond: Vec<String>,
}

impl Judge {
    fn hear(&mut self, what: &str, figure: f64, limit: f64, of: &str) {
        println!("  {what}: {figure:.4} of at most {limit} {of}");
        if figure.is_nan() || figure > limit {
            self.beyond.push(format!("{what}: {figure} is beyond {limit} {of}"));
        }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        assert!(self.beyond.is_empty() || std::thread::panicking(), "{}", self.beyond.join("; "));
    }
}

fn open(path: &Path) -> Document {
    Document::open(path, &ReadOptions::default()).unwrap()
}

fn bones(scene: &Scene) -> Vec<usize> {
    let set: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    scene.parents_first().into_iter().filter(|n| set.contains(n)).collect()
}

/// Every vertex that is drawn, in the world.
fn vertices(scene: &Scene, clip: &Clip, time: f64) -> Vec<DVec3> {
    let mut pose = Pose::new(scene, Some(clip));
    pose.evaluate(time);
    (0..scene.nodes.len()).flat_map(|n| pose.vertices(scene, n)).collect()
}

fn times(clip: &Clip) -> Vec<f64> {
    let ((start, end), rate) = (clip.range().unwrap(), frame_rate(clip));
    (0..=((end - start) * rate + 1e-6) as usize).map(|k| start + k as f64 / rate).collect()
}

fn extent(points: &[DVec3]) -> (DVec3, DVec3) {
    points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(*p), hi.max(*p)))
}

/// How a bake differs from its keys.
#[derive(Debug)]
struct Differs {
    /// Degrees, over all bones and frames.
    mean: f64,
    most: f64,
    /// How far bones with keyed places, which lead the others, are from their keys, as a part of the size.
    root: f64,
    /// How much lower the lowest vertex is, as a part of the size.
    sunk: f64,
    size: f64,
}

fn compare(scene: &Scene, keys: &Clip, baked: &Clip) -> Differs {
    let [from, to] = [keys, baked].map(|clip| Pose::new(scene, Some(clip)));
    let bones = bones(scene);
    let (mut sum, mut count, mut most, mut root) = (0.0, 0, 0.0_f64, 0.0_f64);
    let mut low = [f64::INFINITY; 2];
    let first = vertices(scene, keys, keys.range().unwrap().0);
    let (lo, hi) = extent(&first);
    let size = (hi - lo).max_element();
    for time in times(keys) {
        for &bone in &bones {
            let of = |pose: &Pose| pose.placement_below(scene.nodes[bone].parent, bone, time).rotation;
            let angle = rotation::distance(of(&from), of(&to)).to_degrees();
            assert!(angle.is_finite(), "{} at {time} s", scene.label(bone));
            (sum, count, most) = (sum + angle, count + 1, most.max(angle));
            if keys.curve(bone, Property::Translation).is_some() {
                let at = |pose: &Pose| pose.placement_at(bone, time).position;
                root = root.max((at(&from) - at(&to)).length() / size);
            }
        }
        for (low, clip) in low.iter_mut().zip([keys, baked]) {
            *low = low.min(extent(&vertices(scene, clip, time)).0.y);
        }
    }
    Differs { mean: sum / f64::from(count), most, root, sunk: (low[0] - low[1]) / size, size }
}

/// Simulates in memory and puts the baked curves over the keys.
fn baked(scene: &Scene, setup: &Setup, clip: &Clip) -> Clip {
    let made = compile(scene, setup, Some(clip)).unwrap();
    let (motion, _) = simulate::run(&made.rig, |_, _| true);
    let channels = bake(scene, Some(clip), &made.rig, &motion, &setup.bake, false).unwrap().channels;
    let replaced: HashSet<_> = channels.iter().map(|c| (c.node, c.property)).collect();
    let kept = clip.channels.iter().filter(|c| !replaced.contains(&(c.node, c.property))).cloned();
    Clip { name: clip.name.clone(), channels: kept.chain(channels).collect() }
}

fn automatic_of(scene: &Scene, clip: &str) -> Setup {
    let mut setup = automatic(scene, Some(clip)).unwrap();
    setup.bake.keys = BakedKeys::EveryFrame;
    setup
}

#[test]
fn every_skinned_file_bakes_without_a_set_up() {
    let animated = |path: &Path| match Document::open(path, &ReadOptions::default()) {
        Ok(d) => !d.scene().skins.is_empty() && !d.scene().clips.is_empty(),
        Err(_) => false,
    };
    let made = scratch::folder("made");
    let files: Vec<_> = sample::gltf_files(made.path()).into_iter().filter(|f| animated(f)).collect();
    sample::each(&files, |path| {
        let clips = open(path).scene().clips.len();
        let mut worst = 0.0_f64;
        for clip in 0..clips {
            let folder = scratch::folder("character");
            let output = folder.path().join("out.glb");
            let done = Program::new(built::command()?)
                .args([
                    Path::new("bake"),
                    path,
                    Path::new("--auto"),
                    Path::new("--json"),
                    Path::new("-o"),
                    &output,
                ])
                .args(["--clip", &format!("#{clip}")])
                .run()?
                .success()?;
            let report: Value = serde_json::from_str(&done.stdout).map_err(|e| e.to_string())?;
            if oracle::are_installed() {
                khronos::judge(&output, path)?;
            }
            let document = open(&output);
            let scene = document.scene();
            let differs = compare(scene, &scene.clips[clip], scene.clips.last().ok_or("no clip")?);
            let opening =
                report["joints"].as_array().into_iter().flatten().filter_map(|j| j["max_opening"].as_f64());
            let opening = opening.fold(0.0, f64::max) / differs.size;
            if opening > OPEN && differs.size.is_finite() {
                return Err(format!("clip {clip}: joints are open by {opening:.1e} of its size"));
            }
            worst = worst.max(differs.mean);
        }
        Ok(format!("{clips} clips, at worst {worst:.2} degrees off in the mean"))
    });
}

#[test]
fn figures_stay_near_their_keys_and_on_their_floor() {
    near_their_keys(figures());
}

fn near_their_keys(all: Vec<Figure>) {
    for figure in all {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let differs = compare(scene, keys, &baked(scene, &automatic_of(scene, clip), keys));
        println!("  {label}: {differs:?}");
        // What flies has nothing to sink into.
        let lands = automatic_of(scene, clip).world.floor.is_some() && !label.contains("Fly");
        assert!(differs.mean < MEAN_ANGLE && (differs.sunk < SUNK || !lands), "{label}: {differs:?}");
    }
}

/// The same scene below a node of that scale, place and turn.
fn moved(scene: &Scene, scale: f64, translation: DVec3, rotation: DQuat) -> Scene {
    let mut scene = scene.clone();
    let above = scene.nodes.len();
    scene.nodes.iter_mut().filter(|n| n.parent.is_none()).for_each(|n| n.parent = Some(above));
    let local = Local::Channels(Channels { translation, rotation, scale: DVec3::splat(scale) });
    scene.nodes.push(Node { name: "above".into(), local, ..Node::default() });
    scene
}

/// The largest angle between the bones of two clips on their parents at these times, degrees, and of which bone when.
fn apart(scene: &Scene, clips: [&Clip; 2], times: impl IntoIterator<Item = f64>) -> (f64, String) {
    let poses = clips.map(|clip| Pose::new(scene, Some(clip)));
    let bones = bones(scene);
    let (mut most, mut which) = (0.0, None);
    for time in times {
        for &bone in &bones {
            let on_parent = |pose: &Pose| pose.placement_below(scene.nodes[bone].parent, bone, time).rotation;
            let angle = rotation::distance(on_parent(&poses[0]), on_parent(&poses[1])).to_degrees();
            assert!(angle.is_finite(), "{} at {time} s", scene.label(bone));
            if angle > most {
                (most, which) = (angle, Some((bone, time)));
            }
        }
    }
    let which = which.map(|(bone, time)| format!("{} at {time:.2} s", scene.label(bone)));
    (most, which.unwrap_or_default())
}

/// The set-up that Sinew makes, where nothing touches if `touches` is 1.
fn touching(scene: &Scene, clip: &str, touches: usize) -> Setup {
    let mut setup = automatic_of(scene, clip);
    setup.world.collisions = touches == 0;
    setup
}

/// How cases are called.
const TOUCHING: [&str; 2] = ["", " without touch"];

/// Turns a scene that stands along y so that it stands along z, and gravity and floor of its set-up with it.
fn stand_along_z(scene: &Scene, setup: &mut Setup) -> Scene {
    let rotation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let mut scene = moved(scene, 1.0, DVec3::ZERO, rotation);
    setup.world.gravity = [0.0, 0.0, -9.81];
    if let Some(height) = setup.world.floor.take() {
        let translation = DVec3::Z * height;
        let local = Local::Channels(Channels { translation, rotation, ..Channels::default() });
        scene.nodes.push(Node { name: "ground".into(), local, ..Node::default() });
        let (behaviour, shape) = (Behaviour::Static, Shape::Plane {});
        setup.bodies.push(Body { behaviour, shape, ..Body::new("ground") });
    }
    scene
}

/// Whatever unit a file is in, wherever it stands and whichever way is up: the motion is the same.
#[test]
fn sizes_places_and_axes_do_not_matter() {
    let mut judge = Judge::default();
    for figure in some_figures() {
        let Figure { label, scene, clip } = &figure;
        let (index, keys) = choose_clip(scene, Some(clip)).unwrap().unwrap();
        for touches in [0, 1] {
            let mut setup = touching(scene, clip, touches);
            let plain = baked(scene, &setup, keys);
            let mut hear = |what: &str, scene: &Scene, setup: &Setup| {
                let other = baked(scene, setup, &scene.clips[index]);
                let (angle, bone) = apart(scene, [&plain, &other], times(keys));
                judge.hear(&format!("{label}, {what}{}", TOUCHING[touches]), angle, SAME_DEG, &bone);
            };
            let far = DVec3::new(10_000.0, 0.0, -10_000.0) / setup.world.metres_per_unit;
            for (what, scale, at, turn) in [
                ("a hundredth", 0.01, DVec3::ZERO, DQuat::IDENTITY),
                ("a hundred times", 100.0, DVec3::ZERO, DQuat::IDENTITY),
                ("10 km off", 1.0, far, DQuat::IDENTITY),
                ("turned", 1.0, DVec3::ZERO, DQuat::from_rotation_y(2.0)),
            ] {
                let scene = moved(scene, scale, at, turn);
                hear(what, &scene, &touching(&scene, clip, touches));
            }
            // Floors of their own are heights along y: both go without.
            setup.bodies.iter_mut().for_each(|b| b.contact.floor = None);
            let plain = baked(scene, &setup, keys);
            let upright = stand_along_z(scene, &mut setup);
            let other = baked(&upright, &setup, &upright.clips[index]);
            let (angle, bone) = apart(&upright, [&plain, &other], times(keys));
            judge.hear(&format!("{label}, z up{}", TOUCHING[touches]), angle, SAME_DEG, &bone);
        }
    }
}

/// A finer or coarser frame rate shows the same motion.
#[test]
fn frame_rates_do_not_matter() {
    let mut judge = Judge::default();
    for figure in some_figures() {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let (start, end) = keys.range().unwrap();
        for touches in [0, 1] {
            let at_rate = |rate: f64| {
                let mut setup = touching(scene, clip, touches);
                setup.world.frames_per_second = Some(rate);
                baked(scene, &setup, keys)
            };
            // Every frame of the others is one of these.
            let finest = at_rate(600.0);
            for rate in [24.0, 25.0, 30.0, 60.0, 120.0] {
                let frames = (start * rate).ceil() as usize..=(end * rate + 1e-6) as usize;
                let frames = frames.map(|k| k as f64 / rate);
                let (angle, bone) = apart(scene, [&finest, &at_rate(rate)], frames);
                let what = format!("{label} at {rate} Hz{}", TOUCHING[touches]);
                judge.hear(&what, angle, SAME_DEG, &bone);
            }
        }
    }
}

/// Few keys within 0.1 degrees and 0.1 mm of the simulation. At 24 frames per second the fox's clip has 29 frames, and cubics
/// need more than a quarter of them even where each may begin anew wherever it likes: 29 %.
#[test]
fn a_run_needs_few_keys() {
    let mut judge = Judge::default();
    let fox = Figure::sample("Fox.glb", "Run").map(|f| (f, [43.0, 25.0]));
    let made = (Figure::made(&Character::quadruped(), "Run"), [70.0, 45.0]);
    for (figure, most) in std::iter::once(made).chain(fox) {
        let Figure { label, scene, .. } = &figure;
        let keys = figure.keys();
        for (rate, most) in [24.0, 60.0].into_iter().zip(most) {
            let mut setup = automatic(scene, Some("Run")).unwrap();
            setup.world.frames_per_second = Some(rate);
            let (tolerance, tolerance_deg) = (1e-4 / setup.world.metres_per_unit, 0.1);
            setup.bake.tolerance = Some(tolerance);
            setup.bake.tolerance_deg = Some(tolerance_deg);
            let rig = compile(scene, &setup, Some(keys)).unwrap().rig;
            let (motion, _) = simulate::run(&rig, |_, _| true);
            let few = bake(scene, Some(keys), &rig, &motion, &setup.bake, true).unwrap();
            setup.bake.keys = BakedKeys::EveryFrame;
            let all = bake(scene, Some(keys), &rig, &motion, &setup.bake, false).unwrap();
            let share = 100.0 * few.keys as f64 / all.keys as f64;
            judge.hear(&format!("{label}, keys at {rate} Hz"), share, most, &format!("% of {}", all.keys));
            let (mut angle, mut distance) = (0.0_f64, 0.0_f64);
            for (a, b) in few.channels.iter().zip(&all.channels) {
                assert_eq!((a.node, a.property), (b.node, b.property));
                for &time in b.curve.times() {
                    match a.property {
                        Property::Rotation => {
                            let off = rotation::distance(a.curve.quaternion(time), b.curve.quaternion(time));
                            angle = angle.max(off.to_degrees());
                        }
                        _ => distance = distance.max(a.curve.vector(time).distance(b.curve.vector(time))),
                    }
                }
            }
            judge.hear(&format!("{label}, off at {rate} Hz"), angle, tolerance_deg, "degrees");
            judge.hear(&format!("{label}, off at {rate} Hz"), distance, tolerance, "scene units");
        }
    }
}

/// Mean over bones and frames of the square of the third difference of where bones are, as a part of the size.
fn jerk(scene: &Scene, clip: &Clip, times: &[f64]) -> f64 {
    let pose = Pose::new(scene, Some(clip));
    let mut sum = 0.0;
    let bones = bones(scene);
    for &bone in &bones {
        let at: Vec<DVec3> = times.iter().map(|t| pose.placement_at(bone, *t).position).collect();
        let third = |w: &[DVec3]| (w[3] - w[0] + 3.0 * (w[1] - w[2])).length_squared();
        sum += at.windows(4).map(third).sum::<f64>() / (at.len() - 3) as f64;
    }
    sum / bones.len() as f64
}

#[test]
fn undisturbed_a_figure_moves_as_smoothly_as_its_keys() {
    smooth(figures());
}

/// The mean squared jerk of bones that tremble by 0.02 % of the figure's size from frame to frame.
fn unseen(scene: &Scene, keys: &Clip, times: &[f64]) -> f64 {
    let (lo, hi) = extent(&vertices(scene, keys, times[0]));
    (8.0 * 2e-4 * (hi - lo).max_element()).powi(2)
}

fn smooth(all: Vec<Figure>) {
    let mut judge = Judge::default();
    for figure in all {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let made = baked(scene, &automatic_of(scene, clip), keys);
        let times = times(keys);
        let [before, after] = [keys, &made].map(|c| jerk(scene, c, &times));
        // Of a clip that hardly moves, what cannot be seen does not count.
        let more = 100.0 * ((after - before) / before.max(unseen(scene, keys, &times)));
        judge.hear(label, more, ROUGHER, "per cent of jerk");
    }
}

/// How far vertices that stand in the keys slip in a bake, beyond what they slip in the keys, as a part of the size.
fn slip(scene: &Scene, keys: &Clip, made: &Clip) -> (usize, f64) {
    let moments = times(keys);
    let [from, to] = [keys, made].map(|c| moments.iter().map(|t| vertices(scene, c, *t)).collect::<Vec<_>>());
    let (lo, hi) = extent(&from[0]);
    let size = (hi - lo).max_element();
    let floor = from.iter().map(|v| extent(v).0.y).fold(f64::INFINITY, f64::min);
    let step = moments[1] - moments[0];
    let (mut contacts, mut most) = (0, 0.0_f64);
    for v in 0..from[0].len() {
        let stands = |k: usize| {
            from[k][v].y < floor + 0.01 * size
                && (from[k + 1][v] - from[k][v]).length() < STANDS * size * step
        };
        let mut k = 0;
        while k + 1 < moments.len() {
            let first = k;
            while k + 1 < moments.len() && stands(k) {
                k += 1;
            }
            if (k - first) as f64 * step >= 0.1 {
                contacts += 1;
                for t in first..=k {
                    let moved = |p: &[Vec<DVec3>]| (p[t][v] - p[first][v]).reject_from(DVec3::Y);
                    most = most.max((moved(&to) - moved(&from)).length() / size);
                }
            }
            k += 1;
        }
    }
    (contacts, most)
}

#[test]
fn feet_that_stand_in_the_keys_stand() {
    stand(figures());
}

fn stand(all: Vec<Figure>) {
    let mut judge = Judge::default();
    for figure in all {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let (contacts, most) = slip(scene, keys, &baked(scene, &automatic_of(scene, clip), keys));
        judge.hear(&format!("{label}, {contacts} vertices"), most, SLIPS, "of the size");
    }
}

#[test]
fn without_weight_and_with_all_strength_a_figure_is_its_keys() {
    are_their_keys(figures());
}

fn are_their_keys(all: Vec<Figure>) {
    for figure in all {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let mut setup = automatic_of(scene, clip);
        setup.world.gravity = [0.0; 3];
        setup.world.collisions = false;
        for body in &mut setup.bodies {
            body.actuator.max_force = Some(Limit::Unlimited);
            body.actuator.max_torque = Some(Limit::Unlimited);
            body.actuator.keep_up = Some(1.0.into());
        }
        setup.groups.iter_mut().for_each(|g| g.strength = 1e4.into());
        let differs = compare(scene, keys, &baked(scene, &setup, keys));
        println!("  {label}: {differs:?}");
        assert!(differs.most < 0.5 && differs.root < 0.005, "{label}: {differs:?}");
    }
}

#[test]
fn blended_out_a_figure_is_its_keys_to_the_digit() {
    for figure in figures() {
        let Figure { label, scene, clip } = &figure;
        let keys = figure.keys();
        let mut setup = automatic_of(scene, clip);
        setup.groups.iter_mut().for_each(|g| g.blend = 0.0.into());
        let differs = compare(scene, keys, &baked(scene, &setup, keys));
        assert!(differs.most < 1e-3 && differs.root < 1e-6, "{label}: {differs:?}");
    }
}

#[test]
fn a_figure_is_decided_alike_on_both_sides() {
    let made = (Figure::made(&Character::quadruped(), "Walk"), 6);
    for (figure, expected) in std::iter::once(made).chain(Figure::sample("Fox.glb", "Walk").map(|f| (f, 7))) {
        let label = &figure.label;
        let setup = automatic_of(&figure.scene, &figure.clip);
        let mut pairs = 0;
        for left in setup.bodies.iter().filter(|b| b.node.contains("Left")) {
            let stem = left.node.trim_end_matches(char::is_numeric).replace("Left", "Right");
            let right = setup.bodies.iter().find(|b| b.node.starts_with(&stem)).unwrap();
            let (a, b) = (left.mass.unwrap(), right.mass.unwrap());
            assert!((a - b).abs() < 0.02 * a, "{label}: {} {a} kg, {} {b} kg", left.node, right.node);
            assert_eq!(left.groups[0].replace("left", "right"), right.groups[0], "{label}");
            pairs += 1;
        }
        assert_eq!(pairs, expected, "{label}");
        let tail = setup.groups.iter().find(|g| g.name == "tail").unwrap();
        let spine = setup.groups.iter().find(|g| g.name == "spine").unwrap();
        assert!(tail.strength.first() < spine.strength.first(), "{label}");
        let mass: f64 = setup.bodies.iter().filter_map(|b| b.mass).sum();
        assert!((10.0..90.0).contains(&mass), "{label} weighs {mass} kg");
    }
}

/// What closed meshes enclose, by the divergence theorem.
fn enclosed(scene: &Scene) -> f64 {
    let of = |m: &sinew_core::scene::Mesh| -> f64 {
        let corner = |i: u32| m.positions[i as usize];
        m.triangles.iter().map(|[a, b, c]| corner(*a).dot(corner(*b).cross(corner(*c))) / 6.0).sum()
    };
    scene.meshes.iter().map(of).sum()
}

#[test]
fn a_human_figure_weighs_what_its_skin_encloses() {
    let made = Figure::made(&Character::biped(), "Idle");
    let litres = 1000.0 * enclosed(&made.scene);
    // The pieces of its skin overlap where limbs meet.
    assert!((50.0..90.0).contains(&litres), "{litres} l");
    // The sample's encloses 60.7 litres.
    let sample = Figure::sample("RiggedFigure.glb", "#0").map(|f| (f, 60.7));
    for (figure, litres) in std::iter::once((made, litres)).chain(sample) {
        let setup = automatic_of(&figure.scene, &figure.clip);
        let mass: f64 = setup.bodies.iter().filter_map(|b| b.mass).sum();
        println!("  {}: {mass:.1} kg, {litres:.1} l", figure.label);
        // By its height; a slender one weighs less than its skin encloses.
        assert!((mass - litres).abs() < 0.25 * litres, "{}: {mass} kg", figure.label);
    }
}

/// Without any strength figures fall, and whatever jams and bends on the way, come to lie. Nothing twitches: where limbs, the
/// ends of their joints and what they touch contradict each other, energy does not rise.
#[test]
fn a_ragdoll_falls_and_lies() {
    let made =
        [(Character::biped(), "Idle"), (Character::quadruped(), "Idle")].map(|(c, k)| Figure::made(&c, k));
    let samples = [("RiggedFigure.glb", "#0"), ("Fox.glb", "Survey")];
    let samples = samples.into_iter().filter_map(|(file, clip)| Figure::sample(file, clip));
    for figure in made.into_iter().chain(samples) {
        let Figure { label, scene, clip } = &figure;
        let mut setup = automatic_of(scene, clip);
        setup.use_preset(Preset::Ragdoll);
        let rate = setup.world.frames_per_second.unwrap();
        setup.bake.frames = Some([0.0, 3.0 * rate]);
        let keys = figure.keys();
        let rig = compile(scene, &setup, Some(keys)).unwrap().rig;
        let mut session = Session::new(Arc::new(rig.clone()));
        let gravity = -rig.world.gravity.y;
        let floor = setup.world.floor.unwrap();
        let energy = |state: &State| -> f64 {
            let one = |(s, b): (&SolidState, &Solid)| {
                let spin = top::angular_velocity(s.orientation, s.momentum, b.per_inertia);
                let height = s.position.y - floor;
                0.5 * b.mass * s.velocity.length_squared()
                    + 0.5 * s.momentum.dot(spin)
                    + gravity * b.mass * height
            };
            state.solids.iter().zip(&rig.solids).map(one).sum()
        };
        let first = energy(session.state());
        let (mut least, mut rise) = (first, 0.0_f64);
        for _ in 0..(3.0 * rate) as usize {
            session.step_frame();
            let now = energy(session.state());
            rise = rise.max((now - least) / first);
            least = least.min(now);
        }
        println!("  {label}: {:.3} of its energy left, rises by up to {rise:.4}", least / first);
        assert!(least < 0.6 * first, "{label} fell: {least} of {first}");
        assert!(rise < 0.05, "{label}: energy rises by {rise} of {first}");
    }
}
