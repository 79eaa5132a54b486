//! A run whose caller sets the parameters of a flow's algorithm on its way.

use crate::tcp::Sender;
use crate::RunError;
use ackclock_host::Configured;

/// What the sender knows at the end of a step, before it handles the ACK that ends it.
pub const SEEN: [&str; 10] = [
    "time_ns",
    "acks",
    "sent_packets",
    "delivered_packets",
    "lost_packets",
    "cwnd_packets",
    "in_flight_packets",
    "srtt_us",
    "min_rtt_us",
    "pacing_bytes_per_s",
];

/// Numbers of these names; counts are those since the connection began.
pub type Seen = [u64; SEEN.len()];

/// Sets the parameters of a flow's algorithm at ACKs.
pub struct Acting<'a> {
    flow: usize,
    each_ack: bool,
    act: &'a mut dyn FnMut(Seen) -> Option<Vec<u32>>,
    acks: u64,
    /// A step ends at the first ACK from then on.
    next_ns: u64,
}

impl<'a> Acting<'a> {
    /// Of a flow, from 0. A step ends at each ACK, or at the first that is a smoothed RTT behind the last
    /// step. Then `act` tells the stored values of the parameters, in the order of declaration; `None` ends
    /// the run.
    pub fn new(
        flow: usize,
        each_ack: bool,
        act: &'a mut dyn FnMut(Seen) -> Option<Vec<u32>>,
    ) -> Self {
        Self {
            flow,
            each_ack,
            act,
            acks: 0,
            next_ns: 0,
        }
    }

    /// An ACK has come to an element.
    #[cold]
    #[inline(never)]
    pub(super) fn ack_arrives(
        &mut self,
        (element, sender): (usize, &mut Sender),
        configured: &Configured,
        now_ns: u64,
    ) -> Result<(), RunError> {
        self.acks += u64::from(element == self.flow);
        if element != self.flow || now_ns < self.next_ns {
            return Ok(());
        }
        let (sent, _, lost) = sender.totals();
        let tp = sender.tp();
        let seen = [
            now_ns,
            self.acks,
            sent,
            sender.delivered_packets(),
            lost,
            tp.snd_cwnd.into(),
            sender.packets_in_flight().into(),
            (tp.srtt_us >> 3).into(),
            sender.min_rtt_us().into(),
            tp.inet_conn.sk.sk_pacing_rate,
        ];
        if !self.each_ack {
            self.next_ns = now_ns + u64::from(tp.srtt_us) * 125;
        }
        let values = (self.act)(seen).ok_or(RunError::Cancelled)?;
        sender.set_parameters(&configured.with(&values));
        Ok(())
    }
}
