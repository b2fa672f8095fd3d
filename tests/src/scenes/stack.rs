//! Ten boxes on a floor.

use super::joined::Joined;
use super::maker::Maker;
use super::{COLOURS, GREY};
use glam::DVec3;
use serde_json::json;
use sinew_core::rotation;

const BOXES: usize = 10;
const EDGE: f64 = 0.2;

/// Nothing is keyed: they stand, each turned a little on the one below.
pub fn stack() -> String {
    let mut m = Maker::new("Stand");
    let ground = m.block(DVec3::new(2.0, 0.1, 2.0), GREY);
    m.node("Floor", Some(ground), DVec3::new(0.0, -0.05, 0.0), None);
    let skins = COLOURS.map(|colour| m.block(DVec3::splat(EDGE), colour));
    for i in 0..BOXES {
        let middle = (i as f64 + 0.5) * EDGE;
        let node = m.node(&format!("Box {}", i + 1), Some(skins[i % 4]), DVec3::Y * middle, None);
        m.turned(node, rotation::exp(DVec3::Y * 0.12 * (i as f64 * 2.4).sin()));
    }
    m.finish()
}

pub fn stack_setup() -> String {
    let mut s = Joined::default();
    s.body(&json!({"node": "Floor", "behaviour": "static"}));
    for i in 1..=BOXES {
        s.free(&format!("Box {i}"));
    }
    s.field("bake", &json!({"frames": [0, 48]}));
    s.finish()
}
