//! Faure 1998, figure 6: a plate that is shaken by hand, 28 solids and 108 scalar constraints. Here a net hangs from
//! its rim: nine strands of two bars, tied together below by a ring of nine more.

use super::joined::Joined;
use super::maker::Maker;
use super::{BLUE, CREAM, GREY, RED, seconds};
use glam::{DQuat, DVec3};
use serde_json::json;
use sinew_core::rotation;
use std::f64::consts::TAU;

const STRANDS: usize = 9;
/// Radius of the rim, and the length of a strand's bars.
const RIM: f64 = 0.7;
const BAR: f64 = 0.4;
const THICK: f64 = 0.05;

/// Where strand `i` is on the rim, or as far below as so many bars reach.
fn knot(i: usize, bars: usize) -> DVec3 {
    let around = rotation::exp(DVec3::Y * TAU * (i % STRANDS) as f64 / STRANDS as f64);
    around * DVec3::X * RIM - DVec3::Y * BAR * bars as f64
}

/// A hand shakes the plate to and fro, tilts it, and twists it.
pub fn plate() -> String {
    let mut m = Maker::new("Shake");
    let corners: Vec<[f64; 2]> = (0..2 * STRANDS)
        .map(|i| rotation::exp(DVec3::Z * TAU * 0.5 * i as f64 / STRANDS as f64) * DVec3::X * (RIM + THICK))
        .map(|p| [p.x, p.y])
        .collect();
    let disc = m.laid_piece(&corners, 0.08, GREY);
    let plate = m.node("Plate", Some(disc), DVec3::ZERO, None);
    // Place across and away, tilt about the line of sight, twist about the vertical.
    let shakes = [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.3, 0.0, -0.15, 0.0],
        [-0.3, 0.0, 0.15, 0.0],
        [0.3, 0.0, -0.15, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.9],
        [0.0, -0.2, 0.0, -0.4],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ];
    let times = seconds(&[0.0, 6.0, 15.0, 30.0, 45.0, 57.0, 69.0, 84.0, 93.0, 114.0]);
    m.translate(plate, &times, &shakes.map(|[x, z, ..]| DVec3::new(x, 0.0, z)));
    let turns =
        shakes.map(|[.., tilt, twist]| rotation::exp(DVec3::Y * twist) * rotation::exp(DVec3::Z * tilt));
    m.rotate(plate, &times, &turns);

    let skins = [CREAM, BLUE].map(|colour| m.hanging_block(DVec3::new(THICK, 0.96 * BAR, THICK), colour));
    let chord = knot(1, 2) - knot(0, 2);
    let tie = m.long_block(DVec3::new(0.96 * chord.length(), THICK, THICK), RED);
    for i in 0..STRANDS {
        for (part, skin) in skins.into_iter().enumerate() {
            m.node(&bar_name(i, part), Some(skin), knot(i, part), None);
        }
        let node = m.node(&tie_name(i), Some(tie), knot(i, 2), None);
        m.turned(node, DQuat::from_rotation_arc(DVec3::X, (knot(i + 1, 2) - knot(i, 2)).normalize()));
    }
    m.finish()
}

fn bar_name(strand: usize, part: usize) -> String {
    format!("Strand {} {}", strand + 1, ["upper", "lower"][part])
}

fn tie_name(strand: usize) -> String {
    format!("Tie {}", strand % STRANDS + 1)
}

/// Where three bars meet, the two ties hang on the strand.
pub fn plate_setup() -> String {
    let mut s = Joined::default();
    s.field("world", &json!({"fields": [{"kind": "drag", "rate": 1, "spin_rate": 3}], "collisions": false}));
    for i in 0..STRANDS {
        let [upper, lower] = [0, 1].map(|part| bar_name(i, part));
        let [before, tie] = [tie_name(i + STRANDS - 1), tie_name(i)];
        [&upper, &lower, &tie].into_iter().for_each(|bar| s.free(bar));
        s.joint("universal", ["Plate", &upper]);
        s.joint("universal", [&upper, &lower]);
        s.joint("universal", [&lower, &tie]);
        s.joint("universal", [&lower, &before])["at"] = json!(tie);
    }
    s.finish()
}
