//! Where a job's set-up comes from: a file, the file beside the scene, the physics in the scene, or made up from
//! the keys.

use super::JobError;
use crate::document::Document;
use sinew_core::setup::{self, Setup, Wish};
use std::path::{Path, PathBuf};

/// Where a set-up comes from.
#[derive(Clone, Debug, Default)]
pub enum SetupSource {
    /// `NAME.sinew.json` beside the scene if it is there, else as without a file.
    #[default]
    Beside,
    /// This file.
    File(PathBuf),
    /// No file, whatever lies beside the scene: the physics in the scene, or made up from the keys if it has none.
    Automatic,
}

/// What messages call a set-up that was made up.
pub(super) const AUTOMATIC: &str = "automatic set-up";

/// What messages call a set-up that the scene itself carries.
pub(super) const OF_THE_SCENE: &str = "physics of the scene";

/// A set-up and where it is from.
#[derive(Clone, Debug)]
pub struct LoadedSetup {
    /// The set-up.
    pub setup: Setup,
    /// What messages call it.
    pub name: String,
    /// What its source says and a set-up cannot.
    pub warnings: Vec<String>,
}

/// The set-up file that belongs to a scene: `NAME.sinew.json`.
pub fn setup_beside(scene: &Path) -> PathBuf {
    scene.with_extension("sinew.json")
}

/// The set-up of a document that was read from `path`. `clip` wins over the set-up's own.
pub fn load_setup(
    path: &Path,
    document: &Document,
    source: &SetupSource,
    clip: Option<&str>,
) -> Result<LoadedSetup, JobError> {
    load_setup_with(path, document, source, clip, &Wish::default())
}

/// The same, with what is known of figures, for a set-up that is made from the keys.
pub fn load_setup_with(
    path: &Path,
    document: &Document,
    source: &SetupSource,
    clip: Option<&str>,
    wish: &Wish,
) -> Result<LoadedSetup, JobError> {
    let file = match source {
        SetupSource::File(file) => Some(file.clone()),
        SetupSource::Beside => Some(setup_beside(path)).filter(|f| f.exists()),
        SetupSource::Automatic => None,
    };
    let Some(file) = file else {
        return without_file(document, clip, wish);
    };
    let name = file.display().to_string();
    check_wish(wish, &name)?;
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => JobError::Setup {
            file: name.clone(),
            error: setup::SetupError::new("text", "is not UTF-8; save it as UTF-8"),
        },
        _ => JobError::Io { file: file.clone(), error },
    })?;
    let bad = |error| JobError::Setup { file: name.clone(), error };
    let mut setup = document.adapt(setup::from_json(&text).map_err(bad)?).map_err(bad)?;
    if let Some(clip) = clip {
        setup.clip = Some(clip.to_string());
    }
    Ok(LoadedSetup { setup, name, warnings: Vec::new() })
}

/// Refuses what is known of figures for a set-up that says it all itself.
fn check_wish(wish: &Wish, name: &str) -> Result<(), JobError> {
    match *wish == Wish::default() {
        true => Ok(()),
        false => Err(JobError::Use(format!(
            "--mass and --height are for set-ups made from the keys; in {name} change \"mass\" of bodies and \"metres_per_unit\", or add --auto"
        ))),
    }
}

fn without_file(document: &Document, clip: Option<&str>, wish: &Wish) -> Result<LoadedSetup, JobError> {
    let named = |file: &str| {
        let file = file.to_string();
        move |error| JobError::Setup { file, error }
    };
    if let Some(physics) = document.physics(clip).map_err(named(OF_THE_SCENE))? {
        check_wish(wish, &format!("the {OF_THE_SCENE}"))?;
        return Ok(LoadedSetup {
            setup: physics.setup,
            name: OF_THE_SCENE.into(),
            warnings: physics.warnings,
        });
    }
    let setup = document.automatic_with(clip, wish).map_err(named(AUTOMATIC))?;
    Ok(LoadedSetup { setup, name: AUTOMATIC.into(), warnings: Vec::new() })
}
