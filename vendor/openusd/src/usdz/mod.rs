//! USDZ archive format reader and writer.
//!
//! USDZ is a ZIP archive containing USD layer files (and optional adjacent
//! resources such as textures). Per the specification, archived files are
//! stored uncompressed (STORED, method 0) and aligned to a 64-byte boundary
//! so the contained data can be consumed in place without extraction.
//!
//! The reader does consume it in place: [`Archive::entry`] serves a stored
//! entry as a view of the package's bytes when the asset shares them, and
//! refuses a compressed or encrypted entry as C++ does. A view is served
//! without checking the entry's CRC32, again as C++ serves a mapped package;
//! [`Archive::verify`] checks one on request, and the bounded read a package
//! without shared bytes falls back to checks it on the way. The `deflate`
//! feature of the `zip` crate stays for `usd_utils` package rebuilding,
//! which copies entries through the ZIP reader.

mod package;
mod reader;
mod writer;

pub use package::{Package, PackageError, PackageStats, open_package, package_contains, package_entry, package_stats};
pub use reader::Archive;
pub(crate) use reader::is_layer_name;
pub use writer::ArchiveWriter;

use std::io::{self, Cursor};
use std::str;

use crate::{ar, sdf, tf, usda, usdc};

/// Error reading or writing a `.usdz` package ([`Archive`] /
/// [`ArchiveWriter`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Byte I/O against the package failed.
    #[error(transparent)]
    Io(#[from] io::Error),

    /// The ZIP layer failed while reading or writing the archive.
    #[error(transparent)]
    Zip(#[from] zip::result::ZipError),

    /// A named entry could not be read from or written to the archive.
    #[error("failed to access USDZ entry {name:?}")]
    Entry {
        /// The archive-relative entry name.
        name: String,
        /// The underlying failure.
        #[source]
        source: Box<ArchiveError>,
    },

    /// The archive holds no USD layer to serve as the package's default.
    #[error("no USD layer found in USDZ archive")]
    NoDefaultLayer,

    /// The writer refuses an unsafe or non-portable entry name.
    #[error("USDZ entry name {name:?} {reason}")]
    InvalidEntryName {
        /// The offending entry name.
        name: String,
        /// What the name violates.
        reason: &'static str,
    },

    /// A packaged crate layer failed to decode.
    #[error(transparent)]
    Read(#[from] usdc::ReadError),

    /// A packaged text layer failed to parse.
    #[error(transparent)]
    Parse(#[from] usda::ParseError),

    /// A packaged text layer is not valid UTF-8.
    #[error("file {name:?} is not valid UTF-8")]
    Utf8 {
        /// The archive-relative entry name.
        name: String,
        /// The underlying UTF-8 failure.
        #[source]
        source: str::Utf8Error,
    },

    /// An entry is compressed, which the USDZ specification forbids: only a
    /// stored entry can be served in place.
    #[error("USDZ entry {name:?} is {method} compressed; only stored entries are read")]
    Compressed {
        /// The archive-relative entry name.
        name: String,
        /// The compression the entry uses.
        method: zip::CompressionMethod,
    },

    /// An entry is encrypted, which the USDZ specification forbids.
    #[error("USDZ entry {name:?} is encrypted; only plain entries are read")]
    Encrypted {
        /// The archive-relative entry name.
        name: String,
    },
}

impl ArchiveError {
    /// Wraps a failure with the archive-relative entry it struck.
    pub(crate) fn entry(name: impl Into<String>, source: impl Into<ArchiveError>) -> Self {
        Self::Entry {
            name: name.into(),
            source: Box::new(source.into()),
        }
    }

    /// The [`io::ErrorKind`] at the heart of a write failure, seen through
    /// the entry and ZIP wrappers, or `None` when the failure is about the
    /// data rather than the destination. Meaningful only where the sink is
    /// real storage — the write seam; on the read side the package is already
    /// in hand, so a nested I/O failure there means truncated content.
    fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io(error) | Self::Zip(zip::result::ZipError::Io(error)) => Some(error.kind()),
            Self::Entry { source, .. } => source.io_kind(),
            _ => None,
        }
    }
}

/// Archive package format (`.usdz`) as an [`sdf::FileFormat`], wrapping
/// [`Archive`] and [`ArchiveWriter`]. Writing wraps a single crate-encoded
/// layer.
pub struct UsdzFileFormat;

/// Name of the single inner crate entry written into a `.usdz` package.
///
/// `write` only sees the sink, not the destination filename, so the entry name
/// is fixed; reading back is name-agnostic ([`Archive::read_first_layer`] takes
/// the first entry).
const USDZ_LAYER_NAME: &str = "layer.usdc";

impl sdf::FileFormat for UsdzFileFormat {
    fn format_id(&self) -> tf::Token {
        tf::Token::new("usdz")
    }

    fn extensions(&self) -> &[&str] {
        &["usdz"]
    }

    fn caps(&self) -> sdf::FileFormatCaps {
        // Writable as a fresh single-layer archive (`export`), but not editable
        // in place (`save`): a loaded package's other assets — textures, sibling
        // layers — are not held by the layer, so overwriting it would drop them.
        sdf::FileFormatCaps::READ | sdf::FileFormatCaps::WRITE
    }

    fn is_package(&self) -> bool {
        true
    }

    fn resolve_layer(&self, resolver: &dyn ar::Resolver, resolved: &ar::ResolvedPath) -> Option<ar::ResolvedPath> {
        // A package is anchored to its default (first) packaged layer. A package
        // nested in another (`pkg.usdz[inner.usdz]`) is anchored inside the
        // innermost bracket, `pkg.usdz[inner.usdz[first.usdc]]`.
        let package = resolved.to_string_lossy();
        // A package that cannot be opened, or that lists no default layer, falls
        // back to the bare package path so `read` surfaces the precise zip/parse
        // error, rather than being demoted to an unresolved (missing) asset.
        //
        // Only the central directory is read to list the default layer,
        // whatever the asset, and the package is the one the cache scope
        // holds for the entry reads that follow.
        let first = open_package(resolver, resolved)
            .ok()
            .and_then(|package| package.with(|archive| archive.first_layer_name()));
        Some(match first {
            Some(first) => ar::ResolvedPath::new(ar::nest_packaged_path(&package, &first)),
            None => resolved.clone(),
        })
    }

    fn read_bytes(&self, bytes: ar::AssetBuffer, _source_name: &str) -> Result<sdf::LayerData, sdf::FormatError> {
        // A bare package has no named entry, so read its first (default) layer.
        //
        // Every failure here is a decode: the bytes are already in hand, so
        // even an I/O error comes from the cursor reading them and means the
        // package is truncated or corrupt.
        Archive::from_bytes(bytes)
            .and_then(|mut archive| archive.read_first_layer())
            .map_err(|error| sdf::FormatError::Decode(Box::new(error)))
    }

    /// Reads the default layer of the package at `resolved` from the
    /// package [`open_package`] gives, which a cache scope shares with the
    /// lookups around this read.
    fn read(
        &self,
        resolver: &dyn ar::Resolver,
        resolved: &ar::ResolvedPath,
    ) -> Result<sdf::LayerData, sdf::FormatError> {
        // Failing to open the package's file is an I/O failure. Any failure
        // past that, an I/O error from reading the directory among them,
        // means the bytes are not a whole package.
        let package = open_package(resolver, resolved).map_err(|error| match error.archive_error() {
            ArchiveError::Io(_) => sdf::FormatError::Io(error.into()),
            _ => sdf::FormatError::Decode(Box::new(error)),
        })?;
        package
            .with(|archive| archive.read_first_layer())
            .map_err(|error| sdf::FormatError::Decode(Box::new(error)))
    }

    fn write(&self, data: &dyn sdf::AbstractData, sink: &mut dyn sdf::WriteSeek) -> Result<(), sdf::FormatError> {
        // Package-write failures map onto the format seam: a failure that is
        // byte I/O at heart — even wrapped in an entry or ZIP layer — stays
        // `Io`, keeping its kind and carrying the archive error as its
        // source; anything else is an encode failure.
        let encode = |error: ArchiveError| match error.io_kind() {
            Some(kind) => sdf::FormatError::Io(io::Error::new(kind, error)),
            None => sdf::FormatError::Encode {
                reason: tf::error_chain(&error).into(),
            },
        };
        let mut buf = Vec::new();
        usdc::CrateWriter::write(data, &mut Cursor::new(&mut buf))?;
        let mut archive = ArchiveWriter::new(sink);
        archive.add_layer(USDZ_LAYER_NAME, &buf).map_err(encode)?;
        archive.finish().map_err(encode)?;
        Ok(())
    }
}
