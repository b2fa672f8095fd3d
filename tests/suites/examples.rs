//! The example scenes, baked by the real command: each shows what its picture claims.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::rotation;
use sinew_core::scene::{Placement, Pose, Property};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::scenes::{PALM, SHOULDER};
use sinew_tests::{built, repository, scenes, scratch};
use std::path::Path;

/// Places of nodes at every frame, as the baked clip has them, relative to their parents.
struct Shown {
    document: Document,
    frames: usize,
}

impl Shown {
    fn of(&self, node: &str) -> Vec<DVec3> {
        let scene = self.document.scene();
        let index = scene.find(node).unwrap_or_else(|| panic!("no node \"{node}\""));
        let clip = scene.clips.last().expect("a clip was added");
        let curve = clip.curve(index, Property::Translation).expect("the node was baked");
        (0..self.frames).map(|f| curve.vector(f as f64 / 24.0)).collect()
    }
}

/// Keys, or what was baked from them.
#[derive(Clone, Copy)]
enum Of {
    Keys,
    Bake,
}

impl Shown {
    /// Where a node is in the world at every frame.
    fn placed(&self, of: Of, node: &str) -> Vec<Placement> {
        let scene = self.document.scene();
        let index = scene.find(node).unwrap_or_else(|| panic!("no node \"{node}\""));
        let clip = match of {
            Of::Keys => scene.clips.first(),
            Of::Bake => scene.clips.last(),
        };
        let pose = Pose::new(scene, clip);
        (0..self.frames).map(|f| pose.placement_at(index, f as f64 / 24.0)).collect()
    }

    /// By how much a bone is turned on another beside how its keys have it there, degrees, at every frame.
    fn off(&self, on: &str, bone: &str) -> Vec<f64> {
        let [keys, bake] = [Of::Keys, Of::Bake].map(|of| {
            let (on, bone) = (self.placed(of, on), self.placed(of, bone));
            on.into_iter().zip(bone).map(|(a, b)| a.to(&b).rotation).collect::<Vec<_>>()
        });
        keys.iter().zip(&bake).map(|(a, b)| rotation::distance(*a, *b).to_degrees()).collect()
    }
}

/// The pairs of bones of an upright figure whose turns on each other are looked at.
const BENDS: [[&str; 2]; 8] = [
    ["Hips", "Spine"],
    ["Spine", "Chest"],
    ["Chest", "Head"],
    ["Chest", "LeftUpperArm"],
    ["Chest", "RightUpperArm"],
    ["LeftUpperArm", "LeftForeArm"],
    ["Hips", "LeftUpLeg"],
    ["Hips", "RightUpLeg"],
];

/// Bakes an example and draws it, with exit code 0 and nothing for the validator to object to; the picture must be
/// the one in the documentation.
fn bake(name: &str) -> Shown {
    let folder = scratch::folder(name);
    let scene = repository::root().join("examples/scenes").join(name).with_extension("gltf");
    let (output, plot) = (folder.path().join("out.gltf"), folder.path().join("out.svg"));
    let moving = folder.path().join("out_playblast.svg");
    let playblast = scenes::PLAYBLASTS.contains(&name).then_some([Path::new("--playblast"), &moving]);
    let done = Program::new(built::command().unwrap())
        .args(scenes::picture_command(name))
        .args([&scene, Path::new("-o"), &output, Path::new("--plot"), &plot])
        .args(playblast.into_iter().flatten())
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
    is_up_to_date(&picture, &plot);
    if playblast.is_some() {
        is_up_to_date(&picture.with_file_name(format!("{name}_playblast.svg")), &moving);
    }
    let document = Document::open(&output, &ReadOptions::default()).unwrap();
    Shown { document, frames: report["frames"].as_u64().unwrap() as usize }
}

fn is_up_to_date(picture: &Path, drawn: &Path) {
    assert!(
        std::fs::read_to_string(picture).unwrap_or_default() == std::fs::read_to_string(drawn).unwrap(),
        "{} is not what the program draws; run the example program make_pictures and look at it",
        picture.display()
    );
}

