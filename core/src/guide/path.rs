//! The animator's keys as one curve of placements, compiled for the simulation.
//!
//! Whatever produced the motion (several channels, animated parents, a centre of mass away from the node's
//! origin), a path is a list of spans, each a cubic in position and a cubic in the rotation vector from the
//! span's first orientation. Straight, slerped and cubic keys are reproduced exactly; everything else is split
//! until it is within the given accuracy. Each span knows a bound on its speed, so that a search along it can
//! step forward without ever skipping a crossing.

use crate::rotation;
use crate::scene::Placement;
use glam::{DQuat, DVec3};

/// A compiled path over time (s).
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    spans: Vec<Span>,
    /// Times of the animator's keys (s): what waits and preferred speeds refer to by number.
    pub keys: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Span {
    start: f64,
    end: f64,
    /// 1 / (end - start), or 0 for a span without length.
    per_second: f64,
    /// Position = p0 + u (p1 + u (p2 + u p3)), u in [0, 1].
    position: [DVec3; 4],
    /// Orientation = exp(u (r1 + u (r2 + u r3))) q0.
    orientation: DQuat,
    turn: [DVec3; 3],
    turns: bool,
    /// It does not begin where the span before it ends: a stepped key.
    jumps: bool,
    /// No point of the span moves, turns or changes its velocity faster than this, per second.
    fastest: f64,
    fastest_turn: f64,
    strongest: f64,
}

/// How exactly a path follows what it is made from.
#[derive(Clone, Copy, Debug)]
pub struct Accuracy {
    /// Metres.
    pub position: f64,
    /// Radians.
    pub rotation: f64,
}

/// A span between two keys is split into at most 2^this parts.
const MOST_SPLITS: u32 = 6;

/// How much before a key its left side is looked at, as a share of the interval: keys that step have two sides.
const LEFT_OF_KEY: f64 = 1e-9;

impl Path {
    /// A path that stays.
    pub fn still(placement: Placement) -> Path {
        Path { spans: vec![Span::still(0.0, 0.0, &placement)], keys: vec![0.0] }
    }

    /// Compiles `sample` between the `breaks` (s, increasing): times at which it may bend, and jump if `steps`.
    /// It must be smooth in between and continuous from the right. `at_breaks` are its values there.
    pub fn compile(
        breaks: &[f64],
        at_breaks: &[Placement],
        keys: Vec<f64>,
        accuracy: Accuracy,
        steps: bool,
        sample: impl Fn(f64) -> Placement,
    ) -> Path {
        let mut spans: Vec<Span> = Vec::with_capacity(breaks.len());
        let mut jumped = false;
        for (times, ends) in breaks.windows(2).zip(at_breaks.windows(2)) {
            let (start, end) = (times[0], times[1]);
            let (first, next) = (ends[0], ends[1]);
            let left = if steps { sample(end - (end - start) * LEFT_OF_KEY) } else { next };
            // Continuous keys use the key itself, so that the path runs through it exactly.
            let gap = (next.position - left.position).length();
            let jumps = gap > 1e-6 * (next.position - first.position).length() + accuracy.position
                || rotation::distance(next.rotation, left.rotation) > 10.0 * accuracy.rotation;
            let begins = spans.len();
            split(
                &mut spans,
                &sample,
                accuracy,
                (start, first),
                (end, if jumps { left } else { next }),
                MOST_SPLITS,
            );
            spans[begins].jumps = jumped;
            jumped = jumps;
        }
        // The end holds, and so does a path without any length.
        match (breaks.last(), at_breaks.last()) {
            (Some(&end), Some(last)) => spans.push(Span { jumps: jumped, ..Span::still(end, end, last) }),
            _ => spans.push(Span::still(0.0, 0.0, &sample(0.0))),
        }
        Path { spans, keys }
    }

    /// A path through samples: of each span its start and end (s), and where it is at its start, a third, two thirds and
    /// the end. Spans follow on each other. One that does not begin within `jump` of where the one before ends jumps.
    pub fn through(samples: &[([f64; 2], [Placement; 4])], jump: f64) -> Path {
        let mut spans: Vec<Span> = Vec::with_capacity(samples.len() + 1);
        let mut ended: Option<Placement> = None;
        for ([start, end], [a, b, c, d]) in samples {
            let jumps = ended.is_some_and(|e| (e.position - a.position).length() > jump);
            spans.push(Span { jumps, ..Span::through(*start, *end, a, b, c, d) });
            ended = Some(*d);
        }
        // The end holds.
        if let (Some(([_, end], _)), Some(last)) = (samples.last(), ended) {
            spans.push(Span::still(*end, *end, &last));
        }
        match spans.is_empty() {
            true => Path::still(Placement::IDENTITY),
            false => Path { spans, keys: Vec::new() },
        }
    }

