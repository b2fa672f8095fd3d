//! The GLB container: a header and chunks (glTF 2.0, section 4). Knows nothing of what the JSON says.
//!
//! Chunks of other kinds than JSON and BIN are kept and written back. Fails when the header or a chunk promises
//! more bytes than there are.

use crate::error::Error;

const MAGIC: &[u8; 4] = b"glTF";
const JSON: u32 = 0x4E4F_534A;
const BIN: u32 = 0x004E_4942;

/// The parts of a GLB file.
pub(super) struct Glb<'a> {
    pub json: &'a [u8],
    pub bin: Option<&'a [u8]>,
    /// Chunks of other kinds, in order.
    pub others: Vec<(u32, &'a [u8])>,
    /// Bytes after the end that the header states, which belong to nothing.
    pub trailing: usize,
}

/// Whether these bytes are a GLB file rather than JSON.
pub(super) fn is_glb(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Takes a GLB file apart.
pub(super) fn split(bytes: &[u8]) -> Result<Glb<'_>, Error> {
    let (Some(version), Some(length)) = (word(bytes, 4), word(bytes, 8)) else {
        return Err(Error::input("the GLB header is cut short; export the file again"));
    };
    if version != 2 {
        return Err(Error::input(format!(
            "GLB version {version}; only version 2 can be read, export as glTF 2.0"
        )));
    }
    let length = length as usize;
    if length > bytes.len() || length < 12 {
        return Err(Error::input(format!(
            "the GLB header states {length} bytes, but the file has {}; it was cut short or altered",
            bytes.len()
        )));
    }
    let body = &bytes[..length];
    let mut glb = Glb { json: &[], bin: None, others: Vec::new(), trailing: bytes.len() - length };
    let (mut at, mut chunk) = (12, 0);
    while at < body.len() {
        let (Some(size), Some(kind)) = (word(body, at), word(body, at + 4)) else {
            return Err(Error::input(format!(
                "GLB chunk {chunk} has no whole header; the file was cut short"
            )));
        };
        let start = at + 8;
        let Some(data) = start.checked_add(size as usize).and_then(|end| body.get(start..end)) else {
            return Err(Error::input(format!(
                "GLB chunk {chunk} states {size} bytes, but {} remain; the file was cut short or altered",
                body.len() - start
            )));
        };
        match (chunk, kind) {
            (0, JSON) => glb.json = data,
            (0, _) => return Err(Error::input("the first GLB chunk is not JSON; is this a glTF file?")),
            (_, BIN) if glb.bin.is_none() => glb.bin = Some(data),
            _ => glb.others.push((kind, data)),
        }
        at = start + data.len();
        chunk += 1;
    }
    if chunk == 0 {
        return Err(Error::input("the GLB file has no JSON chunk; export the file again"));
    }
    Ok(glb)
}

/// Puts a GLB file together, padding each chunk to four bytes as section 4.4.3 asks.
pub(super) fn join(json: &[u8], bin: Option<&[u8]>, others: &[(u32, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let chunks = || {
        let bin = bin.map(|b| (BIN, b, 0));
        std::iter::once((JSON, json, b' '))
            .chain(bin)
            .chain(others.iter().map(|(k, d)| (*k, d.as_slice(), 0)))
    };
    let total: usize = 12 + chunks().map(|(_, data, _)| 8 + data.len().next_multiple_of(4)).sum::<usize>();
    let length = u32::try_from(total).map_err(|_| {
        Error::input(format!("{total} bytes do not fit a GLB file, which ends at 4 GiB; save as .gltf"))
    })?;
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&2_u32.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    for (kind, data, pad) in chunks() {
        let padded = data.len().next_multiple_of(4);
        // Fits: it is part of `length`.
        out.extend_from_slice(&(padded as u32).to_le_bytes());
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(data);
        out.resize(out.len() + padded - data.len(), pad);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_comes_apart_with_padding_and_foreign_chunks() {
        let file = join(b"{}x", Some(&[1, 2, 3, 4, 5]), &[(7, vec![9])]).unwrap();
        assert_eq!(file.len() % 4, 0);
        let glb = split(&file).unwrap();
        assert_eq!(glb.json, b"{}x ");
        assert_eq!(glb.bin, Some(&[1, 2, 3, 4, 5, 0, 0, 0][..]));
        assert_eq!(glb.others, vec![(7, &[9, 0, 0, 0][..])]);
        assert_eq!(glb.trailing, 0);
    }
}
