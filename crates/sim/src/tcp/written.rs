//! What an application has written that writes now and then.

use std::collections::VecDeque;

/// What a write without end has.
pub(crate) const ENDLESS: u64 = u64::MAX >> 1;

/// The packets of an application that writes now and then.
#[derive(Clone, Debug, Default)]
pub(super) struct Writes {
    /// The ends of those behind the head, and whether they end with PSH.
    pub(super) packets: VecDeque<(u64, bool)>,
    /// The end of what is in packets (`write_seq`).
    pub(super) end: u64,
    /// The rest of the write.
    pub(super) left: u64,
    /// Where the write begins; nothing of it is in packets yet.
    pub(super) began: u64,
    pub(super) begins: bool,
    /// Each packet has one segment.
    pub(super) single: bool,
    /// More follows each write (`MSG_MORE`): its end has no PSH.
    pub(super) more: bool,
}
