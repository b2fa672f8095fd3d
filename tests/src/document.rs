//! A glTF file as plain JSON and bytes, read without the product's reader: what a test compares must not come
//! from the code under test.

use base64::Engine;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::path::{Path, PathBuf};

const CHUNK_JSON: &[u8] = b"JSON";
const CHUNK_BIN: &[u8] = b"BIN\0";

/// The two halves of a glTF file.
#[derive(Debug)]
pub struct RawDocument {
    /// The JSON as it stands.
    pub json: Value,
    /// The BIN chunk of a .glb, padding included.
    pub chunk: Option<Vec<u8>>,
    path: PathBuf,
}

impl RawDocument {
    /// Reads a .gltf or .glb file.
    pub fn open(path: &Path) -> Result<RawDocument, String> {
        let bytes = read(path)?;
        let (text, chunk) = match bytes.strip_prefix(b"glTF") {
            Some(_) => {
                let chunks = chunks(&bytes).ok_or_else(|| format!("{} is cut short", path.display()))?;
                let of = |kind: &[u8]| chunks.iter().find(|(k, _)| *k == kind).map(|(_, data)| data.to_vec());
                (of(CHUNK_JSON).ok_or_else(|| format!("{} has no JSON", path.display()))?, of(CHUNK_BIN))
            }
            None => (bytes, None),
        };
        let json = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(RawDocument { json, chunk, path: path.to_owned() })
    }

    /// A top-level array of the JSON; empty when it is absent.
    pub fn array(&self, key: &str) -> &[Value] {
        self.json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the file cannot be read without that extension.
    pub fn requires(&self, extension: &str) -> bool {
        self.array("extensionsRequired").iter().any(|name| name == extension)
    }

    /// The bytes of a buffer: its `byteLength` of them. `None` for a buffer that has no data (the placeholder
    /// that compressed files carry).
    pub fn buffer(&self, index: usize) -> Result<Option<Vec<u8>>, String> {
        let entry = self.array("buffers").get(index).ok_or_else(|| format!("there is no buffer {index}"))?;
        let mut bytes = match entry.get("uri").and_then(Value::as_str) {
            Some(uri) => self.resource(uri)?,
            None => match (&self.chunk, index) {
                (Some(chunk), 0) => chunk.clone(),
                _ => return Ok(None),
            },
        };
        let length = entry["byteLength"].as_u64().ok_or("a buffer without byteLength")? as usize;
        if bytes.len() < length {
            return Err(format!("buffer {index} has {} bytes of {length}", bytes.len()));
        }
        bytes.truncate(length);
        Ok(Some(bytes))
    }

    /// The bytes that a URI in this file points to.
    pub fn resource(&self, uri: &str) -> Result<Vec<u8>, String> {
        if let Some((_, data)) = uri.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            return base64::engine::general_purpose::STANDARD.decode(data).map_err(|e| e.to_string());
        }
        let relative = percent_decode_str(uri).decode_utf8().map_err(|e| e.to_string())?;
        read(&self.path.with_file_name("").join(&*relative))
    }
}

/// Whether two JSON values mean the same: the order of keys and the spelling of numbers (1, 1.0) do not matter.
pub fn same_meaning(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_meaning(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_meaning(a, b)))
        }
        _ => a == b,
    }
}

fn chunks(bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut chunks = Vec::new();
    let mut rest = bytes.get(12..)?;
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        chunks.push((rest.get(4..8)?, rest.get(8..8 + length)?));
        rest = &rest[8 + length..];
    }
    Some(chunks)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
