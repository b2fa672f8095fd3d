//! Where a job's set-up comes from: a file, the file beside the scene, the physics in the scene, or made up from
//! the keys.

use super::JobError;
use crate::document::Document;
use crate::files::{self, Unread};
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
        SetupSource::Beside => Some(setup_beside(path)).filter(|f| f.symlink_metadata().is_ok()),
        SetupSource::Automatic => None,
    };
    let Some(file) = file else {
        return without_file(document, clip, wish);
    };
    let name = file.display().to_string();
    check_wish(wish, &name)?;
    let text = match source {
        SetupSource::Beside => read_beside(&file)?,
        _ => read_setup(&file)?,
    };
    let bad = |error| JobError::Setup { file: name.clone(), error };
    let mut setup = document.adapt(setup::from_json(&text).map_err(bad)?).map_err(bad)?;
    if let Some(clip) = clip {
        setup.clip = Some(clip.to_string());
    }
    Ok(LoadedSetup { setup, name, warnings: Vec::new() })
}

/// A set-up of more bytes than this is none.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a set-up file that somebody named.
pub fn read_setup(file: &Path) -> Result<String, JobError> {
    text_of(file, files::read_regular(file, MOST_BYTES))
}

/// The text of the set-up file beside a scene. It came with the scene, so it may not lead out of the scene's folder.
fn read_beside(file: &Path) -> Result<String, JobError> {
    let io = |error| JobError::Io { file: file.to_owned(), error };
    let folder = files::folder_of(file).canonicalize().map_err(io)?;
    let real = file.canonicalize().map_err(io)?;
    let Ok(way) = real.strip_prefix(&folder) else {
        let why = "leads outside the scene's folder; name it with --setup if it is meant";
        return Err(refused(file, why));
    };
    let open = files::open_inside(&folder, way);
    text_of(file, open.and_then(|open| files::read_all(open, MOST_BYTES)))
}

fn text_of(file: &Path, bytes: Result<Vec<u8>, Unread>) -> Result<String, JobError> {
    let bytes = bytes.map_err(|why| match why {
        Unread::Io(error) => JobError::Io { file: file.to_owned(), error },
        why => refused(file, &format!("{why}, which no set-up is")),
    })?;
    String::from_utf8(bytes).map_err(|_| refused(file, "is not UTF-8; save it as UTF-8"))
}

fn refused(file: &Path, why: &str) -> JobError {
    JobError::Setup { file: file.display().to_string(), error: setup::SetupError::new("text", why) }
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
