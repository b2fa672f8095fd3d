//! Every point of contact of a bake, frame by frame, as a file of its own: too much for a report.

use super::bake_file::same_file;
use super::{JobError, SetupSource};
use serde::Serialize;
use sinew_core::motion::{Motion, Point, Struck, points};
use sinew_core::rig::Rig;
use std::path::Path;

/// What the file holds.
#[derive(Serialize)]
struct ContactFile<'a> {
    frames_per_second: f64,
    metres_per_unit: f64,
    strikes: &'a [Struck],
    frames: Vec<Frame>,
}

/// One frame.
#[derive(Serialize)]
struct Frame {
    frame: f64,
    time: f64,
    points: Vec<Point>,
}

/// Refuses names that would put it in the place of something else: a scene, or a set-up.
pub(super) fn check_contacts(file: Option<&Path>, scene: &Path, setup: &SetupSource) -> Result<(), JobError> {
    let Some(file) = file else { return Ok(()) };
    if file.extension().is_none_or(|e| e != "json") {
        return Err(JobError::Use(format!(
            "contacts are written as a .json file; give it another name than {}, such as {}",
            file.display(),
            file.with_extension("json").display()
        )));
    }
    let given = matches!(setup, SetupSource::File(f) if same_file(f, file));
    let called_so = file.to_string_lossy().ends_with(".sinew.json");
    if given || called_so || same_file(scene, file) {
        return Err(JobError::Use(format!(
            "{} is the name of a set-up or of the scene; give the contacts another one, such as {}",
            file.display(),
            scene.with_extension("contacts.json").display()
        )));
    }
    Ok(())
}

/// The file of a motion; `strikes` are those of its report.
pub(super) fn contact_file(rig: &Rig, motion: &Motion, strikes: &[Struck]) -> serde_json::Result<String> {
    let frame = |(&time, points): (&f64, Vec<Point>)| Frame {
        frame: time * rig.range.frames_per_second,
        time,
        points,
    };
    let file = ContactFile {
        frames_per_second: rig.range.frames_per_second,
        metres_per_unit: rig.world.metres_per_unit,
        strikes,
        frames: motion.times().iter().zip(points(rig, motion)).map(frame).collect(),
    };
    serde_json::to_string(&file)
}
