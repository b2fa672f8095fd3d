//! Numbers and words out of USD's many types of values, and attributes as samples over time.

use super::stage::said;
use crate::error::Error;
use openusd::gf;
use openusd::sdf::{self, Value};
use openusd::usd::{Attribute, Prim, TimeCode};
use std::ops::Range;

/// The numbers of a value, scalars and arrays alike, in the order that the file has them, but for quaternions, which
/// become x, y, z, w. `None` for what is no number.
pub(super) fn numbers(value: &Value) -> Option<Vec<f64>> {
    let half = |h: &gf::f16| f64::from(h.to_f32());
    macro_rules! each {
        ($items:expr, |$v:ident| [$($part:expr),+]) => {
            $items.iter().flat_map(|$v| [$($part),+]).collect()
        };
    }
    Some(match value {
        Value::Bool(v) => vec![f64::from(u8::from(*v))],
        Value::BoolVec(v) => v.iter().map(|b| f64::from(u8::from(*b))).collect(),
        Value::Uchar(v) => vec![f64::from(*v)],
        Value::Int(v) => vec![f64::from(*v)],
        Value::IntVec(v) => v.iter().map(|n| f64::from(*n)).collect(),
        Value::Uint(v) => vec![f64::from(*v)],
        Value::UintVec(v) => v.iter().map(|n| f64::from(*n)).collect(),
        Value::Int64(v) => vec![*v as f64],
        Value::Uint64(v) => vec![*v as f64],
        Value::Half(v) => vec![half(v)],
        Value::HalfVec(v) => v.iter().map(half).collect(),
        Value::Float(v) => vec![f64::from(*v)],
        Value::FloatVec(v) => v.iter().map(|n| f64::from(*n)).collect(),
        Value::Double(v) => vec![*v],
        Value::DoubleVec(v) => v.clone(),
        Value::Vec2h(v) => vec![half(&v.x), half(&v.y)],
        Value::Vec2f(v) => vec![f64::from(v.x), f64::from(v.y)],
        Value::Vec2d(v) => vec![v.x, v.y],
        Value::Vec3h(v) => vec![half(&v.x), half(&v.y), half(&v.z)],
        Value::Vec3f(v) => vec![f64::from(v.x), f64::from(v.y), f64::from(v.z)],
        Value::Vec3d(v) => vec![v.x, v.y, v.z],
        Value::Vec3hVec(v) => each!(v, |p| [half(&p.x), half(&p.y), half(&p.z)]),
        Value::Vec3fVec(v) => each!(v, |p| [f64::from(p.x), f64::from(p.y), f64::from(p.z)]),
        Value::Vec3dVec(v) => each!(v, |p| [p.x, p.y, p.z]),
        Value::Quath(q) => vec![half(&q.x), half(&q.y), half(&q.z), half(&q.w)],
        Value::Quatf(q) => vec![f64::from(q.x), f64::from(q.y), f64::from(q.z), f64::from(q.w)],
        Value::Quatd(q) => vec![q.x, q.y, q.z, q.w],
        Value::QuathVec(v) => each!(v, |q| [half(&q.x), half(&q.y), half(&q.z), half(&q.w)]),
        Value::QuatfVec(v) => each!(v, |q| [f64::from(q.x), f64::from(q.y), f64::from(q.z), f64::from(q.w)]),
        Value::QuatdVec(v) => each!(v, |q| [q.x, q.y, q.z, q.w]),
        Value::Matrix4d(m) => m.0.to_vec(),
        Value::Matrix4dVec(v) => v.iter().flat_map(|m| m.0).collect(),
        Value::TimeCode(t) => vec![t.0],
        _ => return None,
    })
}

/// The word of a token or string.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Token(t) => Some(t.as_str().to_owned()),
        Value::String(s) => Some(s.clone()),
        _ => None,
    }
}

/// The words of an array of tokens or strings.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::TokenVec(v) => Some(v.iter().map(|t| t.as_str().to_owned()).collect()),
        Value::StringVec(v) => Some(v.clone()),
        _ => None,
    }
}

