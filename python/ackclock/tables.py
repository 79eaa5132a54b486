"""The tables of a run: their columns, types and meaning, stated once.

`markdown()` writes `docs/tables.md`. A result checks the engine's columns
(``crates/sim/src/record.rs``) against this list.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

#: A sender's congestion state, in the order of the engine's codes (Linux's `tcp_ca_state`).
STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: Events of a sender.
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
            "start_us": (U64, "When the flow connected, its random spread included."),
            "completed_us": (U64, "When the last byte was ACKed; 0 if the flow did not finish."),
            "delivered_bytes": (U64, "Acknowledged payload."),
            "sent_packets": (U64, "Data packets sent, retransmissions included."),
            "retransmitted_packets": (U64, "Retransmitted data packets."),
            "dropped_packets": (U64, "Data packets that the bottleneck dropped."),
            "recoveries": (U64, "How often the flow entered fast recovery."),
            "timeouts": (U64, "Retransmission timeouts."),
            "undos": (U64, "Window reductions that were spurious and therefore undone."),
            "min_rtt_us": (U64, "Smallest measured RTT."),
            "receive_window_limited_us": (U64, "Time in which the receive window was the limit."),
            "send_buffer_limited_us": (U64, "Time in which the send buffer was the limit."),
            "direction": (pl.Enum(DIRECTIONS), "Direction of the data: forward, reverse."),
            "algorithm": (pl.String, "Algorithm, as in the scenario."),
        },
    ),
    "samples": (
        "One row per flow at every multiple of the sample interval and at each of its events.",
        {
            "time_us": (U64, "Simulated time."),
            "flow": (U32, "Number of the flow, from 1."),
            "cwnd_packets": (U32, "Congestion window."),
            "ssthresh_packets": (U32, "Slow-start threshold; 2147483647 before the first loss."),
            "srtt_us": (U32, "Smoothed RTT (RFC 6298); 0 before the first sample."),
            "min_rtt_us": (U32, "Smallest RTT of the last 300 s; 0 before the first sample."),
            "in_flight_packets": (U32, "packets_out − (sacked_out + lost_out) + retrans_out."),
            "delivered_packets": (U64, "Packets known to be delivered (ACKed or SACKed) so far."),
            "delivered_bytes": (U64, "Cumulatively acknowledged payload so far."),
            "lost_packets": (
                U64,
                "Packets judged lost so far; on the kernel: retransmitted, or marked as lost.",
            ),
            "retransmitted_packets": (U64, "Retransmitted packets so far."),
            "state": (pl.Enum(STATES), f"Congestion state: {', '.join(STATES)}."),
        },
    ),
    "queues": (
        "One row per sampling instant and queue of the bottleneck.",
        {
            "time_us": (U64, "Simulated time."),
            "queue": (U32, "1: forward; 2: back, if data goes both ways."),
            "queue_packets": (U64, "Packets in the queue, the one in service included."),
            "queue_bytes": (U64, "Bytes in the queue."),
            "enqueued_packets": (U64, "Packets accepted so far."),
            "dropped_packets": (U64, "Packets dropped so far."),
            "sent_bytes": (U64, "Bytes that left the queue so far."),
        },
    ),
    "events": (
        "One row per change of a sender's state, in order of time.",
        {
            "time_us": (U64, "Simulated time."),
            "flow": (U32, "Number of the flow, from 1."),
            "kind": (pl.Enum(EVENT_KINDS), f"Kind of event: {', '.join(EVENT_KINDS)}."),
            "cwnd_packets": (U32, "Congestion window just before the event."),
            "ssthresh_packets": (U32, "Slow-start threshold just after the event."),
            "in_flight_packets": (U32, "Packets in flight just before the event."),
        },
    ),
    "sessions": (
        "One row per session: its totals at the end of the run.",
        {
            "session": (U32, "Number of the session, from 1."),
            "transfers": (U64, "Completed transfers."),
            "delivered_bytes": (U64, "Acknowledged payload."),
            "sent_packets": (U64, "Data packets sent, retransmissions included."),
            "retransmitted_packets": (U64, "Retransmitted data packets."),
            "dropped_packets": (U64, "Data packets that the bottleneck dropped."),
            "recoveries": (U64, "How often its connections entered fast recovery."),
            "timeouts": (U64, "Retransmission timeouts."),
            "direction": (pl.Enum(DIRECTIONS), "Direction of the data: forward, reverse."),
            "algorithm": (pl.String, "Algorithm, as in the scenario."),
        },
    ),
    "transfers": (
        "One row per transfer of a session, in order of completion; unfinished transfers last.",
        {
            "session": (U32, "Number of the session, from 1."),
            "start_us": (U64, "When the transfer sent its first SYN."),
            "completed_us": (U64, "When the last byte was ACKed; 0 if the run ended before."),
            "size_bytes": (U64, "Payload of the transfer."),
        },
    ),
}

#: The table that only a kernel run with `--acks` has. The algorithms' private state follows.
ACKS: tuple[str, dict[str, tuple[Any, str]]] = (
    """Only `--on kernel --acks` writes this table. It has one row per ACK that an established
sender received, with the sender's state before TCP handled the ACK. Further columns hold the
private state of the algorithms: one 64-bit column per member, named as in the C file, such as
`private.cnt`. A value is null if the flow's algorithm has no member of that name.""",
    {
        "time_us": (U64, "When the ACK arrived, by the clock of the samples."),
        "flow": (U32, "Number of the flow, from 1."),
        "cwnd_packets": (U32, "Congestion window."),
        "ssthresh_packets": (U32, "Slow-start threshold; 2147483647 before the first loss."),
        "srtt_us": (U32, "Smoothed RTT (RFC 6298)."),
        "in_flight_packets": (U32, "packets_out − (sacked_out + lost_out) + retrans_out."),
        "state": (pl.Enum(STATES), f"Congestion state: {', '.join(STATES)}."),
    },
)

_ALL = TABLES | {"acks": ACKS}


def schema(table: str) -> dict[str, Any]:
    """Type of each column; for `acks`, of the columns that are always there."""
    return {name: dtype for name, (dtype, _) in _ALL[table][1].items()}


def frame(table: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Makes a polars table of the engine's columns (equal lengths; the state is a code)."""
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
    """Makes a polars table of what `_kernel.run_on_kernel` returns."""
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
        "This page is for readers of results: it gives the meaning of each column.",
        "`ackclock run -o DIR` writes one Parquet file per table. `ackclock.Result` has polars",
        "tables of the same names. Times count from the start of the run. Columns that say",
        '"so far" are cumulative.',
        "`make docs` writes this page from `python/ackclock/tables.py`.",
        "",
        "Tables: " + " · ".join(f"[{table}](#{table}parquet)" for table in _ALL),
    ]
    for table, (row, columns) in _ALL.items():
        lines += ["", f"## `{table}.parquet`", "", row, "", "| column | type | meaning |"]
        lines += ["|---|---|---|"]
        for name, (dtype, meaning) in columns.items():
            kind = "string" if isinstance(dtype, pl.Enum) else str(dtype()).lower()
            lines.append(f"| `{name}` | {kind} | {meaning} |")
    return "\n".join(lines) + "\n"
