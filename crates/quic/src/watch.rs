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
    /// Smoothed, and the shortest: 0 until a packet is acknowledged.
    rtt_us: [u32; 2],
}

impl Watch {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The RTT is estimated anew.
    pub(crate) fn rtt(&self, smoothed: Duration, shortest: Duration) {
        self.seen().rtt_us = [smoothed, shortest].map(|rtt| rtt.as_micros() as u32);
    }

    /// What it knows of a connection that has delivered so much.
    pub(crate) fn state(&self, delivered_bytes: u64) -> State {
        let seen = self.seen();
        let [srtt_us, min_rtt_us] = seen.rtt_us;
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
