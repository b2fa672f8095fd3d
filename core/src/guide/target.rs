//! The target on a path: where it is, and how it moves (Lamouret 1995, section 2.2, and timing on top).
//!
//! *Path*: the target keeps the base distance ahead of the body. Each step takes the FIRST parameter past the
//! current one at which the distance is reached; it never moves back. The search steps forward by what the
//! span's speed bound allows, so it cannot jump over a crossing (the paper's binary search can).
//! *Timed*: the target follows the clock, held back where the base distance is reached, and catches up at a
//! bounded rate.

use super::Path;
use crate::rotation;
use crate::scene::Placement;
use crate::setup::Timing;

/// What a target is made of, fixed for a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    /// Index of the path it moves on.
    pub path: usize,
    /// Index of the solid that chases it.
    pub solid: usize,
    /// Whether the distance counts position.
    pub position: bool,
    /// Whether the distance counts orientation.
    pub orientation: bool,
    /// What moves it.
    pub timing: Timing,
    /// `timed`: fastest catching up, in seconds of keys per second; at least 1.
    pub catch_up: f64,
    /// `speeds`: `(time of the key, preferred speed m/s)`, increasing in time.
    pub speeds: Vec<(f64, f64)>,
}

/// Where a target is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Parameter on the path: the keys' own time (s).
    pub parameter: f64,
    /// Span of the path at that parameter.
    pub span: usize,
}

/// How far ahead a target may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Metres.
    pub distance: f64,
    /// Radians.
    pub angle: f64,
    /// Cosine of half the angle: two orientations are within it when their quaternions' product is above this.
    cos_half_angle: f64,
}

impl Reach {
    /// A base distance (m) and angle (rad).
    pub fn new(distance: f64, angle: f64) -> Reach {
        Reach { distance, angle, cos_half_angle: libm::cos(0.5 * angle.min(std::f64::consts::PI)) }
    }
}

/// The search ends when it is within this share of the base distance: far below what a pixel shows.
const SEARCH_TOLERANCE: f64 = 1e-7;

/// Steps of one search. Each halves the gap or better on all but pathological spans; running out leaves the
/// target short of the base distance, which keeps every guarantee and is made up for at the next step.
const MOST_SEARCH_STEPS: usize = 200;

impl Tracker {
    /// Whether a body is within the base distance and angle of a point, without computing an angle.
    #[inline]
    pub fn within(&self, reach: Reach, body: &Placement, point: &Placement) -> bool {
        (!self.position
            || (point.position - body.position).length_squared() <= reach.distance * reach.distance)
            && (!self.orientation || point.rotation.dot(body.rotation).abs() >= reach.cos_half_angle)
    }

    /// Moves the target forward, at most to `limit` (s), to the first point at the base distance from `body`
    /// (which is given in the path's frame).
    pub fn reach_forward(
        &self,
        path: &Path,
        reach: Reach,
        body: &Placement,
        target: &mut Target,
        limit: f64,
    ) {
        let mut t = target.parameter;
        let mut span = path.seek(target.span, t);
        // Up to these times the base distance, and the base angle, certainly are not reached.
        let (mut distance_safe, mut angle_safe) = (t, t);
        for _ in 0..MOST_SEARCH_STEPS {
            if t >= limit {
                break;
            }
            let (end, fastest_turn) = path.bound(span);
            // Only what may have been reached is looked at again.
            if self.position && distance_safe <= t {
                let gap = reach.distance - (path.position_at(span, t) - body.position).length();
                if gap <= SEARCH_TOLERANCE * reach.distance {
                    break;
                }
                distance_safe = path.safe_until(span, t, body.position, reach.distance);
            }
            if self.orientation && angle_safe <= t {
                let gap = reach.angle - rotation::distance(path.rotation_at(span, t), body.rotation);
                if gap <= SEARCH_TOLERANCE * reach.angle {
                    break;
                }
                angle_safe = t + gap / fastest_turn;
            }
            let mut next = limit;
            if self.position {
                next = next.min(distance_safe);
            }
            if self.orientation {
                next = next.min(angle_safe);
            }
            if next < end {
                t = next;
                continue;
            }
            // Into the next span, whose bounds are others. A jump between the two (a stepped key) is taken at once:
            // waiting for its far side to come within reach would be waiting for ever.
            t = end.min(limit);
            if t == end && span + 1 < path.len() {
                span += 1;
                (distance_safe, angle_safe) = (t, t);
            }
        }
        target.parameter = t;
        target.span = path.seek(span, t);
    }

