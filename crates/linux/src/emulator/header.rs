//! What the emulator reads of a packet, and the mark that it sets.

use ackclock_net::queue::Ecn;

/// The ECN field of the IP header (RFC 3168, section 5): the lowest two bits of its second byte.
const ECN_FIELD: u8 = 3;

/// What tells the packets of one conversation in one direction from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversation {
    /// Number of the protocol in the IP header: 6 for TCP.
    pub protocol: u8,
    /// Port of the sender of the packet; 0 if the protocol has no ports, or in a later fragment.
    pub source_port: u16,
    /// Port of its receiver; 0 likewise.
    pub destination_port: u16,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Conversation {
    /// Whether it is TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }
}

/// What the emulator reads of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) conversation: Conversation,
    /// Whether it is anything but an ACK, a SYN or a FIN of TCP without data.
    pub(super) carries_data: bool,
    pub(super) ecn: Ecn,
}

impl Header {
    /// `None` if the packet is something else, or cut short.
    #[inline]
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let ip_bytes = usize::from(packet.first()? & 0xf) * 4;
        if packet[0] >> 4 != 4 || packet.len() < ip_bytes.max(20) {
            return None;
        }
        let (protocol, rest) = (packet[9], &packet[ip_bytes..]);
        let is_later_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
        let (ports, carries_data) = match protocol {
            _ if is_later_fragment => ([0; 4], true),
            TCP if rest.len() < 20 => return None,
            TCP => (
                [rest[0], rest[1], rest[2], rest[3]],
                rest.len() > usize::from(rest[12] >> 4) * 4,
            ),
            UDP if rest.len() >= 8 => ([rest[0], rest[1], rest[2], rest[3]], true),
            _ => ([0; 4], true),
        };
        Some(Self {
            conversation: Conversation {
                protocol,
                source_port: u16::from_be_bytes([ports[0], ports[1]]),
                destination_port: u16::from_be_bytes([ports[2], ports[3]]),
            },
            carries_data,
            ecn: Ecn::from_bits(packet[1]),
        })
    }
}

/// Whether an IPv4 packet has the mark "congestion experienced".
#[inline]
pub(super) fn is_ce(packet: &[u8]) -> bool {
    packet[1] & ECN_FIELD == ECN_FIELD
}

/// Sets the mark "congestion experienced", and updates the checksum of the IPv4 header (RFC 1624,
/// equation 3). TCP's checksum does not cover the field.
pub(super) fn set_ce(packet: &mut [u8]) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (before, checksum) = (word(packet, 0), word(packet, 10));
    packet[1] |= ECN_FIELD;
    let after = word(packet, 0);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sum of RFC 1071 over all words of a header: 0xffff if its checksum is right.
    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        let sum: u32 = words.map(u32::from).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    proptest! {
        /// A marked header has a right checksum, and nothing else of it has changed.
        #[test]
        fn a_mark_keeps_the_checksum_right(words in any::<[u16; 10]>(), tos in any::<u8>()) {
            let mut header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            (header[0], header[1]) = (0x45, tos);
            header[10..12].fill(0);
            let checksum = !sum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            prop_assert_eq!(sum(&header), 0xffff);
            let mut marked = header.clone();
            set_ce(&mut marked);
            prop_assert_eq!(sum(&marked), 0xffff);
            prop_assert_eq!(marked[1], tos | 3);
            marked[1] = tos;
            marked[10..12].copy_from_slice(&header[10..12]);
            prop_assert_eq!(marked, header);
        }
    }

    #[test]
    fn the_field_is_the_last_two_bits() {
        let mut packet = [0; 40];
        (packet[0], packet[9], packet[32]) = (0x45, 6, 5 << 4);
        for (field, ecn) in [
            (0, Ecn::NotEct),
            (1, Ecn::Ect1),
            (2, Ecn::Ect0),
            (3, Ecn::Ce),
        ] {
            packet[1] = 0xb8 | field;
            assert_eq!(Header::parse(&packet).map(|header| header.ecn), Some(ecn));
        }
    }
}
