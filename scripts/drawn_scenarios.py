"""Scenarios drawn at random: every key that Linux in virtual time takes, several in a scenario."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ackclock import AckclockError, Flow, Scenario, Session
from ackclock.hosts import vlinux
from ackclock.scenario import keys
from ackclock.scenario.scenario import KERNEL

#: A run has about so many packets at most, and lasts for this time.
MOST_PACKETS, DURATION_S = 150_000, (4, 20)
#: Most extras of a scenario.
MOST_EXTRAS = 8
#: Linux has each of these, and so have we.
ALGORITHMS = ("bbr", "bic", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "reno",
              "scalable", "vegas", "veno", "westwood", "yeah")  # fmt: skip
#: The algorithms that most hosts use are drawn more often.
WEIGHTS = [4 if name in ("cubic", "reno", "bbr") else 1 for name in ALGORITHMS]
#: In bit/s, from 1 Mb/s to 2 Gb/s: whole bytes a second, and whole nanoseconds for a packet of 1500
#: bytes. Linux's `netem` leaves the rest out.
RATES = sorted(
    12 * 10**12 // ns
    for ns in (2**a * 3**b * 5**c for a in range(15) for b in (0, 1) for c in range(11))
    if 6_000 <= ns <= 12_000_000 and 12 * 10**12 % (8 * ns) == 0
)
#: Flows of a scenario → how often.
FLOWS = {1: 8, 2: 5, 3: 3, 4: 2, 5: 1}
#: Of a full packet of 1500 and of 9000 bytes.
MSS = {1448: 9, 8948: 1}
TRACE = Path(__file__).resolve().parent.parent / "examples" / "cellular.trace"


class Draw(Random):
    """The numbers of a scenario."""

    def size(self, low: float, high: float, digits: int = 2) -> float:
        """Alike in each decade, and rounded."""
        return float(f"{math.exp(self.uniform(math.log(low), math.log(high))):.{digits}g}")

    def ms(self, low: float, high: float) -> str:
        return f"{self.size(low, high):g}ms"

    def p(self, low: float, high: float) -> float:
        return float(f"{self.size(low, high, 1):f}")


@dataclass(frozen=True)
class Line:
    """What the extras of a scenario depend on."""

    rate_mbps: float
    rtt_ms: float
    mss: int
    duration_s: float

    @property
    def packet_bytes(self) -> int:
        return self.mss + 52

    @property
    def bdp_packets(self) -> float:
        return self.rate_mbps * self.rtt_ms / 8e-3 / self.packet_bytes

    def packets(self, low: int, share: float) -> int:
        """So many BDP."""
        return max(low, round(self.bdp_packets * share))

    def time_s(self, draw: Draw, low: float = 0.2, high: float = 0.8) -> float:
        return round(self.duration_s * draw.uniform(low, high), 2)

    def mbit(self, draw: Draw, low: float, high: float) -> str:
        return f"{max(0.1, float(f'{self.rate_mbps * draw.size(low, high):.2g}')):g}mbit"


#: The values of keys that one draw gives.
Values = dict[str, Any]
Extra = Callable[[Draw, Line], Values]
#: How a key is drawn: as an extra; in each scenario; with another key; or why it is not.
Way = Extra | str
EACH = "in each scenario"
OWN_STACK = "the virtual Linux has its own"


def _of(key: str) -> str:
    return f"with {key}"


def _fixed(**values: Any) -> Extra:
    return lambda _draw, _line: values


def _buffer(low: int, key: str) -> Extra:
    def extra(draw: Draw, line: Line) -> Values:
        packets = line.packets(low, draw.size(0.2, 3))
        return {key: f"{packets * line.mss}B"}

    return extra


def _window(draw: Draw, line: Line) -> Values:
    packets = line.packets(3, draw.size(0.2, 3))
    if packets > 200:  # a multiple of the unit of the window field, too
        packets -= packets % 64
    return {"receive_window": f"{packets * line.mss}B"}


def _size(draw: Draw, line: Line) -> Values:
    share = draw.size(0.001, 0.5) * line.duration_s
    return {"size": f"{max(2, round(line.rate_mbps / 8e-6 / line.packet_bytes * share))}packets"}


def _read(draw: Draw, line: Line) -> Values:
    packets = line.packets(30, draw.size(0.5, 3))
    rates: Values = {"read_rate": line.mbit(draw, 0.1, 1)}
    if draw.random() < 0.5:
        step = {"time": f"{line.time_s(draw)}s", "rate": line.mbit(draw, 0.1, 1)}
        rates |= {"read_rate_at": [step]}
    return {"receive_buffer": f"{packets * line.mss}B"} | rates


def _frames(draw: Draw, line: Line) -> Values:
    every_ms = draw.size(5, 200)
    size = line.rate_mbps * 125 * every_ms * draw.uniform(0.1, 0.6)
    return {"frames": {"size": f"{max(1, round(size))}B", "every": f"{every_ms:g}ms"}}


def _writes(draw: Draw, line: Line) -> Values:
    size = f"{line.packets(2, draw.size(0.1, 4)) * line.mss}B"
    again = draw.choice(({"every": draw.ms(20, 500)}, {"pause": draw.ms(1, 500)}))
    phases: list[Values] = [{"size": size, **again}, {"at": f"{line.time_s(draw)}s"}]
    return {"writes": phases[: draw.randint(1, 2)]}


def _udp(draw: Draw, line: Line) -> Values:
    return {"stack": "udp", "algorithm": "none", "rate": line.mbit(draw, 0.05, 0.5)}


#: Of a flow or a session.
OF_FLOW: Mapping[str, Way] = {
    "algorithm": EACH,
    "stack": _udp,
    "profile": OWN_STACK,
    "tso": _fixed(tso=False),
    "direction": _fixed(direction="reverse"),
    "route": _of("links"),
    "back": _of("links"),
    "rtt": EACH,
    "rtt_exponential": lambda draw, line: {"rtt_exponential": draw.ms(0.1, line.rtt_ms + 1)},
    "start": EACH,
    "start_spread": lambda draw, _: {"start_spread": draw.ms(1, 200)},
    "stop": lambda draw, line: {"stop": f"{line.time_s(draw, 0.3)}s"},
    "frames": _frames,
    "size": _size,
    "receive_window": _window,
    "receive_buffer": _buffer(40, "receive_buffer"),
    "gro": lambda draw, _: {"gro": f"{round(draw.size(5, 500))}us"},
    "send_buffer": _buffer(4, "send_buffer"),
    "read_rate": _read,
    "read_rate_at": _of("read_rate"),
    "mss": lambda draw, line: {"mss": draw.randint(536, line.mss)},
    "initcwnd": lambda draw, _: {"initcwnd": draw.randint(1, 64)},
    "max_pacing_rate": lambda draw, line: {"max_pacing_rate": line.mbit(draw, 0.2, 1.5)},
    "sack": _fixed(sack=False),
    "rack": _fixed(rack=False),
    "tlp": _fixed(tlp=False),
    "timestamps": _fixed(timestamps=False),
    "slow_start_after_idle": _fixed(slow_start_after_idle=False),
    "rto_min": lambda draw, _: {"rto_min": f"{draw.randint(5, 1000)}ms"},
    "initial_ssthresh_packets": "today's Linux has no such metric",
    "ecn": _fixed(ecn=True),
    "delayed_ack_segments": _fixed(delayed_ack_segments=1),
    "reads": _fixed(reads="bulk"),
    "hides": "Linux's receivers are honest",
    "rate": _of("stack"),
    "writes": _writes,
    "count": lambda draw, _: {"count": draw.randint(2, 3)},
}
SESSION: Mapping[str, Way] = {
    **{key: way for key, way in OF_FLOW.items() if key in keys.Session.names()},
    **dict.fromkeys(("size", "gap", "pareto", "lognormal", "count"), _of("sessions")),
    "route_ssthresh": _fixed(route_ssthresh=True),
}


def _queue(draw: Draw, line: Line) -> Values:
    kind = draw.choice(("codel", "fq_codel", "fq", "pie", "red", "step"))
    queue: Values = {"kind": kind}
    burst = {"burst": f"{line.packet_bytes + 100}B"}  # so small is that of the virtual Linux
    if kind == "red":
        size = line.packet_bytes
        low = min(line.packets(5, 0.25), 2_000_000 // size) * size
        queue |= {"min": f"{low}B", "max": f"{3 * low}B"}
        burst = {}
    if kind == "step":
        return {"queue": queue | {"threshold_packets": draw.randint(5, 60)}}
    if kind == "fq":
        return {"queue": queue} | burst
    return {"queue": queue | {"ecn": draw.random() < 0.5}, "buffer": "4000packets"} | burst


def _loss(draw: Draw, _: Line) -> Values:
    kinds: list[Any] = [
        draw.p(1e-5, 2e-2),
        {"kind": "gilbert_elliott", "p": draw.p(1e-4, 1e-2), "r": draw.p(5e-2, 0.5)},
        {"kind": "bad_times", "good": draw.ms(200, 3000), "bad": draw.ms(2, 100)},
        {"kind": "outages", "every": draw.ms(500, 5000), "lasts": draw.ms(2, 300)},
    ]
    return {"loss": draw.choice(kinds)}


def _rates(draw: Draw, line: Line) -> Values:
    times = sorted({line.time_s(draw) for _ in range(2)})
    return {"rate_at": [{"time": f"{t}s", "rate": line.mbit(draw, 0.4, 2)} for t in times]}


def _delays(draw: Draw, line: Line) -> Values:
    return {"delay_at": [{"time": f"{line.time_s(draw)}s", "delay": draw.ms(2, 60)}]}


def _losses(draw: Draw, line: Line) -> Values:
    times = sorted({line.time_s(draw) for _ in range(2)})
    return {"loss_at": [{"time": f"{t}s", "p": draw.p(1e-4, 2e-2)} for t in times]}


def _reorder(draw: Draw, line: Line) -> Values:
    late_ms = max(0.1, round(line.rtt_ms * draw.uniform(0.1, 0.6), 1))
    return {"reorder": {"p": draw.p(1e-4, 3e-2), "delay": f"{late_ms:g}ms"}}


def _policer(draw: Draw, line: Line) -> Values:
    burst_kb = max(draw.size(10, 200), line.packet_bytes / 500)
    return {"policer": {"rate": line.mbit(draw, 0.4, 0.9), "burst": f"{burst_kb:g}kB"}}


def _jitter(draw: Draw, _: Line) -> Values:
    jitter: Values = {"by": draw.ms(0.05, 5), "distribution": draw.choice(("uniform", "normal"))}
    if draw.random() < 0.3:
        jitter["overtaking"] = True
    return {"delay": draw.ms(5, 20), "delay_jitter": jitter}


def _limit(draw: Draw, line: Line) -> Values:
    packets = line.packets(8, draw.size(1, 4))
    return {"limit_packets": packets, "buffer": f"{packets}packets"}


#: Of the bottleneck.
LINK: Mapping[str, Way] = {
    "rate": EACH,
    "buffer": EACH,
    "drop_every_packets": lambda draw, _: {"drop_every_packets": round(draw.size(50, 5000))},
    "drop_packets": lambda draw, _: {
        "drop_packets": sorted({round(draw.size(1, 3000, 4)) for _ in range(draw.randint(1, 4))})
    },
    "queue": _queue,
    "delay": lambda draw, _: {"delay": draw.ms(1, 30)},
    "burst": lambda draw, line: {"burst": f"{line.packet_bytes + round(draw.size(100, 5e4))}B"},
    "loss": _loss,
    "duplicate": lambda draw, _: {"duplicate": draw.p(1e-4, 1e-2)},
    "reorder": _reorder,
    "policer": _policer,
    "trace": _fixed(trace=str(TRACE), rate=None),
    "tick": "Linux has no such qdisc",
    "delay_jitter": _jitter,
    "limit_packets": _limit,
    "at": _fixed(at="sender"),
    "timeline": "it becomes rate_at, delay_at and loss_at",
    "rate_at": _rates,
    "delay_at": _delays,
    "loss_at": _losses,
}
#: At the top. Where this has an extra, it takes the whole scenario.
TOP: Mapping[str, Way] = {
    **dict.fromkeys(("duration", "rtt", "mss", "jitter", "bottleneck", "flows"), EACH),
    "seed": lambda draw, _: {"seed": draw.randint(2, 999)},
    "profile": OWN_STACK,
    "hz": "a kernel of its own for each",
    "host": "what it fills in is drawn: receive_buffer",
    "delayed_ack_segments": _fixed(delayed_ack_segments=1),
    "reads": _fixed(reads="bulk"),
    "tso": _fixed(tso=False),
    "pacing": _fixed(pacing=True),
    "sack_cost": "computing takes no time there",
    "sample_interval": "it only watches",
    "links": lambda draw, line: {"links": _second(draw, line)},
    "sessions": lambda draw, line: {"sessions": _sessions(draw, line)},
    "changes": "only the simulator branches a run",
    "programs": "the simulator runs none",
}


def _second(draw: Draw, line: Line) -> list[Values]:
    buffer = f"{line.packets(4, draw.size(0.25, 4))}packets"
    return [{"rate": line.mbit(draw, 0.6, 2), "buffer": buffer, "delay": draw.ms(0.1, 20)}]


def _sessions(draw: Draw, line: Line) -> list[Session]:
    sizes = draw.choice(({}, {"pareto": 1.5}, {"lognormal": 1.0}))
    mean = line.packets(2, draw.size(0.05, 1))
    share = {"size": f"{mean}packets", "gap": draw.ms(20, 2000), "count": draw.randint(1, 3)}
    (name,) = draw.choices(ALGORITHMS, WEIGHTS)
    return [Session(algorithm=name, **sizes, **share)]


#: Where a key is → how it is drawn.
WAYS = {"": TOP, "bottleneck": LINK, "flow": OF_FLOW, "session": SESSION}
TABLES = {
    "": keys.ScenarioKeys,
    "bottleneck": keys.Bottleneck,
    "flow": keys.Flow,
    "session": keys.Session,
}
for _where, _table in TABLES.items():
    # So that a new key cannot slip past.
    if _apart := {*WAYS[_where]} ^ {*_table.names()}:
        raise AckclockError(f"{_table.__name__}: say here how it is drawn: {sorted(_apart)}")


@dataclass(frozen=True)
class Drawn:
    """A scenario."""

    seed: int
    words: str
    #: What it has beside its flows, by key: `bottleneck.loss`.
    extras: tuple[str, ...]
    scenario: Scenario

    @property
    def draws_random_numbers(self) -> bool:
        """Whether something draws them: BBR, impairments, PIE or RED, sessions, starts."""
        of = self.scenario
        lines = [of.bottleneck.loss, of.bottleneck.reorder, of.bottleneck.loss_at]
        more = [of.bottleneck.duplicate, of.bottleneck.delay_jitter, of.sessions]
        queues = of.bottleneck.queue.kind in ("pie", "red")
        starts = any(flow.start_spread != "0s" or flow.rtt_exponential != "0s" for flow in of.flows)
        bbr = any(flow.algorithm == "bbr" for flow in of.flows)
        return bbr or queues or starts or any([*lines, *more])


def of_linux(scenario: Scenario) -> Scenario:
    """The same with Linux's own algorithms."""

    def own(each: Any) -> Any:
        is_own = each.algorithm == "none"
        return each if is_own else each.replace(algorithm=KERNEL + each.algorithm)

    flows, sessions = ([own(each) for each in some] for some in (scenario.flows, scenario.sessions))
    return scenario.replace(flows=flows, sessions=sessions)


