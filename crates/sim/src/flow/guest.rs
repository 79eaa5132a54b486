//! A flow that is a QUIC stack's.

use super::{ConnectionState, Flow};
use crate::guest::{Datagram, End, Settings, State};
use crate::record::SampleRow;
use crate::scenario::{EcnMode, Scenario};
use crate::udp;
use ackclock_host::TCP_INFINITE_SSTHRESH;
use ackclock_net::queue::{Cause, Ecn};

impl Flow<'_> {
    /// Opens the connection, which it is time for, if it is not open.
    pub(crate) fn begin_guest(&mut self, scenario: &Scenario, now_ns: u64) {
        let ConnectionState::Guest(guest) = &mut self.state else {
            return;
        };
        let stack = (self.scenario.stack).and_then(|stack| udp::find(stack.name()));
        let (false, Some(stack)) = (guest.has_begun(), stack) else {
            return;
        };
        let settings = Settings {
            now_ns,
            seed: self.draws.as_mut().map_or(0, |draws| draws.cc.bits()),
            datagram_bytes: scenario.datagram_bytes(),
            flow: self.scenario.clone(),
        };
        guest.begin((stack.open)(&settings));
    }

    /// A datagram as the flow sends it: the field for ECN is only what the flow uses.
    pub(crate) fn with_field(&self, datagram: Datagram) -> Datagram {
        let ecn = match self.ecn {
            EcnMode::Off => Ecn::NotEct,
            _ => datagram.ecn,
        };
        Datagram { ecn, ..datagram }
    }

    /// A datagram for this end has left its last link.
    pub(crate) fn datagram_left(&mut self, to: End, at_ns: u64, datagram: Datagram) {
        let arrives_ns = match to {
            End::Receiver => at_ns + self.forth_ns,
            End::Sender => self.back.arrives_ns(at_ns),
        };
        if let ConnectionState::Guest(guest) = &mut self.state {
            guest.expect(to, arrives_ns, datagram);
        }
    }

    /// A datagram for this end is dropped. What the receiver sends is not in the tables.
    pub(crate) fn datagram_dropped(&mut self, to: End, cause: Cause) {
        if to == End::Receiver {
            // QUIC's FIN is a bit of the last stream frame, and UDP has none.
            self.dropped(0, cause);
        }
    }

    /// The row of a sample of a QUIC stack.
    pub(super) fn guest_sample(
        &self,
        scenario: &Scenario,
        state: &State,
        row: SampleRow,
    ) -> SampleRow {
        let mss = u64::from(scenario.mss_bytes);
        let packets = |bytes: u64| (bytes / mss).try_into().unwrap_or(u32::MAX);
        SampleRow {
            cwnd_packets: packets(state.cwnd_bytes),
            ssthresh_packets: state.ssthresh_bytes.map_or(TCP_INFINITE_SSTHRESH, packets),
            srtt_us: state.srtt_us,
            min_rtt_us: state.min_rtt_us,
            in_flight_packets: packets(state.in_flight_bytes),
            delivered_packets: state.delivered_bytes / mss,
            delivered_bytes: state.delivered_bytes,
            lost_packets: state.lost_packets,
            retransmitted_packets: state.lost_packets,
            ..row
        }
    }
}
