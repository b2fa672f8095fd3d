//! What a point can be held on: a curve or a surface, in the frame of the first end.

use glam::DVec3;

/// A curve through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    points: Vec<DVec3>,
    closed: bool,
}

/// The nearest place on a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Where.
    pub point: DVec3,
    /// Unit directions along which a point there is held.
    pub held: [DVec3; 3],
    /// How many of them count.
    pub count: usize,
}

/// Places per span where the search for the nearest one starts.
const STARTS: usize = 8;

impl Track {
    /// A Catmull-Rom curve through two or more points.
    pub fn curve(points: Vec<DVec3>, closed: bool) -> Track {
        Track { closed: closed && points.len() > 2, points }
    }

    fn spans(&self) -> usize {
        if self.closed { self.points.len() } else { self.points.len() - 1 }
    }

    /// Position and first two derivatives at parameter `u`, 0 to the number of spans.
    fn at(&self, u: f64) -> [DVec3; 3] {
        let n = self.points.len();
        let span = (u.floor().max(0.0) as usize).min(self.spans() - 1);
        let s = u - span as f64;
        let point = |k: usize, back: usize| match self.closed {
            true => self.points[(span + k + n - back) % n],
            // Past an end the curve goes on straight.
            false => match (span + k).checked_sub(back) {
                None => self.points[0] * 2.0 - self.points[1],
                Some(i) if i >= n => self.points[n - 1] * 2.0 - self.points[n - 2],
                Some(i) => self.points[i],
            },
        };
        let (p0, p1, p2, p3) = (point(0, 1), point(0, 0), point(1, 0), point(2, 0));
        let b = (p2 - p0) * 0.5;
        let c = p0 - p1 * 2.5 + p2 * 2.0 - p3 * 0.5;
        let d = (p1 - p2) * 1.5 + (p3 - p0) * 0.5;
        [p1 + (b + (c + d * s) * s) * s, b + (c * 2.0 + d * (3.0 * s)) * s, c * 2.0 + d * (6.0 * s)]
    }

    /// The nearest place to `point`.
    pub fn nearest(&self, point: DVec3) -> Nearest {
        let spans = self.spans() as f64;
        let far = |u: f64| (self.at(u)[0] - point).length_squared();
        let starts = self.spans() * STARTS;
        let mut u = (0..=starts)
            .map(|i| i as f64 / STARTS as f64)
            .min_by(|a, b| far(*a).total_cmp(&far(*b)))
            .unwrap_or(0.0);
        for _ in 0..12 {
            let [p, d, dd] = self.at(u);
            let away = p - point;
            let curved = d.length_squared() + away.dot(dd).max(-0.5 * d.length_squared());
            let next = u - away.dot(d) / curved.max(1e-300);
            let next = match self.closed {
                true => next.rem_euclid(spans),
                false => next.clamp(0.0, spans),
            };
            let done = (next - u).abs() < 1e-14 * spans;
            u = next;
            if done {
                break;
            }
        }
        let [at, along, _] = self.at(u);
        let along = along.normalize_or(DVec3::X);
        let ended = !self.closed
            && (u <= 0.0 && (point - at).dot(along) < 0.0 || u >= spans && (point - at).dot(along) > 0.0);
        let across = along.any_orthonormal_vector();
        Nearest { point: at, held: [across, along.cross(across), along], count: if ended { 3 } else { 2 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wave() -> Track {
        let points = (0..7).map(|i| DVec3::new(f64::from(i), (f64::from(i) * 1.3).sin(), 0.2 * f64::from(i)));
        Track::curve(points.collect(), false)
    }

    #[test]
    fn a_curve_goes_through_its_points() {
        let track = wave();
        for (i, p) in track.points.iter().enumerate() {
            assert!((track.at(i as f64)[0] - *p).length() < 1e-14);
            assert!((track.nearest(*p).point - *p).length() < 1e-9);
        }
    }

    proptest! {
        #[test]
        fn no_place_is_nearer(x in -1.0..7.0_f64, y in -1.5..1.5_f64, z in -0.5..1.5_f64) {
            let (track, point) = (wave(), DVec3::new(x, y, z));
            let found = (track.nearest(point).point - point).length();
            let least = (0..=6000).map(|i| (track.at(f64::from(i) / 1000.0)[0] - point).length());
            prop_assert!(found <= least.fold(f64::INFINITY, f64::min) + 1e-6);
        }
    }
}
