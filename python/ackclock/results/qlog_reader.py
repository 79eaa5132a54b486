"""A sender's qlog as tables: samples and events, as far as it tells them.

Reads qlog from draft-00 on, in JSON, as JSON text sequences and with an object a line. Times count
from the start of the run, or from the first event if that is later than the run is long. A log of
any stack has its windows in `recovery:metrics_updated` (`quic:recovery_metrics_updated`; in drafts
also `metric_update` and `congestion_metric_update`); one of ours has in the member `ackclock` the
rest of our tables. Until draft-02 an event is an array, and `event_fields` names its members.
"""

import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.results import tables
from ackclock.results.qlog import INFINITE, OF_EVENT
from ackclock.results.result import Result, versions

#: A longer file is not read, bytes.
MOST_BYTES = 1 << 30
SUFFIXES = (".qlog", ".sqlog")
#: To draw a log: a clock that is later began before it (a day); packets of unknown length (RFC
#: 9000, section 14); samples.
DAY_US, LEAST_BYTES, SAMPLES = 86_400 * 10**6, 1200, 1000
#: Member of `metrics_updated` → column; those of windows are bytes, those of times ms.
WINDOWS = {
    "cwnd": "cwnd_packets",
    "current_cwnd": "cwnd_packets",
    "congestion_window": "cwnd_packets",
    "ssthresh": "ssthresh_packets",
    "bytes_in_flight": "in_flight_packets",
}
TIMES = {"smoothed_rtt": "srtt_us", "min_rtt": "min_rtt_us"}
#: Columns of our own logs.
OURS = ("delivered_bytes", "retransmitted_packets")
#: Events that the states of a log of others tell.
OF_STATES = frozenset({"slow_start_exit", "recovered", "timeout"})
#: Those that a log of ours has.
OF_OURS = OF_STATES | {"established", "recovery", "undo", "cwr"}
#: Names of an event's members in `event_fields` → ours.
FIELDS = {
    **dict.fromkeys(("relative_time", "delta_time"), "time"),
    **dict.fromkeys(("event", "event_type"), "name"),
}
#: Names in a log of ours.
STATES: list[str] = [*tables.schema("samples")["state"].categories]
KINDS: list[str] = [*tables.schema("events")["kind"].categories]
INITIAL_RTT_S = 0.333
#: A log with later times is no log of a transfer, ms; and what its other numbers are below.
MOST_MS, MOST = 1e14, 1e20
#: Length of a packet that was sent: members of its data.
LENGTHS = (("raw", "length"), ("header", "packet_size"), ("header", "length"), ("packet_size",))

Row = dict[str, Any]


