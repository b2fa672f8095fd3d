//! The nearest place on a Catmull-Rom curve.
//!
//! Each span is a cubic Bézier curve `c`, inside the box of its control points. Where it is nearest to a point `p`
//! the slope `(c - p) · c'` passes zero upwards. That is a polynomial of degree five; written in Bernstein's basis it
//! has at most as many zeros as its coefficients change sign, so halving it until no part has more than one change
//! finds every zero (Schneider 1990, "Solving the nearest-point-on-curve problem", Graphics Gems). Newton's method
//! then settles each one inside its bracket, and the nearest of them and the span's ends is exactly the nearest place.

use super::boxes::Boxes;
use super::{Nearest, direction};
use glam::DVec3;

/// A span is not halved more often than this: further down, slopes are rounding.
const HALVINGS: u32 = 24;

/// Slopes of this part of their terms are rounding: all places there are equally near.
const ROUNDING: f64 = 1e-14;

/// Newton's method stops at steps of this part of a span.
const SETTLED: f64 = 1e-14;

/// Below this part of its greatest speed a span stands still, as where a curve turns back on itself.
const STILL: f64 = 1e-7;

/// A curve through points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    spans: Vec<Span>,
    closed: bool,
    boxes: Boxes,
}

/// Control points of a cubic Bézier curve (m).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span([DVec3; 4]);

/// The nearest place so far.
struct Best {
    span: usize,
    /// 0 to 1 along the span.
    s: f64,
    distance_squared: f64,
}

impl Curve {
    pub(super) fn new(mut points: Vec<DVec3>, closed: bool) -> Curve {
        points.retain(|p| p.is_finite());
        points.dedup();
        while closed && points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        let n = points.len();
        let closed = closed && n > 2;
        // Past an end the curve goes on straight.
        let before = |i: usize| match i {
            0 if closed => points[n - 1],
            0 => points[0] * 2.0 - points[1],
            _ => points[i - 1],
        };
        let after = |i: usize| match i {
            _ if closed => points[i % n],
            _ if i == n => points[n - 1] * 2.0 - points[n - 2],
            _ => points[i],
        };
        let spans: Vec<Span> = match n {
            0 => Vec::new(),
            1 => vec![Span([points[0]; 4])],
            _ => (0..if closed { n } else { n - 1 })
                .map(|i| {
                    let (a, b) = (points[i], after(i + 1));
                    Span([a, a + (b - before(i)) / 6.0, b - (after(i + 2) - a) / 6.0, b])
                })
                .collect(),
        };
        let bounds: Vec<[DVec3; 2]> = spans
            .iter()
            .map(|Span([a, b, c, d])| [a.min(*b).min(c.min(*d)), a.max(*b).max(c.max(*d))])
            .collect();
        Curve { boxes: Boxes::new(&bounds), spans, closed }
    }

    pub(super) fn nearest(&self, point: DVec3) -> Nearest {
        let Some(first) = self.spans.first() else {
            return Nearest { point, held: DVec3::AXES, count: 0 };
        };
        let point = if point.is_finite() { point } else { first.0[0] };
        let mut best = Best { span: 0, s: 0.0, distance_squared: f64::INFINITY };
        self.boxes.visit(point, |span| {
            self.spans[span].search(span, point, &mut best);
            best.distance_squared
        });
        let span = &self.spans[best.span];
        let [at, velocity, bend] = span.at(best.s);
        let away = point - at;
        let (along, beyond) = if velocity.length() > STILL * span.speed() {
            let along = direction(velocity).unwrap_or(DVec3::X);
            let starts = !self.closed && best.span == 0 && best.s <= 0.0;
            let ends = !self.closed && best.span + 1 == self.spans.len() && best.s >= 1.0;
            (along, starts && away.dot(along) < 0.0 || ends && away.dot(along) > 0.0)
        } else if let Some(along) = direction(bend) {
            // Standing still, the curve arrives from where its acceleration points and leaves towards it.
            (along, away.dot(along) < 0.0)
        } else {
            let along = direction(span.0[3] - span.0[0]);
            (along.unwrap_or(DVec3::X), along.is_none())
        };
        let across = along.any_orthonormal_vector();
        Nearest { point: at, held: [across, along.cross(across), along], count: if beyond { 3 } else { 2 } }
    }
}