/// An attribute's values over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// Time codes, increasing; one, of no meaning, where it does not change.
    pub times: Vec<f64>,
    /// The numbers at each of them.
    pub values: Vec<Vec<f64>>,
}

/// More numbers than this in the samples of one attribute are no animation.
const MOST_NUMBERS: usize = 100_000_000;

impl Samples {
    /// Adds a value; a blocked one is none.
    fn add(&mut self, attribute: &Attribute, time: f64, value: &Value) -> Result<(), Error> {
        if matches!(value, Value::ValueBlock | Value::None) {
            return Ok(());
        }
        let fault =
            |what: &str| Err(Error::input(what).at(&format!("{} at time code {time}", place(attribute))));
        let Some(numbers) = numbers(value) else { return fault("its value is not made of numbers") };
        if !time.is_finite() {
            return fault("a sample's time is not a finite number; remove it");
        }
        if numbers.iter().any(|n| !n.is_finite()) {
            return fault("its value is not a finite number; correct or remove it");
        }
        if numbers.len().saturating_mul(self.times.len() + 1) > MOST_NUMBERS {
            return fault("it has more samples than a shot has");
        }
        if self.times.last().is_some_and(|last| time <= *last) {
            return fault("a sample does not come after the one before it; sort them");
        }
        self.times.push(time);
        self.values.push(numbers);
        Ok(())
    }

    /// Whether it changes.
    pub fn moves(&self) -> bool {
        self.times.len() > 1
    }

    /// The numbers at a time code: straight between samples (`slerp`: along the short great arc), held before the first
    /// and after the last, and between samples of different lengths.
    pub fn at(&self, time: f64, slerp: bool) -> Vec<f64> {
        self.part(0..self.values[0].len(), time, slerp)
    }

    /// One row of an array, of `width` numbers; four are a quaternion.
    pub fn row(&self, row: usize, width: usize, time: f64) -> Vec<f64> {
        self.part(row * width..(row + 1) * width, time, width == 4)
    }

    fn part(&self, range: Range<usize>, time: f64, slerp: bool) -> Vec<f64> {
        let next = self.times.partition_point(|t| *t <= time);
        let before = next.saturating_sub(1);
        let a = &self.values[before][range.clone()];
        let (Some(b), true) = (self.values.get(next), next > 0) else { return a.to_vec() };
        let t = (time - self.times[before]) / (self.times[next] - self.times[before]);
        if t <= 0.0 || self.values[before].len() != b.len() {
            return a.to_vec();
        }
        let b = &b[range];
        if slerp {
            return a.chunks(4).zip(b.chunks(4)).flat_map(|(a, b)| arc(a, b, t)).collect();
        }
        a.iter().zip(b).map(|(a, b)| a + (b - a) * t).collect()
    }
}

/// Between two quaternions, which need not be of unit length.
fn arc(a: &[f64], b: &[f64], t: f64) -> Vec<f64> {
    let read = |q: &[f64]| glam::DQuat::from_slice(q);
    let (a, mut b) = (read(a), read(b));
    if a.length() < 1e-12 || b.length() < 1e-12 {
        return a.to_array().to_vec();
    }
    let (la, lb) = (a.length(), b.length());
    let a = a / la;
    b /= lb;
    if a.dot(b) < 0.0 {
        b = -b;
    }
    ((a.slerp(b, t)) * (la + (lb - la) * t)).to_array().to_vec()
}

/// Where an attribute is, for messages.
pub(super) fn place(attribute: &Attribute) -> String {
    format!("<{}>", attribute.path().as_str())
}

