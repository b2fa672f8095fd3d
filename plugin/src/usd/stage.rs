//! Opening stages: what is read, from where, and what happens when a file is not what it says.
//!
//! Files come from anywhere. The parser is a library that trusts them in places, so it runs on a thread of its own
//! with a deep stack, where a panic is caught and becomes an [`Error`]; text that is nested out of all proportion is
//! refused before it is parsed; and nothing is opened outside the scene's folder and the asset root: absolute paths,
//! `..`, links and search paths that lead elsewhere, devices and pipes.

use super::guard;
use crate::error::Error;
use crate::gltf::ReadOptions;
use openusd::ar::{self, Resolver};
use openusd::pcp::watch::watched;
use openusd::sdf;
use openusd::usd::{Prim, PrimPredicate, Stage};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// Stack of the thread that reads, bytes: deep enough for what [`guard`] lets through. Only what is used is touched.
const STACK: usize = 128 << 20;

/// Runs `work` on a thread with a deep stack; a panic in it is an error about the file, and so is composing that takes more
/// steps than its files can have meant.
pub(super) fn apart<T: Send>(file: &str, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let run = || {
        let done = catch_unwind(AssertUnwindSafe(|| watched(Rc::new(allowed), work)));
        // Where the library made do with what it had, too.
        if OVERDONE.get() { Ok(Err(Error::input(allowed(0).err().unwrap_or_default()))) } else { done }
    };
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("sinew-usd".into()).stack_size(STACK);
        let thread =
            thread.spawn_scoped(scope, run).map_err(|e| Error::io("cannot start a thread to read it", e))?;
        Ok::<_, Error>(thread.join())
    });
    match done {
        Ok(Ok(Ok(result))) => result.map_err(|e| e.in_file(file)),
        Ok(Ok(Err(_)) | Err(_)) => {
            let what = "the file is damaged: its parts contradict each other; export it again";
            Err(Error::input(what).in_file(file))
        }
        Err(e) => Err(e.in_file(file)),
    }
}

/// Steps of composing for each prim that a stage may have.
const STEPS_PER_PRIM: u64 = 50;

thread_local! {
    /// Bytes of all layers that this thread has opened.
    static BYTES: Cell<u64> = const { Cell::new(0) };
    /// Steps of composing that it has taken.
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static OVERDONE: Cell<bool> = const { Cell::new(false) };
}

/// Counts steps of composing; fails when there were more than the files can have meant.
fn allowed(steps: u64) -> Result<(), String> {
    let most = (MOST_PRIMS + BYTES.get() / BYTES_PER_PRIM).saturating_mul(STEPS_PER_PRIM);
    STEPS.set(STEPS.get().saturating_add(steps));
    if STEPS.get() <= most && !OVERDONE.get() {
        return Ok(());
    }
    OVERDONE.set(true);
    Err(format!(
        "composing it takes more than {most} steps, out of proportion to its files; do references, inherits or specializes \
         repeat each other? Flatten the parts that do"
    ))
}

/// A stage, and what its resolver met.
pub(super) struct Opened {
    pub stage: Stage,
    met: Rc<Met>,
    /// Its prims, once somebody has asked.
    walked: RefCell<Option<Vec<Prim>>>,
    /// What composed it, where that was not we.
    elsewhere: Option<Elsewhere>,
}

/// A stage that OpenUSD composed.
struct Elsewhere {
    /// What it warned of.
    said: Vec<String>,
    /// Identifier of the root layer.
    root: String,
    /// Where its layer is.
    _scratch: TempDir,
}

/// What a resolver met.
#[derive(Default)]
struct Met {
    /// Why assets were refused.
    refused: RefCell<Vec<String>>,
    /// Bytes of all that was opened.
    bytes: Cell<u64>,
}

/// Prims that a stage may have however small its files: references multiply what they hold.
pub(super) const MOST_PRIMS: u64 = 2_000;

/// And one more for so many bytes: a fifth of what text needs for one, since assets are used again and again.
pub(super) const BYTES_PER_PRIM: u64 = 2;

