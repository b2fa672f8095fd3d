//! Gravity, wind and drag on one body at one moment.

use crate::rig::{Field, Rig, Solid};
use crate::setup::Region;
use glam::DVec3;

/// Drag coefficient of a blunt body, between a ball (0.47) and a plate (1.2).
const BLUNT: f64 = 0.8;

/// Fields with this step's strengths evaluated, so that bodies only look at numbers.
#[derive(Clone, Debug, Default)]
pub struct Air {
    gravity: DVec3,
    fields: Vec<(Now, Option<Region>)>,
}

#[derive(Clone, Copy, Debug)]
enum Now {
    Wind { velocity: DVec3, air_density: f64 },
    Drag { rate: f64, spin_rate: f64 },
}

/// What acts on a body besides its actuators.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Acceleration, units/s^2.
    pub acceleration: DVec3,
    /// Loss of velocity against `wind`, 1/s.
    pub drag: f64,
    /// Mean velocity of the air, weighted by how much it drags.
    pub wind: DVec3,
    /// Loss of spin, 1/s.
    pub spin_drag: f64,
}

impl Air {
    /// Room for a rig's fields.
    pub fn new(rig: &Rig) -> Air {
        Air { gravity: DVec3::ZERO, fields: Vec::with_capacity(rig.world.fields.len()) }
    }

    /// Evaluates the keyed strengths at `time` (s). Allocates nothing after [`Air::new`].
    pub fn update(&mut self, rig: &Rig, time: f64) {
        self.gravity = rig.world.gravity * rig.world.gravity_scale.at(time);
        self.fields.clear();
        // Aboard something that turns, what blows and where are as the world has them.
        let aboard = rig.vessel.as_ref().map(|v| v.into_space(time));
        let turned = |v: DVec3| aboard.map_or(v, |a| a.rotation * v);
        let placed = |region: &Option<Region>| {
            region.map(|r| match aboard {
                None => r,
                Some(a) => Region { center: (a.position + turned(r.center.into())).to_array(), ..r },
            })
        };
        for field in &rig.world.fields {
            self.fields.push(match field {
                Field::Wind { velocity, strength, air_density, region } => {
                    let velocity = turned(*velocity * strength.at(time));
                    (Now::Wind { velocity, air_density: *air_density }, placed(region))
                }
                Field::Drag { rate, spin_rate, region } => {
                    (Now::Drag { rate: rate.at(time), spin_rate: spin_rate.at(time) }, placed(region))
                }
            });
        }
    }

    /// What acts on a body at `position` moving with `velocity`.
    ///
    /// Wind pushes with `1/2 rho C A |u| u`, u relative to the body: its rate `1/2 rho C A |u| / m` is taken at
    /// the start of the step and the exchange with the air is then exact, so that no gust is too strong for a step.
    #[inline]
    pub fn on(&self, solid: &Solid, position: DVec3, velocity: DVec3) -> Surroundings {
        let mut all =
            Surroundings { acceleration: self.gravity, drag: 0.0, wind: DVec3::ZERO, spin_drag: 0.0 };
        for (field, region) in &self.fields {
            let share = region.map_or(1.0, |r| fade(&r, position));
            if share == 0.0 {
                continue;
            }
            let (rate, air, spin) = match *field {
                Now::Wind { velocity: air, air_density } => {
                    let area = std::f64::consts::PI * solid.radius * solid.radius;
                    (0.5 * air_density * BLUNT * area * (air - velocity).length() / solid.mass, air, 0.0)
                }
                Now::Drag { rate, spin_rate } => (rate, DVec3::ZERO, spin_rate),
            };
            all.drag += rate * share;
            all.wind += air * (rate * share);
            all.spin_drag += spin * share;
        }
        if all.drag > 0.0 {
            all.wind /= all.drag;
        }
        all
    }
}

/// 1 at the centre, 0 at the radius, smooth at both.
fn fade(region: &Region, position: DVec3) -> f64 {
    let s = (position - DVec3::from_array(region.center)).length() / region.radius;
    if s >= 1.0 { 0.0 } else { 1.0 - s * s * (3.0 - 2.0 * s) }
}
