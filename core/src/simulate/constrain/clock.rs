//! The time of a step that has only so much of it.
//!
//! Rounds are taken while there is time for another one, going by what the last of its sort took, and for settling the
//! velocities afterwards, which every step does once.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Watches over a step's budget; without one it never looks at the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    budget: Option<Duration>,
    now: fn() -> Duration,
    /// When the step's time is over.
    end: Duration,
    /// When the round at hand began, and whether it takes rows anew.
    round: Option<(Duration, bool)>,
    /// What a round takes: with the rows there are, and with new ones.
    takes: [Duration; 2],
    /// When velocities began to be settled, and what that takes.
    settling: (Duration, Duration),
    /// Rounds taken since the step began.
    rounds: usize,
}

impl Clock {
    /// For steps of at most this long.
    pub fn new(budget: Option<Duration>) -> Clock {
        Clock {
            budget,
            now: since_first_asked,
            end: Duration::ZERO,
            round: None,
            takes: [Duration::ZERO; 2],
            settling: (Duration::ZERO, Duration::ZERO),
            rounds: 0,
        }
    }

    /// Asks something else for the time.
    pub fn ask(&mut self, now: fn() -> Duration) {
        self.now = now;
    }

    /// What is asked for the time.
    pub fn asked(&self) -> fn() -> Duration {
        self.now
    }

    /// Rounds that the last step took.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// A step begins.
    #[inline]
    pub fn start(&mut self) {
        self.rounds = 0;
        if let Some(budget) = self.budget {
            self.round = None;
            self.end = (self.now)() + budget;
        }
    }

    /// Whether there is time for another round, which then begins; `anew` if it takes new rows.
    #[inline]
    pub fn next_round(&mut self, anew: bool) -> bool {
        if self.budget.is_some() {
            let now = (self.now)();
            self.end_round(now);
            let takes = &mut self.takes[usize::from(anew)];
            if now + *takes + self.settling.1 > self.end {
                // One round that was held up must not forbid all others for ever.
                *takes -= *takes / 8;
                return false;
            }
            self.round = Some((now, anew));
        }
        self.rounds += 1;
        true
    }

    /// Whether the round at hand may go on.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.budget.is_none() || (self.now)() + self.settling.1 < self.end
    }

    /// Whether there is a limit of time, and time left.
    #[inline]
    pub fn has_time(&self) -> bool {
        self.budget.is_some() && self.goes_on()
    }

    /// Rounds are over, velocities are to be settled.
    #[inline]
    pub fn settle(&mut self) {
        if self.budget.is_some() {
            let now = (self.now)();
            self.end_round(now);
            self.settling.0 = now;
        }
    }

    /// Velocities are settled.
    #[inline]
    pub fn settled(&mut self) {
        if self.budget.is_some() {
            self.settling.1 = (self.now)().saturating_sub(self.settling.0);
        }
    }

    fn end_round(&mut self, now: Duration) {
        if let Some((began, anew)) = self.round.take() {
            self.takes[usize::from(anew)] = now.saturating_sub(began);
        }
    }
}

/// Time since this was called first, which never goes back.
fn since_first_asked() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}
