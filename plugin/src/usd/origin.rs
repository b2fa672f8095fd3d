//! Where a stage comes from and who composes it: a file, bytes, or a stage in the host's memory; ourselves, or a studio's
//! own OpenUSD.

use super::stage::{self, Fence, Opened};
use crate::error::Error;
use crate::files::{Unread, Witness, scratch};
use crate::gltf::ReadOptions;
use sinew_bridge::{Answer, Bridge, Request, Source, Way};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Who composes stages and writes layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Sinew itself.
    #[default]
    BuiltIn,
    /// A studio's own OpenUSD, with its resolver and its schemas, where its bridge is there; else Sinew itself, with a
    /// warning.
    OpenUsd,
}

/// Where a stage comes from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// The root layer's file, links resolved; empty for a stage of the host.
    pub file: PathBuf,
    /// The number of the host's stage in the cache of UsdUtils.
    pub stage: Option<i64>,
    /// What the file held when it was first opened; `None` where it is nobody's to change.
    pub witness: Option<Witness>,
    /// Holds the file of what came as bytes.
    pub memory: Option<Arc<TempDir>>,
    /// Who composes it.
    pub backend: Backend,
    pub options: ReadOptions,
}

/// The bridge, if that is who is asked for; a warning where it is not there.
fn chosen(options: &ReadOptions, warnings: &mut Vec<String>) -> Backend {
    match (options.usd_backend, Bridge::get()) {
        (Backend::OpenUsd, Err(why)) => {
            warnings.push(format!("{why}. Until then Sinew reads and writes USD itself"));
            Backend::BuiltIn
        }
        (wanted, _) => wanted,
    }
}

impl Origin {
    /// A file.
    pub fn file(path: &Path, options: &ReadOptions, warnings: &mut Vec<String>) -> Result<Origin, Error> {
        let file =
            path.canonicalize().map_err(|e| Error::io(format!("cannot open {}", path.display()), e))?;
        let backend = if options.usd_backend == Backend::BuiltIn {
            Backend::BuiltIn
        } else {
            chosen(options, warnings)
        };
        let witness = Witness::of_file(&file).map_err(|why| match why {
            Unread::Io(e) => Error::io(format!("cannot read {}", path.display()), e),
            why => Error::input(format!("{} {why}", path.display())),
        })?;
        let witness = Some(witness);
        Ok(Origin { file, stage: None, witness, memory: None, backend, options: options.clone() })
    }

    /// Bytes: they get a file of their own, with nothing beside it.
    pub fn memory(bytes: &[u8], name: &str) -> Result<Origin, Error> {
        let ending = match bytes {
            [b'P', b'K', ..] => "usdz",
            _ if bytes.starts_with(b"PXR-USDC") => "usdc",
            _ => "usda",
        };
        let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let stem: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(64).collect();
        let scratch = scratch().map_err(|e| Error::io("there is no room for what is in memory", e))?;
        let file = scratch.path().join(format!("{}.{ending}", if stem.is_empty() { "scene" } else { &stem }));
        std::fs::write(&file, bytes).map_err(|e| Error::io("there is no room for what is in memory", e))?;
        let file = file.canonicalize().map_err(|e| Error::io("what is in memory cannot be read", e))?;
        let options = ReadOptions::default();
        let (memory, backend) = (Some(Arc::new(scratch)), Backend::BuiltIn);
        Ok(Origin { file, stage: None, witness: None, memory, backend, options })
    }

    /// A stage of the host.
    pub fn stage(id: i64, options: &ReadOptions) -> Result<Origin, Error> {
        Bridge::get().map_err(|why| Error::input(why.to_string()))?;
        let (file, options) = (PathBuf::new(), options.clone());
        Ok(Origin { file, stage: Some(id), witness: None, memory: None, backend: Backend::OpenUsd, options })
    }

    /// Composes it.
    pub fn open(&self) -> Result<Opened, Error> {
        if self.backend == Backend::BuiltIn {
            return stage::open(&self.file, &self.options);
        }
        let scratch = scratch().map_err(|e| Error::io("there is no room to compose it", e))?;
        let into = scratch.path().join("stage.usdc");
        if self.stage.is_none() {
            super::guard::check(&self.file)?;
        }
        let answer = self.ask(&Request::Read { source: self.source()?, into: into.clone() })?;
        let into = into.canonicalize().map_err(|e| Error::io("what OpenUSD wrote cannot be read", e))?;
        let opened = stage::open(&into, &ReadOptions::default())?;
        Ok(opened.composed_elsewhere(answer.warnings, answer.bytes, answer.layer, scratch))
    }

    /// Asks OpenUSD to write.
    pub fn write(&self, edits: &Path, way: Way, into: &Path) -> Result<Answer, Error> {
        let (edits, into) = (edits.to_owned(), into.to_owned());
        self.ask(&Request::Write { source: self.source()?, edits, way, into })
    }

    fn source(&self) -> Result<Source, Error> {
        let file =
            self.file.to_str().ok_or_else(|| Error::input("its name is not Unicode; rename it"))?.to_owned();
        let search = self.fence()?.search;
        let (most_prims, bytes_per_prim) = (stage::MOST_PRIMS, stage::BYTES_PER_PRIM);
        Ok(Source { file, stage: self.stage, search, most_prims, bytes_per_prim })
    }

    fn fence(&self) -> Result<Fence, Error> {
        Fence::new(&self.file, &self.options)
    }

    fn ask(&self, request: &Request) -> Result<Answer, Error> {
        let bridge = Bridge::get().map_err(|why| Error::input(why.to_string()))?;
        let fence = self.fence()?;
        let mut refused = None;
        let answer = bridge.ask(request, &mut |met| {
            let why = fence.refusal(&met.asset, &met.path);
            refused = refused.take().or(why);
            refused.is_none()
        });
        match refused.or(answer.error.clone()) {
            Some(why) => Err(Error::input(why)),
            None => Ok(answer),
        }
    }
}
