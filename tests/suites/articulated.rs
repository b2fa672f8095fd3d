//! The example scenes with joints, baked or put together by the real command: as many constraints as the papers have,
//! closed after every step, and motion that is what its picture claims.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use serde_json::{Value, json};
use sinew_core::joint::{End, Joint, Kind};
use sinew_core::rig::{Rig, compile};
use sinew_core::scene::{Placement, Pose};
use sinew_core::setup::{Setup, choose_clip};
use sinew_core::{rotation, simulate};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{built, repository, scenes, scratch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Joints may be open by this share of the mean length of a link.
const OPEN: f64 = 1.2e-6;

fn scene_file(name: &str) -> PathBuf {
    repository::root().join("examples/scenes").join(name).with_extension("gltf")
}

fn setup_of(name: &str) -> Value {
    let file = scene_file(name).with_extension("sinew.json");
    serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap()
}

/// The set-up with steps of 1/60 s, one per frame, so that the report has seen every step.
fn in_sixtieths(mut setup: Value) -> Value {
    setup["world"]["frames_per_second"] = json!(60);
    setup["world"]["substeps"] = json!(1);
    setup
}

/// What a run of the command gave: its report, and the document it wrote.
struct Shown {
    report: Value,
    document: Document,
}

impl Shown {
    fn times(&self) -> Vec<f64> {
        let rate = self.report["frames_per_second"].as_f64().unwrap();
        (0..self.report["frames"].as_u64().unwrap()).map(|f| f as f64 / rate).collect()
    }

    /// Where a point of a node is in the world at every frame of the new clip.
    fn point(&self, node: &str, local: DVec3) -> Vec<DVec3> {
        let scene = self.document.scene();
        let index = scene.find(node).unwrap_or_else(|| panic!("no node \"{node}\""));
        let pose = Pose::new(scene, scene.clips.last());
        let place = |t: f64| pose.placement_at(index, t);
        self.times().into_iter().map(|t| place(t).position + place(t).rotation * local).collect()
    }

    fn of(&self, node: &str) -> Vec<DVec3> {
        self.point(node, DVec3::ZERO)
    }

    /// How far a body was from its keys at most, as the report has it.
    fn off_keys(&self, node: &str) -> f64 {
        let bodies = self.report["bodies"].as_array().unwrap();
        let body = bodies.iter().find(|b| b["node"] == node).unwrap();
        body["max_distance"].as_f64().unwrap()
    }

    /// The joint that was open by most, in scene units and degrees.
    fn opening(&self) -> (f64, f64) {
        let joints = self.report["joints"].as_array().unwrap();
        let worst = |field: &str| joints.iter().map(|j| j[field].as_f64().unwrap()).fold(0.0, f64::max);
        (worst("max_opening"), worst("max_angle_deg"))
    }
}

/// Runs `sinew bake` or `assemble` on an example with a set-up; it must end well.
fn run(name: &str, command: &[&str], setup: &Value, more: &[&Path]) -> Shown {
    let folder = scratch::folder(name);
    let (file, output) = (folder.path().join("setup.json"), folder.path().join("out.gltf"));
    std::fs::write(&file, setup.to_string()).unwrap();
    let done = Program::new(built::command().unwrap())
        .args(command)
        .args([&scene_file(name), Path::new("--setup"), &file, Path::new("--json"), Path::new("-o"), &output])
        .args(more)
        .run()
        .and_then(|done| done.success())
        .unwrap();
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["status"], "done", "{name}: {}", report["warnings"]);
    if oracle::are_installed() {
        assert_eq!(khronos::judge(&output, &scene_file(name)), Ok(0), "{name}");
    }
    Shown { report, document: Document::open(&output, &ReadOptions::default()).unwrap() }
}

/// Bakes with steps of 1/60 s and holds the joints to what is promised. `link` is the mean length of a link.
fn bake_closed(name: &str, setup: Value, link: f64) -> Shown {
    let shown = run(name, &["bake", "--every-frame"], &in_sixtieths(setup), &[]);
    is_closed(name, &shown, link);
    shown
}

fn is_closed(name: &str, shown: &Shown, link: f64) {
    let (open, angle) = shown.opening();
    println!("{name}: joints open {:.1e} of a link, {angle:.1e} degrees", open / link);
    assert!(open < OPEN * link, "{name}: open by {open}, links are {link} long");
    assert!(angle.to_radians() < OPEN, "{name}: open by {angle} degrees");
}

