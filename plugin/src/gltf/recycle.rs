//! Room that a replaced clip leaves behind: numbers that nothing else refers to go, and their accessors and bufferView are used
//! again. So a clip can be replaced time and again, and the file does not grow.
//!
//! Indices of what stays are never changed, since extensions that nobody here knows may name them; and whatever number such an
//! extension holds counts as an index that is in use.

use super::Document;
use super::buffer::{Buffer, Home};
use super::clip::array;
use crate::error::Error;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Entries that are free to be written anew.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub accessors: Vec<usize>,
    pub view: Option<usize>,
}

impl Document {
    /// Takes away what only clip `at` refers to; `kept` are samplers that go on.
    pub(super) fn make_room(&mut self, at: usize, kept: &[Value]) -> Result<Room, Error> {
        let Some(own) = self.growing() else { return Ok(Room::default()) };
        let used = self.accessors_used(at, kept);
        let old = samplers(&self.json["animations"][at]);
        let free: BTreeSet<usize> = accessors_of(old).filter(|a| !used.contains(a)).collect();
        let mut loose = self.views_only_of(&free, own);
        let mut stripped = BTreeSet::new();
        // From the end, entries go altogether.
        let accessors = array(&mut self.json, "accessors")?;
        while accessors.len().checked_sub(1).is_some_and(|last| free.contains(&last)) {
            accessors.pop();
        }
        let count = accessors.len();
        while let Some(last) = self.views().len().checked_sub(1).filter(|v| loose.contains(v)) {
            self.cut(own, last)?;
            array(&mut self.json, "bufferViews")?.pop();
            loose.remove(&last);
            stripped.insert(last);
        }
        let view = loose.first().copied();
        if let Some(view) = view {
            self.cut(own, view)?;
            stripped.insert(view);
        }
        let accessors = array(&mut self.json, "accessors")?;
        let mut room = Room { accessors: Vec::new(), view };
        for i in free.into_iter().filter(|i| *i < count) {
            if index(&accessors[i], "bufferView").is_some_and(|v| stripped.contains(&v)) {
                accessors[i] = json!({ "componentType": 5126, "count": 1, "type": "SCALAR" });
                room.accessors.push(i);
            }
        }
        Ok(room)
    }

    /// The buffer that is ours to grow: a BIN chunk, one that was made here, or a file that an earlier bake named by what it
    /// holds, whose place another file then takes.
    pub(super) fn growing(&mut self) -> Option<usize> {
        let ours = |b: &Buffer| matches!(b.home, Home::Bin | Home::New | Home::Grown);
        if let Some(index) = self.buffers.iter().position(ours) {
            return Some(index);
        }
        let named = |b: &Buffer| match &b.home {
            Home::File(file) => {
                let name = file.relative.to_str().unwrap_or_default();
                b.length == b.bytes.len() && crate::files::is_named_by_content(name, &b.bytes)
            }
            _ => false,
        };
        let index = self.buffers.iter().position(named)?;
        self.buffers[index].home = Home::Grown;
        Some(index)
    }

    fn views(&self) -> &[Value] {
        list(&self.json, "bufferViews")
    }

    /// Accessors that something besides clip `at` refers to, or may.
    fn accessors_used(&self, at: usize, kept: &[Value]) -> BTreeSet<usize> {
        let json = &self.json;
        let mut used: BTreeSet<usize> = accessors_of(kept).collect();
        let others = list(json, "animations").iter().enumerate().filter(|(i, _)| *i != at);
        used.extend(others.flat_map(|(_, a)| accessors_of(samplers(a))));
        for primitive in list(json, "meshes").iter().flat_map(|m| list(m, "primitives")) {
            for key in ["attributes", "indices", "targets"] {
                primitive.get(key).iter().for_each(|v| numbers(v, &mut used));
            }
        }
        used.extend(list(json, "skins").iter().filter_map(|s| index(s, "inverseBindMatrices")));
        extended(json, &mut used);
        used
    }