    /// First time of the path (s).
    pub fn start(&self) -> f64 {
        self.spans[0].start
    }

    /// Last time of the path (s).
    pub fn end(&self) -> f64 {
        self.spans[self.spans.len() - 1].end
    }

    /// Index of the span at `time`, near `hint` when it was near before.
    #[inline]
    pub fn seek(&self, hint: usize, time: f64) -> usize {
        let mut i = hint.min(self.spans.len() - 1);
        while i + 1 < self.spans.len() && self.spans[i + 1].start <= time {
            i += 1;
        }
        while i > 0 && self.spans[i].start > time {
            i -= 1;
        }
        i
    }

    /// The placement at `time` in span `i` (from [`Self::seek`]); held outside the path.
    #[inline]
    pub fn at(&self, i: usize, time: f64) -> Placement {
        self.spans[i].at(time)
    }

    /// The position at `time` in span `i`.
    #[inline]
    pub fn position_at(&self, i: usize, time: f64) -> DVec3 {
        let s = &self.spans[i];
        s.position_at(s.share(time))
    }

    /// A time after `time`, in span `i`, before which the path certainly stays within `distance` of `point`, given
    /// that it is within it at `time`: so near to the crossing that a few calls find it.
    ///
    /// During `s` seconds the path strays from its tangent by at most `a s^2 / 2`, with `a` the span's strongest
    /// acceleration. The tangent leaves the ball at `s0`; so up to `s0` the path is within `a s0^2 / 2` of the
    /// tangent, and inside the ball as long as the tangent is inside one that is smaller by that much.
    #[inline]
    pub fn safe_until(&self, i: usize, time: f64, point: DVec3, distance: f64) -> f64 {
        let s = &self.spans[i];
        let u = s.share(time);
        let r = s.position_at(u) - point;
        let apart = r.length();
        let simple = (distance - apart) / s.fastest;
        let [_, p1, p2, p3] = s.position;
        let v = (p1 + (p2 * 2.0 + p3 * (3.0 * u)) * u) * s.per_second;
        let (v2, rv, r2) = (v.length_squared(), r.dot(v), r.length_squared());
        // |r + v s| = radius, the later root, in the form that does not cancel.
        let leaves = |radius: f64| {
            let root = (rv * rv + v2 * (radius * radius - r2)).max(0.0).sqrt();
            if rv > 0.0 { (radius * radius - r2) / (rv + root) } else { (root - rv) / v2 }
        };
        let tangent = leaves(distance);
        let smaller = distance - 0.5 * s.strongest * tangent * tangent;
        // A tangent that is as good as still, or a bend that leaves no room, is what the speed bound is for.
        if smaller > apart && tangent.is_finite() {
            time + leaves(smaller).max(simple)
        } else {
            time + simple
        }
    }

    /// The orientation at `time` in span `i`.
    #[inline]
    pub fn rotation_at(&self, i: usize, time: f64) -> DQuat {
        let s = &self.spans[i];
        s.rotation_at(s.share(time))
    }

    /// The placement at `time` (s).
    pub fn placement(&self, time: f64) -> Placement {
        let i = self.spans.partition_point(|s| s.start <= time).saturating_sub(1);
        self.at(i, time)
    }

    /// End of span `i` (s) and its bound on turning, rad/s.
    #[inline]
    pub fn bound(&self, i: usize) -> (f64, f64) {
        let s = &self.spans[i];
        (s.end, s.fastest_turn)
    }

    /// Whether a stepped key lies between a place in span `from` and one in span `to`.
    #[inline]
    pub fn jumps_between(&self, from: usize, to: usize) -> bool {
        from < to && self.spans[from + 1..=to].iter().any(|s| s.jumps)
    }

    /// Number of spans.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// A path always has a span.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bounds on speed over the whole path: m/s, rad/s.
    pub fn fastest(&self) -> (f64, f64) {
        self.spans.iter().fold((0.0, 0.0), |m, s| (m.0.max(s.fastest), m.1.max(s.fastest_turn)))
    }

