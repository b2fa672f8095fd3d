//! Files written beside their place and renamed into it together: all of them, or none.
//!
//! Each file is first written under a temporary name in its own folder (a rename across folders may copy, and a
//! copy can be seen half done), flushed to disk, and only then renamed. Dropped without [`Staging::commit`],
//! everything made so far is removed. A file that takes the place of another keeps its owner and mode.

use super::stray::{self, Temporary};
use super::{Witness, check_place, content, folder_of, lock, place};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl WriteError {
    fn said(path: &Path, kind: io::ErrorKind, why: &str) -> WriteError {
        WriteError { path: path.to_owned(), error: io::Error::new(kind, why.to_owned()) }
    }
}

/// Files on their way to disk.
#[derive(Debug, Default)]
pub struct Staging {
    files: Vec<Staged>,
    /// Folders that were made, outer first.
    folders: Vec<PathBuf>,
    /// Files that must still hold what was read from them, and what they hold afterwards.
    expected: Vec<(PathBuf, Witness, u128)>,
}

#[derive(Debug)]
struct Staged {
    temporary: Temporary,
    target: PathBuf,
    /// Named by its content: a file of that name is the same file.
    by_content: bool,
}

/// How to take back a file that was put into its place.
enum Undo {
    Remove(PathBuf),
    Restore(TempPath, PathBuf),
}

impl Staging {
    /// Stages bytes for `target`.
    pub fn write(&mut self, target: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        self.stage(target, false, |file| file.write_all(bytes))
    }

    /// Stages bytes for the file that a document was read from, and refuses to commit if it was changed since.
    pub(crate) fn write_over(
        &mut self,
        target: &Path,
        bytes: &[u8],
        witness: &Witness,
    ) -> Result<(), WriteError> {
        self.expected.push((target.to_owned(), witness.shared(), super::digest(bytes)));
        self.write(target, bytes)
    }

    /// Stages bytes for a file in `folder` that is named by what it holds, and returns the name.
    pub fn write_by_content(
        &mut self,
        folder: &Path,
        stem: &str,
        bytes: &[u8],
    ) -> Result<String, WriteError> {
        let name = content::name(stem, bytes);
        let target = folder.join(&name);
        self.stage(&target, true, |file| file.write_all(bytes))?;
        Ok(name)
    }

    /// Stages a copy of an open file for `target`.
    pub fn copy(&mut self, target: &Path, mut source: File) -> Result<(), WriteError> {
        self.stage(target, false, |file| io::copy(&mut source, file).map(drop))
    }

