//! Animator curves: keys in time (s) and what lies between them.
//!
//! One flat layout serves every format and the C ABI: `values` holds `width` numbers per key. Between keys a
//! curve steps, runs straight (rotations: slerp), or follows a cubic whose tangents are per second, exactly as
//! the glTF 2.0 specification (appendix C) says. Before its first and after its last key a curve holds.
//!
//! Here are the types and their checks. Beside them: values ([`Curve::evaluate`]) and exact derivatives
//! ([`Curve::derivative`]); smooth splines through keys ([`Curve::catmull_rom`], [`Curve::kochanek_bartels`]);
//! hosts' weighted handles ([`Bezier`]); length along a path ([`ArcLength`]); and few editable keys out of many samples ([`fit`](fn@fit)).

mod arc_length;
mod bezier;
mod cycle;
mod derivative;
mod evaluate;
mod fit;
mod spline;

pub use arc_length::ArcLength;
pub use bezier::{Between, Bezier, BezierKey, Handle};
pub use cycle::Drift;
pub use fit::{Fit, FitOptions, fit, fit_bent, fit_straight, fit_with, straight_error};
pub use spline::{Tcb, make_continuous};

/// Keys and interpolation of one property.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    kind: Kind,
    width: usize,
    times: Vec<f64>,
    values: Vec<f64>,
    segments: Segments,
}

/// Whether values add (positions, scales, weights) or turn (unit quaternions xyzw, width 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Components are interpolated one by one.
    Vector,
    /// Slerp when linear; component-wise cubic, then normalised, when cubic.
    Rotation,
}

/// What lies between keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Segments {
    /// Holds each key's value until the next.
    Step,
    /// Straight; the short great arc for rotations.
    Linear,
    /// Cubic Hermite: `width` numbers per key arriving and leaving, in units per second.
    Cubic {
        /// Derivative on the earlier side of each key.
        arriving: Vec<f64>,
        /// Derivative on the later side of each key.
        leaving: Vec<f64>,
    },
}

/// Why keys do not make a curve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// There is no key.
    #[error("the curve has no keys; add at least one")]
    Empty,
    /// Array lengths disagree.
    #[error("{what} has {found} numbers where {expected} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What `times` and `width` ask for.
        expected: usize,
    },
    /// A number is NaN or infinite.
    #[error("key {key} has {what} that is not a finite number")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// Key index.
        key: usize,
    },
    /// Key times must increase strictly.
    #[error("key {key} at {time} s does not come after the key before it; sort the keys and drop doubles")]
    Order {
        /// Key index.
        key: usize,
        /// Its time.
        time: f64,
    },
    /// A sample to fit is NaN, infinite, or (stored as f32) too large.
    #[error("sample {sample} has {what} that is not a finite number as it will be stored")]
    Sample {
        /// Time or value.
        what: &'static str,
        /// Sample index.
        sample: usize,
    },
    /// A tolerance must be a number of at least zero.
    #[error("the tolerance {tolerance} is not a number of at least zero")]
    Tolerance {
        /// What was given.
        tolerance: f64,
    },
    /// A rotation key of length zero.
    #[error("key {key} is a quaternion of length zero, which is no rotation")]
    ZeroQuaternion {
        /// Key index.
        key: usize,
    },
}

impl Curve {
    /// Checks and takes the keys. Rotation keys are made unit length, except where they are cubic: there the
    /// specification interpolates the keys as stored, and only the result is made unit length.
    pub fn new(
        kind: Kind,
        width: usize,
        times: Vec<f64>,
        mut values: Vec<f64>,
        segments: Segments,
    ) -> Result<Curve, CurveError> {
        let n = times.len();
        if n == 0 {
            return Err(CurveError::Empty);
        }
        let expected = n * width;
        let length = |what, found| {
            if found == expected { Ok(()) } else { Err(CurveError::Length { what, found, expected }) }
        };
        length("the value array", values.len())?;
        finite("a time", &times, 1)?;
        finite("a value", &values, width)?;
        if let Segments::Cubic { arriving, leaving } = &segments {
            length("the arriving tangent array", arriving.len())?;
            length("the leaving tangent array", leaving.len())?;
            finite("an arriving tangent", arriving, width)?;
            finite("a leaving tangent", leaving, width)?;
        }
        if let Some(k) = (1..n).find(|&k| times[k] <= times[k - 1]) {
            return Err(CurveError::Order { key: k, time: times[k] });
        }
        if kind == Kind::Rotation {
            if width != 4 {
                return Err(CurveError::Length { what: "a rotation key", found: width, expected: 4 });
            }
            let as_stored = matches!(segments, Segments::Cubic { .. });
            for (key, q) in values.chunks_exact_mut(4).enumerate() {
                let mut unit = [q[0], q[1], q[2], q[3]];
                if !normalise(&mut unit) {
                    return Err(CurveError::ZeroQuaternion { key });
                }
                if !as_stored {
                    q.copy_from_slice(&unit);
                }
            }
        }
        Ok(Curve { kind, width, times, values, segments })
    }

    /// Numbers per key.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Vector or rotation.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Key times (s), strictly increasing, at least one.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// `width` numbers per key. Quaternions are unit length unless the curve is cubic.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// What lies between keys.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Time of the first key (s).
    pub fn start(&self) -> f64 {
        self.times[0]
    }

    /// Time of the last key (s).
    pub fn end(&self) -> f64 {
        self.times[self.times.len() - 1]
    }
}

fn finite(what: &'static str, numbers: &[f64], width: usize) -> Result<(), CurveError> {
    match numbers.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(CurveError::NotFinite { what, key: at / width.max(1) }),
        None => Ok(()),
    }
}

/// A quaternion shorter than this has no direction that rounding has not decided.
const ZERO_QUATERNION: f64 = 1e-12;

/// Makes a quaternion unit length, whatever its size; `false` (and unchanged) when it is as good as zero.
fn normalise(q: &mut [f64]) -> bool {
    let largest = q.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
    // Squares of larger numbers would overflow.
    if largest > 1e100 {
        q.iter_mut().for_each(|c| *c /= largest);
    }
    let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length < ZERO_QUATERNION {
        return false;
    }
    // A unit quaternion keeps its bits.
    if (length - 1.0).abs() > 1e-15 {
        q.iter_mut().for_each(|c| *c /= length);
    }
    true
}
