//! A prim's operations as channels of nodes: translation, rotation, scale, with curves for what moves.
//!
//! Straight translations, great arcs and straight scales are taken over key by key. Everything else (angles, matrices,
//! pivots that move) is sampled: cubics through as many keys as it takes to stay within [`CLOSE`] of what USD gives at
//! any time. A product that is sheared and moves needs more than one node: operations are grouped, outermost first,
//! into the fewest nodes none of which is sheared.

use super::units::Units;
use super::xform::{Kind, Op, product, rotation as rotation_of};
use crate::gltf::decompose;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use sinew_core::curve::{Curve, CurveError, Kind as CurveKind, Segments, make_continuous};
use sinew_core::rotation;
use sinew_core::scene::{Channels, Local, Property};

/// How far a sampled curve may be from what it samples, as a share of its size: a tenth of what is promised, so that
/// ten nodes in a row keep the promise.
const CLOSE: f64 = 1e-7;

/// Keys halve their distance at most so often.
const DEEPEST: u32 = 10;

/// One node of a prim: the rest transform, and curves.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    pub rest: Local,
    pub curves: Vec<(Property, Curve)>,
}

/// The nodes that operations make.
pub(super) struct Made {
    /// Outermost first; at least one.
    pub nodes: Vec<Moving>,
    /// How many of the operations are not in the last of them.
    pub outer: usize,
    /// Whether a shear had to be left out.
    pub is_lossy: bool,
}

/// Makes nodes of operations.
pub(super) fn nodes(ops: &[Op], units: &Units, root: bool) -> Result<Made, CurveError> {
    let mut out = Vec::new();
    let mut left = ops;
    let mut lossy = false;
    loop {
        let root = root && out.is_empty();
        if let Some(plain) = plain(left, units, root)? {
            out.push(plain);
            return Ok(Made { nodes: out, outer: ops.len() - left.len(), is_lossy: lossy });
        }
        let times = times(left);
        if times.len() < 2 {
            out.push(still(&product(left, times.first().copied().unwrap_or(0.0)), units, root));
            return Ok(Made { nodes: out, outer: ops.len() - left.len(), is_lossy: lossy });
        }
        // The longest beginning that is not sheared at any time.
        let square = |n: &usize| {
            let ops = &left[..*n];
            checks(&times).all(|t| decompose(product(ops, t)).is_some())
        };
        let most = (1..=left.len()).rev().find(square);
        // Between its samples a matrix that turns shrinks, as USD interpolates it: the nearest rotation is as good.
        lossy |= most.is_none() && times.iter().any(|t| decompose(left[0].matrix(*t)).is_none());
        let count = most.unwrap_or(1);
        out.push(sampled(&left[..count], units, root)?);
        if count == left.len() {
            return Ok(Made { nodes: out, outer: ops.len() - left.len(), is_lossy: lossy });
        }
        left = &left[count..];
    }
}

