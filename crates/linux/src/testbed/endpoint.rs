//! The two ends of a flow: real sockets and the application that drives them.

use super::TestbedError;
use crate::emulator::FIRST_PORT;
use crate::sys::{self, TcpInfo};
use ackclock_host::TCP_INFINITE_SSTHRESH;
use ackclock_net::queue::Tally;
use ackclock_sim::common_interval::Progress;
use ackclock_sim::record::{
    EventCounts, EventKind, EventRow, EventTable, FlowRow, SampleRow, SampleTable, State,
};
use ackclock_sim::scenario::{Flow, Scenario};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// Address of the receivers.
pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Address of the senders.
pub(super) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The data that an application writes; its contents do not matter.
/// Half of what a send buffer counts, which is more than any window here.
const SEND_BUFFER_BYTES: i32 = 1 << 29;
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];
/// `tcp_ca_state`.
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// `TCP_SYN_SENT`.
const SYN_SENT: u8 = 2;

/// One flow.
#[derive(Debug)]
pub(super) struct Endpoint {
    number: u32,
    sender: OwnedFd,
    receiver: OwnedFd,
    accepted: bool,
    phase: Phase,
    pub(super) connects_at_ns: u64,
    /// What the application writes in total, and what it has written so far; bytes.
    size: u64,
    written: u64,
    /// Maximum bytes (whole segments) that the application leaves unacknowledged.
    send_buffer: u64,
    receive_window_bytes: Option<u64>,
    /// Unsent bytes that the application keeps ready. It writes again when half of them are left.
    unsent: u32,
    /// Whether the socket has been full once.
    filled: bool,
    /// Whether `send_buffer` stopped the last write.
    full: bool,
    shut_down: bool,
    full_ns: u64,
    pub(super) updated_ns: u64,
    info: TcpInfo,
    completed_ns: Option<u64>,
    counts: EventCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Connecting,
    Open,
}

/// The rows that the flows record.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) samples_wanted: bool,
    pub(super) samples: SampleTable,
    pub(super) events: EventTable,
}

