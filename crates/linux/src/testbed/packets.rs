//! Packet scripts (docs/packet-scripts.md) on the real kernel: the test of the simulator's endpoint
//! runs the same scripts.
//!
//! All scripts run at the same time, each with its own port, through one TUN device in a namespace
//! of their own. This file plays the other end of each connection. The kernel handles a packet
//! inside the `write` that delivers the packet, so its answer is there when `write` returns.

// One file for both hosts: the simulator's test has its parser and its listing.
#[path = "../../../sim/tests/packets/script.rs"]
mod script;

mod random;

use super::namespace::{Config, TunNamespace};
use super::sys::{self, Tick, NS_PER_S};
use super::TestbedError;
use ackclock_net::queue::Ecn;
use ackclock_sim::tcp::Marks;
use script::{Echo, Field, Input, Output, Range, Role, Script, Seen};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::{fs, io, thread};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Script `i` has this port plus `i`, at both ends.
const FIRST_PORT: u16 = 20_000;
const MSS: u64 = 1448;
/// MSS option of our SYNs: timestamps take 12 bytes of it.
const MSS_OPTION: u16 = 1460;
/// Our first sequence number.
const ISN: u32 = 1_000_000;
/// Window scale of our windows: 8 divides 1448, so that a window of segments is exact.
const EXACT_SCALE: u8 = 3;
const LARGEST_SCALE: u8 = 14;
/// Time 0 of each script is this much after a tick of the kernel, as in the simulator's test.
const AFTER_TICK_NS: u64 = 300_000;
/// Eight ticks of 4 ms, the step of the timer wheel from 252 ms on. The number of the tick before
/// time 0 is a multiple of it, so that long timers fire at the same times in each run.
const STAGGER_NS: u64 = 32_000_000;
/// The first script's handshake ends this much after the start, and each other's some ticks later.
const FIRST_ZERO_NS: u64 = 1_000_000_000;
/// The loop wakes this often, to know whether it wakes late.
const HEARTBEAT_NS: u64 = 1_000_000;
/// A script runs this often at most, if the machine was late each time.
const ATTEMPTS: usize = 10;
/// The kernel answers otherwise if it did so this often on a machine that seemed to be on time: a
/// virtual machine can lose its CPU where nothing here sees it, and then one timer is late.
const DIFFERENCES: usize = 3;
/// The machine was late if this thread was, by this part of the script's least tolerance.
const LATE_SHARE: u64 = 4;
/// The receiver of the traces that the simulator follows ("clean"): its window never grows.
const WINDOW_CLAMP: i32 = 120_000_000;
/// `reads in bulk`: the application sleeps until so much has arrived.
const BULK_BYTES: i32 = 256 << 10;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;

#[test]
fn packet_scripts() {
    compare(script::scripts());
}

/// Connections over paths that lose up to 6 % of the data, and of the ACKs. Times that the script
/// gives in whole ms are some 0.1 ms later on the kernel. Now and then this decides whether a burst
/// waits (the next ACK is due in 1 ms), so that a difference must be looked at.
#[test]
#[ignore = "a search for rules that the simulator lacks, with a few false alarms"]
fn random_connections() {
    if script::only().is_some() {
        return;
    }
    let losses = [[10, 0], [20, 20], [30, 0], [60, 50]];
    let seeds = 0..12;
    compare(
        seeds
            .map(|seed| random::script(seed, losses[seed as usize % 4], 15 + 5 * (seed / 4)))
            .collect(),
    );
}

