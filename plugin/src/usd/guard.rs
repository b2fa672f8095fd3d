//! What is checked of a file's bytes before a parser sees them.
//!
//! Text: how deep it is nested, since a parser goes as deep. Crate files: that the sections lie in the file, and that
//! what is packed says a size that its bytes can hold. Archives: that nothing in them is compressed, which USD forbids
//! anyway, that no two entries are the same bytes (both are how small files become large), and that all are what their
//! checksums say.

use crate::error::{Error, quote};
use std::io::{Cursor, Read};
use std::path::Path;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// No scene is nested deeper than this; text beyond it is an attack on the parser's stack.
const DEEPEST: usize = 1000;

/// Archives in archives that anybody means.
const MOST_ARCHIVES: usize = 8;

/// What a crate file begins with.
const CRATE: &[u8] = b"PXR-USDC";

/// LZ4 makes at most 255 bytes of one.
const MOST_EXPANSION: u64 = 255;

/// Checks the file of that name; layers only, other assets pass.
pub(super) fn check(path: &Path) -> Result<(), Error> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    if !matches!(ending.as_deref(), Some("usd" | "usda" | "usdc" | "usdz")) {
        return Ok(());
    }
    let fault = |e| Error::io(format!("cannot read {}", path.display()), e);
    if !path.metadata().map_err(fault)?.is_file() {
        return Err(Error::input(format!("{} is not a regular file", path.display())));
    }
    let bytes = std::fs::read(path).map_err(fault)?;
    check_bytes(&bytes, 0)
}

/// Checks the bytes of a layer or of an archive of layers, which is inside so many others.
fn check_bytes(bytes: &[u8], inside: usize) -> Result<(), Error> {
    if bytes.starts_with(b"PK") {
        return check_archive(bytes, inside);
    }
    if bytes.starts_with(CRATE) {
        return check_crate(bytes);
    }
    check_text(bytes)
}

