//! The snake of Lamouret 1995, section 4.5, soft, on a floor, with something to drag.

use super::joined::Joined;
use super::maker::Maker;
use super::{CREAM, GREEN, GREY, PURPLE, RED, solid};
use glam::DVec3;
use serde_json::json;
use sinew_core::rotation;
use std::f64::consts::PI;

const LINKS: usize = 9;
const LINK: f64 = 0.42;
/// Half as thick as a link, so how high its middle is.
const HEIGHT: f64 = 0.1;
/// How far links are folded from straight before it sets out, rad.
const FOLD: f64 = 0.7;
const ROLL: f64 = 0.16;

/// It is led by the head, and drags a roll across its way by a cord at the tail.
pub fn soft_snake() -> String {
    let mut m = Maker::new("Wind");
    let ground = m.block(DVec3::new(14.0, 0.2, 4.0), GREY);
    m.node("Ground", Some(ground), DVec3::new(0.6, -0.1, 0.0), None);
    let face = m.egg(DVec3::new(0.26, HEIGHT, 0.15), GREEN);
    let mut at = DVec3::new(-1.2, HEIGHT, 0.0);
    let head = m.node("Head", Some(face), at, None);
    let eye = m.ball(0.045, &[RED]);
    m.node("Right eye", Some(eye), DVec3::new(0.14, 0.07, 0.08), Some(head));
    m.node("Left eye", Some(eye), DVec3::new(0.14, 0.07, -0.08), Some(head));
    let mut keys = vec![(0.0, at), (0.5, at)];
    for i in 1..=20 {
        let way = f64::from(i) / 20.0;
        let bend = (way * 1.5 * std::f64::consts::TAU).sin();
        keys.push((0.5 + 5.0 * way, at + DVec3::new(6.0 * way, 0.0, 0.8 * (4.0 * way).min(1.0) * bend)));
    }
    let (times, places): (Vec<f64>, Vec<DVec3>) = keys.into_iter().unzip();
    m.translate(head, &times, &places);

    at.x -= 0.2;
    let skins = [GREEN, CREAM].map(|colour| m.scale(LINK, 2.0 * HEIGHT, colour));
    for i in 2..=LINKS {
        let side = if i % 2 == 0 { 1.0 } else { -1.0 };
        let turn = rotation::exp(DVec3::Y * (PI - FOLD * side));
        let node = m.node(&format!("Link {i}"), Some(skins[i % 2]), at, None);
        m.turned(node, turn);
        at += turn * DVec3::X * LINK;
    }
    m.node("Tail", None, at, None);
    let roll = m.of_one_colour(&solid::cylinder(ROLL, 0.8, 32), PURPLE);
    m.node("Roll", Some(roll), DVec3::new(at.x - 0.5, ROLL, at.z), None);
    m.finish()
}

pub fn soft_snake_setup() -> String {
    let mut s = Joined::default();
    s.body(&json!({"node": "Ground", "behaviour": "static"}));
    let skin = json!({"friction": 0.3, "coating": {"thickness": 0.05}});
    s.body(&json!({"node": "Head", "guide": {"follow": "position"}, "contact": skin}));
    let mut before = "Head".to_owned();
    for i in 2..=LINKS {
        let name = format!("Link {i}");
        s.body(&json!({"node": name, "behaviour": "free", "shape": {"kind": "capsule"}, "contact": skin}));
        s.joint("universal", [&before, &name]);
        before = name;
    }
    s.body(&json!({
        "node": "Roll", "behaviour": "free", "density": 300,
        "contact": {"friction": 0.6, "coating": {"thickness": 0.08}},
    }));
    s.joint("rope", [&before, "Roll"])["at"] = json!(["Tail", "Roll"]);
    s.finish()
}
