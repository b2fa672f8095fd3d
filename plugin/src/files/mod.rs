//! Files in and out: read through one door, written whole or not at all.

mod content;
mod digest;
mod door;
mod lock;
mod place;
mod staging;
mod stray;

pub(crate) use content::is_named_by_content;
pub(crate) use digest::Witness;
pub use digest::digest;
pub use door::{Unread, open_inside, open_regular, read_regular};
pub(crate) use door::{read_all, same_open};
pub use place::check_place;
pub use staging::{Staging, WriteError};
pub use stray::abandon;

use std::io;
use std::path::Path;
use tempfile::{Builder, TempDir};

/// A folder of our own, into which nobody else may look, for what only passes through; it goes with all that is in it.
pub fn scratch() -> io::Result<TempDir> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("sinew-").tempdir()
}

/// Writes one file: whoever looks finds the old one or the new one, never half of either.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut staging = Staging::default();
    staging.write(path, bytes).and_then(|()| staging.commit()).map_err(|e| e.error)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