/// The picture of the documentation is what the program draws with the example's own set-up.
fn picture_is_current(name: &str) -> Shown {
    let folder = scratch::folder(name);
    let plot = folder.path().join("out.svg");
    let shown = run(name, scenes::picture_command(name), &setup_of(name), &[Path::new("--plot"), &plot]);
    let picture = repository::root().join("docs/pictures").join(name).with_extension("svg");
    assert!(
        std::fs::read_to_string(&picture).unwrap_or_default() == std::fs::read_to_string(&plot).unwrap(),
        "{} is not what the program draws; run the example program make_pictures and look at it",
        picture.display()
    );
    shown
}

fn rig_of(name: &str, setup: Value) -> Rig {
    let document = Document::open(&scene_file(name), &ReadOptions::default()).unwrap();
    let mut setup: Setup = serde_json::from_value(setup).unwrap();
    let clip = choose_clip(document.scene(), setup.clip.as_deref()).unwrap();
    if clip.is_none() {
        setup.bake.frames = Some([0.0, 0.0]);
    }
    compile(document.scene(), &setup, clip.map(|c| c.1)).unwrap().rig
}

/// How far a joint is open with its ends at these placements, by its definition and not by the solver: scene units, and
/// rad.
fn opening(joint: &Joint, ends: [Placement; 2]) -> (f64, f64) {
    let [a, b] = [0, 1].map(|k| ends[k].then(&joint.frames[k]));
    let apart = b.position - a.position;
    match joint.kind {
        Kind::Directions([ti, tj, tk, ri, rj, rk]) => {
            let along = (a.rotation.inverse() * apart).to_array();
            let open = along.iter().zip([ti, tj, tk]).filter(|c| c.1).fold(0.0, |m: f64, c| m.max(c.0.abs()));
            let angle = match [ri, rj, rk] {
                [true, true, true] => rotation::distance(a.rotation, b.rotation),
                [false, true, true] => (a.rotation * DVec3::X).cross(b.rotation * DVec3::X).length(),
                _ => 0.0,
            };
            (open, angle)
        }
        Kind::Distance { least, most } => ((apart.length() - most).max(least - apart.length()).max(0.0), 0.0),
        Kind::Pose(_) => (0.0, 0.0), // an actuator
        other => unreachable!("no scene has {other:?}"),
    }
}

/// The joint that was open by most after any step of 1/60 s, measured on the bodies' own places: its name, scene units and
/// rad.
fn measured(name: &str, last_frame: Option<f64>) -> (String, f64, f64) {
    let mut setup = in_sixtieths(setup_of(name));
    if let Some(last) = last_frame {
        setup["bake"] = json!({"frames": [0, last]});
    }
    let rig = rig_of(name, setup);
    let (motion, _) = simulate::run(&rig, |_, _| true);
    let mut worst = (String::new(), 0.0, 0.0);
    for f in 0..motion.frames() {
        let (samples, time) = (motion.frame(f), motion.times()[f]);
        let place = |end: End| match end {
            End::World | End::Hand(_) => Placement::IDENTITY,
            End::Solid(i) => samples[i].node.then(&rig.solids[i].offset),
            End::Keys(p) => rig.paths[p].placement(time),
        };
        for joint in &rig.joints {
            let (open, angle) = opening(joint, joint.ends.map(place));
            assert!(open.is_finite() && angle.is_finite(), "{name}, frame {f}: {}", joint.name);
            if open > worst.1 {
                (worst.0, worst.1) = (format!("{}, frame {f}", joint.name), open);
            }
            worst.2 = angle.max(worst.2);
        }
    }
    worst
}

/// How many scalars a joint holds.
fn scalars(kind: Kind) -> usize {
    match kind {
        Kind::Directions(locked) => locked.iter().filter(|l| **l).count(),
        Kind::Distance { .. } => 1,
        Kind::Pose(_) => 0, // an actuator
        other => unreachable!("no scene has {other:?}"),
    }
}

