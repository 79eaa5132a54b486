"""Scenarios drawn at random, on Linux in virtual time and in the simulator.

    drawn.py DIRECTORY     writes linux/drawn.csv and the page linux.md
    drawn.py SEED …        shows these scenarios and what they carry on both sides

Runs are kept in `.ackclock`: the same command resumes, and a second one repeats only what is cheap.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import linux_page
from ackclock import Flow, Result, Scenario
from ackclock.hosts.threads import LOCAL
from ackclock.hosts.vlinux import build
from ackclock.hosts.vlinux.machines import Machines
from ackclock.hosts.work import CACHE, run_all
from ackclock.scenario.scenario import KERNEL

SEEDS = range(1, 81)
#: Runs of the simulator with up to 1 µs of jitter, of seeds 1, 2, …: how far chance moves a number.
SHAKEN = 100
DURATION_S = 20
#: Linux has each of these, and so have we.
ALGORITHMS = ("bbr", "bic", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "reno",
              "scalable", "vegas", "veno", "westwood", "yeah")  # fmt: skip
#: The algorithms that most hosts use are drawn more often.
WEIGHTS = [4 if name in ("cubic", "reno", "bbr") else 1 for name in ALGORITHMS]
#: In Mb/s: a packet takes a whole number of ns on each. Linux's `netem` leaves the rest of one out.
RATES = (2, 2.4, 3, 4, 5, 6, 7.5, 8, 9.6, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 48, 50, 60,
         64, 75, 80, 96, 100, 120, 125, 150, 160)  # fmt: skip
#: A token bucket of one packet: so small is that of the virtual Linux.
BUCKET = "bottleneck.burst=1600B"


class Draw(Random):
    """The numbers of a scenario."""

    def size(self, low: float, high: float, digits: int = 2) -> float:
        """Alike in each decade, and rounded."""
        return float(f"{math.exp(self.uniform(math.log(low), math.log(high))):.{digits}g}")


@dataclass(frozen=True)
class Line:
    """What the extras of a scenario depend on."""

    rate_mbps: float
    rtt_ms: float

    @property
    def bdp_packets(self) -> float:
        return self.rate_mbps * self.rtt_ms / 12


#: What one scenario may have beside its flows: words, and settings as of `--set`.
Extra = tuple[str, list[str]]


def _aqm(draw: Draw, path: Line) -> Extra:
    kind = draw.choice(("codel", "fq_codel", "pie", "red"))
    ecn = draw.random() < 0.5
    more = ""
    if kind == "red":
        low = max(5, round(path.bdp_packets / 4)) * 1500
        more = f', min = "{low}B", max = "{3 * low}B"'
    queue = f'{{kind = "{kind}", ecn = {str(ecn).lower()}{more}}}'
    settings = [f"bottleneck.queue={queue}", BUCKET, "bottleneck.buffer=2000packets"]
    return kind + " with ECN" * ecn, settings + ["flow.ecn=true"] * ecn


def _window(draw: Draw, path: Line) -> Extra:
    packets = max(2, round(path.bdp_packets * draw.size(0.2, 3)))
    if packets > 200:  # a multiple of the unit of the window field, too
        packets -= packets % 64
    return f"receive window of {packets} segments", [f"flow.receive_window={packets * 1448}B"]


def _buffer(draw: Draw, path: Line) -> Extra:
    packets = max(4, round(path.bdp_packets * draw.size(0.3, 3)))
    return f"send buffer of {packets} segments", [f"flow.send_buffer={packets * 1448}B"]


def _size(draw: Draw, path: Line) -> Extra:
    packets = max(2, round(path.rate_mbps / 0.012 * draw.size(0.02, 5)))
    return f"flow 1 has {packets} packets of data", [f"flow.1.size={packets}packets"]


def _stop(draw: Draw, _: Line) -> Extra:
    stop = draw.size(6, 15)
    return f"flow 1 stops at {stop:g} s", [f"flow.1.stop={stop:g}s"]


def _loss(draw: Draw, _: Line) -> Extra:
    p = draw.size(1e-4, 1e-2, 1)
    return f"loss of {100 * p:g} %", [f"bottleneck.loss={p:f}"]


def _rates(draw: Draw, path: Line) -> Extra:
    rates = [max(1, round(path.rate_mbps * draw.size(0.4, 2))) for _ in range(2)]
    steps = ", ".join(
        f'{{time = "{time}s", rate = "{rate}mbit"}}'
        for time, rate in zip((7, 13), rates, strict=True)
    )
    words = f"{rates[0]} Mb/s from 7 s, {rates[1]} Mb/s from 13 s"
    return words, [f"bottleneck.rate_at=[{steps}]", BUCKET]


def _delays(draw: Draw, _: Line) -> Extra:
    ms = draw.size(2, 60)
    step = f'bottleneck.delay_at=[{{time = "9s", delay = "{ms:g}ms"}}]'
    return f"{ms:g} ms longer from 9 s", [step]


def _reorder(draw: Draw, path: Line) -> Extra:
    p, ms = draw.size(1e-4, 1e-2, 1), max(1, round(path.rtt_ms * draw.uniform(0.1, 0.6)))
    late = f'bottleneck.reorder={{p = {p:f}, delay = "{ms}ms"}}'
    return f"{100 * p:g} % of packets {ms} ms late", [late]


def _policer(draw: Draw, path: Line) -> Extra:
    rate, burst = max(1, round(path.rate_mbps * draw.uniform(0.4, 0.9))), draw.size(10, 200)
    policer = f'bottleneck.policer={{rate = "{rate}mbit", burst = "{burst:g}kB"}}'
    return f"policer of {rate} Mb/s, {burst:g} kB", [policer]


def _fixed(words: str, setting: str) -> Callable[[Draw, Line], Extra]:
    return lambda _draw, _path: (words, [setting])


EXTRAS: Sequence[Callable[[Draw, Line], Extra]] = (
    _aqm,
    _aqm,
    _window,
    _buffer,
    _size,
    _stop,
    _loss,
    _rates,
    _delays,
    _reorder,
    _policer,
    _fixed("bulk reads", "reads=bulk"),
    _fixed("an ACK per packet", "delayed_ack_segments=1"),
    _fixed("no TSO", "tso=false"),
    _fixed("pacing", "pacing=true"),
    _fixed("data of flow 1 goes back", "flow.1.direction=reverse"),
)


@dataclass(frozen=True)
class Drawn:
    """A scenario."""

    seed: int
    words: str
    scenario: Scenario

    @property
    def linux(self) -> Scenario:
        """The same with Linux's own algorithms."""
        flows = [
            each.model_copy(update={"algorithm": KERNEL + each.algorithm})
            for each in self.scenario.flows
        ]
        return self.scenario.replace(flows=flows)

    @property
    def draws_random_numbers(self) -> bool:
        """Whether something draws them, on each side other ones: BBR, losses, PIE or RED."""
        of = self.scenario
        lines = [of.bottleneck.loss, of.bottleneck.reorder]
        queues = of.bottleneck.queue.kind in ("pie", "red")
        return any(flow.algorithm == "bbr" for flow in of.flows) or queues or any(lines)

    def shaken(self) -> Iterator[Scenario]:
        """The same with a microsecond of jitter, of many seeds."""
        for seed in range(1, SHAKEN + 1):
            yield self.scenario.replace(jitter="1us", seed=seed)


