//! The bird of Lamouret 1995, section 4.4: a body and two wings.

use super::maker::Maker;
use super::{BLUE, CREAM, GREY, RED, seconds};
use glam::{DQuat, DVec3};
use sinew_core::rotation;

/// Wings beat every twelve frames, and are held still for a glide.
pub const BEAT: f64 = 12.0;
const GLIDE: std::ops::Range<f64> = 48.0..72.0;
const END: f64 = 108.0;

/// Wing angles, rad above level.
pub const UP: f64 = 0.8;
pub const DOWN: f64 = -0.5;
const LEVEL: f64 = 0.12;

/// It climbs with beating wings, glides down, and climbs again with a turn to the side.
pub fn bird() -> String {
    let mut m = Maker::new("Flight");
    let body = figure(&mut m, "", DVec3::new(-4.0, 1.0, 0.0));

    let frames: Vec<f64> = (0..=8).map(|i| f64::from(i) * 13.5).collect();
    let places = [
        [-4.0, 1.0, 0.0],
        [-3.0, 1.25, 0.0],
        [-2.0, 1.8, 0.0],
        [-1.0, 2.2, 0.0],
        [0.0, 2.3, 0.05],
        [1.1, 1.8, 0.2],
        [2.2, 1.55, 0.5],
        [3.1, 2.0, 1.1],
        [3.9, 2.4, 1.8],
    ];
    m.translate(body, &seconds(&frames), &places.map(DVec3::from_array));
    // It looks where it flies, and leans into the turn: heading about y, rise about z, lean about x.
    let leans = [
        [0.0, 0.1, 0.0],
        [0.0, 0.35, 0.0],
        [0.0, 0.45, 0.0],
        [0.0, 0.2, 0.0],
        [-0.05, -0.2, 0.1],
        [-0.2, -0.35, 0.25],
        [-0.4, 0.1, 0.4],
        [-0.65, 0.4, 0.35],
        [-0.75, 0.35, 0.2],
    ];
    let turns = leans.map(|[heading, rise, lean]| {
        rotation::exp(DVec3::Y * heading) * rotation::exp(DVec3::Z * rise) * rotation::exp(DVec3::X * lean)
    });
    m.rotate(body, &seconds(&frames), &turns);
    wings(&mut m, "", body, beats());
    m.finish()
}

/// A bird without wings, its nodes' names with `called` before them.
pub fn figure(m: &mut Maker, called: &str, at: DVec3) -> usize {
    let trunk = m.egg(DVec3::new(0.36, 0.13, 0.13), BLUE);
    let body = m.node(&format!("{called}Body"), Some(trunk), at, None);
    let crown = m.egg(DVec3::new(0.13, 0.11, 0.11), BLUE);
    m.node(&format!("{called}Head"), Some(crown), DVec3::new(0.4, 0.09, 0.0), Some(body));
    let point = m.egg(DVec3::new(0.1, 0.025, 0.03), RED);
    m.node(&format!("{called}Beak"), Some(point), DVec3::new(0.55, 0.07, 0.0), Some(body));
    let fan = m.laid_piece(&[[0.0, -0.05], [0.0, 0.05], [-0.42, 0.16], [-0.42, -0.16]], 0.02, GREY);
    m.node(&format!("{called}Tail"), Some(fan), DVec3::new(-0.28, 0.02, 0.0), Some(body));
    body
}

/// Its wings, with the frames and angles of their keys.
pub fn wings(m: &mut Maker, called: &str, body: usize, (times, angles): (Vec<f64>, Vec<f64>)) {
    for (name, side) in [("Right wing", 1.0), ("Left wing", -1.0)] {
        // The leading edge is swept back to the tip.
        let outline = [[0.16, 0.0], [0.2, 0.35], [0.02, 0.95], [-0.12, 0.9], [-0.2, 0.4], [-0.18, 0.0]];
        let mesh = m.laid_piece(&outline.map(|[x, z]| [x, z * side]), 0.03, CREAM);
        let at = DVec3::new(0.05, 0.06, 0.09 * side);
        let wing = m.node(&format!("{called}{name}"), Some(mesh), at, Some(body));
        let turns: Vec<DQuat> = angles.iter().map(|a| rotation::exp(-DVec3::X * *a * side)).collect();
        m.rotate(wing, &seconds(&times), &turns);
    }
}

/// Frames and angles of the wings' keys: up and down, straight, as one blocks a flight.
fn beats() -> (Vec<f64>, Vec<f64>) {
    let mut keys = vec![(0.0, UP)];
    let mut frame = 0.0;
    while frame + BEAT <= END {
        if GLIDE.contains(&(frame + 1.0)) {
            keys.push((GLIDE.start + 0.5 * BEAT, LEVEL));
            keys.push((GLIDE.end, LEVEL));
            keys.push((GLIDE.end + 0.5 * BEAT, UP));
            frame = GLIDE.end + 0.5 * BEAT;
        } else {
            keys.push((frame + 0.5 * BEAT, DOWN));
            keys.push((frame + BEAT, UP));
            frame += BEAT;
        }
    }
    if frame < END {
        keys.push((END, LEVEL));
    }
    keys.into_iter().unzip()
}
