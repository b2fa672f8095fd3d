//! Binary file format (`usdc`) implementation.

use std::{borrow::Cow, collections::HashMap, fmt::Debug, fs, io, mem, path::Path, str};

use layout::ValueRep;

mod coding;
mod layout;
mod reader;
mod writer;

pub use layout::{Version, version};
pub use reader::CrateFile;
pub use writer::CrateWriter;

use crate::{ar, sdf, tf};

/// USDC binary format magic bytes (`PXR-USDC`).
pub const MAGIC: &[u8] = b"PXR-USDC";

/// How deep a value may nest inside another (a dictionary in a dictionary, an
/// item of an unregistered list op) in a crate file this library reads or
/// writes. The reader refuses a deeper file: a long but acyclic chain over
/// file-controlled data cannot exhaust the stack, which each level of the
/// decoder takes a few kilobytes of in a release build and tens in a debug
/// build. The writer refuses deeper data: a layer it writes always reads
/// back.
pub const MAX_NESTING: usize = 32;

/// The fewest elements a compressed array holds (C++
/// `MinCompressedArraySize`). The writer stores a shorter integer array
/// uncompressed, and the reader takes a shorter array as stored
/// uncompressed whatever its compressed bit says, as the C++ reader does.
const MIN_COMPRESSED_ARRAY_SIZE: usize = 16;

