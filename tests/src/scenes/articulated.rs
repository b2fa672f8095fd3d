//! Scenes with joints: their set-ups join what is placed here.

use super::maker::Maker;
use super::{BLUE, COLOURS, CREAM, GREY, RED, seconds};
use glam::{DQuat, DVec3};
use sinew_core::rotation;

/// Links of the chain, and the length of each.
const LINKS: usize = 9;
const LINK: f64 = 0.3;

/// A hand that waves, and a chain that hangs from it.
pub fn chain() -> String {
    let mut m = Maker::new("Wave");
    let grip = m.block(DVec3::splat(0.12), GREY);
    let hand = m.node("Hand", Some(grip), DVec3::ZERO, None);
    let places = [[0.0, 0.0], [0.0, 0.0], [0.7, 0.1], [-0.7, 0.1], [0.0, 0.0], [0.0, 0.0]]
        .map(|[x, y]| DVec3::new(x, y, 0.0));
    m.translate(hand, &seconds(&[0.0, 6.0, 26.0, 56.0, 76.0, 120.0]), &places);
    for i in 0..LINKS {
        let top = -LINK * i as f64;
        let mesh = m.block(DVec3::new(0.05, 0.9 * LINK, 0.05), COLOURS[i % 2]);
        m.node(&format!("Link {}", i + 1), Some(mesh), DVec3::new(0.0, top - 0.5 * LINK, 0.0), None);
        m.node(&format!("Joint {}", i + 1), None, DVec3::new(0.0, top, 0.0), None);
    }
    m.finish()
}

/// A four-bar linkage: the crank turns on keys, the coupler and the rocker go along.
pub fn linkage() -> String {
    let mut m = Maker::new("Turn");
    let [a, d] = [DVec3::ZERO, DVec3::new(2.0, 0.0, 0.0)];
    let b = DVec3::new(0.0, 0.6, 0.0);
    // Where circles about b and d with the lengths of coupler and rocker meet above the ground.
    let (coupler, rocker) = (1.8, 1.4);
    let along = d - b;
    let apart = along.length();
    let foot = (coupler * coupler - rocker * rocker + apart * apart) / (2.0 * apart);
    let height = (coupler * coupler - foot * foot).sqrt();
    let across = DVec3::Z.cross(along) / apart;
    let c = b + along * (foot / apart) + across * height;

    let mesh = m.long_block(DVec3::new(0.6, 0.1, 0.1), RED);
    let crank = m.node("Crank", Some(mesh), a, None);
    let turns: Vec<DQuat> = (0..=12)
        .map(|i| rotation::exp(DVec3::Z * (0.5 - f64::from(i) / 3.0) * std::f64::consts::PI))
        .collect();
    let frames: Vec<f64> = (0..=12).map(|i| f64::from(i) * 8.0).collect();
    m.rotate(crank, &seconds(&frames), &turns);
    for (name, from, to, colour) in [("Coupler", b, c, CREAM), ("Rocker", d, c, BLUE)] {
        let bar = to - from;
        let mesh = m.block(DVec3::new(bar.length(), 0.1, 0.1), colour);
        let node = m.node(name, Some(mesh), (from + to) * 0.5, None);
        let turn = rotation::exp(DVec3::Z * bar.y.atan2(bar.x));
        m.turned(node, turn);
    }
    for (name, at) in [("Pin B", b), ("Pin C", c), ("Pin D", d)] {
        m.node(name, None, at, None);
    }
    m.finish()
}
