//! One turn of a cycle out of a curve, its ends brought together, and the turn played over and over.
//!
//! [`Curve::window`] cuts the turn out, [`Curve::closed`] makes its last key the first one again (plus what a vector
//! travels in a turn) by a drift that leaves no jerk at the seam, and [`Curve::repeated`] sets turn behind turn.

use super::{Curve, Kind, Segments};
use crate::rotation;
use glam::{DQuat, DVec3};

/// How what is between the two ends of a turn is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Evenly over the turn: every velocity changes by the same small amount.
    Even,
    /// In the last quarter, smoothly: a motion that does not come back by itself keeps its way there.
    Late,
}

/// Where a late drift begins, as a share of the turn.
const LATE: f64 = 0.75;
/// Keys that a late drift gets: its cubic is then straight to a hundredth between them.
const LATE_KEYS: u32 = 8;

impl Drift {
    /// The share that is taken off at a share of the turn, and how fast it grows.
    fn at(self, u: f64) -> (f64, f64) {
        let v = ((u - LATE) / (1.0 - LATE)).max(0.0);
        match self {
            Drift::Even => (u, 1.0),
            Drift::Late => (v * v * (3.0 - 2.0 * v), 6.0 * v * (1.0 - v) / (1.0 - LATE)),
        }
    }
}

impl Curve {
    /// What the curve does from `start` to `end` (s, later), with keys at both. Keys within `near` seconds of the two
    /// are taken to be there: files round times.
    pub fn window(&self, start: f64, end: f64, near: f64) -> Curve {
        let w = self.width;
        let n = self.times.len();
        let after = self.times.partition_point(|&t| t <= start + near);
        let before = self.times.partition_point(|&t| t < end - near).max(after);
        let mut times = vec![start];
        times.extend_from_slice(&self.times[after..before]);
        times.push(end);
        // Key at a border, or what the curve does there between two.
        let first = after.checked_sub(1).filter(|&k| self.times[k] >= start - near);
        let last = Some(before).filter(|&k| k < n && self.times[k] <= end + near);
        let border = |key: Option<usize>, time: f64| key.map_or_else(|| self.border(time), |k| self.key(k));
        let (from, to) = (border(first, start), border(last, end));
        let inside = after * w..before * w;
        let join = |i: usize, numbers: &[f64]| [&from[i], &numbers[inside.clone()], &to[i]].concat();
        let values = join(0, &self.values);
        let segments = match &self.segments {
            Segments::Step => Segments::Step,
            Segments::Linear => Segments::Linear,
            Segments::Cubic { arriving, leaving } => {
                let (mut arriving, mut leaving) = (join(1, arriving), join(2, leaving));
                // Outside its keys a curve holds, whatever the outer tangents say.
                let keys = times.len();
                if first.is_none() && after == 0 && keys > 2 {
                    arriving[w..2 * w].fill(0.0);
                }
                if last.is_none() && before == n && keys > 2 {
                    leaving[(keys - 2) * w..(keys - 1) * w].fill(0.0);
                }
                Segments::Cubic { arriving, leaving }
            }
        };
        Curve { kind: self.kind, width: w, times, values, segments }
    }

    /// Value, arriving and leaving tangent of a key.
    fn key(&self, k: usize) -> [Vec<f64>; 3] {
        let row = |numbers: &[f64]| self.row(numbers, k).to_vec();
        match &self.segments {
            Segments::Cubic { arriving, leaving } => [row(&self.values), row(arriving), row(leaving)],
            _ => [row(&self.values), Vec::new(), Vec::new()],
        }
    }

    /// The same for a key that would change nothing at `time`.
    fn border(&self, time: f64) -> [Vec<f64>; 3] {
        let mut value = vec![0.0; self.width];
        let mut tangent = vec![0.0; self.width];
        match (self.span(time), &self.segments) {
            (Some(span), Segments::Cubic { .. }) => {
                self.cubic(span, &mut value);
                self.cubic_derivative(span, &mut tangent);
            }
            _ => self.evaluate(time, &mut value),
        }
        [value, tangent.clone(), tangent]
    }