    /// Preferred speed (m/s) at parameter `t`; straight between the keys that have one.
    pub fn preferred_speed(&self, t: f64) -> Option<f64> {
        let i = self.speeds.partition_point(|s| s.0 <= t);
        match (i.checked_sub(1).map(|i| self.speeds[i]), self.speeds.get(i)) {
            (Some(a), Some(b)) => Some(a.1 + (b.1 - a.1) * (t - a.0) / (b.0 - a.0)),
            (Some(a), None) => Some(a.1),
            (None, Some(b)) => Some(b.1),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::path::Accuracy;
    use glam::{DQuat, DVec3};

    fn tracker() -> Tracker {
        Tracker {
            path: 0,
            solid: 0,
            position: true,
            orientation: false,
            timing: Timing::Path,
            catch_up: 2.0,
            speeds: vec![],
        }
    }

    fn at(position: DVec3) -> Placement {
        Placement { position, rotation: DQuat::IDENTITY }
    }

    fn path(points: &[DVec3]) -> Path {
        let breaks: Vec<f64> = (0..points.len()).map(|i| i as f64).collect();
        let fine = Accuracy { position: 1e-9, rotation: 1e-9 };
        let along = |t: f64| {
            let i = (t.floor() as usize).min(points.len() - 2);
            at(points[i].lerp(points[i + 1], t - i as f64))
        };
        let at_breaks: Vec<Placement> = points.iter().map(|p| at(*p)).collect();
        Path::compile(&breaks, &at_breaks, breaks.clone(), fine, false, along)
    }

    #[test]
    fn the_first_crossing_is_taken_on_a_hairpin() {
        // Out and back beside itself: a search that only looks at the far end would skip the whole loop.
        let p = path(&[DVec3::ZERO, DVec3::X * 10.0, DVec3::new(10.0, 0.1, 0.0), DVec3::new(0.0, 0.1, 0.0)]);
        let mut target = Target { parameter: 0.0, span: 0 };
        let reach = Reach::new(1.0, 1.0);
        tracker().reach_forward(&p, reach, &at(DVec3::ZERO), &mut target, 3.0);
        assert!((target.parameter - 0.1).abs() < 1e-7, "{}", target.parameter);
    }

    #[test]
    fn a_body_pushed_back_leaves_the_target_where_it_is() {
        let p = path(&[DVec3::ZERO, DVec3::X * 10.0]);
        let mut target = Target { parameter: 0.5, span: 0 };
        tracker().reach_forward(&p, Reach::new(1.0, 1.0), &at(DVec3::ZERO), &mut target, 1.0);
        assert_eq!(target.parameter, 0.5);
    }

    #[test]
    fn the_end_of_the_path_is_reached_exactly() {
        let p = path(&[DVec3::ZERO, DVec3::X * 10.0]);
        let mut target = Target { parameter: 0.95, span: 0 };
        tracker().reach_forward(&p, Reach::new(1.0, 1.0), &at(DVec3::X * 9.9), &mut target, 1.0);
        assert_eq!(target.parameter, 1.0);
    }

    #[test]
    fn speeds_run_straight_between_keys() {
        let t = Tracker { speeds: vec![(1.0, 2.0), (3.0, 4.0)], ..tracker() };
        assert_eq!(t.preferred_speed(0.0), Some(2.0));
        assert_eq!(t.preferred_speed(2.0), Some(3.0));
        assert_eq!(t.preferred_speed(9.0), Some(4.0));
        assert_eq!(tracker().preferred_speed(1.0), None);
    }
}
