//! Who is tried: made characters always, and those of others where there are samples.

use sinew_core::scene::{Clip, Scene};
use sinew_core::setup::choose_clip;
use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::made::character::Character;
use sinew_tests::sample;

/// A character and one of its clips.
pub struct Figure {
    /// Its name, and its clip's.
    pub label: String,
    pub scene: Scene,
    pub clip: String,
}

impl Figure {
    fn new(name: &str, document: Document, clip: &str) -> Figure {
        Figure { label: format!("{name} {clip}"), scene: document.scene().clone(), clip: clip.into() }
    }

    /// A made one.
    pub fn made(character: &Character, clip: &str) -> Figure {
        let bytes = character.to_glb();
        let document = Document::from_bytes(&bytes, &character.name, None, &ReadOptions::default()).unwrap();
        Figure::new(&character.name, document, clip)
    }

    /// One of the samples, where there are any.
    pub fn sample(file: &str, clip: &str) -> Option<Figure> {
        let path = sample::file(&format!("gltf/{file}"))?;
        Some(Figure::new(file, Document::open(&path, &ReadOptions::default()).unwrap(), clip))
    }

    /// The clip.
    pub fn keys(&self) -> &Clip {
        choose_clip(&self.scene, Some(&self.clip)).unwrap().unwrap().1
    }
}

/// The sample figures whose tracking is promised.
fn samples() -> Vec<Figure> {
    let all = [("Fox.glb", "Survey"), ("Fox.glb", "Walk"), ("Fox.glb", "Run"), ("RiggedFigure.glb", "#0")];
    all.into_iter().filter_map(|(file, clip)| Figure::sample(file, clip)).collect()
}

/// Everybody whose tracking is promised; `known` has the others.
pub fn figures() -> Vec<Figure> {
    let made = [
        (Character::biped(), "Idle"),
        (Character::biped(), "Walk"),
        (Character::biped(), "Attack"),
        (Character::dancer(), "Walk"),
        (Character::quadruped(), "Walk"),
        (Character::quadruped(), "Run"),
        (Character::wolf(), "Walk"),
        (Character::snake(), "Slither"),
        (Character::bird(), "Fly"),
    ];
    let mut all: Vec<Figure> = made.iter().map(|(c, clip)| Figure::made(c, clip)).collect();
    all.extend(samples());
    all
}

/// A few of them, for what takes a dozen bakes each.
pub fn some_figures() -> Vec<Figure> {
    let mut all =
        vec![Figure::made(&Character::biped(), "WalkAlong"), Figure::made(&Character::quadruped(), "Walk")];
    all.extend(samples());
    all
}