def _with(scenario: Scenario, where: str, values: Values) -> Scenario:
    """The scenario with these values in "", "bottleneck", "flow.2" or "session.1"."""
    table, _, number = where.partition(".")
    if not table:
        return scenario.replace(**values)
    if table == "bottleneck":
        if not scenario.links:
            return scenario.replace(bottleneck=values)
        given = {**scenario.bottleneck.given, **values}
        first = {key: value for key, value in given.items() if value is not None}
        return scenario.replace(links=[first, *(each.given for each in scenario.links)])
    name = f"{table}s"
    each = list(getattr(scenario, name))
    each[int(number) - 1] = each[int(number) - 1].replace(**values)
    return scenario.replace(**{name: each})


def _routed(draw: Draw, scenario: Scenario) -> Scenario:
    """Data or ACKs of some flows pass only one of two links."""
    for number in range(1, len(scenario.flows) + 1):
        way = draw.choice(({}, {}, {"route": [1]}, {"route": [2]}, {"route": [1], "back": [2]}))
        scenario = _with(scenario, f"flow.{number}", way)
    return scenario


def _extended(draw: Draw, line: Line, scenario: Scenario) -> tuple[list[tuple[str, str]], Scenario]:
    """Up to `MOST_EXTRAS` extras that Linux takes with each other: their keys, and words."""
    extras = [
        (where, key, way)
        for where, ways in (
            ("", TOP),
            ("bottleneck", LINK),
            ("flow", OF_FLOW),
            ("session", SESSION),
        )
        for key, way in ways.items()
        if not isinstance(way, str)
    ]
    count, said = draw.randint(1, MOST_EXTRAS), list[tuple[str, str]]()
    draw.shuffle(extras)
    extras.sort(key=lambda each: each[1] not in ("links", "sessions"))  # what others change
    skip = {key for key in ("links", "sessions") if draw.random() < 0.85}
    for where, key, way in extras:
        if len(said) == count:
            break
        place = where
        if where in ("flow", "session"):
            many = len(scenario.flows if where == "flow" else scenario.sessions)
            place = f"{where}.{draw.randint(1, many)}" if many else ""
        if key in skip or (where and not place):
            continue
        values = way(draw, line)
        try:
            if key == "links":
                both = [scenario.bottleneck.given, *values["links"]]
                wider = _routed(draw, scenario.replace(links=both))
            else:
                wider = _with(scenario, place, values)
            vlinux.check(of_linux(wider))
            wider.prepare()
        except AckclockError:  # it does not go with another one
            continue
        scenario = wider
        of = f" of {place.replace('.', ' ')}" if where in ("flow", "session") else ""
        shown = [f"{name} {_shown(value)}" for name, value in values.items() if value is not None]
        said.append((f"{where}.{key}".lstrip("."), ", ".join(shown) + of))
    return said, scenario


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "/".join(_shown(each) for each in value.values())
    if isinstance(value, list):
        return " ".join(map(_shown, value))
    if isinstance(value, Session):
        return _shown(value.given)
    return Path(value).name if value == str(TRACE) else str(value)


