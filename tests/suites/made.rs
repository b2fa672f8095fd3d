//! The made characters are what they are taken for: feet stand, cycles close, motion is smooth, and every seed is a body.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use glam::DVec3;
use sinew_core::scene::{Pose, Scene};
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::made::character::{Action, Character, Feet, Flesh, Take};
use std::collections::HashSet;

fn read(character: &Character) -> Scene {
    let bytes = character.to_glb();
    assert!(bytes == character.to_glb(), "{} is made twice, and differs", character.name);
    Document::from_bytes(&bytes, &character.name, None, &ReadOptions::default()).unwrap().scene().clone()
}

/// Every vertex at every frame of a clip, in metres.
fn vertices(character: &Character, scene: &Scene, take: usize) -> Vec<Vec<DVec3>> {
    let clip = &scene.clips[take];
    let frames = character.keys(&character.takes[take]).len();
    let mut pose = Pose::new(scene, Some(clip));
    (0..frames)
        .map(|f| {
            pose.evaluate(f as f64 / character.frames_per_second);
            let all = (0..scene.nodes.len()).flat_map(|n| pose.vertices(scene, n));
            all.map(|v| v / character.units_per_metre).collect()
        })
        .collect()
}

fn lowest(frame: &[DVec3]) -> f64 {
    frame.iter().map(|v| v.y).fold(f64::INFINITY, f64::min)
}

/// Nothing is below the floor, and what walks has a foot on it: always, or, running, now and then. While a foot is on it, it
/// stands: in a walk on the spot as the floor under it does, which goes back.
#[test]
fn feet_stand_on_the_floor() {
    for character in Character::all() {
        let scene = read(&character);
        for (k, take) in character.takes.iter().enumerate().filter(|(_, t)| t.held.is_none()) {
            if character.plan.aloft > 0.0 {
                continue;
            }
            let label = format!("{} {}", character.name, take.name);
            let frames = vertices(&character, &scene, k);
            let low: Vec<f64> = frames.iter().map(|f| lowest(f)).collect();
            let least = low.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least > -2e-3 && least < 5e-3, "{label} is at {least} m");
            if matches!(take.action, Action::Walk | Action::Idle | Action::Attack) {
                let most = low.iter().copied().fold(0.0, f64::max);
                assert!(most < 2e-3, "{label} leaves the floor by {most} m");
            }
            if character.plan.leg_pairs == 0
                || !take.travels && take.action != Action::Idle && take.action != Action::Attack
            {
                continue;
            }
            let mut stood = 0;
            for v in 0..frames[0].len() {
                for w in frames.windows(2).filter(|w| w[0][v].y.max(w[1][v].y) < 1e-4) {
                    let slid = (w[1][v] - w[0][v]).length();
                    assert!(slid < 1e-4, "{label}: vertex {v} slides by {slid} m");
                    stood += 1;
                }
            }
            assert!(stood > 0, "{label}: nothing stands");
        }
    }
}

#[test]
fn cycles_close_but_for_the_frame_that_is_left_out() {
    for character in Character::all() {
        for take in character.takes.iter().filter(|t| !t.travels) {
            let keys = character.keys(take);
            let (first, last) = (&keys[0], &keys[keys.len() - 1]);
            let gap = first.iter().zip(last).map(|(a, b)| a.1.angle_between(b.1)).fold(0.0, f64::max);
            let label = format!("{} {}", character.name, take.name);
            if take.one_short {
                let whole = character.keys(&Take { one_short: false, ..take.clone() });
                assert_eq!(whole.len(), keys.len() + 1, "{label}");
                assert!(gap > 1e-3, "{label} is closed");
            } else {
                assert!(gap < 1e-6, "{label}: {gap} rad open");
            }
        }
    }
}

