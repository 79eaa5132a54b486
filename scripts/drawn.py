"""Scenarios drawn at random, on Linux in virtual time and in the simulator.

    drawn.py DIRECTORY [N]   the first N (default: all): writes linux/drawn.csv and linux.md
    drawn.py SEED …          shows these scenarios and what they carry on both sides

Runs of Linux are kept in `.ackclock`: the same command resumes.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

import linux_page
from ackclock import AckclockError, Flow, Result, Scenario
from ackclock.hosts.threads import LOCAL
from ackclock.hosts.vlinux import build
from ackclock.hosts.vlinux.machines import Machines
from ackclock.hosts.work import CACHE, run_all
from drawn_scenarios import Drawn, drawn, of_linux

SEEDS = range(1, 201)
#: Runs of each side where they differ: the scenario, and others with its flows' starts and its
#: random numbers drawn anew, alike on both sides.
RUNS = 8
#: How often chance may say of two equal sides that they differ.
CHANCE = 0.01
#: Why a scenario is outside: seed → cause.
CAUSES = {
    175: "a segment shorter than the MSS ends a receive window",
}


def runs(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario, then others with what chance decides drawn anew.

    That is the flows' starts, each up to its RTT later, or 20 ms, and the random numbers.
    """

    def later(flow: Flow) -> Flow:
        rtt_ms = float(str(flow.rtt or scenario.rtt).removesuffix("ms"))
        return flow.replace(start_spread=f"{max(20, rtt_ms):g}ms")

    yield scenario
    for seed in range(2, RUNS + 1):
        yield scenario.replace(flows=[*map(later, scenario.flows)], seed=1000 + seed)


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
        if self.chance() < CHANCE:
            return "outside"
        return "in range" if self.equal_runs else "never equal"

    @property
    def equal_runs(self) -> int:
        return sum(map(tuple.__eq__, self.linux, self.simulator))

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
            "equal_runs": self.equal_runs,
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

    pairs = []
    for each, side in zip(every, both([each.scenario for each in every]), strict=True):
        sides = [side]
        if side[0] != side[1]:
            try:
                sides = both([*runs(each.scenario)])
            except AckclockError as error:  # Linux ended a connection, which no simulated flow does
                print(f"{each.seed}: {error}", file=sys.stderr)
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
