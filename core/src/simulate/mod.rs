//! The only thing that changes: [`State`], one [`step`] at a time. A step allocates nothing.

mod ahead;
mod air;
mod balance;
mod calm;
mod carriers;
mod cluster;
mod constrain;
mod drag;
mod frames;
mod help;
mod hit;
mod islands;
mod lane;
mod linkage;
mod release;
mod session;
mod shift;
mod state;
mod step;
mod stretch;
mod substeps;
mod together;
mod touch;

pub use constrain::Pulled;
pub use drag::{Drag, DragError, Grip, Point};
pub use hit::Softened;
pub use release::Released;
pub use session::{End, Session, run};
pub use state::{Cause, Halved, JointState, Pace, SolidState, State, TargetState, Workspace};
pub use stretch::{Leg, advance, step};
pub use together::{Together, together};
pub use touch::{Strike, Touched};
