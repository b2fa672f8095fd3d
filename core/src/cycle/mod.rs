//! A cycle in, a seamless cycle out.
//!
//! The keys of one turn are played over and over (`keys`), each turn beginning where the last one ended, until the
//! simulated motion repeats itself as well as anyone can see ([`run`]). With x the motion over all turns, T the length
//! of one and K the last, what is left of the difference is spread over the turn by showing
//!
//! ```text
//! z(t) = (1 - s(t)) x(K T + t) + s(t) x((K - 1) T + t),   s from 0 to 1, flat at both ends.
//! ```
//!
//! Since x runs on smoothly from turn to turn, z ends where it begins, with the same velocity and acceleration. Bodies
//! are mixed relative to those that carry them, so that limbs keep their lengths. What roots travel in a turn stays.

mod keys;
mod seam;
mod short;
mod travel;
mod turn;

pub(crate) use keys::keys;
pub use seam::Gap;
pub(crate) use seam::RESTS;
pub use short::is_cycle;
pub(crate) use travel::travel;
pub use turn::{Turn, run};
