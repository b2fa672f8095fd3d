//! A scene's file, whatever its format: what jobs do with it.

use crate::error::Error;
use crate::files::Staging;
use crate::gltf::{self, ClipToAdd, Physics, PhysicsDialect, ReadOptions};
use crate::usd::{self, Destination};
use glam::{DQuat, DVec3};
use serde_json::Value;
use sinew_core::bake::Deformation;
use sinew_core::scene::Scene;
use sinew_core::setup::{self, Setup, SetupError, Wish};
use std::collections::HashMap;
use std::path::Path;

/// What saving did that one would not guess.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// What is worth knowing.
    pub remarks: Vec<String>,
    /// Nodes whose motion went into splines instead of a sample at every frame, and how far these are off.
    pub splined: Vec<(usize, usd::Tolerance)>,
    /// How many keys those splines have.
    pub spline_keys: usize,
}

/// A scene's file.
#[derive(Clone, Debug)]
pub enum Document {
    /// glTF or GLB.
    Gltf(Box<gltf::Document>),
    /// USD.
    Usd(Box<usd::Document>),
}

impl Document {
    /// Reads a file; its name's ending says whether it is USD.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Document, Error> {
        Ok(match usd::is_usd(path) {
            true => Document::Usd(Box::new(usd::Document::open(path, options)?)),
            false => Document::Gltf(Box::new(gltf::Document::open(path, options)?)),
        })
    }

    /// Reads a document from memory; its bytes say which format it is in. `name` is what messages call it. Only data inside it
    /// can be used.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Document, Error> {
        Ok(match usd::are_usd(bytes) {
            true => Document::Usd(Box::new(usd::Document::from_bytes(bytes, name)?)),
            false => {
                let read = gltf::Document::from_bytes(bytes, name, None, &ReadOptions::default());
                Document::Gltf(Box::new(read?))
            }
        })
    }

    /// The scene as read, with the clips added since.
    pub fn scene(&self) -> &Scene {
        match self {
            Document::Gltf(d) => d.scene(),
            Document::Usd(d) => d.scene(),
        }
    }

    /// What was not understood or is amiss, and what that means, each naming its object.
    pub fn warnings(&self) -> &[String] {
        match self {
            Document::Gltf(d) => d.warnings(),
            Document::Usd(d) => d.warnings(),
        }
    }

    /// The physics that the file carries, as a set-up; `None` when nothing in it is to be moved by physics.
    pub fn physics(&self, clip: Option<&str>) -> Result<Option<Physics>, SetupError> {
        match self {
            Document::Gltf(d) => d.physics(clip),
            Document::Usd(d) => d.physics(clip),
        }
    }

    /// A set-up from the keys and nothing else.
    pub fn automatic(&self, clip: Option<&str>) -> Result<Setup, SetupError> {
        self.automatic_with(clip, &Wish::default())
    }

    /// The same, with what is known of its figures beforehand.
    pub fn automatic_with(&self, clip: Option<&str>, wish: &Wish) -> Result<Setup, SetupError> {
        match self {
            Document::Gltf(d) => setup::automatic_with(d.scene(), clip, wish),
            Document::Usd(d) => d.automatic_with(clip, wish),
        }
    }

    /// How long a unit is, m, where the format says so.
    pub fn unit(&self) -> Option<f64> {
        matches!(self, Document::Usd(_)).then_some(1.0)
    }

    /// A set-up that was written for this scene: paths of prims become what the scene calls them, and range and frame
    /// rate are the file's where neither says them.
    pub fn adapt(&self, setup: Setup) -> Result<Setup, SetupError> {
        let Document::Usd(d) = self else { return Ok(setup) };
        let names = d.names_by_path();
        let mut setup = renamed(setup, &|name| names.get(name).cloned())?;
        setup.bake.frames = setup.bake.frames.or(d.range());
        Ok(setup)
    }

    /// Whether curves are stored as 32-bit floats.
    pub fn is_single(&self) -> bool {
        matches!(self, Document::Gltf(_))
    }

    /// Adds a clip and returns its index. The scene gets it too.
    pub fn add_clip(&mut self, clip: &ClipToAdd<'_>) -> Result<usize, Error> {
        match self {
            Document::Gltf(d) => d.add_clip(clip),
            Document::Usd(d) => d.add_clip(clip),
        }
    }

    /// Adds the shapes of a soft body; a channel for the clip where the format weighs them there.
    pub fn add_deformation(
        &mut self,
        deformation: &Deformation,
        source: Option<usize>,
        frames: &[f64],
    ) -> Result<Option<sinew_core::scene::Channel>, Error> {
        match self {
            Document::Gltf(d) => d.add_deformation(deformation, source, frames).map(Some),
            Document::Usd(d) => d.add_deformation(deformation).map(|()| None),
        }
    }

    /// Gives nodes new translations and rotations.
    pub fn set_pose(&mut self, pose: &[(usize, DVec3, DQuat)]) -> Result<(), Error> {
        match self {
            Document::Gltf(d) => d.set_pose(pose),
            Document::Usd(d) => d.set_pose(pose),
        }
    }

    /// Writes a set-up into the document as its physics, in the format's own words; `dialect` chooses them for glTF.
    /// Returns what cannot be expressed.
    pub fn set_physics(&mut self, setup: &Setup, dialect: PhysicsDialect) -> Result<Vec<String>, SetupError> {
        match self {
            Document::Gltf(d) => d.set_physics(setup, dialect),
            Document::Usd(d) => {
                d.set_physics(setup);
                Ok(Vec::new())
            }
        }
    }

    /// Saves, whole or not at all. In the other format, where the name's ending says so, it is a new file with the clip
    /// that counts (default: the last) and the file's own physics.
    pub fn save(&self, path: &Path, how: Destination, clip: Option<usize>) -> Result<Saved, Error> {
        committed(path, |staging| self.stage(path, how, clip, staging))
    }

    /// Stages what [`Document::save`] writes, to be committed together with other files.
    pub fn stage(
        &self,
        path: &Path,
        how: Destination,
        clip: Option<usize>,
        staging: &mut Staging,
    ) -> Result<Saved, Error> {
        match self {
            Document::Gltf(d) if !usd::is_usd(path) => d.stage(path, staging).map(|()| Saved::default()),
            Document::Usd(d) if usd::is_usd(path) => d.stage(path, how, staging),
            _ => {
                let remarks = self.stage_converted(path, clip, None, staging)?;
                Ok(Saved { remarks, ..Saved::default() })
            }
        }
    }

    /// Whether a file of that name would be of the other format.
    pub fn is_foreign(&self, path: &Path) -> bool {
        usd::is_usd(path) != matches!(self, Document::Usd(_))
    }

    /// Writes the scene as a new file of the other format, with that set-up as its physics, or with its own.
    pub fn convert(
        &self,
        path: &Path,
        clip: Option<usize>,
        setup: Option<&Setup>,
    ) -> Result<Vec<String>, Error> {
        committed(path, |staging| self.stage_converted(path, clip, setup, staging))
    }

    fn stage_converted(
        &self,
        path: &Path,
        clip: Option<usize>,
        setup: Option<&Setup>,
        staging: &mut Staging,
    ) -> Result<Vec<String>, Error> {
        let scene = self.scene();
        let own = || self.physics(None).ok().flatten().map(|p| p.setup);
        let setup = setup.cloned().or_else(own);
        let clip = clip.or_else(|| scene.clips.len().checked_sub(1));
        match self {
            Document::Gltf(d) => {
                // glTF is in metres, and many files are not. A set-up says itself how it takes them.
                let guessed = || setup::automatic(scene, None).map_or(1.0, |s| s.world.metres_per_unit);
                let metres = if setup.is_some() { 1.0 } else { guessed() };
                let foreign = Foreign { scene, clip, cameras: d.cameras(), setup, metres };
                usd::Document::stage_scene(&foreign, path, staging)
            }
            Document::Usd(d) => d.stage_as_gltf(path, clip, setup, staging),
        }
    }
}

