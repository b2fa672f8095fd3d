//! What is the same for all bodies, compiled: groups, gravity, fields and time.

use super::compile::{Compiler, check, curve_error};
use super::{Field, GroupFactors, Value, World};
use crate::setup::{self, Keyable, SetupError};
use glam::DVec3;

impl Compiler<'_> {
    /// The factors of the set-up's groups.
    pub(super) fn groups(&self) -> Result<Vec<GroupFactors>, SetupError> {
        let mut groups = Vec::with_capacity(self.setup.groups.len());
        for (i, g) in self.setup.groups.iter().enumerate() {
            let place = format!("groups[{i}] \"{}\"", g.name);
            if self.setup.groups[..i].iter().any(|o| o.name == g.name) {
                return Err(SetupError::new(place, "is there twice; keep one"));
            }
            let factor = |name: &str, v: &Keyable| {
                let place = format!("{place}.{name}");
                check(&place, v, 0.0, f64::MAX)?;
                Value::new(v).map_err(curve_error(place))
            };
            groups.push(GroupFactors {
                strength: factor("strength", &g.strength)?,
                damping: factor("damping", &g.damping)?,
                compensation: factor("compensation", &g.compensation)?,
                blend: factor("blend", &g.blend)?,
            });
        }
        Ok(groups)
    }

    /// Gravity, fields and time.
    pub(super) fn world(&self) -> Result<World, SetupError> {
        let w = &self.setup.world;
        let vector = |place: &str, v: [f64; 3]| match v.iter().all(|c| c.is_finite()) {
            true => Ok(DVec3::from_array(v) / self.mpu),
            false => Err(SetupError::new(place, "is not made of finite numbers")),
        };
        let value = |place: &str, v: &Keyable| {
            check(place, v, 0.0, f64::MAX)?;
            Value::new(v).map_err(curve_error(place))
        };
        let mut fields = Vec::with_capacity(w.fields.len());
        for (i, field) in w.fields.iter().enumerate() {
            let place = format!("world.fields[{i}]");
            let (setup::Field::Wind { region, .. } | setup::Field::Drag { region, .. }) = field;
            if region.is_some_and(|r| {
                !(r.radius > 0.0 && r.radius.is_finite() && r.center.iter().all(|c| c.is_finite()))
            }) {
                return Err(SetupError::new(
                    format!("{place}.region"),
                    "needs a finite centre and a radius above 0",
                ));
            }
            fields.push(match field {
                setup::Field::Wind { velocity, strength, air_density, region } => {
                    if !(air_density.is_finite() && *air_density >= 0.0) {
                        return Err(SetupError::new(format!("{place}.air_density"), "must be 0 or more"));
                    }
                    Field::Wind {
                        velocity: vector(&format!("{place}.velocity"), *velocity)?,
                        strength: value(&format!("{place}.strength"), strength)?,
                        air_density: air_density * self.mpu * self.mpu * self.mpu,
                        region: *region,
                    }
                }
                setup::Field::Drag { rate, spin_rate, region } => Field::Drag {
                    rate: value(&format!("{place}.rate"), rate)?,
                    spin_rate: value(&format!("{place}.spin_rate"), spin_rate.as_ref().unwrap_or(rate))?,
                    region: *region,
                },
            });
        }
        Ok(World {
            gravity: vector("world.gravity", w.gravity)?,
            gravity_scale: Value::new(&w.gravity_scale).map_err(curve_error("world.gravity_scale"))?,
            time_scale: value("world.time_scale", &w.time_scale)?,
            fields,
            metres_per_unit: self.mpu,
        })
    }
}
