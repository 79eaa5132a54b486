//! Packet scripts (docs/packet-scripts.md): what one end of a connection gets, and what it must answer.
//!
//! How to drive it: [`Script::parse`] a text, [`run`] it in the simulator, and
//! [`compare`](Script::compare) what was seen.

mod compare;
mod echo;
mod language;

pub use compare::Comparison;
pub use echo::Echo;
pub use language::{Event, Field, Input, Line, Output, Range, Role, Script, Seen};

use crate::scenario::Profile;
use crate::tcp::profile::{Kernel, Reads, Switches};
use crate::tcp::{Ack, FlowLimits, Handshake, Push, Receiver, Sender, Transmit};
use ackclock_host::{
    Algorithm, AlgorithmError, CongestionControl, HostConfig, TCP_INFINITE_SSTHRESH,
};
use ackclock_net::schedule::NEVER;
use compare::take;

/// Time of the simulator at time 0 of a script, ns: 0.3 ms after a tick whose number is a multiple
/// of 8, as in the kernel's test.
const START_NS: u64 = 6_416_300_000;
/// As in the kernels of most distributions; a script may have another.
const HZ: u64 = 250;
/// `reads in bulk`: 256 KiB.
const BULK_SEGMENTS: u64 = 182;

/// What the simulator's endpoint does in a script. Each input comes `late_us` after its time (µs).
///
/// Returns an error if the script's congestion control has none.
pub fn run(script: &Script, late_us: impl Fn(u64) -> u64) -> Result<Vec<Seen>, AlgorithmError> {
    let mut endpoint = Endpoint::new(script)?;
    endpoint.transmit(START_NS);
    let (mut now_ns, mut shift_ns) = (START_NS, 0);
    for line in &script.lines {
        let at_ns = START_NS + line.at_us * 1_000;
        match &line.event {
            Event::Input(input) => {
                let due_ns = at_ns.saturating_add_signed(shift_ns) + late_us(line.at_us) * 1_000;
                now_ns = now_ns.max(due_ns);
                endpoint.run_until(now_ns);
                endpoint.take(now_ns, input);
            }
            Event::Output(Output::State(_)) => (),
            Event::Output(wanted) if script.role == Role::Socket => {
                let latest_ns = at_ns.saturating_add_signed(shift_ns) + line.tolerance_us * 1_000;
                if let Some(came_ns) = endpoint.await_answer(wanted, latest_ns) {
                    now_ns = now_ns.max(came_ns);
                    shift_ns = came_ns as i64 - at_ns as i64;
                }
            }
            Event::Output(_) => (),
        }
    }
    let end_ns = START_NS + script.end_us * 1_000;
    endpoint.run_until(end_ns.saturating_add_signed(shift_ns));
    Ok([endpoint.packets, endpoint.states].concat())
}

/// The end under test, and what it has shown.
struct Endpoint {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    echo: Echo,
    written: u64,
    /// Since when there is data that is not acknowledged, and for how long there was before
    /// (`TCP_CHRONO_BUSY`).
    busy_since_ns: Option<u64>,
    busy_ns: u64,
    last_data_ns: u64,
    closed: bool,
    packets: Vec<Seen>,
    states: Vec<Seen>,
    /// So many of the packets the script has waited for.
    answered: usize,
}

impl Endpoint {
    fn new(script: &Script) -> Result<Self, AlgorithmError> {
        let kernel = Kernel::for_profile(Profile::Linux6);
        let switches = Switches {
            reads: match script.reads_at_once {
                true => Reads::AtOnce,
                false => Reads::Bulk {
                    segments: BULK_SEGMENTS,
                },
            },
            ..script.switches
        };
        let rtt_ns = script.rtt_us * 1_000;
        let sender = (script.role != Role::Receiver)
            .then(|| sender(script, &kernel, &switches))
            .transpose()?;
        let receiver = (script.role != Role::Sender).then(|| {
            let mut receiver =
                Receiver::new(&kernel, &switches, kernel.clock(hz(script), 0), rtt_ns);
            if script.ecn {
                receiver.use_ecn(None);
            }
            receiver
        });
        Ok(Self {
            sender,
            receiver,
            echo: Echo::new(START_NS - rtt_ns),
            written: 0,
            busy_since_ns: None,
            busy_ns: 0,
            last_data_ns: START_NS,
            closed: false,
            packets: Vec::new(),
            states: Vec::new(),
            answered: 0,
        })
    }

