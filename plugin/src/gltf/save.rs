//! A document on disk: the file, the data beside it, and the files it refers to.
//!
//! Saved into another folder, the document takes its files along to the same relative places. A different file
//! already there is never overwritten, nor is any file that the document refers to.

use super::Document;
use super::buffer::Home;
use super::resource::Resource;
use crate::error::Error;
use crate::error::quote;
use crate::files::{self, Staging, Unread};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

impl Document {
    /// Writes the document: `.gltf` or `.glb`, as the name ends. On any error nothing is written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut staging = Staging::default();
        self.stage(path, &mut staging)?;
        staging.commit().map_err(|e| Error::from(e).in_file(&path.display().to_string()))
    }

    /// Stages the document.
    ///
    /// Data of ours that needs a file goes beside a `.gltf` under its name with a digest of the data and `.bin`. An
    /// existing file of the document's own name is replaced. Saved over the file that it was read from, the document
    /// takes the place of what a link leads to, and only if nobody else has changed that since.
    pub fn stage(&self, path: &Path, staging: &mut Staging) -> Result<(), Error> {
        self.try_stage(path, staging).map_err(|e| e.in_file(&path.display().to_string()))
    }

    fn try_stage(&self, path: &Path, staging: &mut Staging) -> Result<(), Error> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let folder = files::folder_of(path);
        let folder = folder
            .canonicalize()
            .map_err(|e| Error::io(format!("cannot open the folder {}", folder.display()), e))?;
        let name = path.file_name().ok_or_else(|| Error::input("the path names no file"))?;
        let target = folder.join(name);
        if self.files().any(|file| file.source == target || folder.join(&file.relative) == target) {
            return Err(Error::input("the scene's own data is in this file; save under another name"));
        }
        let (main, merged) = match extension.as_deref() {
            Some("glb") => self.glb()?,
            Some("gltf") => (self.gltf_text(&folder, &target, staging)?, vec![false; self.buffers.len()]),
            _ => return Err(Error::input("the name must end in .gltf or .glb, which says what to write")),
        };
        if self.folder.as_ref().is_some_and(|from| *from != folder) {
            self.take_along(&folder, &merged, staging)?;
        }
        // The document comes last: whoever sees it finds all that it refers to.
        let own = self.source.as_ref().filter(|(file, _)| target.canonicalize().is_ok_and(|t| t == *file));
        match own {
            Some((file, witness)) => staging.write_over(file, &main, witness)?,
            None => staging.write(&target, &main)?,
        }
        Ok(())
    }

    /// Every file that the document refers to.
    fn files(&self) -> impl Iterator<Item = &Resource> {
        let buffers = self.buffers.iter().filter_map(|b| match &b.home {
            Home::File(file) => Some(file),
            _ => None,
        });
        buffers.chain(&self.others)
    }

    /// The text of a `.gltf` file; the file for its own data is staged.
    fn gltf_text(&self, folder: &Path, target: &Path, staging: &mut Staging) -> Result<Vec<u8>, Error> {
        let json = self.gltf(|bytes| {
            let stem = target.file_stem().and_then(|s| s.to_str()).ok_or_else(|| {
                Error::input("the file's name is not Unicode, which a URI in glTF must be; choose another")
            })?;
            Ok(staging.write_by_content(folder, stem, bytes)?)
        })?;
        let mut text = serde_json::to_vec_pretty(&json)
            .map_err(|e| Error::input(format!("the JSON cannot be written: {e}")))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Copies the files that the document still refers to into `folder`.
    fn take_along(&self, folder: &Path, merged: &[bool], staging: &mut Staging) -> Result<(), Error> {
        let buffers = self.buffers.iter().zip(merged).filter_map(|(b, &merged)| match &b.home {
            Home::File(file) if !merged => Some(file),
            _ => None,
        });
        let mut done = HashSet::new();
        for file in buffers.chain(&self.others) {
            if file.relative.starts_with("..") {
                return Err(Error::input(format!(
                    "{} is outside the scene's folder and cannot be taken along; save beside the original",
                    quote(&file.relative.to_string_lossy())
                )));
            }
            let place = folder.join(&file.relative);
            if !done.insert(place.clone()) {
                continue;
            }
            check_way(folder, &place)?;
            let fault = |e| Error::io(format!("cannot compare {}", place.display()), e);
            match files::open_regular(&place) {
                Ok(there) => {
                    if !files::same_open(there, file.open()?).map_err(fault)? {
                        return Err(Error::input(format!(
                            "{} exists and differs from the scene's own {}; move it away or save elsewhere",
                            place.display(),
                            quote(&file.relative.to_string_lossy())
                        )));
                    }
                }
                Err(Unread::Io(e)) if e.kind() == ErrorKind::NotFound => {
                    staging.copy(&place, file.open()?.0)?;
                }
                Err(Unread::Io(e)) => return Err(fault(e)),
                Err(why) => {
                    return Err(Error::input(format!(
                        "{} {why}; move it away or save elsewhere",
                        place.display()
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Refuses a place below `folder` that a link leads out of it.
fn check_way(folder: &Path, place: &Path) -> Result<(), Error> {
    let above = place.ancestors().skip(1).find(|a| a.symlink_metadata().is_ok()).unwrap_or(folder);
    let real = above.canonicalize().map_err(|e| Error::io(format!("cannot open {}", above.display()), e))?;
    match real.starts_with(folder) {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{} leads outside the folder that is written to, through a link; move the link away or save elsewhere",
            place.display()
        ))),
    }
}