    /// Velocity (m/s) and angular velocity (rad/s, world) as the path leaves `time`.
    pub fn velocity(&self, time: f64) -> (DVec3, DVec3) {
        if time >= self.end() || time < self.start() {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let i = self.spans.partition_point(|s| s.start <= time).saturating_sub(1);
        let s = &self.spans[i];
        let h = s.end - s.start;
        let u = (time - s.start) / h;
        let [_, p1, p2, p3] = s.position;
        let linear = (p1 + (p2 * 2.0 + p3 * (3.0 * u)) * u) / h;
        if !s.turns {
            return (linear, DVec3::ZERO);
        }
        // A chord over a millionth of the span, inside it: exact to nine digits, and only starts use it.
        let du = 1e-6;
        let u0 = u.min(1.0 - du);
        let (a, b) = (s.rotation_at(u0), s.rotation_at(u0 + du));
        (linear, rotation::log(b * a.conjugate()) / (du * h))
    }
}

/// Fits one span between two ends, or splits it in the middle.
fn split(
    spans: &mut Vec<Span>,
    sample: &impl Fn(f64) -> Placement,
    accuracy: Accuracy,
    (t0, a): (f64, Placement),
    (t1, b): (f64, Placement),
    splits: u32,
) {
    let h = t1 - t0;
    let span = Span::through(t0, t1, &a, &sample(t0 + h / 3.0), &sample(t0 + h * (2.0 / 3.0)), &b);
    // Where a cubic through these four points strays most.
    let misses = |u: f64| {
        let (is, should) = (span.at(t0 + h * u), sample(t0 + h * u));
        (is.position - should.position).length() > accuracy.position
            || rotation::distance(is.rotation, should.rotation) > accuracy.rotation
    };
    if splits == 0 || !(misses(1.0 / 6.0) || misses(5.0 / 6.0)) {
        spans.push(span);
        return;
    }
    let middle = t0 + h * 0.5;
    let m = sample(middle);
    split(spans, sample, accuracy, (t0, a), (middle, m), splits - 1);
    split(spans, sample, accuracy, (middle, m), (t1, b), splits - 1);
}

impl Span {
    fn still(start: f64, end: f64, p: &Placement) -> Span {
        Span {
            start,
            end,
            per_second: 0.0,
            position: [p.position, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO],
            orientation: p.rotation,
            turn: [DVec3::ZERO; 3],
            turns: false,
            jumps: false,
            fastest: 0.0,
            fastest_turn: 0.0,
            strongest: 0.0,
        }
    }

    /// The cubic through four placements at u = 0, 1/3, 2/3, 1.
    fn through(start: f64, end: f64, a: &Placement, b: &Placement, c: &Placement, d: &Placement) -> Span {
        let (b_p, c_p, d_p) = (b.position - a.position, c.position - a.position, d.position - a.position);
        let [p1, p2, p3] = cubic(b_p, c_p, d_p);
        let back = a.rotation.conjugate();
        // Rotation vectors from the first orientation, each on the branch nearest to where it should be, so
        // that a turn of more than half a circle between keys is not folded back.
        let r1 = rotation::log(b.rotation * back);
        let r2 = unfold(rotation::log(c.rotation * back), r1 * 2.0);
        let r3 = unfold(rotation::log(d.rotation * back), r2 * 2.0 - r1);
        let turn = cubic(r1, r2, r3);
        let h = end - start;
        // Derivatives of a cubic are bounded by the control points of their quadratic Bezier form.
        let bound = |[c1, c2, c3]: [DVec3; 3]| {
            let ends = c1.length().max((c1 + c2 * 2.0 + c3 * 3.0).length());
            ends.max((c1 + c2).length()) / h
        };
        Span {
            start,
            end,
            per_second: 1.0 / h,
            position: [a.position, p1, p2, p3],
            orientation: a.rotation,
            turn,
            turns: turn.iter().any(|r| r.length_squared() > 1e-28),
            jumps: false,
            fastest: bound([p1, p2, p3]),
            fastest_turn: bound(turn),
            strongest: (p2 * 2.0).length().max((p2 * 2.0 + p3 * 6.0).length()) / (h * h),
        }
    }

    /// `time` as a share of the span, 0 to 1.
    #[inline]
    fn share(&self, time: f64) -> f64 {
        ((time - self.start) * self.per_second).clamp(0.0, 1.0)
    }

    #[inline]
    fn position_at(&self, u: f64) -> DVec3 {
        let [p0, p1, p2, p3] = self.position;
        p0 + (p1 + (p2 + p3 * u) * u) * u
    }

    #[inline]
    fn rotation_at(&self, u: f64) -> DQuat {
        if !self.turns {
            return self.orientation;
        }
        let [r1, r2, r3] = self.turn;
        rotation::renormalize(rotation::exp((r1 + (r2 + r3 * u) * u) * u) * self.orientation)
    }

