//! A prim's transform operations: what `xformOpOrder` lists, in its order, over time.
//!
//! USD multiplies rows, the scene columns. In columns the first operation of the list is the outermost: the product of
//! all in the order of the list takes points of the prim to its parent. A matrix of USD, row by row, is the same
//! matrix column by column.

use super::value::{self, Samples};
use crate::error::Error;
use glam::{DMat3, DMat4, DQuat, DVec3};
use openusd::usd::Prim;

/// What an operation does with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Translate,
    /// Along one axis.
    TranslateAxis(usize),
    Scale,
    /// Along one axis.
    ScaleAxis(usize),
    /// About one axis, degrees.
    Rotate(usize),
    /// About three axes, degrees, the first of them first. The numbers are for x, y, z in any case.
    Euler([usize; 3]),
    Orient,
    Transform,
}

impl Kind {
    /// Of the word behind `xformOp:`.
    fn of(word: &str) -> Option<Kind> {
        Some(match word {
            "translate" => Kind::Translate,
            "translateX" => Kind::TranslateAxis(0),
            "translateY" => Kind::TranslateAxis(1),
            "translateZ" => Kind::TranslateAxis(2),
            "scale" => Kind::Scale,
            "scaleX" => Kind::ScaleAxis(0),
            "scaleY" => Kind::ScaleAxis(1),
            "scaleZ" => Kind::ScaleAxis(2),
            "rotateX" => Kind::Rotate(0),
            "rotateY" => Kind::Rotate(1),
            "rotateZ" => Kind::Rotate(2),
            "rotateXYZ" => Kind::Euler([0, 1, 2]),
            "rotateXZY" => Kind::Euler([0, 2, 1]),
            "rotateYXZ" => Kind::Euler([1, 0, 2]),
            "rotateYZX" => Kind::Euler([1, 2, 0]),
            "rotateZXY" => Kind::Euler([2, 0, 1]),
            "rotateZYX" => Kind::Euler([2, 1, 0]),
            "orient" => Kind::Orient,
            "transform" => Kind::Transform,
            _ => return None,
        })
    }

    /// Numbers per value.
    pub fn width(self) -> usize {
        match self {
            Kind::Translate | Kind::Scale | Kind::Euler(_) => 3,
            Kind::TranslateAxis(_) | Kind::ScaleAxis(_) | Kind::Rotate(_) => 1,
            Kind::Orient => 4,
            Kind::Transform => 16,
        }
    }

    /// Whether it only turns.
    pub fn only_turns(self) -> bool {
        matches!(self, Kind::Rotate(_) | Kind::Euler(_) | Kind::Orient)
    }

    /// The matrix of these numbers.
    pub fn matrix(self, v: &[f64]) -> DMat4 {
        let about =
            |axis: usize, degrees: f64| DQuat::from_axis_angle(DVec3::AXES[axis], degrees.to_radians());
        match self {
            Kind::Translate => DMat4::from_translation(DVec3::from_slice(v)),
            Kind::TranslateAxis(axis) => DMat4::from_translation(DVec3::AXES[axis] * v[0]),
            Kind::Scale => DMat4::from_scale(DVec3::from_slice(v)),
            Kind::ScaleAxis(axis) => {
                let mut scale = DVec3::ONE;
                scale[axis] = v[0];
                DMat4::from_scale(scale)
            }
            Kind::Rotate(axis) => DMat4::from_quat(about(axis, v[0])),
            Kind::Euler([a, b, c]) => DMat4::from_quat(about(c, v[c]) * about(b, v[b]) * about(a, v[a])),
            Kind::Orient => DMat4::from_quat(rotation(DQuat::from_slice(v))),
            Kind::Transform => {
                let mut m = [0.0; 16];
                m.copy_from_slice(v);
                DMat4::from_cols_array(&m)
            }
        }
    }
}

/// Squares of lengths farther from 1 than this were rounded to less than double precision.
const DOUBLE: f64 = 1e-12;

