//! Which of several timers comes first that fire at one time: hosts without jitter count the same jiffies.

use super::simulation::Simulation;
use super::wire::Wire;
use crate::flow::ConnectionState;

impl<W: Wire> Simulation<'_, W> {
    /// The flow whose event comes first at `now_ns`: this one, unless its timer and others are due, of which
    /// Linux runs another first.
    #[inline(always)]
    pub(super) fn first_of_timers(&self, element: usize, now_ns: u64) -> usize {
        if self.same_jiffies && self.flows[element].next_timer_ns == now_ns {
            return self.first_in_wheel(element, now_ns);
        }
        element
    }

    #[cold]
    #[inline(never)]
    fn first_in_wheel(&self, element: usize, now_ns: u64) -> usize {
        let place = |of: usize| {
            let flow = &self.flows[of];
            match &flow.state {
                ConnectionState::Open(connection) if flow.next_timer_ns == now_ns => {
                    let ack_comes = connection.acks.arrived(now_ns).is_some();
                    let place = connection.sender.place_in_wheel(now_ns);
                    place.filter(|_| !ack_comes)
                }
                _ => None,
            }
        };
        let Some(own) = place(element) else {
            return element;
        };
        let others = (0..self.flows.len()).filter_map(|of| Some((place(of)?, of)));
        let first = others.max_by_key(|&(place, of)| (place, std::cmp::Reverse(of)));
        first.map_or(
            element,
            |(place, of)| if place > own { of } else { element },
        )
    }
}
