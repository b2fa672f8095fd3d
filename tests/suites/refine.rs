//! `sinew refine`: characters made by code, the whole shot at once.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use serde_json::Value;
use sinew_core::refine::{Hit, Options, Shot, Status, refine};
use sinew_core::rig::{Rig, compile};
use sinew_core::setup::automatic;
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::made::character::{Action, Character, Take};
use sinew_tests::program::Program;
use sinew_tests::{built, scratch};
use std::path::Path;

/// A biped that walks along, with a knot on every frame.
fn walker() -> Character {
    let walk = Take { name: "Along".into(), travels: true, turns: 1, ..Take::of(Action::Walk) };
    Character { takes: vec![walk], frames_per_second: 60.0, ..Character::biped() }
}

fn rig_of(character: &Character) -> Rig {
    let folder = scratch::folder("refine");
    let document = Document::open(&character.write(folder.path()), &ReadOptions::default()).unwrap();
    let clip = &document.scene().clips[0];
    let mut setup = automatic(document.scene(), Some(clip.name.as_str())).unwrap();
    setup.world.frames_per_second = Some(character.frames_per_second);
    compile(document.scene(), &setup, Some(clip)).unwrap().rig
}

fn refined(rig: &Rig, hits: Vec<Hit>) -> Shot {
    let shot = refine(rig, &Options { hits, ..Options::default() }, &mut |_| true).unwrap();
    for f in &shot.figures {
        let most = |v: &[f64]| v.iter().fold(0.0_f64, |m, x| m.max(*x));
        println!(
            "{}: {:?} after {} iterations; {:.3} -> {:.1e} weights; turned {:.2} deg, at most {:.1}; {} knots",
            f.figure,
            f.status,
            f.iterations.len(),
            most(&f.before),
            most(&f.after),
            f.change.0.to_degrees(),
            f.change.1.to_degrees(),
            f.before.len()
        );
    }
    shot
}

/// The centre of mass at every frame.
fn centres(rig: &Rig, shot: &Shot) -> Vec<DVec3> {
    let mass: f64 = rig.solids.iter().map(|s| s.mass).sum();
    let frame = |f: usize| {
        let one = |(s, sample): (&sinew_core::rig::Solid, &sinew_core::motion::Sample)| {
            sample.node.then(&s.offset).position * s.mass
        };
        rig.solids.iter().zip(shot.motion.frame(f)).map(one).sum::<DVec3>() / mass
    };
    (0..shot.motion.frames()).map(frame).collect()
}

#[test]
fn a_walk_is_carried_by_its_feet() {
    let rig = rig_of(&walker());
    let shot = refined(&rig, Vec::new());
    let figure = &shot.figures[0];
    assert_eq!(figure.status, Status::Converged);
    let most = figure.after.iter().fold(0.0_f64, |m, x| m.max(*x));
    assert!(most < 1e-6, "physics is off by {most} weights");
    // What the ground does to the whole follows from its centre of mass alone: it pushes, and does not pull.
    let (centre, step, g) = (centres(&rig, &shot), 1.0 / 60.0, -rig.world.gravity.y);
    for i in 1..centre.len() - 1 {
        let push = (centre[i + 1] - 2.0 * centre[i] + centre[i - 1]) / (step * step) + DVec3::Y * g;
        let across = DVec3::new(push.x, 0.0, push.z).length();
        assert!(push.y > -1e-6 * g, "the ground pulls at frame {i}: {push}");
        assert!(across <= push.y + 1e-6 * g, "the ground holds on to feet at frame {i}: {push}");
    }
    assert!(figure.strongest <= 1.0 + 1e-6, "a muscle at {} of its strength", figure.strongest);
}

#[test]
fn a_hand_that_is_moved_is_hit_and_what_is_out_of_reach_is_missed_by_name() {
    let rig = rig_of(&walker());
    let time = rig.range.time(rig.range.frames() / 2);
    // The lightest body that nothing hangs on and that is high up: a hand.
    let leaf = |s: &usize| !(0..rig.solids.len()).any(|o| rig.carrier(o) == Some(*s));
    let node = |s: usize| {
        let back = rig.solids[s].offset.to(&sinew_core::scene::Placement::IDENTITY);
        rig.keyed(s, time).then(&back).position
    };
    let side = |s: &usize| node(*s).x.abs();
    let hand = (0..rig.solids.len()).filter(leaf).max_by(|a, b| side(a).total_cmp(&side(b))).unwrap();
    let keyed = node(hand);
    let near = refined(&rig, vec![Hit { solid: hand, time, to: Some(keyed + DVec3::new(0.0, 0.06, 0.06)) }]);
    assert_eq!(near.figures[0].status, Status::Converged);
    let at = near.motion.frame(rig.range.frames() / 2)[hand].node.position;
    let off = (at - keyed - DVec3::new(0.0, 0.06, 0.06)).length();
    assert!(off < 1e-5, "{off} off");
    let far = refined(&rig, vec![Hit { solid: hand, time, to: Some(keyed + DVec3::Y * 1.5) }]);
    let Status::KeysMissed(missed) = &far.figures[0].status else { panic!("{:?}", far.figures[0].status) };
    assert_eq!(missed.len(), 1);
    assert!(missed[0].1 > 0.2, "{missed:?}");
    // Physics is not what gives way.
    assert!(far.figures[0].after.iter().all(|r| *r < 1e-6));
}

fn sinew(arguments: &[&str], scene: &Path) -> Program {
    Program::new(built::command().unwrap()).arg("refine").arg(scene).args(arguments)
}

#[test]
fn the_command_writes_a_clip_and_says_what_it_did() {
    let folder = scratch::folder("refine-command");
    let scene = walker().write(folder.path());
    let out = folder.path().join("out.glb");
    let run =
        || sinew(&["--auto", "--json", "-o", out.to_str().unwrap()], &scene).run().and_then(|d| d.success());
    let report: Value = serde_json::from_str(&run().unwrap().stdout).unwrap();
    assert_eq!(report["status"], "done", "{report}");
    assert_eq!(report["name"], "Along (refined)");
    let figure = &report["figures"][0];
    assert_eq!(figure["ended"], "converged");
    assert!(figure["physics_before_percent"].as_f64().unwrap() > 1.0);
    assert!(figure["physics_after_percent"].as_f64().unwrap() < 1e-4);
    assert_eq!(
        figure["physics_by_frame_percent"].as_array().unwrap().len(),
        report["frames"].as_u64().unwrap() as usize
    );
    let first = std::fs::read(&out).unwrap();
    let document = Document::open(&out, &ReadOptions::default()).unwrap();
    let names: Vec<&str> = document.scene().clips.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Along", "Along (refined)"]);
    run().unwrap();
    assert!(std::fs::read(&out).unwrap() == first, "the same input gives the same bytes");
}

#[test]
fn what_nothing_holds_up_is_refused_before_anything_is_solved() {
    let folder = scratch::folder("refine-refused");
    let scene = Character::bird().write(folder.path());
    let refused = sinew(&["--auto", "--clip", "Fly"], &scene).run().and_then(|d| d.code_is(3)).unwrap();
    assert!(refused.stderr.contains("nothing holds"), "{}", refused.stderr);
    let bad = sinew(&["--auto", "--hit", "Wing"], &scene).run().and_then(|d| d.code_is(2)).unwrap();
    assert!(bad.stderr.contains("Hand@12"), "{}", bad.stderr);
}
