"""The scenarios of `ackclock attack`: a link, and what may go wrong on it."""

import math
import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ackclock.questions.card import ALONE
from ackclock.questions.held_out import LONG, MOST, host
from ackclock.scenario.keys import Frames
from ackclock.scenario.scenario import Bottleneck, Flow, Scenario

#: What a search may vary → how many numbers from 0 to 1 say how.
VARIED = {
    "link": 3,
    "queue": 1,
    "loss": 1,
    "reorder": 2,
    "outage": 1,
    "cross": 3,
    "pulses": 3,
    "pauses": 2,
    "rtts": 1,
}
DURATION_S = 30
#: Of the runs that judge what was found.
FACES = (1, 2, 3)
#: The queues, and the flows that may share the link.
QUEUES = ("drop_tail", "codel", "fq_codel", "pie")
CROSS = ("cubic", "reno", "bbr")
#: Packets that a pulse sends on each of its flows: an initial window.
PULSE_PACKETS = 10
MSS_BYTES, PACKET_BITS = 1448, 12_000


@dataclass(frozen=True)
class Trouble:
    """A scenario as the search sees it; None: not in it."""

    rate_bps: float = 50e6
    rtt_ms: float = 50
    buffer_bdp: float = 1
    queue: str = "drop_tail"
    loss: float | None = None
    #: Probability, and by how many RTTs a packet is late.
    reorder: tuple[float, float] | None = None
    #: Length of a black-out at 10 s.
    outage_s: float | None = None
    #: Algorithm, number of flows, and when they start.
    cross: tuple[str, int, float] | None = None
    #: Period in s, length in RTTs, and rate over the link's.
    pulses: tuple[float, float, float] | None = None
    #: The algorithm's flow sends so many BDPs every so many seconds, and pauses.
    pauses: tuple[float, float] | None = None
    #: RTT of the algorithm's second flow over that of its first; None: one flow.
    second: float | None = None

    @property
    def pulse_flows(self) -> int:
        """How many flows send a pulse."""
        if self.pulses is None:
            return 0
        _, length, over = self.pulses
        packets = self.rate_bps * over * length * self.rtt_ms / 1e3 / PACKET_BITS
        return max(1, min(200, round(packets / PULSE_PACKETS)))

    @property
    def pulse_bps(self) -> float:
        """What pulses send on average."""
        if self.pulses is None:
            return 0
        return self.pulse_flows * PULSE_PACKETS * PACKET_BITS / self.pulses[0]

    def scenario(self, algorithm: str, seed: int) -> Scenario:
        """The scenario with an algorithm in its place; `ALONE`: the others without it."""
        link: dict[str, Any] = {
            "rate": f"{round(self.rate_bps)}bit",
            "buffer": f"{max(4, round(self.buffer_bdp * self.bdp_packets))}packets",
        }
        if self.queue != "drop_tail":
            link["queue"] = self.queue
        if self.loss is not None:
            link["loss"] = float(f"{self.loss:.3g}")
        if self.reorder is not None:
            p, by_rtts = self.reorder
            delay = f"{by_rtts * self.rtt_ms:.3f}ms"
            link["reorder"] = {"p": float(f"{p:.3g}"), "delay": delay}
        if self.outage_s is not None:
            back = {"time": f"{10 + self.outage_s:.3f}s", "rate": link["rate"]}
            link["rate_at"] = [{"time": "10s", "rate": "6kbit"}, back]
        flows = []
        if algorithm != ALONE:
            flows.append(Flow(algorithm=algorithm, **self._pauses()))
            if self.second is not None:
                late = f"{self.second * self.rtt_ms:.3f}ms"
                flows.append(Flow(algorithm=algorithm, rtt=late, start="1s"))
        if self.cross is not None:
            name, count, start_s = self.cross
            some = {"count": count, "start_spread": f"{self.rtt_ms:.3f}ms"}
            flows.append(Flow(algorithm=name, start=f"{start_s:.3f}s", **some))
        if self.pulses is not None:
            flows.append(self._pulses())
        return Scenario(
            duration=f"{DURATION_S}s",
            rtt=f"{self.rtt_ms:.3f}ms",
            seed=seed,
            bottleneck=Bottleneck(**link),
            flows=tuple(flows),
        )

    def seen(self, seed: int, face: int) -> "tuple[Trouble, dict[str, Any]]":
        """What a run of a search has by which nobody can know it, and what its scenario has.

        Face 0 is of the runs that search: only their seed is drawn. The last of `FACES` is long.
        """
        draw = random.Random(repr((seed, face)))  # noqa: S311 (a seed repeats it)
        if face == 0:
            return self, {"seed": draw.getrandbits(48)}
        buffer, flows, late = (2 ** draw.uniform(-MOST, MOST) for _ in range(3))
        name, count, start_s = self.cross or ("", 0, 0.0)
        cross = (name, round(count * flows), start_s * late) if self.cross else None
        near = self._with(buffer_bdp=self.buffer_bdp * buffer, cross=cross)
        length = {"duration": f"{LONG * DURATION_S}s"} if face == FACES[-1] else {}
        return near, host(draw) | length

    def groups(self, algorithm: str) -> dict[str, int]:
        """Who sends in the scenario, in the order of its flows, and with how many flows."""
        found = {algorithm: 1 + (self.second is not None)}
        if self.cross is not None:
            name, count, _ = self.cross
            found[f"{count} × {name} beside it"] = count
        if self.pulses is not None:
            found["pulses, as they are acknowledged"] = self.pulse_flows
        return found

    def _pauses(self) -> dict[str, Any]:
        if self.pauses is None:
            return {}
        bdps, every_s = self.pauses
        size = max(1, round(bdps * self.bdp_packets)) * MSS_BYTES
        return {"frames": Frames(size=f"{size}B", every=f"{every_s * 1e3:.3f}ms")}

    def _pulses(self) -> Flow:
        assert self.pulses is not None
        period_s, length, _ = self.pulses
        return Flow(
            algorithm="reno",
            rtt="1ms",
            frames=Frames(size=f"{PULSE_PACKETS * MSS_BYTES}B", every=f"{period_s * 1e3:.3f}ms"),
            hides="losses",  # nothing makes it send less
            count=self.pulse_flows,
            start="5s",
            start_spread=f"{length * self.rtt_ms:.3f}ms",
        )

    @property
    def bdp_packets(self) -> float:
        """The bandwidth-delay product."""
        return self.rate_bps * self.rtt_ms / 1e3 / PACKET_BITS

    def simpler(self) -> "Generator[Trouble, None, None]":
        """The same without one of its parts, or with rounder numbers, the simplest first."""
        for part in ("reorder", "outage_s", "pulses", "pauses", "cross", "loss"):
            if getattr(self, part) is not None:
                yield self._with(**{part: None})
        if self.queue != "drop_tail":
            yield self._with(queue="drop_tail")
        if self.cross is not None:
            name, count, start_s = self.cross
            yield self._with(cross=(name, 1, start_s))
            yield self._with(cross=(name, count, 0.0))
        for digits in (1, 2):
            for part in ("rate_bps", "rtt_ms", "buffer_bdp", "loss", "outage_s", "second"):
                yield self._with(**{part: _rounder(getattr(self, part), digits)})
            for part in ("pulses", "reorder", "pauses"):
                values = getattr(self, part)
                yield self._with(**{part: values and tuple(_rounder(v, digits) for v in values)})

    def _with(self, **parts: Any) -> "Trouble":
        return replace(self, **parts)


