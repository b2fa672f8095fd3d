//! What comes in: texts and arrays, checked before they are touched.

use crate::result::Fault;
use std::ffi::{CStr, c_char};
use std::path::Path;

/// As a length: the text ends in a zero byte, find the length yourself.
const NUL_TERMINATED: usize = usize::MAX;

/// Copies of more bytes than this are asked for before they are made.
const ASKED_FOR: usize = 1 << 24;

/// A text. NULL with length 0 (or NUL-terminated) is the empty text.
///
/// # Safety
/// The promises of the crate for texts.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a str, Fault> {
    let bytes: &[u8] = match (pointer.is_null(), length) {
        (true, 0 | NUL_TERMINATED) => &[],
        (true, _) => return Err(Fault::argument(format!("{what} is NULL but has a length of {length}"))),
        // SAFETY: it ends in a zero byte, as its length says.
        (false, NUL_TERMINATED) => unsafe { CStr::from_ptr(pointer) }.to_bytes(),
        // SAFETY: it leads to that many bytes; the size fits as `array` checks.
        (false, _) => unsafe { array(pointer.cast::<u8>(), length, what) }?,
    };
    std::str::from_utf8(bytes).map_err(|e| {
        Fault::argument(format!("{what} is not UTF-8 (at byte {}); convert it", e.valid_up_to()))
    })
}

/// A text that must not be empty.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn name<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a str, Fault> {
    // SAFETY: the same promises.
    match unsafe { text(pointer, length, what) }? {
        "" => Err(Fault::argument(format!("{what} is empty or NULL"))),
        text => Ok(text),
    }
}

/// A text that may be left out.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn maybe<'a>(
    pointer: *const c_char,
    length: usize,
    what: &str,
) -> Result<Option<&'a str>, Fault> {
    // SAFETY: the same promises.
    Ok(Some(unsafe { text(pointer, length, what) }?).filter(|t| !t.is_empty()))
}

/// A path that must not be empty.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn path<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a Path, Fault> {
    // SAFETY: the same promises.
    let text = unsafe { name(pointer, length, what) }?;
    match text.contains('\0') {
        true => Err(Fault::argument(format!("{what} has a zero byte inside"))),
        false => Ok(Path::new(text)),
    }
}

/// An array. NULL with count 0 is the empty one.
///
/// # Safety
/// The promises of the crate for arrays.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Fault> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Fault::argument(format!("{what} is NULL but has {count} items")));
    }
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
    if !fits || !pointer.is_aligned() {
        return Err(Fault::argument(format!("{what} is no array of {count} items in memory")));
    }
    // Everything is copied, some of it more than once: a count that no memory can hold is a mistake, and not the end of the host.
    let copies = count.saturating_mul(size_of::<T>()).saturating_mul(3);
    if copies > ASKED_FOR && Vec::<u8>::new().try_reserve_exact(copies).is_err() {
        return Err(Fault::argument(format!("there is no memory for the {count} items of {what}")));
    }
    // SAFETY: not NULL, aligned, of a possible size, and the caller promises that many items.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A number that must be finite.
pub(crate) fn finite(value: f64, what: &str) -> Result<f64, Fault> {
    match value.is_finite() {
        true => Ok(value),
        false => Err(Fault::argument(format!("{what} is {value}, not a finite number"))),
    }
}
