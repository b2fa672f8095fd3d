//! A chain of a thousand links, ten metres long.

use super::joined::Joined;
use super::maker::Maker;
use super::{BLUE, GREY, RED};
use glam::DVec3;
use serde_json::json;

const LINKS: usize = 1000;
const LINK: f64 = 0.01;

/// A hook that swings to and fro, and the chain that hangs from it.
pub fn hanging_chain() -> String {
    let mut m = Maker::new("Swing");
    let grip = m.block(DVec3::new(0.3, 0.1, 0.1), GREY);
    let hook = m.node("Hook", Some(grip), DVec3::Y * 0.05, None);
    let way = [0.0, 0.5, -0.5, 0.5, 0.0, 0.0];
    m.translate(hook, &[0.0, 0.25, 0.625, 1.0, 1.25, 1.75], &way.map(|x| DVec3::new(x, 0.05, 0.0)));
    // Far thicker than it would be, or no one saw it.
    let skins = [BLUE, RED].map(|colour| m.hanging_block(DVec3::new(0.04, LINK, 0.04), colour));
    for i in 0..LINKS {
        let top = DVec3::new(0.0, -(i as f64) / 100.0, 0.0);
        m.node(&format!("Link {}", i + 1), Some(skins[i / 50 % 2]), top, None);
    }
    m.finish()
}

pub fn hanging_chain_setup() -> String {
    let mut s = Joined::default();
    s.field("world", &json!({"frames_per_second": 60, "substeps": 1, "fields": [{"kind": "drag", "rate": 0.3, "spin_rate": 2}], "collisions": false}));
    for i in 1..=LINKS {
        s.free(&format!("Link {i}"));
        let before = if i == 1 { "Hook".into() } else { format!("Link {}", i - 1) };
        s.joint("universal", [&before, &format!("Link {i}")]);
    }
    s.finish()
}
