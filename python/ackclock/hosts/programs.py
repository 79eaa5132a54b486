"""What a scenario's link did to the connections of any programs, in real or in virtual time."""

import json
import shlex
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.results import tables
from ackclock.results.recorder import Recorded, Recorder
from ackclock.results.result import Result, result_of, with_own
from ackclock.scenario.scenario import KERNEL, Scenario

#: Seconds that connections have to close when the command has ended, beside the RTT.
CLOSES_S = 0.5


@dataclass(frozen=True)
class Ran:
    """What comes of a shell."""

    result: Result
    #: Exit status of the command, as a shell tells it: 128 and more for a signal.
    status: int


def words_of(line: str, of: str = "--listen ") -> list[str]:
    """The words of a command line, which `of` names. Raises `AckclockError`."""
    try:
        found = shlex.split(line)
    except ValueError as error:
        raise AckclockError(f"{of}{line}: {error}") from None
    if not found:
        raise AckclockError(f'{of}"": write a command line, such as "iperf3 -s"')
    return found


def result(
    scenario: Scenario,
    resolved: str,
    raw: dict[str, Any],
    recorder: Recorder,
    begin: Mapping[str, tuple[str, str]],
    about: Mapping[str, Any],
    like: Mapping[str, Any] | None = None,
) -> Result:
    """The result of the connections, as one of a scenario with a flow for each.

    `raw` has the tables of the links, and `conversations`: whether the server sent, protocol, own
    and other port, and what happened to the packets with data. `begin`: with which algorithm the
    sockets of each direction begin, as a spec and as the kernel names it. `about` is what the
    manifest tells of the host. `like`: a flow in canonical form with their path; their flows then
    follow those of the scenario, which `raw` has (default: they stand in the place of its flow).
    """
    specs = []
    for each in recorder.flows:
        spec, name = begin[each.direction]
        named = each.last.algorithm
        specs.append(spec if named in (name, None) else KERNEL + named)
    tallies: dict[tuple[bool, int, int], dict[str, int]] = {
        (from_server, own, other): tally
        for from_server, protocol, own, other, tally in raw["conversations"]
        if protocol == socket.IPPROTO_TCP
    }

    def tally(of: Recorded) -> dict[str, int]:
        key = (of.direction == "reverse", of.last.local_port, of.last.remote_port)
        return tallies.get(key, {})

    own: dict[str, Any] = json.loads(resolved)
    own["duration_ns"] = raw.get("duration_ns", own["duration_ns"])
    rows = recorder.frames(specs, tally)
    before = [] if like is None else own["flows"]
    like = own["flows"][0] if like is None else like
    own["flows"] = before + [
        {**like, "algorithm": spec, "size_bytes": size if completed else None, "stop_ns": None}
        for spec, size, completed in zip(
            specs, rows["flows"]["delivered_bytes"], rows["flows"]["completed_us"], strict=True
        )
    ]
    code = with_own(raw["algorithms"], {*specs, *(spec for spec, _ in begin.values())})
    if before:
        rows = {
            table: pl.concat([raw[table], _after(tables.frame(table, of), len(before))])
            for table, of in rows.items()
        }
    made = result_of(scenario, json.dumps(own), code, raw, rows)
    notes = [*_notes(scenario, raw, made.flows)]
    manifest = made.manifest | dict(about)
    if certificate := raw.get("certificate"):  # of real time
        manifest["certificate"] = certificate | {"notes": [*certificate["notes"], *notes]}
    written = dict(scenario.given)
    if "duration_ns" in raw:  # it ended with its command
        written["duration"] = f"{raw['duration_ns'] / 1e9:.6f}s"
    manifest |= {
        "notes": notes,
        "scenario": written,
        "packets": int(made.flows["sent_packets"].sum()),
        "connections": recorder.connections(len(before)),
        "udp": [*_udp(raw)],
    }
    return Result(**{table: getattr(made, table) for table in tables.TABLES}, manifest=manifest)


def _after(rows: pl.DataFrame, flows: int) -> pl.DataFrame:
    """The same of flows that follow so many."""
    return rows.with_columns((pl.col("flow") + flows).cast(rows.schema["flow"]))


def _udp(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What became of the datagrams from one port to another; None: not counted, in real time."""
    unknown = {"sent_packets": None, "arrived_bytes": None}
    for from_server, protocol, own, other, tally in raw["conversations"]:
        if protocol == socket.IPPROTO_UDP:
            ends = ("server", "client") if from_server else ("client", "server")
            names = {"from": f"{ends[0]}:{own}", "to": f"{ends[1]}:{other}"}
            yield names | unknown | tally


def _notes(scenario: Scenario, raw: dict[str, Any], flows: pl.DataFrame) -> Iterator[str]:
    """What the tables do not show: UDP, and data from the server that passed no link."""
    udp = [each for each in raw["conversations"] if each[1] == socket.IPPROTO_UDP]
    if udp:
        dropped = sum(tally["dropped_packets"] for *_, tally in udp)
        yield f"UDP, as of QUIC, is no flow of the tables: links dropped {dropped} packets of it"
    if not scenario.flows:  # programs have a link in each direction
        return
    has_link = any(flow.direction == "reverse" or flow.back for flow in scenario.flows)
    came = flows.filter(pl.col("direction") == "reverse")["delivered_bytes"].sum()
    if not has_link and 2 * came > flows["delivered_bytes"].sum():
        yield (
            "most data came from the server, on whose way the scenario has no link; "
            'direction = "reverse" in the [[flow]] puts one there'
        )
