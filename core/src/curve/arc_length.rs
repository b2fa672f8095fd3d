//! Length along a curve of width 3: how far it has travelled at a time, and when it has travelled so far.
//!
//! The length is the integral of speed. Straight segments are exact; cubic ones are integrated with five-point
//! Gauss-Legendre on pieces that are halved until the two halves agree with the whole, as in adaptive
//! quadrature; pieces keep their sums, so that questions afterwards look at one piece only. Steps jump and
//! travel nothing. Nothing fails: where speed is zero (rests, cusps) the earliest time is given.

use super::{Curve, Segments};

/// Points and weights of five-point Gauss-Legendre on -1 to 1.
const GAUSS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];

/// Halvings of a segment. A cusp, where speed has a kink, loses a factor of four in error with each.
const DEEPEST: u32 = 30;

/// Lengths along a curve, computed once and asked often.
#[derive(Clone, Debug)]
pub struct ArcLength<'a> {
    curve: &'a Curve,
    /// Where pieces begin (s), and the end of the last.
    times: Vec<f64>,
    /// Length from the start of the curve to each of `times`; never decreasing.
    lengths: Vec<f64>,
}

impl<'a> ArcLength<'a> {
    /// Measures a curve of width 3 so that its whole length is within about `accuracy` (its unit).
    pub fn new(curve: &'a Curve, accuracy: f64) -> ArcLength<'a> {
        let keys = curve.times();
        let mut measured = ArcLength { curve, times: vec![keys[0]], lengths: vec![0.0] };
        let share = accuracy.max(0.0) / keys.len() as f64;
        for pair in keys.windows(2) {
            match curve.segments() {
                Segments::Step => measured.push(pair[1], 0.0),
                Segments::Linear => {
                    let chord = curve.vector(pair[1]) - curve.vector(pair[0]);
                    measured.push(pair[1], chord.length());
                }
                Segments::Cubic { .. } => {
                    let whole = measured.piece(pair[0], pair[1]);
                    measured.halve(pair[0], pair[1], whole, share, DEEPEST);
                }
            }
        }
        measured
    }

    /// Length of the whole curve.
    pub fn total(&self) -> f64 {
        self.lengths[self.lengths.len() - 1]
    }

    /// Length from the curve's start to `time` (s); 0 before it, the total after its end.
    pub fn length_at(&self, time: f64) -> f64 {
        let k = self.times.partition_point(|&t| t <= time);
        if k == 0 {
            return 0.0;
        }
        if k == self.times.len() {
            return self.total();
        }
        (self.lengths[k - 1] + self.within(k, time)).min(self.lengths[k])
    }

    /// Length travelled from one time (s) to another; negative backwards.
    pub fn between(&self, from: f64, to: f64) -> f64 {
        self.length_at(to) - self.length_at(from)
    }

    /// The earliest time (s) at which the curve has travelled `length` from its start; its start for less than
    /// nothing, its end for more than the total.
    pub fn time_at(&self, length: f64) -> f64 {
        let k = self.lengths.partition_point(|&l| l < length);
        if k == 0 {
            return self.times[0];
        }
        if k == self.times.len() {
            return self.curve.end();
        }
        let goal = length - self.lengths[k - 1];
        let (mut low, mut high) = (self.times[k - 1], self.times[k]);
        let piece = self.lengths[k] - self.lengths[k - 1];
        let mut time = low + (high - low) * (goal / piece);
        // Newton, safeguarded by the bracket: sixty halvings reach the last bit wherever Newton does not.
        for _ in 0..100 {
            let miss = self.within(k, time) - goal;
            if miss < 0.0 {
                low = time;
            } else {
                high = time;
            }
            let newton = time - miss / self.curve.velocity(time).length();
            let next = if newton > low && newton < high { newton } else { 0.5 * low + 0.5 * high };
            if (next - time).abs() <= 1e-15 * (high.abs() + low.abs()) || next <= low || next >= high {
                return next.clamp(low, high);
            }
            time = next;
        }
        time
    }

    /// Length from the start of the piece that ends at `times[k]` to a time in it.
    fn within(&self, k: usize, time: f64) -> f64 {
        match self.curve.segments() {
            Segments::Step => 0.0,
            Segments::Linear => {
                let (t0, t1) = (self.times[k - 1], self.times[k]);
                (self.lengths[k] - self.lengths[k - 1]) * ((time - t0) / (t1 - t0))
            }
            Segments::Cubic { .. } => self.piece(self.times[k - 1], time),
        }
    }

    fn push(&mut self, time: f64, length: f64) {
        self.times.push(time);
        self.lengths.push(self.total() + length);
    }

    /// Length between two times of one segment, by one rule.
    fn piece(&self, from: f64, to: f64) -> f64 {
        let (middle, half) = (0.5 * from + 0.5 * to, 0.5 * to - 0.5 * from);
        let sum: f64 = GAUSS.iter().map(|(x, w)| w * self.curve.velocity(middle + half * x).length()).sum();
        half * sum
    }

    /// Adds the pieces between two times whose one-rule length is `whole`.
    fn halve(&mut self, from: f64, to: f64, whole: f64, accuracy: f64, deeper: u32) {
        let middle = 0.5 * from + 0.5 * to;
        let (a, b) = (self.piece(from, middle), self.piece(middle, to));
        // Past the digits of the sum, agreement cannot be asked for.
        let enough = accuracy.max(4.0 * f64::EPSILON * whole);
        if deeper == 0 || (a + b - whole).abs() <= enough || middle <= from || middle >= to {
            if middle > from && middle < to {
                self.push(middle, a);
            }
            self.push(to, b);
            return;
        }
        self.halve(from, middle, a, 0.5 * accuracy, deeper - 1);
        self.halve(middle, to, b, 0.5 * accuracy, deeper - 1);
    }
}

impl Curve {
    /// Length of a curve of width 3 between two times (s), within about `accuracy`. [`ArcLength`] answers many
    /// such questions faster.
    pub fn arc_length(&self, from: f64, to: f64, accuracy: f64) -> f64 {
        ArcLength::new(self, accuracy).between(from, to)
    }

