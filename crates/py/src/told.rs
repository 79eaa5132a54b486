//! What runs tell, from a process of its own, too.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::time::{Duration, Instant};

use ackclock_host::ThreadClock;
use ackclock_sim::record::{Kind, PacketTable, Table, Values};
use ackclock_sim::{Run, RunResult, Seen};

/// The rows of each table, in the order of [`RunResult::TABLES`].
pub type Rows = Vec<Vec<Values>>;

/// A run that has come to its end.
pub struct Finished {
    pub trace_hash: u64,
    pub packets: u64,
    pub wall: Duration,
    pub cpu: Duration,
    pub rows: Rows,
    pub packet_rows: Option<Vec<Values>>,
}

impl Finished {
    /// What a run gave that began at these times, of a clock and of its thread's processor.
    pub fn new(run: Run, (began, cpu_began): (Instant, Option<Duration>)) -> Self {
        let wall = began.elapsed();
        let cpu = cpu_time().zip(cpu_began);
        Self {
            trace_hash: run.result.trace_hash,
            packets: run.result.packets,
            wall,
            cpu: cpu.map_or(wall, |(now, before)| now - before),
            rows: run.result.into_tables().into(),
            packet_rows: run.packets.map(PacketTable::into_columns),
        }
    }
}

/// CPU time of the calling thread, where the system tells it.
pub fn cpu_time() -> Option<Duration> {
    ThreadClock::current().and_then(ThreadClock::elapsed)
}

/// Why there is no result.
pub struct Failure {
    /// Whether an algorithm is the cause.
    pub is_algorithms: bool,
    pub text: String,
}

impl Failure {
    pub fn ours(text: String) -> Self {
        let is_algorithms = false;
        Self {
            is_algorithms,
            text,
        }
    }
}

pub enum Told {
    /// The fraction of all work that is done.
    Progress(f64),
    /// Rows so far of the run with this number.
    Rows(usize, Rows),
    Finished(usize, Finished),
    Failed(Failure),
    End,
    /// What a sender knows at the end of a step.
    Step(Seen),
}

impl Told {
    pub fn write(self, to: &mut impl Write) -> Result<()> {
        match self {
            Self::Progress(fraction) => numbers(to, &[0, fraction.to_bits()]),
            Self::Rows(index, rows) => {
                numbers(to, &[1, index as u64])?;
                rows.iter().try_for_each(|table| put(to, table))
            }
            Self::Finished(index, run) => {
                let times = [run.wall, run.cpu].map(|time| time.as_nanos() as u64);
                let has_packets = u64::from(run.packet_rows.is_some());
                let [wall, cpu] = times;
                let index = index as u64;
                let head = [
                    2,
                    index,
                    run.trace_hash,
                    run.packets,
                    wall,
                    cpu,
                    has_packets,
                ];
                numbers(to, &head)?;
                let tables = run.rows.iter().chain(&run.packet_rows);
                tables.into_iter().try_for_each(|table| put(to, table))
            }
            Self::Failed(Failure {
                is_algorithms,
                text,
            }) => {
                numbers(to, &[3, u64::from(is_algorithms), text.len() as u64])?;
                to.write_all(text.as_bytes())
            }
            Self::End => numbers(to, &[4]),
            Self::Step(seen) => numbers(to, &[5]).and_then(|()| numbers(to, &seen)),
        }
    }

    /// Reads what `write` wrote. What it says may be a lie, but has the form of the truth.
    pub fn read(from: &mut impl Read) -> Result<Self> {
        fn all(from: &mut impl Read) -> Result<Rows> {
            RunResult::TABLES.iter().map(|of| take(from, of)).collect()
        }
        let [kind] = numbered(from)?;
        Ok(match kind {
            0 => {
                let [fraction] = numbered(from)?;
                Self::Progress(f64::from_bits(fraction))
            }
            1 => {
                let [index] = numbered(from)?;
                Self::Rows(index as usize, all(from)?)
            }
            2 => {
                let [index, trace_hash, packets, wall, cpu, has_packets] = numbered(from)?;
                let rows = all(from)?;
                let packet_rows = (has_packets == 1).then(|| take(from, &PacketTable::TABLE));
                let finished = Finished {
                    trace_hash,
                    packets,
                    wall: Duration::from_nanos(wall),
                    cpu: Duration::from_nanos(cpu),
                    rows,
                    packet_rows: packet_rows.transpose()?,
                };
                Self::Finished(index as usize, finished)
            }
            3 => {
                let [is_algorithms, len] = numbered(from)?;
                let text = String::from_utf8_lossy(&bytes(from, len)?).into_owned();
                let is_algorithms = is_algorithms == 1;
                Self::Failed(Failure {
                    is_algorithms,
                    text,
                })
            }
            4 => Self::End,
            5 => Self::Step(numbered(from)?),
            _ => return Err(ErrorKind::InvalidData.into()),
        })
    }
}

fn numbers(to: &mut impl Write, all: &[u64]) -> Result<()> {
    all.iter()
        .try_for_each(|each| to.write_all(&each.to_ne_bytes()))
}

fn numbered<const N: usize>(from: &mut impl Read) -> Result<[u64; N]> {
    let mut all = [0; N];
    for each in &mut all {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes)?;
        *each = u64::from_ne_bytes(bytes);
    }
    Ok(all)
}

fn bytes(from: &mut impl Read, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(len).read_to_end(&mut bytes)?;
    (read as u64 == len)
        .then_some(bytes)
        .ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

fn put(to: &mut impl Write, columns: &[Values]) -> Result<()> {
    let rows = columns.first().map_or(0, |column| match column {
        Values::U32(values) => values.len(),
        Values::U64(values) => values.len(),
        Values::Name(codes) => codes.len(),
    });
    numbers(to, &[rows as u64])?;
    columns.iter().try_for_each(|column| match column {
        Values::U32(values) => to.write_all(&flat(values, |value| value.to_ne_bytes())),
        Values::U64(values) => to.write_all(&flat(values, |value| value.to_ne_bytes())),
        Values::Name(codes) => to.write_all(codes),
    })
}

fn flat<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values
        .iter()
        .map(|value| bytes(*value))
        .collect::<Vec<_>>()
        .concat()
}

fn take(from: &mut impl Read, table: &Table) -> Result<Vec<Values>> {
    let [rows] = numbered(from)?;
    let column = |kind| -> Result<_> {
        let size = match kind {
            Kind::U32 => 4,
            Kind::U64 => 8,
            Kind::Name(_) => 1,
        };
        let bytes = bytes(from, rows.saturating_mul(size))?;
        let of = |each: &[u8]| each.try_into().expect("8 bytes");
        Ok(match kind {
            Kind::U32 => Values::U32(
                (bytes.chunks_exact(4))
                    .map(|each| u32::from_ne_bytes(each.try_into().expect("4 bytes")))
                    .collect(),
            ),
            Kind::U64 => Values::U64(
                (bytes.chunks_exact(8))
                    .map(|each| u64::from_ne_bytes(of(each)))
                    .collect(),
            ),
            Kind::Name(names) if bytes.iter().all(|code| usize::from(*code) < names.len()) => {
                Values::Name(bytes)
            }
            Kind::Name(_) => return Err(Error::from(ErrorKind::InvalidData)),
        })
    };
    table
        .columns
        .iter()
        .map(|each| each.kind)
        .map(column)
        .collect()
}
