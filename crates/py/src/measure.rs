//! What a run measured: `ackclock-measure` for a `Result` of Python, whose `resolved` has the scenario
//! and whose `parts` are the rows of its tables.

use std::collections::BTreeMap;

use ackclock_measure::{
    self as measure, Delivered, Estimate, Link, Mark, Means, Number, Rule, Run, Seen, Setup,
    Summary,
};
use ackclock_py_tables::{refuse, Frame};
use measure::Table;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

fn setup(result: &Bound<'_, PyAny>) -> PyResult<Setup> {
    let setup: PyResult<_> = result.getattr("resolved")?.extract();
    setup.map_err(|error| refuse(format!("its scenario is none: {error}")))
}

/// A table as the engine handed it over; `None` where it did not.
fn own(result: &Bound<'_, PyAny>, table: &str) -> PyResult<Option<Frame>> {
    let run = result.getattr("_run")?;
    if run.is_none() {
        return Ok(None);
    }
    Ok(Frame::own(&run.getattr("raw")?.get_item(table)?))
}

/// These columns of a table in parts, or all columns of one that does not grow with the time.
fn parts<'py>(
    result: &Bound<'py, PyAny>,
    table: &str,
    columns: &[&str],
) -> PyResult<Box<dyn Iterator<Item = PyResult<Frame>> + 'py>> {
    if let Some(own) = own(result, table)? {
        return Ok(Box::new([Ok(own)].into_iter()));
    }
    let names: Vec<_> = [table].into_iter().chain(columns.iter().copied()).collect();
    let parts = result.call_method1("parts", PyTuple::new(result.py(), names)?)?;
    Ok(Box::new(parts.try_iter()?.map(|part| Frame::new(&part?))))
}

fn whole(result: &Bound<'_, PyAny>, table: &str) -> PyResult<Frame> {
    match own(result, table)? {
        Some(own) => Ok(own),
        None => Frame::new(&result.getattr(table)?),
    }
}

/// What the scorecard measures of a run, whose first `mine` flows are those of the algorithm: name,
/// value, and whether it is only known to be at least that.
#[pyfunction]
pub fn numbers(
    result: &Bound<'_, PyAny>,
    mine: usize,
) -> PyResult<Vec<(&'static str, Option<f64>, bool)>> {
    let run = Run {
        setup: &setup(result)?,
        flows: &whole(result, "flows")?,
        samples: &whole(result, "samples")?,
        queues: &whole(result, "queues")?,
        events: &whole(result, "events")?,
        transfers: &whole(result, "transfers")?,
    };
    let found = measure::numbers(&run, mine).into_iter();
    Ok(found
        .map(|(name, number)| match number {
            None => (name, None, false),
            Some(Number::Is(value)) => (name, Some(value), false),
            Some(Number::AtLeast(value)) => (name, Some(value), true),
        })
        .collect())
}

/// What a run comes to: common interval, utilisation, Jain's index, flows and queues.
#[pyfunction]
pub fn summary(result: &Bound<'_, PyAny>, of_programs: bool) -> PyResult<Summary> {
    let (setup, flows) = (setup(result)?, whole(result, "flows")?);
    let completed_us = flows.u64("completed_us");
    let mut seen = Seen::new(&setup);
    for samples in parts(result, "samples", Seen::SAMPLE_COLUMNS)? {
        seen.take_samples(&setup, &samples?, completed_us);
    }
    for queues in parts(result, "queues", Seen::QUEUE_COLUMNS)? {
        seen.take_queues(&queues?);
    }
    Ok(seen.summary(&setup, &flows, of_programs))
}

/// The common interval of a scenario in canonical form, from ns to ns; `starts_us`: when each flow
/// connects.
#[pyfunction]
pub fn common_ns(resolved: Setup, starts_us: Vec<u64>) -> (u64, u64) {
    let common_ns = resolved.common_ns(&starts_us);
    (common_ns.start, common_ns.end)
}

/// What a link of a canonical scenario can carry from one time to another, IP bits.
#[pyfunction]
pub fn capacity_bits(link: Link, start_s: f64, stop_s: f64) -> f64 {
    link.capacity_bits(start_s, stop_s)
}

/// Payload that the bottleneck of a canonical scenario can carry, bit/s.
#[pyfunction]
pub fn capacity_bps(resolved: Setup) -> f64 {
    resolved.capacity_bps()
}

/// Jain's index; NaN if all shares are 0.
#[pyfunction]
pub fn jain_index(shares: Vec<f64>) -> f64 {
    measure::jain_index(&shares)
}

/// Share of a link's rate in use from one time to another; NaN where samples are missing.
#[pyfunction]
pub fn utilisation(
    result: &Bound<'_, PyAny>,
    start_s: f64,
    stop_s: Option<f64>,
    queue: Option<usize>,
) -> PyResult<f64> {
    let queues = parts(result, "queues", &["time_us", "queue", "sent_bytes"])?;
    let queues = queues.collect::<PyResult<Vec<_>>>()?;
    let queues: Vec<_> = queues.iter().map(|rows| rows as &dyn Table).collect();
    Ok(measure::utilisation(
        &setup(result)?,
        &queues,
        start_s,
        stop_s,
        queue,
    ))
}

