//! glTF 2.0 and GLB, in and out.
//!
//! A [`Document`] keeps the JSON as it is, value for value, with the bytes behind it, and reads a
//! [`Scene`] from them. Baked curves are added as a clip; everything else the file had (materials, images,
//! extras, extensions nobody here knows, other clips) is written back unchanged, and no existing buffer byte is
//! touched. In the order that data flows:
//!
//! `glb` (container) and `resource` (what a URI leads to) give `buffer`s; `entry` looks into the JSON and names
//! what it finds; `accessor` decodes numbers; `transform`, `mesh`, `skin`, `animation` and `read` make the scene; `clip`
//! adds a baked clip, into the room that one it replaces leaves (`recycle`), `morph` the shapes of soft bodies, and `pose` moves nodes; `physics` makes a set-up of what extensions say, and writes one as them; `layout` arranges
//! buffers for the container that is asked for; `save` puts
//! files on disk, whole or not at all.
//!
//! Files come from anywhere. Whatever is wrong with one is an [`Error`] that names the culprit: nothing panics,
//! hangs, reads outside the scene's folder, or allocates out of proportion to the input.

mod accessor;
mod animation;
mod buffer;
mod clip;
mod entry;

mod glb;
mod layout;
mod make;
mod mesh;
mod morph;
pub(crate) mod physics;
mod pose;
mod read;
mod recycle;
mod resource;
mod save;
mod skin;
mod transform;

pub use crate::error::{Error, ErrorKind};
pub use clip::ClipToAdd;
pub use physics::{Dialect as PhysicsDialect, Physics};
pub(crate) use transform::decompose;

use crate::error::quote;
use crate::files::Witness;
use crate::usd::Backend;
use buffer::Buffer;
use entry::Entry;
use resource::{Folders, Resource};
use serde_json::Value;
use sinew_core::scene::Scene;
use std::path::{Path, PathBuf};

/// How to read a file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// A folder that buffers and images may come from besides the scene's own, for libraries of shared files.
    /// Paths in the document stay relative to the scene's folder. Default: none.
    pub asset_root: Option<PathBuf>,
    /// Who composes USD and writes it. Default: Sinew itself.
    pub usd_backend: Backend,
}

/// A glTF document: its JSON, its buffers, and the scene read from them.
#[derive(Clone, Debug)]
pub struct Document {
    /// What messages call the file.
    file: String,
    json: Value,
    buffers: Vec<Buffer>,
    container: Container,
    /// Other files that the document refers to and that exist: images and the like.
    others: Vec<Resource>,
    /// Where the document came from, links resolved, and what was there; `None` for one from memory.
    source: Option<(PathBuf, Witness)>,
    /// What the document's URIs are relative to, links resolved.
    folder: Option<PathBuf>,
    scene: Scene,
    warnings: Vec<String>,
}

/// What the document came in, and what only that container has.
#[derive(Clone, Debug)]
enum Container {
    Gltf,
    Glb {
        /// The BIN chunk when no buffer claims it.
        loose: Option<Vec<u8>>,
        /// Chunks that are neither JSON nor BIN.
        chunks: Vec<(u32, Vec<u8>)>,
    },
}

impl Container {
    /// Whether the document came as GLB.
    fn is_glb(&self) -> bool {
        matches!(self, Container::Glb { .. })
    }
}

impl Document {
    /// Reads a `.gltf` or `.glb` file; its content tells which it is.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Document, Error> {
        let file = path.display().to_string();
        let bytes = resource::read(path)?;
        let source = path.canonicalize().map_err(|e| Error::io(format!("cannot open {file}"), e))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut document = Document::from_bytes(&bytes, &file, Some(folder), options)?;
        document.source = Some((source, Witness::new(&bytes)));
        Ok(document)
    }

    /// Reads a document from memory. `name` is what messages call it and gives the scene its name; `folder` is
    /// where its files are, and without one only data inside the document can be used.
    pub fn from_bytes(
        bytes: &[u8],
        name: &str,
        folder: Option<&Path>,
        options: &ReadOptions,
    ) -> Result<Document, Error> {
        read_document(bytes, name, folder, options).map_err(|e| e.in_file(name))
    }

    /// The scene as read, with the clips added since.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What was not understood or is amiss, and what that means, each naming its object.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The document's JSON, for physics and other extensions that a caller may want to read. Its buffers' sizes
    /// and homes are those in memory, and are settled when the document is saved.
    pub fn json(&self) -> &Value {
        &self.json
    }
}

