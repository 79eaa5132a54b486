//! The language of packet scripts (docs/packet-scripts.md), and the comparison of what a script
//! expects with what an endpoint did. The simulator and the real kernel share this file.

use crate::scenario::Profile;
use crate::tcp::profile::Switches;
use crate::tcp::Marks;
use ackclock_net::queue::Ecn;
use std::fmt;

/// Half-open range of segment numbers.
pub type Range = (u64, u64);

/// `ssthresh none`: slow start has no end yet.
const NO_SSTHRESH: u64 = 0x7fff_ffff;
/// How early or late a packet of the kernel may be if the script does not say: two ticks of 4 ms,
/// and 2 ms for a busy machine.
const TOLERANCE_US: u64 = 10_000;
/// How much the application writes at the start if the script does not say, segments.
const WRITES: u64 = 400;
/// More segments than any script sends.
const MOST_SEGMENTS: u64 = 10_000;

/// Which end of the connection is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends data.
    Sender,
    /// It takes them.
    Receiver,
    /// Both, of one socket: its application writes and closes when the script says so.
    Socket,
}

/// A whole script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Of its file, without suffix.
    pub name: String,
    /// Which end is under test.
    pub role: Role,
    /// Of the handshake, from which both ends take their first estimate.
    pub rtt_us: u64,
    /// Spec of the algorithm.
    pub congestion_control: String,
    /// Segments in a burst of TSO at least (`tcp_min_tso_segs`).
    pub min_tso_segs: u16,
    /// Bytes of a segment.
    pub mss_bytes: u32,
    /// What the hosts of the script do otherwise.
    pub switches: Switches,
    /// Receive window that the other end offers, segments; `None`: larger than any flight.
    pub window: Option<u64>,
    /// Segments that the application writes once the connection is established.
    pub writes: u64,
    /// Whether it closes then: a FIN that leaves alone counts as a segment.
    pub closes: bool,
    /// Whether the application reads each segment at once, or waits for many (SO_RCVLOWAT).
    pub reads_at_once: bool,
    /// Whether both ends agree to use ECN.
    pub ecn: bool,
    /// Ticks a second that a kernel must have to keep the times: it may be late, not early.
    pub hz: Option<u64>,
    /// What leaves after the last packet that the script expects is not compared.
    pub open_end: bool,
    /// Its events, in order.
    pub lines: Vec<Line>,
    /// When the script ends.
    pub end_us: u64,
}

/// An event of a script.
#[derive(Clone, Debug)]
pub struct Line {
    /// Of the line in the file, from 1.
    pub number: usize,
    /// When, from time 0.
    pub at_us: u64,
    /// How early or late the kernel may be; the simulator may not.
    pub tolerance_us: u64,
    /// What happens.
    pub event: Event,
}

/// What happens at a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The other end's packet arrives, or the runner looks at the endpoint.
    Input(Input),
    /// The endpoint sends this, or is in this state.
    Output(Output),
}

/// What a script does to the endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An ACK. `original`: the ACK echoes the first transmission of the segment that advanced it.
    Ack {
        /// All segments below have arrived.
        ack: u64,
        /// SACK blocks, the most recent first.
        sacks: Vec<Range>,
        /// The first block reports a duplicate.
        duplicate: bool,
        /// It echoes the first transmission.
        original: bool,
        /// It has the flag ECE.
        ece: bool,
        /// The receive window that it shows, bytes.
        window: Option<u64>,
    },
    /// Data segments, one packet each. `push`: the last packet has PSH; `fin`: it is a FIN.
    Data {
        /// Which.
        segments: Range,
        /// The last packet has PSH.
        push: bool,
        /// It is a FIN.
        fin: bool,
        /// What the packets say of ECN.
        marks: Marks,
    },
    /// The application writes so many segments.
    Write(u64),
    /// It closes.
    Close,
    /// A look at these fields.
    Look(Vec<Field>),
}

/// What an endpoint shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Segments that left as one burst: one GSO packet. `push`: its last packet has PSH. `marks`:
    /// of its first packet.
    Burst {
        /// Which.
        segments: Range,
        /// The last packet has PSH.
        push: bool,
        /// What the packets say of ECN.
        marks: Marks,
    },
    /// Segments that left in order, in bursts of any size, the last with PSH or not. Only scripts have it.
    Bursts(Range, Option<bool>),
    /// A probe of a closed window.
    Probe,
    /// A reset: the application has closed, and data comes.
    Reset,
    /// An ACK.
    Ack {
        /// All segments below have arrived.
        ack: u64,
        /// SACK blocks, the most recent first.
        sacks: Vec<Range>,
        /// The first block reports a duplicate.
        duplicate: bool,
        /// It has the flag ECE.
        ece: bool,
    },
    /// The state of the sender: a field is from one value to another.
    State(Vec<(Field, Range)>),
}