@dataclass
class Trace:
    """A flow, event after event."""

    mss_bytes: int
    #: The ms of a unit of its RTTs.
    rtt_unit: float = 1.0
    #: What is known, and each time at which that changed.
    now: Row = field(default_factory=dict)
    times_us: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    #: Bytes of its packets, and those that were not in flight nor lost at each time of `rows`.
    sent_bytes: int = 0
    acked_bytes: list[int] = field(default_factory=list)
    #: Losses since the last reduction, and whether they are persistent congestion.
    is_losing: bool = False
    is_persistent: bool = False
    #: What the log has.
    is_ours: bool = False
    is_quic: bool = True
    has_losses: bool = False
    has_states: bool = False
    has_cuts: bool = False
    #: The newest state that is one of congestion control.
    state: str = ""
    end_us: int = 0

    def take(self, time_us: int, name: str, data: Row) -> None:
        """An event of the log; raises `ValueError` that says what is wrong in it."""
        self.end_us = time_us
        if not isinstance(data, dict) or not isinstance(data.get("ackclock", {}), dict):
            shown = f"{json.dumps(data):.60}"
            raise ValueError(f"data = {shown}: write an object")  # noqa: TRY004 (of the file)
        match _kind(name):
            case "metrics_updated" | "metric_update" | "congestion_metric_update":
                self._metrics(time_us, data)
            case "packet_lost" | "packets_lost":
                ours = {"packets": data.get("lost_packets", 1)} | data.get("ackclock", {})
                packets = round(_number(ours, "packets", INFINITE))
                lost = self.now.get("lost_packets", 0) + packets
                self.now["lost_packets"] = lost
                self.is_losing = self.has_losses = True
                self._keep(time_us)
            case "congestion_state_updated":
                self._state(time_us, data)
            case "packet_sent":
                self.sent_bytes += _length(data) or 0

    def _metrics(self, time_us: int, data: Row) -> None:
        before = dict(self.now)
        for member, column in WINDOWS.items():
            if member in data:
                packets = int(_number(data, member) / self.mss_bytes)
                self.now[column] = min(packets, INFINITE)
        for member, column in TIMES.items():
            # A longer one is not measured yet.
            if member in data and (us := _number(data, member) * self.rtt_unit * 1e3) < INFINITE:
                self.now[column] = round(us)
        ours = data.get("ackclock", {})
        self.now |= {key: round(_number(ours, key, 1 << 53)) for key in OURS if key in ours}
        if "ca_state" in ours:
            self.now["state"] = _name(ours, "ca_state", STATES)
        if self.now.get("cwnd_packets", 0) < before.get("cwnd_packets", 0):
            self.has_cuts = True
            if self.is_losing and not self.is_ours:
                self._event(time_us, "timeout" if self.is_persistent else "recovery", before)
                self.is_losing = self.is_persistent = False
        self._keep(time_us)

    def _state(self, time_us: int, data: Row) -> None:
        self.has_states = True
        if "event" in (ours := data.get("ackclock", {})):
            self.is_ours = True
            own = {key: round(_number(ours, key, INFINITE)) for key in OF_EVENT if key in ours}
            kind = _name(ours, "event", KINDS)
            self.events.append({"time_us": time_us, "kind": kind} | own)
            return
        old, new = str(data.get("old", self.state)), str(data.get("new", ""))
        self.is_persistent |= "persistent_congestion" in (data.get("trigger"), new)
        if new == "application_limited":
            return
        old = self.state if old == "application_limited" else old
        self.state = new
        if (old, new) == ("slow_start", "congestion_avoidance"):
            self._event(time_us, "slow_start_exit", self.now)
        elif old.startswith("recovery") and not new.startswith("recovery"):
            self._event(time_us, "recovered", self.now)

    def _event(self, time_us: int, kind: str, before: Row) -> None:
        """With the window before it and the threshold after it."""
        row = {"time_us": time_us, "kind": kind} | {key: before.get(key) for key in OF_EVENT}
        row["ssthresh_packets"] = self.now.get("ssthresh_packets", INFINITE)
        self.events.append(row)

    def _keep(self, time_us: int) -> None:
        self.times_us.append(time_us)
        self.rows.append(dict(self.now))
        gone = self.now.get("in_flight_packets", 0) + self.now.get("lost_packets", 0)
        self.acked_bytes.append(max(0, self.sent_bytes - gone * self.mss_bytes))

    def kinds(self) -> frozenset[str]:
        """The kinds of events that it tells."""
        if self.is_ours:
            return OF_OURS
        reductions = {"recovery"} if self.has_losses or not self.has_cuts else set()
        return frozenset(reductions) | (OF_STATES if self.has_states else frozenset())

    def places(self, times_us: list[int]) -> list[int]:
        """The rows of these times, of those in which something was known."""
        return [place - 1 for at in times_us if (place := bisect_right(self.times_us, at))]

    def samples(self, times_us: list[int]) -> Iterator[Row]:
        """What was known at these times."""
        known = [time_us for time_us in times_us if time_us >= self.times_us[0]]
        for time_us, place in zip(known, self.places(known), strict=True):
            yield {"time_us": time_us} | self.rows[place]


@dataclass(frozen=True)
class Log:
    """What a file tells of its flows: trace 1 is flow 1."""

    samples: pl.DataFrame
    events: pl.DataFrame
    #: The kinds of events that all its traces tell.
    kinds: frozenset[str]
    #: Whether it is of a QUIC stack in a run of ours.
    is_guest: bool


def read(path: Path, *, mss_bytes: int, duration_us: int, interval_us: int, rtt_us: int) -> Log:
    """Reads the log of a path on which a run takes so long, with samples of this interval.

    Windows are packets of `mss_bytes`, or of the log's own `max_datagram_size`, or of the length
    that most packets have. A connection without windows is left out.
    Raises `AckclockError` that names file, event and fix.
    """
    traces = read_traces(path, mss_bytes=mss_bytes, duration_us=duration_us, rtt_us=rtt_us)
    end_us = min(trace.end_us for trace in traces)
    if end_us < 0.95 * duration_us:
        raise AckclockError(
            f"{path}: ends after {end_us / 1e6:g} s, and the case takes {duration_us / 1e6:g} s; "
            "send for that time"
        )
    grid = range(0, duration_us + 1, interval_us) if interval_us else range(0)
    samples: list[Row] = []
    events: list[Row] = []
    for flow, trace in enumerate(traces, 1):
        times_us = sorted([*grid, *(event["time_us"] for event in trace.events)])
        samples += [{"flow": flow} | row for row in trace.samples(times_us)]
        events += [{"flow": flow} | row for row in trace.events]
    told = {column for row in samples for column in row} | {"kind"}
    kinds = frozenset.intersection(*(trace.kinds() for trace in traces))
    first = traces[0]
    return Log(
        _table("samples", samples, told),
        _table("events", events, told),
        kinds,
        first.is_quic and first.is_ours,
    )


