//! The time that a thread computes, s: on a busy machine the nearest thing to the time it would take alone.

/// Seconds that this thread has computed since some moment. Elsewhere than on Unix, seconds that passed.
#[cfg(unix)]
pub fn now() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Seconds that this thread has computed since some moment. Elsewhere than on Unix, seconds that passed.
#[cfg(not(unix))]
pub fn now() -> f64 {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

/// Runs something; the seconds it computed.
pub fn timed(run: impl FnOnce()) -> f64 {
    let began = now();
    run();
    now() - began
}

/// The least time of each part of a run over its repetitions: what disturbs one part of one run is forgotten, and
/// a part that is slow in every run stays slow.
#[derive(Clone, Debug, Default)]
pub struct Least {
    parts: Vec<f64>,
    part: usize,
}

impl Least {
    /// Begins the next repetition.
    pub fn again(&mut self) {
        self.part = 0;
    }

    /// Times the next part.
    pub fn part(&mut self, run: impl FnOnce()) {
        let seconds = timed(run);
        match self.parts.get_mut(self.part) {
            Some(least) => *least = least.min(seconds),
            None => self.parts.push(seconds),
        }
        self.part += 1;
    }

    /// Seconds per part.
    pub fn mean(&self) -> f64 {
        self.mean_of(0..self.parts.len())
    }

    /// Seconds per part, of some of them.
    pub fn mean_of(&self, parts: std::ops::Range<usize>) -> f64 {
        let parts = self.parts.get(parts).unwrap_or_default();
        parts.iter().sum::<f64>() / parts.len().max(1) as f64
    }

    /// Seconds of the slowest part.
    pub fn worst(&self) -> f64 {
        self.parts.iter().fold(0.0, |m, p| m.max(*p))
    }
}
