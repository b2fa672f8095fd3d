//! Bodies that are keyed until physics takes over, compiled.

use super::compile::Compiler;
use crate::setup::{Body, SetupError};

/// When physics takes over from the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Release {
    /// Scene time (s).
    pub time: Option<f64>,
    /// Whether a touch does it, by something at least so fast, units/s.
    pub touched: Option<f64>,
    /// Share of the keys' velocity that it has then.
    pub inherit: f64,
    /// After how many seconds it goes back to the keys, and how long that takes.
    pub back: Option<(f64, f64)>,
}

impl Compiler<'_> {
    /// When physics takes over from the keys of a body.
    pub(super) fn release(&self, body: &Body, place: &str) -> Result<Option<Release>, SetupError> {
        let Some(wanted) = &body.release else { return Ok(None) };
        let check = |field: &str, value: f64, most: f64| match value >= 0.0 && value <= most {
            true => Ok(()),
            false => Err(SetupError::new(
                format!("{place}.release.{field}"),
                format!("{value} must be between 0 and {most}"),
            )),
        };
        check("speed", wanted.speed, 1e6)?;
        check("inherit", wanted.inherit, 100.0)?;
        check("back_after", wanted.back_after.unwrap_or(0.0), 1e6)?;
        check("back_over", wanted.back_over, 1e6)?;
        if wanted.frame.is_some_and(|f| !f.is_finite()) {
            return Err(SetupError::new(format!("{place}.release.frame"), "is no finite number"));
        }
        if wanted.frame.is_none() && !wanted.touched {
            let remedy =
                "nothing ever releases it; give a \"frame\", say \"touched\": true, or take \"animated\"";
            return Err(SetupError::new(format!("{place}.release"), remedy));
        }
        Ok(Some(Release {
            time: wanted.frame.map(|f| f / self.frames_per_second),
            touched: wanted.touched.then_some(wanted.speed / self.mpu),
            inherit: wanted.inherit,
            back: wanted.back_after.map(|after| (after, wanted.back_over)),
        }))
    }
}
