//! Files written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes beside `path` and renames: whoever looks finds the old file or the new one, never half of either.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().map_or_else(Default::default, |n| n.to_os_string());
    name.push(format!(".{}.part", std::process::id()));
    let part: PathBuf = path.with_file_name(name);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(&part, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&part);
    })
}
