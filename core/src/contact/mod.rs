//! Contact as geometry: which shapes are near each other, and where they touch. What comes of it is in
//! `simulate::touch`.

mod manifold;
mod near;
mod sweep;

pub use manifold::{Face, Facing, MOST_POINTS, Manifold, Meeting, Point};
pub use near::{Library, fall, near, never_hides, pose};
pub use sweep::{Bounds, Sweep};
