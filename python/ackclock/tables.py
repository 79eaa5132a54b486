"""The tables that a run leaves behind: their columns, types and meaning, stated once.

`docs/tables.md` is `markdown()`; the engine's columns (``crates/sim/src/record.rs``)
are checked against this list when a result is made.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

#: A sender's congestion state, in the order of the engine's codes (Linux's `tcp_ca_state`).
STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: What can happen to a sender.
EVENT_KINDS = (
    "established",
    "slow_start_exit",
    "recovery",
    "recovered",
    "timeout",
    "undo",
    "completed",
)

#: Which way data goes: through queue 1 or queue 2.
DIRECTIONS = ("forward", "reverse")

U8, U32, U64 = pl.UInt8, pl.UInt32, pl.UInt64

#: Table → what one row is, and column → (type, meaning). Units end the names.
TABLES: dict[str, tuple[str, dict[str, tuple[Any, str]]]] = {
    "flows": (
        "One row per flow: its totals at the end of the run.",
        {
            "flow": (U32, "Number of the flow, from 1."),
            "start_us": (U64, "When it connected, the drawn spread included."),
            "completed_us": (U64, "When its last byte was acknowledged; 0: it never finished."),
            "delivered_bytes": (U64, "Payload acknowledged."),
            "sent_packets": (U64, "Data packets sent, retransmissions included."),
            "retransmitted_packets": (U64, "Data packets sent again."),
            "dropped_packets": (U64, "Data packets that the bottleneck dropped."),
            "recoveries": (U64, "Times it entered fast recovery."),
            "timeouts": (U64, "Retransmission timeouts."),
            "undos": (U64, "Window reductions undone as spurious."),
            "min_rtt_us": (U64, "Smallest round-trip time measured."),
            "receive_window_limited_us": (U64, "Time in which the receive window limited it."),
            "send_buffer_limited_us": (U64, "Time in which the send buffer limited it."),
            "direction": (pl.Enum(DIRECTIONS), "Which way its data goes: forward, reverse."),
            "algorithm": (pl.String, "Its algorithm, as in the scenario."),
        },
    ),
    "samples": (
        "One row per flow at every multiple of the sample interval and at each of its events.",
        {
            "time_us": (U64, "Simulated time."),
            "flow": (U32, "Number of the flow, from 1."),
            "cwnd_packets": (U32, "Congestion window."),
            "ssthresh_packets": (U32, "Slow-start threshold; 2147483647 before the first loss."),
            "srtt_us": (U32, "Smoothed round-trip time (RFC 6298); 0 before the first sample."),
            "min_rtt_us": (U32, "Smallest round-trip time of the last 300 s; 0 before the first."),
            "in_flight_packets": (U32, "packets_out − (sacked_out + lost_out) + retrans_out."),
            "delivered_packets": (U64, "Packets known to be delivered (ACKed or SACKed), so far."),
            "delivered_bytes": (U64, "Payload cumulatively acknowledged, so far."),
            "lost_packets": (
                U64,
                "Packets deemed lost, so far; on the kernel: retransmitted, or marked as lost.",
            ),
            "retransmitted_packets": (U64, "Packets retransmitted, so far."),
            "state": (pl.Enum(STATES), f"Congestion state: {', '.join(STATES)}."),
        },
    ),
    "queues": (
        "One row per sampling instant and queue: the bottleneck.",
        {
            "time_us": (U64, "Simulated time."),
            "queue": (U32, "1: the way forth; 2: the way back, if data goes both ways."),
            "queue_packets": (U64, "Packets waiting, the one in service included."),
            "queue_bytes": (U64, "Their bytes."),
            "enqueued_packets": (U64, "Packets accepted, so far."),
            "dropped_packets": (U64, "Packets dropped, so far."),
            "sent_bytes": (U64, "Bytes sent on, so far."),
        },
    ),
    "events": (
        "One row per change of a sender's state, in order of time.",
        {
            "time_us": (U64, "Simulated time."),
            "flow": (U32, "Number of the flow, from 1."),
            "kind": (pl.Enum(EVENT_KINDS), f"What happened: {', '.join(EVENT_KINDS)}."),
            "cwnd_packets": (U32, "Congestion window just before."),
            "ssthresh_packets": (U32, "Slow-start threshold just after."),
            "in_flight_packets": (U32, "Packets in flight just before."),
        },
    ),
    "sessions": (
        "One row per session: its totals at the end of the run.",
        {
            "session": (U32, "Number of the session, from 1."),
            "transfers": (U64, "Transfers completed."),
            "delivered_bytes": (U64, "Payload acknowledged."),
            "sent_packets": (U64, "Data packets sent, retransmissions included."),
            "retransmitted_packets": (U64, "Data packets sent again."),
            "dropped_packets": (U64, "Data packets that the bottleneck dropped."),
            "recoveries": (U64, "Times its connections entered fast recovery."),
            "timeouts": (U64, "Retransmission timeouts."),
            "direction": (pl.Enum(DIRECTIONS), "Which way its data goes: forward, reverse."),
            "algorithm": (pl.String, "Its algorithm, as in the scenario."),
        },
    ),
    "transfers": (
        "One row per transfer of a session, in order of completion; unfinished ones at the end.",
        {
            "session": (U32, "Number of the session, from 1."),
            "start_us": (U64, "When it connected: its first SYN."),
            "completed_us": (U64, "When its last byte was acknowledged; 0: not by the end."),
            "size_bytes": (U64, "Its payload."),
        },
    ),
}

#: The table that only a kernel run with `--acks` has. The algorithms' private state follows.
ACKS: tuple[str, dict[str, tuple[Any, str]]] = (
    """Only of `--on kernel --acks`: one row per ACK that an established sender received, with
