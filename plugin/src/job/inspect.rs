//! What is in a scene, and what would be simulated.

use super::setup_file::AUTOMATIC;
use super::{JobError, LoadedSetup, SetupSource, load_setup_with};
use crate::document::Document;
use crate::gltf::ReadOptions;
use serde::Serialize;
use sinew_core::rig::{Carrier, compile};
use sinew_core::scene::{Property, Scene};
use sinew_core::setup::{Behaviour, Wish, choose_clip, explain, remarks};
use std::collections::HashSet;
use std::path::Path;

/// What is in a scene.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The file.
    pub scene: String,
    /// Counts.
    pub nodes: usize,
    /// Counts.
    pub meshes: usize,
    /// Counts.
    pub skins: usize,
    /// Every clip.
    pub clips: Vec<ClipInfo>,
    /// Where the set-up comes from.
    pub setup: String,
    /// The clip that would guide.
    pub clip: Option<String>,
    /// Frames per second of the bake.
    pub frames_per_second: Option<f64>,
    /// First and last frame of the bake.
    pub frames: Option<[f64; 2]>,
    /// Metres per scene unit.
    pub metres_per_unit: f64,
    /// What would be simulated.
    pub bodies: Vec<BodyInfo>,
    /// What would be in their way.
    pub obstacles: Vec<ObstacleInfo>,
    /// Keyed nodes that would not be, and why.
    pub left_alone: Vec<LeftAlone>,
    /// What else an automatic set-up decided, and why.
    pub remarks: Vec<String>,
    /// What is amiss.
    pub warnings: Vec<String>,
}

/// One clip.
#[derive(Clone, Debug, Serialize)]
pub struct ClipInfo {
    /// Its name; empty when it has none.
    pub name: String,
    /// First key, s.
    pub start_s: f64,
    /// Last key, s.
    pub end_s: f64,
    /// Curves by property: translation, rotation, scale, weights.
    pub curves: [usize; 4],
    /// Keys in all.
    pub keys: usize,
}

/// One body that would be simulated.
#[derive(Clone, Debug, Serialize)]
pub struct BodyInfo {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Guided or free.
    pub guided: bool,
    /// Why, when the set-up is automatic.
    pub because: Option<String>,
    /// kg.
    pub mass_kg: f64,
    /// How the mass was found.
    pub mass_from: String,
    /// How quickly it answers, rad/s.
    pub answers_at_rad_per_s: f64,
    /// 1 is critical.
    pub damping: f64,
    /// Base distance, scene units.
    pub base_distance: f64,
    /// The shape that it touches with, and how that was found; none when it touches nothing.
    pub collider: Option<String>,
}

/// One thing that is in the way and is not simulated.
#[derive(Clone, Debug, Serialize)]
pub struct ObstacleInfo {
    /// The node, as a set-up calls it.
    pub node: String,
    /// What moves it: nothing, keys, or the body of that name that it is on.
    pub moved_by: Option<String>,
    /// The shape that it touches with, and how that was found.
    pub collider: String,
}

/// A keyed node that would not be simulated.
#[derive(Clone, Debug, Serialize)]
pub struct LeftAlone {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Why.
    pub because: String,
}

