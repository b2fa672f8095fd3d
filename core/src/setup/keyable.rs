//! A number that may change over the shot: written as `0.5`, or as keys in seconds.

use crate::curve::{Curve, CurveError, Kind, Segments};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A constant, or keys over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Keyable {
    /// The same value throughout.
    Constant(f64),
    /// Values over time.
    Keys(Keys),
}

/// `(time in seconds, value)` pairs in order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// `[time in seconds, value]` pairs, times increasing.
    pub keys: Vec<[f64; 2]>,
    /// What lies between the keys.
    #[serde(default)]
    pub between: Between,
}

/// What lies between the keys of a set-up parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Straight lines.
    #[default]
    Linear,
    /// Each key holds until the next.
    Step,
}

impl From<f64> for Keyable {
    fn from(value: f64) -> Self {
        Keyable::Constant(value)
    }
}

impl Keyable {
    /// The constant, or the value of the first key.
    pub fn first(&self) -> f64 {
        match self {
            Keyable::Constant(v) => *v,
            Keyable::Keys(k) => k.keys.first().map_or(0.0, |k| k[1]),
        }
    }

    /// Every value multiplied by a factor.
    pub fn times(self, factor: f64) -> Keyable {
        match self {
            Keyable::Constant(v) => Keyable::Constant(v * factor),
            Keyable::Keys(mut k) => {
                k.keys.iter_mut().for_each(|key| key[1] *= factor);
                Keyable::Keys(k)
            }
        }
    }

    /// Every value as a function has it.
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Keyable {
        match self {
            Keyable::Constant(v) => Keyable::Constant(of(*v)),
            Keyable::Keys(k) => {
                let keys = k.keys.iter().map(|[time, value]| [*time, of(*value)]).collect();
                Keyable::Keys(Keys { keys, between: k.between })
            }
        }
    }

    /// Every value written in it.
    pub fn values(&self) -> Vec<f64> {
        match self {
            Keyable::Constant(v) => vec![*v],
            Keyable::Keys(k) => k.keys.iter().map(|k| k[1]).collect(),
        }
    }

    /// The keys as a curve; `None` for a constant.
    pub fn curve(&self) -> Result<Option<Curve>, CurveError> {
        let Keyable::Keys(k) = self else { return Ok(None) };
        let segments = match k.between {
            Between::Linear => Segments::Linear,
            Between::Step => Segments::Step,
        };
        let times = k.keys.iter().map(|k| k[0]).collect();
        let values = k.keys.iter().map(|k| k[1]).collect();
        Curve::new(Kind::Vector, 1, times, values, segments).map(Some)
    }
}

impl Serialize for Keyable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Keyable::Constant(v) => serializer.serialize_f64(*v),
            Keyable::Keys(k) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("keys", &k.keys)?;
                map.serialize_entry("between", &k.between)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Keyable {
    /// By hand, because an untagged enum would answer a typing slip with "did not match any variant".
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Keyable;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number, or {\"keys\": [[seconds, value], ...]}")
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Keyable, E> {
                Ok(Keyable::Constant(v))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Keyable, E> {
                Ok(Keyable::Constant(v as f64))
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Keyable, E> {
                Ok(Keyable::Constant(v as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keyable, A::Error> {
                Keys::deserialize(de::value::MapAccessDeserializer::new(map)).map(Keyable::Keys)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Keyable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Keyable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = generator.subschema_for::<Keys>();
        json_schema!({
            "description": "A number, or keys over time.",
            "anyOf": [{ "type": "number" }, keys]
        })
    }
}
