//! Cycles that end one frame before their start, as games play them: the last key is not the first one again, but what comes
//! before it.

use crate::curve::{Curve, Kind};
use crate::rotation;
use crate::scene::{Channel, Property};

/// What one more frame of motion leaves of the squared gaps of a cycle that is short of it, at most.
const LEAVES: f64 = 0.25;

/// A cycle goes through its seam at least at this share of its usual speed: what only comes back to rest is no cycle.
const GOES_ON: f64 = 0.1;

/// Velocities before and after a seam that differ by more than this share of their size are no seam's.
const SAME_WAY: f64 = 0.6;

/// A pose that is back within this angle (rad) in the mean is back.
const BACK: f64 = 0.01;

/// What is between the end and the start of a turn, summed up over its rotations, squared.
#[derive(Default)]
struct Seam {
    /// Between the two.
    gap: f64,
    /// The same after one more frame of the motion there.
    after: f64,
    /// The motion of a frame there, and by how much it differs before and after.
    moves: f64,
    differs: f64,
    /// The motion of a frame in the mean of the turn.
    usual: f64,
    count: f64,
}

impl Seam {
    fn of(channels: &[Channel], frame: f64) -> Seam {
        let mut seam = Seam::default();
        for c in channels.iter().filter(|c| c.property == Property::Rotation && c.curve.times().len() > 2) {
            let (start, end) = (c.curve.start(), c.curve.end());
            let at = |t: f64| c.curve.quaternion(t);
            let turn = |from: f64, to: f64| rotation::log(at(from).conjugate() * at(to));
            let gap = turn(end, start);
            let (before, behind) = (turn(end - frame, end), turn(start, start + frame));
            let mean = 0.5 * (before + behind);
            seam.gap += gap.length_squared();
            seam.after += (gap - mean).length_squared();
            seam.moves += mean.length_squared();
            seam.differs += (behind - before).length_squared();
            let frames = ((end - start) / frame).round().clamp(1.0, 200.0);
            let step = (end - start) / frames;
            let moved = (0..frames as usize).map(|k| {
                let from = start + step * k as f64;
                turn(from, from + step).length_squared()
            });
            seam.usual += moved.sum::<f64>() / frames;
            seam.count += 1.0;
        }
        seam
    }

    /// Whether the motion goes on through it.
    fn goes_on(&self) -> bool {
        self.moves > GOES_ON * GOES_ON * self.usual && self.differs < SAME_WAY * SAME_WAY * self.moves
    }

    /// Whether a frame is missing.
    fn is_short(&self) -> bool {
        self.gap > 0.0 && self.after < LEAVES * self.gap && self.goes_on()
    }
}

/// Whether a turn ends one frame (s) before its start.
pub(super) fn is_short(channels: &[Channel], frame: f64) -> bool {
    Seam::of(channels, frame).is_short()
}

/// Whether a clip is a cycle: its last pose is the first one, or comes one frame (s) before it, and the motion goes on.
pub fn is_cycle(channels: &[Channel], frame: f64) -> bool {
    let seam = Seam::of(channels, frame);
    seam.count > 0.0 && (seam.is_short() || seam.gap < BACK * BACK * seam.count && seam.goes_on())
}

/// A turn with its first key again one frame (s) later than its last; a curve that `travels` goes on as it went.
pub(super) fn completed(curve: &Curve, frame: f64, travels: bool) -> Curve {
    let w = curve.width();
    let mut first = curve.values()[..w].to_vec();
    if travels && curve.kind() == Kind::Vector {
        let (start, end) = (curve.start(), curve.end());
        let [a, b, c, d] = [start, start + frame, end - frame, end].map(|t| curve.vector(t));
        first = (d + 0.5 * ((b - a) + (d - c))).to_array().to_vec();
    }
    curve.and_then(frame, &first)
}
