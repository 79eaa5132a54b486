//! By how many segments a path is assumed to reorder (`tp->reordering`), and how that is learnt.

use super::super::constants::{MOST_REORDERING, REORDERING};

/// By how many segments the path is assumed to reorder (`tp->reordering`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering(u32);

impl Reordering {
    pub(super) const fn new() -> Self {
        Self(REORDERING)
    }

    pub(super) fn with_segments(segments: u64) -> Self {
        Self(segments.min(MOST_REORDERING) as u32)
    }

    pub(super) fn segments(self) -> u32 {
        self.0
    }

    /// `tcp_check_sack_reordering`: a segment was late that lies so many segments below the highest that
    /// arrived.
    pub(super) fn note(&mut self, segments: u64) {
        self.0 = self.0.max(Self::with_segments(segments).0);
    }
}
