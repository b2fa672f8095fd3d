//! Loops: only the root travels, and a cycle that ends a frame before its start is a whole one.

use crate::Leg;
use glam::DVec3;
use sinew_core::cycle::is_cycle;
use sinew_core::rig::compile;
use sinew_core::setup::automatic;
use std::f64::consts::TAU;

/// A walk of 20 frames a turn; `frames` of them are keyed.
fn walk(frames: usize, travel: f64) -> Leg {
    let mut leg = Leg::new();
    let swing = |k: f64| [0.5 * (TAU * k / 20.0).sin(), 0.6 + 0.4 * (TAU * k / 20.0).cos()];
    leg.clip("Walk", frames, swing, |k| DVec3::Z * travel * k / 20.0);
    let hips = leg.hips;
    leg.figure.go(hips, frames, |k| DVec3::new(0.0, 1.0 + 0.02 * (TAU * k / 10.0).sin(), travel * k / 20.0));
    // The foot's own turn goes round as well.
    let foot = leg.bones[2];
    leg.figure.scene.clips[0]
        .channels
        .retain(|c| c.node != foot || c.property == sinew_core::scene::Property::Translation);
    leg
}

fn positions(leg: &Leg) -> (f64, Vec<DVec3>) {
    let scene = &leg.figure.scene;
    let mut setup = automatic(scene, None).unwrap();
    setup.bake.looped = true;
    let rig = compile(scene, &setup, scene.clips.first()).unwrap().rig;
    let (start, length) = (rig.range.start(), rig.range.length());
    let turns = (rig.range.turns - 1) as f64;
    let travel =
        |i: usize| (rig.keyed(i, start + turns * length).position - rig.keyed(i, start).position) / turns;
    (length, [leg.hips, leg.bones[2]].map(|n| travel(rig.solid_of_node(n).unwrap())).to_vec())
}

#[test]
fn a_cycle_short_of_a_frame_closes_itself() {
    let (length, travel) = positions(&walk(20, 0.0));
    assert!((length - 20.0 / 30.0).abs() < 1e-9, "{length} s");
    assert!(travel.iter().all(|t| t.length() < 1e-6), "{travel:?}");
}

#[test]
fn a_whole_cycle_stays_as_long_as_it_is() {
    let (length, travel) = positions(&walk(21, 0.0));
    assert!((length - 20.0 / 30.0).abs() < 1e-9, "{length} s");
    assert!(travel.iter().all(|t| t.length() < 1e-6), "{travel:?}");
}

/// Root motion goes on, and the foot beside the leg goes exactly as far, whether a frame is missing or not.
#[test]
fn a_foot_travels_as_far_as_its_figure() {
    for frames in [20, 21] {
        let (_, travel) = positions(&walk(frames, 0.8));
        assert!((travel[0] - travel[1]).length() < 1e-6, "{travel:?}");
        assert!((travel[0].z - 0.8).abs() < 0.01, "{travel:?}");
    }
}

/// A foot that is not quite back does not walk away.
#[test]
fn a_gap_of_a_foot_does_not_add_up() {
    let mut leg = Leg::new();
    let swing = |k: f64| [0.5 * (TAU * k / 20.0).sin(), 0.6];
    leg.clip("Kick", 21, swing, |k| DVec3::Z * 0.02 * k / 20.0);
    let (_, travel) = positions(&leg);
    assert!(travel[1].length() < 1e-6, "{travel:?}");
}

#[test]
fn cycles_are_told_from_other_clips() {
    let frame = 1.0 / 30.0;
    let tells = |leg: &Leg| is_cycle(&leg.figure.scene.clips[0].channels, frame);
    assert!(tells(&walk(20, 0.0)) && tells(&walk(21, 0.0)) && tells(&walk(21, 0.8)));
    // Half a turn is none, nor is a blow that comes back to rest.
    assert!(!tells(&walk(11, 0.0)));
    let mut blow = Leg::new();
    let once = |k: f64| 0.5 - 0.5 * (TAU * k / 20.0).cos();
    blow.clip("Kick", 21, |k| [once(k), 0.5 * once(k)], |_| DVec3::ZERO);
    blow.figure.scene.clips[0].channels.retain(|c| c.node != blow.bones[2]);
    assert!(!tells(&blow));
}
