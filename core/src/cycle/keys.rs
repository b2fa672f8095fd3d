//! The keys of a loop, played as often as it may take.

use super::travel::Travel;
use crate::curve::{Curve, Drift, Kind};
use crate::rig::Range;
use crate::scene::{Channel, Clip, Property, Scene};
use crate::setup::{Behaviour, Setup, SetupError, Timing};

/// The slowest thing to settle is the compensation of a limp actuator, at 1/s: so long it takes to fade to a
/// ten-thousandth twice over.
const WARM_UP_S: f64 = 20.0;

/// Turns there are at least before the last one, however long they are.
const FEWEST: f64 = 2.0;

/// Ends of a rotation that are further apart than this are worth a warning, rad: a tenth of a degree.
const APART_RAD: f64 = 1.75e-3;

/// The same for positions, as a share of how far they go.
const APART_SHARE: f64 = 0.01;

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
    let mut windows: Vec<Channel> = clip
        .channels
        .iter()
        .filter(|c| c.property != Property::Weights)
        .map(|c| Channel { curve: c.curve.window(start, end, near), ..c.clone() })
        .collect();
    let mut turned = vec![false; scene.nodes.len()];
    for c in windows.iter().filter(|c| c.property != Property::Translation) {
        turned[c.node] |= extent(&c.curve) > 0.0;
    }
    // Below something that turns, the way of one turn would lead elsewhere in the next.
    let moves_freely = |c: &Channel| {
        let mut above = std::iter::successors(scene.nodes[c.node].parent, |&p| scene.nodes[p].parent);
        c.property == Property::Translation && !above.any(|p| turned[p])
    };
    let travel = Travel::new(scene, setup, &windows, start, moves_freely);
    let frame = 1.0 / range.frames_per_second;
    if setup.bake.frames.is_none() && super::short::is_short(&windows, frame) {
        for c in &mut windows {
            let travels = travel.of(c).iter().any(|t| *t != 0.0);
            c.curve = super::short::completed(&c.curve, frame, travels);
        }
        range.last += 1.0;
        range.turns = (WARM_UP_S / range.length()).ceil().max(FEWEST) as usize + 1;
    }
    // Of what now ends a frame later.
    let travel = Travel::new(scene, setup, &windows, start, moves_freely);
    let mut apart: Vec<(f64, String)> = Vec::new();
    let channels = windows.iter().map(|c| {
        let gap = c.curve.gap();
        let travel = travel.of(c);
        let left = gap.iter().zip(&travel).map(|(g, t)| (g - t) * (g - t)).sum::<f64>().sqrt();
        note(scene, c, left, &mut apart);
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
pub(super) fn extent(curve: &Curve) -> f64 {
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
