"""The first packet that differs between the simulator and Linux in virtual time, or two of these.

Both sides record each packet that a sender sends or gets, with what the sender knew just before
(`packets` of docs/tables.md). Up to the first difference the two are one run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.draw import html
from ackclock.hosts import linux, vlinux
from ackclock.hosts.vlinux import build
from ackclock.hosts.vlinux.machines import Machines
from ackclock.results import tables
from ackclock.results.result import run
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store.entries import MANIFEST, write_json, write_parquet

#: What a packet is, besides its time.
PACKET = (
    "kind", "from_bytes", "to_bytes", "ack_bytes", *(
        f"sack_{block}_{end}_bytes" for block in (1, 2, 3) for end in ("from", "to")
    ),
)  # fmt: skip
#: What a sender knows that both sides tell in the same way before each ACK.
STATE = ("una_bytes", "nxt_bytes", "cwnd_packets", "ssthresh_packets", "in_flight_packets", "state")
#: Times are equal within this, and a ns for each data packet: netem takes whole ns for a packet.
NEAR_NS = 1000
LOOK = {
    "data": "all ACKs up to here are equal: look at the sender",
    "ack": "all data sent up to here is equal: look at the queue and the receiver",
    "both": "one side sends where the other gets an ACK: look at its timers",
}
#: Packets of the flow that are shown before the one that differs.
SHOWN = 3

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A packet of a flow; `None`: that side has none there."""

    flow: int
    #: Packets of the flow before it, which are equal.
    before: int
    one: Row | None
    other: Row | None

    @property
    def at_ns(self) -> int:
        """When the first of the two is."""
        return min(int(row["time_ns"]) for row in (self.one, self.other) if row)

    def is_in_time(self) -> bool:
        """Whether it is the same packet at another time."""
        one, other = self.one, self.other
        return bool(one and other and all(one[name] == other[name] for name in PACKET))

    def says(self, one: str, other: str) -> str:
        """What is found, and where to look; `one` and `other`: what the sides are called."""
        if self.is_in_time() and self.one and self.other:
            late_ns = self.other["time_ns"] - self.one["time_ns"]
            what = "later" if late_ns > 0 else "earlier"
            found = f"the same packet is {abs(late_ns) / 1000:,.3f} us {what} on {other}"
        elif not (self.one and self.other):
            found = f"{other if self.one else one} has no such packet"
        else:
            found = "the packets differ"
        kind, *more = {row["kind"] for row in (self.one, self.other) if row}
        return f"{found}; {LOOK['both' if more else kind]}"

    def line(self, one: str, other: str) -> str:
        """The packet of both sides with their times, and what `says` says."""
        both = " | ".join(
            f"{side}: {_packet(row)} at {row['time_ns'] / 1e6:.6f} ms" if row else f"{side}: none"
            for side, row in ((one, self.one), (other, self.other))
        )
        told = self.says(one, other)
        return f"flow {self.flow}, after {self.before} equal packets: {both}: {told}"


