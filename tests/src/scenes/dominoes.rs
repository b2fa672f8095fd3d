//! Twenty dominoes in a row.

use super::joined::Joined;
use super::maker::Maker;
use super::{COLOURS, CREAM, FIT, FIT_DEG, GREY};
use glam::DVec3;
use serde_json::json;

const PIECES: usize = 20;
const SIZE: DVec3 = DVec3::new(0.14, 1.0, 0.5);
/// From one to the next.
const APART: f64 = 0.5;

/// A finger comes, pushes the first, and goes back.
pub fn dominoes() -> String {
    let mut m = Maker::new("Push");
    let table = m.block(DVec3::new(13.0, 0.2, 2.0), GREY);
    m.node("Table", Some(table), DVec3::new(5.0, -0.1, 0.0), None);
    let skins = COLOURS.map(|colour| m.block(SIZE, colour));
    for i in 0..PIECES {
        let at = DVec3::new(i as f64 * APART, 0.5 * SIZE.y, 0.0);
        m.node(&format!("Domino {}", i + 1), Some(skins[i % 4]), at, None);
    }
    let tip = m.ball(0.08, &[CREAM, CREAM]);
    let away = DVec3::new(-0.6, 0.85, 0.0);
    let finger = m.node("Finger", Some(tip), away, None);
    let there = DVec3::new(0.15, 0.85, 0.0);
    m.translate(finger, &[0.0, 0.25, 0.75, 1.25, 4.0], &[away, away, there, away, away]);
    m.finish()
}

pub fn dominoes_setup() -> String {
    let mut s = Joined::default();
    s.body(&json!({"node": "Table", "behaviour": "static"}));
    s.body(&json!({"node": "Finger", "behaviour": "animated"}));
    for i in 1..=PIECES {
        s.free(&format!("Domino {i}"));
    }
    s.field("bake", &json!({"frames": [0, 132], "tolerance": FIT, "tolerance_deg": FIT_DEG}));
    s.finish()
}
