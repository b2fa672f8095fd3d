//! What goes out: single values and copies into the caller's buffers, only when all else went well.

use crate::result::{Fault, SINEW_TOO_SMALL};
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Where one value goes.
pub(crate) struct Out<'a, T> {
    place: Option<NonNull<T>>,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Out<'_, T> {
    /// A place that must be there.
    ///
    /// # Safety
    /// The promises of the crate for outputs.
    pub(crate) unsafe fn new(pointer: *mut T, what: &str) -> Result<Self, Fault> {
        match NonNull::new(pointer) {
            // SAFETY: the same promise.
            Some(_) => unsafe { Out::maybe(pointer, what) },
            None => Err(Fault::argument(format!("{what} is NULL; pass the place where the answer goes"))),
        }
    }

    /// A place that may be NULL: then the value is not wanted.
    ///
    /// # Safety
    /// The promises of the crate for outputs.
    pub(crate) unsafe fn maybe(pointer: *mut T, what: &str) -> Result<Self, Fault> {
        if !pointer.is_aligned() {
            return Err(Fault::argument(format!("{what} is not aligned for its type")));
        }
        Ok(Out { place: NonNull::new(pointer), lifetime: PhantomData })
    }

    /// Whether anybody wants it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.place.is_some()
    }

    /// Writes it.
    pub(crate) fn set(self, value: T) {
        if let Some(place) = self.place {
            // SAFETY: valid for writing, as promised when this was made.
            unsafe { place.write(value) }
        }
    }
}

/// Where an array goes: `None` when the caller passed NULL.
///
/// # Safety
/// The promises of the crate for outputs. The memory need not hold anything yet, so it is only ever written, by
/// [`Buffer::fill`].
pub(crate) unsafe fn buffer<'a, T: Copy>(
    pointer: *mut T,
    capacity: usize,
    needed: usize,
    what: &str,
) -> Result<Option<Buffer<'a, T>>, Fault> {
    let Some(place) = NonNull::new(pointer) else { return Ok(None) };
    if !pointer.is_aligned() {
        return Err(Fault::argument(format!("{what} is not aligned for its type")));
    }
    if capacity < needed {
        let text = format!("{what} has room for {capacity} items and needs {needed}");
        return Err(Fault::new(SINEW_TOO_SMALL, text));
    }
    Ok(Some(Buffer { place, length: needed, lifetime: PhantomData }))
}

/// As [`buffer`], but NULL is refused unless nothing is needed.
///
/// # Safety
/// As for [`buffer`].
pub(crate) unsafe fn required<'a, T: Copy>(
    pointer: *mut T,
    capacity: usize,
    needed: usize,
    what: &str,
) -> Result<Option<Buffer<'a, T>>, Fault> {
    // SAFETY: the same promises.
    let found = unsafe { buffer(pointer, capacity, needed, what) }?;
    match found.is_none() && needed > 0 {
        true => Err(Fault::argument(format!("{what} is NULL; pass room for {needed} items"))),
        false => Ok(found),
    }
}

/// The caller's array, of a checked size.
pub(crate) struct Buffer<'a, T> {
    place: NonNull<T>,
    length: usize,
    lifetime: PhantomData<&'a mut T>,
}

impl<T: Copy> Buffer<'_, T> {
    /// Writes the items; those beyond the buffer's needed length are dropped.
    pub(crate) fn fill(self, items: impl IntoIterator<Item = T>) {
        for (i, item) in items.into_iter().take(self.length).enumerate() {
            // SAFETY: `i` is below the length that the caller's array was checked for.
            unsafe { self.place.add(i).write(item) }
        }
    }
}

/// Copies a text with a zero byte behind it. With capacity 0 only the length is told.
///
/// # Safety
/// The promises of the crate for outputs.
pub(crate) unsafe fn text(
    text: &str,
    pointer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Fault> {
    // SAFETY: the same promises.
    let length = unsafe { Out::maybe(length, "length") }?;
    if capacity > 0 && pointer.is_null() {
        return Err(Fault::argument("the buffer is NULL but has a capacity; pass 0 to learn the length"));
    }
    if capacity == 0 && !length.is_wanted() {
        return Err(Fault::argument("neither a buffer nor a place for the length was passed"));
    }
    if capacity > 0 && capacity <= text.len() {
        let message = format!("the buffer has room for {capacity} bytes and needs {}", text.len() + 1);
        return Err(Fault::new(SINEW_TOO_SMALL, message));
    }
    // SAFETY: as checked, NULL only with capacity 0, else writable over `capacity` bytes.
    unsafe { copy_what_fits(text, pointer, capacity) }
    length.set(text.len());
    Ok(())
}

/// Copies as much of a text as fits before a zero byte, never a part of a character.
///
/// # Safety
/// `pointer` leads to `capacity` writable bytes, or is NULL.
pub(crate) unsafe fn copy_what_fits(text: &str, pointer: *mut c_char, capacity: usize) {
    if pointer.is_null() || capacity == 0 {
        return;
    }
    let fits = text.floor_char_boundary(capacity - 1);
    // SAFETY: `fits + 1 <= capacity` bytes are written to where there is room for them; Rust's own text does not
    // overlap a buffer that the caller may write.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast::<u8>(), fits);
        pointer.add(fits).write(0);
    }
}
