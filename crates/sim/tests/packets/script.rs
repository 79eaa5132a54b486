//! The language of packet scripts (docs/packet-scripts.md), and the comparison of what a script
//! expects with what an endpoint did. The simulator and the real kernel share this file.

use ackclock_net::queue::Ecn;
use ackclock_sim::tcp::Marks;
use std::fmt;
use std::path::Path;

/// Half-open range of segment numbers.
pub type Range = (u64, u64);

/// `ssthresh none`: slow start has no end yet.
const NO_SSTHRESH: u64 = 0x7fff_ffff;
/// How early or late a packet of the kernel may be if the script does not say: two ticks of 4 ms,
/// and 2 ms for a busy machine.
const TOLERANCE_US: u64 = 10_000;
/// How early a packet may be if the kernel's ticks are those of the script: timers are never early.
const EARLY_US: f64 = 1_000.0;
/// How much the application writes at the start if the script does not say, segments.
const WRITES: u64 = 400;
/// More segments than any script sends.
const MOST_SEGMENTS: u64 = 10_000;
/// Width of a column of the listing.
const COLUMN: usize = 56;

/// Which end of the connection is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Receiver,
}

/// A whole script.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    pub role: Role,
    /// Of the handshake, from which both ends take their first estimate.
    pub rtt_us: u64,
    pub congestion_control: String,
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
    pub lines: Vec<Line>,
    /// When the script ends.
    pub end_us: u64,
}

/// An event of a script.
#[derive(Clone, Debug)]
pub struct Line {
    pub number: usize,
    pub at_us: u64,
    /// How early or late the kernel may be; the simulator may not.
    pub tolerance_us: u64,
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
        ack: u64,
        sacks: Vec<Range>,
        duplicate: bool,
        original: bool,
        ece: bool,
    },
    /// Data segments, one packet each. `push`: the last packet has PSH.
    Data {
        segments: Range,
        push: bool,
        marks: Marks,
    },
    /// A look at these fields.
    Look(Vec<Field>),
}

/// What an endpoint shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Segments that left as one burst: one GSO packet. `push`: its last packet has PSH. `marks`:
    /// of its first packet.
    Burst {
        segments: Range,
        push: bool,
        marks: Marks,
    },
    /// Segments that left in order, in bursts of any size. Only scripts have it.
    Bursts(Range),
    /// An ACK.
    Ack {
        ack: u64,
        sacks: Vec<Range>,
        duplicate: bool,
        ece: bool,
    },
    /// The state of the sender.
    State(Vec<(Field, u64)>),
}

/// What a look reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Cwnd,
    Ssthresh,
    State,
    Lost,
    Sacked,
    Retrans,
    MinRttUs,
}

/// What an endpoint did, and when.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at_us: f64,
    pub output: Output,
}

const FIELDS: [(&str, Field); 7] = [
    ("cwnd", Field::Cwnd),
    ("ssthresh", Field::Ssthresh),
    ("state", Field::State),
    ("lost", Field::Lost),
    ("sacked", Field::Sacked),
    ("retrans", Field::Retrans),
    ("min_rtt_us", Field::MinRttUs),
];
/// `tcp_ca_state`.
const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// The scripts of this directory; with `PACKETS=NAME` in the environment only that script.
pub fn scripts() -> Vec<Script> {
    let directory = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sim/tests/packets/scripts"
    ));
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only().is_none_or(|only| only == name) {
            let text = std::fs::read_to_string(&file).unwrap();
            scripts.push(Script::parse(&name, &text).unwrap_or_else(|error| panic!("{error}")));
        }
    }
    scripts.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(
        !scripts.is_empty(),
        "no script {only:?} in {directory:?}",
        only = only()
    );
    scripts
}

/// The script that the user asked for. Its listing is printed even if nothing differs.
pub fn only() -> Option<String> {
    std::env::var("PACKETS").ok()
}

