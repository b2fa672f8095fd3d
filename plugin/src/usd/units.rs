//! A stage's units, axes and clock, and the way from them to the scene's: metres, Y up, seconds; and back.
//!
//! Lengths are multiplied everywhere. The turn from Z up to Y up is put on what has no parent, so that the axes of
//! every prim stay what they are in the file: local rotations, scales and joint axes mean the same on both sides.

use super::stage::said;
use super::value;
use crate::error::Error;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use openusd::usd::Stage;
use sinew_core::scene::Channels;
use std::f64::consts::FRAC_1_SQRT_2;

/// What a stage says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Units {
    /// Metres per unit of length.
    pub metres: f64,
    /// Kilograms per unit of mass.
    pub kilograms: f64,
    /// Whether Z is up, else Y.
    pub z_up: bool,
    /// Time codes per second.
    pub rate: f64,
    /// First and last time code, where the stage says.
    pub range: Option<[f64; 2]>,
}

impl Default for Units {
    /// What a new stage gets: metres, Y up, 24 time codes per second.
    fn default() -> Self {
        Units { metres: 1.0, kilograms: 1.0, z_up: false, rate: 24.0, range: None }
    }
}

/// Sizes beyond these are slips of the pen or attacks; lengths in light years still fit.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-12..=1e18;

impl Units {
    /// Reads them from the root layer. Fails where a number makes no clock or no length.
    pub fn of(stage: &Stage, warnings: &mut Vec<String>) -> Result<Units, Error> {
        let field = |name: &str| -> Result<Option<openusd::sdf::Value>, Error> {
            stage.stage_metadata(name).map_err(|e| Error::input(said(&e)).at(name))
        };
        let number = |name: &str| -> Result<Option<f64>, Error> {
            let Some(found) = field(name)? else { return Ok(None) };
            match value::numbers(&found).as_deref() {
                Some([n]) => Ok(Some(*n)),
                _ => Err(Error::input("must be a number").at(&format!("`{name}` of the stage"))),
            }
        };
        let positive = |name: &str, default: f64| -> Result<f64, Error> {
            match number(name)? {
                None => Ok(default),
                Some(n) if PLAUSIBLE.contains(&n) => Ok(n),
                Some(n) => {
                    let what = format!("{n} is not a number above 0 that makes sense; correct it");
                    Err(Error::input(what).at(&format!("`{name}` of the stage")))
                }
            }
        };
        // A stage without a rate of time codes takes that of its frames.
        let rate = match number("timeCodesPerSecond")? {
            Some(_) => positive("timeCodesPerSecond", 24.0)?,
            None => positive("framesPerSecond", 24.0)?,
        };
        let metres = positive("metersPerUnit", 0.01)?;
        if field("metersPerUnit")?.is_none() {
            warnings.push("the stage does not say `metersPerUnit`: as USD has it, a unit is 0.01 m".into());
        }
        let z_up = match field("upAxis")?.as_ref().and_then(value::text).as_deref() {
            Some("Z") => true,
            None | Some("Y") => false,
            Some(other) => {
                let what = format!("\"{other}\" is neither \"Y\" nor \"Z\"; correct it");
                return Err(Error::input(what).at("`upAxis` of the stage"));
            }
        };
        let range = match (number("startTimeCode")?, number("endTimeCode")?) {
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() && b > a => Some([a, b]),
            (Some(a), Some(b)) if !(a.is_finite() && b.is_finite()) => {
                return Err(Error::input("must be finite numbers")
                    .at("`startTimeCode` and `endTimeCode` of the stage"));
            }
            _ => None,
        };
        Ok(Units { metres, kilograms: positive("kilogramsPerUnit", 1.0)?, z_up, rate, range })
    }

    /// The turn from the stage's axes to the scene's.
    pub fn turn(&self) -> DQuat {
        match self.z_up {
            true => DQuat::from_xyzw(-FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2),
            false => DQuat::IDENTITY,
        }
    }

    /// A direction of the stage's world in the scene's. Exact: axes change places.
    pub fn direction(&self, v: DVec3) -> DVec3 {
        if self.z_up { DVec3::new(v.x, v.z, -v.y) } else { v }
    }

    /// A direction of the scene's world in the stage's.
    pub fn direction_back(&self, v: DVec3) -> DVec3 {
        if self.z_up { DVec3::new(v.x, -v.z, v.y) } else { v }
    }

    /// Local channels in the stage's units as the scene has them; `root`: they have no parent.
    pub fn channels(&self, c: &Channels, root: bool) -> Channels {
        let translation = c.translation * self.metres;
        match root {
            true => Channels {
                translation: self.direction(translation),
                rotation: self.turn() * c.rotation,
                scale: c.scale,
            },
            false => Channels { translation, ..*c },
        }
    }

    /// An affine map to a parent, in the stage's units, as the scene has it.
    pub fn affine(&self, a: &DAffine3, root: bool) -> DAffine3 {
        let scaled = DAffine3 { translation: a.translation * self.metres, ..*a };
        if root { self.turn_map() * scaled } else { scaled }
    }

    /// The way back.
    pub fn affine_back(&self, a: &DAffine3, root: bool) -> DAffine3 {
        let turned = if root { self.turn_map().inverse() * *a } else { *a };
        DAffine3 { translation: turned.translation / self.metres, ..turned }
    }

    fn turn_map(&self) -> DAffine3 {
        let axes =
            DMat3::from_cols(self.direction(DVec3::X), self.direction(DVec3::Y), self.direction(DVec3::Z));
        DAffine3::from_mat3(axes)
    }

    /// Seconds of a time code.
    pub fn seconds(&self, code: f64) -> f64 {
        code / self.rate
    }

    /// The time code of a time, whole where it is a hair away from one.
    pub fn code(&self, seconds: f64) -> f64 {
        let code = seconds * self.rate;
        if (code - code.round()).abs() < 1e-6 { code.round() } else { code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_where_it_was() {
        let units = Units { metres: 0.01, z_up: true, ..Units::default() };
        assert_eq!(units.direction(DVec3::Z), DVec3::Y);
        assert!((units.turn() * DVec3::Z - DVec3::Y).length() < 1e-15);
        let a = DAffine3::from_scale_rotation_translation(
            DVec3::new(1.0, 2.0, 3.0),
            DQuat::from_euler(glam::EulerRot::XYZ, 0.1, 0.2, 0.3),
            DVec3::new(4.0, 5.0, 6.0),
        );
        for root in [true, false] {
            assert!(units.affine_back(&units.affine(&a, root), root).abs_diff_eq(a, 1e-14));
        }
    }
}
