//! A document on disk: the file, the data beside it, and the files it refers to.
//!
//! Saved into another folder, the document takes its files along to the same relative places. A different file
//! already there is never overwritten, nor is any file that the document itself came from or refers to.

use super::Document;
use super::buffer::Home;
use super::layout::Sidecar;
use super::resource::Resource;
use crate::error::Error;
use crate::error::quote;
use crate::files::Staging;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

impl Document {
    /// Writes the document: `.gltf` or `.glb`, as the name ends.
    ///
    /// Data of ours that needs a file goes beside a `.gltf` under the same name with `.bin`. Existing files of
    /// these two names are replaced; on any error nothing is written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        self.try_save(path).map_err(|e| e.in_file(&path.display().to_string()))
    }

    fn try_save(&self, path: &Path) -> Result<(), Error> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = folder
            .canonicalize()
            .map_err(|e| Error::io(format!("cannot open the folder {}", folder.display()), e))?;
        let name = path.file_name().ok_or_else(|| Error::input("the path names no file"))?;
        let target = folder.join(name);
        if self.files().any(|file| file.source == target || folder.join(&file.relative) == target) {
            return Err(Error::input("the scene's own data is in this file; save under another name"));
        }
        let mut staging = Staging::default();
        let (main, merged) = match extension.as_deref() {
            Some("glb") => self.glb()?,
            Some("gltf") => {
                let (main, sidecar) = self.gltf_text(&folder, &target)?;
                if let Some(Sidecar { name, bytes }) = sidecar {
                    staging.write(&folder.join(name), &bytes)?;
                }
                (main, vec![false; self.buffers.len()])
            }
            _ => return Err(Error::input("the name must end in .gltf or .glb, which says what to write")),
        };
        if self.folder.as_ref().is_some_and(|from| *from != folder) {
            self.take_along(&folder, &merged, &mut staging)?;
        }
        // The document comes last: whoever sees it finds all that it refers to.
        staging.write(&target, &main)?;
        Ok(staging.commit()?)
    }

    /// Every file that the document refers to.
    fn files(&self) -> impl Iterator<Item = &Resource> {
        let buffers = self.buffers.iter().filter_map(|b| match &b.home {
            Home::File(file) => Some(file),
            _ => None,
        });
        buffers.chain(&self.others)
    }

    /// The text of a `.gltf` file, and the file for its own data.
    fn gltf_text(&self, folder: &Path, target: &Path) -> Result<(Vec<u8>, Option<Sidecar>), Error> {
        let (json, sidecar) = self.gltf(|| self.sidecar_name(folder, target))?;
        let mut text = serde_json::to_vec_pretty(&json)
            .map_err(|e| Error::input(format!("the JSON cannot be written: {e}")))?;
        text.push(b'\n');
        Ok((text, sidecar))
    }

    /// The first of `stem.bin`, `stem-1.bin`, … that is none of the document's files, wherever those are. Letter
    /// case is ignored, as some disks do.
    fn sidecar_name(&self, folder: &Path, target: &Path) -> Result<String, Error> {
        let Some(stem) = target.file_stem().and_then(|s| s.to_str()) else {
            return Err(Error::input(
                "the file's name is not Unicode, which a URI in glTF must be; choose another",
            ));
        };
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        let is_free = |name: &String| {
            let place = folder.join(name);
            let real = place.canonicalize().unwrap_or(place);
            let clashes =
                |f: &Resource| lower(&f.relative) == name.to_lowercase() || lower(&f.source) == lower(&real);
            !self.files().any(clashes) && self.source.as_ref() != Some(&real)
        };
        let candidates =
            (0_u32..).map(|n| if n == 0 { format!("{stem}.bin") } else { format!("{stem}-{n}.bin") });
        // Ends: there are finitely many files to clash with.
        candidates.into_iter().find(is_free).ok_or_else(|| Error::input("no name is free for its data"))
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
            if place.exists() {
                if !same_bytes(&place, &file.source)? {
                    return Err(Error::input(format!(
                        "{} exists and differs from the scene's own {}; move it away or save elsewhere",
                        place.display(),
                        quote(&file.relative.to_string_lossy())
                    )));
                }
            } else {
                staging.copy(&place, &file.source)?;
            }
        }
        Ok(())
    }
}

/// Whether two files hold the same.
fn same_bytes(a: &Path, b: &Path) -> Result<bool, Error> {
    let fault = |e| Error::io(format!("cannot compare {} with {}", a.display(), b.display()), e);
    let (about_a, about_b) = (a.metadata().map_err(fault)?, b.metadata().map_err(fault)?);
    if !about_a.is_file() || about_a.len() != about_b.len() {
        return Ok(false);
    }
    let open = |path: &Path| File::open(path).map(BufReader::new).map_err(fault);
    let (mut a, mut b) = (open(a)?.bytes(), open(b)?.bytes());
    loop {
        match (a.next().transpose().map_err(fault)?, b.next().transpose().map_err(fault)?) {
            (None, None) => return Ok(true),
            (x, y) if x != y => return Ok(false),
            _ => {}
        }
    }
}
