//! Scalar curves with weighted handles, as Blender, Maya and USD edit them.
//!
//! Between two keys runs a cubic Bezier in the plane of time and value; its inner control points are the keys'
//! handles. With `a` and `b` the handles' lengths in time as parts of the interval, time is
//! `x(s) = 3 a s (1-s)^2 + 3 (1-b) s^2 (1-s) + s^3`, which is monotone for `a` and `b` in 0 to 1. Handles are kept
//! there the way Blender does (`BKE_fcurve_correct_bezpart`): one that is longer in time than the interval is
//! shortened to it, value along, so its slope stays. One that points the wrong way in time is made vertical.
//! `x(s) = u` is solved by Newton steps safeguarded by bisection.
//!
//! Keys may be refused as for any curve; after that nothing fails. Before the first and after the last key
//! the curve holds.

use super::{Curve, CurveError, Kind, Segments};

/// One handle relative to its key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handle {
    /// Time from the key (s): at most 0 for the arriving handle, at least 0 for the leaving one.
    pub dt: f64,
    /// Value from the key.
    pub dv: f64,
}

/// What lies between a key and the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Holds the key's value.
    Constant,
    /// Straight.
    Linear,
    /// Follows the handles.
    #[default]
    Bezier,
}

/// A key with its handles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BezierKey {
    /// Seconds.
    pub time: f64,
    /// In the channel's unit.
    pub value: f64,
    /// Handle on the earlier side.
    pub arriving: Handle,
    /// Handle on the later side.
    pub leaving: Handle,
    /// What follows until the next key.
    pub next: Between,
}

impl BezierKey {
    /// From Blender: key and handles as absolute `[time, value]`, time in seconds.
    pub fn blender(key: [f64; 2], left: [f64; 2], right: [f64; 2], next: Between) -> BezierKey {
        let relative = |h: [f64; 2]| Handle { dt: h[0] - key[0], dv: h[1] - key[1] };
        BezierKey { time: key[0], value: key[1], arriving: relative(left), leaving: relative(right), next }
    }

    /// From Maya's tangent vectors `[x, y]` (`keyTangent -ix -iy -ox -oy`, x in seconds): control points lie a
    /// third along them. Both point to later times.
    pub fn maya(key: [f64; 2], arriving: [f64; 2], leaving: [f64; 2], next: Between) -> BezierKey {
        BezierKey {
            time: key[0],
            value: key[1],
            arriving: Handle { dt: -arriving[0] / 3.0, dv: -arriving[1] / 3.0 },
            leaving: Handle { dt: leaving[0] / 3.0, dv: leaving[1] / 3.0 },
            next,
        }
    }

    /// From Maya's weighted tangents `[angle (rad), weight]`: the weight is the length to the control point.
    pub fn maya_weighted(key: [f64; 2], arriving: [f64; 2], leaving: [f64; 2], next: Between) -> BezierKey {
        let vector = |[angle, weight]: [f64; 2]| {
            let (sin, cos) = libm::sincos(angle);
            [3.0 * weight * cos, 3.0 * weight * sin]
        };
        BezierKey::maya(key, vector(arriving), vector(leaving), next)
    }

    /// From a USD spline knot: tangents `[width (s), slope (per second)]`.
    pub fn usd(key: [f64; 2], arriving: [f64; 2], leaving: [f64; 2], next: Between) -> BezierKey {
        BezierKey {
            time: key[0],
            value: key[1],
            arriving: Handle { dt: -arriving[0], dv: -arriving[0] * arriving[1] },
            leaving: Handle { dt: leaving[0], dv: leaving[0] * leaving[1] },
            next,
        }
    }
}

/// A scalar curve with weighted handles.
#[derive(Clone, Debug, PartialEq)]
pub struct Bezier {
    keys: Vec<BezierKey>,
}

/// Handles this near (in parts of the interval) to a third are unweighted. Hosts keep them as f32, and a
/// curve moves by no more than this part of its handle.
const UNWEIGHTED: f64 = 1e-6;
/// Halvings of a weighted segment when it becomes plain cubics; a vertical handle is a square root, whose
/// error halves with each two.
const DEEPEST: u32 = 24;

impl Bezier {
    /// Checks and takes the keys.
    pub fn new(keys: Vec<BezierKey>) -> Result<Bezier, CurveError> {
        if keys.is_empty() {
            return Err(CurveError::Empty);
        }
        for (key, k) in keys.iter().enumerate() {
            for (what, number) in [
                ("a time", k.time),
                ("a value", k.value),
                ("an arriving handle", k.arriving.dt + k.arriving.dv),
                ("a leaving handle", k.leaving.dt + k.leaving.dv),
            ] {
                if !number.is_finite() {
                    return Err(CurveError::NotFinite { what, key });
                }
            }
        }
        match (1..keys.len()).find(|&k| keys[k].time <= keys[k - 1].time) {
            Some(key) => Err(CurveError::Order { key, time: keys[key].time }),
            None => Ok(Bezier { keys }),
        }
    }

