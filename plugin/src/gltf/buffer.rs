//! The buffers of a document: where each one's bytes live, and the bytes.
//!
//! A file named by several buffers is read once, so that memory stays in proportion to what is on disk.

use super::entry::Entry;
use super::resource::{self, Folders, Resource};
use crate::error::Error;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The two names under which meshopt compression goes; the older one is still what most files say.
pub(super) const MESHOPT: [&str; 2] = ["KHR_meshopt_compression", "EXT_meshopt_compression"];

/// One buffer of the document, in the order of its `buffers`.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub home: Home,
    /// At least `length` bytes, or none when the document has none.
    pub bytes: Arc<Vec<u8>>,
    /// `byteLength` as the document says.
    pub length: usize,
}

/// Where a buffer's bytes live.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// The BIN chunk of a GLB file.
    Bin,
    /// A data URI.
    Inline,
    /// A file beside the scene.
    File(Resource),
    /// Nowhere: only what is compressed elsewhere would fill it.
    Absent,
    /// Made by us for added clips; it gets a home when the document is saved.
    New,
    /// The same, read from a file that an earlier bake named by what it holds: it gets a file again.
    Grown,
}

impl Buffer {
    /// Whether there are bytes to read.
    pub fn has_bytes(&self) -> bool {
        !matches!(self.home, Home::Absent)
    }
}

/// Loads every buffer. `bin` is a GLB's BIN chunk; the second result is that chunk when no buffer claims it.
pub(super) fn load(
    root: &Entry<'_>,
    bin: Option<&[u8]>,
    folders: Option<&Folders>,
) -> Result<(Vec<Buffer>, Option<Vec<u8>>), Error> {
    let mut loose = bin;
    let mut files: HashMap<PathBuf, Arc<Vec<u8>>> = HashMap::new();
    let mut buffers = Vec::new();
    for (i, entry) in root.list("buffers", "buffer")?.iter().enumerate() {
        let stated = entry.need_size("byteLength")?;
        let found = match entry.text("uri")? {
            Some(uri) => from_uri(uri, folders, &mut files),
            None => match loose.filter(|_| i == 0) {
                Some(chunk) => {
                    loose = None;
                    Ok((Home::Bin, Arc::new(chunk.to_vec())))
                }
                None => Ok((Home::Absent, Arc::default())),
            },
        };
        let (home, bytes) = match found {
            Err(_) if is_fallback(entry) => (Home::Absent, Arc::default()),
            other => other.map_err(|e| e.at(&entry.place()))?,
        };
        let absent = matches!(home, Home::Absent);
        let length =
            usize::try_from(stated).ok().filter(|&n| absent || n <= bytes.len()).ok_or_else(|| {
                entry.fault(format!(
                    "`byteLength` states {stated} bytes, but only {} are there; the data was cut short",
                    bytes.len()
                ))
            })?;
        buffers.push(Buffer { home, bytes, length });
    }
    Ok((buffers, loose.map(<[u8]>::to_vec)))
}

fn from_uri(
    uri: &str,
    folders: Option<&Folders>,
    files: &mut HashMap<PathBuf, Arc<Vec<u8>>>,
) -> Result<(Home, Arc<Vec<u8>>), Error> {
    if resource::is_data(uri) {
        return Ok((Home::Inline, Arc::new(resource::data_bytes(uri)?)));
    }
    let Some(folders) = folders else {
        return Err(Error::input(
            "the data is in another file, and the scene came without a folder; give one",
        ));
    };
    let found = folders.resolve(uri)?;
    let bytes = match files.get(&found.source) {
        Some(bytes) => bytes.clone(),
        None => {
            let bytes = Arc::new(found.read()?);
            files.insert(found.source.clone(), bytes.clone());
            bytes
        }
    };
    Ok((Home::File(found), bytes))
}

/// Whether the buffer only stands in for compressed data; such a one need not exist.
fn is_fallback(buffer: &Entry<'_>) -> bool {
    let extensions = buffer.object("extensions").ok().flatten();
    let marked = |name: &&str| {
        let meshopt = extensions.as_ref().and_then(|e| e.object(name).ok().flatten());
        meshopt.is_some_and(|m| m.flag("fallback").unwrap_or(false))
    };
    MESHOPT.iter().any(marked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_named_by_many_buffers_is_in_memory_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.bin"), [1, 2, 3]).unwrap();
        let uris = ["a.bin", "./a.bin", "%61.bin"];
        let json = json!({ "buffers": uris.map(|uri| json!({ "uri": uri, "byteLength": 3 })) });
        let folders = Folders::new(folder.path(), None).unwrap();
        let (buffers, _) = load(&Entry::root(&json).unwrap(), None, Some(&folders)).unwrap();
        assert!(buffers.iter().all(|b| Arc::ptr_eq(&b.bytes, &buffers[0].bytes)));
    }
}