/// Error reading crate data: [`CrateFile::open`], [`CrateData::open`], and the
/// value decoder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes violate the crate format (bad magic, an out-of-range index, a
    /// truncated or oversized section, invalid value-rep flags, …).
    #[error("corrupt crate data: {reason}")]
    Corrupt {
        /// The violated invariant.
        reason: Box<str>,
    },

    /// The bytes are well-formed but not supported (a newer file version, an
    /// unimplemented encoding).
    #[error("unsupported crate data: {reason}")]
    Unsupported {
        /// What is not supported.
        reason: Box<str>,
    },

    /// A token in the crate is not valid UTF-8.
    #[error("invalid UTF-8 in crate data")]
    Utf8(#[from] str::Utf8Error),

    /// A path decoded from the crate's PATHS section does not form a valid
    /// `sdf` path. Boxed to keep the enum small, like the assertion below
    /// pins: this error rides the innermost per-value decode loops.
    #[error("invalid path in crate data")]
    Path(#[source] Box<sdf::PathParseError>),

    /// An LZ4-compressed block failed to decompress.
    #[error("failed to decompress crate data")]
    Decompress(#[from] lz4_flex::block::DecompressError),

    /// Locates a failure within a named section or decode operation, keeping
    /// the underlying error as the source.
    #[error(transparent)]
    Context(Box<ReadContext>),
}

/// A failure located within a named section or decode operation
/// ([`ReadError::Context`]). Its own boxed type so the enum stays small — the
/// assertion below pins it, since this error rides the innermost per-value
/// decode loops.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {context}")]
pub struct ReadContext {
    /// The section or operation being read.
    context: Cow<'static, str>,
    /// The underlying failure.
    #[source]
    source: ReadError,
}

const _: () = assert!(mem::size_of::<ReadError>() <= 24);

impl From<sdf::PathParseError> for ReadError {
    fn from(error: sdf::PathParseError) -> Self {
        Self::Path(Box::new(error))
    }
}

impl ReadError {
    /// Wraps a format-violation message.
    pub(crate) fn corrupt(reason: impl Into<Box<str>>) -> Self {
        Self::Corrupt { reason: reason.into() }
    }

    /// Wraps an unsupported-encoding message.
    pub(crate) fn unsupported(reason: impl Into<Box<str>>) -> Self {
        Self::Unsupported { reason: reason.into() }
    }

    /// Wraps this error with the section or operation being read.
    pub(crate) fn in_context(self, context: impl Into<Cow<'static, str>>) -> Self {
        Self::Context(Box::new(ReadContext {
            context: context.into(),
            source: self,
        }))
    }
}

/// Extension adding [`ReadError::in_context`] wrapping to `Result`.
pub(crate) trait ReadResultExt<T> {
    /// Wraps the error with the section or operation being read.
    fn ctx(self, context: impl Into<Cow<'static, str>>) -> Result<T, ReadError>;
}

impl<T, E: Into<ReadError>> ReadResultExt<T> for Result<T, E> {
    fn ctx(self, context: impl Into<Cow<'static, str>>) -> Result<T, ReadError> {
        self.map_err(|error| error.into().in_context(context))
    }
}

/// A spec's type plus where its fields live. The crate stores fields
/// deduplicated and shared across specs, so a spec read from the file keeps only
/// the start of its fieldset; the fields are resolved on demand from the compact
/// [`CrateFile`] arrays rather than expanded into a per-spec list. Fields
/// authored after load are layered in a small overlay, leaving the backend both
/// lazy and writable (C++ `Usd_CrateData` likewise keeps each field as either a
/// `ValueRep` into the crate or an in-memory `VtValue`).
#[derive(Debug)]
struct Spec {
    /// Specifies the type of an object.
    ty: sdf::SpecType,
    /// Start index into the file's `fieldsets` for the fields read from the
    /// crate, or `None` for a spec created in memory.
    fieldset: Option<usize>,
    /// Fields authored after load, layered over the crate fields in authored
    /// order. `Some` sets or overrides a field; `None` tombstones one so it
    /// reads as absent even when the crate holds it.
    authored: Vec<(String, Option<sdf::Value>)>,
}

impl Spec {
    /// Returns the authored override for `field`: `Some(&Some(value))` when set,
    /// `Some(&None)` when tombstoned, `None` when the crate fields alone decide.
    fn authored(&self, field: &str) -> Option<&Option<sdf::Value>> {
        self.authored.iter().find(|(k, _)| k == field).map(|(_, v)| v)
    }

    /// Sets the authored override for `field`, replacing any prior one.
    fn set_authored(&mut self, field: &str, value: Option<sdf::Value>) {
        if let Some(slot) = self.authored.iter_mut().find(|(k, _)| k == field) {
            slot.1 = value;
        } else {
            self.authored.push((field.to_owned(), value));
        }
    }

    /// Drops any authored override for `field`, restoring authored order so a
    /// later set re-appends rather than reusing the old slot.
    fn remove_authored(&mut self, field: &str) {
        self.authored.retain(|(k, _)| k != field);
    }
}

/// High level interface to binary data.
///
/// TODO(rayon): the file's tables are read-only after open and every decode
/// runs over `&self`. This is therefore `Send + Sync` as soon as `sdf::Path`
/// and `tf::Token` are, which the schema registry waits on too.
pub struct CrateData {
    file: CrateFile,
    data: HashMap<sdf::Path, Spec>,
}

impl CrateData {
    /// Read binary data from `bytes`, which the data keeps and decodes
    /// values from on demand.
    pub fn open(bytes: impl Into<ar::AssetBuffer>, safe: bool) -> Result<Self, ReadError> {
        Self::from_file(CrateFile::open(bytes)?, safe)
    }

    /// Data over `file`, whose specs are indexed by path; `safe` checks the
    /// file's tables against each other first, which a file read from bytes
    /// the library did not write needs.
    pub fn from_file(mut file: CrateFile, safe: bool) -> Result<Self, ReadError> {
        if safe {
            file.validate()?;
        }

        // Index each spec by its path, recording only its type and the start of
        // its fieldset. The fields themselves stay in the file's compact,
        // deduplicated arrays and are resolved on demand.
        let specs = mem::take(&mut file.specs);
        let mut data = HashMap::with_capacity(specs.len());

        for spec in &specs {
            let path = file.paths[spec.path_index].clone();
            data.insert(
                path,
                Spec {
                    ty: spec.spec_type,
                    fieldset: Some(spec.fieldset_index),
                    authored: Vec::new(),
                },
            );
        }

        Ok(Self { file, data })
    }
}

impl sdf::AbstractData for CrateData {
    #[inline]
    fn has_spec(&self, path: &sdf::Path) -> bool {
        self.data.contains_key(path)
    }

    fn has_field(&self, path: &sdf::Path, field: &str) -> bool {
        let Some(spec) = self.data.get(path) else {
            return false;
        };
        if let Some(authored) = spec.authored(field) {
            return authored.is_some();
        }
        match spec.fieldset {
            Some(start) => crate_fields(&self.file, start).any(|(name, _)| name == field),
            None => false,
        }
    }

    #[inline]
    fn spec_type(&self, path: &sdf::Path) -> Option<sdf::SpecType> {
        self.data.get(path).map(|spec| spec.ty)
    }

    fn try_field(&self, path: &sdf::Path, field: &str) -> Result<Option<Cow<'_, sdf::Value>>, sdf::DataError> {
        let Some(spec) = self.data.get(path) else {
            return Ok(None);
        };
        if let Some(authored) = spec.authored(field) {
            return Ok(authored.as_ref().map(Cow::Borrowed));
        }
        let Some(start) = spec.fieldset else {
            return Ok(None);
        };
        let rep = crate_fields(&self.file, start)
            .find(|(name, _)| *name == field)
            .map(|(_, rep)| rep);
        let Some(rep) = rep else {
            return Ok(None);
        };
        // The decoder's typed `ReadError` is boxed as the `DataError`'s source:
        // the box is the layering seam that keeps `sdf` below this format.
        let value = self.file.value(rep).map_err(|e| sdf::DataError::Decode {
            path: path.clone(),
            field: field.to_owned(),
            source: Box::new(e),
        })?;
        Ok(Some(Cow::Owned(value)))
    }

    fn list_fields(&self, path: &sdf::Path) -> Option<Vec<String>> {
        let spec = self.data.get(path)?;
        let mut names = Vec::new();
        if let Some(start) = spec.fieldset {
            for (name, _) in crate_fields(&self.file, start) {
                // A tombstoned crate field is skipped; an overridden one keeps
                // its crate position and is not duplicated by the overlay pass.
                if !matches!(spec.authored(name), Some(None)) {
                    names.push(name.to_owned());
                }
            }
        }
        for (field, value) in &spec.authored {
            if value.is_some() && !names.iter().any(|n| n == field) {
                names.push(field.clone());
            }
        }
        Some(names)
    }

    fn spec_paths(&self) -> Vec<sdf::Path> {
        let mut paths: Vec<sdf::Path> = self.data.keys().cloned().collect();
        paths.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        paths
    }

    fn create_spec(&mut self, path: sdf::Path, ty: sdf::SpecType) {
        self.data.insert(
            path,
            Spec {
                ty,
                fieldset: None,
                authored: Vec::new(),
            },
        );
    }

    fn erase_spec(&mut self, path: &sdf::Path) {
        self.data.remove(path);
    }

    fn set_field(&mut self, path: &sdf::Path, field: &str, value: sdf::Value) {
        match self.data.get_mut(path) {
            Some(spec) => spec.set_authored(field, Some(value)),
            None => debug_assert!(false, "set_field on absent spec at {path}"),
        }
    }

    fn erase_field(&mut self, path: &sdf::Path, field: &str) {
        let Some(spec) = self.data.get_mut(path) else {
            return;
        };
        // A tombstone is only needed to mask a field the crate holds; for an
        // authored-only or absent field, dropping the overlay entry keeps erase
        // idempotent and lets a later set re-append in authored order.
        let masks_crate = spec
            .fieldset
            .is_some_and(|start| crate_fields(&self.file, start).any(|(name, _)| name == field));
        if masks_crate {
            spec.set_authored(field, None);
        } else {
            spec.remove_authored(field);
        }
    }
}

/// Walks a crate spec's fieldset from `start` to its terminator, yielding each
/// field's resolved name and value representation. Names borrow the shared token
/// table, so iterating makes no per-spec copy.
fn crate_fields(file: &CrateFile, start: usize) -> impl Iterator<Item = (&str, ValueRep)> {
    file.fieldsets
        .get(start..)
        .unwrap_or(&[])
        .iter()
        .map_while(|slot| *slot)
        .map(move |index| {
            let field = &file.fields[index];
            (field_name(file, field.token_index), field.value_rep)
        })
}

/// Resolves a crate token index to a field name, translating the crate's
/// internal property-children token to the Sdf `propertyChildren` key the rest
/// of the toolkit uses.
fn field_name(file: &CrateFile, token_index: usize) -> &str {
    let raw = file.tokens[token_index].as_str();
    if raw == CRATE_PROPERTY_CHILDREN {
        sdf::ChildrenKey::PropertyChildren.as_str()
    } else {
        raw
    }
}

/// Read `usdc` data from a file on disk.
pub fn read_file(path: impl AsRef<Path>) -> crate::Result<Box<dyn sdf::AbstractData>> {
    let path = path.as_ref();
    let bytes = fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("unable to open {}: {error}", path.display())))?;
    let data = CrateData::open(bytes, true)?;

    Ok(Box::new(data))
}