impl Endpoint {
    /// Makes the sender's socket of flow `index` (from 0), whose slowest link has this rate. Call it in
    /// the senders' namespace.
    pub(super) fn sender(
        scenario: &Scenario,
        index: usize,
        rate_bps: u64,
        congestion_control: &str,
    ) -> io::Result<OwnedFd> {
        let unsent = unsent_bytes(&scenario.flows[index], rate_bps);
        let socket = sys::tcp_socket()?;
        sys::set_congestion_control(&socket, congestion_control)?;
        let limit = scenario.flows[index].max_pacing_rate_bps;
        if scenario.pacing || limit.is_some() {
            // Any limit but "none" makes TCP pace itself.
            let rate = limit.map_or(u64::MAX - 1, |bps| bps / 8);
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)?;
        }
        let level = libc::IPPROTO_TCP;
        sys::set_option(&socket, level, libc::TCP_NOTSENT_LOWAT, &unsent)?;
        if let Some(bytes) = scenario.flows[index].mss_bytes {
            let with_timestamps = bytes + scenario.header_bytes - 40;
            sys::set_option(&socket, level, libc::TCP_MAXSEG, &with_timestamps)?;
        }
        Ok(socket)
    }

    /// Makes the listening socket of flow `index` (from 0). `congestion_control`: that of the
    /// receiver, if it must be the flow's. Call it in the receivers' namespace.
    pub(super) fn receiver(
        scenario: &Scenario,
        index: usize,
        congestion_control: Option<&str>,
    ) -> io::Result<OwnedFd> {
        let socket = sys::tcp_socket()?;
        if let Some(name) = congestion_control {
            sys::set_congestion_control(&socket, name)?;
        }
        if let Some(bytes) = scenario.flows[index].receive_window_bytes {
            clamp_window(&socket, bytes)?;
        }
        sys::listen(&socket, RECEIVER, FIRST_PORT + 1 + index as u16)?;
        Ok(socket)
    }

    /// Makes a flow that has not started.
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        rate_bps: u64,
        [sender, receiver]: [OwnedFd; 2],
    ) -> Self {
        let flow = &scenario.flows[index];
        let connects_at_ns = scenario.connects_at_ns(index);
        let mss = u64::from(scenario.mss_of(flow));
        Self {
            number: index as u32 + 1,
            sender,
            receiver,
            accepted: false,
            phase: Phase::Waiting,
            connects_at_ns,
            size: flow.size_bytes.unwrap_or(u64::MAX),
            written: 0,
            send_buffer: flow
                .send_buffer_bytes
                .map_or(u64::MAX, |bytes| bytes / mss * mss),
            receive_window_bytes: flow.receive_window_bytes,
            unsent: unsent_bytes(flow, rate_bps),
            filled: false,
            full: false,
            shut_down: false,
            full_ns: 0,
            updated_ns: 0,
            info: TcpInfo::default(),
            completed_ns: None,
            counts: EventCounts::default(),
        }
    }

    /// Sends the SYN.
    pub(super) fn connect(&mut self) -> Result<(), TestbedError> {
        self.phase = Phase::Connecting;
        let port = FIRST_PORT + self.number as u16;
        sys::connect(&self.sender, RECEIVER, port).map_err(|source| self.broken(source))
    }

    /// Stops the application: it writes no more. Call `update` afterwards.
    pub(super) fn stop(&mut self) {
        self.size = self.written;
    }

    /// Handles packets that may have arrived at the receiver.
    pub(super) fn receive(&mut self) {
        if !self.accepted {
            let Ok(socket) = sys::accept(&self.receiver) else {
                return;
            };
            (self.receiver, self.accepted) = (socket, true);
        }
        // The end of the data, or an error, shows at the sender.
        let _ = sys::discard(&self.receiver);
        if let Some(bytes) = self.receive_window_bytes {
            // The kernel forgets the clamp when it has learnt how much memory a packet takes.
            let _ = clamp_window(&self.receiver, bytes);
        }
    }

    /// Reads the state of the sender, records what has changed, and writes as much data as the
    /// socket takes.
    pub(super) fn update(&mut self, now_ns: u64, record: &mut Rows) -> Result<(), TestbedError> {
        if self.phase == Phase::Waiting {
            return Ok(());
        }
        let now = self.look()?;
        let before = std::mem::replace(&mut self.info, now);
        if self.full && self.info.notsent_bytes == 0 {
            self.full_ns += now_ns - self.updated_ns;
        }
        self.updated_ns = now_ns;
        match self.phase {
            Phase::Connecting if self.info.state == SYN_SENT => return Ok(()),
            Phase::Connecting => {
                if let Some(error) = sys::socket_error(&self.sender) {
                    return Err(self.broken(error));
                }
                self.phase = Phase::Open;
                let info = self.info;
                self.record(now_ns, EventKind::Established, &info, record);
            }
            _ => {
                for kind in changes(&before, &self.info).into_iter().flatten() {
                    self.record(now_ns, kind, &before, record);
                }
            }
        }
        self.write()?;
        let written = self.size == self.written;
        if written && self.completed_ns.is_none() && self.delivered_bytes() == self.size {
            self.completed_ns = Some(now_ns);
            let info = self.info;
            self.record(now_ns, EventKind::Completed, &info, record);
        }
        Ok(())
    }

    fn record(&mut self, now_ns: u64, kind: EventKind, before: &TcpInfo, record: &mut Rows) {
        self.counts.add(kind);
        record.events.push(EventRow {
            time_us: now_ns / 1_000,
            flow: self.number,
            kind,
            cwnd_packets: before.snd_cwnd,
            ssthresh_packets: self.info.snd_ssthresh,
            in_flight_packets: before.in_flight(),
        });
        if record.samples_wanted {
            record.samples.push(self.sample(now_ns));
        }
    }

    /// Writes until the socket is full, or the application's own limit is reached.
    fn write(&mut self) -> Result<(), TestbedError> {
        if self.phase != Phase::Open || self.shut_down {
            return Ok(());
        }
        if self.info.notsent_bytes >= self.unsent / 2 && self.written < self.size {
            self.full = false;
            return Ok(());
        }
        // A write that finds no room marks its last packet with PSH, which the receiver acknowledges at
        // once. So the socket is full once, and then has more room than the application has data.
        let mut room = u64::MAX;
        if self.filled {
            // A short write, since ACKs that come meanwhile wait.
            let free = self.unsent.saturating_sub(self.info.notsent_bytes + 1);
            room = u64::from(free.min(1 << 16));
        }
        while self.written < self.size {
            let unacked = self.written - self.delivered_bytes();
            let buffer = self.send_buffer.saturating_sub(unacked);
            let most = (self.size - self.written).min(buffer).min(room);
            self.full = buffer == 0;
            if most == 0 {
                return Ok(());
            }
            let bytes = (ZEROS.len() as u64).min(most) as usize;
            let last = self.written + bytes as u64 == self.size;
            match sys::send(&self.sender, &ZEROS[..bytes], last) {
                Ok(bytes) => {
                    self.written += bytes as u64;
                    room -= bytes as u64;
                }
                Err(error) if sys::is_not_yet(&error) => return self.filled_up(),
                Err(error) => return Err(self.broken(error)),
            }
        }
        // The FIN goes with the last segment. The receiver therefore acknowledges it at once.
        self.shut_down = true;
        sys::shut_down_writing(&self.sender).map_err(|source| self.broken(source))
    }

    /// The socket is full. From now on it takes all that the application has.
    fn filled_up(&mut self) -> Result<(), TestbedError> {
        self.filled = true;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE);
        sys::set_option(&self.sender, level, option, &SEND_BUFFER_BYTES)
            .map_err(|source| self.broken(source))
    }

    /// Reads the current state of the flow.
    pub(super) fn sample_now(&mut self, now_ns: u64) -> Result<SampleRow, TestbedError> {
        self.info = self.look()?;
        Ok(self.sample(now_ns))
    }

    fn sample(&self, now_ns: u64) -> SampleRow {
        let info = &self.info;
        SampleRow {
            time_us: now_ns / 1_000,
            flow: self.number,
            cwnd_packets: info.snd_cwnd,
            ssthresh_packets: info.snd_ssthresh,
            srtt_us: if self.phase == Phase::Open {
                info.rtt_us
            } else {
                0
            },
            min_rtt_us: self.min_rtt_us(),
            in_flight_packets: info.in_flight(),
            delivered_packets: info.delivered.saturating_sub(1).into(),
            delivered_bytes: self.delivered_bytes(),
            lost_packets: u64::from(info.total_retrans)
                + u64::from(info.lost.saturating_sub(info.retrans)),
            retransmitted_packets: info.total_retrans.into(),
            state: State(info.ca_state),
        }
    }

    /// What the flow has carried so far.
    pub(super) fn progress(&self) -> Result<Progress, TestbedError> {
        let info = self.look()?;
        // A FIN that waits is a byte without payload.
        let unsent = u64::from(info.notsent_bytes).saturating_sub(self.shut_down.into());
        Ok(Progress {
            sent: self.written.saturating_sub(unsent),
            acked: info.acked_bytes().min(self.written),
        })
    }

    /// The totals of the flow. `tally` comes from the emulator.
    pub(super) fn row(&self, tally: Tally, common_bytes: u64) -> FlowRow {
        FlowRow {
            flow: self.number,
            start_us: self.connects_at_ns / 1_000,
            completed_us: self.completed_ns.map_or(0, |ns| ns / 1_000),
            delivered_bytes: self.delivered_bytes(),
            common_bytes,
            sent_packets: self.info.data_segs_out.into(),
            retransmitted_packets: self.info.total_retrans.into(),
            dropped_packets: tally.dropped_packets,
            early_dropped_packets: tally.early_dropped_packets,
            link_lost_packets: tally.lost_packets,
            policed_packets: tally.policed_packets,
            marked_packets: tally.marked_packets,
            recoveries: u64::from(self.counts.recoveries),
            timeouts: u64::from(self.counts.timeouts),
            undos: u64::from(self.counts.undos),
            min_rtt_us: self.min_rtt_us().into(),
            receive_window_limited_us: self.info.rwnd_limited_us,
            send_buffer_limited_us: self.info.sndbuf_limited_us + self.full_ns / 1_000,
        }
    }

    /// Smallest RTT so far, µs; 0 before the first measurement.
    pub(super) fn min_rtt_us(&self) -> u32 {
        match self.info.min_rtt_us {
            u32::MAX => 0,
            min_rtt_us => min_rtt_us,
        }
    }

    /// Acknowledged payload, without a FIN.
    fn delivered_bytes(&self) -> u64 {
        self.info.acked_bytes().min(self.written)
    }

    fn look(&self) -> Result<TcpInfo, TestbedError> {
        sys::tcp_info(&self.sender).map_err(|source| self.broken(source))
    }

    fn broken(&self, error: io::Error) -> TestbedError {
        let flow = self.number;
        TestbedError::Other(format!("flow {flow}: the connection ended: {error}"))
    }
}