/// Time codes of all samples.
fn times(ops: &[Op]) -> Vec<f64> {
    let mut times: Vec<f64> =
        ops.iter().filter(|o| o.samples.moves()).flat_map(|o| o.samples.times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// Sample times and the middles between them.
fn checks(times: &[f64]) -> impl Iterator<Item = f64> + '_ {
    times.iter().copied().chain(times.windows(2).map(|w| 0.5 * (w[0] + w[1])))
}

/// A transform that does not move.
fn still(m: &DMat4, units: &Units, root: bool) -> Moving {
    let rest = match decompose(*m) {
        Some(c) => Local::Channels(units.channels(&c, root)),
        None => Local::Matrix(DMat4::from(units.affine(&DAffine3::from_mat4(*m), root))),
    };
    Moving { rest, curves: Vec::new() }
}

/// Translation, orientation and scale in this order, each at most once and not inverted: key by key.
fn plain(ops: &[Op], units: &Units, root: bool) -> Result<Option<Moving>, CurveError> {
    let rank = |op: &Op| match op.kind {
        Kind::Translate => Some(0),
        Kind::Orient => Some(1),
        Kind::Scale => Some(2),
        _ => None,
    };
    let ranks: Vec<Option<i32>> = ops.iter().map(rank).collect();
    if ops.iter().any(|o| o.inverted) || ranks.contains(&None) || ranks.windows(2).any(|w| w[0] >= w[1]) {
        return Ok(None);
    }
    if !ops.iter().any(|o| o.samples.moves()) {
        return Ok(None);
    }
    let mut rest = Channels::default();
    let mut curves = Vec::new();
    for op in ops {
        let first = op.kind.matrix(&op.samples.values[0]);
        match op.kind {
            Kind::Translate => rest.translation = first.w_axis.truncate(),
            Kind::Scale => rest.scale = DVec3::from_slice(&op.samples.values[0]),
            _ => rest.rotation = DQuat::from_mat4(&first).normalize(),
        }
        if !op.samples.moves() {
            continue;
        }
        let times: Vec<f64> = op.samples.times.iter().map(|t| units.seconds(*t)).collect();
        let all = |one: &dyn Fn(&[f64]) -> Vec<f64>| op.samples.values.iter().flat_map(|v| one(v)).collect();
        let (property, kind, values): (Property, CurveKind, Vec<f64>) = match op.kind {
            Kind::Translate => (
                Property::Translation,
                CurveKind::Vector,
                all(&|v| {
                    let c = Channels { translation: DVec3::from_slice(v), ..Channels::default() };
                    units.channels(&c, root).translation.to_array().to_vec()
                }),
            ),
            Kind::Scale => (Property::Scale, CurveKind::Vector, all(&<[f64]>::to_vec)),
            _ => (
                Property::Rotation,
                CurveKind::Rotation,
                all(&|v| {
                    let turn = if root { units.turn() } else { DQuat::IDENTITY };
                    (turn * rotation_of(DQuat::from_slice(v))).to_array().to_vec()
                }),
            ),
        };
        curves
            .push((property, Curve::new(kind, values.len() / times.len(), times, values, Segments::Linear)?));
    }
    Ok(Some(Moving { rest: Local::Channels(units.channels(&rest, root)), curves }))
}

/// Channels of a product at a time code; the nearest ones where it is sheared.
fn channels(ops: &[Op], time: f64) -> Channels {
    let m = product(ops, time);
    decompose(m).unwrap_or_else(|| {
        let a = DAffine3::from_mat4(m);
        let rotation = rotation::of_linear(a.matrix3).unwrap_or(DQuat::IDENTITY);
        let axes = a.matrix3;
        let scale = DVec3::new(axes.x_axis.length(), axes.y_axis.length(), axes.z_axis.length());
        Channels { translation: a.translation, rotation, scale }
    })
}

/// Ten numbers: translation, rotation, scale.
type Ten = [f64; 10];

fn ten(c: &Channels) -> Ten {
    let mut out = [0.0; 10];
    c.translation.write_to_slice(&mut out[..3]);
    c.rotation.write_to_slice(&mut out[3..7]);
    c.scale.write_to_slice(&mut out[7..]);
    out
}

/// A key of a sampled product: its value, and its slopes on both sides, per time code.
struct Key {
    time: f64,
    value: Ten,
    arriving: Ten,
    leaving: Ten,
}

/// Samples a product with as many keys as it takes.
fn sampled(ops: &[Op], units: &Units, root: bool) -> Result<Moving, CurveError> {
    let value = |t: f64, near: &Ten| {
        let mut v = ten(&units.channels(&channels(ops, t), root));
        // The same rotation has two quaternions: the one that continues.
        if v[3..7].iter().zip(&near[3..7]).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
            v[3..7].iter_mut().for_each(|c| *c = -*c);
        }
        v
    };
    let times = times(ops);
    let Some(&start) = times.first() else {
        return Ok(still(&product(ops, 0.0), units, root));
    };
    let first = value(start, &[1.0; 10]);
    let mut keys = vec![Key { time: start, value: first, arriving: [0.0; 10], leaving: [0.0; 10] }];
    for pair in times.windows(2) {
        segment(&value, &mut keys, pair[1], 0);
    }
    let rest = Local::Channels(units.channels(&channels(ops, start), root));
    let mut curves = Vec::new();
    for (property, kind, part) in [
        (Property::Translation, CurveKind::Vector, 0..3),
        (Property::Rotation, CurveKind::Rotation, 3..7),
        (Property::Scale, CurveKind::Vector, 7..10),
    ] {
        let width = part.len();
        let pick = |of: &dyn Fn(&Key) -> Ten| -> Vec<f64> {
            keys.iter().flat_map(|k| of(k)[part.clone()].to_vec()).collect()
        };
        let values = pick(&|k| k.value);
        let size = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let rests = |v: &[f64]| v.iter().zip(&values[..width]).all(|(a, b)| (a - b).abs() <= 1e-12 * size);
        if values.chunks(width).all(rests) {
            continue;
        }
        let slopes = |of: &dyn Fn(&Key) -> Ten| pick(of).into_iter().map(|s| s * units.rate).collect();
        let seconds = keys.iter().map(|k| units.seconds(k.time)).collect();
        let segments = Segments::Cubic { arriving: slopes(&|k| k.arriving), leaving: slopes(&|k| k.leaving) };
        curves.push((property, Curve::new(kind, width, seconds, values, segments)?));
    }
    Ok(Moving { rest, curves })
}

