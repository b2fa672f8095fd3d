//! A hand that holds on to a body in a live session: it moves as the host says, and nothing moves it.

use crate::rotation;
use crate::scene::Placement;
use glam::DVec3;

/// A hand on its way from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// Where it was, and when (scene time, s).
    pub from: (f64, Placement),
    /// Where it is going, and when it is there.
    pub to: (f64, Placement),
}

impl Hand {
    /// A hand that is still.
    pub fn still(time: f64, place: Placement) -> Hand {
        Hand { from: (time, place), to: (time, place) }
    }

    fn share(&self, time: f64) -> f64 {
        let span = self.to.0 - self.from.0;
        if span > 0.0 { ((time - self.from.0) / span).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Where it is at `time` (s).
    pub fn at(&self, time: f64) -> Placement {
        let u = self.share(time);
        let (a, b) = (&self.from.1, &self.to.1);
        Placement {
            position: a.position.lerp(b.position, u),
            rotation: rotation::slerp(a.rotation, b.rotation, u),
        }
    }

    /// Velocity and spin at `time`; none once it is there.
    pub fn velocity(&self, time: f64) -> (DVec3, DVec3) {
        let span = self.to.0 - self.from.0;
        if span <= 0.0 || time > self.to.0 + 1e-9 {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let (a, b) = (&self.from.1, &self.to.1);
        let turn = rotation::log(b.rotation * a.rotation.conjugate());
        ((b.position - a.position) / span, turn / span)
    }
}
