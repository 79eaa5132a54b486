//! What the application of a flow does, and when.

use super::{ConnectionState, Flow, LastFin};
use crate::scenario::Scenario;
use crate::tcp::{Push, Sender, ENDLESS};
use crate::write_schedule::WriteSchedule;
use ackclock_host::Era;
use ackclock_net::schedule::NEVER;

impl Flow<'_> {
    /// The flow is connected.
    pub(super) fn begin_to_write(&mut self, sender: &mut Sender, now_ns: u64) {
        if let Some(schedule) = WriteSchedule::begin(self.scenario, now_ns) {
            sender.write_nothing();
            self.application_ns = self.application_ns.min(schedule.next_ns());
            self.application = Some(Box::new(schedule));
        } else {
            sender.close_when_written(self.last_packet_bytes < self.packet_bytes);
        }
    }

    /// The application begins to write, or stops. Returns whether it has stopped.
    #[cold]
    pub(crate) fn run_application(&mut self, scenario: &Scenario, now_ns: u64) -> bool {
        let stop_ns = self.scenario.stop_ns.unwrap_or(NEVER);
        let ConnectionState::Open(connection) = &mut self.state else {
            return false;
        };
        if stop_ns <= now_ns {
            connection.sender.stop_writing();
            (self.application, self.application_ns) = (None, NEVER);
            return true;
        }
        let Some(schedule) = &mut self.application else {
            return false;
        };
        if let Some(phase) = schedule.write(now_ns) {
            let mss = u64::from(scenario.mss_of(self.scenario));
            let segments = (phase.size_bytes).map_or(ENDLESS, |bytes| bytes.div_ceil(mss));
            (connection.sender).write(now_ns, segments, schedule.asks());
        }
        self.application_ns = schedule.next_ns().min(stop_ns);
        false
    }

    /// All is acknowledged. Returns whether the application goes on.
    #[cold]
    pub(crate) fn is_answered(&mut self, now_ns: u64) -> bool {
        let Some(schedule) = &mut self.application else {
            return false;
        };
        let ends = schedule.ends();
        schedule.answered(now_ns);
        self.application_ns = (schedule.next_ns()).min(self.scenario.stop_ns.unwrap_or(NEVER));
        !ends
    }

    /// The receiver of a session's connection has sent its FIN, which has come. With a queue on the way back, that
    /// FIN comes once.
    pub(crate) fn await_last_ack(&mut self, hz: u32, now_ns: u64) {
        let (ConnectionState::Open(connection), Some(session), None) =
            (&self.state, &mut self.session, self.path.acks)
        else {
            return;
        };
        let back_ns = self.back.delay_ns();
        let mut clock = self.kernel.clock(hz, self.tick_phase_ns.into());
        clock.advance(now_ns - back_ns);
        let (probe, rto) = connection.receiver.fin_timeouts();
        let probe = (self.kernel.era == Era::Linux6).then_some(probe);
        session.await_last_ack(LastFin::begin(
            self.connection,
            clock,
            back_ns,
            (probe, rto),
        ));
        self.await_fins();
    }

    /// FINs of a session's receivers come again, or will not.
    pub(crate) fn await_fins(&mut self) {
        let fin_ns = self.session.as_ref().map_or(NEVER, |of| of.next_fin_ns());
        self.application_ns = fin_ns.min(self.scenario.stop_ns.unwrap_or(NEVER));
    }

    /// The application fills one more packet. Returns what may leave then; `None`: it waits.
    pub(crate) fn write_packet(&mut self) -> Option<Option<Push>> {
        self.application.as_ref()?;
        self.state.open()?.sender.write_packet()
    }
}
