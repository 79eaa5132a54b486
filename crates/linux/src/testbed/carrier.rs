//! Carries real packets between two namespaces, as the emulator says when.

use super::namespace::TunNamespace;
use super::packet_file::PacketFile;
use crate::emulator::{EmulatedNetwork, Lateness, Toward};
use crate::sys;
use ackclock_sim::record::{QueueRow, QueueTable};
use ackclock_sim::topology::{Path, Topology};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Shortest time between two turns.
pub(super) const COALESCE_NS: u64 = 50_000;
/// Shortest busy period of a link that measures its rate.
const LEAST_PERIOD_NS: i64 = 400 * COALESCE_NS as i64;
/// Maximum packets read from a device in one turn.
const MOST_READS: u32 = 256;
/// Longest sleep, and so the longest time until a cancelled run ends.
const LONGEST_SLEEP_NS: u64 = 10_000_000;
/// Above all normal threads, below the kernel's own threads.
const PRIORITY: i32 = 50;

/// The network, the devices at its ends, and how well its packets kept time.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) network: EmulatedNetwork,
    pub(super) senders: Arc<TunNamespace>,
    pub(super) receivers: Arc<TunNamespace>,
    pub(super) measured: Measured,
    /// Where the packets at the senders' device are written.
    pub(super) packets: Option<PacketFile>,
    /// The last link that packets toward the receivers pass, and toward the senders, on each path;
    /// `None` if its rate is not measured.
    last_links: [Vec<Option<usize>>; 2],
    /// Where a packet is read.
    buffer: Box<[u8]>,
    /// Monotonic time of the start.
    pub(super) started_ns: u64,
    cpu_before: Duration,
}

/// How well the loop kept time.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) lateness: Lateness,
    /// Lateness of the latest sample; then the packets that could not be written.
    pub(super) sample_late_ns: u64,
    pub(super) lost_packets: u64,
    /// How busy each link was.
    pub(super) links: Vec<Busy>,
    pub(super) cpu_time: Duration,
    /// Why the thread has no real-time priority.
    pub(super) not_realtime: Option<io::Error>,
}

/// Data that left the network back to back behind a link, by the real clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    pub(super) rate_bps: u64,
    total: Span,
    /// Since the link was last idle.
    present: Span,
    /// When the last packet left by the link's clock, and by the real clock.
    last: (u64, u64),
}

/// Bytes, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) bytes: u64,
    pub(super) ns: i64,
}

impl Carrier {
    /// `both_ways`: packets toward the senders are data, too.
    pub(super) fn new(
        network: EmulatedNetwork,
        [senders, receivers]: [Arc<TunNamespace>; 2],
        topology: &Topology,
        packet_bytes: u32,
        both_ways: bool,
    ) -> Self {
        let last = |route: usize| topology.routes[route].last().copied();
        let data = |path: &Path| last(path.data);
        let acks = |path: &Path| path.acks.filter(|_| both_ways).and_then(last);
        let paths = &topology.paths;
        let links = topology.links.iter().map(|link| Busy {
            rate_bps: link.rate_bps,
            ..Busy::default()
        });
        Self {
            network,
            senders,
            receivers,
            measured: Measured {
                links: links.collect(),
                ..Measured::default()
            },
            packets: None,
            last_links: [
                paths.iter().map(data).collect(),
                paths.iter().map(acks).collect(),
            ],
            buffer: vec![0; packet_bytes as usize].into(),
            started_ns: 0,
            cpu_before: Duration::ZERO,
        }
    }

    /// Starts the clock. Call it on the thread that carries the packets.
    pub(super) fn start(&mut self) {
        self.measured.not_realtime = sys::become_realtime(PRIORITY).err();
        self.cpu_before = sys::thread_cpu_time();
        self.started_ns = sys::now_ns();
    }

    /// The last packet is carried. Call it on the same thread.
    pub(super) fn stop(&mut self) {
        self.measured.cpu_time = sys::thread_cpu_time().saturating_sub(self.cpu_before);
    }

