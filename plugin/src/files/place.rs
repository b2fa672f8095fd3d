//! A place for a file: what is there already, and whether it may be replaced.

use super::WriteError;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::path::Path;

/// Refuses a place that no file can be written to, before the work that gives its content is done. Returns what is known of
/// the file that would be replaced. A link is replaced itself: what it leads to is not touched.
pub fn check_place(target: &Path) -> Result<Option<Metadata>, WriteError> {
    let refuse = |kind, why: &str| {
        Err(WriteError { path: target.to_owned(), error: io::Error::new(kind, why.to_owned()) })
    };
    let about = match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WriteError { path: target.to_owned(), error }),
        Ok(about) => about,
    };
    if target.is_dir() {
        return refuse(io::ErrorKind::IsADirectory, "is a folder; give a file in it");
    }
    if about.is_symlink() {
        return Ok(None);
    }
    if !about.is_file() {
        return refuse(
            io::ErrorKind::InvalidInput,
            "is a device, pipe or socket, which a file must not take the place of",
        );
    }
    if about.permissions().readonly() {
        return refuse(
            io::ErrorKind::PermissionDenied,
            "is read-only; make it writable, or check it out, if it is to be replaced",
        );
    }
    Ok(Some(about))
}

/// The permissions that a new file starts with: those of the file that it replaces, so that nobody may look into a private
/// one in between, or else what the user lets others do with any new file.
#[cfg(unix)]
pub(super) fn first_permissions(old: Option<&Metadata>) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(old.map_or(0o666, |old| old.permissions().mode() & 0o777))
}

/// Gives a file the owner, group and mode of the one that it replaces, as far as the system lets. Where the group cannot be
/// kept, the new one is not let in either.
#[cfg(unix)]
pub(super) fn dress(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let now = file.metadata()?;
    let mut mode = old.permissions().mode() & 0o7777;
    if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
        let all = fchown(file, Some(old.uid()), Some(old.gid()));
        let kept = all.is_ok() || now.gid() == old.gid() || fchown(file, None, Some(old.gid())).is_ok();
        if all.is_err() {
            mode &= 0o777;
        }
        if !kept {
            mode &= !0o070;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Nothing to keep that could be.
#[cfg(not(unix))]
pub(super) fn dress(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