#[test]
fn scenes_have_as_many_solids_and_scalars_as_they_say() {
    let expected = [
        ("bird", 3, 2 * 5),
        // Eight ball joints, and ten points on the ground.
        ("snake", 9, 8 * 3 + 10),
        ("hand_to_foot", 160, 758),
        ("drag", 56, 261),
        // And the plate itself, which is the twenty-eighth.
        ("plate", 27, 108),
        // Hinges, the far end; per side rods and the end of the cable, hangers, ropes.
        ("bridge", 200 + 2 * (40 + 39), 200 * 5 + 2 + 2 * (41 * 3 + 39 * 3 + 39)),
        ("hanging_chain", 1000, 3000),
    ];
    for (name, solids, rows) in expected {
        let rig = rig_of(name, setup_of(name));
        let held: usize = rig.joints.iter().map(|j| scalars(j.kind)).sum();
        assert_eq!((rig.solids.len(), held), (solids, rows), "{name}");
    }
}

#[test]
fn joints_are_closed_where_bodies_really_are() {
    for (name, link) in [("bird", 0.95), ("snake", 0.42), ("drag", 0.22), ("plate", 0.4)] {
        let (worst, open, angle) = measured(name, None);
        println!("{name}: {worst} open by {:.1e} of a link, {angle:.1e} rad", open / link);
        assert!(open < OPEN * link && angle < OPEN, "{name}: {worst} by {open}, {angle} rad");
    }
}

#[test]
fn no_rope_of_the_bridge_is_longer_than_it_is() {
    let (worst, open, angle) = measured("bridge", Some(90.0));
    println!("bridge: {worst} open by {:.1e} of a plank, {angle:.1e} rad", open / 0.25);
    assert!(open < OPEN * 0.25 && angle < OPEN, "{worst} by {open}, {angle} rad");
}

#[test]
fn set_ups_are_what_their_maker_makes() {
    for (name, text) in scenes::setups() {
        let file = scene_file(name).with_extension("sinew.json");
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(there == text, "{} is out of date; run the example program make_scenes", file.display());
    }
}

#[test]
fn example_scenes_are_small() {
    for entry in std::fs::read_dir(repository::root().join("examples/scenes")).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.metadata().unwrap().len() < 400_000, "{}", entry.path().display());
    }
}

#[test]
fn the_bird_follows_its_keys_and_its_wings_beat() {
    picture_is_current("bird");
    // Length of a wing.
    let shown = bake_closed("bird", setup_of("bird"), 0.95);
    let body = shown.off_keys("Body");
    println!("the bird's body is off its keys by {body:.3} at most");
    assert!(body < 0.1, "off by {body}");
    let tip = shown.point("Right wing", DVec3::Z * 0.95);
    let rise: Vec<f64> = tip.iter().zip(shown.of("Body")).map(|(t, b)| t.y - b.y).collect();
    // Four beats in the first two seconds, from well above to well below the body.
    let strokes = rise[..120].windows(2).filter(|w| w[0] > 0.0 && w[1] <= 0.0).count();
    assert_eq!(strokes, 4, "{rise:?}");
    let reach = rise.iter().fold((0.0_f64, 0.0_f64), |m, r| (m.0.min(*r), m.1.max(*r)));
    assert!(reach.0 < -0.3 && reach.1 > 0.5, "{reach:?}");
}

/// Figure 9 as far as it needs no contact: who is strong or heavy stays on its way.
#[test]
fn a_weak_bird_and_one_with_heavy_wings_stray_farther() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut setup = setup_of("bird");
        change(&mut setup);
        bake_closed("bird", setup, 0.95).off_keys("Body")
    };
    let strong = with(&|s| s["bodies"][0]["actuator"] = json!({"preset": "subtle"}));
    let own = with(&|_| {});
    let weak = with(&|s| s["bodies"][0]["actuator"] = json!({"preset": "limp"}));
    println!("strong, as it is, weak: off by {strong:.3}, {own:.3}, {weak:.3}");
    assert!(strong < own && own < weak, "{strong} {own} {weak}");
    let wings = |density: f64| {
        with(&|s| {
            s["bodies"][1]["density"] = json!(density);
            s["bodies"][2]["density"] = json!(density);
        })
    };
    let (light, heavy) = (wings(10.0), wings(1000.0));
    println!("wings of a tenth, as they are, tenfold: off by {light:.3}, {own:.3}, {heavy:.3}");
    assert!(light < own && own < heavy, "{light} {own} {heavy}");
}

