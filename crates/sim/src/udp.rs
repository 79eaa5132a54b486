//! UDP at a constant rate: a sender without congestion control, which nobody answers.

use crate::guest::{self, Datagram, End, Event, Guest, Settings, Stack, State, HEADER_BYTES};
use ackclock_net::queue::Ecn;
use ackclock_net::schedule::NEVER;

static UDP: Stack = Stack {
    name: "udp",
    algorithms: &["none"],
    open,
};

/// The stack with this name: UDP, or an installed one.
pub(crate) fn find(name: &str) -> Option<&'static Stack> {
    let mut every = guest::installed().iter().chain([&UDP]);
    every.find(|stack| stack.name == name)
}

/// Datagram n leaves n times its length after the first.
struct Udp {
    start_ns: u64,
    stop_ns: u64,
    rate_bps: u64,
    payload_bytes: u16,
    sent_packets: u64,
    delivered_bytes: u64,
}

fn open(settings: &Settings) -> Box<dyn Guest> {
    Box::new(Udp {
        start_ns: settings.now_ns,
        stop_ns: settings.flow.stop_ns.unwrap_or(NEVER),
        // Validation wants one.
        rate_bps: settings.flow.rate_bps.unwrap_or(1),
        payload_bytes: settings.datagram_bytes,
        sent_packets: 0,
        delivered_bytes: 0,
    })
}

impl Udp {
    /// When the next datagram leaves, whole nanoseconds; nothing is rounded twice.
    fn next_ns(&self) -> u64 {
        let bits = 8 * u128::from(u32::from(self.payload_bytes) + HEADER_BYTES);
        let after_ns =
            u128::from(self.sent_packets) * bits * 1_000_000_000 / u128::from(self.rate_bps);
        let at_ns = u64::try_from(after_ns).map_or(NEVER, |ns| self.start_ns.saturating_add(ns));
        if at_ns < self.stop_ns {
            at_ns
        } else {
            NEVER
        }
    }
}

impl Guest for Udp {
    fn poll_transmit(&mut self, end: End, now_ns: u64) -> Option<Datagram> {
        if end == End::Receiver || self.next_ns() > now_ns {
            return None;
        }
        self.sent_packets += 1;
        Some(Datagram {
            bytes: vec![0; self.payload_bytes.into()].into(),
            ecn: Ecn::NotEct,
        })
    }

    fn receive(&mut self, _: End, _: u64, datagram: Datagram) {
        self.delivered_bytes += datagram.bytes.len() as u64;
    }

    fn poll_timeout(&mut self, end: End) -> u64 {
        match end {
            End::Sender => self.next_ns(),
            End::Receiver => NEVER,
        }
    }

    fn handle_timeout(&mut self, _: End, _: u64) {}

    fn poll_event(&mut self) -> Option<Event> {
        None
    }

    fn state(&self) -> State {
        State {
            sent_packets: self.sent_packets,
            delivered_bytes: self.delivered_bytes,
            ..State::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Flow;

    /// 1500 bytes with headers at 7 Mb/s: a datagram each 1 714 285.71 ns, in the long run exactly.
    #[test]
    fn it_keeps_its_rate() {
        let mut udp = open(&Settings {
            now_ns: 1_000,
            seed: 0,
            datagram_bytes: 1472,
            flow: Flow {
                stop_ns: Some(1_000_001_000),
                rate_bps: Some(7_000_000),
                ..Flow::endless("none", 0)
            },
        });
        let mut times_ns = vec![];
        loop {
            let at_ns = udp.poll_timeout(End::Sender);
            if at_ns == NEVER {
                break;
            }
            assert!(udp.poll_transmit(End::Sender, at_ns - 1).is_none());
            let datagram = udp.poll_transmit(End::Sender, at_ns);
            assert_eq!(datagram.map(|datagram| datagram.bytes.len()), Some(1472));
            times_ns.push(at_ns);
        }
        // 7 Mb in a second are 583.3 packets, the first at once.
        assert_eq!(times_ns.len(), 584);
        assert_eq!(times_ns[..3], [1_000, 1_715_285, 3_429_571]);
        assert_eq!(times_ns[7], 12_001_000);
    }
}
