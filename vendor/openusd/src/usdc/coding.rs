//! Integer coding.
//!
//! See <https://github.com/PixarAnimationStudios/OpenUSD/blob/0b18ad3f840c24eb25e16b795a5b0821cf05126e/pxr/usd/usd/integerCoding.cpp#L40>

use std::{collections::HashMap, mem};

use num_traits::{AsPrimitive, PrimInt};

use super::ReadError;
use super::reader::Stream;

const COMMON: u8 = 0;
const SMALL: u8 = 1;
const MEDIUM: u8 = 2;
const LARGE: u8 = 3;

pub fn encoded_buffer_size<T: PrimInt>(count: usize) -> usize {
    if count == 0 {
        0
    } else {
        let sz = mem::size_of::<T>();
        // Saturating: a count from a damaged file must not overflow here.
        sz.saturating_add(count.saturating_mul(2).div_ceil(8))
            .saturating_add(sz.saturating_mul(count))
    }
}

// One arm per (code, width) pair of the crate integer encoding, matching the
// layout the writer emits. Merging the arms that happen to read the same
// width would break that row-per-case correspondence.
#[allow(clippy::match_same_arms)]
pub fn decode_ints<T: PrimInt + 'static>(data: &[u8], count: usize) -> Result<Vec<T>, ReadError>
where
    i64: AsPrimitive<T>,
{
    if count == 0 {
        return Ok(Vec::new());
    }

    let is_64_bit = mem::size_of::<T>() == 8;

    let mut codes_reader = Stream::new(data);

    let common_value = if is_64_bit {
        codes_reader.read_pod::<i64>()?
    } else {
        codes_reader.read_pod::<i32>()? as i64
    };

    let num_code_bytes = count
        .checked_mul(2)
        .ok_or_else(|| ReadError::corrupt(format!("integer count {count} overflows")))?
        .div_ceil(8);

    let mut ints_reader = Stream::new(data);
    ints_reader.seek((mem::size_of::<T>() + num_code_bytes) as u64)?;

    let mut prev = 0_i64;
    // Every integer takes at least two bits of `data`.
    let mut output = Vec::with_capacity(count.min(data.len().saturating_mul(4)));

    for _ in 0..num_code_bytes {
        // Code byte stores integer types for the next 4 integers.
        let code_byte = codes_reader.read_pod::<u8>()?;

        for i in 0..4 {
            let ty = (code_byte >> (2 * i)) & 3;
            let delta = match (ty, is_64_bit) {
                (COMMON, _) => common_value,
                (SMALL, true) => ints_reader.read_pod::<i16>()? as i64,
                (SMALL, false) => ints_reader.read_pod::<i8>()? as i64,
                (MEDIUM, true) => ints_reader.read_pod::<i32>()? as i64,
                (MEDIUM, false) => ints_reader.read_pod::<i16>()? as i64,
                (LARGE, true) => ints_reader.read_pod::<i64>()?,
                (LARGE, false) => ints_reader.read_pod::<i32>()? as i64,
                _ => return Err(ReadError::corrupt(format!("Unexpected code: {ty}"))),
            };

            prev = prev.wrapping_add(delta);
            output.push(prev.as_());
        }
    }

    output.truncate(count);
    Ok(output)
}

/// Encode a sequence of integers using the crate file delta/common-value
/// coding scheme. Inverse of [`decode_ints`].
///
/// Format:
/// 1. Common value (i32 for 32-bit T, i64 for 64-bit T)
/// 2. Code bytes: 2 bits per integer, packed 4 per byte, little-endian
/// 3. Payload: variable-width deltas (COMMON omits, SMALL/MEDIUM/LARGE vary by bit-width)
// One arm per (code, width) pair of the crate integer encoding, matching the
// layout the reader expects. Merging the arms that happen to emit the same
// width would break that row-per-case correspondence.
#[allow(clippy::match_same_arms)]
pub fn encode_ints<T>(values: &[T]) -> Vec<u8>
where
    T: PrimInt + 'static + AsPrimitive<i64>,
{
    let count = values.len();
    if count == 0 {
        return Vec::new();
    }

    let is_64_bit = mem::size_of::<T>() == 8;

    // Compute deltas.
    let mut deltas = Vec::with_capacity(count);
    let mut prev = 0_i64;
    for v in values {
        let cur: i64 = (*v).as_();
        deltas.push(cur.wrapping_sub(prev));
        prev = cur;
    }

    // Pick the most frequent delta as the common value.
    let common = most_common(&deltas);

    // Classify each delta.
    let codes: Vec<u8> = deltas
        .iter()
        .map(|&d| {
            if d == common {
                COMMON
            } else if is_64_bit {
                if fits_in_i16(d) {
                    SMALL
                } else if fits_in_i32(d) {
                    MEDIUM
                } else {
                    LARGE
                }
            } else if fits_in_i8(d) {
                SMALL
            } else if fits_in_i16(d) {
                MEDIUM
            } else {
                LARGE
            }
        })
        .collect();

    // Assemble output.
    let mut out = Vec::new();
    if is_64_bit {
        out.extend_from_slice(&common.to_le_bytes());
    } else {
        out.extend_from_slice(&(common as i32).to_le_bytes());
    }

    let num_code_bytes = (count * 2).div_ceil(8);
    let mut code_table = vec![0_u8; num_code_bytes];
    for (i, code) in codes.iter().enumerate() {
        let byte_idx = i / 4;
        let slot = i % 4;
        code_table[byte_idx] |= (code & 0b11) << (2 * slot);
    }
    out.extend_from_slice(&code_table);

    for (code, delta) in codes.iter().zip(deltas.iter()) {
        match (*code, is_64_bit) {
            (COMMON, _) => {}
            (SMALL, true) => out.extend_from_slice(&(*delta as i16).to_le_bytes()),
            (SMALL, false) => out.extend_from_slice(&(*delta as i8).to_le_bytes()),
            (MEDIUM, true) => out.extend_from_slice(&(*delta as i32).to_le_bytes()),
            (MEDIUM, false) => out.extend_from_slice(&(*delta as i16).to_le_bytes()),
            (LARGE, true) => out.extend_from_slice(&(*delta).to_le_bytes()),
            (LARGE, false) => out.extend_from_slice(&(*delta as i32).to_le_bytes()),
            _ => unreachable!(),
        }
    }

    out
}

fn most_common(deltas: &[i64]) -> i64 {
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for &d in deltas {
        *counts.entry(d).or_insert(0) += 1;
    }
    // Tie-break by smallest value so the output is byte-deterministic across
    // runs regardless of `HashMap` iteration order.
    let mut best: Option<(i64, usize)> = None;
    for (value, count) in counts {
        match best {
            None => best = Some((value, count)),
            Some((bv, bc)) if count > bc || (count == bc && value < bv) => {
                best = Some((value, count));
            }
            _ => {}
        }
    }
    best.map_or(0, |(v, _)| v)
}

fn fits_in_i8(v: i64) -> bool {
    i8::try_from(v).is_ok()
}
fn fits_in_i16(v: i64) -> bool {
    i16::try_from(v).is_ok()
}
fn fits_in_i32(v: i64) -> bool {
    i32::try_from(v).is_ok()
}
