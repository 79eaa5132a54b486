"""Figure 6: three CUBIC flows among 25 on-off sessions.

"Two examples of Cubic TCP cwnd time histories. Three long-lived flows sharing a bottleneck link
with 25 on-off sessions (mean time between requests of 10 seconds, connection sizes are Pareto
distributed with shape parameter of 1.2 and mean 600 packets). Bandwidth is 250 Mbit/sec, RTT is
200ms, queue size 100% BDP" (caption). "While the long-term (measured over a period of an hour)
throughputs of the flows are similar, it can be seen that sustained periods (extending to hundreds
of seconds) of unfairness occur" (section IV.B).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007 import _unsync as unsync

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
SESSIONS = 25


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return unsync.grid(testbed.SUFFIX, SESSIONS, seeds)


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return unsync.quick_grid(testbed.SUFFIX, SESSIONS, seeds)


def reduce(result: Result) -> dict[str, Any]:
    return unsync.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    return unsync.plot(rows, load, SESSIONS)


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"{quantity}, {testbed.READINGS[reading]}{', ' + unsync.BURSTS if bursts else ''}",
            unit,
            testbed.estimate(rows, column, algorithm=reading, bursts=bursts),
            paper,
        )
        for bursts in (False, True)
        for reading in testbed.SUFFIX
        for quantity, unit, column, paper in (
            ("largest / smallest throughput of the hour", "", "hour_ratio", "similar"),
            ("longest stretch with a ratio above 2", "s", "longest_unfair_s", "hundreds of s"),
            ("share of congestion events in which all three lose", "", "all_lose", ""),
        )
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    def mean(column: str) -> Any:
        return testbed.estimate(rows, column, algorithm=reading, bursts=False)

    return [
        Every(
            "leith2007.fig6.unsync" + testbed.SUFFIX[reading],
            "Means over an hour are similar, but unfair stretches last hundreds of seconds",
            [
                Claim("mean of the hour, largest / smallest", "", mean("hour_ratio"), "", high=1.5),
                Claim("longest unfair stretch", "", mean("longest_unfair_s"), "s", low=100),
            ],
        )
    ]
