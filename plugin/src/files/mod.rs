//! Files written beside their place and renamed into it together: all of them, or none.
//!
//! Each file is first written under a temporary name in its own folder (a rename across folders may copy, and a
//! copy can be seen half done), flushed to disk, and only then renamed. Dropped without [`Staging::commit`],
//! everything made so far is removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir, TempPath};

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

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// Files on their way to disk.
#[derive(Debug, Default)]
pub struct Staging {
    /// Temporary name and place of each file; one under a temporary name goes when that is dropped.
    files: Vec<(TempPath, PathBuf)>,
    /// Folders that were made, outer first.
    folders: Vec<PathBuf>,
}

impl Staging {
    /// Stages bytes for `target`.
    pub fn write(&mut self, target: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        self.stage(target, |file| file.write_all(bytes))
    }

    /// Stages a copy of `source` for `target`.
    pub fn copy(&mut self, target: &Path, source: &Path) -> Result<(), WriteError> {
        self.stage(target, |file| io::copy(&mut File::open(source)?, file).map(drop))
    }

    fn stage(
        &mut self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let fault = |error| WriteError { path: target.to_owned(), error };
        if target.is_dir() {
            return Err(fault(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if self.files.iter().any(|(_, t)| t == target) {
            return Err(fault(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "two files would both get this name; choose another",
            )));
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        self.make_folder(folder).map_err(fault)?;
        let mut builder = Builder::new();
        // As any new file: what the user lets others do with them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let (mut file, temporary) =
            builder.prefix(".sinew-").suffix(".part").tempfile_in(folder).map_err(fault)?.into_parts();
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
    pub fn commit(mut self) -> Result<(), WriteError> {
        let mut fresh = Vec::new();
        for (temporary, target) in std::mem::take(&mut self.files) {
            let existed = target.exists();
            if let Err(e) = temporary.persist(&target) {
                // Nothing more can be done about what cannot be removed.
                fresh.iter().for_each(|f: &PathBuf| drop(fs::remove_file(f)));
                return Err(WriteError { path: target, error: e.error });
            }
            if !existed {
                fresh.push(target);
            }
        }
        self.folders.clear();
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.files.clear();
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}
