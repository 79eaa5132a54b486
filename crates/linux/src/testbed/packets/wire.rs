//! The packets of a script as bytes: what the other end writes, and what it reads of the kernel.

use super::{KERNEL, PEER};
use ackclock_net::queue::Ecn;

/// MSS option of our SYNs: timestamps take 12 bytes of it.
const MSS_OPTION: u16 = 1460;

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const PSH: u8 = 8;
pub(super) const ACK: u8 = 16;
pub(super) const ECE: u8 = 64;
pub(super) const CWR: u8 = 128;

/// What our packets say.
pub(super) struct Header {
    /// From, to.
    pub(super) ports: [u16; 2],
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) scale: u8,
    pub(super) stamp: u32,
    pub(super) echo: u32,
    /// The ECN field of the IP header.
    pub(super) ecn: Ecn,
}

impl Header {
    /// The IP packet.
    pub(super) fn packet(&self, sacks: &[[u32; 2]], data: usize) -> Vec<u8> {
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            options.extend([2, 4]);
            options.extend(MSS_OPTION.to_be_bytes());
            options.extend([1, 1, 4, 2, 1, 3, 3, self.scale]);
        }
        options.extend([1, 1, 8, 10]);
        options.extend(self.stamp.to_be_bytes());
        options.extend(self.echo.to_be_bytes());
        if !sacks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * sacks.len() as u8]);
            options.extend(sacks.iter().flatten().flat_map(|edge| edge.to_be_bytes()));
        }
        let mut tcp = Vec::new();
        for port in self.ports {
            tcp.extend(port.to_be_bytes());
        }
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + options.len()) / 4 * 16) as u8, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(tcp.len() + data, 0);

        let mut ip = vec![0x45, self.ecn as u8];
        ip.extend((20 + tcp.len() as u16).to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, libc::IPPROTO_TCP as u8, 0, 0]);
        ip.extend(PEER.octets());
        ip.extend(KERNEL.octets());
        let header_sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&header_sum.to_be_bytes());
        let length = (tcp.len() as u16).to_be_bytes();
        let sum = checksum(&[&ip[12..], &[0, libc::IPPROTO_TCP as u8], &length, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        ip.extend(tcp);
        ip
    }
}

/// The Internet checksum (RFC 1071) of parts of even length; the last may be odd.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What a packet of the kernel says.
pub(super) struct Packet {
    pub(super) kernel_port: u16,
    pub(super) peer_port: u16,
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) stamp: u32,
    pub(super) sacks: Vec<[u32; 2]>,
    pub(super) ecn: Ecn,
    /// Bytes of payload.
    pub(super) data: u64,
}

impl Packet {
    /// Reads an IPv4 packet; `None` if it is not a TCP segment with timestamps.
    pub(super) fn parse(ip: &[u8]) -> Option<Self> {
        let header = usize::from(ip.first()? & 15) * 4;
        let tcp = ip.get(header..)?;
        let word = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        if ip[0] >> 4 != 4 || *ip.get(9)? != libc::IPPROTO_TCP as u8 {
            return None;
        }
        let data_at = usize::from(tcp.get(12)? >> 4) * 4;
        let (mut stamp, mut sacks, mut at) = (None, Vec::new(), 20);
        while at < data_at {
            let length = match tcp[at] {
                0 => break,
                1 => 1,
                _ => usize::from(*tcp.get(at + 1)?).max(2),
            };
            match tcp[at] {
                8 => stamp = word(at + 2),
                5 => {
                    for block in (at + 2..at + length).step_by(8) {
                        sacks.push([word(block)?, word(block + 4)?]);
                    }
                }
                _ => (),
            }
            at += length;
        }
        Some(Self {
            kernel_port: u16::from_be_bytes(tcp.get(..2)?.try_into().ok()?),
            peer_port: u16::from_be_bytes(tcp.get(2..4)?.try_into().ok()?),
            flags: *tcp.get(13)?,
            seq: word(4)?,
            ack: word(8)?,
            stamp: stamp?,
            sacks,
            ecn: Ecn::from_bits(ip[1]),
            data: (tcp.len() - data_at) as u64,
        })
    }
}
