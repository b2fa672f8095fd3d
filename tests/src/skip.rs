//! What a machine may lack: a developer's test is skipped and says so, a CI's test fails.

use std::io::Write;

/// Whether this run must not leave anything out.
pub fn is_forbidden() -> bool {
    std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0")
}

/// Says that a test is left out and why. Panics when `CI` is set: there, a test that did not run is a lie.
pub fn because(reason: &str) {
    assert!(!is_forbidden(), "CI is set, so nothing may be skipped: {reason}");
    rightly(reason);
}

/// The same for what a machine need not have, a CI's neither.
pub fn rightly(reason: &str) {
    // Past the test harness, which swallows what `println` says in a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
