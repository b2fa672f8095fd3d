//! Which frames are simulated, and at which rate.

use crate::scene::{Clip, Scene};
use crate::setup::{Setup, SetupError};

/// Frames and steps of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Frames per second.
    pub frames_per_second: f64,
    /// First frame; time 0 is frame 0.
    pub first: f64,
    /// Last frame, at least the first.
    pub last: f64,
    /// Simulation steps per frame.
    pub substeps: u32,
    /// Whether they differ in length.
    pub uneven_substeps: bool,
    /// Steps per second, where they do not hang on the frames.
    pub steps_per_second: Option<f64>,
    /// Whether the job goes on past `last` until `path` guides arrive, and at most to which frame.
    pub arrive_by: Option<f64>,
    /// How often the range may be played, turn after turn, until it repeats; 1 unless it is a loop.
    pub turns: usize,
}

impl Range {
    /// Time of the first frame (s).
    pub fn start(&self) -> f64 {
        self.first / self.frames_per_second
    }

    /// Time of frame number `i` counted from the first one (s). A range that ends between two frames has its last
    /// sample at its end, so that a loop stays as long as it was.
    pub fn time(&self, i: usize) -> f64 {
        if self.turns > 1 {
            let per_turn = self.frames() - 1;
            let (turn, frame) = (i / per_turn, i % per_turn);
            let before = (self.last - self.first) * turn as f64;
            return (self.first + before + frame as f64) / self.frames_per_second;
        }
        let frame = self.first + i as f64;
        let ends_here = self.arrive_by.is_none() && i + 1 == self.frames();
        (if ends_here { self.last } else { frame }) / self.frames_per_second
    }

    /// Seconds from the first frame to the last.
    pub fn length(&self) -> f64 {
        (self.last - self.first) / self.frames_per_second
    }

    /// The time in the first turn of a loop that a later one repeats (s).
    #[inline]
    pub fn in_first_turn(&self, time: f64) -> f64 {
        if self.turns > 1 { self.start() + (time - self.start()).rem_euclid(self.length()) } else { time }
    }

    /// Number of samples from first to last, both counted.
    pub fn frames(&self) -> usize {
        (self.last - self.first - 1e-6).ceil().max(0.0) as usize + 1
    }

    /// The same when the job may go on until arrival.
    pub fn most_frames(&self) -> usize {
        (self.arrive_by.unwrap_or(self.last) - self.first).ceil() as usize + 1
    }
}

/// No shot is longer than this; a range beyond it is a slip of the pen (a key at 1e9 s), not a wish.
const MOST_FRAMES: f64 = 1e6;

/// `path` guides may take this many times as long as their keys before a job gives up on their arrival.
const ARRIVAL_PATIENCE: f64 = 4.0;

