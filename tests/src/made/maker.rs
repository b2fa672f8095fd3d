//! Puts a glTF document with one clip together: four nodes, two of which share a name and a morphing mesh of two
//! parts, one that has no name, and a child of that.

use base64::Engine;
use serde_json::{Value, json};

/// A document in the making.
#[derive(Default)]
pub(super) struct Maker {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

/// Keys as glTF stores them: for cubic ones, in-tangent, value and out-tangent of each.
pub(super) struct Keys {
    times: Vec<f64>,
    values: Vec<f64>,
    interpolation: &'static str,
    number: Number,
}

/// How numbers are stored. Integers stand for fractions of their largest value.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Number {
    F32,
    I8,
    U8,
    I16,
    U16,
}

impl Keys {
    pub fn step(times: &[f64], values: Vec<f64>) -> Keys {
        Keys { times: times.to_vec(), values, interpolation: "STEP", number: Number::F32 }
    }

    pub fn linear(times: &[f64], values: Vec<f64>) -> Keys {
        Keys { interpolation: "LINEAR", ..Keys::step(times, values) }
    }

    pub fn cubic(times: &[f64], values: Vec<f64>) -> Keys {
        Keys { interpolation: "CUBICSPLINE", ..Keys::step(times, values) }
    }

    pub fn stored_as(self, number: Number) -> Keys {
        Keys { number, ..self }
    }
}

impl Number {
    /// The code of `componentType`.
    fn code(self) -> u32 {
        match self {
            Number::F32 => 5126,
            Number::I8 => 5120,
            Number::U8 => 5121,
            Number::I16 => 5122,
            Number::U16 => 5123,
        }
    }

    fn encode(self, value: f64) -> Vec<u8> {
        match self {
            Number::F32 => (value as f32).to_le_bytes().to_vec(),
            Number::I8 => ((value * 127.0).round() as i8).to_le_bytes().to_vec(),
            Number::U8 => ((value * 255.0).round() as u8).to_le_bytes().to_vec(),
            Number::I16 => ((value * 32767.0).round() as i16).to_le_bytes().to_vec(),
            Number::U16 => ((value * 65535.0).round() as u16).to_le_bytes().to_vec(),
        }
    }
}

impl Maker {
    /// Animates a property of a node.
    pub fn channel(&mut self, node: usize, path: &str, keys: Keys) {
        let kind = match path {
            "rotation" => "VEC4",
            "weights" => "SCALAR",
            _ => "VEC3",
        };
        let input = self.accessor("SCALAR", Number::F32, &keys.times);
        let output = self.accessor(kind, keys.number, &keys.values);
        let sampler = self.samplers.len();
        self.samplers.push(json!({"input": input, "output": output, "interpolation": keys.interpolation}));
        self.channels.push(json!({"sampler": sampler, "target": {"node": node, "path": path}}));
    }

    /// The whole file.
    pub fn finish(self) -> Value {
        let (mut json, bytes) = self.finish_apart();
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        json["buffers"][0]["uri"] = json!(format!("data:application/octet-stream;base64,{data}"));
        json
    }

    /// JSON, and the bytes of its buffer.
    pub fn finish_apart(mut self) -> (Value, Vec<u8>) {
        let corners = self.accessor("VEC3", Number::F32, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let part = json!({
            "attributes": {"POSITION": corners},
            "targets": [{"POSITION": corners}, {"POSITION": corners}],
        });
        let json = json!({
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0, 1, 2]}],
            "nodes": [{"name": "twin", "mesh": 0}, {"name": "twin", "mesh": 0}, {"children": [3]}, {"name": "child"}],
            "meshes": [{"primitives": [part, part], "weights": [0.0, 0.0]}],
            "animations": [{"name": "made", "samplers": self.samplers, "channels": self.channels}],
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": self.bytes.len()}],
        });
        (json, self.bytes)
    }

    fn accessor(&mut self, kind: &str, number: Number, values: &[f64]) -> usize {
        let start = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(start, 0);
        self.bytes.extend(values.iter().flat_map(|v| number.encode(*v)));
        self.views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start}));
        let width = match kind {
            "SCALAR" => 1,
            "VEC3" => 3,
            _ => 4,
        };
        let mut accessor = json!({
            "bufferView": self.views.len() - 1,
            "componentType": number.code(),
            "type": kind,
            "count": values.len() / width,
        });
        if number == Number::F32 {
            // Required for key times and positions, harmless elsewhere.
            let bound = |pick: fn(f64, f64) -> f64| -> Vec<f64> {
                let stored = |c: usize| values.iter().skip(c).step_by(width).map(|v| f64::from(*v as f32));
                (0..width).filter_map(|c| stored(c).reduce(pick)).collect()
            };
            accessor["min"] = json!(bound(f64::min));
            accessor["max"] = json!(bound(f64::max));
        } else {
            accessor["normalized"] = json!(true);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }
}
