//! Weights: humans weigh what humans do, part by part, in any unit; nothing is a peg under what hangs on it.

use crate::Figure;
use glam::DVec3;
use sinew_core::scene::Scene;
use sinew_core::setup::{Setup, Wish, automatic, automatic_with};

/// A human of boxes, 1.75 units tall, with a head as large as a comic has it, that nods.
fn human() -> Figure {
    let mut f = Figure::new();
    let hips = f.bone("Hips", None, [0.0, 0.9, 0.0], Some(([0.3, 0.1, 0.2], [0.0; 3])));
    let chest = f.bone("Chest", Some(hips), [0.0, 0.2, 0.0], Some(([0.4, 0.4, 0.25], [0.0, 0.1, 0.0])));
    let head = f.bone("Head", Some(chest), [0.0, 0.35, 0.0], Some(([0.5, 0.5, 0.5], [0.0, 0.05, 0.0])));
    for (side, x) in [("L", 1.0), ("R", -1.0)] {
        let name = |part: &str| format!("{part}.{side}");
        let along = |length: f64| Some(([length, 0.1, 0.1], [0.5 * x * length, 0.0, 0.0]));
        let upper = f.bone(&name("UpperArm"), Some(chest), [0.2 * x, 0.25, 0.0], along(0.28));
        let fore = f.bone(&name("LowerArm"), Some(upper), [0.28 * x, 0.0, 0.0], along(0.25));
        let hand = f.bone(&name("Hand"), Some(fore), [0.25 * x, 0.0, 0.0], along(0.15));
        f.bone(&name("handslot"), Some(hand), [0.1 * x, 0.0, 0.0], Some(([0.05, 0.05, 1.5], [0.0; 3])));
        let down = |length: f64| Some(([0.12, length, 0.12], [0.0, -0.5 * length, 0.0]));
        let thigh = f.bone(&name("UpperLeg"), Some(hips), [0.1 * x, 0.0, 0.0], down(0.42));
        let shin = f.bone(&name("LowerLeg"), Some(thigh), [0.0, -0.42, 0.0], down(0.42));
        f.bone(&name("Foot"), Some(shin), [0.0, -0.42, 0.0], Some(([0.1, 0.06, 0.25], [0.0, -0.03, 0.06])));
    }
    f.clip("Nod");
    f.turn(head, 20, |k| DVec3::X * 0.1 * (0.3 * k).sin());
    f
}

fn mass(setup: &Setup, name: &str) -> f64 {
    setup.bodies.iter().find(|b| b.node == name).unwrap().mass.unwrap()
}

fn whole(setup: &Setup) -> f64 {
    setup.bodies.iter().filter(|b| !b.node.contains("slot")).map(|b| b.mass.unwrap()).sum()
}

#[test]
fn a_human_weighs_what_humans_do_in_any_unit() {
    let plain = automatic(&human().scene, None).unwrap();
    assert_eq!(plain.world.metres_per_unit, 1.0);
    for factor in [1.0, 0.01, 0.001, 3.3, 13.0, 100.0, 1e4] {
        let setup = automatic(&human().scaled(factor), None).unwrap();
        let (tall, kg) = (1.75 * factor * setup.world.metres_per_unit, whole(&setup));
        assert!((1.0..2.2).contains(&tall), "{tall} m at {factor}");
        assert!((40.0..=120.0).contains(&kg), "{kg} kg at {factor}");
        // de Leva 1996.
        let parts = [("Head", 0.068), ("UpperArm.L", 0.0263), ("LowerArm.L", 0.015), ("Hand.L", 0.0059)];
        let legs = [("UpperLeg.R", 0.1447), ("LowerLeg.R", 0.0457), ("Foot.R", 0.0133)];
        for (name, share) in parts.into_iter().chain(legs) {
            let own = mass(&setup, name) / kg;
            assert!((0.5..2.0).contains(&(own / share)), "{name}: {own} against {share} at {factor}");
        }
        let trunk = (mass(&setup, "Hips") + mass(&setup, "Chest")) / kg;
        assert!((0.3..0.6).contains(&trunk), "{trunk}");
        assert!((0.2..=10.0).contains(&mass(&setup, "handslot.L")), "{}", mass(&setup, "handslot.L"));
    }
}

