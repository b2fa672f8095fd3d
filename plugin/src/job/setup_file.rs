//! Where a job's set-up comes from: given, a file, the file beside the scene, or made up from the keys.

use super::JobError;
use sinew_core::scene::Scene;
use sinew_core::setup::{self, Setup};
use std::path::{Path, PathBuf};

/// Where a set-up comes from.
#[derive(Clone, Debug, Default)]
pub enum SetupSource {
    /// `NAME.sinew.json` beside the scene if it is there, else made up from the keys.
    #[default]
    Beside,
    /// This file.
    File(PathBuf),
    /// Made up from the keys, whatever lies beside the scene.
    Automatic,
}

/// What messages call a set-up that was made up.
pub(super) const AUTOMATIC: &str = "automatic set-up";

/// The set-up file that belongs to a scene: `NAME.sinew.json`.
pub fn setup_beside(scene: &Path) -> PathBuf {
    scene.with_extension("sinew.json")
}

/// The set-up and what messages call it. `clip` wins over the set-up's own.
pub fn load_setup(
    path: &Path,
    scene: &Scene,
    source: &SetupSource,
    clip: Option<&str>,
) -> Result<(Setup, String), JobError> {
    let file = match source {
        SetupSource::File(file) => Some(file.clone()),
        SetupSource::Beside => Some(setup_beside(path)).filter(|f| f.exists()),
        SetupSource::Automatic => None,
    };
    let Some(file) = file else {
        let setup = setup::automatic(scene, clip)
            .map_err(|error| JobError::Setup { file: AUTOMATIC.into(), error })?;
        return Ok((setup, AUTOMATIC.into()));
    };
    let name = file.display().to_string();
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => JobError::Setup {
            file: name.clone(),
            error: setup::SetupError::new("text", "is not UTF-8; save it as UTF-8"),
        },
        _ => JobError::Io { file: file.clone(), error },
    })?;
    let mut setup = setup::from_json(&text).map_err(|error| JobError::Setup { file: name.clone(), error })?;
    if let Some(clip) = clip {
        setup.clip = Some(clip.to_string());
    }
    Ok((setup, name))
}