/// What a look reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `snd_cwnd`
    Cwnd,
    /// `snd_ssthresh`
    Ssthresh,
    /// `icsk_ca_state`
    State,
    /// `lost_out`
    Lost,
    /// `sacked_out`
    Sacked,
    /// `retrans_out`
    Retrans,
    /// Smallest RTT.
    MinRttUs,
    /// `packets_out`
    Unacked,
    /// `tp->reordering`
    Reordering,
    /// How long data was not acknowledged.
    BusyUs,
    /// How long the receive window was the limit.
    RwndLimitedUs,
    /// Since data arrived.
    LastDataReceivedMs,
}

/// What an endpoint did, and when.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When, from time 0.
    pub at_us: f64,
    /// What it did.
    pub output: Output,
}

const FIELDS: [(&str, Field); 12] = [
    ("cwnd", Field::Cwnd),
    ("ssthresh", Field::Ssthresh),
    ("state", Field::State),
    ("lost", Field::Lost),
    ("sacked", Field::Sacked),
    ("retrans", Field::Retrans),
    ("min_rtt_us", Field::MinRttUs),
    ("unacked", Field::Unacked),
    ("reordering", Field::Reordering),
    ("busy_us", Field::BusyUs),
    ("rwnd_limited_us", Field::RwndLimitedUs),
    ("last_data_received_ms", Field::LastDataReceivedMs),
];
/// `tcp_ca_state`.
const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