/// Runs the scripts on the kernel. Fails if the kernel answers otherwise again and again while the
/// machine is on time.
fn compare(scripts: Vec<Script>) {
    // Two loops at the same time would make each other late.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Straight to stderr: the test harness would keep eprintln! to itself.
    let tick = match sys::last_tick() {
        Ok(tick) => tick,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "SKIPPED: packet scripts: the kernel's ticks: {error}"
            );
            return;
        }
    };
    let hz = NS_PER_S / tick.length_ns;
    let other_hz = |script: &Script| script.hz.is_some_and(|wanted| wanted != hz);
    let (others, runnable): (Vec<_>, Vec<_>) = scripts.into_iter().partition(other_hz);
    for script in &others {
        skipped(script, "its times need a kernel with another HZ");
    }
    // Each script, and how often the kernel differed from it on time.
    let mut left: Vec<_> = runnable.into_iter().map(|script| (script, 0)).collect();
    let mut problems = String::new();
    for _ in 0..ATTEMPTS {
        let namespace = match namespace() {
            Ok(namespace) => namespace,
            Err(error) => {
                let _ = writeln!(io::stderr(), "SKIPPED: packet scripts: {error}");
                return;
            }
        };
        let scripts = left.iter().map(|(script, _)| script);
        let runs = run(&namespace, tick, scripts).unwrap_or_else(|error| panic!("{error}"));
        let mut again = Vec::new();
        for ((script, mut differences), run) in left.into_iter().zip(runs) {
            let comparison = script.compare(&run.seen, false);
            if script::only().is_some() {
                println!("{}", comparison.listing);
            }
            let Some(at_us) = comparison.differs_at_us else {
                continue;
            };
            differences += usize::from(!run.was_late(&script, at_us));
            if differences == DIFFERENCES {
                problems += &comparison.listing;
            } else {
                again.push((script, differences));
            }
        }
        left = again;
        if left.is_empty() {
            break;
        }
    }
    for (script, _) in left {
        skipped(&script, "the machine was late in each attempt");
    }
    assert!(
        problems.is_empty(),
        "the kernel answers otherwise:\n{problems}"
    );
}

/// Says on stderr why the kernel does not run a script: the test harness would keep eprintln! to
/// itself.
fn skipped(script: &Script, why: &str) {
    let _ = writeln!(
        io::stderr(),
        "SKIPPED: packet script {}: {why}",
        script.name
    );
}

/// What a script saw.
#[derive(Debug, Default)]
struct Run {
    seen: Vec<Seen>,
    /// How late this thread wrote a packet, or woke to read one, and how late the kernel's timers
    /// may have been: when (µs), and how late (ns).
    late: Vec<(f64, u64)>,
}

impl Run {
    /// Whether the machine was so late before `until_us` that the script proves nothing.
    fn was_late(&self, script: &Script, until_us: f64) -> bool {
        let tolerances = script.lines.iter().map(|line| line.tolerance_us * 1_000);
        let limit_ns = tolerances.min().unwrap_or(0) / LATE_SHARE;
        let before = self.late.iter().filter(|late| late.0 <= until_us);
        before.into_iter().any(|late| late.1 > limit_ns)
    }
}

/// A namespace whose one device leads to this file.
fn namespace() -> Result<TunNamespace, TestbedError> {
    let namespace = TunNamespace::new(&Config {
        address: KERNEL,
        mtu_bytes: 1500,
        queue_packets: 10_000,
        socket_bytes: 1 << 28,
        offload: true,
    })?;
    // We agree where the script says so.
    namespace.request_ecn(true)?;
    Ok(namespace)
}

/// Runs scripts at the same time.
fn run<'a>(
    namespace: &TunNamespace,
    tick: Tick,
    scripts: impl Iterator<Item = &'a Script> + Send,
) -> Result<Vec<Run>, TestbedError> {
    let failed = |error: io::Error| TestbedError::host("run packet scripts")(error);
    namespace.enter(|| {
        // Autotuning would lift the clamp of the receive window.
        fs::write("/proc/sys/net/ipv4/tcp_moderate_rcvbuf", "0").map_err(failed)?;
        let _ = sys::become_realtime(50);
        let cpu = sys::stay_on_this_cpu().map_err(failed)?;
        let step_ns = tick.at_ns - tick.number % (STAGGER_NS / tick.length_ns) * tick.length_ns;
        let in_ns = sys::now_ns() + FIRST_ZERO_NS - step_ns;
        let first_ns = step_ns + in_ns.next_multiple_of(STAGGER_NS) + AFTER_TICK_NS;
        let mut peers = scripts
            .zip(0..)
            .map(|(script, index)| Peer::new(script, index, first_ns))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?;
        while_awake(|| carry(&namespace.tun, &mut peers, Softirqs::of(cpu))).map_err(failed)?;
        Ok(peers.into_iter().map(|peer| peer.run).collect())
    })
}

