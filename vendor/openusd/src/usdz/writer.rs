//! USDZ archive writer.
//!
//! Produces ZIP archives that conform to the [USDZ
//! specification](https://openusd.org/release/spec_usdz.html): every entry is
//! STORED (uncompressed) and its data is aligned to a 64-byte boundary via
//! padding in the local file header's "extra field".
//!
//! The writer is intentionally bytes-in, bytes-out: callers serialize their
//! layers (e.g. via [`crate::usdc::CrateWriter`] or [`crate::usda::TextWriter`])
//! and hand the resulting bytes to [`ArchiveWriter::add_layer`]. Packaging a
//! layer with its dependencies (the C++ `UsdUtilsCreateNewUsdzPackage`
//! equivalent) is [`crate::usd_utils::create_new_usdz_package`].

use std::fs;
use std::io::{self, Seek, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::ArchiveError;

/// Alignment (in bytes) for file data inside a USDZ archive.
const USDZ_ALIGNMENT: u16 = 64;

/// Writer for USDZ archives.
///
/// ```no_run
/// use openusd::usdz::ArchiveWriter;
///
/// let out = std::fs::File::create("scene.usdz").unwrap();
/// let mut archive = ArchiveWriter::new(out);
/// archive.add_layer("scene.usdc", &std::fs::read("scene.usdc").unwrap()).unwrap();
/// archive.finish().unwrap();
/// ```
pub struct ArchiveWriter<W: Write + Seek> {
    inner: ZipWriter<W>,
}

impl<W: Write + Seek> ArchiveWriter<W> {
    /// Create a new writer that emits its archive to `out`.
    pub fn new(out: W) -> Self {
        Self {
            inner: ZipWriter::new(out),
        }
    }

    /// Add an entry to the archive. `name` is the archive-relative path,
    /// `bytes` is the raw file content. The first call should typically be a
    /// `.usda`/`.usdc`/`.usd` layer — per the USDZ spec, the first file in
    /// the archive is the package's root layer.
    ///
    /// `name` must be an archive-relative forward-slash path: non-empty, not
    /// absolute, and containing no `..` segments or backslashes. Archives
    /// with path-traversing entries are rejected.
    pub fn add_layer(&mut self, name: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        validate_entry_name(name)?;

        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .with_alignment(USDZ_ALIGNMENT);

        self.inner
            .start_file(name, options)
            .map_err(|e| ArchiveError::entry(name, e))?;
        self.inner.write_all(bytes).map_err(|e| ArchiveError::entry(name, e))?;
        Ok(())
    }

    /// Finalize the archive, writing the central directory. Returns the
    /// underlying writer.
    pub fn finish(self) -> Result<W, ArchiveError> {
        let w = self.inner.finish()?;
        Ok(w)
    }
}

impl ArchiveWriter<std::fs::File> {
    /// Create a USDZ archive at `path`.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let path = path.as_ref();
        let file = fs::File::create(path)
            .map_err(|error| io::Error::new(error.kind(), format!("unable to create {}: {error}", path.display())))?;
        Ok(Self::new(file))
    }
}

/// Validate that `name` is safe to use as a ZIP entry path: a non-empty
/// relative path whose segments are all concrete filenames. USDZ archives
/// consumed by other tools interpret entry names as filesystem paths, so
/// absolute, traversing, directory-like, or double-separator forms can
/// escape the extraction root or produce ambiguous results.
fn validate_entry_name(name: &str) -> Result<(), ArchiveError> {
    let invalid = |reason: &'static str| ArchiveError::InvalidEntryName {
        name: name.to_owned(),
        reason,
    };
    if name.is_empty() {
        return Err(invalid("cannot be empty"));
    }
    if name.contains('\\') {
        return Err(invalid("must not contain backslashes"));
    }
    if name.starts_with('/') {
        return Err(invalid("must be relative, not absolute"));
    }
    if name.ends_with('/') {
        return Err(invalid("must name a file, not a directory"));
    }
    for seg in name.split('/') {
        match seg {
            "" => return Err(invalid("has an empty path segment")),
            "." => return Err(invalid("must not contain `.` segments")),
            ".." => return Err(invalid("must not contain `..` segments")),
            _ => {}
        }
    }
    Ok(())
}