#[test]
fn the_snake_unfolds_and_every_link_follows_the_head() {
    picture_is_current("snake");
    let shown = bake_closed("snake", setup_of("snake"), 0.42);
    let head = shown.of("Head");
    let last = head.len() - 1;
    assert!((head[last].x - head[0].x - 7.0).abs() < 0.3, "{}", head[last]);
    for i in 2..=9 {
        let link = shown.of(&format!("Link {i}"));
        assert!(link.iter().all(|p| (p.y - 0.1).abs() < 1e-4), "link {i} left the ground");
        // It ends far from where it began and no farther from the head than the links between reach.
        assert!(link[last].x > link[0].x + 4.0, "link {i} stayed behind");
        assert!((link[last] - head[last]).length() < 0.2 + 0.42 * f64::from(i - 2) + 1e-3);
        // Where it goes, the head has been: nearly.
        let off = |p: &DVec3| head.iter().map(|h| (*h - *p).length()).fold(9.0, f64::min);
        let stray = link[last / 2..].iter().map(off).fold(0.0, f64::max);
        assert!(stray < 0.8, "link {i} strays {stray} from the head's path");
    }
    let stretch = |f: usize| (head[f] - shown.of("Link 9")[f]).length();
    assert!(stretch(0) < 2.0 && stretch(last / 2) > 2.2, "{} {}", stretch(0), stretch(last / 2));
}

#[test]
fn characters_are_bound_hand_to_foot() {
    let shown = picture_is_current("hand_to_foot");
    is_closed("hand_to_foot", &shown, 0.6);
    let joints = shown.report["joints"].as_array().unwrap();
    let apart = joints.iter().filter(|j| j["opening_before"].as_f64().unwrap() > 0.01).count();
    assert_eq!(apart, 60, "all hands and feet were apart, and nothing else");
    let moved = shown.report["bodies"].as_array().unwrap().iter().map(|b| b["max_moved"].as_f64().unwrap());
    let farthest = moved.fold(0.0, f64::max);
    assert!(farthest < 1.5, "someone was moved by {farthest}");
    // As the file has it, apart from the program's own report.
    let scene = shown.document.scene();
    let pose = Pose::new(scene, None);
    let at = |name: &str| pose.placement_at(scene.find(name).unwrap(), 0.0).position;
    for (hand, foot) in [("1.4 right hand", "2.4 left foot"), ("4.7 left hand", "5.6 right foot")] {
        assert!((at(hand) - at(foot)).length() < 1e-6, "{hand} {} {foot} {}", at(hand), at(foot));
    }
}

#[test]
fn the_star_is_dragged_by_one_arm() {
    picture_is_current("drag");
    let shown = bake_closed("drag", setup_of("drag"), 0.22);
    let (disc, hand) = (shown.of("Disc"), shown.of("Hand"));
    let reach = 0.3 + 11.0 * 0.22;
    for (d, h) in disc.iter().zip(&hand) {
        assert!((*d - *h).length() < reach + 1e-6 && d.y.abs() < 1e-6, "{d} {h}");
    }
    assert!((disc[disc.len() - 1] - disc[0]).length() > 2.0);
    // Put together frame by frame, without physics, the same keys close as well.
    let mut setup = setup_of("drag");
    setup["bake"] = json!({"frames": [0, 8]});
    let together = run("drag", &["assemble"], &setup, &[]);
    is_closed("drag, assembled", &together, 0.22);
}

#[test]
fn the_net_swings_under_the_plate() {
    picture_is_current("plate");
    let shown = bake_closed("plate", setup_of("plate"), 0.4);
    let (plate, mut ring) = (shown.of("Plate"), vec![DVec3::ZERO; shown.times().len()]);
    for i in 1..=9 {
        for (sum, p) in ring.iter_mut().zip(shown.of(&format!("Tie {i}"))) {
            *sum += p / 9.0;
        }
    }
    // It lags behind the shaking by a good part of it, never comes above the plate, and hangs straight in the end.
    let lag = plate.iter().zip(&ring).map(|(p, r)| (p.x - r.x).abs()).fold(0.0, f64::max);
    assert!((0.2..0.8).contains(&lag), "{lag}");
    let highest = ring.iter().map(|r| r.y).fold(-9.0, f64::max);
    assert!(highest < -0.2, "{highest}");
    let end = ring[ring.len() - 1] - plate[plate.len() - 1];
    assert!((end.x * end.x + end.z * end.z).sqrt() < 0.15 && end.y < -0.6, "{end}");
}

