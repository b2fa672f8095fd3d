//! A folder held for the moment in which files are put into it, against other Sinews.
//!
//! Advisory, and only for tidying up: what is written stays whole without it. So it is not waited for long, and where a system
//! has no such locks, nothing is lost but the tidying.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

/// How often it is tried, and how long is waited in between.
const TRIES: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(10);

/// Holds a folder until it is dropped. `None` where it is not to be had.
pub(super) fn folder(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Makes what was renamed in a folder last, if the system can.
pub(super) fn flush(folder: &Path) {
    // A file system that cannot is no reason to call a file that is there unwritten.
    let _ = File::open(folder).and_then(|f| f.sync_all());
}