/// Mean of "cwnd_packets" or "srtt_us" over the regular samples of each flow in a window, until it
/// completes. A flow without a sample has no entry.
#[pyfunction]
pub fn means(
    result: &Bound<'_, PyAny>,
    column: &str,
    start_s: f64,
    stop_s: f64,
) -> PyResult<BTreeMap<usize, f64>> {
    let (setup, flows) = (setup(result)?, whole(result, "flows")?);
    let mut until_us = setup.ends_us(flows.u64("completed_us"));
    until_us
        .iter_mut()
        .for_each(|end_us| *end_us = end_us.min(1e6 * stop_s));
    let mut means = Means::new(&setup, column);
    for samples in parts(result, "samples", &["time_us", "flow", column])? {
        means.take(&setup, &samples?, 1e6 * start_s, &until_us);
    }
    let found = (1..).zip(means.values());
    Ok(found
        .filter_map(|(flow, mean)| Some((flow, mean?)))
        .collect())
}

/// Payload sent and acknowledged in the common interval, of each flow, bit/s.
#[pyfunction]
pub fn goodputs_bps(result: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(measure::goodputs_bps(
        &setup(result)?,
        &whole(result, "flows")?,
    ))
}

/// Payload acknowledged in order, from each flow's start to its end, bit/s.
#[pyfunction]
pub fn lifetimes_bps(result: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(measure::lifetimes_bps(
        &setup(result)?,
        &whole(result, "flows")?,
    ))
}

fn delivered(result: &Bound<'_, PyAny>) -> PyResult<(Setup, Delivered)> {
    let setup = setup(result)?;
    let mut delivered = Delivered::new(&setup);
    for samples in parts(result, "samples", &["time_us", "flow", "delivered_packets"])? {
        delivered.take(&samples?);
    }
    Ok((setup, delivered))
}

/// Payload that flows have had delivered until some times, bits: numbers of 64 bits, flow by flow; NaN
/// behind a flow's last sample.
#[pyfunction]
pub fn delivered_bits<'py>(
    result: &Bound<'py, PyAny>,
    times_s: Vec<f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (setup, delivered) = delivered(result)?;
    let mut bytes = Vec::with_capacity(8 * setup.flows.len() * times_s.len());
    for flow in 0..setup.flows.len() {
        for time_s in &times_s {
            bytes.extend(delivered.bits(flow, *time_s).to_ne_bytes());
        }
    }
    Ok(PyBytes::new(result.py(), &bytes))
}

/// Time from the last start until the forward flows share fairly, s; None: not by the end.
#[pyfunction]
pub fn convergence_s(
    result: &Bound<'_, PyAny>,
    last_start_s: f64,
    window_s: f64,
    share: f64,
) -> PyResult<Option<f64>> {
    let (setup, delivered) = delivered(result)?;
    Ok(delivered.convergence_s(&setup, last_start_s, window_s, share))
}

/// Delays of the frames that a flow writes within some time, s.
#[pyfunction]
pub fn frame_delays_s(
    result: &Bound<'_, PyAny>,
    flow: usize,
    established_us: Option<f64>,
    start_s: f64,
    stop_s: f64,
) -> PyResult<Vec<f64>> {
    let (setup, samples) = (setup(result)?, whole(result, "samples")?);
    let within_s = start_s..stop_s;
    Ok(measure::frame_delays_s(
        &setup,
        &samples,
        flow - 1,
        established_us,
        within_s,
    ))
}

/// How an algorithm does against another, by a number and the paired difference in it, or by several.
#[pyfunction]
pub fn mark(differences: Vec<(Rule, Option<Estimate>)>) -> &'static str {
    let marks = differences.iter().map(|(number, of)| number.mark(*of));
    Mark::of_row(marks).name()
}

/// Whether all of an algorithm's interval is where a number is unsafe.
#[pyfunction]
pub fn is_unsafe(number: Rule, found: Option<Estimate>) -> bool {
    number.is_unsafe(found)
}

/// Whether two algorithms have the same number in each run, or the same bound.
#[pyfunction]
pub fn is_equal(
    mine: Option<Estimate>,
    other: Option<Estimate>,
    difference: Option<Estimate>,
) -> bool {
    measure::is_equal(mine, other, difference)
}

/// A card in one line, by its rows: name, whether it is unsafe, and mark against the `first` of the others.
/// `equal`: those that are so in every number; `failed`: the row in which the algorithm did.
#[pyfunction]
pub fn headline(
    rows: Vec<(String, bool, Option<String>)>,
    first: Option<&str>,
    equal: Vec<String>,
    failed: Option<&str>,
) -> String {
    measure::headline(&rows, first, &equal, failed)
}
