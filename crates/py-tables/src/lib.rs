//! What a run and its algorithms are in Python, by `ackclock._core` and by `ackclock._kernel`.

use std::time::Duration;

use ackclock_host::{Algorithm, Configured, Param};
use ackclock_sim::scenario::Algorithms;
use ackclock_sim::RunResult;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A dict per table, name → numpy array; enumerations as strings or codes.
pub fn tables(py: Python<'_>, result: RunResult, wall: Duration) -> PyResult<Bound<'_, PyDict>> {
    fn column<'py, T: Element>(
        table: &Bound<'py, PyDict>,
        name: &str,
        values: Vec<T>,
    ) -> PyResult<()> {
        table.set_item(name, PyArray1::from_vec(table.py(), values))
    }
    macro_rules! table {
        ($table:ident: $($name:ident)*) => {{
            let dict = PyDict::new(py);
            $(column(&dict, stringify!($name), result.$table.$name)?;)*
            dict
        }};
    }
    let dict = PyDict::new(py);
    dict.set_item(
        "flows",
        table!(flows: flow start_us completed_us delivered_bytes sent_packets
            retransmitted_packets dropped_packets recoveries timeouts undos min_rtt_us
            receive_window_limited_us send_buffer_limited_us),
    )?;
    dict.set_item(
        "samples",
        table!(samples: time_us flow cwnd_packets ssthresh_packets srtt_us min_rtt_us
            in_flight_packets delivered_packets delivered_bytes lost_packets
            retransmitted_packets state),
    )?;
    dict.set_item(
        "queues",
        table!(queues: time_us queue queue_packets queue_bytes enqueued_packets dropped_packets
            sent_bytes),
    )?;
    let events = table!(events: time_us flow);
    let kinds = result
        .events
        .kind
        .iter()
        .map(|kind| kind.name())
        .collect::<Vec<_>>();
    events.set_item("kind", kinds)?;
    column(&events, "cwnd_packets", result.events.cwnd_packets)?;
    column(&events, "ssthresh_packets", result.events.ssthresh_packets)?;
    column(
        &events,
        "in_flight_packets",
        result.events.in_flight_packets,
    )?;
    dict.set_item("events", events)?;
    dict.set_item(
        "sessions",
        table!(sessions: session transfers delivered_bytes sent_packets retransmitted_packets
            dropped_packets recoveries timeouts),
    )?;
    dict.set_item(
        "transfers",
        table!(transfers: session start_us completed_us size_bytes),
    )?;
    dict.set_item("trace_hash", format!("{:016x}", result.trace_hash))?;
    dict.set_item("packets", result.packets)?;
    dict.set_item("wall_time_s", wall.as_secs_f64())?;
    Ok(dict)
}

/// The value of each parameter, as a user writes it.
pub fn values<'py>(py: Python<'py>, configured: &Configured) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    let params = configured.algorithm().params().iter();
    for (param, (name, stored)) in params.zip(configured.values()) {
        values.set_item(name, number(py, param, stored)?)?;
    }
    Ok(values)
}

/// What ran, by its spec in the scenario: name, source, spec, values, fingerprint.
pub fn code<'py>(py: Python<'py>, algorithms: &Algorithms) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (spec, configured) in algorithms {
        let algorithm = configured.algorithm();
        let each = PyDict::new(py);
        each.set_item("name", algorithm.name())?;
        each.set_item("source", algorithm.source_path())?;
        each.set_item("spec", configured.spec())?;
        each.set_item("values", values(py, configured)?)?;
        each.set_item("fingerprint", fingerprint(algorithm))?;
        dict.set_item(spec, each)?;
    }
    Ok(dict)
}

/// An algorithm's fingerprint, as text.
pub fn fingerprint(algorithm: &Algorithm) -> String {
    format!("{:016x}", algorithm.fingerprint())
}

/// A stored value as a user writes it: 717 of 1024 is 0.7.
pub fn number<'py>(py: Python<'py>, param: &Param, stored: u32) -> PyResult<Bound<'py, PyAny>> {
    if param.scale == 1 {
        return Ok(stored.into_pyobject(py)?.into_any());
    }
    let shortest = param.display(stored).parse::<f64>()?;
    Ok(shortest.into_pyobject(py)?.into_any())
}