    fn show(&mut self, now_ns: u64, output: Output) {
        let at_us = (now_ns - START_NS) as f64 / 1_000.0;
        let seen = match output {
            Output::State(_) => &mut self.states,
            _ => &mut self.packets,
        };
        seen.push(Seen { at_us, output });
    }

    /// Waits for what a script expects: when it came, ns. The script goes on from there.
    fn await_answer(&mut self, wanted: &Output, latest_ns: u64) -> Option<u64> {
        loop {
            let (taken, found) = take(wanted, &self.packets[self.answered..]);
            if taken > 0 && found.answers(wanted) {
                self.answered += taken;
                let at_us = self.packets[self.answered - 1].at_us;
                return Some(START_NS + (at_us * 1_000.0).round() as u64);
            }
            if !self.step(latest_ns) {
                return None;
            }
        }
    }

    /// Sends what may leave.
    fn transmit(&mut self, now_ns: u64) {
        loop {
            while let Some(burst) = self.sender.as_mut().and_then(|of| of.poll_transmit(now_ns)) {
                self.show_burst(now_ns, burst);
            }
            if !(self.sender.as_mut()).is_some_and(|of| of.end_softirq(now_ns)) {
                break;
            }
        }
        let is_busy = (self.sender.as_ref()).is_some_and(|of| of.una() < self.written);
        match (self.busy_since_ns, is_busy) {
            (None, true) => self.busy_since_ns = Some(now_ns),
            (Some(since_ns), false) => {
                self.busy_ns += now_ns - since_ns;
                self.busy_since_ns = None;
            }
            _ => (),
        }
    }

    fn show_burst(&mut self, now_ns: u64, burst: Transmit) {
        let segments = (burst.first, burst.first + u64::from(burst.segments));
        self.echo.sent(segments, now_ns);
        let (push, marks) = (burst.pushed, burst.marks);
        self.show(
            now_ns,
            Output::Burst {
                segments,
                push,
                marks,
            },
        );
    }

    fn show_ack(&mut self, now_ns: u64, ack: Option<Ack>) {
        if let Some(ack) = ack {
            let output = Output::Ack {
                ack: ack.ack,
                sacks: ack.sacks().to_vec(),
                duplicate: ack.has_duplicate(),
                ece: ack.ece().is_some(),
            };
            self.show(now_ns, output);
        }
    }

    fn run_until(&mut self, until_ns: u64) {
        while self.step(until_ns) {}
    }

    /// Lets the next timer fire, if it is due by then.
    fn step(&mut self, until_ns: u64) -> bool {
        let sender_ns = self.sender.as_ref().map_or(NEVER, Sender::poll_timeout);
        let receiver_ns = self.receiver.as_ref().map_or(NEVER, Receiver::poll_timeout);
        let now_ns = sender_ns.min(receiver_ns);
        if now_ns > until_ns {
            return false;
        }
        if let Some(receiver) = self.receiver.as_mut().filter(|_| receiver_ns == now_ns) {
            let ack = receiver.handle_timeout(now_ns);
            self.show_ack(now_ns, ack);
        }
        if let Some(sender) = self.sender.as_mut().filter(|_| sender_ns == now_ns) {
            sender.handle_timeout(now_ns);
            if sender.take_window_probe() {
                self.show(now_ns, Output::Probe);
            }
            self.transmit(now_ns);
        }
        true
    }

