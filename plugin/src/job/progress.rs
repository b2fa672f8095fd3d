//! How far a job is.

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading files.
    Open,
    /// Making the rig.
    Compile,
    /// Frame by frame.
    Simulate,
    /// Fitting keys.
    Bake,
    /// Writing files.
    Save,
}

/// How far a job is: `done` of `of` in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// Frames done; 0 or 1 in the other stages.
    pub done: usize,
    /// Frames in all; 1 in the other stages.
    pub of: usize,
}

impl Progress {
    pub(super) fn begin(stage: Stage) -> Progress {
        Progress { stage, done: 0, of: 1 }
    }
}
