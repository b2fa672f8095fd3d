//! A scene and its set-up in, the scene with the set-up as physics out.

use super::bake_file::{check_output, same_file};
use super::{JobError, LoadedSetup, SetupSource, Status, load_setup_with};
use crate::document::Document;
use crate::gltf::{PhysicsDialect, ReadOptions};
use crate::usd::{self, Destination};
use serde::Serialize;
use sinew_core::setup::{Setup, SetupError, Wish};
use std::path::{Path, PathBuf};

/// What to write into which file, and how.
#[derive(Clone, Debug)]
pub struct PhysicsRequest {
    /// The scene.
    pub scene: PathBuf,
    /// Where the result goes.
    pub output: PathBuf,
    /// Where the set-up comes from.
    pub setup: SetupSource,
    /// What is known of figures, for a set-up that is made from the keys.
    pub wish: Wish,
    /// The clip that guides.
    pub clip: Option<String>,
    /// The extensions to write.
    pub dialect: PhysicsDialect,
    /// How to read the scene.
    pub read: ReadOptions,
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct PhysicsReport {
    /// How it ended.
    pub status: Status,
    /// Version of the program.
    pub version: &'static str,
    /// The scene's file.
    pub scene: String,
    /// Where the set-up came from.
    pub setup: String,
    /// Where it was written.
    pub output: String,
    /// The extension of its bodies, or UsdPhysics.
    pub physics: &'static str,
    /// Bodies that physics moves.
    pub bodies: usize,
    /// Joints of the set-up.
    pub joints: usize,
    /// What is worth knowing, and what could not be expressed.
    pub warnings: Vec<String>,
}

fn simulated(setup: &Setup) -> usize {
    setup.bodies.iter().filter(|b| b.behaviour.simulated()).count()
}

/// Saves a document with a set-up in it as its physics; the ending of the name says the format. `setup_name` is what
/// messages call the set-up. Returns what is worth knowing, and what could not be expressed.
pub fn save_physics(
    document: &Document,
    setup: &Setup,
    setup_name: &str,
    dialect: PhysicsDialect,
    output: &Path,
) -> Result<Vec<String>, JobError> {
    let bad = |error: SetupError| JobError::Setup { file: setup_name.to_string(), error };
    if simulated(setup) == 0 {
        let why = "nothing is simulated, so there is no physics to write; name a guided or free body";
        return Err(bad(SetupError::new("bodies", why)));
    }
    if document.is_foreign(output) {
        return Ok(document.convert(output, None, Some(setup))?);
    }
    let mut document = document.clone();
    let mut warnings = document.set_physics(setup, dialect).map_err(bad)?;
    warnings.extend(document.save(output, Destination::Layer, None)?.remarks);
    Ok(warnings)
}

/// Opens, writes the set-up into the scene, and saves. On any error nothing is written.
pub fn physics_file(request: &PhysicsRequest) -> Result<PhysicsReport, JobError> {
    let output = &request.output;
    if same_file(output, &request.scene) {
        let output = output.display();
        return Err(JobError::Use(format!("{output} is the scene itself; give another name with --into")));
    }
    check_output(output)?;
    let document = Document::open(&request.scene, &request.read)?;
    let LoadedSetup { setup, name, warnings: of_setup } =
        load_setup_with(&request.scene, &document, &request.setup, request.clip.as_deref(), &request.wish)?;
    let mut warnings = document.warnings().to_vec();
    warnings.extend(of_setup);
    warnings.extend(save_physics(&document, &setup, &name, request.dialect, output)?);
    Ok(PhysicsReport {
        status: Status::Done,
        version: env!("CARGO_PKG_VERSION"),
        scene: request.scene.display().to_string(),
        setup: name.clone(),
        output: output.display().to_string(),
        physics: if usd::is_usd(output) { "UsdPhysics" } else { request.dialect.extension() },
        bodies: simulated(&setup),
        joints: setup.joints.len(),
        warnings,
    })
}
