//! Reading a package through a resolver (C++ `Sdf_UsdzResolver`), each
//! package opened once per cache scope (C++ `Sdf_UsdzResolverCache`).

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Archive, ArchiveError};
use crate::{ar, tf};

/// A package opened through a resolver: its central directory, parsed once
/// and shared by every holder (C++ `SdfZipFile` as `Sdf_UsdzResolverCache`
/// shares it).
#[derive(Clone)]
pub struct Package(Arc<Mutex<Archive>>);

impl Package {
    /// Runs `read` on the package's archive. Holders take turns, since
    /// reading an entry moves the archive's position in its asset.
    ///
    /// TODO(rayon): a reader of one entry holds the package for the whole
    /// read. Entries are independent ranges of the package: readers on
    /// several threads could each take a range under the lock and read it
    /// outside.
    pub fn with<T>(&self, read: impl FnOnce(&mut Archive) -> T) -> T {
        read(&mut tf::lock(&self.0))
    }
}

/// Why a package could not be opened, or an entry of it read. The failure
/// is shared, since a cache scope reports one failed open to every caller
/// that asks for the package within it.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct PackageError(Arc<ArchiveError>);

impl PackageError {
    /// The failure underneath.
    pub fn archive_error(&self) -> &ArchiveError {
        &self.0
    }
}

impl From<ArchiveError> for PackageError {
    fn from(error: ArchiveError) -> Self {
        PackageError(Arc::new(error))
    }
}

/// A package failure keeps the kind of the byte I/O failure underneath it
/// when there is one.
impl From<PackageError> for io::Error {
    fn from(error: PackageError) -> Self {
        io::Error::new(error.0.io_kind().unwrap_or(io::ErrorKind::Other), error)
    }
}

/// The package work done on one thread, as [`package_stats`] reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackageStats {
    /// How many times a package file was asked for, found or not.
    pub opens: u64,
    /// How many times a package was opened to parse its central directory,
    /// counting each level of a package nested in another.
    pub directory_parses: u64,
    /// How many requests for a package a cache scope answered with one it
    /// had already opened.
    pub cache_hits: u64,
}

/// What a cache scope keeps for packages: each one opened within it, by
/// the resolver it was opened through and the package path it was asked for
/// by, one slot per level of nesting. A slot is filled once, by the open,
/// and holds its failure when it fails.
#[derive(Default)]
struct PackageCache {
    slots: Mutex<HashMap<u64, HashMap<String, PackageSlot>>>,
}

type PackageSlot = Arc<OnceLock<Result<Package, PackageError>>>;

/// Opens the package at `package` through `resolver`, reading only its
/// central directory. `package` is a resolved path, itself package-relative
/// for a package nested in another (`outer.usdz[inner.usdz]`), whose asset
/// the resolver serves as an entry of the package around it.
///
/// With an [`ar::CacheScope`] open on the calling thread, and a resolver
/// that names itself to caches ([`ar::Resolver::cache_id`]), the package
/// comes from the scope's cache (C++
/// `Sdf_UsdzResolverCache::FindOrOpenZipFile`): it is opened once within the
/// scope, callers that miss on it at once share the one open, and a failed
/// open is kept and reported to each of them. Otherwise it is opened for
/// this call alone.
///
/// A cached package is answered for as long as the scope is open: one
/// replaced meanwhile is still read as it was opened, and one that failed
/// to open still fails. A caller that rewrites a package ends the scope
/// first.
pub fn open_package(resolver: &dyn ar::Resolver, package: &ar::ResolvedPath) -> Result<Package, PackageError> {
    let path = package.to_string_lossy();
    let open = || -> Result<Package, PackageError> {
        count(|stats| {
            if !ar::is_package_relative_path(&path) {
                stats.opens += 1;
            }
            stats.directory_parses += 1;
        });
        // A nested package's asset is an entry of the package around it,
        // and a failure to read that one arrives wrapped as an I/O error:
        // it is reported as the package failure it is.
        let asset = resolver
            .open_asset(package)
            .map_err(|error| match error.downcast::<PackageError>() {
                Ok(outer) => outer,
                Err(error) => ArchiveError::from(error).into(),
            })?;
        Ok(Package(Arc::new(Mutex::new(Archive::from_asset(asset)?))))
    };
    let (Some(scope), Some(resolver_id)) = (ar::CacheScope::current(), resolver.cache_id()) else {
        return open();
    };
    // The slot map is locked only to find the package's slot. The open runs
    // under the slot alone. The open of a nested package, which asks the
    // resolver for the package around it, takes the map afresh.
    let cache = scope.cache::<PackageCache>();
    let slot = {
        let mut slots = tf::lock(&cache.slots);
        let of_resolver = slots.entry(resolver_id).or_default();
        match of_resolver.get(path.as_ref()) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(of_resolver.entry(path.to_string()).or_default()),
        }
    };
    if let Some(found) = slot.get() {
        count(|stats| stats.cache_hits += 1);
        return found.clone();
    }
    slot.get_or_init(open).clone()
}

/// Whether `inner` should be treated as present in the package at `package`
/// (C++ `Sdf_UsdzResolver::Resolve`).
///
/// Reading only the archive's central directory, not its entry data, a
/// readable archive that lacks a flat entry reports it absent. A nested
/// packaged path (`inner.usdz[deep.usd]`) is checked one bracket at a time,
/// the inner package read from its entry. A package that cannot be opened
/// (an I/O error or a corrupt archive, as distinct from an absent entry) is
/// treated as present. The open that follows then reports the real error,
/// where an absent package would read as a missing asset.
pub fn package_contains(resolver: &dyn ar::Resolver, package: &str, inner: &str) -> bool {
    let Ok(found) = open_package(resolver, &ar::ResolvedPath::new(package)) else {
        return true;
    };
    let Some((nested, rest)) = ar::split_package_relative_path_outer(inner) else {
        return found.with(|archive| archive.contains(inner));
    };
    found.with(|archive| archive.contains(&nested))
        && package_contains(resolver, &ar::nest_packaged_path(package, &nested), &rest)
}

/// The bytes of the entry `inner` names in the package at `package` (C++
/// `Sdf_UsdzResolver::OpenAsset`). A nested packaged path
/// (`inner.usdz[deep.usd]`) is followed one bracket at a time from the
/// outside, as [`package_contains`] follows it, each level a view of the
/// one around it when the package shares its bytes.
pub fn package_entry(resolver: &dyn ar::Resolver, package: &str, inner: &str) -> Result<ar::AssetBuffer, PackageError> {
    match ar::split_package_relative_path_outer(inner) {
        Some((nested, rest)) => package_entry(resolver, &ar::nest_packaged_path(package, &nested), &rest),
        None => Ok(open_package(resolver, &ar::ResolvedPath::new(package))?.with(|archive| archive.entry(inner))?),
    }
}

/// The package work [`open_package`] has done on the calling thread.
pub fn package_stats() -> PackageStats {
    STATS.get()
}

/// Applies `update` to the calling thread's counts.
fn count(update: impl FnOnce(&mut PackageStats)) {
    let mut stats = STATS.get();
    update(&mut stats);
    STATS.set(stats);
}

thread_local! {
    static STATS: Cell<PackageStats> = const {
        Cell::new(PackageStats {
            opens: 0,
            directory_parses: 0,
            cache_hits: 0,
        })
    };
}
