//! Packets as bytes: Ethernet, IPv4 and TCP headers.

use crate::tcp::MOST_SACKS;
use ackclock_net::queue::Ecn;

/// Flags of TCP, with the three of RFC 9768 (AE, CWR, ECE) as one number on top.
pub(super) const FIN: u16 = 0x01;
pub(super) const SYN: u16 = 0x02;
pub(super) const PSH: u16 = 0x08;
pub(super) const ACK: u16 = 0x10;
pub(super) const ECE: u16 = 0x40;
pub(super) const CWR: u16 = 0x80;
/// The lowest bit of ACE (RFC 9768): AE, CWR and ECE are neighbours.
const ACE_SHIFT: u32 = 6;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
/// The port of the receivers.
const RECEIVER_PORT: u16 = 5_001;
/// The first port of the senders, and how many a session uses before it begins anew.
const SENDER_PORT: u16 = 32_768;
const SENDER_PORTS: u32 = 28_232;

/// The field ACE with this count.
pub(super) fn ace(count: u32) -> u16 {
    ((count & 7) as u16) << ACE_SHIFT
}

/// ACE in the answer to a packet of the handshake with this ECN field (RFC 9768, table 3).
pub(super) fn ace_of(heard: Ecn) -> u16 {
    ace(match heard {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// Address and port of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    ip: u32,
    port: u16,
}

/// Where a connection begins and ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Addresses {
    sender: Address,
    receiver: Address,
}

impl Addresses {
    /// Flow 1 goes from 10.0.0.1 to 10.128.0.1, session 1 from 172.16.0.1 to 172.24.0.1.
    pub(super) fn for_number(number: u32, session: bool) -> Self {
        let (net, half) = if session {
            (0xac10_0000, 1 << 19)
        } else {
            (0x0a00_0000, 1 << 23)
        };
        let host = number % half;
        let at = |ip, port| Address { ip, port };
        Self {
            sender: at(net | host, SENDER_PORT),
            receiver: at(net | half | host, RECEIVER_PORT),
        }
    }

    /// The connection of this number, from 1, begins.
    pub(super) fn connect(&mut self, connection: u32) {
        self.sender.port = SENDER_PORT + (connection.wrapping_sub(1) % SENDER_PORTS) as u16;
    }

    /// From where and to where a packet goes.
    pub(super) fn pair(&self, forth: bool) -> [Address; 2] {
        if forth {
            [self.sender, self.receiver]
        } else {
            [self.receiver, self.sender]
        }
    }
}

/// A packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) flags: u16,
    pub(super) field: Ecn,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    /// The option MSS, and that of the window scale, of a SYN, which may permit SACK, too.
    pub(super) mss_and_shift: Option<(u16, u8)>,
    pub(super) permits_sack: bool,
    /// TSval and TSecr, if it has them.
    pub(super) has_stamps: bool,
    pub(super) stamps: (u32, u32),
    pub(super) sacks: [(u32, u32); MOST_SACKS],
    /// How many of them there are.
    pub(super) blocks: usize,
    /// Bytes of data, all 0.
    pub(super) payload: u32,
}

impl Frame {
    /// Whether it comes from the data's sender.
    pub(super) fn is_forth(&self) -> bool {
        self.to.port == RECEIVER_PORT
    }

    /// Its bytes up to the payload, and how many it has with that.
    pub(super) fn bytes(&self) -> (Vec<u8>, u32) {
        let headers = self.headers();
        let whole = headers.len() as u32 + self.payload;
        (headers, whole)
    }

    fn headers(&self) -> Vec<u8> {
        let options = self.options();
        let tcp_bytes = TCP_BYTES + options.len();
        let mut out = Vec::with_capacity(ETHERNET_BYTES + IP_BYTES + tcp_bytes);
        for address in [self.to, self.from] {
            out.extend([2, 0]); // locally administered
            out.extend(address.ip.to_be_bytes());
        }
        out.extend([0x08, 0x00]);
        let total = (IP_BYTES + tcp_bytes) as u32 + self.payload;
        out.extend([0x45, self.field as u8]);
        // A packet as GSO or jumbo frames may make it does not fit the field: 0, as Linux writes it.
        out.extend(u16::try_from(total).unwrap_or(0).to_be_bytes());
        out.extend([0, 0, 0x40, 0, 64, 6, 0, 0]); // do not fragment; TTL; TCP
        out.extend(self.from.ip.to_be_bytes());
        out.extend(self.to.ip.to_be_bytes());
        let sum = checksum(0, &out[ETHERNET_BYTES..]);
        out[ETHERNET_BYTES + 10..][..2].copy_from_slice(&sum);

        let tcp = out.len();
        out.extend(self.from.port.to_be_bytes());
        out.extend(self.to.port.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend(((tcp_bytes as u16 / 4) << 12 | self.flags).to_be_bytes());
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]); // checksum, urgent pointer
        out.extend(options);
        // The pseudo header: addresses, protocol, length. The payload is 0.
        let ends = [self.from.ip, self.to.ip];
        let halves = ends.map(|ip| (ip >> 16) + (ip & 0xffff));
        let pseudo = halves[0] + halves[1] + 6 + tcp_bytes as u32 + self.payload;
        let sum = checksum(pseudo, &out[tcp..]);
        out[tcp + 16..][..2].copy_from_slice(&sum);
        out
    }

    fn options(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40);
        let (value, echo) = self.stamps;
        if let Some((mss, shift)) = self.mss_and_shift {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
            match (self.has_stamps, self.permits_sack) {
                (true, true) => out.extend([4, 2, 8, 10]),
                (true, false) => out.extend([1, 1, 8, 10]),
                (false, true) => out.extend([1, 1, 4, 2]),
                (false, false) => (),
            }
            if self.has_stamps {
                out.extend(value.to_be_bytes());
                out.extend(echo.to_be_bytes());
            }
            out.extend([1, 3, 3, shift]);
            return out;
        }
        if self.has_stamps {
            out.extend([1, 1, 8, 10]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
        }
        if self.blocks > 0 {
            out.extend([1, 1, 5, 2 + 8 * self.blocks as u8]);
            for (start, end) in &self.sacks[..self.blocks] {
                out.extend(start.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
        out
    }
}

/// The Internet checksum (RFC 1071) of an even number of bytes, and of what is summed already.
fn checksum(sum: u32, bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks_exact(2);
    let mut sum = words.fold(sum, |sum, word| {
        sum + u32::from(u16::from_be_bytes([word[0], word[1]]))
    });
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    (!(sum as u16)).to_be_bytes()
}
