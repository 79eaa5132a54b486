"""Scenarios drawn at random, on Linux in virtual time and in the simulator.

    drawn.py DIRECTORY [N]   the first N (default: all): writes linux/drawn.csv and linux.md
    drawn.py SEED …          shows these scenarios and what they carry on both sides

Runs of Linux are kept in `.ackclock`: the same command resumes.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import median

import linux_page
from ackclock import Flow, Result, Scenario
from ackclock.hosts.threads import LOCAL
from ackclock.hosts.vlinux import build
from ackclock.hosts.vlinux.machines import Machines
from ackclock.hosts.work import CACHE, run_all
from ackclock.scenario.scenario import KERNEL

SEEDS = range(1, 201)
#: Runs of each side where they differ: the scenario, and others with its flows' starts and its
#: random numbers drawn anew, alike on both sides.
RUNS = 8
#: How often chance may say of two equal sides that they differ.
CHANCE = 0.01
#: A run has about so many packets at most, and lasts for this time.
MOST_PACKETS, DURATION_S = 300_000, (4, 20)
#: Linux has each of these, and so have we.
ALGORITHMS = ("bbr", "bic", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "reno",
              "scalable", "vegas", "veno", "westwood", "yeah")  # fmt: skip
#: The algorithms that most hosts use are drawn more often.
WEIGHTS = [4 if name in ("cubic", "reno", "bbr") else 1 for name in ALGORITHMS]
#: Why a scenario is outside: seed → cause.
CAUSES = {
    153: "157 MB in flight; the receive window of the virtual Linux is 128 MiB",
}
#: In bit/s, from 1 Mb/s to 2 Gb/s: whole bytes a second, and whole nanoseconds for a packet of 1500
#: bytes. Linux's `netem` leaves the rest out.
RATES = sorted(
    12 * 10**12 // ns
    for ns in (2**a * 3**b * 5**c for a in range(15) for b in (0, 1) for c in range(11))
    if 6_000 <= ns <= 12_000_000 and 12 * 10**12 % (8 * ns) == 0
)
#: Flows of a scenario → how often.
FLOWS = {1: 8, 2: 5, 3: 3, 4: 2, 5: 1, 6: 1}
#: Of a full packet of 1500 and of 9000 bytes.
MSS = {1448: 9, 8948: 1}


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
    mss: int
    flows: int
    duration_s: float

    @property
    def packet_bytes(self) -> int:
        return self.mss + 52

    @property
    def bdp_packets(self) -> float:
        return self.rate_mbps * self.rtt_ms / 8e-3 / self.packet_bytes

    @property
    def bucket(self) -> str:
        """A token bucket of one packet: so small is that of the virtual Linux."""
        return f"bottleneck.burst={self.packet_bytes + 100}B"


#: What one scenario may have beside its flows: words, and settings as of `--set`.
Extra = tuple[str, list[str]]


def _queue(draw: Draw, path: Line) -> Extra:
    kind = draw.choice(("codel", "fq_codel", "fq", "pie", "red"))
    more, ecn = "", kind != "fq" and draw.random() < 0.5
    if kind == "red":
        size = path.packet_bytes
        low = min(max(5, round(path.bdp_packets / 4)), 2_000_000 // size) * size
        more = f', min = "{low}B", max = "{3 * low}B"'
    if kind != "fq":
        more += f", ecn = {str(ecn).lower()}"
    settings = [f'bottleneck.queue={{kind = "{kind}"{more}}}', path.bucket]
    if kind != "fq":
        settings.append("bottleneck.buffer=4000packets")
    with_ecn = [number for number in range(1, path.flows + 1) if ecn and draw.random() < 0.7]
    words = f", ECN of {_list(with_ecn)}" if with_ecn else ""
    return kind + words, settings + [f"flow.{number}.ecn=true" for number in with_ecn]


def _list(flows: Sequence[int]) -> str:
    return f"flow{'s' * (len(flows) > 1)} {' '.join(map(str, flows))}"


def _window(draw: Draw, path: Line) -> Extra:
    packets = max(3, round(path.bdp_packets * draw.size(0.2, 3)))
    if packets > 200:  # a multiple of the unit of the window field, too
        packets -= packets % 64
    number = draw.randint(1, path.flows)
    words = f"receive window of flow {number} of {packets} segments"
    return words, [f"flow.{number}.receive_window={packets * path.mss}B"]


def _buffer(draw: Draw, path: Line) -> Extra:
    packets = max(4, round(path.bdp_packets * draw.size(0.3, 3)))
    number = draw.randint(1, path.flows)
    words = f"send buffer of flow {number} of {packets} segments"
    return words, [f"flow.{number}.send_buffer={packets * path.mss}B"]


def _size(draw: Draw, path: Line) -> Extra:
    share = draw.size(0.001, 0.5) * path.duration_s
    packets = max(2, round(path.rate_mbps / 8e-6 / path.packet_bytes * share))
    return f"flow 1 has {packets} packets of data", [f"flow.1.size={packets}packets"]


def _stop(draw: Draw, path: Line) -> Extra:
    stop = round(path.duration_s * draw.uniform(0.3, 0.8), 2)
    return f"flow 1 stops at {stop:g} s", [f"flow.1.stop={stop:g}s"]


def _loss(draw: Draw, _: Line) -> Extra:
    p = draw.size(1e-5, 2e-2, 1)
    return f"loss of {100 * p:g} %", [f"bottleneck.loss={p:f}"]


def _rates(draw: Draw, path: Line) -> Extra:
    times = [round(path.duration_s * share, 1) for share in (0.35, 0.65)]
    rates = [max(1, round(path.rate_mbps * draw.size(0.4, 2))) for _ in times]
    both = [*zip(times, rates, strict=True)]
    steps = ", ".join(f'{{time = "{time}s", rate = "{rate}mbit"}}' for time, rate in both)
    words = ", ".join(f"{rate} Mb/s from {time} s" for time, rate in both)
    return words, [f"bottleneck.rate_at=[{steps}]", path.bucket]


def _delays(draw: Draw, path: Line) -> Extra:
    ms, time = draw.size(2, 60), round(path.duration_s * 0.45, 1)
    step = f'bottleneck.delay_at=[{{time = "{time}s", delay = "{ms:g}ms"}}]'
    return f"{ms:g} ms longer from {time} s", [step]


def _reorder(draw: Draw, path: Line) -> Extra:
    p, ms = draw.size(1e-4, 3e-2, 1), max(0.1, round(path.rtt_ms * draw.uniform(0.1, 0.6), 1))
    late = f'bottleneck.reorder={{p = {p:f}, delay = "{ms:g}ms"}}'
    return f"{100 * p:g} % of packets {ms:g} ms late", [late]


def _policer(draw: Draw, path: Line) -> Extra:
    rate = max(1, round(path.rate_mbps * draw.uniform(0.4, 0.9)))
    burst = max(draw.size(10, 200), path.packet_bytes / 500)
    policer = f'bottleneck.policer={{rate = "{rate}mbit", burst = "{burst:g}kB"}}'
    return f"policer of {rate} Mb/s, {burst:g} kB", [policer]


def _fixed(words: str, setting: str) -> Callable[[Draw, Line], Extra]:
    return lambda _draw, _path: (words, [setting])


EXTRAS: Sequence[Callable[[Draw, Line], Extra]] = (
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
    def draws_random_numbers(self) -> bool:
        """Whether something draws them, on each side other ones: BBR, losses, PIE or RED."""
        of = self.scenario
        lines = [of.bottleneck.loss, of.bottleneck.reorder]
        queues = of.bottleneck.queue.kind in ("pie", "red")
        return any(flow.algorithm == "bbr" for flow in of.flows) or queues or any(lines)

    def runs(self) -> Iterator[Scenario]:
        """The scenario, then others with what chance decides drawn anew.

        That is the flows' starts, each up to its RTT later, or 20 ms, and the random numbers.
        """
        yield self.scenario
        for seed in range(2, RUNS + 1):
            flows = [
                flow.replace(start_spread=f"{max(20, self._rtt_ms(flow)):g}ms")
                for flow in self.scenario.flows
            ]
            yield self.scenario.replace(flows=flows, seed=seed)

    def _rtt_ms(self, flow: Flow) -> float:
        return float(str(flow.rtt or self.scenario.rtt).removesuffix("ms"))


def of_linux(scenario: Scenario) -> Scenario:
    """The same with Linux's own algorithms."""
    flows = [each.replace(algorithm=KERNEL + each.algorithm) for each in scenario.flows]
    return scenario.replace(flows=flows)


