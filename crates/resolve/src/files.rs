//! The files that links name.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ackclock_net::rate::Trace;

use crate::python::general;
use crate::timeline::{self, Timeline};

/// Lines of a trace.
const MOST_LINES: usize = 1_000_000;
/// A longer file is not read: a line has a time of at most ten digits.
const MOST_BYTES: usize = 32 * MOST_LINES;
/// The longest trace: 1000 hours, as the longest run.
const MOST_MS: u64 = 3_600_000_000;
/// A recorded link lasts longer, s.
const SHORT_S: u64 = 1;
/// Packets at one time in a shorter period are a fast link, as of mahimahi, ms.
const LONG_MS: u64 = 10;
/// What to do with another kind of file.
const IF_RATES: &str = "; if these are rates, write them in a timeline, each with its time";

/// Makes CSV of a Parquet file, which this crate does not read.
pub type Parquet = fn(&[u8]) -> Result<Vec<u8>, String>;

/// Reads a file, or says why not and what to do.
pub type Read = Box<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync>;

/// The files that links name: each is read once.
#[derive(Default)]
pub struct Files {
    /// Of those that did not come with the scenario; None: from this machine.
    read: Option<Read>,
    parquet: Option<Parquet>,
    known: Mutex<BTreeMap<String, Arc<Content>>>,
}

/// What is in a file.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    trace: OnceLock<Result<Vec<u64>, String>>,
    timeline: OnceLock<Result<Timeline, String>>,
}

impl Files {
    /// Those of this machine.
    pub fn here(parquet: Parquet) -> Self {
        Self {
            parquet: Some(parquet),
            ..Self::default()
        }
    }

    /// Those that somebody else reads.
    pub fn of(read: Read, parquet: Parquet) -> Self {
        Self {
            read: Some(read),
            ..Self::here(parquet)
        }
    }

    /// Those that came with a scenario, by their paths as it writes them; `missing` says why another
    /// one is not read.
    pub fn given(
        contents: impl IntoIterator<Item = (String, Vec<u8>)>,
        missing: &'static str,
        parquet: Option<Parquet>,
    ) -> Self {
        let known = contents
            .into_iter()
            .map(|(path, bytes)| (path, Arc::new(Content::of(bytes))));
        Self {
            read: Some(Box::new(move |_| Err(missing.into()))),
            parquet,
            known: Mutex::new(known.collect()),
        }
    }

    /// What was read so far, by path.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let each = known
            .iter()
            .map(|(path, content)| (path.clone(), content.bytes.clone()));
        each.collect()
    }

    fn content(&self, path: &str) -> Result<Arc<Content>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known.get(path) {
            return Ok(content.clone());
        }
        let bytes = self
            .read
            .as_ref()
            .map_or_else(|| read(path), |read| read(path));
        let content = Arc::new(Content::of(bytes?));
        known.insert(path.into(), content.clone());
        Ok(content)
    }

    /// The times in the file of a link's trace, ms, as of mahimahi.
    ///
    /// # Errors
    /// Line and fix.
    pub fn trace(&self, path: &str) -> Result<Vec<u64>, String> {
        let content = self.content(path)?;
        content
            .trace
            .get_or_init(|| times_in(&content.bytes))
            .clone()
    }

    /// What the file of a link's timeline says.
    ///
    /// # Errors
    /// Line and fix.
    pub fn timeline(&self, path: &str) -> Result<Timeline, String> {
        let content = self.content(path)?;
        let read = || {
            let bytes = &content.bytes;
            if bytes.len() > MOST_BYTES {
                return Err(format!(
                    "is longer than {MOST_BYTES} bytes; give it fewer rows"
                ));
            }
            match (bytes.starts_with(b"PAR1"), self.parquet) {
                (true, Some(csv)) => timeline::read(&csv(bytes)?),
                (true, None) => {
                    Err("is Parquet, which only `ackclock explore` reads; write CSV".into())
                }
                (false, _) => timeline::read(bytes),
            }
        };
        content.timeline.get_or_init(read).clone()
    }
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

/// One byte more than a file may have tells that it is longer.
fn read(path: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| {
        let error = error.to_string();
        let reason = error.split(" (os error").next().unwrap_or_default();
        format!("cannot be read ({reason}); give another file")
    })
}

fn times_in(bytes: &[u8]) -> Result<Vec<u64>, String> {
    if bytes.len() > MOST_BYTES {
        return Err(format!(
            "is longer than {MOST_BYTES} bytes; give it at most {MOST_LINES} lines, a time in ms \
             on each"
        ));
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| "is not text; give a file with a time in ms on each line")?;
    let mut lines: Vec<_> = text.trim_start_matches('\u{feff}').split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    if !(1..=MOST_LINES).contains(&lines.len()) {
        return Err(format!(
            "has {} lines; give it from 1 to {MOST_LINES}, a time in ms on each",
            lines.len()
        ));
    }
    let mut times: Vec<u64> = Vec::with_capacity(lines.len());
    for (line, number) in lines.into_iter().zip(1..) {
        let text = line.trim();
        let is_number =
            text.bytes().all(|each| each.is_ascii_digit()) && (1..16).contains(&text.len());
        let Some(time) = text.parse().ok().filter(|_| is_number) else {
            let shown: String = text.chars().take(20).collect();
            return Err(format!(
                "line {number} is \"{shown}\"; write a whole number of ms from 0 on each line, the \
                 time of a packet of 1500 bytes{IF_RATES}"
            ));
        };
        if time > MOST_MS {
            return Err(format!(
                "line {number}, {text} ms, is later than {MOST_MS} ms; write less"
            ));
        }
        if times.last().is_some_and(|before| time < *before) {
            return Err(format!(
                "line {number}, {text} ms, is before the line above it; sort the times{IF_RATES}"
            ));
        }
        times.push(time);
    }
    if times.last() == Some(&0) {
        return Err("the last time is the length of the trace; make it more than 0 ms".into());
    }
    let mean_bps = Trace::mean_bps(&times);
    if !(1_000..=1_000_000_000_000).contains(&mean_bps) {
        return Err(format!(
            "its mean rate is {mean_bps} bit/s, full packets by the last time; give a trace of 1kbit \
             to 1tbit"
        ));
    }
    refuse_rates(&times, mean_bps)?;
    Ok(times)
}

/// Refuses rates that happen to ascend.
///
/// A trace counts from its start: the first packet comes after a gap like the others. Only a
/// recording that began in an outage waits longer; and a recording lasts more than [`SHORT_S`], and
/// not half of it is such an outage. Rates that change little repeat one or two numbers.
fn refuse_rates(times: &[u64], mean_bps: u64) -> Result<(), String> {
    let mut each = times.to_vec();
    each.dedup();
    let (first, last) = (each[0], each[each.len() - 1]);
    if each.len() < 3 && times.len() > 10 * each.len() && first >= LONG_MS {
        let all: Vec<_> = each.iter().map(u64::to_string).collect();
        return Err(format!(
            "its {} packets leave all at {} ms; spread them over the time{IF_RATES}",
            times.len(),
            all.join(" or ")
        ));
    }
    let longest = each
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or(0);
    let is_short = last < SHORT_S * 1000 || 2 * first > last;
    if each.len() > 2 && is_short && first > longest {
        return Err(format!(
            "its times begin at {first} ms, no gap in them is longer than {longest} ms, and they end \
             at {last} ms, with a mean of {} Mb/s: these are no times of packets, in ms from the \
             start of a recording; write them so{IF_RATES}",
            general(mean_bps as f64 / 1e6, 4)
        ));
    }
    Ok(())
}
