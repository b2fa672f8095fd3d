//! Files written beside their place and renamed into it together: all of them, or none.
//!
//! Each file is first written under a temporary name in its own folder (a rename across folders may copy, and a
//! copy can be seen half done), flushed to disk, and only then renamed. Dropped without [`Staging::commit`],
//! everything made so far is removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells temporary files of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder of our own for what only passes through, removed with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes one that nobody else may look into.
    pub fn new() -> io::Result<Scratch> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("sinew-{}-{number}-{}", std::process::id(), clock.as_nanos());
        let folder = std::env::temp_dir().join(name);
        let mut maker = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
        maker.create(&folder)?;
        Ok(Scratch { folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done where the system does not let us.
        let _ = fs::remove_dir_all(&self.folder);
    }
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
    /// Temporary name and place of each file.
    files: Vec<(PathBuf, PathBuf)>,
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
    pub fn commit(mut self) -> Result<(), WriteError> {
        let mut fresh = Vec::new();
        for (temporary, target) in &self.files {
            let existed = target.exists();
            if let Err(e) = fs::rename(temporary, target) {
                // Nothing more can be done about what cannot be removed.
                fresh.iter().for_each(|f: &PathBuf| drop(fs::remove_file(f)));
                return Err(WriteError { path: target.clone(), error: e });
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
