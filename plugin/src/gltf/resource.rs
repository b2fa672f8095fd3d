//! Where a URI in the document leads: bytes in the URI itself, or a regular file inside the permitted folders.
//!
//! A scene comes from anywhere, so a URI is never trusted: it may not name a scheme, start at the root, climb
//! out with `..` (percent-encoded or not), or pass through a symbolic link that leads outside; and what it leads
//! to must be a regular file, since a device or pipe may never end.

use crate::error::{Error, quote};
use crate::files::{self, Unread};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fs::{File, Metadata};
use std::path::{Component, Path, PathBuf};

/// Some exporters leave the padding off, and nothing is ambiguous without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What RFC 3986 lets stand in a path segment as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A file that the document refers to.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    /// The path in the document, decoded, without `.` and inner `..`; leading `..` remain.
    pub relative: PathBuf,
    /// Where the file is, links resolved.
    pub source: PathBuf,
    /// The permitted folder that it is in, links resolved.
    within: PathBuf,
}

impl Resource {
    /// Opens it. What was a file inside a moment ago may be a link by now, which is not followed.
    pub fn open(&self) -> Result<(File, Metadata), Error> {
        let way = self.source.strip_prefix(&self.within).unwrap_or(Path::new(""));
        files::open_inside(&self.within, way).map_err(|e| unread(&self.source, e))
    }

    /// All its bytes.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        files::read_all(self.open()?, u64::MAX).map_err(|e| unread(&self.source, e))
    }
}

fn unread(path: &Path, why: Unread) -> Error {
    match why {
        Unread::Io(error) => Error::io(format!("cannot read {}", path.display()), error),
        why => Error::input(format!("{} {why}", path.display())),
    }
}

/// The folders that files may come from, links resolved.
pub(super) struct Folders {
    /// What URIs are relative to.
    pub scene: PathBuf,
    /// Another permitted folder.
    pub root: Option<PathBuf>,
}

impl Folders {
    /// Resolves the folders themselves.
    pub fn new(scene: &Path, root: Option<&Path>) -> Result<Folders, Error> {
        let resolve = |folder: &Path| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder
                .canonicalize()
                .map_err(|e| Error::io(format!("cannot open the folder {}", folder.display()), e))
        };
        Ok(Folders { scene: resolve(scene)?, root: root.map(resolve).transpose()? })
    }

    /// The file behind a URI that is not a data URI. The text of a refusal begins with the URI.
    pub fn resolve(&self, uri: &str) -> Result<Resource, Error> {
        let shown = quote(uri);
        let refuse = |why: &str| Error::input(format!("{shown} {why}"));
        if has_scheme(uri) {
            return Err(refuse(
                "is an address with a scheme; only files beside the scene are read, so put it there",
            ));
        }
        let path = percent_decode_str(uri)
            .decode_utf8()
            .map_err(|_| refuse("is not UTF-8 when decoded; rename the file"))?;
        if path.contains('\0') || path.contains('\\') {
            return Err(refuse("has a character that no path may have; write folders with `/`"));
        }
        let outside = "leads outside the scene's folder, where nothing is read; put the file beside the scene \
                       or widen the asset root";
        let relative = normalise(Path::new(path.as_ref())).ok_or_else(|| refuse(outside))?;
        if relative.as_os_str().is_empty() {
            return Err(refuse("names no file"));
        }
        if self.root.is_none() && relative.starts_with("..") {
            return Err(refuse(outside));
        }
        let joined = self.scene.join(path.as_ref());
        let source = joined
            .canonicalize()
            .map_err(|e| Error::io(format!("{shown} cannot be opened as {}", joined.display()), e))?;
        let mut permitted = std::iter::once(&self.scene).chain(&self.root);
        let within = permitted.find(|f| source.starts_with(f)).ok_or_else(|| refuse(outside))?.clone();
        let about = source.metadata().map_err(|e| Error::io(format!("{shown} cannot be opened"), e))?;
        if !about.is_file() {
            return Err(refuse("is not a regular file (a folder, device or pipe)"));
        }
        Ok(Resource { relative, source, within })
    }
}

/// A scheme as RFC 3986 has it; a drive letter looks the same and is refused with it.
fn has_scheme(uri: &str) -> bool {
    match uri.split_once(':') {
        Some((scheme, _)) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        }
        None => false,
    }
}

/// The path without `.` and inner `..`; `None` when it starts at a root.
fn normalise(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => out.push(name),
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            Component::ParentDir => out.push(".."),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}

/// All bytes of a regular file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    files::read_regular(path, u64::MAX).map_err(|e| unread(path, e))
}

/// Whether the bytes are in the URI itself.
pub(super) fn is_data(uri: &str) -> bool {
    uri.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("data:"))
}

/// The bytes of a data URI (RFC 2397), base64 or percent-encoded.
pub(super) fn data_bytes(uri: &str) -> Result<Vec<u8>, Error> {
    let Some((head, body)) = uri.get(5..).and_then(|rest| rest.split_once(',')) else {
        return Err(Error::input("the data URI has no comma before its data"));
    };
    let mut bytes: Vec<u8> = percent_decode_str(body).collect();
    if head.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64")) {
        bytes.retain(|b| !b.is_ascii_whitespace());
        bytes = BASE64.decode(bytes).map_err(|e| Error::input(format!("the data URI is not base64: {e}")))?;
    }
    Ok(bytes)
}

/// Bytes as a data URI of the kind that buffers have.
pub(super) fn data_uri(bytes: &[u8]) -> String {
    format!("data:application/octet-stream;base64,{}", BASE64.encode(bytes))
}

/// A file name as a URI.
pub(super) fn name_uri(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_uris_decode_with_and_without_base64_and_padding() {
        assert_eq!(data_bytes("data:;base64,AAEC").unwrap(), [0, 1, 2]);
        assert_eq!(data_bytes("DATA:application/gltf-buffer;BASE64,AAE=").unwrap(), [0, 1]);
        assert_eq!(data_bytes("data:;base64,AAE").unwrap(), [0, 1]);
        assert_eq!(data_bytes("data:;base64,AA%3D%3D").unwrap(), [0]);
        assert_eq!(data_bytes("data:text/plain,a%00b").unwrap(), b"a\0b");
        assert_eq!(data_bytes(&data_uri(&[7; 10])).unwrap(), [7; 10]);
        assert!(data_bytes("data:;base64").is_err());
        assert!(data_bytes("data:;base64,****").unwrap_err().to_string().contains("base64"));
    }

    #[test]
    fn drive_letters_and_schemes_are_told_from_names() {
        for uri in ["http://x/y", "file:///etc/passwd", "C:/x.bin", "javascript:x"] {
            assert!(has_scheme(uri), "{uri}");
        }
        for uri in ["a.bin", "dir/a:b.bin", "1:2", "été.bin"] {
            assert!(!has_scheme(uri), "{uri}");
        }
    }
}
