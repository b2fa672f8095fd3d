//! One figure: feet on IK bones hang on the limb that they end, and bones that keys stretch keep a joint.

use crate::{Figure, Leg};
use glam::DVec3;
use sinew_core::rig::compile;
use sinew_core::setup::{Preset, Setup, Space, automatic};
use sinew_core::simulate::run;

fn swing(k: f64) -> [f64; 2] {
    [0.5 * (0.3 * k).sin(), 0.5 + 0.4 * (0.3 * k).cos()]
}

fn leads(setup: &Setup) -> Vec<&str> {
    setup.bodies.iter().filter(|b| b.guide.space == Space::World).map(|b| b.node.as_str()).collect()
}

#[test]
fn a_foot_beside_its_leg_hangs_on_the_shin() {
    let mut leg = Leg::new();
    leg.clip("Walk", 30, swing, |_| DVec3::ZERO);
    let setup = automatic(&leg.figure.scene, None).unwrap();
    assert_eq!(leads(&setup), ["Body"]);
    let foot = setup.bodies.iter().find(|b| b.node == "Foot.L").unwrap();
    assert_eq!(foot.guide.parent.as_deref(), Some("LowerLeg.L"));
    let joint = setup.joints.iter().find(|j| j.between[1] == "Foot.L").unwrap();
    assert_eq!(joint.between[0], "LowerLeg.L");
}

/// What is jointed, grouped and massed is the same whichever clip is simulated, though one of them stretches the leg.
#[test]
fn a_figure_is_the_same_in_all_clips() {
    let mut leg = Leg::new();
    leg.clip("Walk", 30, swing, |_| DVec3::ZERO);
    leg.clip("Stand", 20, |k| [0.1 + 0.001 * k, 0.2], |_| DVec3::ZERO);
    leg.clip("Reach", 30, swing, |k| DVec3::Z * 0.02 * (0.2 * k).sin());
    let setups = ["Walk", "Stand", "Reach"].map(|c| automatic(&leg.figure.scene, Some(c)).unwrap());
    let what = |s: &Setup| {
        let bodies =
            s.bodies.iter().map(|b| (b.node.clone(), b.mass, b.groups.clone(), b.guide.parent.clone()));
        let joints = s.joints.iter().map(|j| (j.between.clone(), j.keyed_anchor));
        (bodies.collect::<Vec<_>>(), joints.collect::<Vec<_>>(), s.world.floor, s.world.metres_per_unit)
    };
    assert_eq!(what(&setups[0]), what(&setups[1]));
    assert_eq!(what(&setups[0]), what(&setups[2]));
    assert!(setups[0].joints.iter().any(|j| j.between[1] == "Foot.L" && j.keyed_anchor));
}

/// A ragdoll's foot stays on its shin: as far from it as its keys, which stretch it, have it.
#[test]
fn a_ragdolls_foot_stays_on() {
    let away = |k: f64| DVec3::Z * 0.03 * (0.2 * k).sin();
    let mut leg = Leg::new();
    leg.clip("Fall", 40, swing, away);
    let mut setup = automatic(&leg.figure.scene, None).unwrap();
    setup.use_preset(Preset::Ragdoll);
    let rig = compile(&leg.figure.scene, &setup, leg.figure.scene.clips.first()).unwrap().rig;
    let (motion, _) = run(&rig, |_, _| true);
    let [_, shin, foot] = leg.bones.map(|node| rig.solid_of_node(node).unwrap());
    let hips = rig.solid_of_node(leg.hips).unwrap();
    for f in 0..motion.frames() {
        let now = motion.frame(f);
        let apart = (now[foot].node.position - now[shin].node.position).length();
        let [a, b] = [shin, foot].map(|s| rig.keyed(s, motion.times()[f]));
        let at = |s: usize, p: sinew_core::scene::Placement| {
            let back = sinew_core::scene::Placement::IDENTITY;
            p.then(&rig.solids[s].offset.to(&back)).position
        };
        let keyed = (at(foot, b) - at(shin, a)).length();
        assert!((apart - keyed).abs() < 1e-4, "{apart} against {keyed} at frame {f}");
    }
    // It does fall.
    let last = motion.frame(motion.frames() - 1);
    assert!(last[hips].node.position.y < 0.7, "{}", last[hips].node.position.y);
}

/// Thighs that keys move along the hips by a tenth of the figure keep their joint, and hold in a ragdoll.
#[test]
fn a_thigh_that_slides_keeps_its_joint() {
    let mut leg = Leg::new();
    let slides = |k: f64| DVec3::Z * 0.1 * (0.2 * k).sin();
    leg.clip("Walk", 30, swing, slides);
    let thigh = leg.bones[0];
    leg.figure.go(thigh, 30, |k| DVec3::NEG_Y * 0.1 + slides(k));
    let setup = automatic(&leg.figure.scene, None).unwrap();
    let joint = setup.joints.iter().find(|j| j.between[1] == "UpperLeg.L").unwrap();
    assert_eq!((joint.between[0].as_str(), joint.keyed_anchor), ("Body", true));
    assert!(leads(&setup) == ["Body"], "{:?}", leads(&setup));
}

/// Front and hind legs are groups of their own, and a hind leg's shoulder is none of an arm.
#[test]
fn front_and_hind_legs_are_groups_of_their_own() {
    let mut dog = Figure::new();
    let trunk = dog.bone("Body", None, [0.0, 0.8, 0.0], Some(([0.3, 0.3, 1.2], [0.0; 3])));
    let bar = Some(([0.1, 0.3, 0.1], [0.0, -0.15, 0.0]));
    for (end, z) in [("Front", 0.5), ("Back", -0.5)] {
        for (side, x) in [("L", 0.15), ("R", -0.15)] {
            let shoulder = dog.bone(&format!("{end}Shoulder.{side}"), Some(trunk), [x, 0.0, z], bar);
            dog.bone(&format!("{end}Leg.{side}"), Some(shoulder), [0.0, -0.3, 0.0], bar);
        }
    }
    dog.clip("Walk");
    dog.turn(trunk, 20, |k| DVec3::X * 0.01 * (0.5 * k).sin());
    let setup = automatic(&dog.scene, None).unwrap();
    let group = |name: &str| setup.bodies.iter().find(|b| b.node == name).unwrap().groups[0].clone();
    assert_eq!(group("FrontShoulder.L"), "left front leg");
    assert_eq!(group("BackShoulder.L"), "left hind leg");
    assert_eq!(group("BackLeg.R"), "right hind leg");
}