    #[inline]
    fn at(&self, time: f64) -> Placement {
        let u = self.share(time);
        Placement { position: self.position_at(u), rotation: self.rotation_at(u) }
    }
}

/// Coefficients c1, c2, c3 of the cubic that is 0, b, c, d at u = 0, 1/3, 2/3, 1. A straight run comes out with
/// c2 = c3 = 0 up to rounding, which is cleared so that straight stays straight.
fn cubic(b: DVec3, c: DVec3, d: DVec3) -> [DVec3; 3] {
    let c2 = b * -22.5 + c * 18.0 - d * 4.5;
    let c3 = b * 13.5 - c * 13.5 + d * 4.5;
    let size = d.abs().max(c.abs()).max(b.abs()).max_element();
    let bend = c2.abs().max(c3.abs()).max_element();
    if bend <= 1e-12 * size { [d, DVec3::ZERO, DVec3::ZERO] } else { [d - c2 - c3, c2, c3] }
}

/// The rotation vector equivalent to `r` (same rotation) that is nearest to `expected`.
fn unfold(r: DVec3, expected: DVec3) -> DVec3 {
    let angle = r.length();
    if angle < 1e-9 {
        return r;
    }
    let axis = r / angle;
    let full = std::f64::consts::TAU;
    let turns = ((expected.dot(axis) - angle) / full).round();
    axis * (angle + turns * full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn compiled(breaks: &[f64], keys: Vec<f64>, f: impl Fn(f64) -> Placement) -> Path {
        let at: Vec<Placement> = breaks.iter().map(|&t| f(t)).collect();
        Path::compile(breaks, &at, keys, FINE, true, f)
    }

    const FINE: Accuracy = Accuracy { position: 1e-7, rotation: 1e-7 };

    #[test]
    fn cubic_keys_are_one_span_and_exact() {
        let f = |t: f64| Placement {
            position: DVec3::new(t * t * t, 2.0 - t, t * t),
            rotation: rotation::exp(DVec3::Y * (0.3 * t)),
        };
        let path = compiled(&[0.0, 2.0], vec![0.0, 2.0], f);
        assert_eq!(path.len(), 2); // and the still end
        for i in 0..=20 {
            let t = f64::from(i) * 0.1;
            assert!((path.placement(t).position - f(t).position).length() < 1e-13);
            assert!(rotation::distance(path.placement(t).rotation, f(t).rotation) < 1e-13);
        }
        let (v, w) = path.velocity(1.0);
        assert!((v - DVec3::new(3.0, -1.0, 2.0)).length() < 1e-12);
        assert!((w - DVec3::Y * 0.3).length() < 1e-8);
    }

    #[test]
    fn a_wheel_under_a_turning_parent_is_split_until_accurate() {
        let f = |t: f64| {
            let parent = rotation::exp(DVec3::Y * (2.0 * t));
            Placement {
                position: parent * DVec3::X,
                rotation: parent * rotation::exp(DVec3::X * (3.0 * t * t)),
            }
        };
        let path = compiled(&[0.0, 1.0, 2.0], vec![], f);
        for i in 0..=200 {
            let t = f64::from(i) * 0.01;
            assert!((path.placement(t).position - f(t).position).length() < 4e-7, "{t}");
            assert!(rotation::distance(path.placement(t).rotation, f(t).rotation) < 4e-7, "{t}");
        }
    }

    #[test]
    fn steps_keep_both_sides() {
        let f = |t: f64| Placement {
            position: DVec3::X * if t < 1.0 { 0.0 } else { 5.0 },
            rotation: DQuat::IDENTITY,
        };
        let path = compiled(&[0.0, 1.0, 2.0], vec![], f);
        assert_eq!(path.placement(0.999).position.x, 0.0);
        assert_eq!(path.placement(1.0).position.x, 5.0);
        assert!(path.jumps_between(0, 1) && !path.jumps_between(1, 2));
    }

    #[test]
    fn the_bound_on_speed_holds() {
        let f = |t: f64| Placement {
            position: DVec3::new(t.sin(), t * t, (3.0 * t).cos()),
            rotation: rotation::exp(DVec3::new(t.sin(), t, 0.0)),
        };
        let path = compiled(&[0.0, PI], vec![], f);
        let mut hint = 0;
        for i in 0..1000 {
            let (t, dt) = (PI * f64::from(i) / 1000.0, PI / 1000.0);
            hint = path.seek(hint, t);
            let (end, w) = path.bound(hint);
            let v = path.spans[hint].fastest;
            if t + dt < end {
                let (a, b) = (path.placement(t), path.placement(t + dt));
                assert!((b.position - a.position).length() <= v * dt * (1.0 + 1e-9));
                assert!(rotation::distance(b.rotation, a.rotation) <= w * dt * (1.0 + 1e-9) + 1e-12);
            }
        }
    }

    #[test]
    fn more_than_half_a_turn_between_keys_is_not_folded() {
        let f = |t: f64| Placement { position: DVec3::ZERO, rotation: rotation::exp(DVec3::Z * (5.5 * t)) };
        let path = compiled(&[0.0, 1.0], vec![], f);
        assert!(rotation::distance(path.placement(0.5).rotation, f(0.5).rotation) < 1e-12);
    }
}