/// No bone jumps: from frame to frame it turns by less than what a blow needs, and speeds up by less still.
#[test]
fn motion_is_smooth() {
    for character in Character::all() {
        for take in character.takes.iter().filter(|t| t.held.is_none()) {
            let keys = character.keys(take);
            let bones = character.skeleton().bones;
            for (b, bone) in bones.iter().enumerate() {
                let turn = |w: &[Vec<(DVec3, glam::DQuat)>]| w[0][b].1.angle_between(w[1][b].1);
                let most = keys.windows(2).map(turn).fold(0.0, f64::max) * character.frames_per_second;
                let limit = if take.action == Action::Attack { 45.0 } else { 22.0 };
                assert!(most < limit, "{} {} {}: {most} rad/s", character.name, take.name, bone.name);
            }
        }
    }
}

/// A knight is led by next to nothing, and feet that hang on the root are where the shins end.
#[test]
fn bodies_are_built_as_planned() {
    let volume = |flesh: Flesh, long: f64| match flesh {
        Flesh::Capsule(r) => std::f64::consts::PI * r * r * (long + 4.0 / 3.0 * r),
        _ => 0.0,
    };
    let knight = Character::knight().skeleton();
    let of = |name: &str| knight.bones.iter().find(|b| b.name == name).unwrap();
    let all: f64 = knight.bones.iter().map(|b| volume(b.flesh, (b.tail - b.head).length())).sum();
    let body = of("body");
    let share = volume(body.flesh, (body.tail - body.head).length()) / all;
    assert!((0.001..0.003).contains(&share), "the leader has {share} of the mass");

    let wolf = Character::wolf();
    assert_eq!(wolf.plan.feet, Feet::OnRoot);
    let scene = read(&wolf);
    for clip in &scene.clips {
        let pose = Pose::new(&scene, Some(clip));
        // At frames: in between, straight keys cut corners.
        for frame in 0..(clip.range().unwrap().1 * wolf.frames_per_second) as usize {
            let t = frame as f64 / wolf.frames_per_second;
            for (shin, foot) in [("leg.L", "foot.L"), ("forearm.R", "hand.R")] {
                let [shin, foot] = [shin, foot].map(|n| scene.find(n).unwrap());
                assert_eq!(scene.nodes[foot].parent, scene.find("root"));
                let far =
                    (pose.placement_at(shin, t).position - pose.placement_at(foot, t).position).length();
                let rest = Pose::new(&scene, None);
                let long =
                    (rest.placement_at(shin, 0.0).position - rest.placement_at(foot, 0.0).position).length();
                assert!((far - long).abs() < 0.01 * long, "{} at {t} s: {far} of {long}", clip.name);
            }
        }
    }
}

#[test]
fn every_seed_is_another_body() {
    let mut counts = HashSet::new();
    let (mut leads, mut loose, mut stretches, mut units) = (0, 0, 0, HashSet::new());
    for seed in 0..200 {
        let character = Character::random(seed);
        let bones = character.skeleton().bones;
        assert!((5..=80).contains(&bones.len()), "seed {seed}: {} bones", bones.len());
        let names: HashSet<&str> = bones.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names.len(), bones.len(), "seed {seed}: bones share names");
        for pose in character.keys(&character.takes[0]) {
            for (at, turn) in pose {
                assert!(at.is_finite() && turn.is_normalized(), "seed {seed}: {at} {turn}");
            }
        }
        counts.insert(bones.len());
        units.insert(character.units_per_metre.to_bits());
        leads += usize::from(character.plan.tiny_lead);
        loose += usize::from(bones.iter().filter(|b| b.parent.is_none()).count() > 1);
        stretches += usize::from(character.plan.stretches);
        if seed % 20 == 0 {
            let scene = read(&character);
            assert_eq!(scene.skins[0].joints.len(), bones.len());
        }
    }
    println!(
        "  {} sizes, {leads} tiny leaders, {loose} with several roots, {stretches} that stretch",
        counts.len()
    );
    assert!(counts.len() > 30 && leads > 20 && loose > 20 && stretches > 20 && units.len() == 5);
}
