//! What the hosts of all stacks have: a clock, addresses, an application, datagrams to send.

use ackclock_net::queue::Ecn;
use ackclock_sim::guest::{Datagram, End, Settings};
use ackclock_sim::scenario::Flow;
use ackclock_sim::write_schedule::WriteSchedule;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

/// Packets that quinn and noq give to the kernel at once (`MAX_TRANSMIT_SEGMENTS` of both).
pub(crate) const BURST: usize = 10;
/// Bytes that AES-GCM adds to a packet, and that the protection of its header looks at.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of a connection's ID, as of the stacks' own.
pub(crate) const ID_BYTES: usize = 8;
/// What an application writes at a time.
pub(crate) static DATA: [u8; 64 << 10] = [0; 64 << 10];

/// Time as a stack counts it: any instant is the zero of a run.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn at(self, now_ns: u64) -> Instant {
        self.0 + Duration::from_nanos(now_ns)
    }

    pub(crate) fn ns(self, instant: Instant) -> u64 {
        instant.duration_since(self.0).as_nanos() as u64
    }
}

/// A day that is always the same, for the tokens that a server gives away.
pub(crate) fn day() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

pub(crate) fn address(end: End) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, 1 + end as u8), 4433).into()
}

pub(crate) fn other(end: End) -> End {
    match end {
        End::Sender => End::Receiver,
        End::Receiver => End::Sender,
    }
}

/// Seed of an end's random numbers.
pub(crate) fn seed(settings: &Settings, end: End) -> [u8; 32] {
    let mut seed = [end as u8; 32];
    seed[..8].copy_from_slice(&settings.seed.to_be_bytes());
    seed
}

/// Counts connection IDs.
pub(crate) struct Ids(u64);

impl Ids {
    pub(crate) fn for_end(end: End) -> Self {
        Self(u64::from(end as u8) << 32)
    }

    pub(crate) fn draw(&mut self) -> [u8; ID_BYTES] {
        self.0 += 1;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
    }
}

/// The token of a reset: the connection's ID, again and again.
pub(crate) fn sign(data: &[u8], to: &mut [u8]) {
    for (byte, from) in to.iter_mut().zip(data.iter().cycle()) {
        *byte = !from;
    }
}

/// What was sent at once and has not been asked for.
#[derive(Default)]
pub(crate) struct Ready(VecDeque<Datagram>);

impl Ready {
    /// Cuts a burst into datagrams.
    pub(crate) fn take(&mut self, text: &[u8], segment_size: Option<usize>, ecn: Ecn) {
        let each = segment_size.unwrap_or(text.len()).max(1);
        self.0.extend(text.chunks(each).map(|bytes| Datagram {
            bytes: bytes.into(),
            ecn,
        }));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn next(&mut self) -> Option<Datagram> {
        self.0.pop_front()
    }
}

/// An application that has data until its size or its stop, or writes now and then.
pub(crate) struct Application {
    flow: Flow,
    /// Once it is connected, if it writes now and then.
    schedule: Option<WriteSchedule>,
    is_connected: bool,
    stop_ns: u64,
    /// What it has had to write so far.
    size_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) is_finished: bool,
}

impl Application {
    pub(crate) fn new(settings: &Settings) -> Self {
        let flow = settings.flow.clone();
        Self {
            schedule: None,
            is_connected: false,
            stop_ns: flow.stop_ns.unwrap_or(u64::MAX),
            size_bytes: flow.size_bytes.unwrap_or(u64::MAX),
            flow,
            written_bytes: 0,
            read_bytes: 0,
            is_finished: false,
        }
    }

    /// The guest is connected.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.is_connected = true;
        self.schedule = WriteSchedule::begin(&self.flow, now_ns);
        if self.schedule.is_some() {
            self.size_bytes = 0;
        }
    }

    /// Whether it may write.
    pub(crate) fn is_writing(&self) -> bool {
        self.is_connected && !self.is_finished
    }

    /// Goes on with the phases that are due.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while now_ns < self.stop_ns && self.next_ns() <= now_ns {
            let phase = self
                .schedule
                .as_mut()
                .and_then(|schedule| schedule.write(now_ns));
            let bytes = phase.and_then(|phase| phase.size_bytes);
            self.size_bytes = bytes.map_or(u64::MAX, |bytes| self.size_bytes + bytes);
        }
    }

    /// All data is acknowledged. Returns whether that was the last.
    pub(crate) fn answered(&mut self, now_ns: u64) -> bool {
        if let Some(schedule) = &mut self.schedule {
            schedule.answered(now_ns);
        }
        self.is_finished
    }

    /// When it goes on or stops by itself; `u64::MAX`: never.
    pub(crate) fn next_ns(&self) -> u64 {
        match &self.schedule {
            Some(schedule) if !self.is_finished => schedule.next_ns().min(self.stop_ns),
            _ => u64::MAX,
        }
    }

    /// What it writes next: so much that a window of these bytes never waits for it.
    pub(crate) fn next(&self, now_ns: u64, window_bytes: u64) -> &'static [u8] {
        let ahead = self.read_bytes + 2 * window_bytes + 4 * DATA.len() as u64;
        let bytes = ahead
            .min(self.size_bytes)
            .saturating_sub(self.written_bytes);
        match now_ns < self.stop_ns {
            true => &DATA[..bytes.min(DATA.len() as u64) as usize],
            false => &[],
        }
    }

    /// Whether it will write no more.
    pub(crate) fn ends(&self, now_ns: u64) -> bool {
        let ends = self.schedule.as_ref().is_none_or(WriteSchedule::ends);
        now_ns >= self.stop_ns || (ends && self.written_bytes == self.size_bytes)
    }

    /// Whether it wants to know when all that it has written is acknowledged.
    pub(crate) fn asks(&self) -> bool {
        let asks = self.schedule.as_ref().is_some_and(WriteSchedule::asks);
        asks && self.written_bytes == self.size_bytes
    }
}
