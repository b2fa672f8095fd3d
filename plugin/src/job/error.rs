//! Why a job gave nothing, and which exit code says so.

use crate::files::WriteError;
use crate::gltf;
use sinew_core::bake::BakeError;
use sinew_core::setup::SetupError;
use std::path::PathBuf;

/// Why a job gave nothing. The text names the file, the object and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The request contradicts itself.
    #[error("{0}")]
    Use(String),
    /// The scene's file.
    #[error("{0}")]
    Scene(#[from] gltf::Error),
    /// The set-up, from a file or made up.
    #[error("{file}: {error}")]
    Setup {
        /// The set-up file, or what stands for it.
        file: String,
        /// Why.
        error: SetupError,
    },
    /// The result cannot be written as curves.
    #[error("{0}")]
    Bake(#[from] BakeError),
    /// The set-up file cannot be read or written.
    #[error("{}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A limit of the host's was met.
    #[error("{0}")]
    OverLimit(String),
    /// Progress said stop.
    #[error("cancelled; nothing was written")]
    Cancelled,
}

impl From<WriteError> for JobError {
    fn from(e: WriteError) -> JobError {
        JobError::Scene(gltf::Error::from(e))
    }
}

impl JobError {
    /// 2 bad use, 3 bad input, 4 I/O, 5 cancelled or over a limit.
    pub fn exit_code(&self) -> u8 {
        match self {
            JobError::Use(_) => 2,
            JobError::Scene(e) if e.kind() == gltf::ErrorKind::Io => 4,
            JobError::Scene(_) | JobError::Setup { .. } | JobError::Bake(_) => 3,
            JobError::Io { .. } => 4,
            JobError::OverLimit(_) | JobError::Cancelled => 5,
        }
    }
}