/// Text that is nested too deeply, outside of strings and comments.
fn check_text(bytes: &[u8]) -> Result<(), Error> {
    let (mut depth, mut line, mut i) = (0_usize, 1_usize, 0_usize);
    while i < bytes.len() {
        match bytes[i] {
            b'\n' => line += 1,
            b'#' => {
                while i + 1 < bytes.len() && bytes[i + 1] != b'\n' {
                    i += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                let long = bytes[i..].starts_with(&[quote; 3]);
                i += if long { 3 } else { 1 };
                while i < bytes.len() {
                    let ends = if long { bytes[i..].starts_with(&[quote; 3]) } else { bytes[i] == quote };
                    if ends || (!long && bytes[i] == b'\n') {
                        break;
                    }
                    line += usize::from(bytes[i] == b'\n');
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                i += if long { 2 } else { 0 };
            }
            b'{' | b'[' | b'(' => {
                depth += 1;
                if depth > DEEPEST {
                    let what = format!("line {line}: nested more than {DEEPEST} deep; flatten the hierarchy");
                    return Err(Error::input(what));
                }
            }
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    Ok(())
}

fn number(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let slice = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(slice.try_into().ok()?))
}

/// The table of contents of a crate file, and the counts of what is packed in its sections.
fn check_crate(bytes: &[u8]) -> Result<(), Error> {
    let damaged = |what: &str| Error::input(format!("{what}; the file is damaged or cut short"));
    let length = bytes.len() as u64;
    let toc = number(bytes, 16)
        .filter(|t| *t < length)
        .ok_or_else(|| damaged("its table of contents lies outside of it"))?;
    let sections = number(bytes, toc)
        .filter(|n| *n <= 64)
        .ok_or_else(|| damaged("it says an absurd number of sections"))?;
    for i in 0..sections {
        let at = toc + 8 + 32 * i;
        let (Some(start), Some(size)) = (number(bytes, at + 16), number(bytes, at + 24)) else {
            return Err(damaged("its table of contents ends early"));
        };
        if start.checked_add(size).is_none_or(|end| end > length) {
            return Err(damaged("a section lies outside of it"));
        }
        let name = bytes.get(at as usize..at as usize + 16).unwrap_or_default();
        let name: String = name.iter().take_while(|b| **b != 0).map(|b| char::from(*b)).collect();
        // What is packed begins with how much comes out: texts in bytes, the other sections in entries.
        let per_entry = match name.as_str() {
            "TOKENS" | "STRINGS" | "FIELDS" | "FIELDSETS" | "PATHS" | "SPECS" => 1,
            _ => continue,
        };
        let count = number(bytes, start).filter(|_| size >= 8).unwrap_or(0);
        if count.saturating_mul(per_entry) > size.saturating_mul(MOST_EXPANSION).saturating_mul(16) {
            return Err(damaged(&format!("its section {name} says {count} entries in {size} bytes")));
        }
        if name == "TOKENS" {
            let unpacked = number(bytes, start + 8).unwrap_or(0);
            if unpacked > size.saturating_mul(MOST_EXPANSION) {
                return Err(damaged(&format!("its section {name} says {unpacked} bytes in {size}")));
            }
        }
    }
    Ok(())
}

/// The entries of an archive.
fn check_archive(bytes: &[u8], inside: usize) -> Result<(), Error> {
    if inside > MOST_ARCHIVES {
        return Err(Error::input(format!(
            "archives are inside of archives more than {MOST_ARCHIVES} deep; unpack them"
        )));
    }
    let damaged = |e: ZipError| {
        Error::input(format!("it is not a whole zip archive; it is damaged or cut short ({e})"))
    };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    // Of entries with the same name the library takes one, and others may take another.
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06");
    let stated = end.and_then(|end| bytes.get(end + 10..end + 12)?.try_into().ok()).map(u16::from_le_bytes);
    if stated.map(usize::from) != Some(archive.len()) {
        return Err(Error::input("several of its entries have one name; pack it again"));
    }
    let mut ranges = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let entry = archive.by_index_raw(i).map_err(damaged)?;
        let (name, size) = (entry.name().to_owned(), entry.size());
        if entry.compression() != CompressionMethod::Stored || entry.compressed_size() != size {
            return Err(Error::input(format!(
                "{} is compressed, which a .usdz must not be; pack it again without compression",
                quote(&name)
            )));
        }
        let start = entry.data_start().unwrap_or(0);
        if start.checked_add(size).is_none_or(|end| end > bytes.len() as u64) {
            return Err(Error::input(format!(
                "{} ends outside of it; it is damaged or cut short",
                quote(&name)
            )));
        }
        ranges.push((start, size, name));
    }
    ranges.sort_unstable();
    if let Some([a, b]) = ranges.array_windows().find(|[a, b]| a.0 + a.1 > b.0) {
        let (a, b) = (quote(&a.2), quote(&b.2));
        return Err(Error::input(format!("its entries {a} and {b} overlap; pack it again")));
    }
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(damaged)?;
        let name = entry.name().to_owned();
        // No larger than the archive, in which the entries lie side by side.
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|e| {
            Error::input(format!(
                "{} is not what its checksum says ({e}): the archive is damaged; copy or pack it again",
                quote(&name)
            ))
        })?;
        let lower = name.to_ascii_lowercase();
        if [".usd", ".usda", ".usdc", ".usdz"].iter().any(|e| lower.ends_with(e)) {
            check_bytes(&content, inside + 1).map_err(|e| e.at(&quote(&name)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_do_not_nest() {
        let open = "{".repeat(DEEPEST + 1);
        for text in [format!("\"{open}\""), format!("# {open}\n"), format!("\"\"\"\n{open}\n\"\"\"")] {
            assert!(check_text(text.as_bytes()).is_ok(), "{text}");
        }
        let error = check_text(format!("#usda 1.0\n{open}").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("1000"), "{error}");
    }

    #[test]
    fn a_crate_file_that_ends_early_says_so() {
        let mut bytes = b"PXR-USDC".to_vec();
        bytes.extend([0; 8]);
        bytes.extend(1000_u64.to_le_bytes());
        assert!(check_crate(&bytes).unwrap_err().to_string().contains("table of contents"));
    }
}
