//! A connection of a QUIC stack, and what is on its way to either end.

use crate::guest::{Datagram, End, Guest, State};
use ackclock_net::schedule::NEVER;
use std::collections::VecDeque;

/// A connection of a QUIC stack.
#[derive(Default)]
pub(crate) struct GuestConnection {
    /// `None`: it has not begun.
    guest: Option<Box<dyn Guest>>,
    /// What has left the last link for the sender and for the receiver, and when it arrives.
    arriving: [VecDeque<(u64, Datagram)>; 2],
}

impl GuestConnection {
    /// The connection begins.
    pub(super) fn begin(&mut self, guest: Box<dyn Guest>) {
        self.guest = Some(guest);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.guest.is_some()
    }

    /// A datagram is on its way to this end.
    pub(super) fn expect(&mut self, to: End, arrives_ns: u64, datagram: Datagram) {
        self.arriving[to as usize].push_back((arrives_ns, datagram));
    }

    /// When something is due next, of a flow that starts at `start_ns`.
    pub(super) fn next_event_ns(&mut self, start_ns: u64) -> u64 {
        let Some(guest) = &mut self.guest else {
            return start_ns;
        };
        let timers_ns = End::ALL.map(|end| guest.poll_timeout(end));
        let arrivals_ns = (self.arriving.iter()).filter_map(|line| Some(line.front()?.0));
        arrivals_ns.chain(timers_ns).min().unwrap_or(NEVER)
    }

    /// The connection, if it has begun.
    pub(crate) fn guest(&mut self) -> Option<&mut (dyn Guest + 'static)> {
        self.guest.as_deref_mut()
    }

    /// Gives it what has arrived, and its timers that are due.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        let Some(guest) = &mut self.guest else {
            return;
        };
        for end in End::ALL {
            let line = &mut self.arriving[end as usize];
            while line.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
                if let Some((_, datagram)) = line.pop_front() {
                    guest.receive(end, now_ns, datagram);
                }
            }
            if guest.poll_timeout(end) <= now_ns {
                guest.handle_timeout(end, now_ns);
            }
        }
    }

    /// What it knows; nothing if it has not begun.
    pub(crate) fn state(&self) -> State {
        self.guest
            .as_ref()
            .map_or_else(State::default, |guest| guest.state())
    }
}