/// Opens a stage. `path` must be absolute and its links resolved.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Opened, Error> {
    guard::check(path)?;
    let met = Rc::new(Met::default());
    let resolver = Fenced::new(path, options, met.clone())?;
    let name = path.to_str().ok_or_else(|| Error::input("its name is not Unicode; rename it"))?;
    let opened = Stage::builder().resolver(resolver).open(name);
    // A refusal explains whatever else went wrong.
    if let Some(why) = met.refused.borrow().first() {
        return Err(Error::input(why.clone()));
    }
    let stage = opened.map_err(|e| Error::input(said(&e)))?;
    Ok(Opened { stage, met, walked: RefCell::new(None), elsewhere: None })
}

impl Opened {
    /// The same, as OpenUSD composed it out of so many bytes.
    pub fn composed_elsewhere(
        mut self,
        said: Vec<String>,
        bytes: u64,
        root: String,
        scratch: TempDir,
    ) -> Opened {
        self.met.bytes.set(self.met.bytes.get().saturating_add(bytes));
        self.elsewhere = Some(Elsewhere { said, root, _scratch: scratch });
        self
    }

    /// Identifier of the root layer, where OpenUSD composed it.
    pub fn root_elsewhere(&self) -> Option<&str> {
        self.elsewhere.as_ref().map(|e| e.root.as_str())
    }

    /// Every prim that is active, loaded, defined and not abstract, parents first, those inside instances too. Fails when
    /// there are more than the files can have meant: references of references grow without bounds.
    pub fn prims(&self) -> Result<Vec<Prim>, Error> {
        if let Some(walked) = &*self.walked.borrow() {
            return Ok(walked.clone());
        }
        let bad = |e: &dyn std::error::Error| Error::input(said(e));
        let most = MOST_PRIMS + self.met.bytes.get() / BYTES_PER_PRIM;
        let mut found = Vec::new();
        let root = self.stage.prim(sdf::Path::abs_root()).map_err(|e| bad(&e))?;
        let mut stack = root.children().map_err(|e| bad(&e))?;
        stack.reverse();
        while let Some(prim) = stack.pop() {
            let matches = self.stage.prim_matches(prim.path(), PrimPredicate::DEFAULT_PROXIES);
            if !matches.map_err(|e| bad(&e))? {
                continue;
            }
            if found.len() as u64 >= most {
                let what = format!(
                    "there are more than {most} prims, out of proportion to its files; are references repeated? Flatten the stage if that is meant"
                );
                return Err(Error::input(what).at(&format!("<{}>", prim.path().as_str())));
            }
            stack.extend(prim.children().map_err(|e| bad(&e))?.into_iter().rev());
            found.push(prim);
        }
        *self.walked.borrow_mut() = Some(found.clone());
        Ok(found)
    }

    /// Fails when anything outside the folders was asked for since; else what did not compose, as warnings.
    pub fn remarks(&self) -> Result<Vec<String>, Error> {
        if let Some(why) = self.met.refused.borrow().first() {
            return Err(Error::input(why.clone()));
        }
        let all = self.stage.composition_errors();
        let mut lines: Vec<String> = all.iter().map(|e| format!("composition: {e}")).collect();
        let said = self.elsewhere.iter().flat_map(|e| &e.said);
        lines.extend(said.map(|line| format!("composition: {line}")));
        lines.sort();
        lines.dedup();
        Ok(lines)
    }
}

/// An error of the library, with its causes.
pub(super) fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let line = e.to_string();
        if !text.contains(&line) {
            text = format!("{text}: {line}");
        }
        cause = e.source();
    }
    text
}

/// The folders that may be read.
pub(super) struct Fence {
    folders: Vec<PathBuf>,
    /// Those of them that assets are looked for in.
    pub search: Vec<PathBuf>,
}