def drawn(seed: int) -> Drawn:
    """The scenario of a seed: always the same."""
    draw = Draw(seed)
    near = math.exp(draw.uniform(math.log(RATES[0]), math.log(RATES[-1])))
    rate = min(RATES, key=lambda each: abs(math.log(each / near)))
    (mss,), (count,) = (draw.choices([*of], [*of.values()]) for of in (MSS, FLOWS))
    most_s = MOST_PACKETS * (mss + 52) * 8 / rate
    duration_s = round(max(DURATION_S[0], min(DURATION_S[1], most_s)), 1)
    path = Line(rate / 1e6, draw.size(1, 400, 4), mss, count, duration_s)
    packets = max(4, round(path.bdp_packets * draw.size(0.25, 4)))
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
        rtt=f"{path.rtt_ms:g}ms",
        mss=mss,
        jitter="0s",
        bottleneck={"rate": f"{rate}bit", "buffer": f"{packets}packets"},
        flows=flows,
    )
    extras: list[Callable[[Draw, Line], Extra]] = [_queue] if draw.random() < 0.4 else []
    if draw.random() < 0.5:
        extras.append(draw.choice(EXTRAS))
    for extra in extras:
        said, settings = extra(draw, path)
        scenario = scenario.assign(*settings)
        words.append(said)
    jumbo = "" if mss == 1448 else f", packets of {mss + 52} bytes"
    text = (
        f"{rate / 1e6:.6g} Mb/s, {path.rtt_ms:g} ms, {packets} packets{jumbo}: {', '.join(words)}"
    )
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


