//! Guides: a [`path`] made of the animator's keys, and a [`target`] that moves along it (Lamouret 1995, 2.2).

pub mod path;
pub mod target;
mod wait;

pub use path::Path;
pub use target::{Reach, Target, Tracker};
pub use wait::{WaitLink, deadlock};
