//! The snake of Lamouret 1995, section 4.5: nine links; the head is led, the rest follows.

use super::maker::Maker;
use super::{CREAM, GREEN, GREY, RED};
use glam::DVec3;
use sinew_core::rotation;

const LINKS: usize = 9;
/// Length of a link, and how high its middle is above the ground.
const LINK: f64 = 0.42;
const HEIGHT: f64 = 0.1;
/// How far links are folded from straight before it sets out, rad.
const FOLD: f64 = 1.1;

/// It lies folded, then winds away.
pub fn snake() -> String {
    let mut m = Maker::new("Wind");
    let ground = m.block(DVec3::new(10.0, 0.1, 3.6), GREY);
    m.node("Ground", Some(ground), DVec3::new(1.6, -0.05, 0.0), None);
    let face = m.egg(DVec3::new(0.28, 0.1, 0.17), GREEN);
    let mut at = DVec3::new(-1.2, HEIGHT, 0.0);
    let head = m.node("Head", Some(face), at, None);
    let eye = m.ball(0.045, &[RED]);
    m.node("Right eye", Some(eye), DVec3::new(0.14, 0.08, 0.09), Some(head));
    m.node("Left eye", Some(eye), DVec3::new(0.14, 0.08, -0.09), Some(head));

    // Straight keys along a winding way, quick on the straights and slow in the bends.
    let mut keys = vec![(0.0, at), (0.5, at)];
    for i in 1..=22 {
        let way = f64::from(i) / 22.0;
        let bend = (way * 1.75 * std::f64::consts::TAU).sin();
        keys.push((0.5 + 5.5 * way, at + DVec3::new(7.0 * way, 0.0, 1.1 * (4.0 * way).min(1.0) * bend)));
    }
    let (times, places): (Vec<f64>, Vec<DVec3>) = keys.into_iter().unzip();
    m.translate(head, &times, &places);

    at.x -= 0.2;
    let skins = [GREEN, CREAM].map(|colour| m.scale(LINK, 0.2, colour));
    let tip = m.scale(LINK * 1.15, 0.14, GREEN);
    for i in 2..=LINKS {
        // Away from the head, to one side and the other.
        let side = if i % 2 == 0 { 1.0 } else { -1.0 };
        let turn = rotation::exp(DVec3::Y * (std::f64::consts::PI - FOLD * side));
        let mesh = if i == LINKS { tip } else { skins[i % 2] };
        let node = m.node(&format!("Link {i}"), Some(mesh), at, None);
        m.turned(node, turn);
        at += turn * DVec3::X * LINK;
    }
    m.node("Tail", None, at, None);
    m.finish()
}
