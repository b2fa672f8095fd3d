//! A suspension bridge of 200 planks: main cables of rods, hangers at their knots, and short ropes from these to the
//! deck.

use super::joined::Joined;
use super::maker::Maker;
use super::{BLUE, CREAM, GREY, RED};
use glam::{DQuat, DVec3};
use serde_json::json;

const PLANKS: usize = 200;
/// A hanger comes after every so many planks.
const BAY: usize = 5;
const BAYS: usize = PLANKS / BAY;
const PLANK: f64 = 0.25;
const SPAN: f64 = PLANK * PLANKS as f64;
/// Half the width of the deck, m.
const ASIDE: f64 = 1.0;
/// How far the deck rises in the middle, and sags between hangers, m.
const CAMBER: f64 = 0.8;
const SLACK: f64 = 0.04;
/// The cables' lowest and highest point above the banks, m.
const LOW: f64 = 1.6;
const HIGH: f64 = 7.0;
/// Length of the ropes, m.
const ROPE: f64 = 0.15;

/// The edge between plank `i` and the next, counted from 0 at the first bank.
fn edge(i: usize) -> DVec3 {
    let x = PLANK * i as f64 - 0.5 * SPAN;
    let across = 2.0 * x / SPAN;
    let along_bay = (i % BAY) as f64 / BAY as f64;
    DVec3::new(x, CAMBER * (1.0 - across * across) - SLACK * 4.0 * along_bay * (1.0 - along_bay), 0.0)
}

/// A knot of a cable, above the edge where its hanger ends.
fn knot(i: usize, side: f64) -> DVec3 {
    let x = PLANK * (i * BAY) as f64 - 0.5 * SPAN;
    let across = 2.0 * x / SPAN;
    DVec3::new(x, LOW + (HIGH - LOW) * across * across, ASIDE * side)
}

const SIDES: [(&str, f64); 2] = [("Right", 1.0), ("Left", -1.0)];

/// One bank jolts, and a wave runs along the bridge.
pub fn bridge() -> String {
    let mut m = Maker::new("Jolt");
    let bank = m.block(DVec3::new(4.0, 3.0, 4.0), GREY);
    let shore = m.node("Shore", Some(bank), DVec3::new(-0.5 * SPAN - 2.0, -1.5, 0.0), None);
    m.node("Far shore", Some(bank), DVec3::new(0.5 * SPAN + 2.0, -1.5, 0.0), None);
    let still = DVec3::new(-0.5 * SPAN - 2.0, -1.5, 0.0);
    let rise = [0.0, 0.0, 1.0, -0.5, 0.0, 0.0];
    m.translate(shore, &[0.0, 0.25, 0.5, 0.85, 1.1, 3.5], &rise.map(|y| still + DVec3::Y * y));
    let post = m.block(DVec3::new(0.4, HIGH + 3.0, 0.3), CREAM);
    for (name, side) in SIDES {
        for (where_, x) in [("near", -0.5), ("far", 0.5)] {
            let foot = DVec3::new(x * SPAN, 0.5 * HIGH - 1.5, side * (ASIDE + 0.3));
            m.node(&format!("{name} {where_} tower"), Some(post), foot, None);
        }
    }
    let skins = [BLUE, CREAM].map(|colour| m.long_block(DVec3::new(0.92 * PLANK, 0.08, 2.0 * ASIDE), colour));
    for i in 0..PLANKS {
        let along = edge(i + 1) - edge(i);
        let node = m.node(&format!("Plank {}", i + 1), Some(skins[i / BAY % 2]), edge(i), None);
        m.turned(node, DQuat::from_rotation_arc(DVec3::X, along.normalize()));
    }
    m.node("Last edge", None, edge(PLANKS), None);
    // The cable is alike from both ends, so each length of rod serves four times.
    let lengths: Vec<f64> = (0..BAYS / 2).map(|i| (knot(i + 1, 1.0) - knot(i, 1.0)).length()).collect();
    let rods: Vec<usize> = lengths.iter().map(|l| m.long_block(DVec3::new(*l, 0.1, 0.1), RED)).collect();
    let reach = |i: usize| knot(i, 1.0).y - edge(i * BAY).y - ROPE;
    let hangers: Vec<usize> =
        (1..=BAYS / 2).map(|i| m.hanging_block(DVec3::new(0.06, reach(i), 0.06), GREY)).collect();
    for (name, side) in SIDES {
        for i in 0..BAYS {
            let along = knot(i + 1, side) - knot(i, side);
            let node = m.node(
                &format!("{name} rod {}", i + 1),
                Some(rods[i.min(BAYS - 1 - i)]),
                knot(i, side),
                None,
            );
            m.turned(node, DQuat::from_rotation_arc(DVec3::X, along.normalize()));
            if i > 0 {
                let mesh = hangers[i.min(BAYS - i) - 1];
                m.node(&format!("{name} hanger {i}"), Some(mesh), knot(i, side), None);
                m.node(&format!("{name} tip {i}"), None, knot(i, side) - DVec3::Y * reach(i), None);
                m.node(&format!("{name} eye {i}"), None, edge(i * BAY) + DVec3::Z * ASIDE * side, None);
            }
        }
        m.node(&format!("{name} end"), None, knot(BAYS, side), None);
    }
    m.finish()
}

/// Planks are hinged, rods are linked, hangers swing from the rods' knots, ropes hold the deck.
pub fn bridge_setup() -> String {
    let mut s = Joined::default();
    s.field("world", &json!({"frames_per_second": 60, "substeps": 1, "fields": [{"kind": "drag", "rate": 0.2, "spin_rate": 1}], "collisions": false}));
    let hinge = json!([0, 0, 1]);
    for i in 1..=PLANKS {
        s.free(&format!("Plank {i}"));
        let before = if i == 1 { "Shore".into() } else { format!("Plank {}", i - 1) };
        s.joint("pin", [&before, &format!("Plank {i}")])["axis"] = hinge.clone();
    }
    // The hinges already keep the deck straight: its end is only held up and back.
    let end = s.joint("ball_socket", ["world", &format!("Plank {PLANKS}")]);
    (end["at"], end["axis"]) = (json!("Last edge"), hinge);
    for (name, _) in SIDES {
        for i in 1..=BAYS {
            let rod = format!("{name} rod {i}");
            s.free(&rod);
            let before = if i == 1 { "world".into() } else { format!("{name} rod {}", i - 1) };
            s.joint("universal", [&before, &rod]);
            if i > 1 {
                let hanger = format!("{name} hanger {}", i - 1);
                s.free(&hanger);
                s.joint("universal", [&rod, &hanger]);
                let plank = format!("Plank {}", (i - 1) * BAY + 1);
                s.joint("rope", [&hanger, &plank])["at"] =
                    json!([format!("{name} tip {}", i - 1), format!("{name} eye {}", i - 1)]);
            }
        }
        let last = format!("{name} rod {BAYS}");
        s.joint("universal", [&last, "world"])["at"] = json!(format!("{name} end"));
    }
    s.finish()
}
