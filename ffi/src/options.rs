//! Structs that may grow: each begins with `struct_size`, and zero means "default" in every field.
//!
//! A host made for an older library passes a smaller struct: what it lacks is zero. One made for a newer library
//! passes a larger one: it is accepted if what this library does not know is zero, that is, not used.

use crate::output::Out;
use crate::result::Fault;

/// A struct that begins with `struct_size: u32`, may be all zeros, and has no padding.
///
/// # Safety
/// Only for `repr(C)` structs with all three properties, as [`versioned!`](crate::versioned) makes sure.
pub unsafe trait Versioned: Copy {
    /// The struct's name in messages.
    const NAME: &'static str;
    /// Where fields begin: an older struct ends at one of these, never inside a field.
    const STARTS: &'static [usize];
}

/// Declares a struct as [`Versioned`] and proves that it has no padding: its fields' sizes add up to its own.
/// In tests, `layout()` tells sizes and offsets.
#[macro_export]
#[doc(hidden)]
macro_rules! versioned {
    ($type:ident { $first:ident, $($field:ident: $kind:ty),* $(,)? }) => {
        const _: () = assert!(size_of::<u32>() $(+ size_of::<$kind>())* == size_of::<$type>());
        const _: () = assert!(std::mem::offset_of!($type, $first) == 0);
        // The types are those of the fields, else the sum above proves nothing.
        const _: fn(&$type) = |s| { let _: &u32 = &s.$first; $( let _: &$kind = &s.$field; )* };
        // SAFETY: `repr(C)` (the offset of the first field and the header rest on it), no padding as just proved,
        // and made of numbers, nullable pointers and optional functions only, all of which may be zero.
        unsafe impl $crate::options::Versioned for $type {
            const NAME: &'static str = stringify!($type);
            const STARTS: &'static [usize] = &[$(std::mem::offset_of!($type, $field)),*];
        }
        #[cfg(test)]
        impl $type {
            /// Size and offsets, as `abi/layout.c` prints them.
            pub(crate) fn layout() -> String {
                let mut text = format!("{} size {}\n", stringify!($type), size_of::<$type>());
                text += &format!("{}.{} {}\n", stringify!($type), stringify!($first),
                    std::mem::offset_of!($type, $first));
                $( text += &format!("{}.{} {}\n", stringify!($type), stringify!($field),
                    std::mem::offset_of!($type, $field)); )*
                text
            }
        }
    };
}

/// No library will have options larger than this; a larger `struct_size` is a struct that was never initialised.
const LARGEST: usize = 4096;

fn size<T: Versioned>(size: u32) -> Result<usize, Fault> {
    let size = size as usize;
    // Half a pointer would be followed to nowhere.
    if (size_of::<T>()..=LARGEST).contains(&size) || T::STARTS.contains(&size) {
        return Ok(size);
    }
    let name = T::NAME;
    Err(Fault::argument(format!("{name}.struct_size is {size}; set it to sizeof({name}), or use its _init")))
}

/// Reads options of any age; NULL gives the defaults.
///
/// # Safety
/// The promises of the crate for structs.
pub(crate) unsafe fn read<T: Versioned>(pointer: *const T) -> Result<T, Fault> {
    // SAFETY: a `Versioned` type may be all zeros.
    let mut options: T = unsafe { std::mem::zeroed() };
    if pointer.is_null() {
        return Ok(options);
    }
    if !pointer.is_aligned() {
        return Err(Fault::argument(format!("the {} is not aligned for its type", T::NAME)));
    }
    // SAFETY: not NULL, aligned, and begins with its size.
    let given = size::<T>(unsafe { pointer.cast::<u32>().read() })?;
    let known = given.min(size_of::<T>());
    // SAFETY: the caller's struct is readable over `given` bytes, ours writable over its size; any bytes are valid
    // for numbers and pointers.
    unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut options).cast::<u8>(), known);
    }
    // SAFETY: the rest of the caller's struct, readable as its size says.
    let unknown = unsafe { crate::input::array(pointer.cast::<u8>().add(known), given - known, T::NAME) }?;
    match unknown.iter().all(|b| *b == 0) {
        true => Ok(options),
        false => Err(Fault::argument(format!(
            "{} has fields that this library does not know, and they are not zero; leave them at zero or load a newer library",
            T::NAME
        ))),
    }
}

/// Fills in the defaults, for `sinew_X_options_init`.
///
/// # Safety
/// `pointer` is NULL or writable over `struct_size` bytes.
pub(crate) unsafe fn init<T: Versioned>(pointer: *mut T, struct_size: usize) -> Result<(), Fault> {
    let size = size::<T>(u32::try_from(struct_size).unwrap_or(u32::MAX))?;
    // SAFETY: at least its size field is writable.
    let first = unsafe { Out::new(pointer.cast::<u32>(), T::NAME) }?;
    // SAFETY: writable over `size` bytes.
    unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), 0, size) };
    first.set(struct_size as u32);
    Ok(())
}

/// Answers with a struct: as much of it as the caller's `struct_size` has room for.
///
/// # Safety
/// `pointer` is NULL or a struct that begins with its size and is writable over that many bytes.
pub(crate) unsafe fn write<T: Versioned>(pointer: *mut T, answer: &T) -> Result<(), Fault> {
    // SAFETY: as promised, it begins with its size.
    let first = unsafe { Out::new(pointer.cast::<u32>(), T::NAME) }?;
    // SAFETY: `Out` has refused NULL and bad alignment.
    let declared = unsafe { pointer.cast::<u32>().read() };
    let given = size::<T>(declared)?;
    let known = given.min(size_of::<T>());
    // SAFETY: `known` bytes are readable in ours and writable in the caller's; ours has no padding.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const *answer).cast::<u8>(), pointer.cast::<u8>(), known);
        std::ptr::write_bytes(pointer.cast::<u8>().add(known), 0, given - known);
    }
    first.set(declared);
    Ok(())
}
