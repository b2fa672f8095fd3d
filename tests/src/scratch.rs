//! Folders for what a test writes.

use std::path::Path;
use tempfile::TempDir;

/// A fresh folder, deleted when the value is dropped. With `SINEW_TEST_KEEP` set it stays, and its path is
/// printed, so that a failure can be looked at.
pub fn folder(name: &str) -> TempDir {
    let keep = std::env::var_os("SINEW_TEST_KEEP").is_some();
    let folder = tempfile::Builder::new()
        .prefix(&format!("sinew-{name}-"))
        .disable_cleanup(keep)
        .tempdir()
        .expect("a temporary folder can be made");
    if keep {
        println!("kept: {}", folder.path().display());
    }
    folder
}

/// A copy of a file that can be written to, whoever may write to the original.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> std::io::Result<()> {
    std::fs::write(to, std::fs::read(from)?)
}