impl Script {
    /// Reads a script.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut script = Self {
            name: name.into(),
            role: Role::Sender,
            rtt_us: 100_000,
            congestion_control: ackclock_host::FALLBACK.into(),
            min_tso_segs: 2,
            mss_bytes: 1448,
            switches: Switches::usual(Profile::Linux6),
            window: None,
            writes: WRITES,
            closes: false,
            reads_at_once: true,
            ecn: false,
            hz: None,
            open_end: false,
            lines: Vec::new(),
            end_us: 0,
        };
        let (mut role, mut tolerance_us) = (None, TOLERANCE_US);
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let words: Vec<&str> = line
                .split('#')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            script
                .line(number, &words, &mut role, &mut tolerance_us)
                .map_err(|error| format!("{name}.pkt:{number}: {}: {error}", line.trim()))?;
        }
        role.ok_or(format!(
            "{name}.pkt: the first line must be `sender` or `receiver`"
        ))?;
        Ok(script)
    }

    fn line(
        &mut self,
        number: usize,
        words: &[&str],
        role: &mut Option<Role>,
        tolerance_us: &mut u64,
    ) -> Result<(), String> {
        match words {
            [] => return Ok(()),
            [end @ ("sender" | "receiver" | "socket")] if role.is_none() => {
                self.role = match *end {
                    "sender" => Role::Sender,
                    "receiver" => Role::Receiver,
                    _ => Role::Socket,
                };
                if self.role == Role::Socket {
                    self.writes = 0;
                }
                *role = Some(self.role);
                return Ok(());
            }
            _ if role.is_none() => {
                return Err("write `sender`, `receiver` or `socket` first".into())
            }
            ["rtt", ms] => self.rtt_us = microseconds(ms)?,
            ["tolerance", ms] => *tolerance_us = microseconds(ms)?,
            ["ecn"] => self.ecn = true,
            ["hz", ticks @ ("250" | "1000")] => self.hz = ticks.parse().ok(),
            ["cc", name] => self.congestion_control = (*name).into(),
            ["mss", bytes] => self.mss_bytes = self::bytes(bytes)?.clamp(1, 65_483) as u32,
            ["without", "sack"] => self.switches.sack = false,
            ["without", "timestamps"] => self.switches.timestamps = false,
            ["without", "tlp"] => self.switches.tlp = false,
            ["without", "rack"] => self.switches.rack = false,
            ["without", "idle-restart"] => self.switches.slow_start_after_idle = false,
            ["paced"] => self.switches.pacing = true,
            ["bursts", "from", segments] => self.min_tso_segs = segment(segments)? as u16,
            ["open", "end"] => self.open_end = true,
            ["window", segments] => self.window = Some(segment(segments)?),
            ["write", segments] if self.role != Role::Socket => self.writes = segment(segments)?,
            ["closes"] => self.closes = true,
            ["reads", "at", "once"] => self.reads_at_once = true,
            ["reads", "in", "bulk"] => self.reads_at_once = false,
            [time, event @ ..] if time.starts_with('+') => {
                let mut parts = time[1..].split('~');
                self.end_us += microseconds(parts.next().unwrap_or_default())?;
                let own = parts.next().map(microseconds).transpose()?;
                return self.events(number, event, own.unwrap_or(*tolerance_us));
            }
            event => return self.events(number, event, *tolerance_us),
        }
        if self.lines.is_empty() {
            Ok(())
        } else {
            Err("settings come before the first event".into())
        }
    }

    fn events(&mut self, number: usize, words: &[&str], tolerance_us: u64) -> Result<(), String> {
        let [sender, receiver] = [Role::Receiver, Role::Sender].map(|other| self.role != other);
        let outputs = |outputs: Vec<Output>| outputs.into_iter().map(Event::Output).collect();
        let events: Vec<Event> = match words {
            ["nothing"] => Vec::new(),
            ["<", "ack", rest @ ..] if sender => {
                let (rest, [original, ece]) = flags(rest, ["original", "ece"]);
                let (rest, window) = match rest[..] {
                    [ref rest @ .., "win", bytes] => (rest.to_vec(), Some(self::bytes(bytes)?)),
                    _ => (rest, None),
                };
                let (ack, sacks, duplicate) = acknowledgement(&rest)?;
                vec![Event::Input(Input::Ack {
                    ack,
                    sacks,
                    duplicate,
                    original,
                    ece,
                    window,
                })]
            }
            ["write", segments] if sender && receiver => {
                self.writes += segment(segments)?;
                vec![Event::Input(Input::Write(segment(segments)?))]
            }
            ["close"] if sender && receiver => vec![Event::Input(Input::Close)],
            [">", "probe"] if sender => outputs(vec![Output::Probe]),
            [">", "reset"] if sender && receiver => outputs(vec![Output::Reset]),
            [">", bursts, "by", "any", rest @ ..] if sender => {
                let (_, [push, plain]) = flags(rest, ["push", "plain"]);
                let push = (push || plain).then_some(push);
                outputs(vec![Output::Bursts(range(bursts)?, push)])
            }
            [">", bursts, "by", size] if sender => {
                let ((first, end), size) = (range(bursts)?, segment(size)?.max(1));
                let starts = (first..end).step_by(size as usize);
                outputs(
                    starts
                        .map(|start| Output::burst((start, end.min(start + size)), self.ecn))
                        .collect(),
                )
            }
            [">", one, rest @ ..] if sender && *one != "ack" => {
                let segments = range(one)?;
                let (rest, [push, plain]) = flags(rest, ["push", "plain"]);
                outputs(vec![Output::Burst {
                    segments,
                    push: push || !plain && pushes(segments),
                    marks: self.marks(&rest)?,
                }])
            }
            ["=", rest @ ..] if sender => {
                let state = state(rest)?;
                let fields = state.iter().map(|(field, _)| *field).collect();
                vec![
                    Event::Input(Input::Look(fields)),
                    Event::Output(Output::State(state)),
                ]
            }
            ["<", segments, rest @ ..] if receiver && *segments != "ack" => {
                let (rest, [push, fin]) = flags(rest, ["push", "fin"]);
                vec![Event::Input(Input::Data {
                    segments: range(segments)?,
                    push,
                    fin,
                    marks: self.marks(&rest)?,
                })]
            }
            [">", "ack", first, "to", last, "by", step] if receiver => {
                let ack = |ack| Output::Ack {
                    ack,
                    sacks: Vec::new(),
                    duplicate: false,
                    ece: false,
                };
                let step = segment(step)?.max(1) as usize;
                let acks = segment(first)?..=segment(last)?;
                outputs(acks.step_by(step).map(ack).collect())
            }
            [">", "ack", rest @ ..] if receiver => {
                let (rest, [ece]) = flags(rest, ["ece"]);
                let (ack, sacks, duplicate) = acknowledgement(&rest)?;
                outputs(vec![Output::Ack {
                    ack,
                    sacks,
                    duplicate,
                    ece,
                }])
            }
            _ => {
                let fix = if sender {
                    "`< ack N …`, `> A:B …`, `= cwnd N …` or `nothing`"
                } else {
                    "`< A:B`, `> ack N …` or `nothing`"
                };
                return Err(format!("not an event here: write {fix}"));
            }
        };
        self.lines.extend(events.into_iter().map(|event| Line {
            number,
            at_us: self.end_us,
            tolerance_us,
            event,
        }));
        Ok(())
    }

    /// The marks of a data packet: `ce`, `cwr` or `not-ect`. Without a word it is as the sender
    /// leaves it.
    fn marks(&self, words: &[&str]) -> Result<Marks, String> {
        let mut marks = unmarked(self.ecn);
        for word in words {
            match *word {
                "ce" => marks.field = Ecn::Ce,
                "cwr" => marks.cwr = true,
                "not-ect" => marks.field = Ecn::NotEct,
                other => return Err(format!("`{other}` is not one of ce, cwr, not-ect")),
            }
        }
        Ok(marks)
    }

    /// What the script does to the endpoint, in order: when (µs), and what.
    pub fn inputs(&self) -> impl Iterator<Item = (u64, &Input)> {
        self.lines.iter().filter_map(|line| match &line.event {
            Event::Input(input) => Some((line.at_us, input)),
            Event::Output(_) => None,
        })
    }
}