#[test]
fn scenes_are_what_their_maker_makes() {
    for (name, text) in scenes::all() {
        let file = repository::root().join("examples/scenes").join(name).with_extension("gltf");
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(there == text, "{} is out of date; run the example program make_scenes", file.display());
        if oracle::are_installed() {
            assert_eq!(khronos::judge(&file, &file), Ok(0), "{name}");
        }
    }
}

#[test]
fn the_picture_of_coatings_is_what_is_drawn() {
    let picture = repository::root().join("docs/pictures/coating.svg");
    assert!(
        std::fs::read_to_string(&picture).unwrap_or_default() == sinew_tests::soft::picture(),
        "{} is out of date; run the example program make_pictures and look at it",
        picture.display()
    );
}

#[test]
fn a_ball_leaves_its_straight_keys_and_comes_to_rest() {
    let places = bake("ball").of("Ball");
    let rest = DVec3::new(2.4, 0.3, 0.0);
    let sharpest = sharpest_turn(&places[8..]);
    assert!(sharpest < 1.0, "a corner of {sharpest} rad per frame is left");
    // It is thrown past the first key's height and stays above the floor.
    let height = |f: fn(f64, f64) -> f64| places.iter().map(|p| p.y).reduce(f).unwrap();
    assert!(height(f64::max) > 1.72 && height(f64::min) > 0.24, "{places:?}");
    assert!((places[52] - rest).length() < 0.02, "{}", places[52]);
}

#[test]
fn a_larger_base_distance_is_smoother_and_farther() {
    let shown = bake("smoothing");
    let bodies = ["base distance 0.2", "base distance 0.4", "base distance 0.8"].map(|n| shown.of(n));
    // The path's two upper corners are cut by more and more.
    let top = bodies.each_ref().map(|b| b.iter().map(|p| p.y).fold(0.0, f64::max));
    assert!(top[0] > top[1] + 0.1 && top[1] > top[2] + 0.1 && top[0] < 1.2, "{top:?}");
    let bend = bodies.each_ref().map(|b| largest_curvature(b));
    assert!(bend[0] > 1.5 * bend[1] && bend[1] > 1.5 * bend[2], "{bend:?}");
    for (body, reach) in bodies.iter().zip([0.2, 0.4, 0.8]) {
        let end = *body.last().unwrap();
        assert!((end - DVec3::X * 4.0).length() < 0.02, "{end}");
        // The paper's promise: no point of the path is farther from the trajectory than the base distance.
        for point in zigzag() {
            let off = body.windows(2).map(|w| distance_to_segment(point, w[0], w[1])).fold(9.0, f64::min);
            assert!(off <= reach * 1.01, "{point} is {off} away");
        }
    }
}

#[test]
fn less_damping_swings_past_more() {
    let shown = bake("damping");
    let past = ["B 0.3", "B 0.6", "B 1", "B 2"].map(|name| {
        let lowest = shown.of(name).iter().map(|p| p.y).fold(0.0, f64::min);
        let farthest = shown.of(name).iter().map(|p| p.x - 4.0).fold(0.0, f64::max);
        farthest.max(-lowest)
    });
    assert!(past[0] > 0.1 && past[0] > 2.0 * past[1] && past[1] > past[2] + 0.01, "{past:?}");
    assert!(past[2] < 0.01 && past[3] < 0.01, "{past:?}");
}

#[test]
fn uneven_steps_give_the_same_oscillator() {
    let shown = bake("random_steps");
    let omega = 0.2_f64.sqrt() * 24.0;
    for (name, zeta) in [("B 0.5", 0.5_f64), ("B 1.2", 1.2)] {
        // From rest, one away from the target: the closed forms below and above critical damping.
        let left = |t: f64| {
            let decay = (-zeta * omega * t).exp();
            let w = omega * (1.0 - zeta * zeta).abs().sqrt();
            let (c, s) =
                if zeta < 1.0 { ((w * t).cos(), (w * t).sin()) } else { ((w * t).cosh(), (w * t).sinh()) };
            decay * (c + zeta * omega / w * s)
        };
        for (f, p) in shown.of(name).iter().enumerate() {
            let expected = 1.0 - left(f as f64 / 24.0);
            assert!((p.x - expected).abs() < 1e-3, "{name}, frame {f}: {} and not {expected}", p.x);
        }
    }
    // The other steps, through the report of the command.
    let folder = scratch::folder("steps");
    let scene = repository::root().join("examples/scenes/random_steps.gltf");
    let done = Program::new(built::command().unwrap())
        .args([Path::new("bake"), &scene, Path::new("--compare-steps"), Path::new("--json"), Path::new("-o")])
        .arg(folder.path().join("out.gltf"))
        .run()
        .and_then(|done| done.success())
        .unwrap();
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let apart = report["steps_apart"].as_f64().unwrap();
    println!("even and uneven substeps: {apart:.1e} apart, of a metre");
    assert!(apart < 0.01 && apart > 0.0, "{apart}");
}

