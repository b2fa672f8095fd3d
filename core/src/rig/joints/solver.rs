//! How the joints of a rig are solved.

use crate::joint::Joint;
use crate::rig::Solver;
use crate::setup::{self, SetupError, Tier};

/// How the joints of a rig are solved, compiled.
pub fn solver(wanted: &setup::Solver, joints: &[Joint]) -> Result<Solver, SetupError> {
    let place = |field: &str| format!("world.solver.{field}");
    let few = |field: &str, value: Option<usize>, least: usize, most: usize, default: usize| match value {
        Some(v) if !(least..=most).contains(&v) => {
            Err(SetupError::new(place(field), format!("{v} must be between {least} and {most}")))
        }
        v => Ok(v.unwrap_or(default)),
    };
    let budget = match wanted.microseconds {
        None => None,
        Some(us) if us.is_finite() && us > 0.0 && us <= 1e9 => {
            Some(std::time::Duration::from_nanos((us * 1000.0) as u64))
        }
        Some(us) => {
            return Err(SetupError::new(place("microseconds"), format!("{us} must be above 0, at most 1e9")));
        }
    };
    let rows = joints.len() * crate::solve::MOST;
    let rounds = if wanted.tier == Tier::Pairwise { 200 } else { 24 };
    Ok(Solver {
        tier: wanted.tier,
        rounds: few("rounds", wanted.rounds, 1, 100_000, rounds)?,
        iterations: few("iterations", wanted.iterations, 1, 1_000_000, 3 * rows.max(1))?,
        budget,
        threads: few("threads", wanted.threads, 1, 64, cores())?,
        halvings: few("halvings", wanted.halvings, 0, 8, 4)?,
        limited: wanted.tier == Tier::Pairwise
            || wanted.rounds.is_some()
            || wanted.iterations.is_some()
            || wanted.microseconds.is_some(),
    })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(64))
}