fn microseconds(ms: &str) -> Result<u64, String> {
    let wrong = || format!("`{ms}` is not a time in ms, such as 40 or 1.1");
    let ms: f64 = ms.parse().map_err(|_| wrong())?;
    if !(0.0..=1e6).contains(&ms) {
        return Err(wrong());
    }
    Ok((ms * 1_000.0).round() as u64)
}

fn segment(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number| number <= MOST_SEGMENTS);
    number.ok_or(format!(
        "`{text}` is not a number of segments from 0 to {MOST_SEGMENTS}"
    ))
}

fn bytes(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number"))
}

/// `3:5` are segments 3 and 4; `3` is segment 3.
fn range(text: &str) -> Result<Range, String> {
    let (first, end) = match text.split_once(':') {
        Some((first, end)) => (segment(first)?, segment(end)?),
        None => (segment(text)?, segment(text)? + 1),
    };
    if first >= end {
        return Err(format!(
            "`{text}` has no segment: the end is not part of it"
        ));
    }
    Ok((first, end))
}

/// `N [sack A:B …] [dsack A:B]`; a D-SACK block comes first in the packet.
fn acknowledgement(words: &[&str]) -> Result<(u64, Vec<Range>, bool), String> {
    let (ack, rest) = words.split_first().ok_or("the number is missing")?;
    let (mut sacks, mut duplicate, mut keyword) = (Vec::new(), None, "");
    for word in rest {
        match (*word, keyword) {
            ("sack" | "dsack", _) => keyword = word,
            (block, "sack") => sacks.push(range(block)?),
            (block, "dsack") if duplicate.is_none() => duplicate = Some(range(block)?),
            (other, _) => return Err(format!("`{other}`: write `sack A:B …` or `dsack A:B`")),
        }
    }
    sacks.splice(0..0, duplicate);
    if sacks.len() > 3 {
        return Err("three blocks fit beside timestamps".into());
    }
    Ok((segment(ack)?, sacks, duplicate.is_some()))
}

/// `cwnd 5 state recovery busy_us 10..20 …`
fn state(words: &[&str]) -> Result<Vec<(Field, Range)>, String> {
    let pairs = words.chunks(2).map(|pair| {
        let &[name, value] = pair else {
            return Err(format!("`{}` has no value", pair[0]));
        };
        let field = FIELDS.iter().find(|(known, _)| *known == name);
        let Some(&(_, field)) = field else {
            let known = FIELDS.map(|(known, _)| known).join(", ");
            return Err(format!("`{name}` is not one of {known}"));
        };
        let one = |value: &str| match field {
            Field::State => (STATES.iter().position(|state| *state == value)).map(|at| at as u64),
            Field::Ssthresh if value == "none" => Some(NO_SSTHRESH),
            _ => value.parse().ok(),
        };
        let (first, last) = value.split_once("..").unwrap_or((value, value));
        let values = one(first).zip(one(last));
        values
            .map(|values| (field, values))
            .ok_or(format!("`{name}` has no such value"))
    });
    pairs.collect()
}

/// Takes these words out of a line, and says which of them it had.
fn flags<'a, const N: usize>(words: &[&'a str], known: [&str; N]) -> (Vec<&'a str>, [bool; N]) {
    let rest = words.iter().copied().filter(|word| !known.contains(word));
    (rest.collect(), known.map(|flag| words.contains(&flag)))
}

