"""The tables of a run, from what the guest wrote, in the layouts of guest/*.c."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ackclock import AckclockError
from ackclock.base import units
from ackclock.results import tables
from ackclock.scenario.scenario import Scenario

MOST_SACKS = 3
_U8, _U32, _U64 = np.uint8, np.uint32, np.uint64
_TYPES = {"u8": _U8, "u32": _U32, "s32": np.int32, "u64": _U64}
_TYPES |= {"uint8_t": _U8, "uint32_t": _U32, "uint64_t": _U64}


def text_of(path: Path) -> str:
    """What the guest wrote into a file; empty: there is none."""
    return path.read_text(errors="replace") if path.exists() else ""


def layout(file: str, struct: str) -> np.dtype[Any]:
    """A struct of the guest's C code, with its names."""
    code = Path(__file__).with_name("guest").joinpath(file).read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    (body,) = re.findall(rf"^struct {struct} {{(.*?)^}};", code, re.DOTALL | re.MULTILINE)
    fields: list[Any] = []
    for kind, names in re.findall(r"(\w+) ([^;]+);", body):
        for name, *sizes in (re.findall(r"\w+", each) for each in names.split(",")):
            shape = tuple(MOST_SACKS if size == "MOST_SACKS" else int(size) for size in sizes)
            fields.append((name, _TYPES[kind], shape))
    return np.dtype(fields, align=True)


SAMPLE, QUEUE = layout("sampling.c", "sample"), layout("sampling.c", "queue_sample")
RECORD, COUNT = layout("recorder.c", "record"), layout("conversations.h", "counts")
#: Sequence numbers count from `una`.
PACKET = layout("recorder.c", "packet")
TOTAL, TRANSFER = layout("guest.h", "total"), layout("guest.h", "transfer")

#: Records, and packets, that the machine keeps until it is read: at each sample, and at the end
#: (recorder.c).
MOST_RECORDS = 1 << 19

#: `kind` of a record.
STATE, SLOW_START_EXIT, ESTABLISHED, COMPLETED = range(4)
#: enum tcp_ca_state
CWR, RECOVERY, LOSS = 2, 3, 4
#: `icsk_pending` → the timer; the others are of what a sender of data never waits for.
TIMERS = {1: "retransmission", 5: "loss_probe", 6: "reordering"}


