//! The border: nothing unwinds into the host, and every refusal leaves its text behind.

use crate::result::{Fault, SINEW_OK, SINEW_PANICKED, remember, sinew_result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a body. A refusal becomes its code; a panic becomes `SINEW_PANICKED`, and the handles that the body was
/// using poison themselves as they are let go (see [`crate::live`]).
pub fn guard(body: impl FnOnce() -> Result<(), Fault>) -> sinew_result {
    // Unwind safe: what the body could leave half done is behind handles that poison themselves.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SINEW_OK,
        Ok(Err(fault)) => remember(fault),
        Err(payload) => {
            let said = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            let text = format!(
                "Sinew met a defect of its own ({said}); free the handles of this call and report what led here"
            );
            // Its destructor is somebody's code, too.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            remember(Fault::new(SINEW_PANICKED, text))
        }
    }
}
