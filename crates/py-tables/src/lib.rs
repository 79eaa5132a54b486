//! What a run hands to Python, by `ackclock._core` and by `ackclock._kernel`.

use std::time::Duration;

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
