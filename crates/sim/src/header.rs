//! What packets between hosts carry.

use crate::guest::{Datagram, End, HEADER_BYTES};
use crate::tcp::Ack;

/// What a packet carries.
#[derive(Clone)]
pub(crate) enum Header {
    /// `answered`: the first SYN that is not yet lost. Other SYNs change nothing.
    Syn {
        answered: bool,
    },
    SynAck,
    /// The last packet of the handshake. Data follows at once, so its loss changes nothing.
    Established,
    /// A copy of a packet of the handshake, which takes its place in queues and changes nothing.
    Copied,
    Data {
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        cwr: bool,
    },
    Ack(Ack),
    /// Of a QUIC stack, for this end.
    Datagram(End, Datagram),
}

/// IP bytes of a SYN and of a bare ACK, with timestamps.
pub(crate) const SYN_BYTES: u32 = 60;
pub(crate) const ACK_BYTES: u32 = 52;
/// Bytes of the SACK option, padded, and of each of its blocks.
const SACK_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;

impl Header {
    /// IP bytes of a packet without data.
    pub(crate) fn bytes(&self) -> u32 {
        match self {
            Self::Ack(ack) => match ack.sacks().len() as u32 {
                0 => ACK_BYTES,
                blocks => ACK_BYTES + SACK_BYTES + blocks * SACK_BLOCK_BYTES,
            },
            Self::Established => ACK_BYTES,
            Self::Datagram(_, datagram) => datagram.bytes.len() as u32 + HEADER_BYTES,
            _ => SYN_BYTES,
        }
    }
}