/// Binary crate format (`.usdc`) as an [`sdf::FileFormat`], wrapping
/// [`CrateData`] and [`CrateWriter`]. Also the default writer for the ambiguous
/// `.usd` extension (C++ `USD_WRITE_NEW_USD_FILES_AS_BINARY`).
pub struct UsdcFileFormat;

impl sdf::FileFormat for UsdcFileFormat {
    fn format_id(&self) -> tf::Token {
        tf::Token::new("usdc")
    }

    fn extensions(&self) -> &[&str] {
        &["usdc", "usd"]
    }

    fn read_bytes(&self, bytes: ar::AssetBuffer, _source_name: &str) -> Result<sdf::LayerData, sdf::FormatError> {
        // Validated: these bytes are a file the caller did not write, and the
        // decoder indexes into them on trust.
        let data = CrateData::open(bytes, true).map_err(|error| sdf::FormatError::Decode(Box::new(error)))?;
        Ok(Box::new(data))
    }

    fn matches_content(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(MAGIC)
    }

    fn write(&self, data: &dyn sdf::AbstractData, mut sink: &mut dyn sdf::WriteSeek) -> Result<(), sdf::FormatError> {
        CrateWriter::write(data, &mut sink)
    }

    /// The data is built from the writer's own tables over the bytes it
    /// wrote. Nothing is decoded again.
    fn write_bytes(&self, data: &dyn sdf::AbstractData) -> Result<sdf::Written, sdf::FormatError> {
        let file = CrateWriter::write_file(data)?;
        let bytes = file.bytes().clone().into_shared();
        let data = CrateData::from_file(file, false).map_err(|error| sdf::FormatError::Decode(Box::new(error)))?;
        Ok(sdf::Written {
            bytes,
            data: Some(Box::new(data)),
        })
    }
}

/// The crate (binary) format names the property-children field "properties",
/// while the rest of the toolkit uses the Sdf token "propertyChildren". The
/// crate reader (`CrateData::open`) and writer translate between the two at that
/// boundary, matching the reference crate implementation.
const CRATE_PROPERTY_CHILDREN: &str = "properties";