/// The marks of a data packet that met no congestion.
fn unmarked(ecn: bool) -> Marks {
    let field = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
    Marks { field, cwr: false }
}

/// Linux sets PSH at the end of two segments or more.
fn pushes(segments: Range) -> bool {
    segments.1 - segments.0 > 1
}

impl Output {
    /// Whether an endpoint that showed this did what the script wanted.
    pub(super) fn answers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::State(seen), Self::State(wanted)) => {
                let holds = |((_, seen), (_, wanted)): (&(Field, Range), &(Field, Range))| {
                    (wanted.0..=wanted.1).contains(&seen.0)
                };
                seen.iter().zip(wanted).all(holds)
            }
            (Self::Bursts(seen, push), Self::Bursts(wanted, pushed)) => {
                seen == wanted && pushed.is_none_or(|pushed| *push == Some(pushed))
            }
            _ => self == wanted,
        }
    }

    /// A burst of new data as Linux sends it.
    fn burst(segments: Range, ecn: bool) -> Self {
        Self::Burst {
            segments,
            push: pushes(segments),
            marks: unmarked(ecn),
        }
    }
}

/// ` ce cwr`: what a packet says of ECN.
fn write_marks(out: &mut fmt::Formatter<'_>, marks: Marks) -> fmt::Result {
    let field = match marks.field {
        Ecn::Ce => " ce",
        Ecn::Ect0 | Ecn::Ect1 => " ect",
        Ecn::NotEct => "",
    };
    write!(out, "{field}{}", if marks.cwr { " cwr" } else { "" })
}

impl fmt::Display for Input {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack {
                ack,
                sacks,
                duplicate,
                original,
                ece,
                window,
            } => {
                write!(out, "< ")?;
                write_ack(out, *ack, sacks, *duplicate, *ece)?;
                write!(out, "{}", if *original { " original" } else { "" })?;
                window.map_or(Ok(()), |bytes| write!(out, " win {bytes}"))
            }
            Self::Data {
                segments: (first, end),
                push,
                fin,
                marks,
            } => {
                write!(out, "< {first}:{end}{}", if *push { " push" } else { "" })?;
                write!(out, "{}", if *fin { " fin" } else { "" })?;
                write_marks(out, *marks)
            }
            Self::Write(segments) => write!(out, "write {segments}"),
            Self::Close => write!(out, "close"),
            Self::Look(_) => write!(out, "="),
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst {
                segments: (first, end),
                push,
                marks,
            } => {
                let usual = pushes((*first, *end)) == *push;
                let other = if *push { " push" } else { " plain" };
                write!(out, "> {first}:{end}{}", if usual { "" } else { other })?;
                write_marks(out, *marks)
            }
            Self::Bursts((first, end), push) => {
                let push = push.map_or("", |push| if push { " push" } else { " plain" });
                write!(out, "> {first}:{end} by any{push}")
            }
            Self::Probe => write!(out, "> probe"),
            Self::Reset => write!(out, "> reset"),
            Self::Ack {
                ack,
                sacks,
                duplicate,
                ece,
            } => {
                write!(out, "> ")?;
                write_ack(out, *ack, sacks, *duplicate, *ece)
            }
            Self::State(fields) => {
                write!(out, "=")?;
                for (field, (first, last)) in fields {
                    let name = FIELDS.iter().find(|(_, known)| known == field);
                    write!(out, " {}", name.map_or("", |(name, _)| name))?;
                    match (field, STATES.get(*first as usize)) {
                        (Field::State, Some(state)) => write!(out, " {state}")?,
                        _ if *first == NO_SSTHRESH => write!(out, " none")?,
                        _ if first != last => write!(out, " {first}..{last}")?,
                        _ => write!(out, " {first}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

fn write_ack(
    out: &mut fmt::Formatter<'_>,
    ack: u64,
    sacks: &[Range],
    duplicate: bool,
    ece: bool,
) -> fmt::Result {
    write!(out, "ack {ack}")?;
    for (index, (first, end)) in sacks.iter().enumerate() {
        match index {
            0 if duplicate => write!(out, " dsack")?,
            0 => write!(out, " sack")?,
            1 if duplicate => write!(out, " sack")?,
            _ => (),
        }
        write!(out, " {first}:{end}")?;
    }
    write!(out, "{}", if ece { " ece" } else { "" })
}
