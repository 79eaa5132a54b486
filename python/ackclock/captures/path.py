"""The path of a capture as a scenario: `ackclock import-capture`; `docs/captures.md`.

Each number comes with what it was read from and how sure it is. What a capture cannot tell is said.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ackclock.captures.record import ACK_KIND, AGAIN, NEW, SECOND_NS, WORDS, Record
from ackclock.scenario.scenario import Scenario

#: IP and TCP headers, and timestamps.
HEADER, STAMPS = 40, 12
#: A queue stands if the RTT exceeds the least by so many times its packet, and by this share.
STANDS_PACKETS, STANDS = 4, 0.05
#: The rate is that of stretches of so many ACKed segments; so many make it sure.
STRETCH, SURE_STRETCHES, DENSE = 32, 20, 8
#: A loss beside a queue so near to the longest is one of a full queue.
NEARLY_FULL = 0.85
#: Rates of parts of a capture that differ by more are changes of the link.
CHANGES = 0.2
#: Most steps of a rate that changes.
MOST_STEPS = 200
#: A policer explains this share of the losses.
POLICED = 0.8
#: Fewer losses tell no rate of random ones.
LEAST_LOSSES = 5


@dataclass
class Told:
    """A number of the scenario, what it was read from, and how sure it is."""

    key: str
    value: Any
    #: "sure", "likely" or "unknown".
    sure: str
    why: str

    @property
    def line(self) -> str:
        return f"{self.key} = {self.value}: {self.sure}, {self.why}"


@dataclass
class Packets:
    """A record as numbers: when segments left, came back, and were sent again."""

    record: Record

    @cached_property
    def rows(self) -> np.ndarray:
        return np.frombuffer(self.record.packets, dtype=np.uint64).astype(np.int64).reshape(
            -1, WORDS
        )  # fmt: skip

    @cached_property
    def sent_s(self) -> np.ndarray:
        """When each segment first left."""
        at = np.zeros(len(self.record.ends) - 1)
        for row in self.rows[self.rows[:, 1] == NEW]:
            at[row[2] : row[3]] = row[0] / SECOND_NS
        return at

    @cached_property
    def again(self) -> np.ndarray:
        """Segments that were sent again, each once."""
        rows = self.rows[self.rows[:, 1] == AGAIN]
        return np.unique([each for row in rows for each in range(row[2], row[3])]).astype(int)

    @cached_property
    def acks(self) -> np.ndarray:
        """Of each ACK that advances: time in s, segments below it, and how many are new."""
        rows = self.rows[self.rows[:, 1] == ACK_KIND]
        una = np.maximum.accumulate(rows[:, 3]) if len(rows) else rows[:, 3]
        new = np.diff(una, prepend=0)
        kept = new > 0
        return np.column_stack([rows[kept, 0] / SECOND_NS, una[kept], new[kept]])

    @cached_property
    def rtts(self) -> np.ndarray:
        """Of the highest segments that ACKs tell of, if sent once: when they left, and RTTs, s."""
        kept = np.diff(self.top, prepend=0) > 0
        last = self.top[kept].astype(int) - 1
        clean = ~np.isin(last, self.again)
        sent = self.sent_s[last[clean]]
        return np.column_stack([sent, self.delivered[kept, 0][clean] - sent])

    def waited(self, base_s: float) -> np.ndarray:
        """Of the packet of each of `rtts`: what arrived while it was in the queue, in segments."""
        at, count = self.delivered[:, 0], self.delivered[:, 1]
        sent, rtt = self.rtts[:, 0], self.rtts[:, 1]

        def until(times: np.ndarray) -> np.ndarray:
            places = np.searchsorted(at, times, "right")
            return np.concatenate([[0], count])[places]

        waited: np.ndarray = until(sent + rtt) - until(sent + base_s)
        return waited

    @cached_property
    def top(self) -> np.ndarray:
        """Of each ACK the end of what it tells of."""
        rows = self.rows[self.rows[:, 1] == ACK_KIND]
        told: np.ndarray = rows[:, [3, 6, 8, 10]].max(axis=1, initial=0)
        return np.maximum.accumulate(told)

    def stretches(self, packets: int, wire: int) -> tuple[np.ndarray, np.ndarray]:
        """Where runs of so many delivered packets begin among the ACKs, and their rates, bit/s."""
        at, count = self.delivered[:, 0], self.delivered[:, 1]
        steps = np.searchsorted(count, np.arange(0, count[-1] if len(count) else 0, packets))
        steps = steps[steps < len(count)]
        took, came = np.diff(at[steps]), np.diff(count[steps])
        return steps, np.where(took > 0, came / np.maximum(took, 1e-9), 0) * wire * 8

    @cached_property
    def delivered(self) -> np.ndarray:
        """Of each ACK: time, s, and segments that have arrived, SACKed ones too."""
        rows = self.rows[self.rows[:, 1] == ACK_KIND]
        una, top = np.maximum.accumulate(rows[:, 3]), self.top
        holes = np.searchsorted(self.again, top) - np.searchsorted(self.again, una)
        return np.column_stack([rows[:, 0] / SECOND_NS, np.maximum(top - holes, una)])


@dataclass
class Path:
    """What a capture says of its path."""

    records: Sequence[Record]
    algorithms: Sequence[str]
    told: list[Told] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> Scenario:
        return Scenario.parse(self.fields)

    def text(self) -> str:
        """A scenario file, with a comment for each number."""
        lines = [f"# {each.line}" for each in self.told]
        lines += [f"# not told: {each}" for each in self.unknown]
        return "\n".join([*lines, self.scenario.to_toml()]) + "\n"


def read_path(records: Sequence[Record], algorithms: Sequence[str]) -> Path:
    """Reads the path that connections of one sender share; the first is the longest.

    `algorithms`: what each runs.
    """
    path = Path(records, algorithms)
    first = Packets(records[0])
    header = HEADER + (STAMPS if records[0].has_stamps else 0)
    wire = records[0].mss + header
    base_s = _base(path, first)
    start = min(each.established_ns - each.rtt_ns for each in records)
    rate_bps, steps = _rate(path, first, base_s, wire, start / SECOND_NS)
    link: dict[str, Any] = {"rate": f"{rate_bps:.0f}bit"}
    link |= _losses(path, first, base_s, rate_bps, wire, steps)
    if steps:
        link["rate"], link["rate_at"] = steps[0]["rate"], steps[1:]
    end = max(int(Packets(each).rows[-1, 0]) for each in records)
    path.fields = {
        # A multiple of the interval of samples.
        "duration": f"{max(-((start - end) * 10 // SECOND_NS), 1) / 10:.1f}s",
        "rtt": f"{base_s * 1e6:.0f}us",
        "mss": records[0].mss,
        "bottleneck": link,
        "flow": [_flow(path, each, name, start) for each, name in
                 zip(records, algorithms, strict=True)],
    }  # fmt: skip
    if not records[0].has_stamps:
        path.told.append(Told("timestamps", "false", "sure", "the SYNs have no option"))
    per_ack = np.median(first.acks[:, 2]) if len(first.acks) else 2
    path.told.append(Told("delayed_ack_segments", int(per_ack), "likely",
                          f"the median of {len(first.acks)} ACKs"))  # fmt: skip
    path.fields["delayed_ack_segments"] = int(per_ack)
    path.unknown += [
        "cross traffic: it is taken for a lower rate",
        "which of several links holds the queue: they are taken for one",
    ]
    return path


def _base(path: Path, of: Packets) -> float:
    least_s = float(of.rtts[:, 1].min()) if len(of.rtts) else of.record.rtt_ns / SECOND_NS
    shake_s = of.record.rtt_ns / SECOND_NS
    if of.record.has_start and 0 < shake_s <= least_s:
        why = f"the handshake; data took {least_s * 1e3:.3f}ms at least"
        path.told.append(Told("rtt", f"{shake_s * 1e3:.3f}ms", "sure", why))
        return shake_s
    near = int(np.sum(of.rtts[:, 1] < 1.02 * least_s)) if len(of.rtts) else 0
    sure = "likely" if near > 2 else "unknown"
    why = f"the least of {len(of.rtts)} samples, and {near} within 2 %"
    path.told.append(Told("rtt", f"{least_s * 1e3:.3f}ms", sure, why))
    return least_s


def _rate(
    path: Path, of: Packets, base_s: float, wire: int, start_s: float
) -> tuple[float, list[dict[str, str]] | None]:
    """Of stretches in which a queue stands: there the link is never idle. None: none does.

    And its steps, if it changes.
    """
    at = of.delivered[:, 0]
    steps, rates = of.stretches(STRETCH, wire)
    middle = (at[steps[1:]] + at[steps[:-1]]) / 2
    sent = of.rtts[:, 0] + of.rtts[:, 1]
    rtt = np.interp(middle, sent, of.rtts[:, 1]) if len(of.rtts) else np.zeros(len(middle))
    fastest = float(np.quantile(rates, 0.95)) if len(rates) else 0.0
    packet_s = wire * 8 / fastest if fastest else 0.0
    # All along a stretch, or the link may have been idle in it.
    low = np.array([of.rtts[a:b, 1].min(initial=np.inf) for a, b in itertools.pairwise(
        np.searchsorted(sent, at[steps]))])  # fmt: skip
    rtt = np.minimum(rtt, low)
    stands = rtt > base_s * (1 + STANDS) + STANDS_PACKETS * packet_s
    if np.sum(stands) < 3:
        dense = of.stretches(DENSE, wire)[1]
        fastest = float(np.quantile(dense, 0.95)) if len(dense) else 1e6
        why = f"the densest runs of {DENSE} packets: no queue stood for long"
        path.told.append(Told("bottleneck.rate", f"{fastest / 1e6:.3f}mbit", "likely", why))
        return fastest, None
    standing = rates[stands]
    least, rate, most = (float(each) for each in np.quantile(standing, (0.05, 0.5, 0.95)))
    changes = most / least >= 1 + CHANGES
    sure = "sure" if len(standing) >= SURE_STRETCHES and not changes else "likely"
    path.told.append(Told("bottleneck.rate", f"{rate / 1e6:.3f}mbit", sure,
                          f"{len(standing)} stretches of {STRETCH} packets while a queue stood; "
                          f"90 % between {least / 1e6:.3f} and {most / 1e6:.3f}"))  # fmt: skip
    if not changes:
        return rate, []
    # Of several stretches together; what an ACK tells has left the queue an RTT before.
    together = -(-len(standing) // MOST_STEPS)
    begins = at[steps[:-1]][stands] - base_s - start_s
    made = [
        {"time": f"{max(begins[each], 0):.4f}s",
         "rate": f"{1 / np.mean(1 / standing[each : each + together]):.0f}bit"}
        for each in range(0, len(standing), together)
    ]  # fmt: skip
    path.told.append(Told("bottleneck.rate_at", f"{len(made)} steps", "likely",
                          "these stretches; where no queue stood the rate before"))  # fmt: skip
    return rate, made


def _losses(
    path: Path, of: Packets, base_s: float, rate_bps: float, wire: int, steps: list[Any] | None
) -> dict[str, Any]:
    """Buffer, random loss and policer."""
    sent = of.rtts[:, 0] if len(of.rtts) else np.zeros(1)
    waited = of.waited(base_s) if len(of.rtts) else np.zeros(1)
    most = float(waited.max(initial=0))
    lost = of.sent_s[of.again] if len(of.again) else np.zeros(0)
    # The longest queue of what left shortly before or after a lost packet.
    near = [float(waited[(sent > each - base_s) & (sent < each + base_s / 4)].max(initial=0))
            for each in lost]  # fmt: skip
    full = np.array(near) >= max(NEARLY_FULL * most, 1)
    total = len(of.sent_s) + len(of.again)
    if steps is None and len(lost) >= LEAST_LOSSES:
        rate, burst, explained = _policer(of, lost, base_s, wire)
        if explained >= POLICED:
            why = f"{explained:.0%} of {len(lost)} losses found no token, and no queue stood"
            value = f"{rate / 1e6:.3f}mbit, {burst / 1e3:.0f}kB"
            path.told.append(Told("bottleneck.policer", value, "likely", why))
            return {"buffer": "1bdp", "rate": f"{max(rate_bps, 4 * rate):.0f}bit",
                    "policer": {"rate": f"{rate:.0f}bit", "burst": f"{burst:.0f}B"}}  # fmt: skip
    packets = max(round(most), 1)
    if np.any(full):
        why = f"what arrived before packets near losses of a full queue: {int(np.sum(full))}"
        sure = "sure" if steps == [] else "likely"
        path.told.append(Told("bottleneck.buffer", f"{packets}packets", sure, why))
    else:
        path.told.append(Told("bottleneck.buffer", f"{packets}packets", "unknown",
                              "at least: nothing was lost at the longest queue"))  # fmt: skip
    found: dict[str, Any] = {"buffer": f"{packets}packets"}
    random = int(np.sum(~full)) if len(lost) else 0
    # A burst loses packets around the one that finds the queue full.
    if random >= LEAST_LOSSES and random > len(lost) / 10:
        share = random / total
        spread = 2 * np.sqrt(random) / total
        path.told.append(Told("bottleneck.loss", f"{share:.5f}", "likely",
                              f"{random} of {len(lost)} losses while the queue was not full; "
                              f"± {spread:.5f}"))  # fmt: skip
        found["loss"] = round(share, 7)
    return found


def _policer(of: Packets, lost: np.ndarray, base_s: float, wire: int) -> tuple[float, float, float]:
    """Rate, bit/s, and burst, bytes, of a token bucket, and what share of losses it explains."""
    # At a loss the bucket is empty; before the first one it was full for as long as it could be.
    times = np.sort(lost)
    times = times[np.diff(times, prepend=-np.inf) > base_s]
    sent = np.sort(np.delete(of.sent_s, of.again))
    passed = np.searchsorted(sent, times) * wire
    rates = np.diff(passed) / np.diff(times) if len(times) > 1 else passed / (times - sent[0])
    rate = float(np.quantile(rates, 0.9))
    before = sent[sent < times[0]]
    debts = passed[0] - np.arange(len(before)) * wire - rate * (times[0] - before)
    burst = max(float(debts.max(initial=wire)), 2.0 * wire)
    tokens, at, empty = burst, sent[0], 0
    for each, is_lost in sorted([(t, False) for t in sent] + [(t, True) for t in lost]):
        tokens = min(burst, tokens + rate * (each - at))
        at = each
        if is_lost:
            empty += tokens < 2 * wire + burst / 10
        else:
            tokens = max(tokens - wire, 0.0)
    return 8 * rate, burst, empty / len(lost)


def _flow(path: Path, record: Record, algorithm: str, start_ns: int) -> dict[str, Any]:
    connects_s = (record.established_ns - record.rtt_ns - start_ns) / SECOND_NS
    made: dict[str, Any] = {"algorithm": algorithm, "start": f"{max(connects_s, 0):.6f}s"}
    if record.is_closed:
        made["size"] = f"{max(len(record.ends) - 1, 1)}packets"
        path.told.append(Told("flow.size", made["size"], "sure", "it ends with a FIN"))
    held_s = record.of.limited_s
    if held_s["receiver"] > sum(held_s.values()) / 20:
        made["receive_window"] = f"{record.window_bytes}B"
        path.told.append(Told("flow.receive_window", made["receive_window"], "sure",
                              "the largest that ACKs show; it limited the sender"))  # fmt: skip
    if held_s["application"] > sum(held_s.values()) / 20:
        path.unknown.append(f"what the application of {record.of.sender} writes: it limited the "
                            f"sender in {held_s['application']:.1f} s")  # fmt: skip
    if not record.has_sack:
        made["sack"] = False
    if not record.has_stamps:
        made["timestamps"] = False
    if record.has_ecn:
        made["ecn"] = True
    return made
