//! What carries the shapes that touch: bodies by number. Simulated solids come first, then what follows keys, the world
//! last.

use crate::contact::{Bounds, pose};
use crate::rig::{Carrier, Collider, Rig};
use crate::scene::Placement;
use crate::shape::Geometry;
use glam::DVec3;

/// Who carries what.
#[derive(Clone, Debug)]
pub struct Carriers {
    /// Of each collider: its body, and how far its furthest point is from that body's centre.
    pub body_of: Vec<u32>,
    pub radii: Vec<f64>,
    /// The largest extent of what is simulated: margins around half spaces are measured by that.
    pub largest: f64,
    /// Of each body: the extent of its smallest collider.
    pub sizes: Vec<f64>,
    /// Paths of the bodies that follow keys.
    pub keyed: Vec<usize>,
    /// How many are simulated.
    pub solids: u32,
    /// The colliders of each body, one after the other, and where each body's begin.
    colliders: Vec<u32>,
    first: Vec<u32>,
    /// Every collider may touch every other, but for those on the same body and those that nothing moves.
    plain: bool,
}

impl Carriers {
    /// Those of a rig; `None` where nothing can touch.
    pub fn new(rig: &Rig) -> Option<Carriers> {
        let all = &rig.colliders.all;
        if !all.iter().any(|c| matches!(c.carrier, Carrier::Solid(_))) || all.len() < 2 {
            return None;
        }
        let solids = rig.solids.len();
        let mut keyed: Vec<usize> = Vec::new();
        let mut body_of: Vec<u32> = Vec::with_capacity(all.len());
        for c in all {
            body_of.push(match c.carrier {
                Carrier::Solid(s) => s as u32,
                Carrier::Keys(p) => {
                    let k = keyed.iter().position(|k| *k == p).unwrap_or_else(|| {
                        keyed.push(p);
                        keyed.len() - 1
                    });
                    (solids + k) as u32
                }
                Carrier::World => u32::MAX,
            });
        }
        let bodies = solids + keyed.len() + 1;
        body_of.iter_mut().filter(|b| **b == u32::MAX).for_each(|b| *b = bodies as u32 - 1);
        let radius = |c: &Collider| match matches!(c.carrier, Carrier::World) {
            true => 0.0,
            false => {
                let ball = c.geometry.shape().compute_local_bounding_sphere();
                (c.place.position + c.place.rotation * ball.center()).length() + ball.radius()
            }
        };
        let simulated = all.iter().filter(|c| matches!(c.carrier, Carrier::Solid(_)));
        let largest = simulated.map(|c| c.size).filter(|s| s.is_finite()).fold(0.0, f64::max);
        let mut sizes = vec![f64::INFINITY; bodies];
        let mut first = vec![0; bodies + 1];
        for (c, &b) in all.iter().zip(&body_of) {
            let size = &mut sizes[b as usize];
            *size = size.min(c.size);
            first[b as usize + 1] += 1;
        }
        for b in 0..bodies {
            first[b + 1] += first[b];
        }
        let mut colliders: Vec<u32> = (0..all.len() as u32).collect();
        colliders.sort_by_key(|c| body_of[*c as usize]);
        let alike = |c: &Collider| c.member == all[0].member && c.touches == all[0].touches;
        let alone = |c: &Collider| match c.carrier {
            Carrier::Solid(s) => rig.solids[s].node == c.node,
            _ => true,
        };
        Some(Carriers {
            plain: rig.colliders.apart.is_empty()
                && all.iter().all(|c| alike(c) && alone(c))
                && all[0].member & all[0].touches != 0,
            radii: all.iter().map(radius).collect(),
            largest,
            sizes,
            keyed,
            solids: solids as u32,
            colliders,
            first,
            body_of,
        })
    }

    /// How many bodies there are.
    pub fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// The colliders of a body.
    #[inline]
    pub fn of(&self, body: u32) -> &[u32] {
        &self.colliders[self.first[body as usize] as usize..self.first[body as usize + 1] as usize]
    }