def drawn(seed: int) -> Drawn:
    """The scenario of a seed: always the same."""
    draw = Draw(seed)
    path = Line(draw.choice(RATES), draw.size(3, 250))
    packets = max(4, round(path.bdp_packets * draw.size(0.25, 4)))
    flows, words = [], []
    for number in range(draw.choices((1, 2, 3), (5, 4, 1))[0]):
        (name,) = draw.choices(ALGORITHMS, WEIGHTS)
        fields, of = {"algorithm": name}, [name]
        if number:
            fields["start"] = f"{(start := draw.size(0.1, 6, 3)):g}s"
            of.append(f"from {start:g} s")
            if draw.random() < 0.5:
                fields["rtt"] = f"{(rtt := draw.size(3, 250)):g}ms"
                of.append(f"{rtt:g} ms")
        flows.append(Flow(**fields))
        words.append(" ".join(of))
    scenario = Scenario(
        duration=f"{DURATION_S}s",
        rtt=f"{path.rtt_ms:g}ms",
        jitter="0s",
        bottleneck={"rate": f"{path.rate_mbps:g}mbit", "buffer": f"{packets}packets"},
        flows=flows,
    )
    has_aqm = False
    if draw.random() < 0.7:
        extra, settings = draw.choice(EXTRAS)(draw, path)
        has_aqm = any("queue" in each for each in settings)
        scenario = scenario.assign(*settings)
        words.append(extra)
    buffer = "" if has_aqm else f", {packets} packets"
    text = f"{path.rate_mbps:g} Mb/s, {path.rtt_ms:g} ms{buffer}: {', '.join(words)}"
    return Drawn(seed, text, scenario)