/// Adds keys from the last one to `end`, halving until the cubic between two is close.
fn segment(value: &dyn Fn(f64, &Ten) -> Ten, keys: &mut Vec<Key>, end: f64, depth: u32) {
    let at = keys.len() - 1;
    let (start, from) = (keys[at].time, keys[at].value);
    let h = end - start;
    let to = value(end, &from);
    // Slopes at the ends, from inside: samples may bend there.
    let e = 1e-4 * h;
    let slope = |t0: f64, step: f64, v0: &Ten| {
        let (v1, v2) = (value(t0 + step, v0), value(t0 + 2.0 * step, v0));
        let mut s = [0.0; 10];
        (0..10).for_each(|i| s[i] = (4.0 * v1[i] - 3.0 * v0[i] - v2[i]) / (2.0 * step));
        s
    };
    let (leaving, arriving) = (slope(start, e, &from), slope(end, -e, &to));
    let close = [0.25, 0.5, 0.75].into_iter().all(|u: f64| {
        let exact = value(start + u * h, &from);
        let (u2, u3) = (u * u, u * u * u);
        let mut fit = [0.0; 10];
        for i in 0..10 {
            fit[i] = (2.0 * u3 - 3.0 * u2 + 1.0) * from[i]
                + (u3 - 2.0 * u2 + u) * h * leaving[i]
                + (3.0 * u2 - 2.0 * u3) * to[i]
                + (u3 - u2) * h * arriving[i];
        }
        let length = fit[3..7].iter().map(|c| c * c).sum::<f64>().sqrt();
        fit[3..7].iter_mut().for_each(|c| *c /= length);
        let size = exact[..3].iter().fold(1e-3_f64, |m, v| m.max(v.abs()));
        (0..10).all(|i| (fit[i] - exact[i]).abs() <= CLOSE * if i < 3 { size } else { 1.0 })
    });
    if !close && depth < DEEPEST {
        let middle = start + 0.5 * h;
        segment(value, keys, middle, depth + 1);
        segment(value, keys, end, depth + 1);
        return;
    }
    keys[at].leaving = leaving;
    keys.push(Key { time: end, value: to, arriving, leaving: [0.0; 10] });
}

/// Curves of a node from its channels at given times (s): for skeletons, which have no operations. Rotations run along
/// the short arc between keys.
pub(super) fn linear(times: &[f64], channels: &[Channels]) -> Result<Moving, CurveError> {
    let rest = Local::Channels(channels.first().copied().unwrap_or_default());
    let mut curves = Vec::new();
    let mut add = |property, kind, width: usize, mut values: Vec<f64>| -> Result<(), CurveError> {
        let moves = values.chunks(width).any(|v| v != &values[..width]);
        if times.len() > 1 && moves {
            if kind == CurveKind::Rotation {
                make_continuous(&mut values);
            }
            curves.push((property, Curve::new(kind, width, times.to_vec(), values, Segments::Linear)?));
        }
        Ok(())
    };
    let of = |f: &dyn Fn(&Channels) -> Vec<f64>| channels.iter().flat_map(f).collect::<Vec<f64>>();
    add(Property::Translation, CurveKind::Vector, 3, of(&|c| c.translation.to_array().to_vec()))?;
    add(Property::Rotation, CurveKind::Rotation, 4, of(&|c| c.rotation.to_array().to_vec()))?;
    add(Property::Scale, CurveKind::Vector, 3, of(&|c| c.scale.to_array().to_vec()))?;
    Ok(Moving { rest, curves })
}
