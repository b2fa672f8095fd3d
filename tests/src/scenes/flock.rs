//! The bird of Lamouret 1995, section 4.4, against three balls: a light one, a very heavy one, and one that falls.

use super::bird::{self, BEAT, DOWN, UP};
use super::joined::Joined;
use super::maker::Maker;
use super::{CREAM, FIT, FIT_DEG, GREEN, GREY, PURPLE, RED};
use glam::DVec3;
use serde_json::json;

/// Each in a lane of its own, with the way (z), the ball's radius, mass (kg) and place beside the way.
const LANES: [(&str, f64, f64, f64, [f64; 2]); 3] = [
    ("Light", -3.0, 0.2, 0.05, [0.0, 2.0]),
    ("Heavy", 0.0, 0.3, 20000.0, [0.0, 1.8]),
    ("Falling", 3.0, 0.2, 20.0, [-0.7, 7.2]),
];

/// They fly straight on at two metres per second, two metres above the ground.
pub fn bird_ball() -> String {
    let mut m = Maker::new("Flight");
    let ground = m.block(DVec3::new(16.0, 0.2, 10.0), GREEN);
    m.node("Ground", Some(ground), DVec3::new(3.0, -0.1, 0.0), None);
    for ((name, z, radius, _, [x, y]), colour) in LANES.iter().zip([CREAM, PURPLE, RED]) {
        let called = format!("{name} ball's ");
        let from = DVec3::new(-3.0, 2.0, *z);
        let body = bird::figure(&mut m, &called, from);
        m.translate(body, &[0.0, 3.0, 3.5], &[from, from + DVec3::X * 6.0, from + DVec3::X * 6.0]);
        let beats = (0..=14).map(|i| (f64::from(i) * 0.5 * BEAT, if i % 2 == 0 { UP } else { DOWN }));
        bird::wings(&mut m, &called, body, beats.unzip());
        let skin = m.ball(*radius, &[colour, GREY]);
        m.node(&format!("{name} ball"), Some(skin), DVec3::new(*x, *y, *z), None);
        if *name != "Falling" {
            let high = y - radius;
            let post = m.block(DVec3::new(0.2, high, 0.2), GREY);
            m.node(&format!("{name} ball's post"), Some(post), DVec3::new(*x, 0.5 * high, *z), None);
        }
    }
    m.finish()
}

pub fn bird_ball_setup() -> String {
    let mut s = Joined::default();
    s.body(&json!({"node": "Ground", "behaviour": "static"}));
    for (name, _, _, mass, _) in LANES {
        let called = |part: &str| format!("{name} ball's {part}");
        s.body(&json!({"node": called("Body"), "density": 500}));
        for part in ["Head", "Beak", "Tail"] {
            s.body(&json!({"node": called(part), "behaviour": "animated"}));
        }
        for part in ["Right wing", "Left wing"] {
            s.body(&json!({
                "node": called(part), "density": 100, "guide": {"follow": "orientation", "space": "parent"},
                "actuator": {"max_torque": "unlimited"},
            }));
            s.joint("pin", [&called("Body"), &called(part)]);
        }
        s.body(&json!({
            "node": format!("{name} ball"), "behaviour": "free", "mass": mass,
            "contact": {"bounce": 0.5},
        }));
        if name != "Falling" {
            s.body(&json!({"node": called("post"), "behaviour": "static"}));
        }
    }
    s.field("bake", &json!({"frames": [0, 84], "tolerance": FIT, "tolerance_deg": FIT_DEG}));
    s.finish()
}