@cache
def drawn(seed: int) -> Drawn:
    """The scenario of a seed: always the same."""
    draw = Draw(seed)
    near = math.exp(draw.uniform(math.log(RATES[0]), math.log(RATES[-1])))
    rate = min(RATES, key=lambda each: abs(math.log(each / near)))
    (mss,), (count,) = (draw.choices([*of], [*of.values()]) for of in (MSS, FLOWS))
    most_s = MOST_PACKETS * (mss + 52) * 8 / rate
    duration_s = round(max(DURATION_S[0], min(DURATION_S[1], most_s)), 1)
    line = Line(rate / 1e6, draw.size(1, 400, 4), mss, duration_s)
    packets = line.packets(4, draw.size(0.25, 4))
    flows, words = [], []
    for number in range(count):
        (name,) = draw.choices(ALGORITHMS, WEIGHTS)
        fields, of = {"algorithm": name}, [name]
        if number:
            fields["start"] = f"{(start := draw.size(0.02, duration_s / 3, 3)):g}s"
            of.append(f"from {start:g} s")
            if draw.random() < 0.5:
                fields["rtt"] = f"{(rtt := draw.size(1, 400, 4)):g}ms"
                of.append(f"{rtt:g} ms")
        flows.append(Flow(**fields))
        words.append(" ".join(of))
    scenario = Scenario(
        duration=f"{duration_s:g}s",
        rtt=f"{line.rtt_ms:g}ms",
        mss=mss,
        jitter="0s",
        bottleneck={"rate": f"{rate}bit", "buffer": f"{packets}packets"},
        flows=flows,
    )
    extras, scenario = _extended(draw, line, scenario)
    words += [text for _, text in extras]
    jumbo = "" if mss == 1448 else f", packets of {mss + 52} bytes"
    text = (
        f"{rate / 1e6:.6g} Mb/s, {line.rtt_ms:g} ms, {packets} packets{jumbo}: {', '.join(words)}"
    )
    return Drawn(seed, text, tuple(key for key, _ in extras), scenario)