    /// The same curve with more keys in its last part.
    fn refined(&self) -> Curve {
        let mut keys: Vec<(f64, [Vec<f64>; 3])> =
            (0..self.times.len()).map(|k| (self.times[k], self.key(k))).collect();
        let (start, length) = (self.start(), self.end() - self.start());
        for i in 0..LATE_KEYS {
            let time = start + length * (LATE + (1.0 - LATE) * f64::from(i) / f64::from(LATE_KEYS));
            // Closer to a key than a tenth of their distance, it would add nothing.
            let apart = 0.1 * length * (1.0 - LATE) / f64::from(LATE_KEYS);
            if self.times.iter().all(|t| (t - time).abs() > apart) {
                keys.push((time, self.border(time)));
            }
        }
        keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        let column = |i: usize| keys.iter().flat_map(|k| k.1[i].iter().copied()).collect::<Vec<f64>>();
        let segments = match &self.segments {
            Segments::Step => Segments::Step,
            Segments::Linear => Segments::Linear,
            Segments::Cubic { .. } => Segments::Cubic { arriving: column(1), leaving: column(2) },
        };
        let times = keys.iter().map(|k| k.0).collect();
        Curve { kind: self.kind, width: self.width, times, values: column(0), segments }
    }

    /// The curve with one more key, so many seconds after its last: of cubics, with the slope between the two.
    pub fn and_then(&self, after: f64, value: &[f64]) -> Curve {
        let w = self.width;
        let mut curve = self.clone();
        let last = self.row(&self.values, self.times.len() - 1);
        let dot: f64 = last.iter().zip(value).map(|(a, b)| a * b).sum();
        let sign = if self.kind == Kind::Rotation && dot < 0.0 { -1.0 } else { 1.0 };
        let value: Vec<f64> = value.iter().map(|v| sign * v).collect();
        let slope: Vec<f64> = value.iter().zip(last).map(|(b, a)| (b - a) / after).collect();
        curve.times.push(self.end() + after);
        curve.values.extend_from_slice(&value);
        if let Segments::Cubic { arriving, leaving } = &mut curve.segments {
            let from = leaving.len() - w;
            leaving[from..].copy_from_slice(&slope);
            arriving.extend_from_slice(&slope);
            leaving.extend_from_slice(&slope);
        }
        curve
    }

    /// How far the last key is from the first: per component, or as a rotation vector (rad).
    pub fn gap(&self) -> Vec<f64> {
        let (first, last) = (self.row(&self.values, 0), self.row(&self.values, self.times.len() - 1));
        match self.kind {
            Kind::Vector => last.iter().zip(first).map(|(b, a)| b - a).collect(),
            Kind::Rotation => {
                let [a, b] = [first, last].map(|q| DQuat::from_slice(q).normalize());
                rotation::log(a.conjugate() * b).to_array().to_vec()
            }
        }
    }

    /// The curve with its last key made the first one again, `travel` further on (`width` numbers; nothing for
    /// rotations): what is left of [`Self::gap`] is taken off as `drift` says.
    pub fn closed(&self, travel: &[f64], drift: Drift) -> Curve {
        match drift {
            Drift::Even => self.drifted(travel, drift),
            Drift::Late => self.refined().drifted(travel, drift),
        }
    }

