//! Real files made by others, from a folder beside the repository: they are not ours to copy into it.

use crate::document::RawDocument;
use crate::{repository, skip};
use std::path::{Path, PathBuf};

/// The sample folder: `SINEW_TEST_DATA`, or `../shared/data` from the workspace's root. `None`, said aloud, when
/// there is none; a panic when `CI` is set.
pub fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("SINEW_TEST_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => repository::root().join("../shared/data"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    skip::because(&format!("no sample data in {}; set SINEW_TEST_DATA", folder.display()));
    None
}

/// One file of the sample folder, by its path there; `None` as for [`folder`]. Panics when the folder is there
/// and the file is not: a renamed sample must not turn a test off.
pub fn file(relative: &str) -> Option<PathBuf> {
    let path = folder()?.join(relative);
    assert!(path.is_file(), "the sample {relative} is missing from the sample folder");
    Some(path)
}

/// Every .gltf and .glb file, in order; empty when there is no sample folder.
pub fn gltf_files() -> Vec<PathBuf> {
    let Some(folder) = folder() else { return Vec::new() };
    let files = with_extension(&folder.join("gltf"), &["gltf", "glb"]);
    assert!(!files.is_empty(), "the sample folder holds no glTF files");
    files
}

/// Every USD file, in order; empty when there is no sample folder.
pub fn usd_files() -> Vec<PathBuf> {
    let Some(folder) = folder() else { return Vec::new() };
    let files = with_extension(&folder.join("usd"), &["usd", "usda", "usdc", "usdz"]);
    assert!(!files.is_empty(), "the sample folder holds no USD files");
    files
}

/// The name of a file in messages: its path below the folder named after the format, or just its name.
pub fn label(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    let from = parts
        .iter()
        .rposition(|part| part == "gltf" || part == "usd")
        .map_or(parts.len().saturating_sub(1), |at| at + 1);
    parts[from..].join("/")
}

/// Tries every file, prints a line for each, and panics at the end with all that failed: one bad file does not
/// hide the next.
pub fn each(files: &[PathBuf], mut test: impl FnMut(&Path) -> Result<String, String>) {
    let mut failures = Vec::new();
    for file in files {
        let name = label(file);
        match test(file) {
            Ok(said) => println!("  {name:<52} {said}"),
            Err(why) => {
                println!("  {name:<52} FAILED");
                failures.push(format!("{name}: {why}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} files failed\n{}",
        failures.len(),
        files.len(),
        failures.join("\n")
    );
}

/// Whether a sample may be refused with that message: only curves that are themselves compressed, and only when
/// the message says that this is the reason.
pub fn may_be_refused(path: &Path, message: &str) -> Result<String, String> {
    let raw = RawDocument::open(path)?;
    if ["KHR_meshopt_compression", "EXT_meshopt_compression"].iter().any(|name| raw.requires(name))
        && message.contains("meshopt")
    {
        return Ok(format!("refused, as it may be: {message}"));
    }
    Err(format!("is refused: {message}"))
}

fn with_extension(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.map(|entry| entry.expect("the sample folder can be listed").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
