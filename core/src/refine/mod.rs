//! Refinement: the whole shot at once (spacetime constraints, Witkin and Kass 1988).
//!
//! The unknowns are the poses of an articulation at every knot in time, and the forces where it touches the ground. What acts at the joints
//! follows from them by *discrete inverse dynamics*: every body's change of momentum from its own three poses, summed over what hangs on
//! a joint, along the joint's axes. A freedom is *driven* (what acts there is effort, and limited) or *free* (nothing may act there).
//! The sum of effort and of the distance from the input is least where physics holds, and stance points stay where they are.
//!
//! The method is a Newton-type interior point with a filter: torques and contact forces strictly inside their limits, equations by proximal
//! multipliers, contact forces eliminated knot by knot, one block-pentadiagonal Cholesky factor in time. It begins with Gauss-Newton and
//! ends with the exact Hessian. Keys are elastic: each has a bounded price, so what cannot be reached is missed, and physics never gives way.

mod filter;
mod knot;
mod measure;
mod problem;
mod shot;
mod solver;
mod stance;
mod state;
mod system;

pub use measure::{Measure, Row};
pub use problem::{Contact, Drive, End, Key, Problem};
pub use shot::{Hit, Options, Refined, Refused, Shot, refine};
pub use solver::{Iteration, Refinement, Status};
pub use stance::Stance;

#[cfg(test)]
mod tests;