def _rounder(value: float | None, digits: int) -> float | None:
    return value and float(f"{value:.{digits}g}")


def _log(at: float, low: float, high: float) -> float:
    return low * math.pow(high / low, at)


def _one_of(at: float, names: Sequence[str]) -> str:
    return names[min(int(at * len(names)), len(names) - 1)]


def decoded(genes: Sequence[float], varied: Sequence[str], hurt: str) -> Trouble:
    """What the numbers from 0 to 1 of a candidate say; parts that do not vary have no numbers."""
    of, at = {}, 0
    for each in varied:
        of[each] = [float(min(max(gene, 0), 1)) for gene in genes[at : at + VARIED[each]]]
        at += VARIED[each]
    # Harm needs others, and fairness two flows.
    if hurt == "R7":
        of["cross"] = _scaled(0.25, *of.get("cross", (0.9, 0.0, 0.0)))
    if hurt == "R5":
        of.setdefault("rtts", [0.0])
    else:
        of.pop("rtts", None)
    parts: dict[str, Any] = {}
    for name, genes_of in of.items():
        parts |= _PARTS[name](*genes_of)
    return Trouble(**parts)


def _scaled(least: float, first: float, *rest: float) -> list[float]:
    return [least + (1 - least) * first, *rest]


def _link(rate: float, rtt: float, buffer: float) -> dict[str, Any]:
    return {
        "rate_bps": _log(rate, 2e6, 200e6),
        "rtt_ms": _log(rtt, 4, 400),
        "buffer_bdp": _log(buffer, 0.05, 8),
    }


def _loss(p: float) -> dict[str, Any]:
    return {"loss": _log(2 * p - 1, 1e-5, 0.05) if p > 0.5 else None}


def _reorder(p: float, late: float) -> dict[str, Any]:
    some = (_log(2 * p - 1, 1e-4, 0.05), _log(late, 0.05, 2))
    return {"reorder": some if p > 0.5 else None}


def _outage(length: float) -> dict[str, Any]:
    return {"outage_s": _log(2 * length - 1, 0.1, 5) if length > 0.5 else None}


def _cross(kind: float, count: float, start: float) -> dict[str, Any]:
    name = _one_of((kind - 0.25) / 0.75, CROSS)
    some = (name, round(_log(count, 1, 8)), 10 * start)
    return {"cross": some if kind >= 0.25 else None}


def _pulses(period: float, length: float, over: float) -> dict[str, Any]:
    some = (_log((period - 0.25) / 0.75, 0.1, 4), _log(length, 0.2, 4), _log(over, 0.5, 4))
    return {"pulses": some if period > 0.25 else None}


def _pauses(bdps: float, every: float) -> dict[str, Any]:
    some = (_log(2 * bdps - 1, 0.2, 50), _log(every, 0.2, 5))
    return {"pauses": some if bdps > 0.5 else None}


#: What may vary → what its numbers say.
_PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "link": _link,
    "queue": lambda kind: {"queue": _one_of(kind, QUEUES)},
    "loss": _loss,
    "reorder": _reorder,
    "outage": _outage,
    "cross": _cross,
    "pulses": _pulses,
    "pauses": _pauses,
    "rtts": lambda second: {"second": _log(second, 1, 16)},
}