def read_traces(path: Path, *, mss_bytes: int, duration_us: int, rtt_us: int) -> list[Trace]:
    """The connections of a log that tell a window, as far as a run takes so long; as `read`."""
    traces: list[Trace] = []
    for head, logged in _connections(path):
        unit = _unit(path, head)
        common = _common(head)
        is_quic = "TCP" not in str(common.get("protocol_type"))
        rtt_unit = unit * (1000 if _has_seconds(logged, rtt_us / 1000 / unit) else 1)
        trace = Trace(_packet_bytes(logged) or mss_bytes, rtt_unit, is_quic=is_quic)
        for where, time_us, event in _ordered(path, head, unit, logged, duration_us):
            if time_us > duration_us:
                trace.end_us = time_us
                continue
            try:
                trace.take(time_us, event["name"], event["data"])
            except ValueError as error:
                raise AckclockError(f"{path}: {where}: {error}") from None
        if "cwnd_packets" in trace.now:
            traces.append(trace)
    if not traces:
        raise AckclockError(
            f"{path}: has no recovery:metrics_updated with a congestion_window; write the log at "
            "the sender of the data"
        )
    return traces


def as_result(path: Path) -> Result:
    """A log as a result, to draw it: a flow for each connection, with windows, RTT and events.

    The bytes that arrived are those of its packets that are neither in flight nor lost, 0 if the
    log tells no packets. Raises `AckclockError` that names file, event and fix.
    """
    traces = read_traces(path, mss_bytes=LEAST_BYTES, duration_us=DAY_US, rtt_us=0)
    end_us = max(trace.end_us for trace in traces)
    if not end_us:
        raise AckclockError(f"{path}: has one time; write the log of a transfer")
    interval_us = max(1, end_us // SAMPLES)
    rows: dict[str, list[dict[str, Any]]] = {"flows": [], "samples": [], "events": []}
    for flow, trace in enumerate(traces, 1):
        samples = [{"flow": flow} | row for row in _samples(trace, interval_us)]
        rows["samples"] += samples
        rows["events"] += [{"flow": flow} | event for event in trace.events]
        last = samples[-1]
        kinds = [event["kind"] for event in trace.events]
        rows["flows"].append(
            {
                "flow": flow,
                "start_us": trace.times_us[0],
                "delivered_bytes": last["delivered_bytes"],
                "common_bytes": last["delivered_bytes"],
                "recoveries": kinds.count("recovery"),
                "timeouts": kinds.count("timeout"),
                "min_rtt_us": last.get("min_rtt_us", 0),
                "algorithm": path.stem,
            }
        )
    frames = {
        table: tables.frame(table, _columns(table, rows.get(table, []))) for table in tables.TABLES
    }
    manifest = {
        **versions(),
        "backend": "qlog",
        "trace_hash": None,
        "packets": 0,
        "wall_time_s": end_us / 1e6,
        "scenario": {},
        "resolved": {
            "duration_ns": 1000 * end_us,
            "mss_bytes": traces[0].mss_bytes,
            "header_bytes": 0,
            "sample_interval_ns": 1000 * interval_us,
            "flows": [
                {
                    "algorithm": path.stem,
                    "rtt_ns": 1000 * row["min_rtt_us"],
                    "mss_bytes": trace.mss_bytes,
                }
                for row, trace in zip(rows["flows"], traces, strict=True)
            ],
            "sessions": [],
        },
        "algorithms": {path.stem: {"name": path.stem}},
    }
    return Result(**frames, manifest=manifest)


def _samples(trace: Trace, interval_us: int) -> list[dict[str, Any]]:
    acked = [*accumulate(trace.acked_bytes, max)]
    times_us = range(0, trace.end_us + 1, interval_us)
    found = []
    for row, at in zip(trace.samples([*times_us]), trace.places([*times_us]), strict=True):
        packets = acked[at] // trace.mss_bytes
        found.append({"delivered_bytes": acked[at], "delivered_packets": packets} | row)
    return found


def _columns(table: str, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The columns of a table; what a log does not tell is 0, or the first of the names."""
    ordered = sorted(rows, key=lambda row: row.get("time_us", 0))
    return (
        {name: [row.get(name, 0) for row in ordered] for name in tables.schema(table)}
        if rows
        else {}
    )


def _table(name: str, rows: list[Row], told: set[str]) -> pl.DataFrame:
    """The rows by time, with those columns of the table that the log tells; names as text."""
    types = {
        column: pl.String if isinstance(kind, pl.Enum) else kind
        for column, kind in tables.schema(name).items()
        if column in told
    }
    if "ssthresh_packets" in types:
        rows = [{"ssthresh_packets": INFINITE} | row for row in rows]
    made = pl.DataFrame({key: [row.get(key) for row in rows] for key in types}, schema=types)
    return made.sort("time_us", maintain_order=True)


def _kind(name: Any) -> str:
    """An event's name without what it belongs to."""
    return str(name).lower().rpartition(":")[2].removeprefix("recovery_")


def _common(head: Row) -> Row:
    common = head.get("common_fields")
    return common if isinstance(common, dict) else {}


def _unit(path: Path, head: Row) -> float:
    """The ms of a unit of its times: until draft-02 a log may count µs."""
    configuration = head.get("configuration")
    units = configuration.get("time_units", "ms") if isinstance(configuration, dict) else "ms"
    if units not in ("ms", "us"):
        raise AckclockError(f'{path}: time_units = {json.dumps(units)}: choose "ms" or "us"')
    return 1.0 if units == "ms" else 1e-3


def _packet_bytes(events: list[tuple[str, Row]]) -> int | None:
    """The size of a full packet: what the log says last, or that of most packets that it sent."""
    said, sizes = None, Counter[int]()
    for _, event in events:
        data = event.get("data")
        if not isinstance(data, dict):
            continue
        match _kind(event.get("name")):
            case "parameters_set":
                value = data.get("max_datagram_size")
                said = value if _is_size(value) else said
            case "packet_sent":
                if size := _length(data):
                    sizes[size] += 1
    return said or next((size for size, _ in sizes.most_common(1)), None)


def _has_seconds(events: list[tuple[str, Row]], rtt: float) -> bool:
    """Whether its RTTs are in s, as those of quinn: most are then far below that of the path.

    Or the first one is RFC 9002's initial RTT of 0.333 s.
    """
    known = [event.get("data") for _, event in events]
    of = (each.get("smoothed_rtt") for each in known if isinstance(each, dict))
    rtts = [each for each in of if isinstance(each, (int, float)) and each < MOST]
    return bool(rtts) and (rtts[0] == INITIAL_RTT_S or median(rtts) < rtt / 20)


def _length(data: Row) -> int | None:
    """The bytes of a packet that was sent."""
    for members in LENGTHS:
        value: Any = data
        for member in members:
            value = value.get(member) if isinstance(value, dict) else None
        if _is_size(value):
            return int(value)
    return None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and 0 < value <= INFINITE


def _ordered(
    path: Path, head: Row, unit: float, events: list[tuple[str, Row]], duration_us: int
) -> Iterator[tuple[str, int, Row]]:
    """The events of a connection in order: place, us."""
    is_delta = _common(head).get("time_format") in ("delta", "relative_to_previous_event")
    is_delta |= "delta_time" in _list(head.get("event_fields"))
    timed, sum_ms = [], 0.0
    for where, event in events:
        missing = [key for key in ("time", "name", "data") if key not in event]
        if missing:
            raise AckclockError(
                f"{path}: {where}: has no {missing[0]}; an event has time, name and data"
            )
        try:
            time_ms = _number(event, "time", MOST_MS) * unit
        except ValueError as error:
            raise AckclockError(f"{path}: {where}: {error}") from None
        sum_ms = min(sum_ms + time_ms, MOST_MS) if is_delta else time_ms
        timed.append((sum_ms, where, event))
    timed.sort(key=lambda each: each[0])
    # A clock that does not begin with the run.
    zero_ms = timed[0][0] if timed and timed[0][0] * 1e3 > duration_us else 0.0
    for time_ms, where, event in timed:
        yield where, round((time_ms - zero_ms) * 1e3), event


def _connections(path: Path) -> Iterator[tuple[Row, list[tuple[str, Row]]]]:
    """The traces. One whose events name several groups in turn has a connection each.

    A group that follows another is the same connection with a new ID, as after a handshake.
    """
    for head, events in _traces(path):
        groups: dict[str, list[tuple[str, Row]]] = {}
        turns = [each for each, _ in groupby(str(event.get("group_id")) for _, event in events)]
        if len(turns) == len(set(turns)):
            yield head, events
            continue
        for where, event in events:
            groups.setdefault(str(event.get("group_id")), []).append((where, event))
        for group in groups.values():
            yield head, group


def _traces(path: Path) -> Iterator[tuple[Row, list[tuple[str, Row]]]]:
    """The head of each trace, and its events with their places."""
    text = _text(path)
    is_sequence = text.startswith("\x1e")
    try:
        whole = None if is_sequence else _parsed(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise AckclockError(f"{path}: line {error.lineno}: {_NO_JSON} ({error.msg})") from None
        is_sequence, whole = True, None
    if is_sequence and (records := list(_records(path, text))):
        head = records[0][1].get("trace", records[0][1])
        yield head if isinstance(head, dict) else {}, records[1:]
        return
    traces = whole.get("traces") if isinstance(whole, dict) else None
    if not isinstance(traces, list):
        raise AckclockError(f"{path}: has no list of traces; {_LIKE}")
    for number, trace in enumerate(traces, 1):
        events = trace.get("events") if isinstance(trace, dict) else None
        if not isinstance(events, list):
            raise AckclockError(f"{path}: trace {number}: has no list of events; {_LIKE}")
        yield trace, list(_objects(path, f"trace {number}", trace, events))


def _objects(path: Path, where: str, trace: Row, events: list[Any]) -> Iterator[tuple[str, Row]]:
    """The events of a trace, also where they are arrays, whose members `event_fields` names."""
    named = map(str.lower, map(str, _list(trace.get("event_fields"))))
    names = [FIELDS.get(name, name) for name in named]
    for at, event in enumerate(events, 1):
        if names and event == []:
            continue  # as converters end a list
        made = event
        if names and isinstance(event, list) and len(event) == len(names):
            made = dict(zip(names, event, strict=True))
        if not isinstance(made, dict):
            raise AckclockError(f"{path}: {where}: event {at}: is no object; {_LIKE}")
        yield f"{where}: event {at}", made


_LIKE = "write qlog"
_NO_JSON = f"is no JSON; {_LIKE}, in JSON or as JSON-SEQ"


def _parsed(text: str) -> Any:
    """What a JSON text says; raises `json.JSONDecodeError` alone."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("too deep", text, 0) from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # of a whole number's digits
        raise json.JSONDecodeError("a number is too long", text, 0) from None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _records(path: Path, text: str) -> Iterator[tuple[str, Row]]:
    """The objects of a JSON text sequence, or of one in each line; the last one may be cut."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        record = line.strip("\x1e \r\t")
        if not record:
            continue
        try:
            found = _parsed(record)
        except json.JSONDecodeError as error:
            if number == len(lines) > 2:
                return
            raise AckclockError(f"{path}: line {number}: {_NO_JSON} ({error.msg})") from None
        if not isinstance(found, dict):
            raise AckclockError(f"{path}: line {number}: is no object; {_LIKE}")
        yield f"line {number}", found


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            reason = "is a directory" if path.is_dir() else "no such file"
            raise AckclockError(f"{path}: {reason}; give a qlog")
        if path.stat().st_size > MOST_BYTES:
            raise AckclockError(f"{path}: has more than 1 GiB; write a shorter log")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise AckclockError(f"{path}: is no text; {_LIKE}, in JSON or as JSON-SEQ") from None
    except OSError as error:
        raise AckclockError(f"{path}: cannot be read ({error.strerror or error})") from None


def _number(data: Row, key: str, most: float = MOST) -> float:
    """A number from 0; JSON may have a large one as text."""
    value = data[key]
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= most:
        raise ValueError(f"{key} = {json.dumps(value):.60}: write a number from 0 to {most:g}")
    return number


def _name(data: Row, key: str, names: list[str]) -> str:
    """One of the names."""
    if (value := data[key]) not in names:
        shown = f"{json.dumps(value):.60}"
        raise ValueError(f"ackclock.{key} = {shown}: choose from {', '.join(names)}")
    return str(value)
