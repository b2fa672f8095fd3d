//! Files to try: made ones always, and besides them real ones made by others, from a folder beside the repository, where
//! there is one; they are not ours to copy into it.

use crate::document::RawDocument;
use crate::made::character::Character;
use crate::{made, repository};
use std::path::{Path, PathBuf};

/// Names the folder of real files; `none` for standing alone.
const VARIABLE: &str = "SINEW_TEST_DATA";

/// The folder of real files: what `SINEW_TEST_DATA` names, or `../shared/data` from the workspace's root. `None` when that
/// is not there, or the variable is `none`. Panics when it names another folder that is not there: a slip must not turn
/// tests off.
pub fn folder() -> Option<PathBuf> {
    let beside = repository::root().join("../shared/data");
    match std::env::var_os(VARIABLE) {
        Some(named) if named == "none" => None,
        Some(named) => {
            let named = PathBuf::from(named);
            assert!(
                named.is_dir(),
                "{VARIABLE} names no folder: {}; say none for no samples",
                named.display()
            );
            Some(named)
        }
        None => beside.is_dir().then_some(beside),
    }
}

/// One real file, by its path in their folder; `None` where there is no folder: then a test has made ones. Panics when the
/// folder is there and the file is not: a renamed sample must not turn a test off.
pub fn file(relative: &str) -> Option<PathBuf> {
    let path = folder()?.join(relative);
    assert!(path.is_file(), "the sample {relative} is missing from the sample folder");
    Some(path)
}

/// Every glTF file to try: the made ones, written into `scratch`, characters among them, and the real ones.
pub fn gltf_files(scratch: &Path) -> Vec<PathBuf> {
    let mut files = made::files(scratch);
    files.extend(Character::all().iter().map(|c| c.write(scratch)));
    files.extend(real("gltf", &["gltf", "glb"]));
    files
}

/// Every USD file to try: the made ones, written into `scratch`, and the real ones.
pub fn usd_files(scratch: &Path) -> Vec<PathBuf> {
    let mut files = made::stage::files(scratch);
    files.extend(real("usd", &["usd", "usda", "usdc", "usdz"]));
    files
}

fn real(kind: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let Some(folder) = folder() else { return Vec::new() };
    let files = with_extension(&folder.join(kind), extensions);
    assert!(!files.is_empty(), "the sample folder holds no files of {kind}");
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
/// hide the next. No file at all is a failure: nothing was tested.
pub fn each(files: &[PathBuf], mut test: impl FnMut(&Path) -> Result<String, String>) {
    assert!(!files.is_empty(), "there is no file to try");
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

/// Every file below a folder whose name ends so, in order.
pub fn with_extension(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
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
