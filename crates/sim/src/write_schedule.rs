//! The phases of an application that writes now and then, whatever carries its data.
//!
//! How to drive them: [`write`](WriteSchedule::write) when they [are due](WriteSchedule::next_ns), and
//! [`answered`](WriteSchedule::answered) when all is acknowledged.

use crate::scenario::{Flow, Write};
use ackclock_net::schedule::NEVER;

/// What an application writes, and when.
#[derive(Clone, Debug)]
pub struct WriteSchedule {
    phases: Vec<Write>,
    connected_ns: u64,
    /// The current phase, if one has begun, and the number of the next.
    current: Option<Write>,
    next: usize,
    next_ns: u64,
    waits: bool,
    ends: bool,
}

impl WriteSchedule {
    /// Those of a flow that is connected now; `None`: it always has data.
    pub fn begin(flow: &Flow, now_ns: u64) -> Option<Self> {
        let of_frames = flow.frames.map(|frames| Write {
            size_bytes: Some(frames.size_bytes),
            every_ns: Some(frames.every_ns),
            ..Write::default()
        });
        let phases = of_frames.map_or_else(|| flow.writes.clone(), |phase| vec![phase]);
        let first_ns = now_ns + phases.first()?.at_ns;
        Some(Self {
            phases,
            connected_ns: now_ns,
            current: None,
            next: 0,
            next_ns: first_ns,
            waits: false,
            ends: false,
        })
    }

    /// When the application writes next; [`NEVER`] unless it is answered.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Whether it wants to know when its last write is acknowledged: it waits for that, or is over then.
    pub fn asks(&self) -> bool {
        self.waits || self.ends
    }

    /// Whether its last write has begun.
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// What it writes now.
    pub fn write(&mut self, now_ns: u64) -> Option<Write> {
        let next = self.phases.get(self.next);
        let begins = next.filter(|next| self.connected_ns + next.at_ns <= now_ns);
        if let Some(begins) = begins.copied() {
            (self.current, self.next) = (Some(begins), self.next + 1);
        }
        let phase = self.current?;
        self.waits = phase.pause_ns.is_some();
        self.ends = phase.is_once() && self.next == self.phases.len();
        self.await_next(now_ns, phase.every_ns);
        Some(phase)
    }

    /// All that it has written is acknowledged.
    pub fn answered(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.waits) {
            self.await_next(now_ns, self.current.and_then(|phase| phase.pause_ns));
        }
    }

    /// The current phase goes on after so long, unless another begins before.
    fn await_next(&mut self, now_ns: u64, after_ns: Option<u64>) {
        let goes_on_ns = after_ns.map_or(NEVER, |ns| now_ns + ns);
        let next = self.phases.get(self.next);
        let begins_ns = next.map_or(NEVER, |next| self.connected_ns + next.at_ns);
        self.next_ns = goes_on_ns.min(begins_ns);
    }
}

impl Write {
    /// Whether the application writes once, and not without end.
    fn is_once(&self) -> bool {
        self.size_bytes.is_some() && self.every_ns.is_none() && self.pause_ns.is_none()
    }
}
