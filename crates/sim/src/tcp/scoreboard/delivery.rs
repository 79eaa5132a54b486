//! What an ACK has delivered, and the order in which transmissions left.

pub(super) const NS_PER_US: u64 = 1_000;

/// Identifies a transmission: (time, segment), in the order of sending.
pub(in crate::tcp) type SentOrder = (u64, u64);

/// `tcp_skb_sent_after`: whether `one` was sent after `other`. Linux compares whole microseconds.
#[inline]
pub(in crate::tcp) fn is_after(one: SentOrder, other: SentOrder) -> bool {
    (one.0 / NS_PER_US, one.1) > (other.0 / NS_PER_US, other.1)
}

/// What an ACK has delivered, collected while the sender processes the ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Delivery {
    /// Segments that are newly acknowledged (cumulatively).
    pub acked: u32,
    /// Send times of the first and the last of these segments that were never retransmitted.
    pub acked_sent_ns: Option<(u64, u64)>,
    /// The same of newly SACKed segments.
    pub sacked_sent_ns: Option<(u64, u64)>,
    /// A segment was newly SACKed.
    pub data_sacked: bool,
    /// A retransmitted segment was cumulatively acknowledged.
    pub retransmitted_acked: bool,
    /// A retransmitted segment that was not the head was cumulatively acknowledged.
    pub other_retransmitted_acked: bool,
    /// A segment sent before recovery and never retransmitted was delivered.
    pub original_delivered: bool,
    /// One past the highest segment that was SACKed before this ACK.
    pub prior_sacked_end: u64,
    /// The lowest segment below that was never retransmitted, and only now it was SACKed, or
    /// acknowledged: the path reorders (`tcp_check_sack_reordering`).
    pub sacked_late: Option<u64>,
    pub acked_late: Option<u64>,
    /// The most recently sent of the transmissions that are now delivered, without those that were
    /// probably not what was delivered.
    pub newest: Option<SentOrder>,
    /// The most recently sent of all, and whether its segment was ever retransmitted
    /// (`tcp_rate_skb_delivered`).
    pub sampled: Option<(SentOrder, bool)>,
    /// When the last of these, in the order of the ACK's processing, was sent.
    pub last_sent_ns: u64,
    /// A retransmission after this time is too young to be what this ACK answers.
    pub youngest_ns: u64,
    /// The timestamp echo; `u64::MAX`: none. Neither is a retransmission of a later millisecond that the ACK
    /// acknowledges.
    pub echo_ns: u64,
}

impl Delivery {
    /// `tcp_rack_advance`
    #[inline]
    pub(super) fn deliver(&mut self, sent: SentOrder, retransmitted: bool) {
        if retransmitted && sent.0 > self.youngest_ns {
            return;
        }
        self.last_sent_ns = sent.0;
        if self.newest.is_none_or(|newest| is_after(sent, newest)) {
            self.newest = Some(sent);
        }
    }

    /// `tcp_rate_skb_delivered`
    #[inline]
    pub(super) fn sample(&mut self, sent: SentOrder, retransmitted: bool) {
        if self
            .sampled
            .is_none_or(|(newest, _)| is_after(sent, newest))
        {
            self.sampled = Some((sent, retransmitted));
        }
    }

    /// This segment, which was never retransmitted, is SACKed below what was SACKed before.
    pub(super) fn sacked_late(&mut self, segment: u64) {
        self.sacked_late = Some(self.sacked_late.map_or(segment, |low| low.min(segment)));
    }
}
