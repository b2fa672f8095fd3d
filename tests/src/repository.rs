//! The source tree that these tests belong to.

use crate::program::Program;
use std::path::{Path, PathBuf};

/// The workspace's root folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace")
}

/// Files under version control and files about to be, relative to the root; ignored ones are not listed.
pub fn files() -> Vec<PathBuf> {
    let listing = Program::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .folder(root())
        .run()
        .and_then(|done| done.success())
        .expect("the tests run in a git work tree");
    listing
        .stdout
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        // A file deleted but not yet committed is still listed.
        .filter(|file| root().join(file).is_file())
        .collect()
}