#[test]
fn gravity_sags_by_its_formula_and_is_made_up_for() {
    let shown = bake("sag");
    let sag = 9.81 / (24.0 * 24.0) / (2.0 * 0.1);
    let at = |name: &str, frame: usize| -shown.of(name)[frame].y;
    assert!(
        (at("compensation 0", 60) / sag - 1.0).abs() < 0.01,
        "{} and not {sag}",
        at("compensation 0", 60)
    );
    let late = ["compensation 0", "compensation 1", "compensation 4"].map(|n| at(n, 60));
    assert!(late[0] > 4.0 * late[1] && late[1] > 4.0 * late[2].abs(), "{late:?}");
    // With one per second the rest of the sag decays by e in a second.
    let decay = at("compensation 1", 36) / at("compensation 1", 60);
    assert!((decay / 1.0_f64.exp() - 1.0).abs() < 0.1, "{decay}");
}

#[test]
fn the_runner_waits_for_the_courier() {
    let shown = bake("relay");
    let (courier, runner) = (shown.of("Courier"), shown.of("Runner"));
    let leaves = runner.iter().position(|p| p.x > 0.05).unwrap();
    assert!(courier[leaves].x > -0.5, "it left when the courier was at {}", courier[leaves].x);
    assert!(runner[leaves - 6].x > -0.1, "it did not come to its mark first");
    let fastest = runner.windows(2).map(|w| (w[1] - w[0]).length() * 24.0).fold(0.0, f64::max);
    assert!((3.0..4.2).contains(&fastest), "{fastest} m/s, and 4 were wanted at the end");
    assert!((runner.last().unwrap().x - 3.0).abs() < 0.02 && courier.last().unwrap().x.abs() < 0.02);
}

#[test]
fn the_load_trails_the_arm_and_swings_past() {
    // In the arm's frame: z grows against the first swing.
    let load = bake("crane").of("Load");
    let rest = DVec3::new(2.2, -1.2, 0.0);
    let trails = (12..30).map(|f| load[f].z).fold(0.0, f64::max);
    let past = (30..60).map(|f| load[f].z).fold(0.0, f64::min);
    assert!(trails > 0.3 && past < -0.1, "trails by {trails}, swings past by {past}");
    assert!((load[108] - rest).length() < 0.1, "{}", load[108]);
}

#[test]
fn presets_settle_in_order() {
    let shown = bake("strength");
    let settled = ["subtle", "reactive", "limp"]
        .map(|name| shown.of(name).iter().rposition(|p| (p.x - 2.0).abs() > 0.05).unwrap());
    assert!(settled[0] < settled[1] && settled[1] < settled[2], "{settled:?}");
}

#[test]
fn a_weaker_limit_starts_later_and_overshoots() {
    let shown = bake("limit");
    let half_way = ["8 weights", "3 weights", "2 weights"].map(|n| shown.of(n)[12].x);
    assert!(half_way[0] > half_way[1] + 0.02 && half_way[1] > half_way[2] + 0.1, "{half_way:?}");
    let past = ["8 weights", "3 weights", "2 weights"]
        .map(|n| shown.of(n).iter().map(|p| p.x - 2.0).fold(0.0, f64::max));
    assert!(past[0] < past[1] && past[1] < past[2], "{past:?}");
}