@dataclass(frozen=True)
class Divergence:
    """Both runs of a scenario, packet by packet."""

    scenario: Scenario
    #: "sim" or such as "vlinux" → its table `packets`: of what is beside, and of Linux.
    packets: Mapping[str, pl.DataFrame]
    #: None: they are equal to the end.
    first: Difference | None
    #: The first ACK before which the senders' states differ, if that is earlier.
    state: Difference | None
    manifests: Mapping[str, Mapping[str, Any]]

    @property
    def names(self) -> list[str]:
        """What the sides are called."""
        kernels = (str(of.get("kernel", "")).split() for of in self.manifests.values())
        return [f"Linux {of[0]}" if of else "the simulator" for of in kernels]

    def title(self) -> str:
        """The finding in one line."""
        one, _ = self.packets.values()
        data = int((one["kind"] == "data").sum())
        flows = one["flow"].n_unique()
        if (first := self.first) is None:
            return (
                f"equal to the end: {data} data packets and {len(one) - data} ACKs of "
                f"{flows} flow{'s' if flows > 1 else ''}, and the senders' states"
                + ("" if self.state is None else " but for those below")
            )
        return (
            f"flow {first.flow} differs at {first.at_ns / 1e6:.6f} ms, "
            f"after {first.before} equal packets of it: {first.says(*self.names)}"
        )

    def table(self) -> html.Table | None:
        """What each side had and knew at the first difference; None: there is none."""
        if (found := self.first or self.state) is None:
            return None
        one, other = _cells(found.one), _cells(found.other)
        rows = []
        for name in one or other:
            mine, theirs = one.get(name, ""), other.get(name, "")
            # The simulator's fires when the timer wheel has it; Linux says when it is due.
            same = mine.split(" ")[0] == theirs.split(" ")[0] if name == "timer" else mine == theirs
            rows.append((name, mine, theirs, "" if same else "differs"))
        return html.Table(("", *self.names, ""), rows)

    def before(self) -> html.Table | None:
        """The packets of the flow just before, which both sides have."""
        if self.first is None or not self.first.before:
            return None
        one, _ = self.packets.values()
        end, of = self.first.before, one.filter(pl.col("flow") == self.first.flow)
        rows = of[max(end - SHOWN, 0) : end].iter_rows(named=True)
        shown = [
            (f"{row['time_ns'] / 1e6:.6f} ms", _packet(row), str(row["cwnd_packets"]))
            for row in rows
        ]
        return html.Table(("equal until then", "packet", "cwnd"), shown)

    def notes(self) -> list[str]:
        """An earlier difference of the states."""
        if self.first is None or self.state is None:
            return []
        one, other = self.state.one or {}, self.state.other or {}
        differ = ", ".join(f"{n} {one[n]} | {other[n]}" for n in STATE if one[n] != other[n])
        at = f"{self.state.at_ns / 1e6:.6f} ms on: {differ}"
        return [f"flow {self.state.flow}: the senders' states differ from {at}"]

    def json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "equal": self.first is None,
            "packets": {side: len(of) for side, of in self.packets.items()},
            "first": self._json(self.first),
            "state": self._json(self.state),
        }

    def _json(self, found: Difference | None) -> dict[str, Any] | None:
        if found is None:
            return None
        sides = zip(self.packets, (found.one, found.other), strict=True)
        return {"flow": found.flow, "equal_packets": found.before, **dict(sides)}

    def write(self, directory: Path) -> None:
        """Writes the packets of both sides, the scenario, and what was found."""
        both = pl.concat([of.with_columns(side=pl.lit(side)) for side, of in self.packets.items()])
        write_parquet(both, directory / "packets.parquet")
        (directory / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        write_json(self.json() | {"runs": self.manifests}, directory / MANIFEST)


def diverge(
    scenario: Scenario,
    *,
    on: str = "vlinux",
    beside: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Divergence:
    """Runs a scenario `on` "vlinux" or "vlinux:7.3", `beside` another one or the simulator.

    Both without jitter, which virtual Linux has not. Raises `AckclockError` if one side cannot, or
    the virtual Linux is not built.
    """
    if on == beside:
        raise AckclockError(f"--beside {beside}: it is the other side, too; write another series")
    if not scenario.flows:
        raise AckclockError("the packets of sessions are not compared: add a [[flow]]")
    scenario = scenario.replace(jitter="0s")
    packets: dict[str, pl.DataFrame] = {}
    manifests = {}
    with snapshot.held():
        built = {side: _built(side, scenario) for side in (beside, on) if side}
        for side in (beside or "sim", on):
            take = partial(packets.__setitem__, side)
            if of := built.get(side):
                ran = vlinux.run(scenario, progress=progress, on_packets=take, built=of)
            else:
                ran = run(linux.like(scenario, on), on_packets=take)
            manifests[side] = ran.manifest
    return between(scenario, packets, manifests)


def _built(side: str, scenario: Scenario) -> build.Built:
    host = linux.host(side)
    if not isinstance(host, Machines):
        raise AckclockError(f"{side}: no two runs there are equal; write --on vlinux")
    host.check(scenario)
    return build.find(host.series)


def between(
    scenario: Scenario, packets: Mapping[str, pl.DataFrame], manifests: Mapping[str, Row]
) -> Divergence:
    """The first difference of two tables `packets`, of the sides as `Divergence` has them."""
    ours, theirs = packets.values()
    end_ns = int(next(iter(manifests.values()))["resolved"]["duration_ns"])
    data_ns = np.sort(theirs.filter(pl.col("kind") == "data")["time_ns"].to_numpy())
    found, states = [], []
    numbers = sorted({*ours["flow"].unique(), *theirs["flow"].unique()})
    for number in numbers:
        one, other = (side.filter(pl.col("flow") == number) for side in (ours, theirs))
        difference = _first(number, one, other, data_ns, end_ns)
        length = difference.before if difference else min(len(one), len(other))
        found += [difference] if difference else []
        states += _first_state(number, one[: length + 1], other[: length + 1])
    first = min(found, key=lambda each: each.at_ns, default=None)
    state = min(states, key=lambda each: each.at_ns, default=None)
    if first is not None and state is not None and state.at_ns >= first.at_ns:
        state = None
    return Divergence(scenario, packets, first, state, manifests)


def _first(
    number: int,
    one: pl.DataFrame,
    other: pl.DataFrame,
    data_ns: np.ndarray[Any, Any],
    end_ns: int,
) -> Difference | None:
    """The first packet of a flow that differs."""
    both = min(len(one), len(other))
    times = [side["time_ns"][:both].to_numpy().astype(np.int64) for side in (one, other)]
    near = NEAR_NS + np.searchsorted(data_ns, times[1])
    equal = np.abs(times[0] - times[1]) <= near
    for name in PACKET:
        equal &= (one[name][:both] == other[name][:both]).to_numpy()
    at = int(np.argmin(equal)) if not equal.all() else both
    if at == both:
        rest = (one if len(one) > both else other)[both:]
        # What one side does in the last moment, the other may do in the next.
        if not len(rest) or int(rest["time_ns"][0]) >= end_ns - NEAR_NS - len(data_ns):
            return None
    return Difference(number, at, _row(one, at), _row(other, at))


def _first_state(number: int, one: pl.DataFrame, other: pl.DataFrame) -> list[Difference]:
    """The first ACK of equal packets that finds another state."""
    both = min(len(one), len(other))
    equal = np.ones(both, bool)
    is_ack = ((one["kind"][:both] == "ack") & (other["kind"][:both] == "ack")).to_numpy()
    for name in STATE:
        equal &= (one[name][:both] == other[name][:both]).to_numpy()
    different = np.flatnonzero(~equal & is_ack)
    if not len(different):
        return []
    at = int(different[0])
    return [Difference(number, at, _row(one, at), _row(other, at))]


def _row(of: pl.DataFrame, at: int) -> Row | None:
    return of.row(at, named=True) if at < len(of) else None


def _packet(row: Row) -> str:
    if row["kind"] == "data":
        return f"data {row['from_bytes']}-{row['to_bytes']}"
    blocks = _blocks(row)
    return f"ACK {row['ack_bytes']}" + (f", SACK {blocks}" if blocks else "")


def _blocks(row: Row) -> str:
    blocks = ((row[f"sack_{n}_from_bytes"], row[f"sack_{n}_to_bytes"]) for n in (1, 2, 3))
    return " ".join(f"{start}-{end}" for start, end in blocks if end)


def _cells(row: Row | None) -> dict[str, str]:
    """What is shown of a packet and its sender, in order."""
    if row is None:
        return {}
    ssthresh = row["ssthresh_packets"]
    armed = row["timer"] != "none"
    return {
        "time": f"{row['time_ns'] / 1e6:.6f} ms",
        "packet": "data" if row["kind"] == "data" else "ACK",
        "bytes": _packet(row).split(",")[0].split()[1],
        "SACK blocks": _blocks(row) or "—",
        "una, bytes": str(row["una_bytes"]),
        "nxt, bytes": str(row["nxt_bytes"]),
        "cwnd, packets": str(row["cwnd_packets"]),
        "ssthresh, packets": "—" if ssthresh == tables.INFINITE_SSTHRESH else str(ssthresh),
        "in flight, packets": str(row["in_flight_packets"]),
        "srtt": f"{row['srtt_us'] / 1000:.3f} ms",
        "RTO": f"{row['rto_us'] / 1000:g} ms",
        "timer": f"{row['timer']} in {row['timer_us'] / 1000:g} ms" if armed else "—",
        "state": row["state"],
    }
