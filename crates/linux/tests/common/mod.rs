//! Tests that need the real kernel say why they do not run, where they cannot.

use std::io::Write as _;

/// Says on stderr why `what` is not tested here, if so.
pub fn skipped(what: &str) -> bool {
    let Err(error) = ackclock_linux::bpf::require(what) else {
        return false;
    };
    // Straight to stderr: the test harness would keep eprintln! to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
    true
}