impl TcpInfo {
    /// The kernel counts SYN and FIN as one byte each.
    fn acked_bytes(&self) -> u64 {
        self.bytes_acked.saturating_sub(1)
    }

    fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

/// Unsent data that an application keeps ready: enough that the writes do not show in the packets; of a
/// flow that stops 10 ms of its slowest link's rate, so that little is left to send then.
fn unsent_bytes(flow: &Flow, rate_bps: u64) -> u32 {
    match flow.stop_ns {
        None => 8 << 20,
        Some(_) => (rate_bps / 800).clamp(1 << 14, 1 << 18) as u32,
    }
}

fn clamp_window(receiver: &OwnedFd, bytes: u64) -> io::Result<()> {
    let bytes = bytes.min(1 << 30) as i32;
    sys::set_option(receiver, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes)
}

/// The events between two reads of a connection's state. Reads are an ACK or a timer apart.
fn changes(before: &TcpInfo, after: &TcpInfo) -> [Option<EventKind>; 5] {
    let (was, is) = (before.ca_state, after.ca_state);
    let timed_out = is == LOSS && (was != LOSS || after.retransmits > before.retransmits);
    let recovery = is == RECOVERY && was != RECOVERY;
    let undone = before.snd_ssthresh < after.snd_ssthresh && was >= CWR;
    // One ACK may end a reduction and start the next one.
    let marked = is == CWR && (was != CWR || after.snd_ssthresh < before.snd_ssthresh);
    let recovered = was >= CWR && (is < CWR || marked);
    let left_slow_start = before.snd_ssthresh >= TCP_INFINITE_SSTHRESH
        && after.snd_ssthresh < TCP_INFINITE_SSTHRESH
        && was < CWR
        && is < CWR;
    [
        left_slow_start.then_some(EventKind::SlowStartExit),
        undone.then_some(EventKind::Undo),
        if timed_out {
            Some(EventKind::Timeout)
        } else {
            recovery.then_some(EventKind::Recovery)
        },
        recovered.then_some(EventKind::Recovered),
        marked.then_some(EventKind::Cwr),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(ca_state: u8, retransmits: u8, snd_ssthresh: u32) -> TcpInfo {
        let mut info = TcpInfo::default();
        (info.ca_state, info.retransmits, info.snd_ssthresh) =
            (ca_state, retransmits, snd_ssthresh);
        info
    }

    #[test]
    fn events_are_what_changed() {
        use EventKind::{Cwr, Recovered, Recovery, SlowStartExit, Timeout, Undo};
        let never = TCP_INFINITE_SSTHRESH;
        for (before, after, expected) in [
            (info(0, 0, never), info(0, 0, never), vec![]),
            (info(0, 0, never), info(0, 0, 100), vec![SlowStartExit]),
            (info(0, 0, never), info(2, 0, 100), vec![Cwr]),
            (info(2, 0, 100), info(2, 0, 100), vec![]),
            (info(2, 0, 100), info(2, 0, 50), vec![Recovered, Cwr]),
            (info(2, 0, 100), info(0, 0, 100), vec![Recovered]),
            (info(1, 0, never), info(3, 0, 100), vec![Recovery]),
            (info(3, 0, 100), info(3, 0, 100), vec![]),
            (info(3, 0, 100), info(0, 0, 100), vec![Recovered]),
            (info(3, 0, 100), info(0, 0, 200), vec![Undo, Recovered]),
            (info(3, 0, 100), info(4, 1, 50), vec![Timeout]),
            (info(4, 1, 50), info(4, 2, 50), vec![Timeout]),
            (info(4, 2, 50), info(4, 0, 50), vec![]),
            (info(4, 1, 50), info(0, 0, 100), vec![Undo, Recovered]),
        ] {
            let found: Vec<_> = changes(&before, &after).into_iter().flatten().collect();
            assert_eq!(found, expected, "{before:?} {after:?}");
        }
    }
}