what the ACK met, before it was handled. After these columns there is one for each member of the
algorithms' private state, such as `private.cnt`: 64-bit, by its name in the C file, null for flows
whose algorithm has none of that name.""",
    {
        "time_us": (U64, "When the ACK arrived; the clock of samples."),
        "flow": (U32, "Number of the flow, from 1."),
        "cwnd_packets": (U32, "Congestion window."),
        "ssthresh_packets": (U32, "Slow-start threshold; 2147483647 before the first loss."),
        "srtt_us": (U32, "Smoothed round-trip time (RFC 6298)."),
        "in_flight_packets": (U32, "packets_out − (sacked_out + lost_out) + retrans_out."),
        "state": (pl.Enum(STATES), f"Congestion state: {', '.join(STATES)}."),
    },
)

_ALL = TABLES | {"acks": ACKS}


def schema(table: str) -> dict[str, Any]:
    """Type of each column; of `acks` those that are always there."""
    return {name: dtype for name, (dtype, _) in _ALL[table][1].items()}


def frame(table: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """The polars table of the engine's columns (arrays of equal length; the state as a code)."""
    types = schema(table)
    if list(columns) != list(types):
        raise TypeError(f"{table}: the engine has columns {list(columns)}, tables.py {list(types)}")
    series = {name: pl.Series(name, columns[name]) for name in types}
    if "state" in types:
        series["state"] = pl.Series(STATES, dtype=types["state"]).gather(series["state"])
    return pl.DataFrame({name: series[name].cast(dtype) for name, dtype in types.items()})


def acks_frame(
    columns: Mapping[str, Any], private_state: Iterable[tuple[str, bool, list[int], Any]]
) -> pl.DataFrame:
    """The polars table of what `_kernel.run_on_kernel` hands over."""
    private = []
    for name, signed, flows, values in private_state:
        column = pl.Series(f"private.{name}", values.view("i8") if signed else values)
        private.append(pl.when(pl.col("flow").is_in(flows)).then(column).alias(column.name))
    return frame("acks", columns).with_columns(private)


def markdown() -> str:
    """`docs/tables.md`."""
    lines = [
        "# The tables of a run",
        "",
        "`ackclock run -o DIR` writes one Parquet file per table; `ackclock.Result` has them as",
        "polars tables of the same names. Times count from the start of the run; columns that say",
        '"so far" are cumulative. Written by `make docs` from `python/ackclock/tables.py`.',
    ]
    for table, (row, columns) in _ALL.items():
        lines += ["", f"## `{table}.parquet`", "", row, "", "| column | type | meaning |"]
        lines += ["|---|---|---|"]
        for name, (dtype, meaning) in columns.items():
            kind = "string" if isinstance(dtype, pl.Enum) else str(dtype()).lower()
            lines.append(f"| `{name}` | {kind} | {meaning} |")
    return "\n".join(lines) + "\n"
