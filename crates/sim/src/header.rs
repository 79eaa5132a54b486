//! What packets between hosts carry.

use crate::guest::{Datagram, End, HEADER_BYTES};
use crate::scenario::Flow;
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
    /// A probe of a closed window.
    WindowProbe,
    /// The answer to the receiver's FIN, the last packet of this connection of a session.
    LastAck(u32),
    /// A copy of a packet of the handshake, which takes its place in queues and changes nothing.
    Copied,
    Data {
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        cwr: bool,
        /// Of a packet of TSO, before the interface of its host has cut it; else 1.
        segments: u16,
    },
    Ack(Ack),
    /// Of a QUIC stack, for this end.
    Datagram(End, Datagram),
}

/// IP bytes of a SYN and of a bare ACK, with timestamps.
pub(crate) const SYN_BYTES: u32 = 60;
pub(crate) const ACK_BYTES: u32 = 52;
/// Bytes of a SACK option, padded, and of each of its blocks.
const SACK_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;

impl Header {
    /// Whether it carries data, of a QUIC stack or UDP too.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. } | Self::Datagram(End::Receiver, _))
    }

    /// IP bytes of a packet without data of this flow.
    pub(crate) fn bytes(&self, flow: &Flow) -> u32 {
        let missing_bytes = match self {
            // SACK then takes a place of its own.
            Self::Syn { .. } | Self::SynAck | Self::Copied if flow.sack => {
                flow.missing_bytes().saturating_sub(SACK_BYTES)
            }
            _ => flow.missing_bytes(),
        };
        self.bytes_with_stamps() - missing_bytes
    }

    fn bytes_with_stamps(&self) -> u32 {
        match self {
            Self::Ack(ack) => match ack.sacks().len() as u32 {
                0 => ACK_BYTES,
                blocks => ACK_BYTES + SACK_BYTES + blocks * SACK_BLOCK_BYTES,
            },
            Self::Established | Self::WindowProbe | Self::LastAck(_) => ACK_BYTES,
            Self::Datagram(_, datagram) => datagram.bytes.len() as u32 + HEADER_BYTES,
            _ => SYN_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7323: 12 bytes of each packet. In a SYN they have room for SACK (RFC 2018), which else takes 4.
    #[test]
    fn without_timestamps_packets_are_smaller() {
        let ack = || Ack::new(5, 0).with_sacks([(6, 7), (9, 10)], false);
        for (timestamps, sack, sizes) in [
            (true, true, [60, 52, 72]),
            (true, false, [60, 52, 72]),
            (false, true, [52, 40, 60]),
            (false, false, [48, 40, 60]),
        ] {
            let flow = Flow {
                timestamps,
                sack,
                ..Flow::endless("reno", 1)
            };
            let headers = [Header::SynAck, Header::Established, Header::Ack(ack())];
            assert_eq!(headers.map(|header| header.bytes(&flow)), sizes);
        }
    }
}