def rank_sum_p(one: Sequence[float], other: Sequence[float]) -> float:
    """How often chance parts equal sides so far: Wilcoxon's rank-sum test, two-sided and exact."""
    every = sorted([*one, *other])
    rank = {each: every.index(each) + (every.count(each) + 1) / 2 for each in {*every}}
    middle = len(one) * (len(every) + 1) / 2
    far = abs(sum(rank[each] for each in one) - middle)
    ranks = [rank[each] for each in every]
    parted = [abs(sum(some) - middle) >= far - 1e-9 for some in combinations(ranks, len(one))]
    return sum(parted) / len(parted)


@dataclass(frozen=True)
class Pair:
    """Both sides of a scenario: one run if it is equal, else `RUNS`."""

    of: Drawn
    linux: Sequence[Carried]
    simulator: Sequence[Carried]

    @property
    def is_equal(self) -> bool:
        return self.linux[0] == self.simulator[0]

    def chance(self) -> float:
        """How likely chance parts two equal sides so far, in any number (Bonferroni)."""
        numbers = [
            ([run[flow][n] for run in self.linux], [run[flow][n] for run in self.simulator])
            for flow in range(len(self.of.scenario.flows))
            for n in range(3)
        ]
        some = [sides for sides in numbers if len({*sides[0], *sides[1]}) > 1]
        return min(1.0, len(some) * min(rank_sum_p(*sides) for sides in some))

    @property
    def distance(self) -> float:
        """Largest of a flow: of the medians of its bytes, or of its time if it ended."""
        most = 0.0
        for flow in range(len(self.of.scenario.flows)):
            ends = all(run[flow][2] for run in (*self.linux, *self.simulator))
            theirs, ours = (
                median(run[flow][2 if ends else 0] for run in side)
                for side in (self.linux, self.simulator)
            )
            most = max(most, abs(ours / (theirs or 1) - 1))
        return most

    @property
    def verdict(self) -> str:
        if self.is_equal:
            return "equal"
        return "in range" if self.chance() >= CHANCE else "outside"

    def row(self) -> dict[str, object]:
        """The columns of drawn.csv."""
        return {
            "seed": self.of.seed,
            "scenario": self.of.words,
            "flows": len(self.of.scenario.flows),
            "draws_random_numbers": "yes" if self.of.draws_random_numbers else "no",
            "linux": text_of(self.linux[0]),
            "simulator": text_of(self.simulator[0]),
            "verdict": self.verdict,
            "equal_runs": sum(map(tuple.__eq__, self.linux, self.simulator)),
            "chance": f"{1 if self.is_equal else self.chance():.2g}",
            "difference_percent": f"{100 * self.distance:.2g}",
            "cause": CAUSES.get(self.of.seed, "unknown") if self.verdict == "outside" else "",
        }


def measure(seeds: Sequence[int]) -> list[Pair]:
    """All scenarios, on all cores that are ours."""
    every, machines = [drawn(seed) for seed in seeds], Machines(len(os.sched_getaffinity(0)))

    def both(scenarios: Sequence[Scenario]) -> list[tuple[Carried, Carried]]:
        ours: dict[int, Carried] = {}
        LOCAL.run(scenarios, carried, ours.__setitem__)
        linux = [of_linux(each) for each in scenarios]
        theirs = run_all(linux, carried, cache=CACHE, executor=machines)
        return [(each, ours[n]) for n, each in enumerate(theirs)]

    first = both([each.scenario for each in every])
    apart = [each for each, (linux, ours) in zip(every, first, strict=True) if linux != ours]
    again = iter(both([run for each in apart for run in each.runs()]))
    pairs = []
    for each, side in zip(every, first, strict=True):
        sides = [next(again) for _ in range(RUNS)] if each in apart else [side]
        pairs.append(Pair(each, *zip(*sides, strict=True)))
    return pairs


def main(words: Sequence[str]) -> None:
    build.build(say=print)
    if words[0].isdigit():
        for pair in measure([int(word) for word in words]):
            print(f"{pair.of.scenario.to_toml()}\n{pair.row()}")
        return
    seeds = SEEDS[: int(words[1])] if len(words) > 1 else SEEDS
    linux_page.save(Path(words[0]), "drawn", [pair.row() for pair in measure(seeds)])


if __name__ == "__main__":
    main(sys.argv[1:])
