//! Whole jobs: open, compile, simulate, bake, save.
//!
//! [`simulate`] is the part in memory that the C ABI shares; [`bake_file`] is what the command does with files;
//! [`assemble_file`] puts a scene together without simulating it, [`refine_file`] finds a motion for the whole shot at once, and
//! [`physics_file`] writes the set-up into a scene.
//! Progress can stop a job at any frame; then nothing is written.

mod assemble_file;
mod bake_file;
mod clip_names;
mod contact_file;
mod error;
mod inspect;
mod limits;
mod physics_file;
mod progress;
mod refine_file;
mod report;
mod run;
mod setup_file;

pub use assemble_file::{AssembleRequest, AssemblyReport, BodyMoved, JointClosed, assemble_file};
pub use bake_file::{BakeRequest, bake_file, default_output, is_scene};
pub use clip_names::ClipNames;
pub use error::JobError;
pub use inspect::{Inspection, inspect};
pub use limits::{MOST_SAMPLES, set_limits};
pub use physics_file::{PhysicsReport, PhysicsRequest, physics_file, save_physics};
pub use progress::{Progress, Stage};
pub use refine_file::{
    FigureRefined, KeyMissed, KeyToHit, RefineReport, RefineRequest, StanceFound, refine_file,
};
pub use report::{JointReport, LoopReport, Report, Status, Timings};
pub use run::{Outcome, simulate};
pub use setup_file::{LoadedSetup, SetupSource, load_setup, load_setup_with, read_setup, setup_beside};