/// Runs `work` while a thread of the lowest priority keeps the CPU busy: an idle CPU leaves its
/// timers to another CPU, of whose lateness the loop knows nothing.
fn while_awake<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while sys::become_idle().is_ok() && !over.load(Relaxed) {
                (0..100_000).for_each(|_| std::hint::spin_loop());
            }
        });
        let result = work();
        over.store(true, Relaxed);
        result
    })
}

/// The loop: writes what is due, and reads what the kernel answers.
fn carry(tun: &OwnedFd, peers: &mut [Peer], mut softirqs: Softirqs) -> io::Result<()> {
    let mut bytes = vec![0; sys::VNET_HEADER_BYTES + (1 << 16)];
    loop {
        let now_ns = sys::now_ns();
        let next_ns = peers.iter().filter_map(Peer::due_ns).min();
        let Some(next_ns) = next_ns else {
            return Ok(());
        };
        let wakes_ns = next_ns.min(now_ns + HEARTBEAT_NS);
        if wakes_ns > now_ns {
            sys::wait_readable([tun, tun], wakes_ns - now_ns);
        }
        let now_ns = sys::now_ns();
        let waited_ns = softirqs.waited_ns();
        for peer in peers.iter_mut().filter(|_| waited_ns > 0) {
            peer.note_late(now_ns, waited_ns);
        }
        read_all(tun, peers, &mut bytes, now_ns.saturating_sub(wakes_ns))?;
        for index in 0..peers.len() {
            while peers[index].due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
                peers[index].act(tun)?;
                read_all(tun, peers, &mut bytes, 0)?;
            }
        }
    }
}