#[test]
fn keeping_up_shortens_the_lag() {
    let shown = bake("keep_up");
    // Keys at 4 m/s, B 0.8, 20 rad/s: the lag of 2 B v / omega, all of it, half of it, none.
    for (name, lag) in [("keep up 0", 0.32), ("keep up 0.5", 0.16), ("keep up 1", 0.0)] {
        let behind = 4.0 * 11.0 / 24.0 - shown.of(name)[17].x;
        assert!((behind - lag).abs() < 0.02, "{name}: {behind} behind");
    }
}

#[test]
fn blend_lies_between_keys_and_physics() {
    let shown = bake("blend");
    let [keys, half, physics] = ["blend 0", "blend 0.5", "blend 1"].map(|n| shown.of(n));
    for f in 0..keys.len() {
        let keyed = ((f as f64 - 6.0) / 12.0 * 2.0).clamp(0.0, 2.0);
        assert!((keys[f].x - keyed).abs() < 1e-3, "frame {f}: {}", keys[f].x);
        assert!((half[f] - keys[f].midpoint(physics[f])).length() < 2e-3, "frame {f}");
    }
}

#[test]
fn a_picture_never_takes_the_place_of_a_scene() {
    let folder = scratch::folder("picture");
    let scene = folder.path().join("ball.gltf");
    std::fs::copy(repository::root().join("examples/scenes/ball.gltf"), &scene).unwrap();
    let before = std::fs::read(&scene).unwrap();
    let done =
        Program::new(built::command().unwrap()).arg("bake").arg(&scene).arg("--plot").arg(&scene).run();
    done.and_then(|done| done.code_is(2)).unwrap();
    assert_eq!(std::fs::read(&scene).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something was written");
}

/// The largest opening of any joint in the report of a bake.
fn largest_opening(name: &str) -> f64 {
    let folder = scratch::folder(name);
    let scene = repository::root().join("examples/scenes").join(name).with_extension("gltf");
    let program = Program::new(built::command().unwrap()).arg("bake").arg(&scene).arg("--json");
    let done =
        program.arg("-o").arg(folder.path().join("out.glb")).run().and_then(|done| done.success()).unwrap();
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let joints = report["joints"].as_array().unwrap();
    assert!(!joints.is_empty());
    joints
        .iter()
        .fold(0.0, |m, j| m.max(j["max_opening"].as_f64().unwrap()).max(j["max_angle_deg"].as_f64().unwrap()))
}

#[test]
fn no_one_sees_a_joint_open() {
    for name in ["chain", "linkage"] {
        let open = largest_opening(name);
        println!("{name}: joints open {open:.1e}");
        assert!(open < 1e-6, "{name}: {open}");
    }
}

#[test]
fn a_hard_key_is_hit_and_a_hint_is_not() {
    let shown = bake("hard_keys");
    let corner = DVec3::new(1.0, 1.0, 0.0);
    let off = ["hint", "as keyed", "hard"].map(|n| (shown.of(n)[12] - corner).length());
    println!("off the corner when its time comes: {off:.4?} m");
    assert!(off[0] > off[1] + 0.02 && off[1] > 0.1 && off[2] < 2e-3, "{off:?}");
}

#[test]
fn a_helping_hand_holds_a_figure_up() {
    let shown = bake("balance");
    let sinks = ["alone", "half helped", "helped"].map(|who| {
        let [keys, bake] =
            [Of::Keys, Of::Bake].map(|of| *shown.placed(of, &format!("Head {who}")).last().unwrap());
        keys.position.y - bake.position.y
    });
    println!("heads are lower than their keys by {sinks:.3?} m");
    assert!(sinks[0] > 0.5 && sinks[1] < 0.06 && sinks[2] < 0.05, "{sinks:?}");
}

#[test]
fn a_fox_pushes_what_is_in_its_way() {
    let shown = bake("fox_box");
    let (carton, chest) = (shown.placed(Of::Bake, "Box"), shown.placed(Of::Bake, "Chest"));
    let moved = carton.last().unwrap().position.x - carton[0].position.x;
    let keyed = shown.placed(Of::Keys, "Chest").last().unwrap().position.x;
    println!(
        "the box is pushed by {moved:.2} m; the chest is {:.3} m off its keys",
        chest.last().unwrap().position.x - keyed
    );
    assert!(moved > 0.4, "{moved}");
    // It goes nowhere through the box: its middle stays ahead of the chest's front.
    let nearest = carton.iter().zip(&chest).map(|(b, c)| b.position.x - c.position.x).fold(9.0, f64::min);
    assert!(nearest > 0.4, "{nearest}");
    assert!((chest.last().unwrap().position.x - keyed).abs() < 0.1);
}

#[test]
fn a_figure_hit_by_a_ball_recovers_its_walk() {
    let shown = bake("figure_ball");
    let off: Vec<f64> = (0..shown.frames)
        .map(|f| BENDS.iter().map(|[on, bone]| shown.off(on, bone)[f]).fold(0.0, f64::max))
        .collect();
    let before = off[..16].iter().fold(0.0, |m: f64, o| m.max(*o));
    let peak = off[16..].iter().fold(0.0, |m: f64, o| m.max(*o));
    let after = off[20 + 36..].iter().fold(0.0, |m: f64, o| m.max(*o));
    println!("{before:.1} degrees off before, {peak:.1} when it is hit, {after:.1} from 1.5 s later on");
    // Muscles this weak trail their walk before anything hits them, and do so again afterwards, no more.
    assert!(before < 12.0 && peak > 25.0 && after < before + 1.0, "{before} {peak} {after}");
    let ball = shown.placed(Of::Bake, "Ball");
    assert!(ball.last().unwrap().position.y < 0.2, "the ball lies: {:?}", ball.last());
}

#[test]
fn a_floppy_arm_swings_and_the_other_does_not() {
    let shown = bake("robot_arm");
    let most = |bone: &str| shown.off("Chest", bone).into_iter().fold(0.0, f64::max);
    let [floppy, other] = [most("RightUpperArm"), most("LeftUpperArm")];
    println!("the right arm is up to {floppy:.1} degrees off its keys, the left one {other:.1}");
    assert!(floppy > 20.0 && other < 9.0, "{floppy} {other}");
}

#[test]
fn a_ragdoll_falls_down_the_stairs() {
    let shown = bake("stairs");
    let (keys, fell) = (shown.placed(Of::Keys, "Head"), shown.placed(Of::Bake, "Head"));
    for f in 0..24 {
        assert!((keys[f].position - fell[f].position).length() < 1e-3, "frame {f}");
    }
    let end = shown.placed(Of::Bake, "Hips").last().unwrap().position;
    println!("hips end at {end}");
    assert!(end.y < -0.3 && end.x > 0.5, "{end}");
    // It has the velocity that it had: no jump at the frame of the release.
    let step = |f: usize| fell[f + 1].position - fell[f].position;
    assert!((step(24) - step(23)).length() < 0.02, "{} {}", step(23), step(24));
    let open = largest_opening("stairs");
    assert!(open < 1e-3, "{open}");
}

#[test]
fn who_holds_the_rope_is_dragged_along() {
    let shown = bake("tug");
    let [ben, anna] = ["RightHand of Ben", "RightHand of Anna"].map(|n| shown.placed(Of::Bake, n));
    let [first, last] = [0, shown.frames - 1].map(|f| (anna[f].position - ben[f].position).length());
    let [keyed, pulled] =
        [Of::Keys, Of::Bake].map(|of| shown.placed(of, "Chest of Ben").last().unwrap().position.x);
    println!("hands are {first:.2} m apart, then {last:.2}; Ben is pulled by {:.2} m", pulled - keyed);
    let keys = [Of::Keys; 2].map(|of| shown.placed(of, "RightHand of Anna"));
    assert!(keys[0].last().unwrap().position.x > 4.0, "Anna walks off");
    // Twelve links of 15 cm, and a palm at each end.
    assert!(last < 12.0 * 0.15 + 0.4, "the rope holds: {last}");
    assert!(pulled - keyed > 0.3, "{}", pulled - keyed);
}

#[test]
fn a_hand_stays_on_a_shoulder() {
    let shown = bake("shoulder");
    let apart = |of: Of| {
        let [chest, hand] = ["Chest of Anna", "RightHand of Ben"].map(|n| shown.placed(of, n));
        let point = |place: &Placement, local: [f64; 3]| place.position + place.rotation * DVec3::from(local);
        let gap = |(a, b): (&Placement, &Placement)| (point(a, SHOULDER) - point(b, PALM)).length();
        chest.iter().zip(&hand).map(gap).collect::<Vec<_>>()
    };
    let worst = |gaps: &[f64]| gaps.iter().copied().fold(0.0, f64::max);
    let [keyed, held] = [Of::Keys, Of::Bake].map(apart);
    println!("keyed {:.2} m off, held {:.4} m off", worst(&keyed), worst(&held));
    assert!(keyed.iter().all(|gap| *gap > 0.4), "the keys have it elsewhere");
    // As far as few keys of four bones one behind the other let it.
    assert!(worst(&held) < 0.005, "{}", worst(&held));
    let open = largest_opening("shoulder");
    assert!(open < 1e-5, "{open}");
    // Both walk on: nobody is held back, or bent.
    for part in ["Hips of Anna", "Hips of Ben", "LeftFoot of Anna", "LeftFoot of Ben", "Head of Ben"] {
        let [keys, made] = [Of::Keys, Of::Bake].map(|of| shown.placed(of, part));
        // Once they have come away from the pose that they were put together in.
        let off = keys.iter().zip(&made).skip(12).map(|(a, b)| (a.position - b.position).length());
        let off = off.fold(0.0, f64::max);
        println!("{part} {off:.3} m off its keys");
        assert!(off < 0.03, "{part}: {off}");
    }
}

#[test]
fn inspecting_names_what_the_set_up_leaves_alone() {
    let scene = repository::root().join("examples/scenes/crane.gltf");
    let inspect = |more: &[&str]| -> serde_json::Value {
        let program =
            Program::new(built::command().unwrap()).arg("inspect").arg(&scene).arg("--json").args(more);
        serde_json::from_str(&program.run().and_then(|done| done.success()).unwrap().stdout).unwrap()
    };
    let set_up = inspect(&[]);
    assert_eq!(set_up["left_alone"][0]["node"], "Arm");
    assert!(set_up["bodies"][0]["because"].is_null(), "the set-up was written by hand");
    let automatic = inspect(&["--auto"]);
    assert_eq!(automatic["bodies"].as_array().unwrap().len(), 2);
    assert!(automatic["bodies"][0]["because"].is_string());
}

/// Points along the path of the smoothing scene.
fn zigzag() -> impl Iterator<Item = DVec3> {
    let corners = [(0.0, 0.0), (1.0, 1.2), (1.8, 0.0), (2.6, 1.2), (2.6, 0.0), (4.0, 0.0)];
    let corners = corners.map(|(x, y)| DVec3::new(x, y, 0.0));
    (0..=50).flat_map(move |i| {
        corners.windows(2).map(|w| w[0].lerp(w[1], f64::from(i) / 50.0)).collect::<Vec<_>>()
    })
}

fn distance_to_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let along = b - a;
    let u = if along == DVec3::ZERO {
        0.0
    } else {
        ((p - a).dot(along) / along.length_squared()).clamp(0.0, 1.0)
    };
    (p - a - along * u).length()
}

/// The largest change of direction between frames, rad, where it moves at all.
fn sharpest_turn(places: &[DVec3]) -> f64 {
    let turn = |w: &[DVec3]| {
        let (a, b) = (w[1] - w[0], w[2] - w[1]);
        if a.length().min(b.length()) < 0.02 { 0.0 } else { a.angle_between(b) }
    };
    places.windows(3).map(turn).fold(0.0, f64::max)
}

/// The largest curvature, 1/m, as of the circle through three frames, where it moves at all.
fn largest_curvature(places: &[DVec3]) -> f64 {
    let curvature = |w: &[DVec3]| {
        let (a, b, c) = (w[1] - w[0], w[2] - w[1], w[2] - w[0]);
        let sides = a.length() * b.length() * c.length();
        if a.length().min(b.length()) < 0.01 { 0.0 } else { 2.0 * a.cross(b).length() / sides }
    };
    places.windows(3).map(curvature).fold(0.0, f64::max)
}
