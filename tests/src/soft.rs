//! The picture of coatings: balls pressed on a floor and on each other, cut through the middle.

use glam::DVec3;
use sinew_core::coating::{Placed, deform};
use sinew_core::rig::{Carrier, Coating, Collider, Material};
use sinew_core::scene::Placement;
use sinew_core::shape::Geometry;
use sinew_plugin::plot::{Outline, draw_sections};
use std::f64::consts::{PI, TAU};

/// Meridians and rings of a ball's mesh. The first meridian and the opposite one are the cut.
const AROUND: usize = 96;
const DOWN: usize = 160;

/// Draws it.
pub fn picture() -> String {
    let ball = |k: Option<f64>| collider(Geometry::ball(1.0), k);
    let floor = collider(Geometry::half_space(), None);
    let at = |y: f64| Placement { position: DVec3::Y * y, ..Placement::IDENTITY };
    let (soft, stiff) = (ball(Some(1e4)), ball(Some(4e4)));
    let ground = |y: f64| {
        let line = vec![(-1.4, y), (1.4, y)];
        Outline { rest: line.clone(), now: line }
    };
    let pair = |other: &Collider| {
        vec![outline(&soft, &[(other, at(1.7))], -0.85), outline(other, &[(&soft, at(-1.7))], 0.85)]
    };
    let on_floor = vec![outline(&soft, &[(&floor, at(-0.75))], 0.0), ground(-0.75)];
    draw_sections(
        "Elastic coatings, cut through (dashed: at rest)",
        &[("on a floor", on_floor), ("two alike", pair(&soft)), ("above four times as stiff", pair(&stiff))],
    )
}

fn collider(geometry: Geometry, stiffness: Option<f64>) -> Collider {
    Collider {
        node: 0,
        name: String::new(),
        carrier: Carrier::World,
        place: Placement::IDENTITY,
        geometry,
        material: Material { friction: 0.5, grip: 0.5, bounce: 0.0, rolling: 0.0 },
        size: 2.0,
        member: 1,
        touches: 1,
        coating: stiffness.map(|stiffness| Coating { thickness: 0.4, stiffness, damping: 0.5 }),
    }
}

/// A ball of radius 1 among partners, drawn `up` from its place.
fn outline(own: &Collider, partners: &[Placed<'_>], up: f64) -> Outline {
    let place = |ring: usize, turn: usize| {
        let (a, b) = (PI * ring as f64 / DOWN as f64, TAU * turn as f64 / AROUND as f64);
        DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin())
    };
    let vertex = |ring: usize, turn: usize| ring * AROUND + turn % AROUND;
    let rest: Vec<DVec3> = (0..=DOWN).flat_map(|r| (0..AROUND).map(move |t| place(r, t))).collect();
    let mut triangles = Vec::new();
    for (r, t) in (0..DOWN).flat_map(|r| (0..AROUND).map(move |t| (r, t))) {
        let [a, b, c, d] =
            [vertex(r, t), vertex(r, t + 1), vertex(r + 1, t + 1), vertex(r + 1, t)].map(|i| i as u32);
        triangles.extend([[a, b, c], [a, c, d]]);
    }
    let mut now = rest.clone();
    deform(&[(own, Placement::IDENTITY)], partners, &rest, &triangles, &mut now);
    let cut = |p: &[DVec3]| {
        let right = (0..=DOWN).map(|r| p[vertex(r, 0)]);
        let left = (0..=DOWN).rev().map(|r| p[vertex(r, AROUND / 2)]);
        right.chain(left).map(|p| (p.x, p.y + up)).collect()
    };
    Outline { rest: cut(&rest), now: cut(&now) }
}
