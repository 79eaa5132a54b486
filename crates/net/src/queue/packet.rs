//! A packet in a queue.

/// A packet in a queue: what disciplines read, and what the host keeps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Which flow it belongs to. Disciplines only compare this number.
    pub flow: u32,
    /// Size of the IP packet.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// When it arrived at the queue.
    pub arrived_ns: u64,
    /// The host's own: a segment's header, or where the bytes are.
    pub body: P,
}

impl<P> Packet<P> {
    /// Sets the congestion-experienced mark. Returns false, and changes nothing, if the packet's
    /// sender does not know ECN.
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotEct;
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }
}

/// The ECN field (RFC 3168, section 5), the lowest two bits of the IP header's second byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not know ECN.
    #[default]
    NotEct = 0b00,
    /// ECN-capable; L4S since RFC 9331.
    Ect1 = 0b01,
    /// ECN-capable, classic.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The field in the lowest two bits of a byte.
    #[inline(always)]
    pub fn from_bits(bits: u8) -> Self {
        const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        FIELDS[usize::from(bits & 0b11)]
    }
}
