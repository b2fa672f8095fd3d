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
use openusd::usd::Stage;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Stack of the thread that reads, bytes: deep enough for what [`guard`] lets through. Only what is used is touched.
const STACK: usize = 256 << 20;

/// Runs `work` on a thread with a deep stack; a panic in it is an error about the file.
pub(super) fn apart<T: Send>(file: &str, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let run = || catch_unwind(AssertUnwindSafe(work));
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

/// A stage, and what its resolver refused.
pub(super) struct Opened {
    pub stage: Stage,
    refused: Rc<RefCell<Vec<String>>>,
}

/// Opens a stage. `path` must be absolute and its links resolved.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Opened, Error> {
    guard::check(path)?;
    let refused = Rc::new(RefCell::new(Vec::new()));
    let resolver = Fenced::new(path, options, refused.clone())?;
    let name = path.to_str().ok_or_else(|| Error::input("its name is not Unicode; rename it"))?;
    let opened = Stage::builder().resolver(resolver).open(name);
    // A refusal explains whatever else went wrong.
    if let Some(why) = refused.borrow().first() {
        return Err(Error::input(why.clone()));
    }
    let stage = opened.map_err(|e| Error::input(said(&e)))?;
    Ok(Opened { stage, refused })
}

impl Opened {
    /// Fails when anything outside the folders was asked for since; else what did not compose, as warnings.
    pub fn remarks(&self) -> Result<Vec<String>, Error> {
        if let Some(why) = self.refused.borrow().first() {
            return Err(Error::input(why.clone()));
        }
        let all = self.stage.composition_errors();
        let mut lines: Vec<String> = all.iter().map(|e| format!("composition: {e}")).collect();
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

/// Resolves like the library's own resolver, inside the permitted folders only.
struct Fenced {
    inner: ar::DefaultResolver,
    folders: Vec<PathBuf>,
    refused: Rc<RefCell<Vec<String>>>,
}

impl Fenced {
    fn new(path: &Path, options: &ReadOptions, refused: Rc<RefCell<Vec<String>>>) -> Result<Fenced, Error> {
        let mut folders = vec![path.parent().unwrap_or(Path::new("/")).to_path_buf()];
        let mut search = Vec::new();
        if let Some(root) = &options.asset_root {
            let root = root
                .canonicalize()
                .map_err(|e| Error::io(format!("cannot open the folder {}", root.display()), e))?;
            search.push(root.clone());
            folders.push(root);
        }
        Ok(Fenced { inner: ar::DefaultResolver::with_search_paths(search), folders, refused })
    }

    /// Whether a resolved path may be opened; a refusal is noted.
    fn permits(&self, asset: &str, resolved: &ar::ResolvedPath) -> bool {
        let text = resolved.to_string_lossy();
        let outer =
            ar::split_package_relative_path_outer(&text).map_or(text.to_string(), |(package, _)| package);
        let refuse = |why: String| {
            let mut refused = self.refused.borrow_mut();
            if !refused.contains(&why) {
                refused.push(why);
            }
            false
        };
        let Ok(real) = Path::new(&outer).canonicalize() else { return false };
        if !self.folders.iter().any(|folder| real.starts_with(folder)) {
            return refuse(format!(
                "@{asset}@ leads outside the scene's folder, where nothing is read; put the file beside the scene or \
                 widen the asset root"
            ));
        }
        if !real.metadata().is_ok_and(|m| m.is_file()) {
            return refuse(format!("@{asset}@ is not a regular file (a folder, device or pipe)"));
        }
        match guard::check(&real) {
            Ok(()) => true,
            Err(e) => refuse(format!("@{asset}@: {e}")),
        }
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
        self.inner.open_asset(resolved_path)
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
