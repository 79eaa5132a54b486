//! The files that links name, whose texts come with the scenario.

use std::collections::BTreeMap;

use ackclock_net::rate::Trace;

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

/// Texts by their paths, as the scenario writes them.
#[derive(Default)]
pub struct Files(pub BTreeMap<String, String>);

impl Files {
    fn text(&self, path: &str) -> Result<&str, String> {
        let text = self.0.get(path).map(String::as_str);
        let missing = "cannot be read (No such file or directory); give another file";
        text.ok_or_else(|| missing.into())
    }

    /// The times in the file of a link's trace, ms, as of mahimahi.
    pub fn trace(&self, path: &str) -> Result<Vec<u64>, String> {
        let text = self.text(path)?;
        if text.len() > MOST_BYTES {
            return Err(format!(
                "is longer than {MOST_BYTES} bytes; give it at most {MOST_LINES} lines, a time in ms \
                 on each"
            ));
        }
        times_in(text.trim_start_matches('\u{feff}'))
    }

    /// What the file of a link's timeline says.
    pub fn timeline(&self, path: &str) -> Result<Timeline, String> {
        let text = self.text(path)?;
        if text.len() > MOST_BYTES {
            return Err(format!(
                "is longer than {MOST_BYTES} bytes; give it fewer rows"
            ));
        }
        timeline::read(text)
    }
}

fn times_in(text: &str) -> Result<Vec<u64>, String> {
    let mut lines: Vec<_> = text.split('\n').collect();
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

/// Refuses rates that happen to ascend: `_refuse_rates` of `ackclock.scenario.snapshot` says why.
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
            four_digits(mean_bps as f64 / 1e6)
        ));
    }
    Ok(())
}

/// `format(value, ".4g")` of what is neither tiny nor huge.
fn four_digits(value: f64) -> String {
    let before = value.abs().log10().floor() as i32;
    if !(-4..4).contains(&before) {
        return crate::python::general(value);
    }
    let shown = format!("{value:.0$}", (3 - before).max(0) as usize);
    match shown.contains('.') {
        true => shown.trim_end_matches('0').trim_end_matches('.').into(),
        false => shown,
    }
}
