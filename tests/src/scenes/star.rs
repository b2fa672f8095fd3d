//! Faure 1998, figure 5: a structure of 56 solids and 261 scalar constraints, dragged by hand. Here a brittle star: a
//! disc with five arms of eleven links, and the hand at the tip of one.

use super::joined::Joined;
use super::maker::Maker;
use super::{CREAM, GREY, PURPLE, RED};
use glam::DVec3;
use serde_json::json;
use sinew_core::rotation;
use std::f64::consts::TAU;

const ARMS: usize = 5;
const LINKS: usize = 11;
const LINK: f64 = 0.22;
/// Radius of the disc.
const DISC: f64 = 0.3;
/// These links of an arm turn every way, the others about the vertical only.
const LOOSE: [usize; 2] = [1, 6];

/// A hand that pulls one arm out and leads the star round a bend.
pub fn drag() -> String {
    let mut m = Maker::new("Drag");
    let corners: Vec<[f64; 2]> = (0..10)
        .map(|i| rotation::exp(DVec3::Z * TAU * 0.1 * f64::from(i)) * DVec3::X * DISC)
        .map(|p| [p.x, p.y])
        .collect();
    let disc = m.laid_piece(&corners, 0.12, PURPLE);
    m.node("Disc", Some(disc), DVec3::ZERO, None);
    // Arms taper in three sizes.
    let skins = [
        [0.1, 0.08, 0.06].map(|w| m.long_block(DVec3::new(0.94 * LINK, w, w), RED)),
        [0.1, 0.08, 0.06].map(|w| m.long_block(DVec3::new(0.94 * LINK, w, w), CREAM)),
    ];
    let mut tip = DVec3::ZERO;
    for arm in 1..=ARMS {
        let mut heading = TAU * (arm - 1) as f64 / ARMS as f64;
        let mut at = rotation::exp(DVec3::Y * heading) * DVec3::X * DISC;
        for link in 1..=LINKS {
            // Each arm curls a little, all the same way round.
            heading += 0.09;
            let turn = rotation::exp(DVec3::Y * heading);
            let node = m.node(&link_name(arm, link), Some(skins[link % 2][(link - 1) / 4]), at, None);
            m.turned(node, turn);
            at += turn * DVec3::X * LINK;
        }
        if arm == 1 {
            tip = at;
        }
    }
    let grip = m.block(DVec3::new(0.16, 0.2, 0.16), GREY);
    let hand = m.node("Hand", Some(grip), tip, None);
    // Where it pulls to, and how it turns so that the arm trails behind it.
    let way = [
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.0, 0.2, -1.1],
        [2.4, 0.2, -1.3],
        [3.6, 1.2, -1.7],
        [3.8, 2.8, -2.3],
        [2.8, 4.2, -2.9],
        [2.8, 4.2, -2.9],
    ];
    let times = [0.0, 0.25, 0.75, 1.5, 2.25, 3.0, 3.75, 4.5];
    m.translate(hand, &times, &way.map(|[x, z, _]| tip + DVec3::new(x, 0.0, z)));
    m.rotate(hand, &times, &way.map(|[.., turn]| rotation::exp(DVec3::Y * turn)));
    m.finish()
}

fn link_name(arm: usize, link: usize) -> String {
    format!("Arm {arm} link {link}")
}

/// It lies in water: nothing falls, and everything comes to rest.
pub fn drag_setup() -> String {
    let mut s = Joined::default();
    s.field("world", &json!({"gravity": [0, 0, 0], "fields": [{"kind": "drag", "rate": 5, "spin_rate": 6}], "collisions": false}));
    s.free("Disc");
    for arm in 1..=ARMS {
        let mut before = "Disc".to_owned();
        for link in 1..=LINKS {
            let name = link_name(arm, link);
            s.free(&name);
            match LOOSE.contains(&link) {
                true => _ = s.joint("universal", [&before, &name]),
                false => s.joint("pin", [&before, &name])["axis"] = json!([0, 1, 0]),
            }
            before = name;
        }
    }
    s.joint("fixed", ["Hand", &link_name(1, LINKS)])["at"] = json!("Hand");
    s.finish()
}