/// Looks at a scene and its set-up.
pub fn inspect(
    path: &Path,
    source: &SetupSource,
    clip: Option<&str>,
    wish: &Wish,
    read: &ReadOptions,
) -> Result<Inspection, JobError> {
    let document = Document::open(path, read)?;
    let scene = document.scene();
    let LoadedSetup { setup, name: setup_name, warnings } =
        load_setup_with(path, &document, source, clip, wish)?;
    let bad = |error| JobError::Setup { file: setup_name.clone(), error };
    let chosen = choose_clip(scene, setup.clip.as_deref()).map_err(bad)?.map(|c| c.1);
    let mut found = Inspection {
        scene: path.display().to_string(),
        nodes: scene.nodes.len(),
        meshes: scene.meshes.len(),
        skins: scene.skins.len(),
        clips: scene.clips.iter().map(clip_info).collect(),
        setup: setup_name.clone(),
        clip: setup.clip.clone(),
        frames_per_second: None,
        frames: None,
        metres_per_unit: setup.world.metres_per_unit,
        bodies: Vec::new(),
        obstacles: Vec::new(),
        left_alone: Vec::new(),
        remarks: Vec::new(),
        warnings: document.warnings().iter().cloned().chain(warnings).collect(),
    };
    let wish = Wish { unit: document.unit(), ..*wish };
    let choices = chosen.map_or_else(Vec::new, |c| explain(scene, c, &wish));
    // A set-up that somebody wrote has its own reasons.
    let automatic = setup_name == AUTOMATIC;
    if let Some(clip) = chosen.filter(|_| automatic) {
        found.remarks = remarks(scene, clip, &wish);
    }
    let mut simulated = HashSet::new();
    if !setup.bodies.is_empty() {
        let compiled = compile(scene, &setup, chosen).map_err(bad)?;
        let range = compiled.rig.range;
        found.frames_per_second = Some(range.frames_per_second);
        found.frames = Some([range.first, range.last]);
        found.warnings.extend(compiled.warnings);
        for (i, solid) in compiled.rig.solids.iter().enumerate() {
            simulated.insert(solid.node);
            let drive = compiled.rig.drive(i, range.start());
            let answers = drive.stiffness.sqrt();
            found.bodies.push(BodyInfo {
                node: solid.name.clone(),
                guided: solid.position_target.is_some() || solid.rotation_target.is_some(),
                because: choices
                    .iter()
                    .find(|c| automatic && c.node == solid.node)
                    .map(|c| c.because.clone()),
                mass_kg: solid.mass,
                mass_from: compiled.mass_notes[i].clone(),
                answers_at_rad_per_s: answers,
                damping: if answers > 0.0 { drive.damping / (2.0 * answers) } else { 0.0 },
                base_distance: drive.reach.distance,
                collider: compiled
                    .collider_notes
                    .iter()
                    .find(|n| n.node == solid.node)
                    .map(|n| n.how.clone()),
            });
        }
        for note in compiled.collider_notes.iter().filter(|n| !simulated.contains(&n.node)) {
            let Some(c) = compiled.rig.colliders.all.iter().find(|c| c.node == note.node) else { continue };
            found.obstacles.push(ObstacleInfo {
                node: c.name.clone(),
                moved_by: match c.carrier {
                    Carrier::World => None,
                    Carrier::Keys(_) => Some("its keys".into()),
                    Carrier::Solid(s) => Some(compiled.rig.solids[s].name.clone()),
                },
                collider: note.how.clone(),
            });
        }
    }
    let names = scene.by_name();
    found.left_alone = choices
        .into_iter()
        .filter(|c| !simulated.contains(&c.node))
        .map(|c| LeftAlone {
            node: scene.reference(&names, c.node),
            because: match c.behaviour {
                Behaviour::Animated => c.because,
                _ => "keyed, but the set-up does not simulate it: left as keyed".into(),
            },
        })
        .collect();
    if found.bodies.is_empty() && scene_is_still(scene) {
        found.warnings.push("the scene has no keys: nothing would be simulated without a set-up file".into());
    }
    Ok(found)
}

fn scene_is_still(scene: &Scene) -> bool {
    scene.clips.iter().all(|c| c.channels.is_empty())
}

fn clip_info(clip: &sinew_core::scene::Clip) -> ClipInfo {
    let (start_s, end_s) = clip.range().unwrap_or((0.0, 0.0));
    let properties = [Property::Translation, Property::Rotation, Property::Scale, Property::Weights];
    ClipInfo {
        name: clip.name.clone(),
        start_s,
        end_s,
        curves: properties.map(|p| clip.channels.iter().filter(|c| c.property == p).count()),
        keys: clip.channels.iter().map(|c| c.curve.times().len()).sum(),
    }
}
