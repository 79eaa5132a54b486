//! The phases of an application that writes now and then.

use crate::scenario::Write;

/// An application that writes now and then.
pub(super) struct Application {
    pub(super) connected_ns: u64,
    /// The current phase, if one has begun, and the number of the next.
    pub(super) phase: Option<Write>,
    pub(super) next: usize,
    /// It waits until its write is acknowledged.
    pub(super) waits: bool,
    /// Its last write has begun.
    pub(super) ends: bool,
}

impl Write {
    /// Whether the application writes once, and not without end.
    pub(super) fn is_once(&self) -> bool {
        self.size_bytes.is_some() && self.every_ns.is_none() && self.pause_ns.is_none()
    }
}