impl Fence {
    /// Of a stage's file: its own folder and the asset root.
    pub fn new(path: &Path, options: &ReadOptions) -> Result<Fence, Error> {
        let mut folders = vec![path.parent().unwrap_or(Path::new("/")).to_path_buf()];
        let mut search = Vec::new();
        if let Some(root) = &options.asset_root {
            let root = root
                .canonicalize()
                .map_err(|e| Error::io(format!("cannot open the folder {}", root.display()), e))?;
            search.push(root.clone());
            folders.push(root);
        }
        Ok(Fence { folders, search })
    }

    /// Why a file that is there may not be opened; `None` where it may.
    pub fn refusal(&self, asset: &str, file: &Path) -> Option<String> {
        let real = file.canonicalize().ok()?;
        if !self.folders.iter().any(|folder| real.starts_with(folder)) {
            return Some(format!(
                "@{asset}@ leads outside the scene's folder, where nothing is read; put the file beside the scene or \
                 widen the asset root"
            ));
        }
        if !real.metadata().is_ok_and(|m| m.is_file()) {
            return Some(format!("@{asset}@ is not a regular file (a folder, device or pipe)"));
        }
        guard::check(&real).err().map(|e| format!("@{asset}@: {e}"))
    }
}

/// Resolves like the library's own resolver, inside the permitted folders only.
struct Fenced {
    inner: ar::DefaultResolver,
    fence: Fence,
    met: Rc<Met>,
}

impl Fenced {
    fn new(path: &Path, options: &ReadOptions, met: Rc<Met>) -> Result<Fenced, Error> {
        let fence = Fence::new(path, options)?;
        Ok(Fenced { inner: ar::DefaultResolver::with_search_paths(fence.search.clone()), fence, met })
    }

    /// Whether a resolved path may be opened; a refusal is noted.
    fn permits(&self, asset: &str, resolved: &ar::ResolvedPath) -> bool {
        let text = resolved.to_string_lossy();
        let outer =
            ar::split_package_relative_path_outer(&text).map_or(text.to_string(), |(package, _)| package);
        let outer = Path::new(&outer);
        let Some(why) = self.fence.refusal(asset, outer) else { return outer.exists() };
        let mut refused = self.met.refused.borrow_mut();
        if !refused.contains(&why) {
            refused.push(why);
        }
        false
    }
}

impl Resolver for Fenced {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ar::ResolvedPath>) -> String {
        self.inner.create_identifier(asset_path, anchor)
    }

    fn resolve(&self, asset_path: &str) -> Option<ar::ResolvedPath> {
        // Asked before the library looks: an entry of a package is only found by opening the package.
        let outer = ar::split_package_relative_path_outer(asset_path).map(|(package, _)| package);
        if let Some(package) = outer {
            let found = self.inner.resolve(&package)?;
            if !self.permits(asset_path, &found) {
                return None;
            }
        }
        let resolved = self.inner.resolve(asset_path)?;
        self.permits(asset_path, &resolved).then_some(resolved)
    }

    fn resolve_for_new_asset(&self, asset_path: &str) -> Option<ar::ResolvedPath> {
        self.inner.resolve_for_new_asset(asset_path)
    }

    fn open_asset(&self, resolved_path: &ar::ResolvedPath) -> io::Result<Box<dyn ar::Asset>> {
        if !self.permits(&resolved_path.to_string_lossy(), resolved_path) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "outside the scene's folder"));
        }
        let asset = self.inner.open_asset(resolved_path)?;
        let size = asset.size()?;
        self.met.bytes.set(self.met.bytes.get().saturating_add(size));
        BYTES.set(BYTES.get().saturating_add(size));
        Ok(asset)
    }

    fn is_context_dependent_path(&self, asset_path: &str) -> bool {
        self.inner.is_context_dependent_path(asset_path)
    }

    fn in_memory_identifier<'a>(&self, asset_path: &'a str) -> Cow<'a, str> {
        self.inner.in_memory_identifier(asset_path)
    }

    fn identity(&self) -> String {
        self.inner.identity()
    }

    fn cache_id(&self) -> Option<u64> {
        self.inner.cache_id()
    }
}
