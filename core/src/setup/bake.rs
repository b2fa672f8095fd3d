//! What is written back, and how.

use super::SetupError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is written back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bake {
    /// Name of the new clip. Default: the source's name with " (Sinew)".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// First and last frame (frame 0 is time 0). Default: the clip's, and for `path` guides until they arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<[f64; 2]>,
    /// Few keys, or one on every frame.
    pub keys: BakedKeys,
    /// `fitted`, `linear`: how far a fitted curve may be from the simulation, scene units. Default: a thousandth of the
    /// object's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// `fitted`, `linear`: the same for rotations, degrees. Default: what moves the end of its chain by a thousandth of the
    /// figure's size, from 0.05 for what stands alone to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance_deg: Option<f64>,
    /// How the shapes of soft bodies are written.
    #[serde(skip_serializing_if = "BakedDeformation::is_default")]
    pub deformation: BakedDeformation,
    /// The range is one turn of a cycle, and so shall the bake be: it is simulated over and over until it repeats, and
    /// the last frame is made to meet the first in pose and velocity. Default false.
    #[serde(rename = "loop", skip_serializing_if = "std::ops::Not::not")]
    pub looped: bool,
    /// Nodes that get new curves: names, `#index`, names of groups; `*` stands for any letters. The others are
    /// simulated too and keep the curves that they have. Default: all that are simulated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// The whole motion, its difference to the keys, or a clip of each.
    #[serde(skip_serializing_if = "BakedLayer::is_default")]
    pub layer: BakedLayer,
    /// Keys on every so many frames, and the pose held in between: 2 for animation on twos. Default 1: in motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Frame from which on everything baked stays as it is then, relative to its parent. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<f64>,
}

impl Bake {
    /// Refuses numbers and wishes that cannot be.
    pub fn check(&self) -> Result<(), SetupError> {
        for (name, tolerance) in [("tolerance", self.tolerance), ("tolerance_deg", self.tolerance_deg)] {
            if let Some(t) = tolerance.filter(|t| !(t.is_finite() && *t >= 0.0)) {
                return Err(SetupError::new(format!("bake.{name}"), format!("{t} must be 0 or more")));
            }
        }
        if self.every == Some(0) {
            return Err(SetupError::new("bake.every", "0 frames have no pose; give 1, 2, 3 ..."));
        }
        if let Some(frame) = self.hold.filter(|f| !f.is_finite()) {
            return Err(SetupError::new("bake.hold", format!("{frame} is no frame")));
        }
        if self.hold.is_some() && self.looped {
            let why =
                "what is held from a frame on does not come back to its start; drop \"hold\" or \"loop\"";
            return Err(SetupError::new("bake.hold", why));
        }
        if self.every() > 1 && self.layer != BakedLayer::Full {
            let why =
                "a pose that is held cannot be added to keys that move on; take \"full\", or drop \"every\"";
            return Err(SetupError::new("bake.layer", why));
        }
        Ok(())
    }

    /// Frames from one key to the next where poses are held, else 1.
    pub fn every(&self) -> usize {
        self.every.map_or(1, |n| n as usize)
    }
}

/// The whole motion, or what it adds to the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BakedLayer {
    /// A clip that plays on its own.
    #[default]
    Full,
    /// A clip to be added to the keys: translations are added to theirs, rotations multiplied from the right.
    Additive,
    /// Both clips.
    Both,
}

impl BakedLayer {
    fn is_default(&self) -> bool {
        *self == BakedLayer::default()
    }

    /// Whether the whole motion is wanted.
    pub fn full(self) -> bool {
        self != BakedLayer::Additive
    }

    /// Whether the difference is wanted.
    pub fn additive(self) -> bool {
        self != BakedLayer::Full
    }
}

/// How the shapes of soft bodies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BakedDeformation {
    /// As morph targets, where a coating is pressed: as few as `tolerance` needs.
    #[default]
    Morph,
    /// Not at all.
    None,
}

impl BakedDeformation {
    fn is_default(&self) -> bool {
        *self == BakedDeformation::default()
    }
}

/// Which keys a bake has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BakedKeys {
    /// The few cubic keys that stay within the tolerance.
    #[default]
    Fitted,
    /// The few keys with straight lines between them that stay within the tolerance: for readers that drop tangents.
    Linear,
    /// One key on every frame, straight in between.
    EveryFrame,
}
