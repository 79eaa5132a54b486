//! What the application of a flow does, and when.

use super::phases::Application;
use super::{Flow, Phase};
use crate::scenario::{Scenario, Write};
use crate::tcp::{Push, Sender, ENDLESS};
use ackclock_net::schedule::NEVER;

impl Flow<'_> {
    /// The flow is connected.
    pub(super) fn begin_to_write(&mut self, sender: &mut Sender, now_ns: u64) {
        let Some(first) = self.scenario.write(0) else {
            return;
        };
        sender.write_nothing();
        self.application = Some(Box::new(Application {
            connected_ns: now_ns,
            phase: None,
            next: 0,
            waits: false,
            ends: false,
        }));
        self.application_ns = self.application_ns.min(now_ns + first.at_ns);
    }

    /// The application begins to write, or stops. Returns whether it has stopped.
    #[cold]
    pub(crate) fn run_application(&mut self, scenario: &Scenario, now_ns: u64) -> bool {
        let stop_ns = self.scenario.stop_ns.unwrap_or(NEVER);
        let Phase::Open(connection) = &mut self.phase else {
            return false;
        };
        if stop_ns <= now_ns {
            connection.sender.stop_writing();
            (self.application, self.application_ns) = (None, NEVER);
            return true;
        }
        let Some(application) = &mut self.application else {
            return false;
        };
        let begins = (self.scenario.write(application.next))
            .filter(|next| application.connected_ns + next.at_ns <= now_ns);
        if begins.is_some() {
            (application.phase, application.next) = (begins, application.next + 1);
        }
        if let Some(phase) = application.phase {
            let mss = u64::from(scenario.mss_of(self.scenario));
            let segments = (phase.size_bytes).map_or(ENDLESS, |bytes| bytes.div_ceil(mss));
            application.waits = phase.pause_ns.is_some();
            application.ends = phase.is_once() && self.scenario.write(application.next).is_none();
            let tells = application.waits || application.ends;
            (connection.sender).write(now_ns, segments, tells);
        }
        self.await_next(now_ns, |phase| phase.every_ns);
        false
    }

    /// All is acknowledged. Returns whether the application goes on.
    #[cold]
    pub(crate) fn is_answered(&mut self, now_ns: u64) -> bool {
        let Some(application) = &mut self.application else {
            return false;
        };
        let ends = application.ends;
        if std::mem::take(&mut application.waits) {
            self.await_next(now_ns, |phase| phase.pause_ns);
        }
        !ends
    }

    /// The current phase goes on after so long, unless another begins before.
    fn await_next(&mut self, now_ns: u64, after: impl Fn(Write) -> Option<u64>) {
        let Some(application) = &self.application else {
            return;
        };
        let goes_on = application.phase.and_then(after);
        let goes_on_ns = goes_on.map_or(NEVER, |ns| now_ns + ns);
        let next = self.scenario.write(application.next);
        let next_ns = next.map_or(NEVER, |next| application.connected_ns + next.at_ns);
        let stop_ns = self.scenario.stop_ns.unwrap_or(NEVER);
        self.application_ns = goes_on_ns.min(next_ns).min(stop_ns);
    }

    /// The application fills one more packet. Returns what may leave then; `None`: it waits.
    pub(crate) fn write_packet(&mut self) -> Option<Option<Push>> {
        self.application.as_ref()?;
        self.phase.open()?.sender.write_packet()
    }
}
