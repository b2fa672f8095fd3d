//! What a job did, for people and for `--json`.

use serde::Serialize;
use sinew_core::cycle::Gap;
use sinew_core::motion::{Fault, Follow, Halving, Touching};

/// How a job ended, when it gave a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As asked.
    Done,
    /// There is a result, but something named in the warnings fell short.
    FellShort,
}

/// What a job did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Version of the program.
    pub version: &'static str,
    /// The scene's file or name.
    pub scene: String,
    /// Where the set-up came from.
    pub setup: String,
    /// The clip that guided.
    pub clip: String,
    /// The clip that was made.
    pub name: String,
    /// The clip of what the bake adds to the keys, if it was asked for and written.
    pub additive: Option<String>,
    /// Where it was written, if it was.
    pub output: Option<String>,
    /// Where the picture was written, if it was.
    pub plot: Option<String>,
    /// Where a picture of it in motion went.
    pub playblast: Option<String>,
    /// Where every point of contact was written, if it was.
    pub contacts_file: Option<String>,
    /// Frames per second.
    pub frames_per_second: f64,
    /// First frame.
    pub first_frame: f64,
    /// Frames simulated.
    pub frames: usize,
    /// Per simulated node.
    pub bodies: Vec<Follow>,
    /// Per joint, how far it was open at any frame.
    pub joints: Vec<JointReport>,
    /// What struck what, and how hard.
    pub contacts: Touching,
    /// Where steps were too long and taken in halves.
    pub halvings: Vec<Halving>,
    /// What went wrong, and could not be put right by shorter steps.
    pub faults: Vec<Fault>,
    /// Keys written.
    pub keys: usize,
    /// Samples that they stand for.
    pub samples: usize,
    /// Largest distance of the fitted keys from the simulation, scene units.
    pub max_fit_error: f64,
    /// The same for rotations, degrees.
    pub max_fit_error_deg: f64,
    /// How far a reader that drops the keys' tangents, as Blender's importer of glTF does, is off, scene units.
    pub straight_error: f64,
    /// The same for rotations, degrees.
    pub straight_error_deg: f64,
    /// How a loop closes, where one was asked for.
    #[serde(rename = "loop")]
    pub looped: Option<LoopReport>,
    /// Largest distance of the motion with other substeps, scene units, where that was asked for.
    pub steps_apart: Option<f64>,
    /// What is worth knowing.
    pub warnings: Vec<String>,
    /// What might have been meant instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// How long it took.
    pub timings: Timings,
}

/// How a loop closes.
#[derive(Clone, Debug, Serialize)]
pub struct LoopReport {
    /// Turns simulated until it repeated.
    pub turns: usize,
    /// Between the end of the first turn and its start: what a bake without a loop has.
    pub first: Gap,
    /// Between the end of the last turn and its start, as simulated.
    pub before: Gap,
    /// The same, of the curves that are written.
    pub after: Gap,
}

/// One joint's summary.
#[derive(Clone, Debug, Serialize)]
pub struct JointReport {
    /// Its name.
    pub name: String,
    /// Largest opening, scene units.
    pub max_opening: f64,
    /// Largest angle along a locked direction, degrees.
    pub max_angle_deg: f64,
    /// The frame by which it had broken, if it did.
    pub broke_at_frame: Option<f64>,
}

/// Seconds per stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timings {
    /// Reading.
    pub open_s: f64,
    /// Making the rig.
    pub compile_s: f64,
    /// Simulating.
    pub simulate_s: f64,
    /// Fitting keys.
    pub bake_s: f64,
    /// Writing.
    pub save_s: f64,
}

impl Timings {
    /// All stages.
    pub fn total_s(&self) -> f64 {
        self.open_s + self.compile_s + self.simulate_s + self.bake_s + self.save_s
    }
}