#[test]
fn a_wave_runs_along_the_bridge() {
    // Its own set-up already has steps of 1/60 s.
    let shown = picture_is_current("bridge");
    is_closed("bridge", &shown, 0.25);
    let times = shown.times();
    let mut arrivals = Vec::new();
    for plank in [21, 61, 101, 141] {
        let places = shown.of(&format!("Plank {plank}"));
        assert!(places.iter().all(|p| p.is_finite() && (p.y - places[0].y).abs() < 1.5), "plank {plank}");
        let moved = |p: &DVec3| (p.y - places[0].y).abs() > 0.15;
        arrivals
            .push(times[places.iter().position(moved).unwrap_or_else(|| panic!("plank {plank} is still"))]);
    }
    println!("planks 21, 61, 101, 141 rise at {arrivals:.2?} s");
    assert!(arrivals.windows(2).all(|w| w[0] < w[1]), "{arrivals:?}");
}

#[test]
fn kinks_run_down_a_thousand_links() {
    let shown = picture_is_current("hanging_chain");
    is_closed("hanging_chain", &shown, 0.01);
    // A wave goes as fast as what hangs below pulls: in a second sqrt(L) - sqrt(g) / 2 of sqrt(L) are left.
    let left = (10_f64.sqrt() - 9.81_f64.sqrt() / 2.0).powi(2);
    let second = shown.times().iter().position(|t| *t >= 1.0).unwrap();
    let aside = |metres: f64| shown.of(&format!("Link {}", (metres * 100.0) as usize))[second].x.abs();
    let (still, moving) = (aside(10.0 - 0.8 * left), aside(10.0 - left - 1.5));
    println!("after a second, aside by {still:.4} below the front and {moving:.4} above it");
    assert!(still < 0.02 && moving > 0.1, "{still} {moving}");
    for link in [1, 250, 500, 750, 1000] {
        let places = shown.of(&format!("Link {link}"));
        let reach = 0.01 * f64::from(link) + 0.1;
        assert!(places.iter().all(|p| p.is_finite() && p.length() < reach + 0.6), "link {link}");
    }
}

#[test]
fn long_steps_without_parts_stay_calm() {
    for name in ["plate", "bird"] {
        let mut rig = rig_of(name, setup_of(name));
        rig.solver.halvings = 0;
        let (mut state, mut work) = (simulate::State::new(&rig), simulate::Workspace::new(&rig));
        let (start, end) = (rig.range.start(), rig.range.time(rig.range.frames() - 1));
        let (mut open, mut fastest) = (0.0_f64, 0.0_f64);
        for _ in 0..60 * 24 {
            // The shaking begins anew; the bird, whose targets only go forward, holds where it has come to.
            if name == "plate" && state.time >= end {
                state.time = start;
            }
            simulate::step(&rig, &mut state, &mut work, 1.0 / 24.0);
            open = work.open_joints().iter().fold(open, |m, o| m.max(o.0));
            fastest = state.solids.iter().fold(fastest, |m, s| m.max(s.velocity.length()));
            assert!(state.quarantined().is_none(), "{name} at {}", state.time);
        }
        println!("{name}: open {open:.1e}, at most {fastest:.1} units/s");
        assert!(open < 1e-5 && fastest < 30.0, "{name}: open {open}, {fastest} units/s");
    }
}

#[test]
fn a_time_limit_leaves_joints_open_by_little() {
    // A clock that is 6 us further on whenever somebody looks: about what a round takes.
    static ASKED: AtomicU64 = AtomicU64::new(0);
    fn hasty() -> Duration {
        Duration::from_micros(6 * ASKED.fetch_add(1, Ordering::Relaxed))
    }
    let mut setup = setup_of("drag");
    setup["world"]["solver"] = json!({ "microseconds": 100 });
    let rig = rig_of("drag", setup);
    let (mut state, mut work) = (simulate::State::new(&rig), simulate::Workspace::new(&rig));
    work.ask_time(hasty);
    let mut open = 0.0_f64;
    for _ in 0..240 {
        simulate::step(&rig, &mut state, &mut work, 1.0 / 60.0);
        open = work.open_joints().iter().fold(open, |m, o| m.max(o.0));
    }
    println!("drag, 100 us: open by {:.1e} of a link", open / STAR_LINK);
    assert!(open < 1e-2 * STAR_LINK, "{open}");
}

/// Mean length of a link of the star, scene units.
const STAR_LINK: f64 = 0.22;