    fn drifted(&self, travel: &[f64], drift: Drift) -> Curve {
        let mut out = self.clone();
        let (w, n) = (self.width, self.times.len());
        let (start, length) = (self.start(), self.end() - self.start());
        let gap = self.gap();
        let share = |k: usize| drift.at((self.times[k] - start) / length).0;
        let rate = |k: usize| drift.at((self.times[k] - start) / length).1 / length;
        let tangents = match &mut out.segments {
            Segments::Cubic { arriving, leaving } => vec![arriving, leaving],
            _ => Vec::new(),
        };
        if self.kind == Kind::Vector {
            let way: Vec<f64> = gap.iter().zip(travel).map(|(g, t)| t - g).collect();
            for (k, row) in out.values.chunks_exact_mut(w).enumerate() {
                row.iter_mut().zip(&way).for_each(|(v, d)| *v += d * share(k));
            }
            for numbers in tangents {
                numbers.iter_mut().enumerate().for_each(|(i, m)| *m += way[i % w] * rate(i / w));
            }
            let last: Vec<f64> = self.row(&self.values, 0).iter().zip(travel).map(|(a, t)| a + t).collect();
            out.values[(n - 1) * w..].copy_from_slice(&last);
            return out;
        }
        // With r = exp(s d), s growing: (q r)' = q' r + q r (s' d / 2).
        let back = -DVec3::from_slice(&gap);
        let turn = |k: usize| rotation::exp(back * share(k));
        let spin = |k: usize| DQuat::from_vec4((back * (0.5 * rate(k))).extend(0.0));
        for numbers in tangents {
            for (k, row) in numbers.chunks_exact_mut(4).enumerate() {
                let (q, m) = (DQuat::from_slice(&self.values[4 * k..]), DQuat::from_slice(row));
                (m * turn(k) + q * turn(k) * spin(k)).write_to_slice(row);
            }
        }
        for (k, row) in out.values.chunks_exact_mut(4).enumerate() {
            (DQuat::from_slice(row) * turn(k)).write_to_slice(row);
        }
        let sign = self.sign(&out.values);
        for i in 0..4 {
            out.values[4 * (n - 1) + i] = sign * self.values[i];
        }
        out
    }

    /// Whether a rotation comes back with its own sign (1) or the other (-1).
    fn sign(&self, values: &[f64]) -> f64 {
        let (first, last) = (self.row(values, 0), self.row(values, self.times.len() - 1));
        let dot: f64 = first.iter().zip(last).map(|(a, b)| a * b).sum();
        if self.kind == Kind::Rotation && dot < 0.0 { -1.0 } else { 1.0 }
    }