    /// The colliders of all that is not simulated.
    pub fn unmoved(&self) -> &[u32] {
        &self.colliders[self.first[self.solids as usize] as usize..]
    }

    /// Whether two colliders may touch.
    #[inline]
    pub fn may_touch(&self, rig: &Rig, a: u32, b: u32) -> bool {
        let [x, y] = [self.body_of[a as usize], self.body_of[b as usize]];
        x != y
            && (x < self.solids || y < self.solids)
            && (self.plain || rig.colliders.may_touch(a as usize, b as usize))
    }
}

/// The box around a collider whose body is there.
#[inline]
pub fn around(collider: &Collider, at: &Placement) -> Bounds {
    match collider.place == Placement::IDENTITY {
        true => bounds(&collider.geometry, at),
        false => bounds(&collider.geometry, &at.then(&collider.place)),
    }
}

/// The box around a shape.
fn bounds(geometry: &Geometry, at: &Placement) -> Bounds {
    match geometry {
        Geometry::Ball(ball) => Bounds { low: at.position - ball.radius, high: at.position + ball.radius },
        Geometry::Box(cuboid) => {
            let m = glam::DMat3::from_quat(at.rotation);
            let h = cuboid.half_extents;
            let reach = m.x_axis.abs() * h.x + m.y_axis.abs() * h.y + m.z_axis.abs() * h.z;
            Bounds { low: at.position - reach, high: at.position + reach }
        }
        Geometry::Capsule(capsule) => {
            let (a, b) = (capsule.segment.a, capsule.segment.b);
            if a == -b {
                let reach = (at.rotation * b).abs();
                return Bounds {
                    low: at.position - reach - capsule.radius,
                    high: at.position + reach + capsule.radius,
                };
            }
            let [a, b] = [a, b].map(|p| at.position + at.rotation * p);
            Bounds { low: a.min(b) - capsule.radius, high: a.max(b) + capsule.radius }
        }
        other => {
            let around = other.shape().compute_aabb(&pose(at));
            Bounds { low: around.mins, high: around.maxs }
        }
    }
}

/// The end of the world, and how far from a floor's middle anything is at most.
const ENDLESS: f64 = 1e200;
const FARTHEST: f64 = 1e9;

/// The box around all that is below y = 0 of a place: floors end at their height, slopes nowhere.
pub fn below(at: &Placement) -> Bounds {
    let mut all = Bounds { low: DVec3::splat(-ENDLESS), high: DVec3::splat(ENDLESS) };
    let up = at.rotation * DVec3::Y;
    for axis in 0..3 {
        let slope = up.abs().element_sum() - up[axis].abs();
        if slope < LEVEL {
            let level = at.position[axis];
            match up[axis] > 0.0 {
                true => all.high[axis] = level + slope * FARTHEST,
                false => all.low[axis] = level - slope * FARTHEST,
            }
        }
    }
    all
}

/// A floor is level whose slope is a matter of digits.
const LEVEL: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation;

    #[test]
    fn a_floor_ends_at_its_height_whichever_way_is_up() {
        let position = DVec3::new(3.0, -2.0, 5.0);
        for (turn, axis, ends) in [
            (DVec3::ZERO, 1, [-ENDLESS, -2.0]),
            (DVec3::X * std::f64::consts::FRAC_PI_2, 2, [-ENDLESS, 5.0]),
            (DVec3::Z * std::f64::consts::FRAC_PI_2, 0, [3.0, ENDLESS]),
        ] {
            let found = below(&Placement { position, rotation: rotation::exp(turn) });
            for k in 0..3 {
                let [low, high] = if k == axis { ends } else { [-ENDLESS, ENDLESS] };
                assert!((found.low[k] - low).abs() < 1e-6, "{found:?}");
                assert!((found.high[k] - high).abs() < 1e-6, "{found:?}");
            }
        }
        let slope = Placement { position, rotation: rotation::exp(DVec3::X * 1e-6) };
        assert_eq!(below(&slope).high, DVec3::splat(ENDLESS));
    }
}
