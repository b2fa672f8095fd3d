//! Faure 1998, figure 3: characters of different sizes, bound hand to foot. Forty of them, each of four bodies, are
//! to build a pyramid: 758 scalar constraints.

use super::joined::Joined;
use super::maker::Maker;
use super::solid;
use super::{COLOURS, CREAM, GREY};
use crate::scatter;
use glam::{DQuat, DVec3};
use serde_json::json;
use sinew_core::rotation;

/// Characters per row, from the ground up.
const ROWS: [usize; 5] = [10, 9, 8, 7, 6];
/// Measures of a character of size 1, m.
const HIPS: f64 = 0.85;
const FOOT_ASIDE: f64 = 0.22;
const SHOULDER: DVec3 = DVec3::new(0.2, 0.55, 0.0);
const ARM: f64 = 0.62;
/// How steep arms are raised, rad above level.
const RAISED: f64 = 1.05;
/// Between neighbours, and from row to row, m: roughly what arms reach.
const ASIDE: f64 = 1.46;
const ABOVE: f64 = 1.95;

struct Character {
    name: String,
    size: f64,
    hips: DVec3,
    turn: DQuat,
    /// How steep the right and the left arm are raised.
    raised: [f64; 2],
}

/// Everyone, in rows. Whoever stands on the ground stands well; the others are placed by eye.
fn characters() -> Vec<Vec<Character>> {
    let mut drawn = 0;
    let mut between = |low: f64, high: f64| {
        drawn += 1;
        low + (high - low) * scatter::unit(drawn)
    };
    ROWS.iter()
        .enumerate()
        .map(|(row, &count)| {
            (0..count)
                .map(|i| {
                    let size = between(0.92, 1.08);
                    let across = (i as f64 - 0.5 * (count as f64 - 1.0)) * ASIDE;
                    let mut hips = DVec3::new(across, row as f64 * ABOVE + HIPS * size, 0.0);
                    let mut turn = DQuat::IDENTITY;
                    let raised = [(); 2].map(|()| RAISED + between(-0.3, 0.3));
                    if row > 0 {
                        hips += DVec3::new(between(-0.2, 0.2), between(0.1, 0.4), between(-0.25, 0.25));
                        turn = rotation::exp(DVec3::new(
                            between(-0.15, 0.15),
                            between(-0.4, 0.4),
                            between(-0.15, 0.15),
                        ));
                    }
                    Character { name: format!("{}.{}", row + 1, i + 1), size, hips, turn, raised }
                })
                .collect()
        })
        .collect()
}

const SIDES: [(&str, f64); 2] = [("right", 1.0), ("left", -1.0)];

/// The characters as they were placed, hands and feet apart.
pub fn hand_to_foot() -> String {
    let mut m = Maker::new("");
    let ground = m.block(DVec3::new(17.0, 0.1, 3.0), GREY);
    m.node("Ground", Some(ground), DVec3::new(0.0, -0.05, 0.0), None);
    let leg = |side: f64| {
        let outline = [[0.3, -HIPS], [0.14, -HIPS], [0.0, 0.04], [0.16, 0.04]];
        solid::piece(&outline.map(|[x, y]| [x * side, y]), 0.14)
    };
    let trousers = m.of_one_colour(&leg(1.0).with(&leg(-1.0)), [0.1, 0.1, 0.14]);
    let trunk = solid::piece(&[[-0.13, 0.04], [0.13, 0.04], [0.2, 0.6], [-0.2, 0.6]], 0.18)
        .with(&solid::ball(0.13, 1).moved(DVec3::Y * 0.74));
    let shirts = COLOURS.map(|colour| m.of_one_colour(&trunk, colour));
    let sleeve = solid::block(DVec3::new(ARM, 0.09, 0.09), DVec3::X * ARM * 0.5)
        .with(&solid::ball(0.07, 0).moved(DVec3::X * ARM));
    let sleeve = m.of_one_colour(&sleeve, CREAM);
    for (row, characters) in characters().iter().enumerate() {
        for (i, c) in characters.iter().enumerate() {
            let mut part = |name: &str, mesh: usize, place: DVec3, turn: DQuat| {
                let node = m.node(&format!("{} {name}", c.name), Some(mesh), place, None);
                m.turned(node, turn);
                m.scaled(node, c.size);
                node
            };
            part("trunk", shirts[(row + i) % shirts.len()], c.hips, c.turn);
            let legs = part("legs", trousers, c.hips, c.turn);
            let arms = [0, 1].map(|k| {
                let (name, side) = SIDES[k];
                let shoulder = c.turn * (SHOULDER * DVec3::new(side, 1.0, 1.0)) * c.size;
                let angle = if side > 0.0 { c.raised[k] } else { std::f64::consts::PI - c.raised[k] };
                part(
                    &format!("{name} arm"),
                    sleeve,
                    c.hips + shoulder,
                    c.turn * rotation::exp(DVec3::Z * angle),
                )
            });
            // Where hands and feet take hold.
            for ((name, side), arm) in SIDES.into_iter().zip(arms) {
                let foot = DVec3::new(FOOT_ASIDE * side, -HIPS, 0.0);
                m.node(&format!("{} {name} foot", c.name), None, foot, Some(legs));
                m.node(&format!("{} {name} hand", c.name), None, DVec3::X * ARM, Some(arm));
            }
        }
    }
    m.finish()
}

/// Shoulders and hips, feet on hands, and the lowest on the ground.
pub fn hand_to_foot_setup() -> String {
    let mut s = Joined::default();
    s.field("world", &json!({"collisions": false}));
    let rows = characters();
    for (row, characters) in rows.iter().enumerate() {
        for (i, c) in characters.iter().enumerate() {
            let part = |what: &str| format!("{} {what}", c.name);
            let (trunk, legs) = (part("trunk"), part("legs"));
            s.free(&trunk);
            s.free(&legs);
            s.joint("universal", [&trunk, &legs]);
            for (name, _) in SIDES {
                let arm = part(&format!("{name} arm"));
                s.free(&arm);
                s.joint("pin", [&trunk, &arm])["axis"] = json!((c.turn * DVec3::Z).to_array());
            }
            if row > 0 {
                // The right foot on the left hand of who stands to the right below, and the other way round.
                let below = [&rows[row - 1][i + 1], &rows[row - 1][i]];
                for (k, (foot, hand)) in [("right", "left"), ("left", "right")].into_iter().enumerate() {
                    let arm = format!("{} {hand} arm", below[k].name);
                    let at = [format!("{} {hand} hand", below[k].name), part(&format!("{foot} foot"))];
                    s.joint("universal", [&arm, &legs])["at"] = json!(at);
                }
            } else if i == 0 || i + 1 == characters.len() {
                // The outermost lean on one foot.
                let foot = if i == 0 { "left foot" } else { "right foot" };
                let joint = s.joint("pin", ["world", &legs]);
                joint["at"] = json!(part(foot));
                joint["axis"] = json!([0, 0, 1]);
            } else {
                s.joint("fixed", ["world", &legs]);
            }
        }
    }
    s.finish()
}
