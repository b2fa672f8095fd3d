//! Telling the host how far a call is. Callbacks run on the calling thread, inside the call, and never after it.

use crate::options;
use crate::result::Fault;
use crate::versioned;
use sinew_plugin::job::{Progress, Stage};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Reading files.
pub const SINEW_STAGE_OPEN: i32 = 0;
/// Making the rig.
pub const SINEW_STAGE_COMPILE: i32 = 1;
/// Frame by frame.
pub const SINEW_STAGE_SIMULATE: i32 = 2;
/// Fitting keys.
pub const SINEW_STAGE_BAKE: i32 = 3;
/// Writing files.
pub const SINEW_STAGE_SAVE: i32 = 4;

/// Worth knowing.
pub const SINEW_LOG_INFO: i32 = 0;
/// The result may not be what was meant.
pub const SINEW_LOG_WARNING: i32 = 1;

/// How far a job is: `done` of `of` in a stage.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_progress {
    /// Bytes of this struct.
    pub struct_size: u32,
    /// One of `SINEW_STAGE_...`; later libraries may have more.
    pub stage: i32,
    /// Frames done; 0 or 1 in stages other than simulating.
    pub done: u64,
    /// Frames in all; 1 in stages other than simulating.
    pub of: u64,
}

versioned!(sinew_progress { struct_size, stage: i32, done: u64, of: u64 });

/// Called at every stage and frame. Return 0 to go on, anything else to cancel. `progress` lives until it returns.
/// It may call into the library, but not change a handle that the running call uses (`SINEW_BUSY`).
pub type sinew_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, progress: *const sinew_progress) -> i32>;

/// Called with a line of UTF-8 text, `length` bytes and a zero byte, which lives until it returns.
pub type sinew_log_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, level: i32, text: *const c_char, length: usize)>;

/// What a long call tells the host. All zeros (or NULL in its place) for nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_callbacks {
    /// `sizeof(sinew_callbacks)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// How far it is, and whether to go on. May be NULL.
    pub progress: sinew_progress_fn,
    /// Warnings. May be NULL.
    pub log: sinew_log_fn,
    /// Passed to both as it is.
    pub user: *mut c_void,
}

versioned!(sinew_callbacks {
    struct_size,
    reserved: u32,
    progress: sinew_progress_fn,
    log: sinew_log_fn,
    user: *mut c_void,
});

/// What a host sees and says of a call that runs on another thread of its, without being called back: for hosts whose
/// callbacks would have to wait, as those in Python wait for its lock. All numbers may be read and written at any time
/// while the call runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_watch {
    /// `sizeof(sinew_watch)`.
    pub struct_size: u32,
    /// The host writes anything but 0 to cancel.
    pub cancel: u32,
    /// One of `SINEW_STAGE_...`, as of the last step.
    pub stage: i32,
    /// 0.
    pub reserved: u32,
    /// Frames done.
    pub done: u64,
    /// Frames in all.
    pub of: u64,
}

versioned!(sinew_watch { struct_size, cancel: u32, stage: i32, reserved: u32, done: u64, of: u64 });

/// Fills in the defaults: not cancelled. `struct_size` is `sizeof(sinew_watch)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_watch_init(
    watch: *mut sinew_watch,
    struct_size: usize,
) -> crate::result::sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    crate::guard::guard(|| unsafe { options::init(watch, struct_size) })
}

/// A `sinew_progress_fn` that notes how far it is in a `sinew_watch` and cancels where that says so: give it to
/// `sinew_callbacks` as `progress`, and the watch as `user`. The watch must stay where it is until the call is over. Not
/// for calling yourself.
///
/// Thread: any. Errors: cancels where `user` is no watch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_watch_progress(user: *mut c_void, progress: *const sinew_progress) -> i32 {
    let watch = user.cast::<sinew_watch>();
    if watch.is_null() || !watch.is_aligned() || progress.is_null() {
        return 1;
    }
    // SAFETY: the watch that the host promised, and the library's own progress; both threads go through atomics here.
    unsafe {
        if (*watch).struct_size < size_of::<sinew_watch>() as u32 {
            return 1;
        }
        let progress = *progress;
        AtomicI32::from_ptr(&raw mut (*watch).stage).store(progress.stage, Ordering::Relaxed);
        AtomicU64::from_ptr(&raw mut (*watch).done).store(progress.done, Ordering::Relaxed);
        AtomicU64::from_ptr(&raw mut (*watch).of).store(progress.of, Ordering::Relaxed);
        i32::from(AtomicU32::from_ptr(&raw mut (*watch).cancel).load(Ordering::Relaxed) != 0)
    }
}

/// Fills in the defaults: no callbacks. `struct_size` is `sizeof(sinew_callbacks)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_callbacks_init(
    callbacks: *mut sinew_callbacks,
    struct_size: usize,
) -> crate::result::sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    crate::guard::guard(|| unsafe { options::init(callbacks, struct_size) })
}

/// The host's wishes for one call.
pub(crate) struct Listener(sinew_callbacks);

impl Listener {
    /// Reads them; NULL is nobody.
    ///
    /// # Safety
    /// The promises of the crate for structs and callbacks, for as long as the listener lives.
    pub(crate) unsafe fn new(callbacks: *const sinew_callbacks) -> Result<Listener, Fault> {
        // SAFETY: the same promises.
        Ok(Listener(unsafe { options::read(callbacks) }?))
    }

    /// Tells how far the call is; whether to go on.
    pub(crate) fn progress(&self, progress: Progress) -> bool {
        let Some(tell) = self.0.progress else { return true };
        let progress = sinew_progress {
            struct_size: size_of::<sinew_progress>() as u32,
            stage: stage(progress.stage),
            done: progress.done as u64,
            of: progress.of as u64,
        };
        // SAFETY: a function of this type, as promised; the struct outlives the call.
        unsafe { tell(self.0.user, &raw const progress) == 0 }
    }

    /// Passes warnings on.
    pub(crate) fn warn(&self, warnings: &[String]) {
        let Some(tell) = self.0.log else { return };
        for warning in warnings {
            let line = format!("{warning}\0");
            // SAFETY: a function of this type, as promised; the text outlives the call.
            unsafe { tell(self.0.user, SINEW_LOG_WARNING, line.as_ptr().cast(), warning.len()) }
        }
    }
}

fn stage(stage: Stage) -> i32 {
    match stage {
        Stage::Open => SINEW_STAGE_OPEN,
        Stage::Compile => SINEW_STAGE_COMPILE,
        Stage::Simulate => SINEW_STAGE_SIMULATE,
        Stage::Bake => SINEW_STAGE_BAKE,
        Stage::Save => SINEW_STAGE_SAVE,
    }
}
