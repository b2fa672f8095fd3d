//! What a machine may lack. A test that is left out says so, in a line that `tests/run` counts: it did not pass.

use std::io::Write;

/// Set by `tests/run`, which installs what its suites need: nothing of that may be missing then.
const INSTALLED: &str = "SINEW_TEST_INSTALLED";

/// Leaves a test out for want of what `tests/run` installs. Panics under `tests/run`.
pub fn because(reason: &str) {
    assert!(std::env::var_os(INSTALLED).is_none(), "tests/run installs this, and it is not there: {reason}");
    rightly(reason);
}

/// Leaves a test out for want of what a machine need not have.
pub fn rightly(reason: &str) {
    // Threads are named after their tests. Past the test harness, which swallows what `println` says in a test that passes.
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    let _ = writeln!(std::io::stderr(), "\nleft out: {test}: {reason}");
}