    /// The keys as given.
    pub fn keys(&self) -> &[BezierKey] {
        &self.keys
    }

    /// Value at `time` (s).
    pub fn evaluate(&self, time: f64) -> f64 {
        let k = self.keys.partition_point(|k| k.time <= time);
        let hold = &self.keys[k.saturating_sub(1)];
        if k == 0 || k == self.keys.len() || hold.next == Between::Constant {
            return hold.value;
        }
        let piece = Piece::between(hold, &self.keys[k]);
        piece.value(piece.parameter((time - hold.time) / piece.h))
    }

    /// Derivative at `time` (per second), of the later side at a key; zero where the curve holds. A vertical
    /// handle gives the largest finite number.
    pub fn derivative(&self, time: f64) -> f64 {
        let k = self.keys.partition_point(|k| k.time <= time);
        if k == 0 || k == self.keys.len() || self.keys[k - 1].next == Between::Constant {
            return 0.0;
        }
        let piece = Piece::between(&self.keys[k - 1], &self.keys[k]);
        piece.slope(piece.parameter((time - self.keys[k - 1].time) / piece.h))
    }

    /// The same curve with plain keys: exact where handles are a third of their interval (unweighted) and for
    /// straight segments; elsewhere keys are added until plain cubics are within `tolerance`. A constant
    /// segment among others holds until the last f32 before the next key and jumps there.
    pub fn to_curve(&self, tolerance: f64) -> Result<Curve, CurveError> {
        if tolerance.is_nan() || tolerance < 0.0 {
            return Err(CurveError::Tolerance { tolerance });
        }
        let before_last = &self.keys[..self.keys.len() - 1];
        let all = |between| !before_last.is_empty() && before_last.iter().all(|k| k.next == between);
        let plain = |segments| {
            let times = self.keys.iter().map(|k| k.time).collect();
            Curve::new(Kind::Vector, 1, times, self.keys.iter().map(|k| k.value).collect(), segments)
        };
        if all(Between::Constant) {
            return plain(Segments::Step);
        }
        if all(Between::Linear) {
            return plain(Segments::Linear);
        }
        let mut out = Plain::default();
        out.key(self.keys[0].time, self.keys[0].value, 0.0);
        for pair in self.keys.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let piece = Piece::between(a, b);
            match a.next {
                Between::Constant => {
                    out.leave(0.0);
                    let jump = f64::from((b.time as f32).next_down());
                    if jump > a.time && jump < b.time {
                        out.key(jump, a.value, 0.0);
                        out.leave((b.value - a.value) / (b.time - jump));
                    }
                    out.key(b.time, b.value, (b.value - a.value) / (b.time - jump));
                }
                Between::Linear => {
                    let slope = (b.value - a.value) / piece.h;
                    out.leave(slope);
                    out.key(b.time, b.value, slope);
                }
                Between::Bezier if piece.unweighted() => {
                    out.leave((piece.v[1] - piece.v[0]) * 3.0 / piece.h);
                    out.key(b.time, b.value, (piece.v[3] - piece.v[2]) * 3.0 / piece.h);
                }
                Between::Bezier => {
                    out.weighted(&piece, a.time, [0.0, 1.0], tolerance, DEEPEST);
                    out.end_at(b.time, b.value);
                }
            }
        }
        let Plain { times, values, arriving, leaving } = out;
        Curve::new(Kind::Vector, 1, times, values, Segments::Cubic { arriving, leaving })
    }
}

/// One segment: time runs from 0 to 1 with control points `0, a, 1 - b, 1`.
struct Piece {
    h: f64,
    a: f64,
    b: f64,
    v: [f64; 4],
}

impl Piece {
    fn between(from: &BezierKey, to: &BezierKey) -> Piece {
        let h = to.time - from.time;
        if from.next == Between::Linear {
            let third = (to.value - from.value) / 3.0;
            return Piece {
                h,
                a: 1.0 / 3.0,
                b: 1.0 / 3.0,
                v: [from.value, from.value + third, to.value - third, to.value],
            };
        }
        let fit = |length: f64, dv: f64| {
            if length > h { (1.0, dv * (h / length)) } else { (length.max(0.0) / h, dv) }
        };
        let (a, rise) = fit(from.leaving.dt, from.leaving.dv);
        let (b, fall) = fit(-to.arriving.dt, to.arriving.dv);
        Piece { h, a, b, v: [from.value, from.value + rise, to.value + fall, to.value] }
    }

    fn unweighted(&self) -> bool {
        (self.a - 1.0 / 3.0).abs() <= UNWEIGHTED && (self.b - 1.0 / 3.0).abs() <= UNWEIGHTED
    }

