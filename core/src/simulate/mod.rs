//! The only thing that changes: [`State`], one [`step`] at a time. A step allocates nothing.

mod air;
mod balance;
mod constrain;
mod drag;
mod session;
mod state;
mod step;
mod substeps;
mod together;
mod touch;

pub use constrain::Pulled;
pub use drag::{Drag, DragError, Grip, Point};
pub use session::{End, Session, run};
pub use state::{JointState, SolidState, State, TargetState, Workspace};
pub use step::step;
pub use together::{Together, together};
pub use touch::{Strike, Touched};
