//! Files named by what they hold, as `walk.0123456789abcdef.bin`: never written over another, and removed when no document
//! in their folder refers to them any more.

use super::digest::digest;
use super::open_regular;
use std::fs;
use std::path::{Path, PathBuf};

/// Digits of the digest in a name.
const DIGITS: usize = 16;
/// Bytes of the stem that a name keeps: names of files are short on every system.
const STEM: usize = 200;
/// Longest document that is looked through for names.
pub(super) const LONGEST_TEXT: u64 = 1 << 30;
/// Most documents in a folder that are looked through.
const MOST_DOCUMENTS: usize = 1000;

fn digits(bytes: &[u8]) -> String {
    format!("{:0DIGITS$x}", (digest(bytes) >> 64) as u64)
}

/// The name for `bytes` that belong to a document called `stem`.
pub(super) fn name(stem: &str, bytes: &[u8]) -> String {
    let end = (0..=stem.len().min(STEM)).rev().find(|&i| stem.is_char_boundary(i)).unwrap_or(0);
    format!("{}.{}.bin", &stem[..end], digits(bytes))
}

/// The digest in a file's name, with the dots around it.
fn mark(name: &str) -> Option<&str> {
    let rest = name.strip_suffix(".bin")?;
    let at = rest.len().checked_sub(DIGITS + 1)?;
    let found = rest.get(at..)?.strip_prefix('.')?;
    let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    (at > 0 && found.bytes().all(is_digit)).then(|| &name[at..])
}

/// Whether a file of that name and content is one of these.
pub(crate) fn is_named_by_content(name: &str, bytes: &[u8]) -> bool {
    mark(name).is_some_and(|mark| mark[1..].strip_suffix(".bin") == Some(digits(bytes).as_str()))
}

/// Such files in `folder` that a document's text names.
pub(super) fn named_in(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
    let is_named = |name: &str| mark(name).is_some_and(|mark| contains(text, mark.as_bytes()));
    names.filter(|n| n.to_str().is_some_and(is_named)).map(|n| folder.join(n)).collect()
}

/// Removes one that no document in its folder names. What cannot be looked at may name it.
pub(super) fn remove_unnamed(file: &Path) {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|n| n.to_str())) else {
        return;
    };
    let Some(mark) = mark(name) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    let documents: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| {
            p.extension().is_some_and(|e| e.eq_ignore_ascii_case("gltf") || e.eq_ignore_ascii_case("glb"))
        })
        .take(MOST_DOCUMENTS + 1)
        .collect();
    let names_it = |document: &PathBuf| {
        let text = super::read_regular(document, LONGEST_TEXT);
        text.map_or(true, |text| contains(&text, mark.as_bytes()))
    };
    if documents.len() > MOST_DOCUMENTS || documents.iter().any(names_it) {
        return;
    }
    let is_ours = |bytes: Vec<u8>| is_named_by_content(name, &bytes);
    if open_regular(file).and_then(|f| super::door::read_all(f, u64::MAX)).is_ok_and(is_ours) {
        let _ = fs::remove_file(file);
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|w| w == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_in_the_file() {
        let made = name("my bake", b"bytes");
        assert_eq!(made.len(), "my bake..bin".len() + DIGITS);
        assert!(is_named_by_content(&made, b"bytes"));
        assert!(!is_named_by_content(&made, b"bytez"));
        for other in ["walk.bin", ".0123456789abcdef.bin", "a.0123456789abcdeF.bin", "a0123456789abcdef.bin"]
        {
            assert_eq!(mark(other), None, "{other}");
        }
        assert_eq!(mark("a.b.0123456789abcdef.bin"), Some(".0123456789abcdef.bin"));
        // Whole letters, and no longer than a system takes.
        assert!(name(&"ä".repeat(300), b"").len() <= 255);
    }
}