    /// A closed curve played `turns` times (at least once), each `travel` further on.
    pub fn repeated(&self, turns: usize, travel: &[f64]) -> Curve {
        let (w, last) = (self.width, self.times.len() - 1);
        let (start, length) = (self.start(), self.end() - self.start());
        let sign = self.sign(&self.values);
        let signed = |turn: usize| if turn % 2 == 1 { sign } else { 1.0 };
        let capacity = turns * last + 1;
        let (mut times, mut values) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity * w));
        let (mut arrive, mut leave) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            // The last key of a turn is the first of the next, but for the tangent that arrives.
            for k in 0..last + usize::from(turn + 1 == turns) {
                times.push(start + (self.times[k] - start) + length * turn as f64);
                let value = self.row(&self.values, k);
                values.extend((0..w).map(|i| match self.kind {
                    Kind::Vector => value[i] + travel[i] * turn as f64,
                    Kind::Rotation => value[i] * signed(turn),
                }));
                if let Segments::Cubic { arriving, leaving } = &self.segments {
                    let (at, of) = if k == 0 && turn > 0 { (last, turn - 1) } else { (k, turn) };
                    arrive.extend(self.row(arriving, at).iter().map(|m| m * signed(of)));
                    leave.extend(self.row(leaving, k).iter().map(|m| m * signed(turn)));
                }
            }
        }
        let segments = match &self.segments {
            Segments::Step => Segments::Step,
            Segments::Linear => Segments::Linear,
            Segments::Cubic { .. } => Segments::Cubic { arriving: arrive, leaving: leave },
        };
        Curve { kind: self.kind, width: w, times, values, segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(times: &[f64], values: &[f64], segments: Segments) -> Curve {
        Curve::new(Kind::Vector, 1, times.to_vec(), values.to_vec(), segments).unwrap()
    }

    fn cubic() -> Curve {
        let segments = Segments::Cubic { arriving: vec![9.0, 1.0, -2.0], leaving: vec![2.0, -1.0, 9.0] };
        vector(&[1.0, 2.0, 4.0], &[0.0, 3.0, 1.0], segments)
    }

    #[test]
    fn a_window_does_what_the_curve_does() {
        let linear = vector(&[1.0, 2.0, 4.0], &[0.0, 3.0, 1.0], Segments::Linear);
        for (curve, name) in [(cubic(), "cubic"), (linear, "linear")] {
            for (start, end) in [(1.0, 4.0), (1.5, 3.0), (0.0, 5.0), (2.5, 3.5), (1.7, 6.0)] {
                let cut = curve.window(start, end, 1e-6);
                assert_eq!((cut.start(), cut.end()), (start, end));
                for i in 0..=60 {
                    let t = start + (end - start) * f64::from(i) / 60.0;
                    let gap = (cut.scalar(t) - curve.scalar(t)).abs();
                    assert!(gap < 1e-12, "{name} {start} {end}: {gap} at {t}");
                }
            }
        }
    }

    #[test]
    fn a_key_a_hair_off_a_border_is_the_border() {
        let curve = vector(&[1e-8, 1.0, 2.0 - 1e-7], &[5.0, 6.0, 7.0], Segments::Linear);
        let cut = curve.window(0.0, 2.0, 1e-6);
        assert_eq!((cut.times(), cut.values()), (&[0.0, 1.0, 2.0][..], &[5.0, 6.0, 7.0][..]));
    }

    #[test]
    fn a_closed_curve_ends_where_it_begins_and_repeats_smoothly() {
        let closed = cubic().closed(&[0.0], Drift::Even);
        assert_eq!(closed.values()[0], closed.values()[2]);
        let travels = cubic().closed(&[0.25], Drift::Even);
        let thrice = travels.repeated(3, &[0.25]);
        assert_eq!((thrice.start(), thrice.end(), thrice.times().len()), (1.0, 10.0, 7));
        for i in 0..=300 {
            let t = 1.0 + f64::from(i) * 0.01;
            for turn in 0..3 {
                let later = thrice.scalar((t + 3.0 * f64::from(turn)).min(10.0));
                assert!((later - travels.scalar(t) - 0.25 * f64::from(turn)).abs() < 1e-11, "{turn} {t}");
            }
        }
        // The drift that closes it changes every velocity alike.
        let (mut a, mut b) = ([0.0], [0.0]);
        for t in [1.2, 2.7, 3.9] {
            travels.derivative(t, &mut a);
            cubic().derivative(t, &mut b);
            assert!((a[0] - b[0] - (0.25 - 1.0) / 3.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_late_drift_leaves_the_first_part_alone() {
        for curve in [cubic(), vector(&[1.0, 4.0], &[0.0, 2.0], Segments::Linear)] {
            let closed = curve.closed(&[0.0], Drift::Late);
            assert_eq!(closed.scalar(4.0), closed.scalar(1.0));
            for i in 0..=100 {
                let t = 1.0 + 2.24 * f64::from(i) / 100.0;
                assert!((closed.scalar(t) - curve.scalar(t)).abs() < 1e-12, "{t}");
            }
        }
    }

    #[test]
    fn rotations_close_and_repeat_whatever_their_sign() {
        // A whole turn and a bit: the quaternions come back with the other sign.
        let angles = [0.0, 2.0, 4.0, 6.4];
        let values: Vec<f64> = angles.iter().flat_map(|a| rotation::exp(DVec3::Z * *a).to_array()).collect();
        let tangents = vec![0.0; 16];
        for segments in [Segments::Linear, Segments::Cubic { arriving: tangents.clone(), leaving: tangents }]
        {
            let mut curve =
                Curve::new(Kind::Rotation, 4, vec![0.0, 1.0, 2.0, 3.0], values.clone(), segments).unwrap();
            curve.make_continuous();
            let closed = curve.closed(&[], Drift::Even);
            assert!(DVec3::from_slice(&closed.gap()).length() < 1e-12);
            let twice = closed.repeated(2, &[]);
            for i in 0..300 {
                let t = f64::from(i) * 0.01;
                let apart = rotation::distance(twice.quaternion(t + 3.0), closed.quaternion(t));
                assert!(apart < 1e-9, "{apart} at {t}");
            }
        }
    }
}
