//! What an ACK has shown: Linux's FLAG_*.

/// What the current ACK has shown (Linux's FLAG_*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFlags {
    pub una_advanced: bool,
    pub data_sacked: bool,
    pub duplicate_sack: bool,
    pub original_delivered: bool,
    pub lost_retransmission: bool,
    pub set_timer: bool,
    /// The ACK tells of new marks: it carries ECE, or a larger count (RFC 9768).
    pub ece: bool,
    /// `snd_una` before the ACK.
    pub prior_una: u64,
    pub echo_ns: u64,
    pub newly_lost: u32,
    pub newly_delivered: u32,
}

impl AckFlags {
    /// The flag of `cong_control`, as Linux's `tcp_input.c` numbers it. `slow`: header prediction
    /// failed.
    pub(super) fn linux(self, slow: bool, retransmitted_acked: bool) -> i32 {
        let bits = [
            (self.una_advanced, 0x02),        // FLAG_WIN_UPDATE
            (self.una_advanced, 0x04),        // FLAG_DATA_ACKED
            (retransmitted_acked, 0x08),      // FLAG_RETRANS_DATA_ACKED
            (self.data_sacked, 0x20),         // FLAG_DATA_SACKED
            (self.ece, 0x40),                 // FLAG_ECE
            (self.lost_retransmission, 0x80), // FLAG_LOST_RETRANS
            (slow, 0x100),                    // FLAG_SLOWPATH
            (self.original_delivered, 0x200), // FLAG_ORIG_SACK_ACKED
            (self.una_advanced, 0x400),       // FLAG_SND_UNA_ADVANCED
            (self.duplicate_sack, 0x800),     // FLAG_DSACKING_ACK
            (self.set_timer, 0x1000),         // FLAG_SET_XMIT_TIMER
        ];
        bits.iter().map(|&(set, bit)| bit * i32::from(set)).sum()
    }
}
