//! A hundred and fifty balls that fall into a box.

use super::joined::Joined;
use super::maker::Maker;
use super::{COLOURS, FIT, GREY};
use glam::DVec3;
use serde_json::json;

const BALLS: usize = 150;
const RADIUS: f64 = 0.1;
/// Balls along a side of a layer.
const ROW: usize = 5;
/// Inside of the box, and its height.
const WIDE: f64 = 1.5;
const HIGH: f64 = 1.2;
const WALL: f64 = 0.1;

/// Layers above the box, each a little to the side of the one below, so that no ball falls straight on another.
pub fn ball_pit() -> String {
    let mut m = Maker::new("Fall");
    let floor = m.block(DVec3::new(WIDE + 2.0 * WALL, WALL, WIDE + 2.0 * WALL), GREY);
    m.node("Floor", Some(floor), DVec3::Y * -0.5 * WALL, None);
    let out = 0.5 * (WIDE + WALL);
    let across = m.block(DVec3::new(WALL, HIGH, WIDE + 2.0 * WALL), GREY);
    let along = m.block(DVec3::new(WIDE, HIGH, WALL), GREY);
    for (name, mesh, side) in [
        ("Left wall", across, DVec3::NEG_X),
        ("Right wall", across, DVec3::X),
        ("Back wall", along, DVec3::NEG_Z),
        ("Front wall", along, DVec3::Z),
    ] {
        m.node(name, Some(mesh), side * out + DVec3::Y * 0.5 * HIGH, None);
    }
    let skins = COLOURS.map(|colour| m.ball(RADIUS, &[colour]));
    for i in 0..BALLS {
        let (layer, z, x) = (i / (ROW * ROW), i / ROW % ROW, i % ROW);
        let step = 0.26;
        let middle = 0.5 * (ROW - 1) as f64;
        let side = 0.07 * DVec3::new((layer as f64 * 2.4).cos(), 0.0, (layer as f64 * 2.4).sin());
        let at =
            DVec3::new((x as f64 - middle) * step, 0.5 + 0.25 * layer as f64, (z as f64 - middle) * step);
        m.node(&format!("Ball {}", i + 1), Some(skins[i * 7 % 4]), at + side, None);
    }
    m.finish()
}

pub fn ball_pit_setup() -> String {
    let mut s = Joined::default();
    for name in ["Floor", "Left wall", "Right wall", "Back wall", "Front wall"] {
        s.body(&json!({"node": name, "behaviour": "static"}));
    }
    for i in 1..=BALLS {
        s.body(&json!({
            "node": format!("Ball {i}"), "behaviour": "free", "shape": {"kind": "sphere", "radius": RADIUS},
            // Balls of plastic: without it they would roll about for long.
            "contact": {"rolling": 0.003},
        }));
    }
    s.field("bake", &json!({"frames": [0, 144], "tolerance": FIT, "tolerance_deg": 1}));
    s.finish()
}
