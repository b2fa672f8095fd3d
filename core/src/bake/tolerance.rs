//! How near baked keys must be to the simulation: by what shows.
//!
//! An angle shows at the end of what it turns. A bone may be off by what moves the end of its chain by a thousandth of the
//! figure's size: a finger by a degree, a spine by a twentieth of one.

use crate::rig::Rig;
use crate::setup::Bake;

/// How near keys must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Scene units.
    pub place: f64,
    /// Of rotations.
    pub degrees: f64,
}

/// Default tolerance for positions as a share of the body's radius.
const PLACE: f64 = 2e-3;

/// How far the end of a chain may be off by each of its bones, as a share of the figure's size.
const SHOWS: f64 = 1e-3;

/// The least and the most that a rotation may be off, degrees.
const DEGREES: [f64; 2] = [0.05, 1.0];

/// The tolerance of each solid of a rig; a set-up's own holds for all.
pub fn tolerances(rig: &Rig, options: &Bake) -> Vec<Tolerance> {
    let start = rig.range.start();
    let at: Vec<_> = (0..rig.solids.len()).map(|i| rig.keyed(i, start).position).collect();
    // How far everything that a solid carries reaches from it; parents come before children.
    let mut reach: Vec<f64> = rig.solids.iter().map(|s| s.radius).collect();
    let mut root: Vec<usize> = (0..rig.solids.len()).collect();
    for i in 0..rig.solids.len() {
        let mut above = rig.carrier(i);
        while let Some(a) = above {
            reach[a] = reach[a].max((at[i] - at[a]).length() + rig.solids[i].radius);
            root[i] = a;
            above = rig.carrier(a);
        }
    }
    let mut size = reach.clone();
    for i in 0..rig.solids.len() {
        for k in (0..i).filter(|k| root[*k] == root[i]) {
            size[root[i]] = size[root[i]].max((at[i] - at[k]).length());
        }
    }
    let of = |i: usize| {
        let shows = (SHOWS * size[root[i]] / reach[i]).to_degrees().clamp(DEGREES[0], DEGREES[1]);
        let alone = rig.carrier(i).is_none() && size[i] == reach[i] && reach[i] == rig.solids[i].radius;
        Tolerance {
            place: options.tolerance.unwrap_or(PLACE * rig.solids[i].radius),
            degrees: options.tolerance_deg.unwrap_or(if alone { DEGREES[0] } else { shows }),
        }
    };
    (0..rig.solids.len()).map(of).collect()
}
