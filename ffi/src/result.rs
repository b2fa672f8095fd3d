//! What functions return, and the text that goes with it.

use sinew_plugin::gltf;
use sinew_plugin::job::JobError;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};

/// How a call went. 0 is success, everything else an error that `sinew_last_error` puts into words. Numbers are
/// never given a new meaning; new ones may be added.
pub type sinew_result = i32;

/// It worked.
pub const SINEW_OK: sinew_result = 0;
/// An argument is NULL where it may not be, is no number, no UTF-8, or contradicts another.
pub const SINEW_INVALID_ARGUMENT: sinew_result = 1;
/// The scene or the curves are not what they must be.
pub const SINEW_BAD_INPUT: sinew_result = 2;
/// The system would not read or write a file.
pub const SINEW_IO: sinew_result = 3;
/// The set-up is not what it must be, or does not fit the scene.
pub const SINEW_BAD_SETUP: sinew_result = 4;
/// A progress callback said stop. Nothing was written, and the handles are as before.
pub const SINEW_CANCELLED: sinew_result = 5;
/// A defect in Sinew was hit. The handles of this call are poisoned: they can only be freed.
pub const SINEW_PANICKED: sinew_result = 6;
/// An earlier call with this handle returned `SINEW_PANICKED`.
pub const SINEW_POISONED: sinew_result = 7;
/// The host was made for another version of this interface.
pub const SINEW_WRONG_ABI: sinew_result = 8;
/// An index or a number is outside what there is.
pub const SINEW_OUT_OF_RANGE: sinew_result = 9;
/// A buffer is too small; the text says what is needed. Nothing was copied.
pub const SINEW_TOO_SMALL: sinew_result = 10;
/// The handle was freed, was never given out, or is of another kind.
pub const SINEW_BAD_HANDLE: sinew_result = 11;
/// Another call is using the handle: another thread, or the call whose callback this is.
pub const SINEW_BUSY: sinew_result = 12;
/// This cannot be done with a handle of this origin.
pub const SINEW_NOT_SUPPORTED: sinew_result = 13;

/// The names, by number.
const NAMES: [&CStr; 14] = [
    c"SINEW_OK",
    c"SINEW_INVALID_ARGUMENT",
    c"SINEW_BAD_INPUT",
    c"SINEW_IO",
    c"SINEW_BAD_SETUP",
    c"SINEW_CANCELLED",
    c"SINEW_PANICKED",
    c"SINEW_POISONED",
    c"SINEW_WRONG_ABI",
    c"SINEW_OUT_OF_RANGE",
    c"SINEW_TOO_SMALL",
    c"SINEW_BAD_HANDLE",
    c"SINEW_BUSY",
    c"SINEW_NOT_SUPPORTED",
];

/// A refusal: its code, and the text that names culprit and remedy.
#[derive(Debug)]
pub struct Fault {
    /// One of the codes above, not `SINEW_OK`.
    pub code: sinew_result,
    /// For people.
    pub text: String,
}

impl Fault {
    /// A refusal.
    pub fn new(code: sinew_result, text: impl Into<String>) -> Fault {
        Fault { code, text: text.into() }
    }

    /// An argument is not what it must be.
    pub fn argument(text: impl Into<String>) -> Fault {
        Fault::new(SINEW_INVALID_ARGUMENT, text)
    }
}

impl From<JobError> for Fault {
    fn from(error: JobError) -> Fault {
        let code = match &error {
            JobError::Use(_) => SINEW_INVALID_ARGUMENT,
            JobError::Scene(e) if e.kind() == gltf::ErrorKind::Io => SINEW_IO,
            JobError::Scene(_) | JobError::Bake(_) => SINEW_BAD_INPUT,
            JobError::Setup { .. } => SINEW_BAD_SETUP,
            JobError::Io { .. } => SINEW_IO,
            JobError::OverLimit(_) | JobError::Cancelled => SINEW_CANCELLED,
        };
        Fault::new(code, error.to_string())
    }
}

impl From<gltf::Error> for Fault {
    fn from(error: gltf::Error) -> Fault {
        JobError::Scene(error).into()
    }
}

impl From<sinew_core::setup::SetupError> for Fault {
    fn from(error: sinew_core::setup::SetupError) -> Fault {
        Fault::new(SINEW_BAD_SETUP, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text for `sinew_last_error` and gives the code.
pub(crate) fn remember(fault: Fault) -> sinew_result {
    // A thread that is ending has no place left for it; the code still arrives.
    let _ = LAST.try_with(|last| last.replace(fault.text));
    fault.code
}

/// Copies the text of this thread's last failed call: what was wrong, with which object, and what to do.
///
/// Up to `capacity - 1` bytes of UTF-8 and a zero byte go to `buffer`; a character is never cut in two. Returns
/// the length of the whole text without the zero byte, 0 when no call has failed. Calls that succeed leave the
/// text alone. `buffer` may be NULL when `capacity` is 0.
///
/// Thread: any; each thread has its own text. Never fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_last_error(buffer: *mut c_char, capacity: usize) -> usize {
    let text = LAST.try_with(|last| last.borrow().clone()).unwrap_or_default();
    // SAFETY: `buffer` leads to `capacity` bytes, or is NULL (promises of the crate).
    unsafe { crate::output::copy_what_fits(&text, buffer, capacity) }
    text.len()
}

/// The name of a code, as `"SINEW_IO"`; `"SINEW_UNKNOWN"` for a number that this library does not know. Ends in a
/// zero byte, lives for ever, is not to be freed.
///
/// Thread: any. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_result_name(result: sinew_result) -> *const c_char {
    let known = usize::try_from(result).ok().and_then(|i| NAMES.get(i));
    known.copied().unwrap_or(c"SINEW_UNKNOWN").as_ptr()
}
