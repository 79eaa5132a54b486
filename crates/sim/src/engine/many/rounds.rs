//! All rounds of a simulation whose flows take turns.

use super::round::{DATA, ESTABLISHED, LAST, SYN};
use super::Many;
use crate::engine::simulation::{Run, Simulation};
use crate::flow::{Connection, ConnectionState, Flow};
use crate::header::Header;
use crate::record::RunResult;
use crate::tcp::Linux6;
use crate::{Control, RunError};
use ackclock_host::{prefetch, Era};
use ackclock_net::schedule::NEVER;
use std::sync::atomic::Ordering;

/// So many turns before a flow's, its memory is asked for; then what a gap needs.
const SOON: [usize; 2] = [4, 2];

impl Simulation<'_, Many> {
    /// Simulates all rounds.
    #[inline(never)]
    pub(in crate::engine) fn run_rounds(mut self, control: &Control) -> Result<Run, RunError> {
        let _running = control.enter();
        let end_ns = self.scenario.duration_ns;
        let interval_ns = match self.scenario.sample_interval_ns {
            0 => NEVER,
            interval_ns => interval_ns,
        };
        let mut sample_ns = interval_ns;
        let mut from_ns = 0;
        while from_ns <= end_ns {
            control.check(from_ns)?;
            let live = control.wants_rows.swap(false, Ordering::Relaxed);
            self.hand_over_rows(if live { 1 } else { RunResult::MOST_ROWS });
            let common_ns = self.common_interval.next_ns();
            let rounds = &mut self.wire;
            let mut until_ns = from_ns + rounds.length_ns - 1;
            if rounds.before.sent.is_empty() {
                let first_ns = rounds.next_ns.iter().copied().min().unwrap_or(NEVER);
                until_ns = until_ns.max(first_ns.saturating_sub(1));
            }
            until_ns = until_ns.min(sample_ns).min(common_ns).min(end_ns);
            (rounds.now.from_ns, rounds.now.until_ns) = (from_ns, until_ns);
            rounds.list_due(until_ns);
            self.play(until_ns)?;
            self.end_round();
            if until_ns == common_ns {
                self.sample_common_interval();
            }
            if until_ns == sample_ns {
                self.sample(sample_ns);
                sample_ns += interval_ns;
            }
            from_ns = until_ns + 1;
        }
        // The packets of the last round reach their receivers.
        self.wire.list_due(end_ns);
        for element in std::mem::take(&mut self.wire.due) {
            let element = element as usize;
            self.wake(element, end_ns);
            while self.take_packets(element) {}
            self.rest(element, end_ns);
        }
        self.end_round();
        self.finish(control, end_ns)
    }

    fn end_round(&mut self) {
        let rounds = &mut self.wire;
        rounds.before.add_to(&mut self.hash);
        rounds.pass(&self.flows);
        rounds.give_rows(&mut self.result);
        rounds.resting.end_round(self.flows.len());
    }

    #[inline(always)]
    fn wake(&mut self, element: usize, until_ns: u64) {
        let Many {
            resting, before, ..
        } = &mut self.wire;
        resting.wake(element, &mut self.flows[element], before.until_ns, until_ns);
    }

    #[inline(always)]
    fn rest(&mut self, element: usize, until_ns: u64) {
        let Many {
            resting, next_ns, ..
        } = &mut self.wire;
        if let Some(ack_ns) = resting.rest(&mut self.flows[element], until_ns) {
            next_ns[element] = next_ns[element].min(ack_ns);
        }
    }

    /// Every flow that is due handles its events up to `until_ns`.
    fn play(&mut self, until_ns: u64) -> Result<(), RunError> {
        let due = std::mem::take(&mut self.wire.due);
        let mut fault: Option<((u64, usize), RunError)> = None;
        for (place, &element) in due.iter().enumerate() {
            let soon = |places: usize| {
                due.get(place + places)
                    .map(|&soon| &self.flows[soon as usize])
            };
            if let Some(flow) = soon(SOON[0]) {
                prefetch(flow);
            }
            if let Some(flow) = soon(SOON[1]) {
                flow.prefetch_gaps();
            }
            let element = element as usize;
            self.wake(element, until_ns);
            let turn = self.take_turn(element, until_ns);
            self.rest(element, until_ns);
            if let Err((at_ns, error)) = turn {
                if fault
                    .as_ref()
                    .is_none_or(|(first, _)| *first > (at_ns, element))
                {
                    fault = Some(((at_ns, element), error));
                }
            }
        }
        self.wire.due = due;
        match fault {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// The next packets of a flow that left the link in the round before reach its receiver, or were
    /// dropped. Returns whether there were any; then there may be more. After the last of them the
    /// receiver's timers of that round end.
    #[inline(always)]
    fn take_packets(&mut self, element: usize) -> bool {
        let flow = &mut self.flows[element];
        let Many { before, taken, .. } = &mut self.wire;
        while let Some(&sent) = before.sent.get(*taken) {
            if sent.element() != element {
                break;
            }
            *taken += 1;
            if sent.packets() == 0 {
                continue;
            }
            let sent_ns = before.from_ns + u64::from(sent.after_ns);
            let departs_ns = sent.departs_ns(sent_ns);
            match sent.kind() {
                DATA => {
                    ring(flow, element, sent_ns, &mut before.alarms);
                    let dropped =
                        flow.take_packets(departs_ns, sent_ns, sent.burst(), sent.has(LAST));
                    self.census.dropped += dropped;
                    self.census.received += u64::from(sent.packets()) - dropped;
                }
                SYN => flow.control_left(&Header::Syn { answered: true }, departs_ns[0].ok()),
                ESTABLISHED => flow.control_left(&Header::Established, departs_ns[0].ok()),
                _ => (),
            }
            return true;
        }
        ring(flow, element, before.until_ns, &mut before.alarms);
        false
    }

    /// The sender of a flow handles what comes up to `until_ns`. With an error returns when it came.
    #[inline(always)]
    fn take_turn(&mut self, element: usize, until_ns: u64) -> Result<(), (u64, RunError)> {
        let mut comes_more = true;
        loop {
            // ACKs wait at the receiver, so that few are on their way.
            while comes_more && !self.flows[element].has_acks() {
                comes_more = self.take_packets(element);
            }
            let flow = &mut self.flows[element];
            let next_ns = flow.next_of_sender_ns();
            if next_ns > until_ns {
                while comes_more {
                    comes_more = self.take_packets(element);
                }
                let flow = &self.flows[element];
                let next_ns = next_ns.min(flow.receiver_timeout_ns());
                self.wire.next_ns[element] = next_ns;
                return Ok(());
            }
            let at_error = |error| (next_ns, error);
            let open = flow.next_timer_ns > next_ns;
            let (last, Some(connection)) = (flow.segments, flow.state.open().filter(|_| open))
            else {
                self.slow_path(element, next_ns).map_err(at_error)?;
                continue;
            };
            let Connection { acks, sender, .. } = connection;
            let Some((_, ack)) = acks.pop() else {
                return Ok(());
            };
            self.wire.now.event(element, next_ns, Some(ack.ack));
            // Thousands of flows are of Linux 6.
            let common = sender.predicts::<Linux6>(&ack) && sender.plan() == Some(Era::Linux6);
            let quiet = match common {
                true => sender.handle_predicted::<Linux6>(next_ns, ack.ack),
                false => {
                    sender.handle_ack(next_ns, &ack);
                    sender.is_quiet()
                }
            };
            if !quiet {
                self.report(element, next_ns).map_err(at_error)?;
                self.transmit(element, next_ns);
                continue;
            }
            if common && !sender.is_idle() {
                while let Some(burst) = sender.poll_new::<Linux6>() {
                    self.census.sent += u64::from(burst.segments);
                    self.wire.now.burst(burst, burst.range().end >= last);
                }
                continue;
            }
            while let Some(burst) = sender.poll_transmit(next_ns) {
                self.census.sent += u64::from(burst.segments);
                self.wire.now.burst(burst, burst.range().end >= last);
            }
            if sender.waits_for_softirq_end(next_ns) {
                self.transmit(element, next_ns);
            }
        }
    }
}

/// Ends the timers of the receiver that are due by `until_ns`.
#[inline(always)]
fn ring(flow: &mut Flow<'_>, element: usize, until_ns: u64, alarms: &mut Vec<(u64, u32)>) {
    while let ConnectionState::Open(connection) = &mut flow.state {
        let at_ns = connection.receiver.poll_timeout();
        if at_ns > until_ns {
            return;
        }
        alarms.push((at_ns, element as u32));
        if let Some(ack) = connection.receiver.handle_timeout(at_ns) {
            flow.send_ack(at_ns, ack);
        }
    }
}
