//! Keys of a fit in progress, and how far the cubic through them is from the samples.

use super::super::Kind;
use super::samples::{Lane, Samples};

/// One key: where it is and what it is allowed to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// The sample whose time it has.
    pub sample: usize,
    /// Arriving and leaving tangents may differ.
    pub corner: bool,
    /// Its value is the sample itself.
    pub pinned: bool,
}

impl Key {
    /// A smooth key.
    pub fn smooth(sample: usize) -> Key {
        Key { sample, corner: false, pinned: false }
    }
}

/// Keys with their values and tangents (per period).
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    pub keys: Vec<Key>,
    /// For each key its value, arriving and leaving tangent, each of as many lanes as a sample has.
    pub numbers: Vec<Lane>,
    /// For each segment the squared largest error at its samples; see [`Keys::measure`].
    pub errors_sq: Vec<f64>,
}

impl Keys {
    /// The value of key `k`.
    pub fn value(&self, k: usize, lanes: usize) -> &[Lane] {
        &self.numbers[3 * k * lanes..(3 * k + 1) * lanes]
    }

    /// The tangent before key `k`.
    pub fn arriving(&self, k: usize, lanes: usize) -> &[Lane] {
        &self.numbers[(3 * k + 1) * lanes..(3 * k + 2) * lanes]
    }

    /// The tangent after key `k`.
    pub fn leaving(&self, k: usize, lanes: usize) -> &[Lane] {
        &self.numbers[(3 * k + 2) * lanes..(3 * k + 3) * lanes]
    }

    /// Measures segments in turn, stopping after the first one above `limit_sq`; whether there was none.
    pub fn measure(&mut self, samples: &Samples, limit_sq: f64) -> bool {
        self.errors_sq.clear();
        for k in 0..self.keys.len() - 1 {
            let error_sq = self.error_sq(samples, k);
            self.errors_sq.push(error_sq);
            if error_sq > limit_sq {
                return false;
            }
        }
        true
    }

    /// The squared largest error of segment `k`, from its first key up to, not including, the next: at its samples,
    /// and halfway between them, as far as what samples leave open there is exceeded.
    fn error_sq(&self, samples: &Samples, k: usize) -> f64 {
        let mut worst = 0.0_f64;
        self.visit(samples, k, |_, error_sq| worst = larger(worst, error_sq));
        let (first, last) = (self.keys[k].sample, self.keys[k + 1].sample);
        let lanes = samples.lanes;
        let cubics: Vec<Cubic>;
        let only;
        let cubics: &[Cubic] = if lanes == 1 {
            only = [self.cubic(samples, k, 0)];
            &only
        } else {
            cubics = (0..lanes).map(|lane| self.cubic(samples, k, lane)).collect();
            &cubics
        };
        for j in first..last {
            let t = 0.5 * (samples.t[j] + samples.t[j + 1]);
            let middles = &samples.middles[j * lanes..(j + 1) * lanes];
            let off_sq = samples.error_sq(cubics.iter().map(|c| c.at(t)), middles);
            let doubt = samples.doubts[j];
            if off_sq > worst && off_sq > doubt * doubt {
                worst = larger(worst, (off_sq.sqrt() - doubt).powi(2));
            }
        }
        worst
    }

    /// Calls `found` with every sample of segment `k` and its squared error, of the numbers as they will be stored.
    pub fn visit(&self, samples: &Samples, k: usize, mut found: impl FnMut(usize, f64)) {
        let (first, last) = (self.keys[k].sample, self.keys[k + 1].sample);
        if samples.lanes == 1 {
            let cubic = self.cubic(samples, k, 0);
            for j in first..last {
                found(j, samples.error_sq([cubic.at(samples.t[j])].into_iter(), samples.at(j)));
            }
            return;
        }
        let cubics: Vec<Cubic> = (0..samples.lanes).map(|lane| self.cubic(samples, k, lane)).collect();
        for j in first..last {
            found(j, samples.error_sq(cubics.iter().map(|c| c.at(samples.t[j])), samples.at(j)));
        }
    }

    fn cubic(&self, samples: &Samples, k: usize, lane: usize) -> Cubic {
        let lanes = samples.lanes;
        let start = samples.stored_t[self.keys[k].sample];
        let h = samples.stored_t[self.keys[k + 1].sample] - start;
        let a = self.value(k, lanes)[lane].map(|v| samples.store(v));
        let b = self.value(k + 1, lanes)[lane].map(|v| samples.store(v));
        let m0 = self.leaving(k, lanes)[lane].map(|m| samples.store_tangent(m) * h);
        let m1 = self.arriving(k + 1, lanes)[lane].map(|m| samples.store_tangent(m) * h);
        let mut cubic = Cubic { start, inverse_h: 1.0 / h, c: [a, m0, [0.0; 4], [0.0; 4]] };
        for i in 0..4 {
            cubic.c[2][i] = 3.0 * (b[i] - a[i]) - 2.0 * m0[i] - m1[i];
            cubic.c[3][i] = m0[i] + m1[i] - 2.0 * (b[i] - a[i]);
        }
        cubic
    }
}

/// A segment in powers of its place 0 to 1.
struct Cubic {
    start: f64,
    inverse_h: f64,
    c: [Lane; 4],
}

impl Cubic {
    #[inline]
    fn at(&self, t: f64) -> Lane {
        let u = (t - self.start) * self.inverse_h;
        let [a, b, c, d] = &self.c;
        std::array::from_fn(|i| a[i] + u * (b[i] + u * (c[i] + u * d[i])))
    }
}

impl Samples {
    /// The squared distance of vectors; for rotations that of twice the tangent of half the angle, which is just above
    /// the angle.
    #[inline]
    fn error_sq(&self, found: impl Iterator<Item = Lane>, wanted: &[Lane]) -> f64 {
        let each = found.zip(wanted);
        match self.kind {
            Kind::Vector => each.map(|(p, x)| distance_sq(&p, x)).sum(),
            Kind::Rotation => each.map(|(p, x)| turn_sq(&p, x)).sum(),
        }
    }
}

/// The larger, and infinity for NaN, so that what overflowed counts as far off.
fn larger(a: f64, b: f64) -> f64 {
    if b > a {
        b
    } else if b.is_nan() {
        f64::INFINITY
    } else {
        a
    }
}

#[inline]
fn distance_sq(a: &Lane, b: &Lane) -> f64 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]];
    (d[0] * d[0] + d[1] * d[1]) + (d[2] * d[2] + d[3] * d[3])
}

/// With half the angle between the directions of `p` and the unit `s` called a: `(2 tan a)^2`.
#[inline]
fn turn_sq(p: &Lane, s: &Lane) -> f64 {
    let along = (p[0] * s[0] + p[1] * s[1]) + (p[2] * s[2] + p[3] * s[3]);
    if along <= 0.0 {
        return f64::INFINITY;
    }
    let foot = s.map(|c| c * along);
    4.0 * distance_sq(p, &foot) / (along * along)
}
