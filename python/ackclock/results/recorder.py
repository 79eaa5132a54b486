"""The tables of a run from readings of live connections: `ackclock shell` and `watch --record`.

A flow is a socket that has sent data; a connection with data both ways has two. What happens
between two readings is seen at the later one, and what happens and ends between them is not.
"""

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock.results import tables
from ackclock.results.connections import CA_STATES, Connection
from ackclock.results.result import Result, versions, with_own
from ackclock.scenario.scenario import KERNEL

#: Seconds between two readings.
EVERY_S = 0.01
CWR, RECOVERY, LOSS = (CA_STATES.index(name) for name in ("cwr", "recovery", "loss"))
#: A socket before it sends.
_NEW = Connection("", 0, "", 0, "", None)


@dataclass
class Recorded:
    """A flow."""

    number: int
    direction: str
    first: Connection
    start_us: int
    last: Connection
    completed_us: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def counted(self, name: str, of: Connection | None = None) -> int:
        """A counter of the socket since the first reading."""
        now: int | None = getattr(of or self.last, name)
        return (now or 0) - (getattr(self.first, name) or 0)


class Recorder:
    """Collects readings; `interval_us` is the time between two rows of the samples."""

    def __init__(self, interval_us: int) -> None:
        """Begins with no connection."""
        self.flows: list[Recorded] = []
        self._by_cookie: dict[int, Recorded] = {}
        self._interval_us = interval_us
        self._next_us = interval_us
        #: When the last reading was; None before the first.
        self._last_us: int | None = None
        self._samples: list[tuple[Any, ...]] = []
        self._events: list[tuple[Any, ...]] = []

    def take_readings(self, time_us: int, readings: dict[str, Sequence[Connection]]) -> None:
        """Takes a reading: the connections of each direction ("forward", "reverse")."""
        while self._next_us <= time_us and self._interval_us:
            for flow in self._open():
                self._sample(self._next_us, flow)
            self._next_us += self._interval_us
        for direction, connections in readings.items():
            for connection in connections:
                self._take(time_us, direction, connection)
        there = {each.cookie for connections in readings.values() for each in connections}
        for flow in self._open():
            if flow.last.cookie not in there:
                self._end(time_us, flow)
        self._last_us = time_us

    def ended(self, time_us: int, direction: str, connections: Iterable[Connection]) -> None:
        """Takes sockets as they were at their end."""
        for connection in connections:
            self._take(time_us, direction, connection)
            flow = self._by_cookie.get(connection.cookie)
            if flow and not flow.completed_us:
                self._end(time_us, flow)

    def _open(self) -> list[Recorded]:
        return [flow for flow in self.flows if not flow.completed_us]

    def _take(self, time_us: int, direction: str, now: Connection) -> None:
        flow = self._by_cookie.get(now.cookie)
        if flow is None:
            if not now.sent_packets:
                return
            first, start_us = now, time_us
            if self._last_us is not None:  # it began since then, with all its counters at 0
                first, start_us = replace(_NEW, cookie=now.cookie), self._last_us
            flow = Recorded(len(self.flows) + 1, direction, first, start_us, now)
            self.flows.append(flow)
            self._by_cookie[now.cookie] = flow
            self._event(time_us, flow, "established", now)
            return
        before = flow.last
        flow.last = replace(now, algorithm=now.algorithm or before.algorithm)
        if flow.completed_us:
            return
        for kind in changes(before, now):
            self._event(time_us, flow, kind, before)

    def _end(self, time_us: int, flow: Recorded) -> None:
        flow.completed_us = max(time_us, flow.start_us + 1)
        self._event(time_us, flow, "completed", flow.last)

    def _event(self, time_us: int, flow: Recorded, kind: str, before: Connection) -> None:
        flow.counts[kind] = flow.counts.get(kind, 0) + 1
        self._events.append((
            time_us, flow.number, kind, before.cwnd_packets or 0, _ssthresh(flow.last),
            before.in_flight_packets or 0,
        ))  # fmt: skip
        if self._interval_us:
            self._sample(time_us, flow)

    def _sample(self, time_us: int, flow: Recorded) -> None:
        now = flow.last
        lost = max((now.lost_packets or 0) - (now.resent_packets or 0), 0)
        self._samples.append((
            time_us, flow.number, now.cwnd_packets or 0, _ssthresh(now), now.srtt_us or 0,
            now.min_rtt_us or 0, now.in_flight_packets or 0, flow.counted("delivered_packets"),
            flow.counted("acked_bytes"), flow.counted("retransmitted_packets") + lost,
            flow.counted("retransmitted_packets"), now.ca_state or CA_STATES[0],
        ))  # fmt: skip

    def connections(self, before: int = 0) -> list[dict[str, Any]]:
        """The two ends of each flow, for a manifest; so many other flows stand before them."""
        return [
            {
                "flow": before + each.number,
                "from": f"{each.last.local}:{each.last.local_port}",
                "to": f"{each.last.remote}:{each.last.remote_port}",
            }
            for each in self.flows
        ]

    def result(self, end_us: int) -> Result:
        """The result of a machine that was watched so long; it knows nothing of links."""
        specs = [KERNEL + (flow.last.algorithm or "unknown") for flow in self.flows]
        rows = self.frames(specs, lambda _: {})
        made = {table: tables.frame(table, rows.get(table, {})) for table in tables.TABLES}
        mss_bytes = max((flow.last.mss_bytes or 0 for flow in self.flows), default=0)
        flows = [
            {"algorithm": spec, "direction": flow.direction}
            | {"rtt_ns": 1000 * (flow.last.min_rtt_us or 0)}
            | ({"mss_bytes": flow.last.mss_bytes} if flow.last.mss_bytes else {})
            | ({"size_bytes": flow.counted("acked_bytes")} if flow.completed_us else {})
            for spec, flow in zip(specs, self.flows, strict=True)
        ]
        manifest = {
            **versions(),
            "backend": "watch",
            "kernel": platform.release(),
            "trace_hash": None,
            "packets": int(made["flows"]["sent_packets"].sum()),
            "wall_time_s": end_us / 1e6,
            "scenario": {},
            "resolved": {
                "duration_ns": 1000 * end_us,
                "mss_bytes": mss_bytes,
                "header_bytes": 52,
                "sample_interval_ns": 1000 * self._interval_us,
                "flows": flows,
                "sessions": [],
            },
            "algorithms": with_own({}, set(specs)),
            "connections": self.connections(),
        }
        return Result(**made, manifest=manifest)

    @property
    def min_rtt_us(self) -> int:
        """The smallest RTT that a socket measured; 0 if none did."""
        return min((flow.last.min_rtt_us for flow in self.flows if flow.last.min_rtt_us), default=0)

    def frames(
        self, algorithms: Sequence[str], tallies: Callable[[Recorded], dict[str, int]]
    ) -> dict[str, Any]:
        """The tables that have rows: flows, samples and events.

        `algorithms` has that of each flow, `tallies` says what queues did to a flow's packets.
        """
        from_us = max((flow.start_us for flow in self.flows if not flow.completed_us), default=0)
        before: dict[int, int] = {}
        for time_us, number, *rest in self._samples:
            if time_us <= from_us:
                before[number] = rest[6]
        rows = [
            {
                "flow": flow.number,
                "start_us": flow.start_us,
                "completed_us": flow.completed_us,
                "delivered_bytes": flow.counted("acked_bytes"),
                "common_bytes": flow.counted("acked_bytes") - before.get(flow.number, 0),
                "sent_packets": flow.counted("sent_packets"),
                "retransmitted_packets": flow.counted("retransmitted_packets"),
                **tallies(flow),
                "recoveries": flow.counts.get("recovery", 0),
                "timeouts": flow.counts.get("timeout", 0),
                "undos": flow.counts.get("undo", 0),
                "min_rtt_us": flow.last.min_rtt_us or 0,
                "receive_window_limited_us": flow.counted("receive_window_limited_us"),
                "send_buffer_limited_us": flow.counted("send_buffer_limited_us"),
                "direction": flow.direction,
                "algorithm": algorithm,
            }
            for flow, algorithm in zip(self.flows, algorithms, strict=True)
        ]
        return {
            "flows": {name: [row.get(name, 0) for row in rows] for name in tables.schema("flows")},
            "samples": _columns("samples", self._samples),
            "events": _columns("events", self._events),
        }


def changes(before: Connection, after: Connection) -> list[str]:
    """The events between two readings, as `changes` of crates/linux/src/testbed/endpoint.rs."""
    was, now = (CA_STATES.index(each.ca_state or CA_STATES[0]) for each in (before, after))
    old, new = _ssthresh(before), _ssthresh(after)
    timed_out = now == LOSS and (
        was != LOSS or (after.timeouts_in_row or 0) > (before.timeouts_in_row or 0)
    )
    marked = now == CWR and (was != CWR or new < old)
    found = {
        "slow_start_exit": old >= tables.INFINITE_SSTHRESH > new and was < CWR and now < CWR,
        "undo": old < new and was >= CWR,
        "timeout": timed_out,
        "recovery": now == RECOVERY != was,
        "recovered": was >= CWR and (now < CWR or marked),
        "cwr": marked,
    }
    return [kind for kind, happened in found.items() if happened]


def _ssthresh(of: Connection) -> int:
    return tables.INFINITE_SSTHRESH if of.ssthresh_packets is None else of.ssthresh_packets


def _columns(table: str, rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    names = tables.schema(table)
    ordered = sorted(rows, key=lambda row: row[0])
    return {name: [row[at] for row in ordered] for at, name in enumerate(names)}
