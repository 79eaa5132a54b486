//! Senders ahead of the clock (ADR 18). Among many flows the state of a sender is far away in memory
//! when its ACK arrives. So a flow whose turn it is lets its sender handle all ACKs whose arrival is
//! known ([`Ahead`](crate::acks::Ahead)). What they release leaves at their own times, in the order of
//! all flows: that needs the link, the receiver and little of the flow.

use super::{Dumbbell, Path};
use crate::acks::Rest;
use crate::flow::Connection;
use crate::tcp::Transmit;
use crate::RunError;

impl Dumbbell<'_> {
    /// Handles the ACK of a flow that is due at `next_ns`, and those that follow before `until_ns`, as
    /// [`step`](Self::step) does. At most `left` events; it counts them down. Then `next_ns` is when the
    /// flow wants to run next. Senders may be ahead until `horizon_ns`. Returns whether the first event
    /// was an ACK that the sender could handle.
    #[inline(always)]
    pub(super) fn ride_ahead(
        &mut self,
        element: usize,
        next_ns: &mut u64,
        (until_ns, horizon_ns): (u64, u64),
        left: &mut u32,
    ) -> Result<bool, RunError> {
        let flow = &mut self.flows[element];
        if !flow.is_ahead() && !flow.run_ahead(horizon_ns) {
            return Ok(false);
        }
        loop {
            let now_ns = *next_ns;
            *left -= 1;
            let flow = &mut self.flows[element];
            self.hash.add(now_ns ^ (u64::from(flow.number) << 48));
            let Some(Connection { acks, ahead, .. }) = flow.phase.open() else {
                return Ok(true);
            };
            let Some((ack, burst)) = ahead.take(acks) else {
                return Ok(true);
            };
            self.hash.add(ack);
            let rests = !ahead.is_ahead() && !matches!(ahead.rest, Rest::Nothing);
            if let Some(burst) = burst {
                self.send_on_link(element, now_ns, burst);
            }
            if rests {
                self.finish_ahead(element, now_ns)?;
                *next_ns = self.flows[element].next_event_ns();
                return Ok(true);
            }
            let flow = &mut self.flows[element];
            *next_ns = flow.next_ahead_ns();
            if *next_ns >= flow.others_ns.min(until_ns) || *left == 0 || !flow.is_ahead() {
                return Ok(true);
            }
        }
    }

    /// Does what the last ACK that a sender has handled ahead leaves to do at its time.
    #[cold]
    #[inline(never)]
    fn finish_ahead(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let Some(connection) = self.flows[element].phase.open() else {
            return Ok(());
        };
        match std::mem::take(&mut connection.ahead.rest) {
            Rest::Nothing => (),
            Rest::Report => self.report(element, now_ns)?,
            Rest::Sends(burst) => self.send_on_link(element, now_ns, *burst),
        }
        self.transmit(element, now_ns);
        Ok(())
    }

    /// Sends a burst through the link, as [`transmit`](Self::transmit) does.
    #[inline(always)]
    fn send_on_link(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        let flow = &mut self.flows[element];
        let Path::Predicted { links, losses } = &mut self.path else {
            return;
        };
        let (link, loss) = (&mut links[flow.way.data], &mut losses[flow.way.data]);
        let packets = u64::from(burst.segments);
        self.census.sent += packets;
        if burst.range().end == flow.segments || !loss.passes(burst.segments) {
            return self.transmit_each(element, now_ns, burst);
        }
        let dropped = flow.carry(link, &mut self.hash, now_ns, burst);
        self.census.dropped += dropped;
        self.census.received += packets - dropped;
    }
}
