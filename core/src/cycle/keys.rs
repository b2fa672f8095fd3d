//! The keys of a loop, played as often as it may take.

use crate::curve::{Curve, Drift, Kind};
use crate::rig::Range;
use crate::scene::{Channel, Clip, Property, Scene};
use crate::setup::{Behaviour, Setup, SetupError, Timing};
use glam::DVec3;

/// The slowest thing to settle is the compensation of a limp actuator, at 1/s: so long it takes to fade to a
/// ten-thousandth twice over.
const WARM_UP_S: f64 = 20.0;

/// Turns there are at least before the last one, however long they are.
const FEWEST: f64 = 2.0;

/// Ends of a rotation that are further apart than this are worth a warning, rad: a tenth of a degree.
const APART_RAD: f64 = 1.75e-3;

/// The same for positions, as a share of how far they go.
const APART_SHARE: f64 = 0.01;

/// Travel below this share of how far a curve goes is the rounding of files.
const ROUNDING: f64 = 1e-5;

/// Beyond this share of how far a channel goes, an even drift would take the motion itself away.
const LATE_SHARE: f64 = 0.25;

/// The clip with the keys of the range repeated, if the set-up wants a loop; `range` is told how often.
pub(crate) fn keys(
    scene: &Scene,
    setup: &Setup,
    clip: Option<&Clip>,
    range: &mut Range,
    warnings: &mut Vec<String>,
) -> Result<Option<Clip>, SetupError> {
    if !setup.bake.looped {
        return Ok(None);
    }
    let late = setup.bodies.iter().find(|b| {
        b.behaviour == Behaviour::Guided && (b.guide.timing != Timing::Timed || !b.guide.waits.is_empty())
    });
    if let Some(body) = late {
        let why = format!(
            "\"{}\" takes its own time along the keys, so no turn is as long as the next; give its guide \"timing\": \"timed\" and no \"waits\"",
            body.node
        );
        return Err(SetupError::new("bake.loop", why));
    }
    if range.frames() < 4 {
        let why = format!("a cycle of {} frames is too short; give a range of four or more", range.frames());
        return Err(SetupError::new("bake.loop", why));
    }
    range.turns = (WARM_UP_S / range.length()).ceil().max(FEWEST) as usize + 1;
    let Some(clip) = clip else { return Ok(None) };

    let (start, end) = (range.start(), range.start() + range.length());
    let near = 2e-3 / range.frames_per_second;
    let windows: Vec<Channel> = clip
        .channels
        .iter()
        .filter(|c| c.property != Property::Weights)
        .map(|c| Channel { curve: c.curve.window(start, end, near), ..c.clone() })
        .collect();
    let mut turned = vec![false; scene.nodes.len()];
    for c in windows.iter().filter(|c| c.property != Property::Translation) {
        turned[c.node] |= extent(&c.curve) > 0.0;
    }
    let mut apart: Vec<(f64, String)> = Vec::new();
    let channels = windows.iter().map(|c| {
        let gap = c.curve.gap();
        let size = gap.iter().map(|g| g * g).sum::<f64>().sqrt();
        let mut above = std::iter::successors(scene.nodes[c.node].parent, |&p| scene.nodes[p].parent);
        // Below something that turns, the way of one turn would lead elsewhere in the next.
        let root = c.property == Property::Translation && !above.any(|p| turned[p]);
        let travels = root && size > ROUNDING * extent(&c.curve);
        let travel = if travels { gap } else { vec![0.0; gap.len()] };
        if !travels {
            note(scene, c, size, &mut apart);
        }
        let left = if travels { 0.0 } else { size };
        let drift = if left > LATE_SHARE * extent(&c.curve) { Drift::Late } else { Drift::Even };
        let curve = c.curve.closed(&travel, drift).repeated(range.turns, &travel);
        Channel { curve, ..c.clone() }
    });
    let clip = Clip { name: clip.name.clone(), channels: channels.collect() };
    if !apart.is_empty() {
        apart.sort_by(|a, b| b.0.total_cmp(&a.0));
        let more = if apart.len() > MOST_NAMED {
            format!(" and {} more", apart.len() - MOST_NAMED)
        } else {
            String::new()
        };
        let named: Vec<&str> = apart.iter().take(MOST_NAMED).map(|a| a.1.as_str()).collect();
        warnings.push(format!(
            "the keys are no whole cycle: the last pose is not the first one of {}{more}; the difference is spread over the turn; to choose yourself, key the first pose again at the last frame",
            named.join(", ")
        ));
    }
    Ok(Some(clip))
}

/// Nodes that one warning names.
const MOST_NAMED: usize = 3;

/// Notes a channel whose ends are apart, with how bad that is.
fn note(scene: &Scene, channel: &Channel, size: f64, apart: &mut Vec<(f64, String)>) {
    let label = scene.label(channel.node);
    if channel.property == Property::Rotation && size > APART_RAD {
        apart.push((size / APART_RAD, format!("{label} (by {:.2} deg)", size.to_degrees())));
    }
    let share = size / extent(&channel.curve).max(f64::MIN_POSITIVE);
    if channel.property != Property::Rotation && share > APART_SHARE {
        let what = if channel.property == Property::Scale { "scale " } else { "" };
        apart.push((share / APART_SHARE, format!("{label} ({what}by {size:.4})")));
    }
}

/// How far a curve's keys go from the first: in its unit, or for rotations about rad (a quaternion goes half as far).
fn extent(curve: &Curve) -> f64 {
    let first = &curve.values()[..curve.width()];
    let distance = |sign: f64, row: &[f64]| {
        row.iter().zip(first).map(|(a, b)| (a - sign * b) * (a - sign * b)).sum::<f64>().sqrt()
    };
    let apart = |row: &[f64]| match curve.kind() {
        Kind::Vector => distance(1.0, row),
        Kind::Rotation => 2.0 * distance(1.0, row).min(distance(-1.0, row)),
    };
    curve.values().chunks_exact(curve.width()).map(apart).fold(0.0, f64::max)
}

/// What each turn carries every solid of a rig further on, world, scene units.
pub(crate) fn travel(rig: &crate::rig::Rig) -> Vec<DVec3> {
    let (start, end) = (rig.range.start(), rig.range.start() + rig.range.length());
    let keyed = |i: usize| {
        let (a, b) = (rig.keyed(i, start).position, rig.keyed(i, end).position);
        // Rounding of times and paths.
        if (b - a).length() > 1e-9 * (rig.solids[i].radius + a.length()) { b - a } else { DVec3::ZERO }
    };
    let mut travel: Vec<DVec3> = Vec::with_capacity(rig.solids.len());
    for i in 0..rig.solids.len() {
        travel.push(rig.carrier(i).map_or_else(|| keyed(i), |c| travel[c]));
    }
    travel
}
