//! The floor: at 0 where the figure stands, the same in all clips, and never in the way of the keys.

use crate::Leg;
use glam::DVec3;
use sinew_core::rig::compile;
use sinew_core::setup::{Preset, automatic};
use sinew_core::simulate::run;

fn standing() -> Leg {
    let mut leg = Leg::new();
    // Straight down: the sole is at -0.03.
    leg.clip("Stand", 20, |k| [0.02 * (0.3 * k).sin(), 0.0], |_| DVec3::ZERO);
    leg
}

#[test]
fn all_clips_stand_on_one_floor() {
    let mut leg = standing();
    leg.clip("Fly", 20, |k| [0.1 * k, 0.05 * k], |k| DVec3::Y * 0.1 * k);
    let floors = ["Stand", "Fly"].map(|c| automatic(&leg.figure.scene, Some(c)).unwrap().world.floor);
    assert_eq!(floors, [Some(0.0); 2]);
}

/// A hip that the clip takes through the floor and back goes there: the floor is lower for it.
#[test]
fn the_floor_does_not_hold_what_keys_take_below_it() {
    let mut leg = standing();
    leg.clip("Dive", 41, |_| [0.0, 0.0], |k| DVec3::NEG_Y * dive(k));
    let hips = leg.hips;
    leg.figure.go(hips, 41, |k| DVec3::Y * (1.0 - dive(k)));
    let scene = &leg.figure.scene;
    let setup = automatic(scene, Some("Dive")).unwrap();
    assert_eq!(setup.world.floor, Some(0.0));
    let rig = compile(scene, &setup, Some(&scene.clips[1])).unwrap().rig;
    let (motion, _) = run(&rig, |_, _| true);
    let solid = rig.solid_of_node(hips).unwrap();
    for f in 0..motion.frames() {
        let off = motion.frame(f)[solid].node.position.y - (1.0 - dive(f as f64));
        assert!(off.abs() < 0.05, "{off} at frame {f}");
    }
}

fn dive(k: f64) -> f64 {
    1.2 * (0.5 - 0.5 * (std::f64::consts::TAU * k / 40.0).cos())
}

/// A ragdoll lands on the floor and stays there.
#[test]
fn a_ragdoll_lands_and_stays() {
    let mut leg = standing();
    leg.figure.scene.clips.clear();
    leg.clip("Stand", 90, |k| [0.3 + 0.02 * (0.3 * k).sin(), 0.4], |_| DVec3::ZERO);
    let scene = &leg.figure.scene;
    let mut setup = automatic(scene, None).unwrap();
    setup.use_preset(Preset::Ragdoll);
    let floor = setup.world.floor.unwrap();
    let rig = compile(scene, &setup, scene.clips.first()).unwrap().rig;
    let (motion, _) = run(&rig, |_, _| true);
    let last = motion.frame(motion.frames() - 1);
    for (solid, sample) in rig.solids.iter().zip(last) {
        let y = sample.node.position.y;
        assert!(y > floor - 0.05 && y < floor + 0.6, "{} at {y}", solid.label);
    }
}