    /// Views into buffer `own` that only these accessors look through, and whose bytes are in no other view.
    fn views_only_of(&self, free: &BTreeSet<usize>, own: usize) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        let mut found = BTreeSet::new();
        for (i, accessor) in list(&self.json, "accessors").iter().enumerate() {
            let sparse = accessor.get("sparse");
            let parts = sparse.iter().flat_map(|s| [s.get("indices"), s.get("values")]).flatten();
            used.extend(parts.filter_map(|p| index(p, "bufferView")));
            match free.contains(&i) {
                true => found.extend(index(accessor, "bufferView")),
                false => used.extend(index(accessor, "bufferView")),
            }
        }
        used.extend(list(&self.json, "images").iter().filter_map(|i| index(i, "bufferView")));
        extended(&self.json, &mut used);
        let views = self.views();
        let reach = |v: usize| reach(views.get(v)?, own);
        let alone = |v: &usize| {
            let Some(range) = reach(*v).filter(|r| r.start % 4 == 0) else { return false };
            let end = range.end.next_multiple_of(4);
            let others = (0..views.len()).filter(|o| o != v);
            let ranges = others.flat_map(|o| reach(o).into_iter().chain(compressed(&views[o], own)));
            range.end <= self.buffers[own].bytes.len()
                && views[*v].get("extensions").is_none()
                && ranges.into_iter().all(|r| r.end <= range.start || r.start >= end)
        };
        found.into_iter().filter(|v| !used.contains(v)).filter(alone).collect()
    }

    /// Takes a view's bytes out of the buffer that is ours, and moves what comes after them.
    fn cut(&mut self, own: usize, view: usize) -> Result<(), Error> {
        let Some(range) = self.views().get(view).and_then(|v| reach(v, own)) else { return Ok(()) };
        let buffer = &mut self.buffers[own];
        let data = Arc::make_mut(&mut buffer.bytes);
        let end = range.end.next_multiple_of(4).min(data.len());
        data.drain(range.start..end);
        buffer.length = data.len();
        let (gone, length) = (end - range.start, buffer.length);
        array(&mut self.json, "buffers")?[own]["byteLength"] = json!(length);
        for other in array(&mut self.json, "bufferViews")?.iter_mut() {
            let inner = other.get_mut("extensions").and_then(Value::as_object_mut);
            inner.into_iter().flat_map(|e| e.values_mut()).for_each(|e| pull(e, own, end, gone));
            pull(other, own, end, gone);
        }
        Ok(())
    }
}

/// Moves a reference to bytes from `end` on of buffer `own` forward.
fn pull(reference: &mut Value, own: usize, end: usize, gone: usize) {
    if index(reference, "buffer") == Some(own)
        && let Some(offset) = index(reference, "byteOffset").filter(|o| *o >= end)
    {
        reference["byteOffset"] = json!(offset - gone);
    }
}

/// The bytes of buffer `own` that a view shows.
fn reach(view: &Value, own: usize) -> Option<Range<usize>> {
    let start = index(view, "byteOffset").unwrap_or(0);
    let length = index(view, "byteLength").filter(|_| index(view, "buffer") == Some(own))?;
    Some(start..start.checked_add(length)?)
}

/// The bytes of buffer `own` that a view's extensions read.
fn compressed(view: &Value, own: usize) -> Vec<Range<usize>> {
    let extensions = view.get("extensions").and_then(Value::as_object);
    extensions.into_iter().flat_map(|e| e.values()).filter_map(|e| reach(e, own)).collect()
}

fn samplers(animation: &Value) -> &[Value] {
    list(animation, "samplers")
}

fn accessors_of(samplers: &[Value]) -> impl Iterator<Item = usize> + '_ {
    samplers.iter().flat_map(|s| [index(s, "input"), index(s, "output")]).flatten()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A whole number; it may be written `3.0`.
fn index(value: &Value, key: &str) -> Option<usize> {
    whole(value.get(key)?)
}

fn whole(value: &Value) -> Option<usize> {
    let float = || value.as_f64().filter(|v| *v >= 0.0 && v.fract() == 0.0).map(|v| v as u64);
    usize::try_from(value.as_u64().or_else(float)?).ok()
}

/// Every whole number in a value.
fn numbers(value: &Value, out: &mut BTreeSet<usize>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| numbers(v, out)),
        Value::Object(map) => map.values().for_each(|v| numbers(v, out)),
        number => out.extend(whole(number)),
    }
}

/// Every whole number below `extensions` or `extras`.
fn extended(value: &Value, out: &mut BTreeSet<usize>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| extended(v, out)),
        Value::Object(map) => map.iter().for_each(|(key, v)| match key.as_str() {
            "extensions" | "extras" => numbers(v, out),
            _ => extended(v, out),
        }),
        _ => {}
    }
}