impl Span {
    /// Position and first two derivatives at `s`, 0 to 1.
    fn at(&self, s: f64) -> [DVec3; 3] {
        let Span([a, b, c, d]) = *self;
        let r = 1.0 - s;
        let velocity = ((b - a) * (r * r) + (c - b) * (2.0 * r * s) + (d - c) * (s * s)) * 3.0;
        let bend = ((a - b * 2.0 + c) * r + (b - c * 2.0 + d) * s) * 6.0;
        [a * (r * r * r) + b * (3.0 * r * r * s) + c * (3.0 * r * s * s) + d * (s * s * s), velocity, bend]
    }

    /// At least the greatest length of the first derivative.
    fn speed(&self) -> f64 {
        self.0.windows(2).map(|pair| 3.0 * (pair[1] - pair[0]).length()).fold(0.0, f64::max)
    }

    fn search(&self, span: usize, point: DVec3, best: &mut Best) {
        let a = self.0.map(|corner| corner - point);
        let v = [a[1] - a[0], a[2] - a[1], a[3] - a[2]];
        let slope = [
            a[0].dot(v[0]),
            (a[0].dot(v[1]) * 2.0 + a[1].dot(v[0]) * 3.0) / 5.0,
            (a[0].dot(v[2]) + a[1].dot(v[1]) * 6.0 + a[2].dot(v[0]) * 3.0) / 10.0,
            (a[1].dot(v[2]) * 3.0 + a[2].dot(v[1]) * 6.0 + a[3].dot(v[0])) / 10.0,
            (a[2].dot(v[2]) * 3.0 + a[3].dot(v[1]) * 2.0) / 5.0,
            a[3].dot(v[2]),
        ];
        let longest = |all: &[DVec3]| all.iter().map(|x| x.length_squared()).fold(0.0, f64::max).sqrt();
        let rounding = ROUNDING * longest(&a) * longest(&v);
        best.offer(span, 0.0, a[0]);
        best.offer(span, 1.0, a[3]);
        self.minima(slope, [0.0, 1.0], HALVINGS, rounding, point, &mut |s| {
            best.offer(span, s, self.at(s)[0] - point);
        });
    }

    /// Offers where the slope, given in Bernstein's basis between `low` and `high`, passes zero upwards.
    fn minima(
        &self,
        slope: [f64; 6],
        [low, high]: [f64; 2],
        halvings: u32,
        rounding: f64,
        point: DVec3,
        offer: &mut impl FnMut(f64),
    ) {
        // Zero counts as above zero: a zero exactly where a part was halved ends the earlier part.
        match slope.windows(2).filter(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)).count() {
            0 => return,
            1 if slope[0] < 0.0 => return offer(self.settle(point, low, high)),
            1 => return,
            _ => {}
        }
        let middle = 0.5 * (low + high);
        if halvings == 0 || slope.iter().all(|x| x.abs() <= rounding) {
            return offer(middle);
        }
        let (mut earlier, mut later) = (slope, slope);
        for (round, end) in earlier.iter_mut().enumerate().skip(1) {
            for i in 0..6 - round {
                later[i] = 0.5 * (later[i] + later[i + 1]);
            }
            *end = later[0];
        }
        self.minima(earlier, [low, middle], halvings - 1, rounding, point, offer);
        self.minima(later, [middle, high], halvings - 1, rounding, point, offer);
    }

    /// The one zero of the slope, from below to above, between `low` and `high`.
    fn settle(&self, point: DVec3, mut low: f64, mut high: f64) -> f64 {
        let (mut s, mut step) = (0.5 * (low + high), f64::INFINITY);
        // Newton's method needs five rounds or so; where its steps do not shrink by half, the bracket does.
        for _ in 0..100 {
            let [at, velocity, bend] = self.at(s);
            let slope = (at - point).dot(velocity);
            if slope < 0.0 {
                low = s;
            } else {
                high = s;
            }
            let newton = s - slope / (velocity.length_squared() + (at - point).dot(bend));
            // Not onto the bracket's ends: one may be another zero, where rounding decides the sign.
            let inside = newton > low && newton < high || newton == s;
            let trusted = inside && (newton - s).abs() < 0.5 * step;
            let next = if trusted { newton } else { 0.5 * (low + high) };
            step = (next - s).abs();
            s = next;
            if step <= SETTLED {
                break;
            }
        }
        s
    }
}