/// Samples of an attribute: those over time, or its default as one; `None` without a value. Fails on values that are
/// not finite, on times out of order, and on splines, which would be lost.
pub(super) fn samples(attribute: &Attribute) -> Result<Option<Samples>, Error> {
    let bad = |e: openusd::Error| Error::input(said(&e)).at(&place(attribute));
    if !attribute.has_authored_value().map_err(bad)? && !has_spline(attribute) {
        return Ok(None);
    }
    let mut found = Samples::default();
    if let Some(map) = attribute.time_samples().map_err(bad)? {
        for (time, value) in &map {
            found.add(attribute, *time, value)?;
        }
    } else {
        // Value clips have times and no map.
        for time in attribute.time_sample_times().map_err(bad)? {
            if let Some(value) = attribute.get_at::<Value>(TimeCode::new(time)).map_err(bad)? {
                found.add(attribute, time, &value)?;
            }
        }
    }
    if found.times.is_empty() {
        if has_spline(attribute) {
            let what = "it is keyed by a spline, which is not read here; bake it to time samples and export again, or have OpenUSD read it (--usd-backend openusd)";
            return Err(Error::input(what).at(&place(attribute)));
        }
        match attribute.get::<Value>().map_err(bad)? {
            Some(value) => found.add(attribute, 0.0, &value)?,
            None => return Ok(None),
        }
    }
    Ok(Some(found).filter(|f| !f.times.is_empty()))
}

/// Whether any layer keys the attribute by a spline.
fn has_spline(attribute: &Attribute) -> bool {
    let Ok(stack) = attribute.property_stack() else { return false };
    stack.iter().any(|site| {
        let layer = attribute.stage().layer(&site.layer);
        layer.is_some_and(|l| {
            l.data().list_fields(&site.path).is_some_and(|f| f.iter().any(|f| f == "spline"))
        })
    })
}

/// The numbers of a prim's attribute, its default or its first sample.
pub(super) fn read(prim: &Prim, name: &str) -> Result<Option<Vec<f64>>, Error> {
    Ok(samples(&prim.attribute(name))?.map(|s| s.values[0].clone()))
}

/// One number.
pub(super) fn scalar(prim: &Prim, name: &str) -> Result<Option<f64>, Error> {
    Ok(read(prim, name)?.and_then(|v| v.first().copied()))
}

/// The value of an attribute that is no number.
pub(super) fn raw(prim: &Prim, name: &str) -> Result<Option<Value>, Error> {
    let attribute = prim.attribute(name);
    attribute.get::<Value>().map_err(|e| Error::input(said(&e)).at(&place(&attribute)))
}

/// A word.
pub(super) fn word(prim: &Prim, name: &str) -> Result<Option<String>, Error> {
    Ok(raw(prim, name)?.as_ref().and_then(text))
}

/// Words.
pub(super) fn words(prim: &Prim, name: &str) -> Result<Option<Vec<String>>, Error> {
    Ok(raw(prim, name)?.as_ref().and_then(texts))
}

/// Whole numbers, each 0 or more and below `end`.
pub(super) fn indices(prim: &Prim, name: &str, end: usize) -> Result<Option<Vec<usize>>, Error> {
    let Some(numbers) = read(prim, name)? else { return Ok(None) };
    let place = format!("<{}.{name}>", prim.path().as_str());
    let index = |v: f64| match v >= 0.0 && v < end as f64 {
        true => Ok(v as usize),
        false => Err(Error::input(format!("{v} is out of range; there are {end}")).at(&place)),
    };
    numbers.into_iter().map(index).collect::<Result<_, _>>().map(Some)
}

/// Targets of a relationship, forwarded; empty without.
pub(super) fn targets(prim: &Prim, name: &str) -> Result<Vec<sdf::Path>, Error> {
    let relationship = prim.relationship(name);
    relationship
        .targets()
        .map_err(|e| Error::input(said(&e)).at(&format!("<{}.{name}>", prim.path().as_str())))
}

/// The numbers of an attribute's default, infinite ones too: physics writes them for "none". Empty without.
pub(super) fn loose(prim: &Prim, name: &str) -> Result<Vec<f64>, Error> {
    Ok(raw(prim, name)?.as_ref().and_then(numbers).unwrap_or_default())
}

/// One number that is finite.
pub(super) fn finite(prim: &Prim, name: &str) -> Result<Option<f64>, Error> {
    Ok(loose(prim, name)?.first().copied().filter(|v| v.is_finite()))
}

/// Whether something holds; `default` where nothing is said.
pub(super) fn holds(prim: &Prim, name: &str, default: bool) -> Result<bool, Error> {
    Ok(loose(prim, name)?.first().map_or(default, |v| *v != 0.0))
}