/// Reads what the kernel has sent. This thread woke `late_ns` late.
fn read_all(tun: &OwnedFd, peers: &mut [Peer], bytes: &mut [u8], late_ns: u64) -> io::Result<()> {
    loop {
        match sys::read(tun, bytes) {
            Ok(len) => {
                let now_ns = sys::now_ns();
                if let Some(packet) = Packet::parse(&bytes[sys::VNET_HEADER_BYTES..len]) {
                    let index = packet.peer_port.wrapping_sub(FIRST_PORT);
                    if let Some(peer) = peers.get_mut(usize::from(index)) {
                        peer.note_late(now_ns, late_ns);
                        peer.handle(now_ns, &packet)?;
                    }
                }
            }
            Err(error) if sys::is_not_yet(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// A busy kernel leaves its timers to the thread ksoftirqd of the CPU, which waits for the CPU as
/// others do.
struct Softirqs {
    /// Its schedstat (CONFIG_SCHED_INFO), if this process can see it.
    schedstat: Option<fs::File>,
    waited_ns: u64,
}

impl Softirqs {
    fn of(cpu: i32) -> Self {
        let name = format!("ksoftirqd/{cpu}\n");
        let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let thread = processes
            .find(|entry| fs::read_to_string(entry.path().join("comm")).is_ok_and(|c| c == name));
        let schedstat =
            thread.and_then(|entry| fs::File::open(entry.path().join("schedstat")).ok());
        let mut softirqs = Self {
            schedstat,
            waited_ns: 0,
        };
        softirqs.waited_ns();
        softirqs
    }

    /// How long the thread has waited since the last call.
    fn waited_ns(&mut self) -> u64 {
        let mut text = [0; 64];
        let file = self.schedstat.as_ref();
        let len = file.and_then(|file| file.read_at(&mut text, 0).ok());
        let text = std::str::from_utf8(&text[..len.unwrap_or(0)]).unwrap_or_default();
        let waited = text.split(' ').nth(1).and_then(|ns| ns.parse().ok());
        let waited_ns = waited.unwrap_or(self.waited_ns);
        waited_ns - std::mem::replace(&mut self.waited_ns, waited_ns)
    }
}

/// What a peer does next.
#[derive(Debug, PartialEq)]
enum Step {
    /// The kernel's end connects, or our SYN leaves.
    Connect,
    /// Waits for the answer to the SYN.
    Handshake,
    /// Completes the handshake: time 0 of the script.
    Establish,
    /// This input is next; after the last input the end of the script.
    Input(usize),
    Over,
}

/// The other end of a connection, as the script says.
struct Peer<'a> {
    script: &'a Script,
    inputs: Vec<(u64, &'a Input)>,
    port: u16,
    kernel_port: u16,
    /// The kernel's socket. A receiver has its listener here until it accepts.
    socket: OwnedFd,
    step: Step,
    /// Time 0 of the script.
    zero_ns: u64,
    /// The kernel's first sequence number.
    kernel_isn: u32,
    /// When the kernel's packets left, and their timestamps.
    kernel_stamps: Vec<(u64, u32)>,
    echo: Echo,
    read_once: bool,
    run: Run,
}

impl<'a> Peer<'a> {
    fn new(script: &'a Script, index: u16, first_ns: u64) -> io::Result<Self> {
        let port = FIRST_PORT + index;
        let socket = sys::tcp_socket()?;
        match script.role {
            Role::Sender => sys::set_congestion_control(&socket, &script.congestion_control)?,
            Role::Receiver => sys::listen(&socket, KERNEL, port)?,
        }
        Ok(Self {
            script,
            inputs: script.inputs().collect(),
            port,
            kernel_port: port,
            socket,
            step: Step::Connect,
            zero_ns: first_ns + u64::from(index) * STAGGER_NS,
            kernel_isn: 0,
            kernel_stamps: Vec::new(),
            echo: Echo::new(0),
            read_once: false,
            run: Run::default(),
        })
    }

    fn due_ns(&self) -> Option<u64> {
        match self.step {
            Step::Over => None,
            Step::Input(next) => {
                let at_us = self
                    .inputs
                    .get(next)
                    .map_or(self.script.end_us, |next| next.0);
                // The script's end is not due before the latest packet that it allows.
                let more_us = if next < self.inputs.len() {
                    0
                } else {
                    self.script.lines.last().map_or(0, |line| line.tolerance_us)
                };
                Some(self.zero_ns + (at_us + more_us) * 1_000)
            }
            Step::Connect => Some(self.zero_ns - self.script.rtt_us * 1_000),
            Step::Handshake | Step::Establish => Some(self.zero_ns),
        }
    }

    fn note_late(&mut self, now_ns: u64, late_ns: u64) {
        let at_us = self.since_zero_us(now_ns);
        self.run.late.push((at_us, late_ns));
    }

    /// Time of the script, µs; below 0 before the handshake is complete.
    fn since_zero_us(&self, now_ns: u64) -> f64 {
        (now_ns as f64 - self.zero_ns as f64) / 1_000.0
    }

    /// Takes the step that is due.
    fn act(&mut self, tun: &OwnedFd) -> io::Result<()> {
        let now_ns = sys::now_ns();
        self.note_late(now_ns, now_ns - self.due_ns().unwrap_or(now_ns));
        let receiver = self.script.role == Role::Receiver;
        match self.step {
            Step::Connect => {
                self.step = Step::Handshake;
                if receiver {
                    let ecn = if self.script.ecn { ECE | CWR } else { 0 };
                    let syn = self.header(now_ns, SYN | ecn);
                    return self.write(tun, syn, &[], 0);
                }
                sys::connect(&self.socket, PEER, self.port)?;
            }
            Step::Handshake => return Err(io::Error::other("the kernel does not connect")),
            Step::Establish => {
                self.step = Step::Input(0);
                self.echo = Echo::new(self.echo_after_rtt(now_ns).into());
                if receiver {
                    let ack = self.header(now_ns, ACK);
                    self.write(tun, ack, &[], 0)?;
                    self.socket = sys::accept(&self.socket)?;
                } else {
                    let ecn = if self.script.ecn { ECE } else { 0 };
                    let answer = self.header(now_ns, SYN | ACK | ecn);
                    self.write(tun, answer, &[], 0)?;
                    let data = vec![0; (self.script.writes * MSS) as usize];
                    let written = sys::send(&self.socket, &data, false)?;
                    assert_eq!(written, data.len(), "the socket's buffer is too small");
                }
            }
            Step::Input(next) if next == self.inputs.len() => self.step = Step::Over,
            Step::Input(next) => {
                self.step = Step::Input(next + 1);
                self.input(tun, now_ns, self.inputs[next].1)?;
            }
            Step::Over => (),
        }
        Ok(())
    }

    fn input(&mut self, tun: &OwnedFd, now_ns: u64, input: &Input) -> io::Result<()> {
        match input {
            Input::Ack {
                ack,
                sacks,
                original,
                ece,
                ..
            } => {
                let mut header = self.header(now_ns, ACK | if *ece { ECE } else { 0 });
                header.ack = self.kernel_seq(*ack);
                header.echo = self.echo.of(*ack, *original) as u32;
                let blocks: Vec<_> = sacks
                    .iter()
                    .map(|range| [self.kernel_seq(range.0), self.kernel_seq(range.1)])
                    .collect();
                self.write(tun, header, &blocks, 0)
            }
            Input::Data {
                segments,
                push,
                marks,
            } => {
                for segment in segments.0..segments.1 {
                    let pushed = *push && segment + 1 == segments.1;
                    let push = if pushed { PSH } else { 0 };
                    let cwr = if marks.cwr { CWR } else { 0 };
                    let mut header = self.header(now_ns, ACK | push | cwr);
                    header.ecn = match marks.field {
                        Ecn::NotEct => 0,
                        Ecn::Ect0 => 2,
                        Ecn::Ect1 => 1,
                        Ecn::Ce => 3,
                    };
                    header.seq = header.seq.wrapping_add((segment * MSS) as u32);
                    self.write(tun, header, &[], MSS as usize)?;
                    self.application_reads()?;
                }
                Ok(())
            }
            Input::Look(fields) => {
                let info = sys::tcp_info(&self.socket)?;
                let look = |field: &Field| {
                    let value = match field {
                        Field::Cwnd => info.snd_cwnd,
                        Field::Ssthresh => info.snd_ssthresh,
                        Field::State => info.ca_state.into(),
                        Field::Lost => info.lost,
                        Field::Sacked => info.sacked,
                        Field::Retrans => info.retrans,
                        Field::MinRttUs => info.min_rtt_us,
                    };
                    (*field, value.into())
                };
                let state = fields.iter().map(look).collect();
                self.show(now_ns, Output::State(state));
                Ok(())
            }
        }
    }

    /// The application reads if the kernel wakes it.
    fn application_reads(&mut self) -> io::Result<()> {
        if !sys::is_readable(&self.socket) {
            return Ok(());
        }
        sys::discard(&self.socket)?;
        if !std::mem::replace(&mut self.read_once, true) {
            let (level, option) = (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP);
            if !self.script.reads_at_once {
                let option = libc::SO_RCVLOWAT;
                sys::set_option(&self.socket, libc::SOL_SOCKET, option, &BULK_BYTES)?;
            }
            sys::set_option(&self.socket, level, option, &WINDOW_CLAMP)?;
        }
        Ok(())
    }

    fn show(&mut self, now_ns: u64, output: Output) {
        let at_us = self.since_zero_us(now_ns);
        self.run.seen.push(Seen { at_us, output });
    }

    /// Handles a packet of the kernel.
    fn handle(&mut self, now_ns: u64, packet: &Packet) -> io::Result<()> {
        self.kernel_stamps.push((now_ns, packet.stamp));
        if packet.flags & (RST | FIN) != 0 && self.step != Step::Over {
            return Err(io::Error::other(format!(
                "the kernel ended the connection of {}",
                self.script.name
            )));
        }
        if packet.flags & SYN != 0 {
            self.kernel_isn = packet.seq;
            self.kernel_port = packet.kernel_port;
            self.step = Step::Establish;
        } else if matches!(self.step, Step::Input(_)) {
            match self.script.role {
                Role::Sender if packet.data > 0 => {
                    let first = self.segment_of(packet.seq, self.kernel_isn);
                    let segments = (first, first + packet.data / MSS);
                    self.echo.sent(segments, packet.stamp.into());
                    let push = packet.flags & PSH != 0;
                    let marks = Marks {
                        field: packet.ecn,
                        cwr: packet.flags & CWR != 0,
                    };
                    self.show(
                        now_ns,
                        Output::Burst {
                            segments,
                            push,
                            marks,
                        },
                    );
                }
                Role::Sender => (),
                Role::Receiver => {
                    let ack = self.segment_of(packet.ack, ISN);
                    let sacks: Vec<Range> = packet
                        .sacks
                        .iter()
                        .map(|edges| {
                            let [first, end] = edges.map(|edge| self.segment_of(edge, ISN));
                            (first, end)
                        })
                        .collect();
                    let duplicate = sacks.first().is_some_and(|first| {
                        let inside = |next: &Range| next.0 <= first.0 && first.1 <= next.1;
                        first.1 <= ack || sacks.get(1).is_some_and(inside)
                    });
                    self.show(
                        now_ns,
                        Output::Ack {
                            ack,
                            sacks,
                            duplicate,
                            ece: packet.flags & ECE != 0,
                        },
                    );
                }
            }
        }
        Ok(())
    }

    fn segment_of(&self, seq: u32, isn: u32) -> u64 {
        u64::from(seq.wrapping_sub(isn).wrapping_sub(1)) / MSS
    }

    fn kernel_seq(&self, segment: u64) -> u32 {
        let first = self.kernel_isn.wrapping_add(1);
        first.wrapping_add((segment * MSS) as u32)
    }

    /// A header of ours that acknowledges the handshake.
    fn header(&self, now_ns: u64, flags: u8) -> Header {
        let syn = flags & SYN != 0;
        let (window, scale) = match self.script.window {
            Some(segments) if syn => ((segments * MSS).min(u16::MAX.into()), EXACT_SCALE),
            Some(segments) => ((segments * MSS) >> EXACT_SCALE, EXACT_SCALE),
            None => (u16::MAX.into(), LARGEST_SCALE),
        };
        Header {
            ports: [self.port, self.kernel_port],
            flags,
            seq: if syn { ISN } else { ISN + 1 },
            ack: if flags & ACK != 0 {
                self.kernel_seq(0)
            } else {
                0
            },
            window: window
                .try_into()
                .expect("a window of the script is too large"),
            scale,
            stamp: (now_ns / 1_000_000) as u32,
            echo: self.echo_after_rtt(now_ns),
            ecn: 0,
        }
    }

    /// The latest timestamp of the kernel that has had the time to come and go.
    fn echo_after_rtt(&self, now_ns: u64) -> u32 {
        let sent_ns = now_ns - self.script.rtt_us * 1_000;
        let stamps = self.kernel_stamps.iter().rev();
        let mut arrived = stamps.skip_while(|stamp| stamp.0 > sent_ns);
        let handshake = self.kernel_stamps.first();
        arrived.next().or(handshake).map_or(0, |stamp| stamp.1)
    }

    fn write(
        &self,
        tun: &OwnedFd,
        header: Header,
        sacks: &[[u32; 2]],
        data: usize,
    ) -> io::Result<()> {
        let mut bytes = vec![0; sys::VNET_HEADER_BYTES];
        bytes.extend(header.packet(sacks, data));
        sys::write(tun, &bytes).map(drop)
    }
}

/// What our packets say.
struct Header {
    /// From, to.
    ports: [u16; 2],
    flags: u8,
    seq: u32,
    ack: u32,
    window: u16,
    scale: u8,
    stamp: u32,
    echo: u32,
    /// The ECN field of the IP header.
    ecn: u8,
}

impl Header {
    /// The IP packet.
    fn packet(&self, sacks: &[[u32; 2]], data: usize) -> Vec<u8> {
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            options.extend([2, 4]);
            options.extend(MSS_OPTION.to_be_bytes());
            options.extend([1, 1, 4, 2, 1, 3, 3, self.scale]);
        }
        options.extend([1, 1, 8, 10]);
        options.extend(self.stamp.to_be_bytes());
        options.extend(self.echo.to_be_bytes());
        if !sacks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * sacks.len() as u8]);
            options.extend(sacks.iter().flatten().flat_map(|edge| edge.to_be_bytes()));
        }
        let mut tcp = Vec::new();
        for port in self.ports {
            tcp.extend(port.to_be_bytes());
        }
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + options.len()) / 4 * 16) as u8, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(tcp.len() + data, 0);

        let mut ip = vec![0x45, self.ecn];
        ip.extend((20 + tcp.len() as u16).to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, libc::IPPROTO_TCP as u8, 0, 0]);
        ip.extend(PEER.octets());
        ip.extend(KERNEL.octets());
        let header_sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&header_sum.to_be_bytes());
        let length = (tcp.len() as u16).to_be_bytes();
        let sum = checksum(&[&ip[12..], &[0, libc::IPPROTO_TCP as u8], &length, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        ip.extend(tcp);
        ip
    }
}

