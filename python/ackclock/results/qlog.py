"""Samples and events of a run as qlog, for tools such as qvis.

The form is draft-ietf-quic-qlog-main-schema (a "contained" file in JSON). The events are those of
the namespace "recovery" of draft-ietf-quic-qlog-quic-events. TCP's own values stand in the member
`ackclock` of each event's data. `docs/interchange.md` has a table of them.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl

from ackclock.base.directory import replaced
from ackclock.base.errors import AckclockError
from ackclock.results import measures, summary
from ackclock.results.result import Result

#: URI of the file's form, and of what the events are.
FILE_SCHEMA = "urn:ietf:params:qlog:file:contained"
EVENT_SCHEMAS = ("urn:ietf:params:qlog:events:recovery", "urn:x-ackclock:qlog:events:recovery#tcp")
#: Not yet known: the kernel's TCP_INFINITE_SSTHRESH.
INFINITE = 0x7FFFFFFF
#: Columns of the samples that a trace needs.
COLUMNS = (
    "time_us", "flow", "cwnd_packets", "ssthresh_packets", "srtt_us", "min_rtt_us",
    "in_flight_packets", "delivered_bytes", "lost_packets", "retransmitted_packets", "state",
)  # fmt: skip
#: Columns of the events, just before it but for ssthresh.
OF_EVENT = ("cwnd_packets", "ssthresh_packets", "in_flight_packets")
#: Event of the tables → the state that it begins. A `recovered` flow is where its window says.
BEGINS = {
    "established": "slow_start",
    "slow_start_exit": "congestion_avoidance",
    "recovery": "recovery",
    "cwr": "recovery",
    "timeout": "loss",
}


def write(result: Result, path: str | os.PathLike[str]) -> Path:
    """Writes a trace for each flow of a result into one file; returns its path.

    Sessions have no samples, and no trace. Raises `AckclockError` if it cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise AckclockError(f"{path}: is a directory; name a file, such as {path / 'run.qlog'}")
    try:
        with replaced(path) as file, file.open("w", encoding="utf-8") as out:
            _write(result, out)
    except OSError as error:
        raise AckclockError(
            f"{path}: cannot be written ({error.strerror or error}); choose another file"
        ) from None
    return path


def _write(result: Result, out: IO[str]) -> None:
    head = {
        "file_schema": FILE_SCHEMA,
        "serialization_format": "application/qlog+json",
        # The names of these two in drafts until 0.3, which many tools read.
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": "ackclock",
        "description": f"{result.manifest['ackclock']}, {result.manifest.get('backend', 'sim')}",
    }
    out.write(json.dumps(head)[:-1] + ', "traces": [')
    for number, flow in enumerate(result.flows.iter_rows(named=True)):
        resolved = result.resolved["flows"][number]
        trace = {
            "title": f"flow {flow['flow']}: {summary.of_stack(resolved, flow['algorithm'])}",
            "vantage_point": {"name": f"flow {flow['flow']}", "type": "client"},
            "event_schemas": EVENT_SCHEMAS,
            "common_fields": {
                "group_id": f"flow {flow['flow']}",
                "protocol_type": ["QUIC" if resolved.get("stack") else "TCP"],
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
        }
        out.write(",\n" * bool(number) + json.dumps(trace)[:-1] + ', "events": [\n')
        own = measures.mss_bytes(result.resolved, resolved)
        for place, event in enumerate(_events(result, flow["flow"], own)):
            out.write(",\n" * bool(place) + json.dumps(event))
        out.write("\n]}")
    out.write("]}\n")


def _events(result: Result, flow: int, mss_bytes: int) -> Iterator[dict[str, Any]]:
    """The events of a flow, in order of time."""
    changes: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(result.events, flow, ("time_us", "kind", *OF_EVENT)):
        changes.setdefault(row["time_us"], []).append(row)
    before: dict[str, Any] = {}
    state, lost = None, 0
    for row in _rows(result.samples, flow, COLUMNS):
        time = {"time": row["time_us"] / 1e3}
        for event in changes.pop(row["time_us"], ()):
            kind = event["kind"]
            new = _state(kind, row)
            if new is None:
                continue
            data = {"new": new} | ({"old": state} if state else {})
            if kind == "cwr":
                data["trigger"] = "ECN"
            own = {"event": kind, "ca_state": row["state"]}
            yield time | {
                "name": "recovery:congestion_state_updated",
                "data": data | {"ackclock": own | {key: event[key] for key in OF_EVENT}},
            }
            state = new
        if row["lost_packets"] > lost:
            yield time | {
                "name": "recovery:packet_lost",
                "data": {"ackclock": {"packets": row["lost_packets"] - lost}},
            }
            lost = row["lost_packets"]
        now = _metrics(row, mss_bytes)
        updated = {key: value for key, value in now.items() if before.get(key) != value}
        if updated:
            yield time | {"name": "recovery:metrics_updated", "data": updated}
        before = now


def _state(kind: str, row: dict[str, Any]) -> str | None:
    if kind in ("recovered", "undo"):
        below = row["cwnd_packets"] < row["ssthresh_packets"]
        if row["state"] in ("recovery", "cwr"):
            return "recovery"
        if row["state"] == "loss":
            return "loss"
        return "slow_start" if below else "congestion_avoidance"
    return BEGINS.get(kind)


def _metrics(row: dict[str, Any], mss_bytes: int) -> dict[str, Any]:
    """What `recovery:metrics_updated` says: RTTs in ms, windows in bytes."""
    metrics = {
        "congestion_window": row["cwnd_packets"] * mss_bytes,
        "bytes_in_flight": row["in_flight_packets"] * mss_bytes,
        "packets_in_flight": row["in_flight_packets"],
        "ackclock": {
            "cwnd_packets": row["cwnd_packets"],
            "delivered_bytes": row["delivered_bytes"],
            "retransmitted_packets": row["retransmitted_packets"],
            "ca_state": row["state"],
        },
    }
    if row["ssthresh_packets"] != INFINITE:
        metrics["ssthresh"] = row["ssthresh_packets"] * mss_bytes
    for name, column in (("smoothed_rtt", "srtt_us"), ("min_rtt", "min_rtt_us")):
        if row[column]:
            metrics[name] = row[column] / 1e3
    return metrics


def _rows(table: pl.DataFrame, flow: int, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The rows of a flow; the table of a long run is lazy."""
    chosen = table.lazy().filter(pl.col("flow") == flow).select(columns).collect()
    return chosen.iter_rows(named=True)