/// The range of a job: what the set-up says, or else the clip's.
pub fn range(
    scene: &Scene,
    setup: &Setup,
    clip: Option<&Clip>,
    until_arrival: bool,
) -> Result<Range, SetupError> {
    let rate = setup.world.frames_per_second.unwrap_or(scene.frames_per_second);
    if !(rate.is_finite() && rate > 0.0 && rate <= 1e5) {
        return Err(SetupError::new(
            "world.frames_per_second",
            format!("{rate} is no frame rate; give 24, 25, 30 ..."),
        ));
    }
    if setup.world.substeps == 0 || setup.world.substeps > 10_000 {
        return Err(SetupError::new(
            "world.substeps",
            format!("{} steps per frame; give 1 to 10000", setup.world.substeps),
        ));
    }
    let steps = setup.world.steps_per_second;
    if let Some(steps) = steps.filter(|s| !(s.is_finite() && *s >= 1.0 && *s <= 1e6)) {
        return Err(SetupError::new(
            "world.steps_per_second",
            format!("{steps} steps per second; give 1 to 1000000, 120 for instance"),
        ));
    }
    let given = setup.bake.frames.is_some();
    let (first, last) = match (setup.bake.frames, clip.and_then(Clip::range)) {
        (Some([first, last]), _) => (first, last),
        // A key a hair past a frame belongs to that frame: key times are rounded to f32 in files.
        (None, Some((start, end))) => ((start * rate + 1e-3).floor(), near_frame(end * rate)),
        (None, None) => {
            return Err(SetupError::new(
                "bake.frames",
                "the scene has no keys, so the range must be given: \"frames\": [first, last], or --frames FIRST LAST",
            ));
        }
    };
    let last = if given { last } else { last.max(first) };
    if !(first.is_finite() && last.is_finite() && last >= first) {
        return Err(SetupError::new(
            "bake.frames",
            format!("[{first}, {last}] is no range; the last frame comes after the first"),
        ));
    }
    if last - first > MOST_FRAMES || first.abs() > 1e9 {
        return Err(SetupError::new(
            "bake.frames",
            format!(
                "{} frames are more than a shot has; check the last key's time or give a range",
                last - first
            ),
        ));
    }
    let arrive_by = (until_arrival && !given)
        .then(|| first + ((last - first).max(rate) * ARRIVAL_PATIENCE).min(MOST_FRAMES));
    Ok(Range {
        frames_per_second: rate,
        first,
        last,
        substeps: steps.map_or(setup.world.substeps, |s| ((s / rate - 1e-3).ceil() as u32).clamp(1, 10_000)),
        steps_per_second: steps,
        uneven_substeps: setup.world.uneven_substeps,
        arrive_by,
        turns: 1,
    })
}

/// A frame number, whole if it is a hair away from one.
fn near_frame(frame: f64) -> f64 {
    if (frame - frame.round()).abs() < 1e-3 { frame.round() } else { frame }
}

/// The frame rate that a clip was keyed at, for formats that do not say: the lowest usual one of whose frames at
/// least nine in ten distances between keys are multiples, else 24. Distances and not times: one odd gap in a clip
/// puts every later key off its frame.
pub fn frame_rate(clip: &Clip) -> f64 {
    let distances: Vec<(f64, f64)> = clip
        .channels
        .iter()
        .flat_map(|c| c.curve.times().windows(2).map(|pair| (pair[1] - pair[0], pair[1].abs())))
        .collect();
    let on_frames = |rate: f64| {
        // Times are stored as f32: allow its rounding at the key's own size.
        let multiple = |&&(d, t): &&(f64, f64)| {
            let frames = d * rate;
            frames > 0.5 && (frames - frames.round()).abs() < 1e-3 + t * rate * 2e-7
        };
        distances.iter().filter(multiple).count() * 10 >= distances.len() * 9
    };
    let usual = [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 120.0];
    usual.into_iter().find(|r| !distances.is_empty() && on_frames(*r)).unwrap_or(24.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve, Kind, Segments};
    use crate::scene::{Channel, Property};

    fn clip(times: &[f64]) -> Clip {
        let values = times.iter().flat_map(|_| [0.0; 3]).collect();
        let curve = Curve::new(Kind::Vector, 3, times.to_vec(), values, Segments::Linear).unwrap();
        Clip {
            name: String::new(),
            channels: vec![Channel { node: 0, property: Property::Translation, curve }],
        }
    }

    fn every(rate: f64, count: usize) -> Vec<f64> {
        (0..count).map(|i| f64::from((i as f64 / rate) as f32)).collect()
    }

    #[test]
    fn the_rate_of_sampled_keys_is_found() {
        for rate in [24.0, 25.0, 30.0, 60.0, 120.0] {
            assert_eq!(frame_rate(&clip(&every(rate, 300))), rate);
        }
    }

    #[test]
    fn one_odd_gap_does_not_change_the_rate() {
        let times: Vec<f64> =
            every(24.0, 40).into_iter().map(|t| if t > 0.4 { t + 0.2 } else { t }).collect();
        assert_eq!(frame_rate(&clip(&times)), 24.0);
    }

    #[test]
    fn keys_on_no_frames_give_24() {
        assert_eq!(frame_rate(&clip(&[0.0, 0.123_456, 0.777_7])), 24.0);
        assert_eq!(frame_rate(&clip(&[0.0])), 24.0);
    }
}