impl Best {
    fn offer(&mut self, span: usize, s: f64, away: DVec3) {
        let distance_squared = away.length_squared();
        if distance_squared < self.distance_squared {
            *self = Best { span, s, distance_squared };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn wave() -> Vec<DVec3> {
        (0..7).map(f64::from).map(|i| DVec3::new(i, (i * 1.3).sin(), 0.2 * i)).collect()
    }

    fn place(x: f64, y: f64, z: f64) -> DVec3 {
        DVec3::new(x, y, z)
    }

    /// Distance to the nearest of many places.
    fn sampled(curve: &Curve, point: DVec3) -> f64 {
        let samples = curve.spans.iter().flat_map(|span| (0..=500).map(|i| span.at(f64::from(i) / 500.0)[0]));
        samples.map(|at| (at - point).length()).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_curve_goes_through_its_points() {
        for closed in [false, true] {
            let curve = Curve::new(wave(), closed);
            for (p, span) in wave().iter().zip(&curve.spans) {
                assert_eq!((span.at(0.0)[0], curve.nearest(*p).point), (*p, *p));
            }
            for pair in curve.spans.windows(2) {
                assert_eq!(pair[0].at(1.0)[0], pair[1].at(0.0)[0]);
                assert!((pair[0].at(1.0)[1] - pair[1].at(0.0)[1]).length() < 1e-14);
            }
        }
    }

    #[test]
    fn a_span_is_what_catmull_and_rom_say() {
        // Through 0, 1, 0, 2 at s = 1/2: (-0 + 9·1 + 9·0 - 2) / 16.
        let curve = Curve::new([0.0, 1.0, 0.0, 2.0].iter().map(|x| place(*x, 0.0, 0.0)).collect(), false);
        assert!((curve.spans[1].at(0.5)[0].x - 7.0 / 16.0).abs() < 1e-15);
    }

    #[test]
    fn the_search_does_not_wander_off_along_the_curve() {
        let (curve, point) = (Curve::new(wave(), false), place(6.285, -1.073, 0.6706));
        assert!((curve.nearest(point).point - point).length() <= sampled(&curve, point));
    }

    #[test]
    fn a_farthest_place_at_an_end_does_not_hide_the_nearest() {
        let points = vec![place(-2.0, -2.0, 0.0), place(-1.0, 2.0, 0.0), place(0.0, 1.0, 0.0)];
        // Straight across the curve's end, where it bends around the point: the slope is zero at the end, too.
        let (curve, point) = (Curve::new(points, false), place(0.5, 1.5, 0.0));
        assert!((curve.nearest(point).point - point).length() <= sampled(&curve, point));
    }

    #[test]
    fn a_straight_line_answers_the_projection() {
        for closed in [false, true] {
            let curve = Curve::new(vec![DVec3::ZERO, DVec3::X], closed);
            let found = curve.nearest(place(0.3, 0.4, 0.5));
            assert!((found.point - place(0.3, 0.0, 0.0)).length() < 1e-14);
            assert_eq!((found.count, found.held[2]), (2, DVec3::X));
        }
    }

    #[test]
    fn only_beyond_an_open_end_everything_is_held() {
        let open = Curve::new(wave(), false);
        let [start, end] = [wave()[0], wave()[6]];
        let [out, on] = [open.spans[0].at(0.0)[1], open.spans[5].at(1.0)[1]];
        for (end, out) in [(start, -out), (end, on)] {
            assert_eq!((open.nearest(end + out * 0.1).point, open.nearest(end + out * 0.1).count), (end, 3));
            assert_eq!(open.nearest(end - out * 0.1).count, 2);
        }
        assert_eq!(Curve::new(wave(), true).nearest(start - out * 0.1).count, 2);
    }

    #[test]
    fn where_a_curve_turns_back_it_ends() {
        let curve = Curve::new(vec![DVec3::ZERO, DVec3::X, DVec3::ZERO], false);
        let found = curve.nearest(place(1.2, 0.1, 0.0));
        assert_eq!((found.point, found.count), (DVec3::X, 3));
        assert!(found.held[2].x.abs() > 1.0 - 1e-12);
        assert_eq!(curve.nearest(place(0.9, 0.1, 0.0)).count, 2);
    }

    #[test]
    fn points_that_coincide_are_one() {
        let doubled = wave().iter().flat_map(|p| [*p, *p]).collect();
        assert_eq!(Curve::new(doubled, false), Curve::new(wave(), false));
        let around = wave().into_iter().chain([wave()[0]]).collect();
        assert_eq!(Curve::new(around, true), Curve::new(wave(), true));
        let one = Curve::new(vec![DVec3::Y; 5], true).nearest(DVec3::X);
        assert_eq!((one.point, one.count), (DVec3::Y, 3));
    }

    #[test]
    fn the_middle_of_a_ring_is_equally_far_from_all_of_it() {
        for n in [3, 4, 8, 64, 1000] {
            let ring =
                (0..n).map(|i| TAU * f64::from(i) / f64::from(n)).map(|a| place(a.cos(), a.sin(), 0.0));
            let curve = Curve::new(ring.collect(), true);
            for point in [DVec3::ZERO, DVec3::Z, place(1e-9, 0.0, 0.0), place(1e-17, 1e-13, 0.0)] {
                let found = (curve.nearest(point).point - point).length();
                assert!(found <= sampled(&curve, point) + 1e-13);
            }
        }
    }

    /// 1000 points are to cost a few looks, not a thousand.
    #[test]
    fn far_spans_are_not_looked_at() {
        let coil = (0..1000).map(f64::from).map(|i| place((0.1 * i).cos(), (0.1 * i).sin(), 0.01 * i));
        let curve = Curve::new(coil.collect(), false);
        let mut looks = 0;
        for i in 0..100 {
            let point =
                place((0.7 * f64::from(i)).cos() * 1.1, (0.7 * f64::from(i)).sin() * 1.1, 0.1 * f64::from(i));
            let mut best = Best { span: 0, s: 0.0, distance_squared: f64::INFINITY };
            curve.boxes.visit(point, |span| {
                looks += 1;
                curve.spans[span].search(span, point, &mut best);
                best.distance_squared
            });
        }
        assert!(looks < 100 * 20, "{looks} looks for 100 points");
    }

    fn somewhere(reach: f64) -> impl Strategy<Value = DVec3> {
        (-reach..reach, -reach..reach, -reach..reach).prop_map(|(x, y, z)| place(x, y, z))
    }

    proptest! {
        #[test]
        fn no_place_is_nearer(
            points in prop::collection::vec(somewhere(1.0), 2..12), closed in any::<bool>(), point in somewhere(1.5),
        ) {
            let curve = Curve::new(points, closed);
            let found = curve.nearest(point);
            prop_assert!((found.point - point).length() <= sampled(&curve, point) + 1e-13);
            // And to the last digit: what is left of the way there is across the curve.
            prop_assert!(found.count == 3 || (found.point - point).dot(found.held[2]).abs() < 1e-12);
        }

        #[test]
        fn flat_curves_have_no_nearer_place(
            points in prop::collection::vec((-2..3_i32, -2..3_i32), 2..9), closed in any::<bool>(),
            x in -4..5_i32, y in -4..5_i32,
        ) {
            // On a grid, where ties, cusps and symmetric zeros are the rule.
            let points = points.iter().map(|(x, y)| place(f64::from(*x), f64::from(*y), 0.0)).collect();
            let (curve, point) = (Curve::new(points, closed), place(0.5 * f64::from(x), 0.5 * f64::from(y), 0.0));
            prop_assert!((curve.nearest(point).point - point).length() <= sampled(&curve, point) + 1e-13);
        }

        #[test]
        fn a_place_off_the_curve_is_found_again(i in 0..6_usize, s in 0.0..1.0_f64, off in 0.0..0.05_f64) {
            let curve = Curve::new(wave(), false);
            let [at, velocity, _] = curve.spans[i].at(s);
            let found = curve.nearest(at + velocity.any_orthogonal_vector().normalize() * off);
            prop_assert!((found.point - at).length() < 1e-12);
        }
    }
}