/// The rotation that a quaternion stands for. OpenUSD takes the axis from the imaginary part and the angle from the real
/// one: where the length is off, as that of floats and halves is, this matters.
pub(super) fn rotation(q: DQuat) -> DQuat {
    if (q.length_squared() - 1.0).abs() <= DOUBLE {
        return q.normalize();
    }
    let w = q.w.clamp(-1.0, 1.0);
    let sine = (1.0 - w * w).sqrt();
    q.xyz().try_normalize().map_or(DQuat::IDENTITY, |axis| DQuat::from_vec4((axis * sine).extend(w)))
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Op {
    /// Its attribute, such as `xformOp:rotateXYZ:lean`.
    pub name: String,
    pub kind: Kind,
    pub inverted: bool,
    pub samples: Samples,
}

impl Op {
    /// Its numbers at a time code.
    pub fn numbers(&self, time: f64) -> Vec<f64> {
        self.samples.at(time, self.kind == Kind::Orient)
    }

    /// Its matrix at a time code.
    pub fn matrix(&self, time: f64) -> DMat4 {
        let m = self.kind.matrix(&self.numbers(time));
        if self.inverted { invert(&m) } else { m }
    }
}

/// The inverse; that of a flat map is taken for zero, as USD's is.
fn invert(m: &DMat4) -> DMat4 {
    let inverse = m.inverse();
    if inverse.is_finite() { inverse } else { DMat4::from_mat3(DMat3::ZERO) }
}

/// The operations of a prim.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stack {
    /// Whether it leaves its parents' transforms out.
    pub resets: bool,
    /// Those that count, outermost first.
    pub ops: Vec<Op>,
}

/// The product of operations at a time code.
pub(super) fn product(ops: &[Op], time: f64) -> DMat4 {
    ops.iter().fold(DMat4::IDENTITY, |m, op| m * op.matrix(time))
}

/// How far the last row of a matrix may be from 0 0 0 1 before it is called projective.
const AFFINE: f64 = 1e-4;

/// Reads a prim's operations. An operation without an attribute is left out with a warning; one that nobody knows, or
/// whose value has a wrong number of components, is an error.
pub(super) fn read(prim: &Prim, warnings: &mut Vec<String>) -> Result<Stack, Error> {
    let mut stack = Stack::default();
    let Some(order) = value::words(prim, "xformOpOrder")? else { return Ok(stack) };
    let place = |name: &str| format!("<{}.{name}>", prim.path().as_str());
    for name in order {
        if name == "!resetXformStack!" {
            stack = Stack { resets: true, ops: Vec::new() };
            continue;
        }
        let (inverted, name) = match name.strip_prefix("!invert!") {
            Some(rest) => (true, rest.to_owned()),
            None => (false, name),
        };
        let word = name.strip_prefix("xformOp:").and_then(|rest| rest.split(':').next());
        let Some(kind) = word.and_then(Kind::of) else {
            return Err(Error::input("is no transform operation that is known; correct xformOpOrder")
                .at(&place(&name)));
        };
        let Some(samples) = value::samples(&prim.attribute(name.as_str()))? else {
            warnings
                .push(format!("{}: is in xformOpOrder and has no value; it counts as none", place(&name)));
            continue;
        };
        for (time, numbers) in samples.times.iter().zip(&samples.values) {
            let width = kind.width();
            if numbers.len() != width {
                let what =
                    format!("has {} numbers at time code {time}, where {width} are needed", numbers.len());
                return Err(Error::input(what).at(&place(&name)));
            }
            let is_projective = kind == Kind::Transform && {
                let row = kind.matrix(numbers).row(3) - glam::DVec4::W;
                row.abs().max_element() > AFFINE
            };
            if is_projective {
                let what =
                    format!("the last column at time code {time} must be 0 0 0 1; freeze the transform");
                return Err(Error::input(what).at(&place(&name)));
            }
        }
        stack.ops.push(Op { name, kind, inverted, samples });
    }
    Ok(stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn euler_angles_turn_about_the_first_named_axis_first() {
        // About x by 90 degrees, y becomes z; about z by 90 degrees, it stays.
        let m = Kind::Euler([0, 1, 2]).matrix(&[90.0, 0.0, 90.0]);
        assert!((m.transform_vector3(DVec3::Y) - DVec3::Z).length() < 1e-15);
        // The other way round, y becomes -x, and stays.
        let m = Kind::Euler([2, 1, 0]).matrix(&[90.0, 0.0, 90.0]);
        assert!((m.transform_vector3(DVec3::Y) + DVec3::X).length() < 1e-15);
    }
}
