//! A motion as splines: few keys that bend, on numbers that can be edited one by one.
//!
//! Splines are for single numbers only, so the prim gets operations of these: translation, rotation and scale by axis. Each is
//! fitted by cubics, but for a scale that stays, which is one operation; a cubic between two keys is a Bezier curve whose tangents are a third of their distance wide.

use super::edits::Edits;
use super::operate::{Frame, angles};
use super::xform::{Op, Stack};
use crate::gltf::decompose;
use openusd::gf;
use openusd::sdf::Value;
use openusd::tf::Token;
use sinew_core::curve::{FitOptions, Kind, Segments, fit_with};
use std::collections::HashMap;

/// How far keys may be from the motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Metres.
    pub place: f64,
    /// Degrees.
    pub degrees: f64,
}

/// The order of angles that the operations make: about x first.
const ORDER: [usize; 3] = [0, 1, 2];

/// What changes by less than this share of its size does not change.
const STILL: f64 = 1e-9;

/// Writes the motion of a prim behind its first `outer` operations, which stay, as splines within a tolerance, its length in
/// the stage's units. What is worth knowing, and how far the splines are off; `None` where the motion is sheared, which angles
/// and scales cannot say.
pub(super) fn write(
    prim: &str,
    stack: &Stack,
    outer: usize,
    frames: &[Frame],
    tolerance: Tolerance,
    edits: &mut Edits,
) -> Option<(String, Tolerance)> {
    let times: Vec<f64> = frames.iter().map(|f| f.0).collect();
    let mut tracks: [Vec<f64>; 9] = Default::default();
    let mut last = vec![0.0; 3];
    for (_, matrix) in frames {
        let channels = decompose(*matrix)?;
        last = angles(ORDER, channels.rotation, last);
        let numbers = channels.translation.to_array().into_iter().chain(last.iter().copied());
        for (track, number) in tracks.iter_mut().zip(numbers.chain(channels.scale.to_array())) {
            track.push(number);
        }
    }
    let mut order: Vec<String> = if stack.resets { vec!["!resetXformStack!".into()] } else { Vec::new() };
    let kept = |o: &Op| format!("{}{}", if o.inverted { "!invert!" } else { "" }, o.name);
    order.extend(stack.ops[..outer].iter().map(kept));
    let suffix = if outer > 0 { ":sinew" } else { "" };
    edits.over(prim);
    let is_still = |track: &[f64]| {
        let size = track.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        track.iter().all(|v| (v - track[0]).abs() <= STILL * (1.0 + size))
    };
    let scales = tracks[6..].iter().all(|t| is_still(t));
    let mut off = [0.0; 9];
    // The first in the list is the outermost: x turns first.
    for (word, axis, share) in [
        ("translateX", 0, tolerance.place / 3.0_f64.sqrt()),
        ("translateY", 1, tolerance.place / 3.0_f64.sqrt()),
        ("translateZ", 2, tolerance.place / 3.0_f64.sqrt()),
        ("rotateZ", 5, tolerance.degrees / 3.0),
        ("rotateY", 4, tolerance.degrees / 3.0),
        ("rotateX", 3, tolerance.degrees / 3.0),
        ("scaleX", 6, STILL),
        ("scaleY", 7, STILL),
        ("scaleZ", 8, STILL),
    ] {
        let track = &tracks[axis];
        if scales && word.starts_with("scale") {
            continue;
        }
        let name = format!("xformOp:{word}{suffix}");
        match knots(&times, track, share).filter(|_| !is_still(track)) {
            Some((spline, error)) => {
                off[axis] = error;
                edits.set_spline(prim, &name, "double", spline);
            }
            None => edits.set(prim, &name, "double", track[0]),
        }
        order.push(name);
    }
    if scales {
        let name = format!("xformOp:scale{suffix}");
        let [x, y, z] = [6, 7, 8].map(|axis| tracks[axis][0]);
        edits.set(prim, &name, "double3", Value::Vec3d(gf::vec3d(x, y, z)));
        order.push(name);
    }
    let tokens: Vec<Token> = order.iter().map(|o| o.as_str().into()).collect();
    edits.set_uniform(prim, "xformOpOrder", "token[]", Value::TokenVec(tokens));
    let place = (off[0] * off[0] + off[1] * off[1] + off[2] * off[2]).sqrt();
    let off = Tolerance { place, degrees: off[3] + off[4] + off[5] };
    Some((format!("<{prim}>: has new operations, one for each number that a spline moves"), off))
}

/// The spline through numbers at times, within a tolerance, as the library has it, and how far it is off.
fn knots(times: &[f64], numbers: &[f64], tolerance: f64) -> Option<(Value, f64)> {
    let options = FitOptions { tolerance, single: false, cyclic: false };
    let fit = fit_with(Kind::Vector, 1, times, numbers, &options).ok()?;
    let curve = fit.curve;
    let Segments::Cubic { arriving, leaving } = curve.segments() else { return None };
    let times = curve.times();
    let knot = |i: usize| {
        let third =
            |to: Option<usize>| to.and_then(|n| times.get(n)).map_or(0.0, |t| (t - times[i]).abs() / 3.0);
        let (before, after) = (third(i.checked_sub(1)), third(Some(i + 1)));
        let slope = |width: f64, slope: f64| if width > 0.0 { slope } else { 0.0 };
        Value::Dictionary(HashMap::from([
            ("time".to_owned(), Value::Double(times[i])),
            ("value".to_owned(), Value::Double(curve.values()[i])),
            // OpenUSD writes the width first and the slope second; the library calls them the other way round.
            ("preTangentSlope".to_owned(), Value::Double(before)),
            ("preTangentWidth".to_owned(), Value::Double(slope(before, arriving[i]))),
            ("postTangentSlope".to_owned(), Value::Double(after)),
            ("postTangentWidth".to_owned(), Value::Double(slope(after, leaving[i]))),
            ("nextInterpolationMode".to_owned(), Value::token("curve")),
        ]))
    };
    let spline = Value::Dictionary(HashMap::from([
        ("curveType".to_owned(), Value::token("bezier")),
        ("knots".to_owned(), Value::ValueVec((0..times.len()).map(knot).collect())),
    ]));
    Some((spline, fit.max_error))
}