/// What `stage` staged, put into its place.
fn committed<T>(path: &Path, stage: impl FnOnce(&mut Staging) -> Result<T, Error>) -> Result<T, Error> {
    let mut staging = Staging::default();
    let done = stage(&mut staging)?;
    staging.commit().map_err(|e| Error::from(e).in_file(&path.display().to_string()))?;
    Ok(done)
}

/// A scene from elsewhere, with what a [`Scene`] has no place for.
pub(crate) struct Foreign<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The clip to write.
    pub clip: Option<usize>,
    /// Cameras by node.
    pub cameras: HashMap<usize, Camera>,
    /// The physics, in the names of the scene.
    pub setup: Option<Setup>,
    /// Metres per unit of the scene, for formats that say it.
    pub metres: f64,
}

/// A camera, in metres and radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Camera {
    /// The angle of view up and down; else the camera is orthographic.
    pub angle: Option<f64>,
    /// Width by height of the picture, or half the sides of what an orthographic camera sees.
    pub sides: [f64; 2],
    /// Nearest and farthest that it sees; the farthest may be without end.
    pub range: [f64; 2],
}

/// Names of nodes in a set-up, replaced where `new` has another.
pub(crate) fn renamed(setup: Setup, new: &dyn Fn(&str) -> Option<String>) -> Result<Setup, SetupError> {
    let bad = |e: serde_json::Error| SetupError::new("set-up", format!("cannot be renamed: {e}"));
    let mut json = serde_json::to_value(&setup).map_err(bad)?;
    walk(&mut json, false, new);
    serde_json::from_value(json).map_err(bad)
}

/// Fields of set-ups that name nodes.
const NAMES: [&str; 8] = ["node", "between", "at", "ignores", "for", "mesh", "only", "parent"];

fn walk(value: &mut Value, is_name: bool, new: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) if is_name => {
            if let Some(name) = new(text) {
                *text = name;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|v| walk(v, is_name, new)),
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, v)| walk(v, NAMES.contains(&key.as_str()), new));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_core::setup::{Body, Joint, JointKind};

    #[test]
    fn only_names_of_nodes_are_renamed() {
        let mut setup = Setup { clip: Some("/a".into()), ..Setup::default() };
        setup.bodies.push(Body::new("/a"));
        setup.joints.push(Joint { name: Some("/a".into()), ..Joint::new(JointKind::Pin, ["/a", "world"]) });
        let found = renamed(setup, &|n| (n == "/a").then(|| "b".to_owned())).unwrap();
        assert_eq!((found.bodies[0].node.as_str(), found.joints[0].between[0].as_str()), ("b", "b"));
        assert_eq!((found.clip.as_deref(), found.joints[0].name.as_deref()), (Some("/a"), Some("/a")));
    }
}
