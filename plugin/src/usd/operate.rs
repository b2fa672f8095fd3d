//! A motion in a prim's own operations.
//!
//! Where a prim has one translation, one full rotation and besides these only pivots and scales, its translation and its
//! rotation get the new samples and everything else stays. A lone matrix gets matrices. What that cannot say gets
//! a new order: translate, orient, scale.

use super::edits::Edits;
use super::xform::{Kind, Op, Stack};
use crate::gltf::decompose;
use glam::{DMat3, DMat4, DQuat, EulerRot};
use openusd::gf;
use openusd::sdf::Value;

/// How far a product may be from the motion, as a share of its size, and still say it.
const SAYS_IT: f64 = 1e-9;

/// A transform to the parent at a time code, in the stage's units.
pub(super) type Frame = (f64, DMat4);

/// Writes the motion of a prim; the words of a warning where its operations were replaced. The frames are of what
/// comes behind the first `outer` operations, which stay.
pub(super) fn write(
    prim: &str,
    stack: &Stack,
    outer: usize,
    frames: &[Frame],
    edits: &mut Edits,
) -> Option<String> {
    edits.over(prim);
    if outer > 0 {
        return replace(prim, stack, outer, frames, edits);
    }
    if let [op] = &stack.ops[..]
        && op.kind == Kind::Transform
        && !op.inverted
    {
        let samples = frames.iter().map(|(t, m)| (*t, matrix(m))).collect();
        edits.set_samples(prim, &op.name, "matrix4d", samples);
        return None;
    }
    if let Some(tracks) = solved(stack, frames) {
        for (op, numbers) in tracks {
            let op = &stack.ops[op];
            // What does not change is not written.
            let same = |(f, v): (&Frame, &Vec<f64>)| {
                let old = op.numbers(f.0);
                old.iter().zip(v).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()))
            };
            if frames.iter().zip(&numbers).all(same) {
                continue;
            }
            let samples = frames.iter().zip(&numbers).map(|(f, v)| (f.0, value(op.kind, v))).collect();
            edits.set_samples(prim, &op.name, kind_name(op.kind), samples);
        }
        return None;
    }
    replace(prim, stack, 0, frames, edits)
}

fn matrix(m: &DMat4) -> Value {
    Value::Matrix4d(gf::Matrix4d(m.to_cols_array()))
}

fn triple(v: &[f64]) -> Value {
    Value::Vec3d(gf::vec3d(v[0], v[1], v[2]))
}

fn value(kind: Kind, v: &[f64]) -> Value {
    match kind {
        Kind::Orient => Value::Quatd(gf::quatd(v[3], v[0], v[1], v[2])),
        _ => triple(v),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Orient => "quatd",
        _ => "double3",
    }
}

