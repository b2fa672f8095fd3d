//! The clips of a bake in a document: the whole motion, the layer on top of the keys, or both, and what they are called.

use super::Outcome;
use crate::document::Document;
use crate::gltf::{ClipToAdd, Error};
use sinew_core::scene::Scene;

/// What is put behind the name of a layer.
const ADDITIVE: &str = " additive";

/// Names of the clips that an outcome has.
#[derive(Clone, Debug)]
pub struct ClipNames {
    /// The whole motion.
    pub full: Option<String>,
    /// What it adds to the keys.
    pub additive: Option<String>,
}

impl ClipNames {
    /// Names after `wish`; free ones, unless clips of that name are to be replaced. A wish that somebody has `chosen`
    /// is not changed behind their back: where it is taken, it is the error.
    pub fn choose(
        scene: &Scene,
        outcome: &Outcome,
        wish: &str,
        chosen: bool,
        replace: bool,
    ) -> Result<ClipNames, String> {
        let free = |wish: String| free_clip_name(scene, &wish, chosen, replace).ok_or(wish);
        let baked = &outcome.baked;
        let full = (!baked.channels.is_empty() || baked.additive.is_empty()).then(|| free(wish.to_string()));
        let additive = (!baked.additive.is_empty()).then(|| free(format!("{wish}{ADDITIVE}")));
        Ok(ClipNames { full: full.transpose()?, additive: additive.transpose()? })
    }

    /// The name of the whole motion, or of the layer where there is only that.
    pub fn shown(&self) -> &str {
        self.full.as_deref().or(self.additive.as_deref()).unwrap_or_default()
    }

    /// Adds the clips, and the shapes of soft bodies, and returns the index of the one that is shown. The whole motion carries
    /// the source's other channels along; a layer has nothing to add there. On an error the document may have some of it.
    pub fn add(&self, document: &mut Document, outcome: &Outcome, replace: bool) -> Result<usize, Error> {
        let mut shown = None;
        if let Some(name) = &self.full {
            let mut channels = outcome.baked.channels.clone();
            for deformation in &outcome.deformations {
                let frames = outcome.motion.times();
                channels.extend(document.add_deformation(deformation, outcome.source, frames)?);
            }
            let clip = ClipToAdd { name, source: outcome.source, replace, channels: &channels };
            shown = Some(document.add_clip(&clip)?);
        }
        if let Some(name) = &self.additive {
            let clip = ClipToAdd { name, source: None, replace, channels: &outcome.baked.additive };
            let index = document.add_clip(&clip)?;
            shown = shown.or(Some(index));
        }
        Ok(shown.unwrap_or_default())
    }
}

/// A name that no clip has yet, unless that clip is to be replaced. `None` when it is taken and was `chosen`: a name
/// that somebody gave is not changed behind their back.
pub(super) fn free_clip_name(scene: &Scene, name: &str, chosen: bool, replace: bool) -> Option<String> {
    let taken = |n: &str| scene.find_clip(n).is_some();
    if replace || !taken(name) {
        return Some(name.to_string());
    }
    if chosen {
        return None;
    }
    (2..).map(|i| format!("{name} {i}")).find(|n| !taken(n))
}
