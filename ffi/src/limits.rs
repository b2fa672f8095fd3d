//! What jobs may use.

use crate::guard::guard;
use crate::result::{Fault, SINEW_OUT_OF_RANGE, sinew_result};
use sinew_plugin::job::{MOST_SAMPLES, set_limits};

/// Sets what every job that begins from now on may use, in this process: `seconds` of time, and `samples`, its frames times its
/// bodies; 0 for no limit of time, and for as many samples as without this call. A job that is late ends with
/// `SINEW_CANCELLED` at its next frame; one of too many samples, or for which there is not enough memory, is refused with
/// `SINEW_BAD_SETUP`.
///
/// Thread: any. Errors: `SINEW_OUT_OF_RANGE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_set_limits(seconds: f64, samples: usize) -> sinew_result {
    guard(|| {
        if !(seconds.is_finite() && seconds >= 0.0) {
            let text = format!("seconds is {seconds}; it must be 0 (no limit) or more");
            return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
        }
        set_limits(Some(seconds).filter(|s| *s > 0.0), if samples == 0 { MOST_SAMPLES } else { samples });
        Ok(())
    })
}