    fn stage(
        &mut self,
        target: &Path,
        by_content: bool,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let fault = |error| WriteError { path: target.to_owned(), error };
        let old = check_place(target)?;
        if self.files.iter().any(|f| f.target == target) {
            let why = "two files would both get this name; choose another";
            return Err(WriteError::said(target, io::ErrorKind::AlreadyExists, why));
        }
        let folder = folder_of(target);
        self.make_folder(folder).map_err(fault)?;
        let mut temporary = Temporary::new(folder, old.as_ref()).map_err(fault)?;
        let filled = fill(&mut temporary.file).and_then(|()| temporary.file.sync_all());
        self.files.push(Staged { temporary, target: target.to_owned(), by_content });
        filled.map_err(fault)
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

    /// Puts every file into its place, in the order staged: a document comes after all that it refers to. When one cannot be,
    /// all are as before.
    pub fn commit(mut self) -> Result<(), WriteError> {
        let _committing = stray::committing();
        let folders = self.files.iter().map(|f| folder_of(&f.target));
        // One folder under two names would be waited for by whoever holds it.
        let folders: BTreeSet<PathBuf> =
            folders.map(|f| f.canonicalize().unwrap_or_else(|_| f.to_owned())).collect();
        let held: Vec<File> = folders.iter().filter_map(|f| lock::folder(f)).collect();
        for (path, witness, _) in &self.expected {
            if !witness.holds(path) {
                let why =
                    "was changed by somebody else since it was read; nothing was written, so bake it again";
                return Err(WriteError::said(path, io::ErrorKind::Other, why));
            }
        }
        let replaced = self.replaced_data();
        let _journal = journal(&replaced)?;
        self.place_all()?;
        stray::note_placed();
        self.expected.iter().for_each(|(_, witness, content)| witness.renew(*content));
        folders.iter().chain(&self.folders).for_each(|f| lock::flush(f));
        self.folders.clear();
        if held.len() == folders.len() {
            tidy(&folders, replaced);
        }
        Ok(())
    }

    /// Files named by content that documents name whose places are taken now.
    fn replaced_data(&self) -> Vec<PathBuf> {
        let is_document = |target: &Path| target.extension().is_some_and(|e| e.eq_ignore_ascii_case("gltf"));
        let documents = self.files.iter().map(|f| &f.target).filter(|t| is_document(t));
        documents
            .filter_map(|target| {
                let text = super::read_regular(target, content::LONGEST_TEXT).ok()?;
                Some(content::named_in(folder_of(target), &text))
            })
            .flatten()
            .collect()
    }

    fn place_all(&mut self) -> Result<(), WriteError> {
        let mut done: Vec<Undo> = Vec::new();
        let count = self.files.len();
        for (i, staged) in std::mem::take(&mut self.files).into_iter().enumerate() {
            let target = staged.target.clone();
            if let Err(error) = place_one(staged, i + 1 == count, &mut done) {
                return Err(take_back(done, WriteError { path: target, error }));
            }
        }
        Ok(())
    }
}

/// A temporary file with the names of what is to be removed: should that not come to pass, whoever sweeps it up removes them.
fn journal(replaced: &[PathBuf]) -> Result<Option<Journal>, WriteError> {
    let Some(first) = replaced.first() else { return Ok(None) };
    let names: String = replaced.iter().map(|p| format!("{}\n", p.display())).collect();
    let fault = |error| WriteError { path: first.clone(), error };
    let mut temporary = Temporary::new(folder_of(first), None).map_err(fault)?;
    let written = temporary.file.write_all(names.as_bytes());
    let journal = Journal(Some(temporary));
    written.map_err(fault)?;
    Ok(Some(journal))
}

struct Journal(Option<Temporary>);

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some(temporary) = self.0.take() {
            temporary.discard();
        }
    }
}

/// Puts one file into its place. The last one needs no way back.
fn place_one(staged: Staged, last: bool, done: &mut Vec<Undo>) -> io::Result<()> {
    let Staged { temporary, target, by_content } = staged;
    let there = check_place(&target).map_err(|e| e.error)?;
    if by_content && there.is_some() {
        return match super::door::same_bytes(&temporary.path, &target)? {
            true => {
                temporary.discard();
                Ok(())
            }
            false => Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "is somebody else's file under the name that ours would have; move it away",
            )),
        };
    }
    let is_new = fs::symlink_metadata(&target).is_err();
    let undo = match (is_new, last) {
        (true, _) => Some(Undo::Remove(target.clone())),
        (false, true) => None,
        (false, false) => {
            Some(Undo::Restore(stray::second_name(&target, folder_of(&target))?, target.clone()))
        }
    };
    if let Some(old) = there {
        place::dress(&temporary.file, &old)?;
    }
    temporary.persist(&target)?;
    done.extend(undo);
    Ok(())
}

/// Takes back what was put into its place. Where that fails, the error says under which name the old file is.
fn take_back(done: Vec<Undo>, mut error: WriteError) -> WriteError {
    for undo in done.into_iter().rev() {
        match undo {
            // Nothing more can be done about what cannot be removed.
            Undo::Remove(path) => drop(fs::remove_file(path)),
            Undo::Restore(name, target) => {
                if let Err(e) = name.persist(&target) {
                    let kept = e.path.keep().ok();
                    let place = kept.map_or_else(|| "nowhere".to_owned(), |p| p.display().to_string());
                    let text = format!("{}; {} was {place} before", error.error, target.display());
                    error.error = io::Error::new(error.error.kind(), text);
                }
            }
        }
    }
    error
}

/// Removes what nobody needs any more, in folders that are held.
fn tidy(folders: &BTreeSet<PathBuf>, replaced: Vec<PathBuf>) {
    replaced.iter().for_each(|file| content::remove_unnamed(file));
    for folder in folders {
        for text in stray::sweep(folder) {
            content::named_in(folder, &text).iter().for_each(|file| content::remove_unnamed(file));
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.files.drain(..).for_each(|f| f.temporary.discard());
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}