    /// The earliest time (s) at which a curve of width 3 has travelled `length` since `from` (s).
    pub fn time_at_length(&self, from: f64, length: f64, accuracy: f64) -> f64 {
        let measured = ArcLength::new(self, accuracy);
        measured.time_at(measured.length_at(from) + length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::evaluate::tests::vector_curve;
    use super::*;
    use glam::DVec3;
    use proptest::prelude::*;

    fn cubic(times: Vec<f64>, values: &[DVec3], tangents: &[DVec3]) -> Curve {
        let flat = |v: &[DVec3]| v.iter().flat_map(|v| v.to_array()).collect::<Vec<_>>();
        let segments = Segments::Cubic { arriving: flat(tangents), leaving: flat(tangents) };
        Curve::new(Kind::Vector, 3, times, flat(values), segments).unwrap()
    }

    #[test]
    fn a_parabola_has_its_closed_length() {
        // (t, t^2): length (asinh(2t) + 2t sqrt(1 + 4t^2)) / 4.
        let c = cubic(
            vec![0.0, 2.0],
            &[DVec3::ZERO, DVec3::new(2.0, 4.0, 0.0)],
            &[DVec3::X, DVec3::new(1.0, 4.0, 0.0)],
        );
        let exact = |t: f64| (libm::asinh(2.0 * t) + 2.0 * t * (1.0 + 4.0 * t * t).sqrt()) / 4.0;
        let measured = ArcLength::new(&c, 1e-12);
        for t in [0.0, 0.3, 1.0, 1.7, 2.0] {
            assert!((measured.length_at(t) - exact(t)).abs() < 1e-12);
            assert!((measured.time_at(exact(t)) - t).abs() < 1e-12);
        }
        assert!((c.arc_length(0.3, 1.7, 1e-10) - (exact(1.7) - exact(0.3))).abs() < 1e-10);
        assert!((c.time_at_length(0.3, exact(1.7) - exact(0.3), 1e-12) - 1.7).abs() < 1e-12);
    }

    #[test]
    fn there_and_back_through_a_point_of_rest() {
        // x = (2u - 1)^2: from 1 to 0 and back, with a kink in speed in the middle.
        let (p, m) = (DVec3::X, DVec3::X * 4.0);
        let c = cubic(vec![0.0, 1.0], &[p, p], &[-m, m]);
        let measured = ArcLength::new(&c, 1e-10);
        assert!((measured.total() - 2.0).abs() < 1e-9);
        assert!((measured.time_at(1.0) - 0.5).abs() < 1e-4);
        assert!((measured.time_at(0.75) - 0.25).abs() < 1e-8);
    }

    #[test]
    fn rests_steps_and_single_keys_do_not_hang() {
        let rest = cubic(
            vec![0.0, 1.0, 2.0, 3.0],
            &[DVec3::ZERO, DVec3::X, DVec3::X, DVec3::X * 3.0],
            &[DVec3::ZERO; 4],
        );
        let measured = ArcLength::new(&rest, 1e-12);
        assert!((measured.total() - 3.0).abs() < 1e-12);
        assert!((measured.time_at(1.0) - 1.0).abs() < 1e-6, "the earliest time, before the rest");
        assert!(measured.time_at(1.0 + 1e-9) > 2.0);
        assert_eq!((measured.time_at(-1.0), measured.time_at(9.0)), (0.0, 3.0));
        let step =
            Curve::new(Kind::Vector, 3, vec![0.0, 1.0], vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0], Segments::Step);
        assert_eq!(ArcLength::new(&step.unwrap(), 1e-9).total(), 0.0);
        let one = cubic(vec![4.0], &[DVec3::X], &[DVec3::Y]);
        assert_eq!((ArcLength::new(&one, 0.0).time_at(1.0), one.arc_length(0.0, 9.0, 0.0)), (4.0, 0.0));
    }

    proptest! {
        #[test]
        fn lengths_match_a_fine_polygon_and_times_undo_them(curve in vector_curve(3), u in 0.0..1.0) {
            let measured = ArcLength::new(&curve, 1e-9);
            if !matches!(curve.segments(), Segments::Step) {
                // Corners of the polygon on keys, so that it cuts none of the curve's.
                let side = |pair: &[f64], k: i32| pair[0] + (pair[1] - pair[0]) * f64::from(k) / 1000.0;
                let chord = |pair: &[f64], k| curve.vector(side(pair, k)).distance(curve.vector(side(pair, k + 1)));
                let polygon: f64 =
                    curve.times().windows(2).map(|pair| (0..1000).map(|k| chord(pair, k)).sum::<f64>()).sum();
                prop_assert!((measured.total() - polygon).abs() < 1e-4 * (1.0 + polygon));
            }
            let length = u * measured.total();
            let time = measured.time_at(length);
            prop_assert!((measured.length_at(time) - length).abs() < 1e-9 * (1.0 + length));
            prop_assert!(measured.time_at(length * 1.001 + 1e-9) >= time);
        }
    }
}
