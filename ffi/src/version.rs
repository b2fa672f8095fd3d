//! Which interface, and which program.

use crate::guard::guard;
use crate::result::{Fault, SINEW_WRONG_ABI, sinew_result};
use std::ffi::c_char;

/// The version of this interface that the header describes: major in the upper 16 bits, minor in the lower.
pub const SINEW_ABI_VERSION: u32 = 0x0001_0007;

/// The version of this interface that the library has: major in the upper 16 bits, minor in the lower. A library
/// of the same major and at least the same minor serves a host.
///
/// Thread: any. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_abi_version() -> u32 {
    SINEW_ABI_VERSION
}

/// Whether this library serves a host made for version `wanted`; pass `SINEW_ABI_VERSION`, before anything else.
///
/// Thread: any. Errors: `SINEW_WRONG_ABI`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_abi_check(wanted: u32) -> sinew_result {
    guard(|| {
        let parts = |v: u32| (v >> 16, v & 0xffff);
        let ((major, minor), (own_major, own_minor)) = (parts(wanted), parts(SINEW_ABI_VERSION));
        if major == own_major && minor <= own_minor {
            return Ok(());
        }
        let text = format!(
            "the host was made for version {major}.{minor} of the interface, this library has {own_major}.{own_minor}; load a library that matches"
        );
        Err(Fault::new(SINEW_WRONG_ABI, text))
    })
}

/// Copies the version of the program, as `"0.1.0"`: up to `capacity - 1` bytes and a zero byte. Returns the length
/// of the whole text without the zero byte. `buffer` may be NULL when `capacity` is 0.
///
/// Thread: any. Never fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_version(buffer: *mut c_char, capacity: usize) -> usize {
    let version = env!("CARGO_PKG_VERSION");
    // SAFETY: `buffer` leads to `capacity` bytes, or is NULL (promises of the crate).
    unsafe { crate::output::copy_what_fits(version, buffer, capacity) }
    version.len()
}