def read(
    directory: Path, scenario: Scenario, base_ns: int, aqms: Sequence[bool]
) -> dict[str, pl.DataFrame]:
    """The tables of docs/tables.md, and `packets` if they were recorded."""

    def array(name: str, dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
        return np.fromfile(directory / f"{name}.bin", dtype)

    records = array("records", RECORD)
    check_complete(records, sampled=array("samples", SAMPLE).size > 0)
    records["time_ns"] -= _U64(base_ns)
    events = _events(records)
    totals, counts = array("flows", TOTAL), array("counts", COUNT)
    transfers = array("transfers", TRANSFER)
    flows = sum(flow.count for flow in scenario.flows)
    columns: dict[str, Mapping[str, Any]] = {
        "flows": _flows(totals[:flows], counts[:flows], events, all(aqms), array("end", QUEUE))
        | tables.added(scenario.flows),
        "samples": _columns(array("samples", SAMPLE)),
        "queues": _queues(array("queues", QUEUE), np.array(aqms)),
        "events": events,
        "sessions": _sessions(totals[flows:], counts[flows:], events, flows)
        | tables.added(scenario.sessions),
        "transfers": _columns(transfers) | {"session": transfers["session"] - _U64(flows)},
    }
    found = {name: tables.frame(name, of) for name, of in columns.items()}
    # Sessions have totals, as in the simulator, and flows have events.
    found["events"] = found["events"].filter(pl.col("flow") <= flows)
    packets = array("packets", PACKET)
    if len(packets):
        check_complete(packets, sampled=array("samples", SAMPLE).size > 0)
        packets["time_ns"] -= _U64(base_ns)
        sizes = [
            None if flow.size is None else units.payload(flow.size, flow.mss or scenario.mss)
            for flow in scenario.flows
            for _ in range(flow.count)
        ]
        found["packets"] = _packets(packets[packets["flow"] <= flows], sizes)
    return found


def of_links(directory: Path, kinds: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The tables of a run of programs, of which only that of the queues has rows."""
    aqms = np.array([kind != "drop_tail" for kind in kinds])
    rows = _queues(np.fromfile(directory / "queues.bin", QUEUE), aqms)
    return {
        table: tables.frame(table, rows if table == "queues" else {}) for table in tables.TABLES
    }


def _columns(raw: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The fields that are columns of a table, with times in us."""
    return {
        name.replace("_ns", "_us"): raw[name] // 1000 if name.endswith("_ns") else raw[name]
        for name in raw.dtype.names or ()
    }


def _queues(raw: np.ndarray[Any, Any], aqms: np.ndarray[Any, Any]) -> dict[str, Any]:
    early = raw["dropped_packets"] - raw["limit_dropped"]
    return _columns(raw) | {
        "enqueued_packets": raw["sent_packets"] + raw["queue_packets"],
        "early_dropped_packets": np.where(aqms[raw["queue"] - _U64(1)], early, _U64(0)),
    }


def check_complete(records: np.ndarray[Any, np.dtype[Any]], *, sampled: bool) -> None:
    """Raises `AckclockError` if the machine had no room for a record before it was read."""
    name = "lost_records" if "lost_records" in (records.dtype.names or ()) else "lost"
    lost = int(records[name].max(initial=0))
    if lost or (not sampled and len(records) == MOST_RECORDS):
        raise AckclockError(
            f"more than {MOST_RECORDS} ACKs and events came between two samples, and the machine "
            'lost the rest; sample more often, such as sample_interval = "100ms"'
        )


def _events(raw: np.ndarray[Any, Any]) -> dict[str, list[Any]]:
    """One row per change of a sender's state, as the kernel's tracepoints told it."""
    rows: list[tuple[int, int, str, int, int, int]] = []
    ssthreshs: dict[int, int] = {}
    for row in raw:
        flow, kind = int(row["flow"]), int(row["kind"])
        old, new = int(row["old_state"]), int(row["new_state"])
        cwnd, ssthresh = int(row["cwnd"]), int(row["ssthresh"])
        before = ssthreshs.get(flow, tables.INFINITE_SSTHRESH)
        if kind == ESTABLISHED:  # of a session, perhaps not the first one
            before = tables.INFINITE_SSTHRESH
        ssthreshs[flow] = ssthresh
        kinds = {
            ESTABLISHED: ["established"],
            COMPLETED: ["completed"],
            SLOW_START_EXIT: ["slow_start_exit"],
        }.get(kind, _changes(old, new, before, ssthresh))
        if "timeout" in kinds:  # here cwnd is reduced before the state changes
            cwnd = max(cwnd, int(row["prior_cwnd"]))
        time_us = int(row["time_ns"]) // 1000
        rows += [(time_us, flow, each, cwnd, ssthresh, int(row["in_flight"])) for each in kinds]
    names = ("time_us", "flow", "kind", "cwnd_packets", "ssthresh_packets", "in_flight_packets")
    return {name: [row[column] for row in rows] for column, name in enumerate(names)}


def _changes(old: int, new: int, before: int, after: int) -> list[str]:
    """What a change of tcp_ca_state is called; `before` and `after`: ssthresh."""
    kinds = []
    if old >= CWR and new < CWR and after > before:
        kinds.append("undo")
    if new == LOSS:
        kinds.append("timeout")
    elif new == RECOVERY and old != RECOVERY:
        kinds.append("recovery")
    if old >= CWR and (new < CWR or new == CWR):
        kinds.append("recovered")
    if new == CWR:
        kinds.append("cwr")
    return kinds


def _flows(
    raw: np.ndarray[Any, Any],
    counts: np.ndarray[Any, Any],
    events: Mapping[str, Sequence[Any]],
    aqm: bool,
    end: np.ndarray[Any, Any],
) -> dict[str, Any]:
    completed = {
        flow: time_us
        for flow, kind, time_us in zip(
            events["flow"], events["kind"], events["time_us"], strict=True
        )
        if kind == "completed"
    }
    zero = np.zeros(len(raw), _U64)
    # Which drops of an AQM were for want of room is known only of all flows together.
    early = counts["dropped"] if aqm and not end["limit_dropped"].any() else zero
    marks = ("link_lost_packets", "policed_packets", "marked_packets")
    return _columns(raw) | {
        "completed_us": [completed.get(int(flow), 0) for flow in raw["flow"]],
        "dropped_packets": _dropped(counts),
        "early_dropped_packets": early,
        "recoveries": _count(events, raw, "recovery"),
        "timeouts": _count(events, raw, "timeout"),
        "undos": _count(events, raw, "undo"),
        **{name: counts[name] for name in marks},
    }


def _count(events: Mapping[str, Sequence[Any]], raw: np.ndarray[Any, Any], kind: str) -> list[int]:
    """Events of a kind of each flow."""
    found = Counter(
        flow for flow, each in zip(events["flow"], events["kind"], strict=True) if each == kind
    )
    return [found[int(flow)] for flow in raw["flow"]]


def _dropped(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    lost = counts["link_lost_packets"] + counts["policed_packets"]
    total: np.ndarray[Any, Any] = counts["dropped"] + lost
    return total


def _sessions(
    raw: np.ndarray[Any, Any],
    counts: np.ndarray[Any, Any],
    events: Mapping[str, Sequence[Any]],
    flows: int,
) -> dict[str, Any]:
    """`raw` and `counts` are of the sessions; their numbers follow those of the flows."""
    return _columns(raw) | {
        "session": raw["flow"] - _U64(flows),
        "dropped_packets": _dropped(counts),
        "recoveries": _count(events, raw, "recovery"),
        "timeouts": _count(events, raw, "timeout"),
    }


def _packets(raw: np.ndarray[Any, Any], sizes: Sequence[int | None]) -> pl.DataFrame:
    """`sizes`: bytes of each flow; None: it has no end. A burst is as many rows as packets."""
    full = np.where(raw["segment"] > 0, raw["segment"], np.maximum(raw["bytes"], 1))
    counts = np.maximum(-(-raw["bytes"].astype(np.int64) // full), 1)
    rows = np.repeat(raw, counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    una = rows["una"].astype(np.int64)
    step = np.repeat(full, counts).astype(np.int64)
    is_ack = rows["bytes"] == 0
    # The FIN counts as a byte.
    ends = np.array([np.iinfo(np.int64).max if size is None else size for size in sizes])
    end = ends[rows["flow"] - 1]

    def bytes_of(relative: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.minimum(una + relative, end).astype(_U64)
        return found

    start = rows["from"].astype(np.int64)
    most = start + rows["bytes"]
    zero = np.zeros(len(rows), _U64)
    columns: dict[str, Any] = {
        "time_ns": rows["time_ns"],
        "flow": rows["flow"],
        "kind": is_ack.astype(_U8),
        "from_bytes": np.where(is_ack, zero, bytes_of(start + place * step)),
        "to_bytes": np.where(is_ack, zero, bytes_of(np.minimum(start + (place + 1) * step, most))),
        "ack_bytes": np.where(is_ack, bytes_of(start), zero),
    }
    for block in range(MOST_SACKS):
        there = rows["blocks"] > block
        for name, at in (("from", 0), ("to", 1)):
            known = np.where(there, bytes_of(rows["sacks"][:, block, at]), zero)
            columns[f"sack_{block + 1}_{name}_bytes"] = known
    armed = np.isin(rows["timer"], [*TIMERS])
    columns |= {
        "una_bytes": bytes_of(np.zeros(len(rows), np.int64)),
        "nxt_bytes": bytes_of(rows["nxt"].astype(np.int64)),
        "cwnd_packets": rows["cwnd"],
        "ssthresh_packets": rows["ssthresh"],
        "srtt_us": rows["srtt_us"],
        "in_flight_packets": rows["in_flight"],
        "rto_us": rows["rto_us"],
        "timer": [TIMERS.get(code, "none") for code in rows["timer"].tolist()],
        "timer_us": np.where(armed, np.maximum(rows["timer_us"], 0), 0),
        "state": rows["state"],
    }
    return tables.frame("packets", columns)
