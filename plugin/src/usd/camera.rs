//! Cameras: what they see, for formats that are to have them too.

use super::units::Units;
use super::value::{loose, word};
use crate::document::Camera;
use crate::error::Error;
use openusd::usd::Prim;

/// Reads a camera. Focal length and apertures are in tenths of a unit; defaults are those of UsdGeomCamera.
pub(super) fn read(prim: &Prim, units: &Units) -> Result<Camera, Error> {
    let number = |name: &str, default: f64| -> Result<f64, Error> {
        Ok(loose(prim, name)?.first().copied().filter(|v| v.is_finite() && *v > 0.0).unwrap_or(default))
    };
    let wide = number("horizontalAperture", 20.955)?;
    let high = number("verticalAperture", 15.2908)?;
    let range = loose(prim, "clippingRange")?;
    let range = match range[..] {
        [near, far] if near.is_finite() && near > 0.0 && far > near => [near, far],
        _ => [1.0, 1e6],
    };
    let range = range.map(|v| v * units.metres);
    if word(prim, "projection")?.as_deref() == Some("orthographic") {
        let half = 0.5 * 0.1 * units.metres;
        return Ok(Camera { angle: None, sides: [wide * half, high * half], range });
    }
    let angle = 2.0 * (0.5 * high / number("focalLength", 50.0)?).atan();
    Ok(Camera { angle: Some(angle), sides: [wide, high], range })
}
