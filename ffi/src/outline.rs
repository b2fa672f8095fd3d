//! What touches, as lines to draw.

use crate::guard::guard;
use crate::live;
use crate::output::{self, Out};
use crate::result::sinew_result;
use crate::session::sinew_session;
use glam::DVec3;
use sinew_core::rig::Carrier;
use sinew_core::scene::Placement;

/// Copies lines that show what a node touches with, in the world and the host's axes as it is now: six numbers per line,
/// the places of its two ends. None for a node that nothing touches. `length` gets how many numbers there are, and may
/// be NULL; `lines` NULL with `capacity` 0 only asks for that.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_outline(
    session: *const sinew_session,
    node: u32,
    lines: *mut f64,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let session = live::get(session)?;
        let session = session.read()?;
        let (inner, rig) = (&session.inner, session.inner.rig());
        let mut numbers = Vec::new();
        for collider in rig.colliders.all.iter().filter(|c| c.node == node as usize) {
            let carrier = match collider.carrier {
                Carrier::Solid(s) => inner.sample(s).node.then(&rig.solids[s].offset),
                Carrier::Keys(path) => rig.paths[path].placement(inner.time()),
                Carrier::World => Placement::IDENTITY,
            };
            let place = carrier.then(&collider.place);
            let outside = |p: DVec3| session.axes.outward((place.position + place.rotation * p).into());
            numbers.extend(collider.geometry.outline().into_iter().flatten().flat_map(outside));
        }
        // SAFETY: the promises of the crate.
        let (length, place) = unsafe {
            (Out::maybe(length, "length")?, output::buffer(lines, capacity, numbers.len(), "lines")?)
        };
        length.set(numbers.len());
        if let Some(place) = place {
            place.fill(numbers);
        }
        Ok(())
    })
}