/// The Internet checksum (RFC 1071) of parts of even length; the last may be odd.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What a packet of the kernel says.
struct Packet {
    kernel_port: u16,
    peer_port: u16,
    flags: u8,
    seq: u32,
    ack: u32,
    stamp: u32,
    sacks: Vec<[u32; 2]>,
    ecn: Ecn,
    /// Bytes of payload.
    data: u64,
}

impl Packet {
    /// Reads an IPv4 packet; `None` if it is not a TCP segment with timestamps.
    fn parse(ip: &[u8]) -> Option<Self> {
        let header = usize::from(ip.first()? & 15) * 4;
        let tcp = ip.get(header..)?;
        let word = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        if ip[0] >> 4 != 4 || *ip.get(9)? != libc::IPPROTO_TCP as u8 {
            return None;
        }
        let data_at = usize::from(tcp.get(12)? >> 4) * 4;
        let (mut stamp, mut sacks, mut at) = (None, Vec::new(), 20);
        while at < data_at {
            let length = match tcp[at] {
                0 => break,
                1 => 1,
                _ => usize::from(*tcp.get(at + 1)?).max(2),
            };
            match tcp[at] {
                8 => stamp = word(at + 2),
                5 => {
                    for block in (at + 2..at + length).step_by(8) {
                        sacks.push([word(block)?, word(block + 4)?]);
                    }
                }
                _ => (),
            }
            at += length;
        }
        Some(Self {
            kernel_port: u16::from_be_bytes(tcp.get(..2)?.try_into().ok()?),
            peer_port: u16::from_be_bytes(tcp.get(2..4)?.try_into().ok()?),
            flags: *tcp.get(13)?,
            seq: word(4)?,
            ack: word(8)?,
            stamp: stamp?,
            sacks,
            ecn: match ip[1] & 3 {
                0 => Ecn::NotEct,
                3 => Ecn::Ce,
                _ => Ecn::Ect0,
            },
            data: (tcp.len() - data_at) as u64,
        })
    }
}
