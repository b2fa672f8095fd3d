//! Files written beside their place and renamed into it together: all of them, or none.
//!
//! Each file is first written under a temporary name in its own folder (a rename across folders may copy, and a
//! copy can be seen half done), flushed to disk, and only then renamed. Dropped without [`Staging::commit`],
//! everything made so far is removed.

use super::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells temporary files of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Files on their way to disk.
#[derive(Default)]
pub(super) struct Staging {
    /// Temporary name and place of each file.
    files: Vec<(PathBuf, PathBuf)>,
    /// Folders that were made, outer first.
    folders: Vec<PathBuf>,
}

impl Staging {
    /// Stages bytes for `target`.
    pub fn write(&mut self, target: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.stage(target, |file| file.write_all(bytes))
    }

    /// Stages a copy of `source` for `target`.
    pub fn copy(&mut self, target: &Path, source: &Path) -> Result<(), Error> {
        self.stage(target, |file| io::copy(&mut File::open(source)?, file).map(drop))
    }

    fn stage(&mut self, target: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
        let fault = |e| cannot_write(target, e);
        if target.is_dir() {
            return Err(fault(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if self.files.iter().any(|(_, t)| t == target) {
            return Err(Error::input(format!(
                "two files of the document would both become {}; save under another name",
                target.display()
            )));
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        self.make_folder(folder).map_err(fault)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".sinew-{}-{number}.part", std::process::id()));
        let mut file = File::create_new(&temporary).map_err(fault)?;
        self.files.push((temporary, target.to_owned()));
        fill(&mut file).and_then(|()| file.sync_all()).map_err(fault)
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|a| !a.as_os_str().is_empty() && !a.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    /// Puts every file into its place, in the order staged. When one cannot be, those that are new go again.
    pub fn commit(mut self) -> Result<(), Error> {
        let mut fresh = Vec::new();
        for (temporary, target) in &self.files {
            let existed = target.exists();
            if let Err(e) = fs::rename(temporary, target) {
                // Nothing more can be done about what cannot be removed.
                fresh.iter().for_each(|f: &PathBuf| drop(fs::remove_file(f)));
                return Err(cannot_write(target, e));
            }
            if !existed {
                fresh.push(target.clone());
            }
        }
        self.files.clear();
        self.folders.clear();
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            let _ = fs::remove_file(temporary);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn cannot_write(target: &Path, e: io::Error) -> Error {
    Error::io(format!("cannot write {} (is there space, and permission?)", target.display()), e)
}
