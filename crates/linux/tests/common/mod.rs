//! Tests that need the real kernel say why they do not run, where they cannot.
#![allow(dead_code)] // no test uses all of it

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

/// Leaves the namespace of the machine, so that its settings stay what they are.
pub fn in_own_namespace(test: impl FnOnce() + Send) {
    let enter = || {
        // SAFETY: unshare changes nothing but the namespace of the calling thread.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
        test();
    };
    std::thread::scope(|scope| scope.spawn(enter).join().unwrap());
}
