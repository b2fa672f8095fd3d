//! One side of a joint at a moment: where its frame is in the world.

use crate::scene::Placement;
use glam::{DMat3, DQuat, DVec3};

/// Where the frame of one end of a joint is.
///
/// Sides of two moments can be mixed: a step takes its forces along the mean of its start and its end, so the mean of
/// axes need not be a rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The frame's origin.
    pub point: DVec3,
    /// From the body's centre of mass to the origin.
    pub lever: DVec3,
    /// The frame's axes.
    pub axes: DMat3,
    /// The same as a rotation; of a mean not a unit one.
    pub turned: DQuat,
}

impl Side {
    /// The side of an end at `place` with `frame` in it.
    pub fn new(place: &Placement, frame: &Placement) -> Side {
        let lever = place.rotation * frame.position;
        let turned = place.rotation * frame.rotation;
        Side { point: place.position + lever, lever, axes: DMat3::from_quat(turned), turned }
    }

    /// Origin and lever between this moment (`share` 0) and a later one (1).
    #[inline(always)]
    pub fn mix_point(&self, later: &Side, share: f64) -> (DVec3, DVec3) {
        let (keep, take) = (1.0 - share, share);
        (self.point * keep + later.point * take, self.lever * keep + later.lever * take)
    }

    /// Between this moment and a later one, how it is turned and nothing else.
    #[inline(always)]
    pub fn mix_turned(&self, later: &Side, share: f64) -> Side {
        let same = if self.turned.dot(later.turned) < 0.0 { -share } else { share };
        Side { turned: self.turned * (1.0 - share) + later.turned * same, ..Side::default() }
    }

    /// Between this moment (`share` 0) and a later one (1).
    #[inline(always)]
    pub fn mix(&self, later: &Side, share: f64) -> Side {
        let (point, lever) = self.mix_point(later, share);
        let axes = self.axes * (1.0 - share) + later.axes * share;
        Side { point, lever, axes, ..self.mix_turned(later, share) }
    }
}

impl Default for Side {
    fn default() -> Self {
        Side { point: DVec3::ZERO, lever: DVec3::ZERO, axes: DMat3::IDENTITY, turned: DQuat::IDENTITY }
    }
}
