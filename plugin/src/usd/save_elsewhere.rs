//! Saving by a studio's own OpenUSD: what changed goes to it as a layer, and what it made of that goes to its place.

use super::edits::Edits;
use super::save::{self, Destination, relative};
use super::stage::{self, Opened};
use super::{Backend, Document};
use crate::error::Error;
use crate::files::{Staging, scratch};
use openusd::sdf::{self, AbstractData};
use sinew_bridge::Way;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

impl Document {
    /// Puts what changed on the host's stage, as a layer below its session layer, in place of what was put there before.
    /// Returns what is worth knowing.
    pub fn put_on_stage(&self) -> Result<Vec<String>, Error> {
        let (file, _scratch, mut warnings) = stage::apart(&self.file, || {
            if !self.is_of_host() {
                return Err(Error::input("is no stage of the host's; save it to a file"));
            }
            let opened = self.origin.open()?;
            let mut warnings = Vec::new();
            let (edits, range) = self.edits(&opened, &mut warnings)?;
            let scratch = room()?;
            let file = self.edits_file(&opened, edits, range, None, &scratch.path().join("edits.usda"))?;
            Ok((file, scratch, warnings))
        })?;
        // On the host's own thread: its stage tells whoever listens of the change, and they may belong to that thread.
        let answer = self.origin.write(&file, Way::Live, Path::new(""));
        warnings.extend(answer.map_err(|e| e.in_file(&self.file))?.warnings);
        Ok(warnings)
    }

    /// Writes to a file whose folder exists.
    pub(super) fn save_elsewhere(
        &self,
        opened: &Opened,
        edits: Edits,
        range: Option<[f64; 2]>,
        how: Destination,
        target: &Path,
        staging: &mut Staging,
    ) -> Result<Vec<String>, Error> {
        let scratch = room()?;
        let folder = target.parent().unwrap_or(Path::new("."));
        let name = target.file_name().ok_or_else(|| Error::input("the path names no file"))?;
        let ending = target.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let stem = target.file_stem().map_or("scene".into(), |s| s.to_string_lossy().into_owned());
        let made = scratch.path().join("made");
        std::fs::create_dir(&made).map_err(|e| Error::io("there is no room to write it", e))?;
        let mut made = made.join(name);
        let below = self.root_file(opened);
        let given = scratch.path().join(format!("{stem}.usda"));
        let mut warnings = Vec::new();
        match (ending.as_str(), how, below) {
            ("usdz", _, Some(below)) if below.extension().is_none_or(|e| !e.eq_ignore_ascii_case("usdz")) => {
                let below = below.to_string_lossy().into_owned();
                let file = self.edits_file(opened, edits, range, Some(below), &given)?;
                warnings.extend(self.origin.write(&file, Way::Package, &made)?.warnings);
            }
            ("usdz", ..) => {
                let file = self.edits_file(opened, edits, range, None, &scratch.path().join("edits.usda"))?;
                let flat = given.with_extension("usdc");
                warnings.extend(self.origin.write(&file, Way::Flat, &flat)?.warnings);
                warnings.extend(self.origin.write(&flat, Way::Package, &made)?.warnings);
            }
            (_, Destination::Layer, Some(below)) => {
                let file = self.edits_file(opened, edits, range, Some(relative(folder, &below)), &given)?;
                warnings.extend(self.origin.write(&file, Way::Layer, &made)?.warnings);
            }
            (_, Destination::Layer | Destination::Flat, _) => {
                let file = self.edits_file(opened, edits, range, None, &given)?;
                warnings.extend(self.origin.write(&file, Way::Flat, &made)?.warnings);
            }
            (_, Destination::InPlace, _) => {
                // The format that the file is in, whatever its name.
                let old = std::fs::read(&self.origin.file).map_err(|e| Error::io("cannot read it", e))?;
                made.set_extension(if old.starts_with(b"PXR-USDC") { "usdc" } else { "usda" });
                let file = self.edits_file(opened, edits, range, None, &given)?;
                warnings.extend(self.origin.write(&file, Way::InPlace, &made)?.warnings);
            }
        }
        let bytes = std::fs::read(&made).map_err(|e| Error::io("what OpenUSD wrote cannot be read", e))?;
        self.put(target, &bytes, staging)?;
        Ok(warnings)
    }

    /// The file of the root layer, where it has one.
    pub(super) fn root_file(&self, opened: &Opened) -> Option<PathBuf> {
        match self.origin.stage {
            None => Some(self.origin.file.clone()),
            Some(_) => Path::new(opened.root_elsewhere()?).canonicalize().ok(),
        }
    }

    /// Writes what changed as a layer, over a sublayer where there is one.
    fn edits_file(
        &self,
        opened: &Opened,
        edits: Edits,
        range: Option<[f64; 2]>,
        sublayer: Option<String>,
        file: &Path,
    ) -> Result<PathBuf, Error> {
        debug_assert_eq!(self.origin.backend, Backend::OpenUsd);
        let mut data = sdf::Data::new();
        sdf::Data::create_spec(&mut data, sdf::Path::abs_root(), sdf::SpecType::PseudoRoot);
        match sublayer {
            Some(sublayer) => self.over(opened, &mut data, sublayer, range),
            None => {
                self.widen(&mut data, range);
                // A layer of another rate is stretched when it comes to lie on the stage.
                let rate = sdf::Value::Double(self.units.rate);
                data.set_field(&sdf::Path::abs_root(), "timeCodesPerSecond", rate);
            }
        }
        edits.write(&mut data, Some(&opened.stage))?;
        std::fs::write(file, save::bytes(&data, "usda")?)
            .map_err(|e| Error::io("there is no room to write it", e))?;
        Ok(file.to_owned())
    }
}

fn room() -> Result<TempDir, Error> {
    scratch().map_err(|e| Error::io("there is no room to write it", e))
}