#: Of each flow: delivered bytes, retransmissions, ms until its last byte was ACKed (0: never).
Carried = tuple[tuple[int, int, int], ...]


def carried(result: Result) -> Carried:
    columns = ("delivered_bytes", "retransmitted_packets", "completed_us")
    rows = result.flows.select(columns).rows()
    return tuple((size, again, round(end_us / 1000)) for size, again, end_us in rows)


def text_of(numbers: Carried) -> str:
    return "; ".join(
        f"{f'{end_ms / 1000:.3f} s' if end_ms else f'{size / 1e6:.3f} MB'}, {again}"
        for size, again, end_ms in numbers
    )


@dataclass(frozen=True)
class Pair:
    """Both sides of a scenario, and the range of the simulator with jitter."""

    of: Drawn
    linux: Carried
    simulator: Carried
    shaken: Sequence[Carried]

    @property
    def is_equal(self) -> bool:
        return self.linux == self.simulator

    def is_explained(self) -> bool:
        """Whether each number of Linux is in the range of the shaken runs."""
        return all(
            min(each) <= number <= max(each)
            for flow, rows in zip(self.linux, zip(*self.shaken, strict=True), strict=True)
            for number, each in zip(flow, zip(*rows, strict=True), strict=True)
        )

    @property
    def distance(self) -> float:
        """Largest of a flow: of its bytes, or of its time if it ended."""
        return max(
            abs(ours[at] / (theirs[at] or 1) - 1)
            for ours, theirs in zip(self.simulator, self.linux, strict=True)
            for at in [2 if theirs[2] else 0]
        )

    @property
    def verdict(self) -> str:
        if self.is_equal:
            return "equal"
        return "in range" if self.is_explained() else "differs"

    def row(self) -> dict[str, object]:
        """The columns of drawn.csv."""
        return {
            "seed": self.of.seed,
            "scenario": self.of.words,
            "flows": len(self.of.scenario.flows),
            "draws_random_numbers": "yes" if self.of.draws_random_numbers else "no",
            "linux": text_of(self.linux),
            "simulator": text_of(self.simulator),
            "verdict": self.verdict,
            "difference_percent": f"{100 * self.distance:.2g}",
        }


def measure(seeds: Sequence[int], say: Callable[[Pair], None]) -> list[Pair]:
    """All scenarios, on all cores."""
    every, machines = [drawn(seed) for seed in seeds], Machines()
    cache = machines.cache(CACHE)
    of_linux = run_all([each.linux for each in every], carried, cache=cache, executor=machines)
    ours = run_all([each.scenario for each in every], carried)
    pairs = []
    for each, linux, simulator in zip(every, of_linux, ours, strict=True):
        shaken: list[Carried] = []
        if linux != simulator:
            LOCAL.run([*each.shaken()], carried, lambda _, row, to=shaken: to.append(row))
        pairs.append(Pair(each, linux, simulator, shaken))
        say(pairs[-1])
    return pairs


def main(words: Sequence[str]) -> None:
    build.build(say=print)
    if words[0].isdigit():
        for pair in measure([int(word) for word in words], lambda _: None):
            print(f"{pair.of.scenario.to_toml()}\n{pair.row()}")
        return
    pairs = measure(SEEDS, lambda pair: print(pair.row(), flush=True))
    linux_page.save(Path(words[0]), "drawn", [pair.row() for pair in pairs])


if __name__ == "__main__":
    main(sys.argv[1:])