    /// The Bezier parameter at part `u` of the interval.
    fn parameter(&self, u: f64) -> f64 {
        if self.unweighted() {
            return u;
        }
        let (mut low, mut high, mut s) = (0.0, 1.0, u);
        for _ in 0..100 {
            let miss = self.x(s) - u;
            if miss == 0.0 {
                return s;
            }
            if miss < 0.0 {
                low = s;
            } else {
                high = s;
            }
            let newton = s - miss / self.dx(s);
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - s).abs() <= 1e-16 * s || next <= low || next >= high {
                return next;
            }
            s = next;
        }
        s
    }

    fn x(&self, s: f64) -> f64 {
        let r = 1.0 - s;
        s * (3.0 * self.a * r * r + s * (3.0 * (1.0 - self.b) * r + s))
    }

    fn dx(&self, s: f64) -> f64 {
        let r = 1.0 - s;
        3.0 * (self.a * r * r + 2.0 * (1.0 - self.a - self.b) * r * s + self.b * s * s)
    }

    fn value(&self, s: f64) -> f64 {
        let r = 1.0 - s;
        let [a, b, c, d] = self.v;
        // Differences from the start, so that a flat segment is flat to the bit.
        a + s * (3.0 * r * r * (b - a) + s * (3.0 * r * (c - a) + s * (d - a)))
    }

    fn slope(&self, s: f64) -> f64 {
        let r = 1.0 - s;
        let [a, b, c, d] = self.v;
        let dv = 3.0 * ((b - a) * r * r + 2.0 * (c - b) * r * s + (d - c) * s * s);
        let dx = self.dx(s);
        let slope = if dx > 0.0 {
            dv / dx
        } else if dv != 0.0 {
            f64::MAX.copysign(dv)
        } else {
            // Both stand still at a handle of no length: the next order decides.
            let dv2 = (c - 2.0 * b + a) * r + (d - 2.0 * c + b) * s;
            let dx2 = (1.0 - self.b - 2.0 * self.a) * r + (2.0 * self.b + self.a - 1.0) * s;
            if dx2 != 0.0 { dv2 / dx2 } else { 0.0 }
        };
        (slope / self.h).clamp(-f64::MAX, f64::MAX)
    }
}

/// Plain cubic keys being written.
#[derive(Default)]
struct Plain {
    times: Vec<f64>,
    values: Vec<f64>,
    arriving: Vec<f64>,
    leaving: Vec<f64>,
}

impl Plain {
    fn key(&mut self, time: f64, value: f64, arriving: f64) {
        self.times.push(time);
        self.values.push(value);
        self.arriving.push(arriving);
        self.leaving.push(arriving);
    }

    fn leave(&mut self, slope: f64) {
        if let Some(last) = self.leaving.last_mut() {
            *last = slope;
        }
    }

    /// The last key is the interval's own: without the rounding of the way there.
    fn end_at(&mut self, time: f64, value: f64) {
        if let (Some(t), Some(v)) = (self.times.last_mut(), self.values.last_mut()) {
            (*t, *v) = (time, value);
        }
    }

    /// Adds the part of a weighted piece between two parameters, halved until a plain cubic is near enough.
    fn weighted(&mut self, piece: &Piece, start: f64, [s0, s1]: [f64; 2], tolerance: f64, deeper: u32) {
        let (x0, x1) = (piece.x(s0), piece.x(s1));
        let (v0, v1) = (piece.value(s0), piece.value(s1));
        let h = (x1 - x0) * piece.h;
        let chord = (v1 - v0) / h;
        // A tangent too steep to be stored is replaced by the chord; halving makes that piece small.
        let tangent = |s: f64| Some(piece.slope(s)).filter(|m| m.abs() < 1e30).unwrap_or(chord);
        let (m0, m1) = (tangent(s0), tangent(s1));
        let middle = 0.5 * (s0 + s1);
        let near = (1..16).all(|i| {
            let s = s0 + (s1 - s0) * f64::from(i) / 16.0;
            let u = (piece.x(s) - x0) / (x1 - x0);
            let (p, q) = (u * u * (3.0 - 2.0 * u), u * (1.0 - u));
            let plain = v0 + (v1 - v0) * p + h * q * ((1.0 - u) * m0 - u * m1);
            (plain - piece.value(s)).abs() <= tolerance
        });
        let room = start + piece.x(middle) * piece.h > start + x0 * piece.h && piece.x(middle) < x1;
        if near || deeper == 0 || !room {
            self.leave(m0);
            self.key(start + x1 * piece.h, v1, m1);
            return;
        }
        self.weighted(piece, start, [s0, middle], tolerance, deeper - 1);
        self.weighted(piece, start, [middle, s1], tolerance, deeper - 1);
    }
}

#[cfg(test)]
mod tests;
