//! Guides that run through the keys on a spline of their own instead of the animator's tangents.

use super::{Behaviour, Setup, SetupError, Through};
use crate::curve::{Curve, CurveError, Tcb};
use crate::scene::{Clip, Property, Scene};
use std::collections::HashMap;

/// The clip with the curves of such guides replaced; `None` when there is none. `bodies`: set-up body by node.
pub fn respline(
    scene: &Scene,
    setup: &Setup,
    clip: Option<&Clip>,
    bodies: &HashMap<usize, usize>,
) -> Result<Option<Clip>, SetupError> {
    // Only what is guided: an animated parent keeps its own keys in the file.
    let through = |node: usize| {
        let body = bodies.get(&node).map(|&b| &setup.bodies[b]);
        body.filter(|b| b.behaviour == Behaviour::Guided).map_or(Through::Keyed {}, |b| b.guide.through)
    };
    for (b, body) in setup.bodies.iter().enumerate() {
        let Through::Tcb { tension, continuity, bias } = body.guide.through else { continue };
        if let Some(v) = [tension, continuity, bias].into_iter().find(|v| !(-1.0..=1.0).contains(v)) {
            let place = format!("bodies[{b}] \"{}\".guide.through", body.node);
            return Err(SetupError::new(place, format!("{v} is out of range; give -1 to 1")));
        }
    }
    let Some(clip) = clip.filter(|c| c.channels.iter().any(|ch| through(ch.node) != Through::Keyed {}))
    else {
        return Ok(None);
    };
    let mut clip = clip.clone();
    for channel in &mut clip.channels {
        if !matches!(channel.property, Property::Translation | Property::Rotation) {
            continue;
        }
        let curve = spline(&channel.curve, through(channel.node));
        channel.curve = curve.map_err(|e| {
            SetupError::new(
                format!("bodies[{}] {}.guide.through", bodies[&channel.node], scene.label(channel.node)),
                e.to_string(),
            )
        })?;
    }
    Ok(Some(clip))
}

/// A spline through the keys of `curve`.
fn spline(curve: &Curve, through: Through) -> Result<Curve, CurveError> {
    let (kind, width, times, values) =
        (curve.kind(), curve.width(), curve.times().to_vec(), curve.values().to_vec());
    match through {
        Through::Keyed {} => Ok(curve.clone()),
        _ if times.len() < 2 => Ok(curve.clone()),
        Through::CatmullRom {} => Curve::catmull_rom(kind, width, times, values),
        Through::Tcb { tension, continuity, bias } => {
            let shape = vec![Tcb { tension, continuity, bias }; times.len()];
            Curve::kochanek_bartels(kind, width, times, values, &shape)
        }
    }
}