    /// Time since the start.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        sys::now_ns() - self.started_ns
    }

    /// Writes the packets that are due. Calls `touched` with the host and the path of each.
    pub(super) fn deliver(&mut self, now_ns: u64, mut touched: impl FnMut(Toward, usize)) {
        while let Some(due) = self.network.take_due(now_ns) {
            let written_ns = self.now_ns();
            let late_ns = written_ns - due.due_ns;
            self.measured.lateness.add(late_ns);
            touched(due.toward, due.path);
            if let Some(link) = self.last_links[due.toward as usize][due.path] {
                self.measured.links[link].add(due.left_ns, late_ns, due.bytes.len());
            }
            let host = match due.toward {
                Toward::Sender => &self.senders,
                Toward::Receiver => &self.receivers,
            };
            if let (Some(packets), Toward::Sender) = (&mut self.packets, due.toward) {
                packets.write(written_ns, false, &due.bytes);
            }
            if sys::write(&host.tun, &due.bytes).is_err() {
                self.measured.lost_packets += 1;
            }
        }
    }

    /// Reads the packets that a host has sent. Calls `sent` with the path of each. Returns whether
    /// there are no more.
    pub(super) fn read(&mut self, toward: Toward, mut sent: impl FnMut(usize)) -> bool {
        let host = match toward {
            Toward::Receiver => &self.senders,
            Toward::Sender => &self.receivers,
        };
        for _ in 0..MOST_READS {
            let Ok(len) = sys::read(&host.tun, &mut self.buffer) else {
                return true;
            };
            let now_ns = sys::now_ns() - self.started_ns;
            let packet = &self.buffer[..len];
            if let (Some(packets), Toward::Receiver) = (&mut self.packets, toward) {
                packets.write(now_ns, true, packet);
            }
            if let Some(path) = self.network.send(now_ns, toward, packet) {
                sent(path);
            }
        }
        false
    }

    /// Takes a sample of the queues that was due before.
    pub(super) fn sample(&mut self, at_ns: u64, now_ns: u64, queues: &mut QueueTable) {
        let latest_ns = &mut self.measured.sample_late_ns;
        *latest_ns = (now_ns - at_ns).max(*latest_ns);
        for (state, number) in self.network.states(at_ns).zip(1..) {
            queues.push(QueueRow::from_link(at_ns, number, &state));
        }
    }

    /// Sleeps from a turn until the network or the caller has something to do.
    pub(super) fn sleep(&self, turn_ns: u64, next_ns: u64) {
        let next_ns = self.network.next_event_ns().min(next_ns);
        let wake_ns = next_ns.max(turn_ns + COALESCE_NS);
        let now_ns = self.now_ns();
        if wake_ns <= now_ns {
            return;
        }
        if wake_ns - now_ns <= COALESCE_NS {
            sys::sleep_until(self.started_ns + wake_ns);
        } else {
            // A timer of the kernel may send a packet before.
            let longest_ns = (wake_ns - now_ns).min(LONGEST_SLEEP_NS);
            sys::wait_readable([&self.senders.tun, &self.receivers.tun], longest_ns);
        }
    }
}

impl Busy {
    /// Measures a data packet that is written. The packet follows the one before back to back if
    /// exactly its own service time is between them on the link's clock.
    #[inline]
    fn add(&mut self, left_ns: u64, late_ns: u64, bytes: usize) {
        let service_ns = bytes as u64 * 8_000_000_000 / self.rate_bps;
        let written_ns = left_ns + late_ns;
        let (last_left_ns, last_written_ns) = self.last;
        if left_ns.saturating_sub(last_left_ns).abs_diff(service_ns) <= 1 {
            self.present.bytes += bytes as u64;
            self.present.ns += written_ns as i64 - last_written_ns as i64;
        } else {
            self.total = self.total();
            self.present = Span::default();
        }
        self.last = (left_ns, written_ns);
    }

    /// All busy periods that were long enough: the loop writes packets of a short one together.
    pub(super) fn total(&self) -> Span {
        let Span { bytes, ns } = self.total;
        if self.present.ns < LEAST_PERIOD_NS {
            return self.total;
        }
        Span {
            bytes: bytes + self.present.bytes,
            ns: ns + self.present.ns,
        }
    }
}