/// Numbers of the translation and of the rotation for every frame; `None` where they cannot say the motion.
fn solved(stack: &Stack, frames: &[Frame]) -> Option<Vec<(usize, Vec<Vec<f64>>)>> {
    let ops = &stack.ops;
    let shared = |op: &Op| ops.iter().filter(|o| o.name == op.name).count() > 1;
    let only = |fits: &dyn Fn(&Op) -> bool| -> Option<usize> {
        let mut found = ops.iter().enumerate().filter(|(_, o)| !o.inverted && !shared(o) && fits(o));
        found.next().map(|(i, _)| i)
    };
    let moves = only(&|o| o.kind == Kind::Translate)?;
    let turns = only(&|o| matches!(o.kind, Kind::Euler(_) | Kind::Orient));
    let other_turn =
        |(i, o): (usize, &Op)| Some(i) != turns && (o.kind.only_turns() || o.kind == Kind::Transform);
    if ops.iter().enumerate().any(other_turn) {
        return None;
    }
    let mut places = Vec::with_capacity(frames.len());
    let mut rotations: Vec<Vec<f64>> = Vec::with_capacity(frames.len());
    for (time, wanted) in frames {
        let mut parts: Vec<DMat4> = ops.iter().map(|o| o.matrix(*time)).collect();
        if let Some(turns) = turns {
            // What the other operations stretch is known; the rest is the rotation.
            let linear = |m: &DMat4| DMat3::from_mat4(*m);
            let before = parts[..turns].iter().fold(DMat3::IDENTITY, |a, m| a * linear(m));
            let after = parts[turns + 1..].iter().fold(DMat3::IDENTITY, |a, m| a * linear(m));
            let rest = before.inverse() * linear(wanted) * after.inverse();
            if !rest.is_finite() {
                return None;
            }
            let rotation = DQuat::from_mat3(&rest).normalize();
            let last = rotations.last();
            let numbers = match ops[turns].kind {
                Kind::Euler(order) => {
                    angles(order, rotation, last.cloned().unwrap_or_else(|| ops[turns].numbers(*time)))
                }
                _ => continued(rotation, last.cloned().unwrap_or_else(|| ops[turns].numbers(*time))),
            };
            parts[turns] = ops[turns].kind.matrix(&numbers);
            rotations.push(numbers);
        }
        parts[moves] = DMat4::IDENTITY;
        let without = parts.iter().fold(DMat4::IDENTITY, |a, m| a * *m);
        let before = parts[..moves].iter().fold(DMat3::IDENTITY, |a, m| a * DMat3::from_mat4(*m));
        let place = before.inverse() * (wanted.w_axis - without.w_axis).truncate();
        if !place.is_finite() {
            return None;
        }
        parts[moves] = DMat4::from_translation(place);
        let made = parts.iter().fold(DMat4::IDENTITY, |a, m| a * *m);
        let size = wanted.to_cols_array().iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        if !made.abs_diff_eq(*wanted, SAYS_IT * size) {
            return None;
        }
        places.push(place.to_array().to_vec());
    }
    let mut tracks = vec![(moves, places)];
    tracks.extend(turns.map(|t| (t, rotations)));
    Some(tracks)
}

/// The quaternion of a rotation on the side of the one before.
fn continued(q: DQuat, last: Vec<f64>) -> Vec<f64> {
    let same_side = q.dot(DQuat::from_slice(&last)) >= 0.0;
    (if same_side { q } else { -q }).to_array().to_vec()
}

/// Degrees about x, y, z that make a rotation in that order, the nearest to those before.
pub(super) fn angles(order: [usize; 3], q: DQuat, last: Vec<f64>) -> Vec<f64> {
    let names = match order {
        [0, 1, 2] => EulerRot::ZYX,
        [0, 2, 1] => EulerRot::YZX,
        [1, 0, 2] => EulerRot::ZXY,
        [1, 2, 0] => EulerRot::XZY,
        [2, 0, 1] => EulerRot::YXZ,
        _ => EulerRot::XYZ,
    };
    let (c, b, a) = q.to_euler(names);
    let candidate = |turn: [f64; 3]| {
        let mut out = [0.0; 3];
        for (axis, angle) in order.into_iter().zip(turn) {
            let turns = ((last[axis] - angle) / 360.0).round();
            out[axis] = angle + 360.0 * turns;
        }
        out
    };
    let [a, b, c] = [a, b, c].map(f64::to_degrees);
    let both = [candidate([a, b, c]), candidate([a + 180.0, 180.0 - b, c + 180.0])];
    let far = |v: &[f64; 3]| v.iter().zip(&last).map(|(a, b)| (a - b).abs()).sum::<f64>();
    (if far(&both[1]) < far(&both[0]) { both[1] } else { both[0] }).to_vec()
}