impl Script {
    /// Reads a script.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut script = Self {
            name: name.into(),
            role: Role::Sender,
            rtt_us: 100_000,
            congestion_control: "reno".into(),
            window: None,
            writes: WRITES,
            closes: false,
            reads_at_once: true,
            ecn: false,
            hz: None,
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
            [end @ ("sender" | "receiver")] if role.is_none() => {
                self.role = if *end == "sender" {
                    Role::Sender
                } else {
                    Role::Receiver
                };
                *role = Some(self.role);
                return Ok(());
            }
            _ if role.is_none() => return Err("write `sender` or `receiver` first".into()),
            ["rtt", ms] => self.rtt_us = microseconds(ms)?,
            ["tolerance", ms] => *tolerance_us = microseconds(ms)?,
            ["ecn"] => self.ecn = true,
            ["hz", "250"] => self.hz = Some(250),
            ["cc", name] => self.congestion_control = (*name).into(),
            ["window", segments] => self.window = Some(segment(segments)?),
            ["write", segments] => self.writes = segment(segments)?,
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
        let sender = self.role == Role::Sender;
        let outputs = |outputs: Vec<Output>| outputs.into_iter().map(Event::Output).collect();
        let events: Vec<Event> = match words {
            ["nothing"] => Vec::new(),
            ["<", "ack", rest @ ..] if sender => {
                let (rest, [original, ece]) = flags(rest, ["original", "ece"]);
                let (ack, sacks, duplicate) = acknowledgement(&rest)?;
                vec![Event::Input(Input::Ack {
                    ack,
                    sacks,
                    duplicate,
                    original,
                    ece,
                })]
            }
            [">", bursts, "by", "any"] if sender => outputs(vec![Output::Bursts(range(bursts)?)]),
            [">", bursts, "by", size] if sender => {
                let ((first, end), size) = (range(bursts)?, segment(size)?.max(1));
                let starts = (first..end).step_by(size as usize);
                outputs(
                    starts
                        .map(|start| Output::burst((start, end.min(start + size)), self.ecn))
                        .collect(),
                )
            }
            [">", one, rest @ ..] if sender => {
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
            ["<", segments, rest @ ..] if !sender && *segments != "ack" => {
                let (rest, [push]) = flags(rest, ["push"]);
                vec![Event::Input(Input::Data {
                    segments: range(segments)?,
                    push,
                    marks: self.marks(&rest)?,
                })]
            }
            [">", "ack", first, "to", last, "by", step] if !sender => {
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
            [">", "ack", rest @ ..] if !sender => {
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

    /// Compares what the script expects with what an endpoint did. `exact`: times must be equal to
    /// the microsecond.
    pub fn compare(&self, seen: &[Seen], exact: bool) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.row(None, None, &format!("{}.pkt expects", self.name), "seen");
        let mut rest = seen;
        for line in &self.lines {
            let (at_us, number) = (line.at_us as f64, Some(line.number));
            let tolerance_us = if exact { 0.5 } else { line.tolerance_us as f64 };
            match &line.event {
                // The look's answer says the same.
                Event::Input(Input::Look(_)) => (),
                Event::Input(input) => {
                    comparison.row(None, number, &timed(at_us, &input.to_string()), "");
                }
                Event::Output(wanted) => {
                    let (taken, found) = take(wanted, rest);
                    let (now, later) = rest.split_at(taken);
                    let early_us = self.hz.map_or(tolerance_us, |_| tolerance_us.min(EARLY_US));
                    let on_time =
                        |one: &Seen| (-early_us..=tolerance_us).contains(&(one.at_us - at_us));
                    let differs = taken == 0 || found != *wanted || !now.iter().all(on_time);
                    let right = now.first().map_or("nothing".into(), |first| {
                        timed(first.at_us, &found.to_string())
                    });
                    let latest = now.iter().map(|one| one.at_us).fold(at_us, f64::max);
                    let left = timed(at_us, &wanted.to_string());
                    comparison.row(differs.then_some(latest), number, &left, &right);
                    rest = later;
                }
            }
        }
        for more in rest {
            let right = timed(more.at_us, &more.output.to_string());
            comparison.row(Some(more.at_us), None, "nothing", &right);
        }
        comparison
    }
}

/// What a script expects beside what an endpoint did.
#[derive(Debug, Default)]
pub struct Comparison {
    pub listing: String,
    /// Time of the first difference.
    pub differs_at_us: Option<f64>,
}

impl Comparison {
    /// Adds a row. `differs`: the time of the difference that it shows.
    fn row(&mut self, differs: Option<f64>, number: Option<usize>, left: &str, right: &str) {
        let first = differs.is_some() && self.differs_at_us.is_none();
        self.differs_at_us = self.differs_at_us.or(differs);
        let mark = if first { "-->" } else { "" };
        let number = number.map_or(String::new(), |number| number.to_string());
        let row = format!("{mark:3} {number:>4} {left:<COLUMN$} {right}");
        self.listing += row.trim_end();
        self.listing += "\n";
    }
}

/// Takes what answers `wanted`: one output, or bursts that touch. Returns how many, and what they
/// are together.
fn take(wanted: &Output, seen: &[Seen]) -> (usize, Output) {
    let Some(first) = seen.first() else {
        return (0, Output::Bursts((0, 0)));
    };
    let (Output::Bursts(range), Output::Burst { segments, .. }) = (wanted, &first.output) else {
        return (1, first.output.clone());
    };
    let (mut taken, mut joined) = (1, *segments);
    while let Some(Output::Burst { segments, .. }) = seen.get(taken).map(|next| &next.output) {
        if segments.0 != joined.1 || segments.1 > range.1 {
            break;
        }
        joined.1 = segments.1;
        taken += 1;
    }
    (taken, Output::Bursts(joined))
}

fn timed(at_us: f64, what: &str) -> String {
    format!("{:9.3} {what}", at_us / 1_000.0)
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

/// `cwnd 5 state recovery …`
fn state(words: &[&str]) -> Result<Vec<(Field, u64)>, String> {
    let pairs = words.chunks(2).map(|pair| {
        let &[name, value] = pair else {
            return Err(format!("`{}` has no value", pair[0]));
        };
        let field = FIELDS.iter().find(|(known, _)| *known == name);
        let Some((_, field)) = field else {
            let known = FIELDS.map(|(known, _)| known).join(", ");
            return Err(format!("`{name}` is not one of {known}"));
        };
        let value = match field {
            Field::State => STATES.iter().position(|state| *state == value),
            Field::Ssthresh if value == "none" => Some(NO_SSTHRESH as usize),
            _ => value.parse().ok(),
        };
        let value = value.ok_or(format!("`{name}` has no such value"))?;
        Ok((*field, value as u64))
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
            } => {
                write!(out, "< ")?;
                write_ack(out, *ack, sacks, *duplicate, *ece)?;
                write!(out, "{}", if *original { " original" } else { "" })
            }
            Self::Data {
                segments: (first, end),
                push,
                marks,
            } => {
                write!(out, "< {first}:{end}{}", if *push { " push" } else { "" })?;
                write_marks(out, *marks)
            }
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
            Self::Bursts((first, end)) => write!(out, "> {first}:{end} by any"),
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
                for (field, value) in fields {
                    let name = FIELDS.iter().find(|(_, known)| known == field);
                    write!(out, " {}", name.map_or("", |(name, _)| name))?;
                    match (field, STATES.get(*value as usize)) {
                        (Field::State, Some(state)) => write!(out, " {state}")?,
                        _ if *value == NO_SSTHRESH => write!(out, " none")?,
                        _ => write!(out, " {value}")?,
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

/// The timestamp that an ACK echoes (RFC 7323): that of the first segment that it newly
/// acknowledges; an ACK that acknowledges none repeats the last echo.
#[derive(Debug, Default)]
pub struct Echo {
    una: u64,
    echo: u64,
    /// Of each segment: the timestamp of the first and of the last transmission.
    stamps: Vec<(u64, u64)>,
}

impl Echo {
    /// `stamp`: of the handshake.
    pub fn new(stamp: u64) -> Self {
        Self {
            echo: stamp,
            ..Self::default()
        }
    }

    /// Notes a burst with this timestamp.
    pub fn sent(&mut self, (first, end): Range, stamp: u64) {
        for segment in first as usize..end as usize {
            if segment < self.stamps.len() {
                self.stamps[segment].1 = stamp;
            } else {
                self.stamps.resize(segment + 1, (stamp, stamp));
            }
        }
    }

    /// The timestamp for an ACK. A script may acknowledge what was never sent: then its answers
    /// differ anyway.
    pub fn timestamp(&mut self, ack: u64, original: bool) -> u64 {
        if ack > self.una {
            if let Some((first, last)) = self.stamps.get(self.una as usize) {
                self.echo = if original { *first } else { *last };
            }
            self.una = ack;
        }
        self.echo
    }
}
