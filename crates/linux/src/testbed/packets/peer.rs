//! The other end of a connection: it does what the script says, when it says so, and writes down
//! what the kernel answers.

use super::system;
use super::wire::{Header, Packet, ACK, CWR, ECE, FIN, PSH, RST, SYN};
use super::{Run, FIRST_PORT, KERNEL, PEER, STAGGER_NS};
use crate::sys;
use ackclock_net::queue::Ecn;
use ackclock_sim::packet_script::{Echo, Field, Input, Output, Range, Role, Script, Seen};
use ackclock_sim::tcp::Marks;
use std::io;
use std::os::fd::OwnedFd;

const MSS: u64 = 1448;
/// Our first sequence number.
const ISN: u32 = 1_000_000;
/// Window scale of our windows: 8 divides 1448, so that a window of segments is exact.
const EXACT_SCALE: u8 = 3;
const LARGEST_SCALE: u8 = 14;
/// The receiver of the traces that the simulator follows ("clean"): its window never grows.
const WINDOW_CLAMP: i32 = 120_000_000;
/// `reads in bulk`: the application sleeps until so much has arrived.
const BULK_BYTES: i32 = 256 << 10;

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
pub(super) struct Peer<'a> {
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
    pub(super) run: Run,
}

impl<'a> Peer<'a> {
    pub(super) fn new(script: &'a Script, index: u16, first_ns: u64) -> io::Result<Self> {
        let port = FIRST_PORT + index;
        let socket = sys::tcp_socket()?;
        match script.role {
            Role::Sender => sys::set_congestion_control(&socket, &script.congestion_control)?,
            Role::Receiver | Role::Socket => sys::listen(&socket, KERNEL, port)?,
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

    pub(super) fn due_ns(&self) -> Option<u64> {
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

    pub(super) fn note_late(&mut self, now_ns: u64, late_ns: u64) {
        let at_us = self.since_zero_us(now_ns);
        self.run.late.push((at_us, late_ns));
    }

    /// Time of the script, µs; below 0 before the handshake is complete.
    fn since_zero_us(&self, now_ns: u64) -> f64 {
        (now_ns as f64 - self.zero_ns as f64) / 1_000.0
    }

    /// Takes the step that is due.
    pub(super) fn act(&mut self, tun: &OwnedFd) -> io::Result<()> {
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
                    if self.script.closes {
                        sys::shut_down_writing(&self.socket)?;
                    }
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
                header.echo = self.echo.timestamp(*ack, *original) as u32;
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
                ..
            } => {
                for segment in segments.0..segments.1 {
                    let pushed = *push && segment + 1 == segments.1;
                    let push = if pushed { PSH } else { 0 };
                    let cwr = if marks.cwr { CWR } else { 0 };
                    let mut header = self.header(now_ns, ACK | push | cwr);
                    header.ecn = marks.field;
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
                        _ => unreachable!("no script of these looks at it"),
                    };
                    (*field, [u64::from(value); 2].into())
                };
                let state = fields.iter().map(look).collect();
                self.show(now_ns, Output::State(state));
                Ok(())
            }
            Input::Write(_) | Input::Close => unreachable!("no script here is of a socket"),
        }
    }

    /// The application reads if the kernel wakes it.
    fn application_reads(&mut self) -> io::Result<()> {
        if !system::is_readable(&self.socket) {
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
    pub(super) fn handle(&mut self, now_ns: u64, packet: &Packet) -> io::Result<()> {
        self.kernel_stamps.push((now_ns, packet.stamp));
        let may_end = if self.script.closes { FIN } else { 0 };
        if packet.flags & (RST | FIN) & !may_end != 0 && self.step != Step::Over {
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
                Role::Sender if packet.data > 0 || packet.flags & FIN != 0 => {
                    let first = self.segment_of(packet.seq, self.kernel_isn);
                    let segments = (first, first + (packet.data / MSS).max(1));
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
                Role::Sender | Role::Socket => (),
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

    /// A FIN alone is a segment of one sequence number.
    fn kernel_seq(&self, segment: u64) -> u32 {
        let first = self.kernel_isn.wrapping_add(1);
        let fin = u32::from(segment > self.script.writes);
        first.wrapping_add((segment.min(self.script.writes) * MSS) as u32 + fin)
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
            ecn: Ecn::NotEct,
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
        let mut bytes = vec![0; system::VNET_HEADER_BYTES];
        bytes.extend(header.packet(sacks, data));
        sys::write(tun, &bytes).map(drop)
    }
}