#[test]
fn one_number_says_otherwise() {
    let scene = human().scaled(7.0);
    let wish = Wish { mass: Some(80.0), height: Some(1.9), ..Wish::default() };
    let setup = automatic_with(&scene, None, &wish).unwrap();
    assert!((whole(&setup) - 80.0).abs() < 0.1, "{}", whole(&setup));
    let tall = tallest(&scene) * setup.world.metres_per_unit;
    assert!((tall - 1.9).abs() < 0.1, "{tall}");
    let refused = automatic_with(&scene, None, &Wish { mass: Some(-1.0), ..Wish::default() });
    assert!(refused.unwrap_err().to_string().contains("above 0"));
}

/// From the soles to the top of the head, by vertices.
fn tallest(scene: &Scene) -> f64 {
    let mut pose = sinew_core::scene::Pose::new(scene, None);
    pose.evaluate(0.0);
    let shown = (0..scene.nodes.len()).filter(|&n| scene.nodes[n].mesh.is_some());
    let all: Vec<f64> = shown.flat_map(|n| pose.vertices(scene, n)).map(|v| v.y).collect();
    all.iter().copied().fold(f64::MIN, f64::max) - all.iter().copied().fold(f64::MAX, f64::min)
}

/// A leading bone of a fivehundredth of the volume weighs and resists turning as what leads must.
#[test]
fn a_tiny_leading_bone_can_lead() {
    let mut f = Figure::new();
    let peg = f.bone("Bone", None, [0.0, 1.0, 0.0], Some(([0.08, 0.08, 0.08], [0.0; 3])));
    let mut above = peg;
    for i in 0..4 {
        let block = Some(([0.4, 0.4, 0.4], [0.0, 0.2, 0.0]));
        above = f.bone(&format!("Block{i}"), Some(above), [0.0, 0.4, 0.0], block);
    }
    f.clip("Bend");
    f.turn(peg, 20, |k| DVec3::X * 0.2 * (0.3 * k).sin());
    let setup = automatic(&f.scene, None).unwrap();
    let lead = setup.bodies.iter().find(|b| b.node == "Bone").unwrap();
    let all: f64 = setup.bodies.iter().map(|b| b.mass.unwrap()).sum();
    assert!(lead.mass.unwrap() > 0.04 * all, "{:?} of {all}", lead.mass);
    // The blocks about the peg: sum of m (d^2 + s^2 / 6).
    let hangs: f64 = (0..4).map(|i| (0.6 + 0.4 * f64::from(i)).powi(2) + 0.16 / 6.0).sum();
    let hangs = hangs * (all - lead.mass.unwrap()) / 4.0;
    assert!(lead.inertia.unwrap()[0] > 0.04 * hangs, "{:?} of {hangs}", lead.inertia);
    assert!(lead.actuator.carries.unwrap() < 30.0, "{:?}", lead.actuator.carries);
}

/// Of several things at one slot the largest counts, and what is hidden does not.
#[test]
fn alternatives_and_hidden_things_do_not_count() {
    let size = |hide: bool| {
        let mut f = human();
        let slot = f.scene.find("handslot.L").unwrap();
        for _ in 0..3 {
            let mut other = f.scene.nodes[slot + 1].clone();
            other.name = "Axe".into();
            f.scene.nodes.push(other);
        }
        if hide {
            f.scene.nodes[slot + 1].hidden = true;
            f.scene.nodes.iter_mut().filter(|n| n.name == "Axe").for_each(|n| n.hidden = true);
        }
        automatic(&f.scene, None).unwrap()
    };
    let plain = automatic(&human().scene, None).unwrap();
    assert_eq!(mass(&size(false), "handslot.L"), mass(&plain, "handslot.L"));
    assert!(size(true).bodies.iter().all(|b| b.node != "handslot.L"));
}
