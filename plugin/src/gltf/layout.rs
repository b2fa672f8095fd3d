//! Arranging a document's buffers for a container: all in the BIN chunk, or each in its own home.
//!
//! Only `buffers` and the `bufferViews` that refer to them change. A GLB document stays as it is but for the
//! bytes added; a `.gltf` document that becomes GLB has its buffers laid end to end into the BIN chunk.

use super::buffer::{Buffer, Home, MESHOPT};
use super::resource;
use super::{Container, Document, glb};
use crate::error::Error;
use serde_json::{Value, json};
impl Document {
    /// The document as one GLB file. Images that are files of their own stay so.
    pub fn to_glb(&self) -> Result<Vec<u8>, Error> {
        self.glb().map(|(bytes, _)| bytes).map_err(|e| e.in_file(&self.file))
    }

    /// The GLB file, and which buffers went into it.
    pub(super) fn glb(&self) -> Result<(Vec<u8>, Vec<bool>), Error> {
        let merged: Vec<bool> = (0..self.buffers.len()).map(|i| self.goes_into_bin(i)).collect();
        let (json, bin) = self.merge(&merged)?;
        let chunks = match &self.container {
            Container::Glb { chunks, .. } => &chunks[..],
            Container::Gltf => &[],
        };
        let text = serde_json::to_vec(&json)
            .map_err(|e| Error::input(format!("the JSON cannot be written: {e}")))?;
        Ok((glb::join(&text, bin.as_deref(), chunks)?, merged))
    }

    /// Whether a buffer belongs into the BIN chunk. One with extras or extensions of its own would lose them
    /// there, unless it comes first; it keeps its home.
    fn goes_into_bin(&self, index: usize) -> bool {
        match self.buffers[index].home {
            Home::Bin | Home::New | Home::Grown => true,
            Home::Absent => false,
            Home::Inline | Home::File(_) if self.container.is_glb() => false,
            Home::Inline | Home::File(_) => index == 0 || !has_own_remarks(&self.json["buffers"][index]),
        }
    }

    /// The JSON with the marked buffers made one, the first, and its bytes.
    fn merge(&self, merged: &[bool]) -> Result<(Value, Option<Vec<u8>>), Error> {
        let mut json = self.json.clone();
        let mut bin: Option<Vec<u8>> = match &self.container {
            Container::Glb { loose, .. } => loose.clone(),
            Container::Gltf => None,
        };
        let Some(first) = merged.iter().position(|&m| m) else { return Ok((json, bin)) };
        let alone = merged.iter().filter(|&&m| m).count() == 1 && bin.is_none();
        let data = bin.get_or_insert_default();
        // Where each buffer goes: its new index, and how far its bytes move.
        let mut moves = Vec::with_capacity(merged.len());
        let mut entries = vec![combined(&json["buffers"][first], alone)];
        for (i, Buffer { home, bytes, length }) in self.buffers.iter().enumerate() {
            if merged[i] {
                let offset = data.len().next_multiple_of(4);
                data.resize(offset, 0);
                // Bytes of a BIN chunk behind the stated length are kept too.
                let all = matches!(home, Home::Bin);
                data.extend_from_slice(if all { &bytes[..] } else { &bytes[..*length] });
                moves.push((0, offset));
            } else {
                moves.push((entries.len(), 0));
                entries.push(json["buffers"][i].clone());
            }
        }
        if !alone {
            entries[0]["byteLength"] = json!(data.len());
        }
        json["buffers"] = Value::Array(entries);
        if moves.iter().enumerate().any(|(old, &(new, by))| (old, 0) != (new, by)) {
            rebase(&mut json, &moves)?;
        }
        Ok((json, bin))
    }

    /// The JSON for a `.gltf` file. Data that is ours (added clips, or what was a BIN chunk) goes into the file
    /// that `put` makes and names, or into the JSON when the document is all in one file as it is.
    pub(super) fn gltf(&self, put: impl FnOnce(&[u8]) -> Result<String, Error>) -> Result<Value, Error> {
        let mut json = self.json.clone();
        // There is at most one: what is added grows the one that is there.
        let own = |b: &Buffer| matches!(b.home, Home::Bin | Home::New | Home::Grown);
        let Some(index) = self.buffers.iter().position(own) else { return Ok(json) };
        let bytes = &self.buffers[index].bytes;
        let in_files = |b: &Buffer| matches!(b.home, Home::File(_) | Home::Grown);
        if !self.container.is_glb() && !self.buffers.iter().any(in_files) {
            json["buffers"][index]["uri"] = json!(resource::data_uri(bytes));
            return Ok(json);
        }
        json["buffers"][index]["uri"] = json!(resource::name_uri(&put(bytes)?));
        Ok(json)
    }
}

/// Extras, or extensions other than the mark of a fallback, which means nothing once the bytes are elsewhere.
fn has_own_remarks(buffer: &Value) -> bool {
    let foreign = |name: &String| !MESHOPT.contains(&name.as_str());
    let extensions = buffer.get("extensions").and_then(Value::as_object);
    buffer.get("extras").is_some() || extensions.is_some_and(|e| e.keys().any(foreign))
}

/// The entry of the BIN buffer, made from that of the first buffer in it.
fn combined(first: &Value, alone: bool) -> Value {
    let mut entry = first.clone();
    let Some(object) = entry.as_object_mut() else { return entry };
    object.shift_remove("uri");
    if !alone && let Some(extensions) = object.get_mut("extensions").and_then(Value::as_object_mut) {
        MESHOPT.iter().for_each(|name| {
            extensions.shift_remove(*name);
        });
        if extensions.is_empty() {
            object.shift_remove("extensions");
        }
    }
    entry
}

/// Moves every reference to a buffer: those of views, and those of the compression extensions inside them.
fn rebase(json: &mut Value, moves: &[(usize, usize)]) -> Result<(), Error> {
    let views = json.get_mut("bufferViews").and_then(Value::as_array_mut);
    for (i, view) in views.into_iter().flatten().enumerate() {
        let fault = || {
            Error::input(format!("bufferView {i}: its buffer or offset cannot be moved into the BIN chunk"))
        };
        shift(view, moves).ok_or_else(fault)?;
        let extensions = view.get_mut("extensions").and_then(Value::as_object_mut);
        for extension in extensions.into_iter().flat_map(|e| e.values_mut()) {
            if extension.get("buffer").is_some() {
                shift(extension, moves).ok_or_else(fault)?;
            }
        }
    }
    Ok(())
}

fn shift(reference: &mut Value, moves: &[(usize, usize)]) -> Option<()> {
    // Whole numbers may be written `3.0`.
    let size = |value: &Value| value.as_u64().or_else(|| value.as_f64().map(|v| v as u64));
    let old = usize::try_from(size(reference.get("buffer")?)?).ok()?;
    let &(index, by) = moves.get(old)?;
    if index != old {
        reference["buffer"] = json!(index);
    }
    if by > 0 {
        let offset = match reference.get("byteOffset") {
            Some(value) => size(value)?,
            None => 0,
        };
        reference["byteOffset"] = json!(offset.checked_add(by as u64)?);
    }
    Some(())
}