fn read_document(
    bytes: &[u8],
    name: &str,
    folder: Option<&Path>,
    options: &ReadOptions,
) -> Result<Document, Error> {
    let mut warnings = Vec::new();
    let (text, bin, container) = if glb::is_glb(bytes) {
        let glb = glb::split(bytes)?;
        if glb.trailing > 0 {
            warnings.push(format!(
                "{} bytes after the end of the GLB file belong to nothing and are dropped",
                glb.trailing
            ));
        }
        let chunks = glb.others.iter().map(|(kind, data)| (*kind, data.to_vec())).collect();
        (glb.json, glb.bin, Container::Glb { loose: None, chunks })
    } else {
        (bytes, None, Container::Gltf)
    };
    let json = parse(text)?;
    let root = Entry::root(&json)?;
    let folders = folder.map(|f| Folders::new(f, options.asset_root.as_deref())).transpose()?;
    let (buffers, loose) = buffer::load(&root, bin, folders.as_ref())?;
    let container = match container {
        Container::Glb { chunks, .. } => Container::Glb { loose, chunks },
        Container::Gltf => Container::Gltf,
    };
    let stem = Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let scene = read::scene(&json, text.len(), &stem, &buffers, &mut warnings)?;
    let others = other_files(&root, folders.as_ref(), &mut warnings)?;
    let folder = folders.map(|f| f.scene);
    Ok(Document {
        file: name.to_owned(),
        json,
        buffers,
        container,
        others,
        source: None,
        folder,
        scene,
        warnings,
    })
}

/// The JSON in a text. A byte order mark and padding with zeros are against the specification, but harmless.
fn parse(text: &[u8]) -> Result<Value, Error> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let end = text.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    let text = std::str::from_utf8(&text[..end])
        .map_err(|e| Error::input(format!("byte {} is not UTF-8; is this a glTF file?", e.valid_up_to())))?;
    if text.trim().is_empty() {
        return Err(Error::input("the file is empty"));
    }
    serde_json::from_str(text).map_err(|e| Error::input(format!("the JSON cannot be read: {e}")))
}

/// Files besides buffers that the document refers to: images, and whatever its extensions name by `uri`. They
/// are only copied when the document is saved elsewhere, so one that cannot be had is no more than a warning.
fn other_files(
    root: &Entry<'_>,
    folders: Option<&Folders>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Resource>, Error> {
    let mut uris = Vec::new();
    for key in ["images", "extensions"] {
        if let Some(value) = root.get(key) {
            collect_uris(value, &mut uris);
        }
    }
    uris.sort_unstable();
    uris.dedup();
    let mut found = Vec::new();
    for uri in uris {
        match folders.map(|f| f.resolve(uri)) {
            Some(Ok(file)) => found.push(file),
            Some(Err(why)) => {
                warnings
                    .push(format!("{why}; the reference stays as it is, and the file is not copied along"));
            }
            None => {
                warnings.push(format!("{} is not copied along: the scene came without a folder", quote(uri)))
            }
        }
    }
    Ok(found)
}

/// Every `uri` in `value` that leads to a file. The parser bounds the depth.
fn collect_uris<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_uris(item, out)),
        Value::Object(map) => {
            for (key, item) in map {
                match item {
                    Value::String(uri) if key == "uri" && !resource::is_data(uri) => out.push(uri),
                    _ => collect_uris(item, out),
                }
            }
        }
        _ => {}
    }
}
