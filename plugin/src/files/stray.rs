//! Temporary files: made under names that nobody else can have, held by a lock for as long as their writer lives, and taken
//! away when it does not.

use super::place;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tempfile::{Builder, TempPath};

const PREFIX: &str = ".sinew-";
const SUFFIX: &str = ".part";
/// Letters between them: more than two hosts ever choose the same.
const LETTERS: usize = 16;
/// How often a name is chosen anew when somebody takes the file for a stray one before it is locked.
const TRIES: usize = 16;

/// Temporary files that are there now.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Held for reading by whoever puts files into their places.
static COMMITS: RwLock<()> = RwLock::new(());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file, gone when dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    /// First: closed before it is removed.
    pub file: File,
    pub path: TempPath,
}

impl Temporary {
    /// Makes one in `folder`, for the place of `old`.
    pub fn new(folder: &Path, old: Option<&Metadata>) -> io::Result<Temporary> {
        for _ in 0..TRIES {
            let mut builder = Builder::new();
            #[cfg(unix)]
            builder.permissions(place::first_permissions(old));
            let made = builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(LETTERS).tempfile_in(folder)?;
            let (file, path) = made.into_parts();
            // Where there are no locks, nobody takes it for a stray one.
            let _ = file.try_lock();
            // Taken for one before the lock was there.
            if !path.exists() {
                continue;
            }
            live().insert(path.to_path_buf());
            if let Some(old) = old {
                place::dress(&file, old)?;
            }
            return Ok(Temporary { file, path });
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Puts the file into its place.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let name = self.path.to_path_buf();
        let done = self.path.persist(target).map_err(|e| e.error);
        live().remove(&name);
        done
    }

    /// Removes it.
    pub fn discard(self) {
        let name = self.path.to_path_buf();
        drop(self);
        live().remove(&name);
    }
}

/// A second name for a file, to bring it back under.
pub(super) fn second_name(file: &Path, folder: &Path) -> io::Result<TempPath> {
    let link = |name: &Path| {
        let _made: () = fs::hard_link(file, name).or_else(|e| match e.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Err(e),
            // Not every file system has links.
            _ => fs::copy(file, name).map(drop),
        })?;
        Ok(())
    };
    let made = Builder::new().prefix(PREFIX).suffix(SUFFIX).rand_bytes(LETTERS).make_in(folder, link)?;
    Ok(made.into_temp_path())
}

/// While this is held, files are on their way to their places.
pub(super) fn committing() -> RwLockReadGuard<'static, ()> {
    COMMITS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether files were put into their places in this process.
static PLACED: AtomicBool = AtomicBool::new(false);

/// All files of a staging are in their places.
pub(super) fn note_placed() {
    PLACED.store(true, Ordering::SeqCst);
}

/// Removes every temporary file, for a process that is about to end without unwinding. Files that are on their way to their
/// places get there first, unless that takes long. Returns whether nothing was put into its place: then, nothing is.
pub fn abandon() -> bool {
    let mut held = None;
    for _ in 0..20 {
        held = COMMITS.try_write().ok();
        if held.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    if let Ok(live) = LIVE.try_lock() {
        for name in live.iter() {
            // Nobody is left to tell.
            let _ = fs::remove_file(name);
        }
    }
    if PLACED.load(Ordering::SeqCst) {
        return false;
    }
    // Nothing is put anywhere from here on.
    std::mem::forget(held);
    true
}

/// Removes what writers that are dead left in a folder, and returns the texts of what they were about to put there.
pub(super) fn sweep(folder: &Path) -> Vec<Vec<u8>> {
    let mut unfinished = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|t| t.is_file());
        if !is_file || !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        let path = entry.path();
        if live().contains(&path) {
            continue;
        }
        let Ok((file, about)) = super::open_regular(&path) else { continue };
        // Whoever writes it holds it.
        if file.try_lock().is_err() {
            continue;
        }
        if let Ok(text) = super::door::read_all((file, about), super::content::LONGEST_TEXT) {
            unfinished.push(text);
        }
        let _ = fs::remove_file(&path);
    }
    unfinished
}
