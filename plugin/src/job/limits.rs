//! What a job may use, for hosts and farms that share a machine: time, and frames of bodies.

use super::JobError;
use sinew_core::motion::Motion;
use sinew_core::rig::Rig;
use sinew_core::setup::SetupError;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Frames of bodies that a job may have where nobody says otherwise: a day of a hundred bodies, several gigabytes.
pub const MOST_SAMPLES: usize = 200_000_000;

static CHOSEN: RwLock<(Option<f64>, usize)> = RwLock::new((None, MOST_SAMPLES));

/// Sets what every job that begins from now on may use: seconds, and frames times bodies.
pub fn set_limits(seconds: Option<f64>, samples: usize) {
    *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = (seconds, samples);
}

/// What one job may use, from when it began.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    seconds: Option<f64>,
    until: Option<Instant>,
    samples: usize,
}

impl Limits {
    /// For a job that begins now.
    pub fn now() -> Limits {
        let (seconds, samples) = *CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
        let until = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Limits { seconds, until: until.and_then(|d| Instant::now().checked_add(d)), samples }
    }

    /// Whether its time is up.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// What is said then.
    pub fn late(&self) -> JobError {
        JobError::OverLimit(format!(
            "stopped after {} s, which is the limit; nothing was written",
            self.seconds.unwrap_or_default()
        ))
    }

    /// Refuses more frames of bodies than are allowed, or than memory can be had for.
    pub fn check(&self, rig: &Rig) -> Result<(), SetupError> {
        let (frames, bodies) = (rig.range.frames(), rig.solids.len());
        let many = format!("{frames} frames of {bodies} bodies");
        if frames.saturating_mul(bodies) > self.samples {
            let what = format!("{many} are more than the limit of {}; bake fewer at a time", self.samples);
            return Err(SetupError::new("bake.frames", what));
        }
        if !Motion::fits(rig, frames) {
            let what = format!("there is not enough memory for {many}; bake fewer at a time");
            return Err(SetupError::new("bake.frames", what));
        }
        Ok(())
    }
}
