//! What a congestion control of a stack was told, and did.

use ackclock_sim::guest::{Event, State};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) in_flight_bytes: u64,
    pub(crate) events: VecDeque<Event>,
    /// Where the stack tells each.
    pub(crate) sent_packets: u64,
    pub(crate) lost_packets: u64,
    /// Whether an ACK has told the RTT.
    is_measured: bool,
    /// The shortest RTT, which a stack tells with the next ACK: 0 until then.
    min_rtt_us: u32,
}

impl Watch {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet is acknowledged. The RTT is that of the ACKs so far: of the first a guess (`initial_rtt`).
    pub(crate) fn rtt(&self, shortest: Duration) {
        let mut seen = self.seen();
        if seen.is_measured {
            seen.min_rtt_us = shortest.as_micros() as u32;
        }
    }

    /// All that an ACK acknowledges has been told. The stack then measures the RTT.
    pub(crate) fn acked(&self, in_flight_bytes: u64) {
        let mut seen = self.seen();
        (seen.in_flight_bytes, seen.is_measured) = (in_flight_bytes, true);
    }

    /// What it knows of a connection that has delivered so much. `srtt`: what the stack takes for the RTT.
    pub(crate) fn state(&self, delivered_bytes: u64, srtt: Option<Duration>) -> State {
        let seen = self.seen();
        let measured = srtt.filter(|_| seen.is_measured);
        let srtt_us = measured.map_or(0, |srtt| srtt.as_micros() as u32);
        // Of one measurement both are equal, and no smoothed one is shorter than the shortest.
        let min_rtt_us = match seen.min_rtt_us {
            0 => srtt_us,
            known => known.min(srtt_us),
        };
        State {
            delivered_bytes,
            in_flight_bytes: seen.in_flight_bytes,
            srtt_us,
            min_rtt_us,
            sent_packets: seen.sent_packets,
            lost_packets: seen.lost_packets,
            ..State::default()
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        self.seen().events.push_back(event);
    }

    /// Losses or marks have changed the window.
    pub(crate) fn congestion(&self, is_persistent: bool, before: u64, window: u64) {
        let mut seen = self.seen();
        let flight = seen.in_flight_bytes;
        if is_persistent {
            seen.events.push_back(Event::Timeout(before, flight));
        } else if window < before {
            // Of several losses in one window only the first reduces it.
            seen.events.push_back(Event::Recovery(before, flight));
        }
    }
}
