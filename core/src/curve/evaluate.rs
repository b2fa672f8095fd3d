//! Values of a curve at a time, as the glTF 2.0 specification (appendix C, "Animation Sampler Interpolation
//! Modes") defines them.
//!
//! With key times `t0 <= t < t1`, `h = t1 - t0` and `u = (t - t0) / h`:
//! step `a`; linear `a + (b - a) u`, or slerp the short way for rotations; cubic
//! `a + (b - a)(3u^2 - 2u^3) + h ((u^3 - 2u^2 + u) m0 + (u^3 - u^2) m1)`, then normalised for rotations.
//! This is the specification's sum with `1 - h01` for `h00`, so that a constant stays constant to the bit.
//!
//! Nothing here fails: finite keys give finite values. Where a sum overflows it saturates at the largest
//! number, and where a cubic of quaternions passes through zero the key before it is held.

use super::{Curve, Kind, Segments, normalise};
use crate::rotation;
use glam::{DQuat, DVec3};

/// The stretch between two keys that holds a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Index of the key at its end; the key before it is its start.
    pub key: usize,
    /// Length (s).
    pub h: f64,
    /// Place in it, 0 to 1.
    pub u: f64,
}

impl Curve {
    /// Values at `time` (s) into `out`, which has `width` places.
    pub fn evaluate(&self, time: f64, out: &mut [f64]) {
        self.evaluate_after(self.keys_until(time), time, out);
    }

    /// [`Curve::evaluate`] for play: `cursor` (start with 0) remembers the segment, so that a time in the same
    /// or the next segment is found without searching. The values are the same to the bit, for any cursor.
    pub fn evaluate_from(&self, cursor: &mut usize, time: f64, out: &mut [f64]) {
        let holds = |k: usize| {
            (k == 0 || self.times[k - 1] <= time) && (k == self.times.len() || self.times[k] > time)
        };
        let k = (*cursor).min(self.times.len());
        *cursor = if holds(k) {
            k
        } else if k < self.times.len() && holds(k + 1) {
            k + 1
        } else {
            self.keys_until(time)
        };
        self.evaluate_after(*cursor, time, out);
    }

    /// The value at `time` (s) of a curve of width 3.
    pub fn vector(&self, time: f64) -> DVec3 {
        let mut out = [0.0; 3];
        self.evaluate(time, &mut out);
        DVec3::from_array(out)
    }

    /// The value at `time` (s) of a rotation curve.
    pub fn quaternion(&self, time: f64) -> DQuat {
        let mut out = [0.0; 4];
        self.evaluate(time, &mut out);
        DQuat::from_array(out)
    }

    /// The value at `time` (s) of a curve of width 1.
    pub fn scalar(&self, time: f64) -> f64 {
        let mut out = [0.0; 1];
        self.evaluate(time, &mut out);
        out[0]
    }

    /// How many keys are at or before `time`.
    fn keys_until(&self, time: f64) -> usize {
        self.times.partition_point(|&t| t <= time)
    }

    /// The segment that holds `time`; `None` outside the keys, where the curve holds.
    pub(super) fn span(&self, time: f64) -> Option<Span> {
        self.span_after(self.keys_until(time), time)
    }

    fn span_after(&self, key: usize, time: f64) -> Option<Span> {
        if key == 0 || key == self.times.len() {
            return None;
        }
        let (t0, t1) = (self.times[key - 1], self.times[key]);
        let h = t1 - t0;
        if h < f64::INFINITY {
            return Some(Span { key, h, u: (time - t0) / h });
        }
        Some(Span { key, h: f64::MAX, u: (0.5 * time - 0.5 * t0) / (0.5 * t1 - 0.5 * t0) })
    }

    /// The numbers of key `key` in an array of `width` per key.
    pub(super) fn row<'a>(&self, numbers: &'a [f64], key: usize) -> &'a [f64] {
        &numbers[key * self.width..(key + 1) * self.width]
    }

    fn evaluate_after(&self, key: usize, time: f64, out: &mut [f64]) {
        let hold = self.row(&self.values, key.saturating_sub(1));
        let Some(span) = self.span_after(key, time) else {
            out.copy_from_slice(hold);
            if self.kind == Kind::Rotation {
                normalise(out);
            }
            return;
        };
        let (a, b) = (hold, self.row(&self.values, key));
        match (&self.segments, self.kind) {
            (Segments::Step, _) => out.copy_from_slice(a),
            (Segments::Linear, Kind::Rotation) => {
                rotation::slerp(DQuat::from_slice(a), DQuat::from_slice(b), span.u).write_to_slice(out);
            }
            (Segments::Linear, Kind::Vector) => {
                for i in 0..self.width {
                    out[i] = straight(a[i], b[i], span.u);
                }
            }
            (Segments::Cubic { .. }, Kind::Vector) => self.cubic(span, out),
            (Segments::Cubic { .. }, Kind::Rotation) => {
                self.cubic(span, out);
                if !normalise(out) {
                    out.copy_from_slice(a);
                    normalise(out);
                }
            }
        }
    }

    /// The cubic of a span component by component, before any normalising. Only for cubic curves.
    pub(super) fn cubic(&self, span: Span, out: &mut [f64]) {
        let Segments::Cubic { arriving, leaving } = &self.segments else { return };
        let Span { key, h, u } = span;
        let (a, b) = (self.row(&self.values, key - 1), self.row(&self.values, key));
        let (m0, m1) = (self.row(leaving, key - 1), self.row(arriving, key));
        let h01 = u * u * (3.0 - 2.0 * u);
        let (h10, h11) = (u * (u - 1.0) * (u - 1.0), u * u * (u - 1.0));
        for i in 0..self.width {
            let value = a[i] + (b[i] - a[i]) * h01 + h * (h10 * m0[i] + h11 * m1[i]);
            out[i] = if value.is_finite() {
                value
            } else {
                let terms = [(1.0 - h01, a[i], 1.0), (h01, b[i], 1.0), (h10, m0[i], h), (h11, m1[i], h)];
                saturated_sum(&terms)
            };
        }
    }
}

/// `a` to `b` at `u`, exact for `a == b`, without overflow for opposite huge ends.
fn straight(a: f64, b: f64, u: f64) -> f64 {
    let difference = b - a;
    if difference.is_finite() { a + difference * u } else { a * (1.0 - u) + b * u }
}

/// The sum of products of three, kept within the finite numbers: every term is taken at an eighth of its size
/// and cut there, so that four of them cannot overflow.
fn saturated_sum(terms: &[(f64, f64, f64); 4]) -> f64 {
    let limit = f64::MAX / 8.0;
    let sum: f64 = terms.iter().map(|&(x, y, z)| (x * (y / 8.0) * z).clamp(-limit, limit)).sum();
    (sum * 8.0).clamp(-f64::MAX, f64::MAX)
}

#[cfg(test)]
pub(in crate::curve) mod tests;