/// A new order: translate, orient, scale; or one matrix where the motion is sheared.
fn replace(prim: &str, stack: &Stack, outer: usize, frames: &[Frame], edits: &mut Edits) -> Option<String> {
    let mut order: Vec<String> = if stack.resets { vec!["!resetXformStack!".into()] } else { Vec::new() };
    let kept = |o: &Op| format!("{}{}", if o.inverted { "!invert!" } else { "" }, o.name);
    order.extend(stack.ops[..outer].iter().map(kept));
    // Beside operations that stay, the new ones have names of their own.
    let suffix = if outer > 0 { ":sinew" } else { "" };
    let names = ["translate", "orient", "scale", "transform"].map(|n| format!("xformOp:{n}{suffix}"));
    let parts: Option<Vec<_>> = frames.iter().map(|(t, m)| Some((*t, decompose(*m)?))).collect();
    let said = match parts {
        Some(parts) => {
            order.extend_from_slice(&names[..3]);
            let mut turns: Vec<f64> = parts.iter().flat_map(|(_, c)| c.rotation.to_array()).collect();
            sinew_core::curve::make_continuous(&mut turns);
            let all =
                |f: &dyn Fn(usize) -> Value| parts.iter().enumerate().map(|(i, p)| (p.0, f(i))).collect();
            edits.set_samples(
                prim,
                &names[0],
                "double3",
                all(&|i| triple(&parts[i].1.translation.to_array())),
            );
            edits.set_samples(
                prim,
                &names[1],
                "quatd",
                all(&|i| value(Kind::Orient, &turns[4 * i..4 * i + 4])),
            );
            edits.set_samples(prim, &names[2], "double3", all(&|i| triple(&parts[i].1.scale.to_array())));
            "translate, orient, scale"
        }
        None => {
            order.push(names[3].clone());
            let samples = frames.iter().map(|(t, m)| (*t, matrix(m))).collect();
            edits.set_samples(prim, &names[3], "matrix4d", samples);
            "one matrix"
        }
    };
    let tokens: Vec<openusd::tf::Token> = order.iter().map(|o| o.as_str().into()).collect();
    edits.set_uniform(prim, "xformOpOrder", "token[]", Value::TokenVec(tokens));
    let is_simple = |o: &Op| {
        !o.inverted && matches!(o.name.as_str(), "xformOp:translate" | "xformOp:orient" | "xformOp:scale")
    };
    let replaced = &stack.ops[outer..];
    (outer > 0 || !replaced.iter().all(is_simple)).then(|| {
        let names: Vec<&str> = replaced.iter().map(|o| o.name.as_str()).collect();
        format!(
            "<{prim}>: its operations ({}) cannot say the motion; the new layer has {said} instead",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usd::value::Samples;
    use glam::DVec3;
    use proptest::prelude::*;

    fn op(name: &str, kind: Kind, inverted: bool, v: Vec<f64>) -> Op {
        Op { name: name.into(), kind, inverted, samples: Samples { times: vec![0.0], values: vec![v] } }
    }

    proptest! {
        /// Pivots and scales stay, and translation and rotation are found so that the product is what was wanted.
        #[test]
        fn pivots_and_any_order_of_angles_say_any_rigid_motion(
            v in prop::array::uniform3(-3.0..3.0), t in prop::array::uniform3(-9.0..9.0),
            pivot in prop::array::uniform3(-2.0..2.0),
            order in prop::sample::select(vec![[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]),
        ) {
            let stack = Stack { resets: false, ops: vec![
                op("xformOp:translate", Kind::Translate, false, vec![0.0; 3]),
                op("xformOp:translate:pivot", Kind::Translate, false, pivot.to_vec()),
                op("xformOp:rotate", Kind::Euler(order), false, vec![0.0; 3]),
                op("xformOp:scale", Kind::Scale, false, vec![2.0, 3.0, 0.5]),
                op("xformOp:translate:pivot", Kind::Translate, true, pivot.to_vec()),
            ] };
            let rotation = sinew_core::rotation::exp(DVec3::from_array(v));
            let wanted = DMat4::from_scale_rotation_translation(DVec3::new(2.0, 3.0, 0.5), rotation, DVec3::from_array(t));
            let tracks = solved(&stack, &[(0.0, wanted)]).expect("representable");
            let mut made = stack.clone();
            for (i, numbers) in tracks {
                made.ops[i].samples.values = numbers;
            }
            prop_assert!(crate::usd::xform::product(&made.ops, 0.0).abs_diff_eq(wanted, 1e-9));
        }
    }
}