    fn take(&mut self, now_ns: u64, input: &Input) {
        match input {
            Input::Ack {
                ack,
                sacks,
                duplicate,
                original,
                ece,
                window,
            } => {
                let mut ack = Ack::new(*ack, self.echo.timestamp(*ack, *original))
                    .with_sacks(sacks.iter().copied(), *duplicate);
                if *ece {
                    ack = ack.with_ece(0);
                }
                if let Some(bytes) = window {
                    ack = ack.with_window(*bytes);
                }
                if let Some(sender) = &mut self.sender {
                    sender.handle_ack(now_ns, &ack);
                }
                self.transmit(now_ns);
            }
            Input::Look(fields) => {
                let look = |field: &Field| (*field, [self.value(*field, now_ns); 2].into());
                let state = fields.iter().map(look).collect();
                self.show(now_ns, Output::State(state));
            }
            Input::Data {
                segments,
                push,
                fin,
                marks,
            } => {
                self.last_data_ns = now_ns;
                if self.closed && !fin {
                    // `TCPABORTONDATA`
                    (self.sender, self.receiver) = (None, None);
                    return self.show(now_ns, Output::Reset);
                }
                for segment in segments.0..segments.1 {
                    let flags = [*push, *fin].map(|flag| flag && segment + 1 == segments.1);
                    let acks = self.receiver.as_mut().map(|receiver| {
                        receiver.handle_marked_segment(now_ns, segment, now_ns, flags, *marks)
                    });
                    for ack in acks.into_iter().flatten() {
                        self.show_ack(now_ns, ack);
                    }
                }
            }
            Input::Write(segments) => self.write(now_ns, *segments),
            Input::Close => {
                self.closed = true;
                if let Some(sender) = &mut self.sender {
                    sender.write(now_ns, 0, false);
                    sender.close_when_written(false);
                }
                self.transmit(now_ns);
            }
        }
    }

    /// The application writes, and what may leave leaves between two packets that it fills.
    fn write(&mut self, now_ns: u64, segments: u64) {
        self.written += segments;
        if let Some(sender) = &mut self.sender {
            sender.write(now_ns, segments, false);
        }
        while let Some(push) = self.sender.as_mut().and_then(Sender::write_packet) {
            let sender = self.sender.as_mut();
            match push {
                Some(Push::All) => self.transmit(now_ns),
                Some(Push::One) => match sender.and_then(Sender::push_one) {
                    Some(burst) => self.show_burst(now_ns, burst),
                    None => self.write_on(),
                },
                None => self.write_on(),
            }
        }
        self.transmit(now_ns);
    }

    fn write_on(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.write_on();
        }
    }

    fn value(&self, field: Field, now_ns: u64) -> u64 {
        let Some(sender) = &self.sender else {
            return 0;
        };
        let tp = sender.tp();
        u64::from(match field {
            Field::Cwnd => tp.snd_cwnd,
            Field::Ssthresh => tp.snd_ssthresh,
            Field::State => tp.inet_conn.icsk_ca_state.into(),
            Field::Lost => tp.lost_out,
            Field::Sacked => tp.sacked_out,
            Field::Retrans => tp.retrans_out,
            Field::MinRttUs => sender.min_rtt_us(),
            Field::Unacked => tp.packets_out,
            Field::Reordering => sender.reordering(),
            Field::BusyUs => {
                let since_ns = self.busy_since_ns.unwrap_or(now_ns);
                return (self.busy_ns + now_ns - since_ns) / 1_000;
            }
            Field::RwndLimitedUs => return sender.limited_ns(now_ns).0 / 1_000,
            Field::LastDataReceivedMs => return (now_ns - self.last_data_ns) / 1_000_000,
        })
    }
}

fn hz(script: &Script) -> u32 {
    script.hz.unwrap_or(HZ) as u32
}

fn sender(script: &Script, kernel: &Kernel, switches: &Switches) -> Result<Sender, AlgorithmError> {
    let mss = script.mss_bytes;
    let mut cc = CongestionControl::new(
        &Algorithm::configure(&script.congestion_control)?,
        HostConfig {
            hz: hz(script),
            era: kernel.era,
            random_seed: 1,
            mss_bytes: mss,
            initial_cwnd: kernel.initial_cwnd(mss),
            initial_ssthresh: TCP_INFINITE_SSTHRESH,
            flow: 1,
        },
    );
    cc.set_min_tso_segs(script.min_tso_segs);
    let limits = FlowLimits {
        segments: script.writes,
        receive_window: script.window.unwrap_or(u64::MAX),
        send_buffer: u64::MAX,
    };
    let handshake = Handshake {
        now_ns: START_NS,
        rtt_ns: script.rtt_us * 1_000,
        ecn: script.ecn.into(),
        one_packet: false,
    };
    let mut sender = Sender::new(cc, kernel, switches, limits, handshake, 0);
    if script.role == Role::Socket {
        sender.write_nothing();
        if let Some(segments) = script.window {
            sender.show_window(segments);
        }
    } else if script.closes {
        sender.close_when_written(false);
    }
    Ok(sender)
}
