//! Articulations: trees of links in reduced coordinates, one coordinate per freedom of a joint (Featherstone 2008).
//!
//! Everything is in the world's axes and about the world's origin: motions, forces and inertias of different links are added as
//! they are. Coordinates change by *left increments*: a joint's motion comes before what the joint already did, so that its axes
//! do not depend on its own coordinates, and `dS_j / dq_k = S_k x S_j` for every joint `k` before `j`.
//!
//! `tree` is what does not change, `kinematics` where the links are, `dynamics` the recursions that turn forces into accelerations
//! and back, `momentum` what a body has between two moments, `of_rig` how a rig becomes a tree.

mod dynamics;
mod kinematics;
mod momentum;
mod of_rig;
mod spatial;
mod tree;

pub use dynamics::{forward_dynamics, inverse_dynamics, mass_matrix};
pub use kinematics::Posed;
pub(crate) use kinematics::related;
pub use momentum::Turning;
pub(crate) use momentum::{inverse_left, inverse_left_slope};
pub use of_rig::{Linkage, NoTree, linkages};
pub use spatial::{Force, Motion, Spatial, skew};
pub use tree::{Articulation, JointKind, Link, Mass};
