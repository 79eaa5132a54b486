"""Figure 10: large excursions of cwnd among 50 on-off sessions.

"Example of Cubic TCP cwnd time histories with three long-lived flows sharing a bottleneck link with
50 on-off sessions (mean time between requests of 10 seconds, connection sizes are Pareto
distributed with shape parameter of 1.2 and mean 600 packets). Bandwidth is 250 Mbit/sec, RTT is
200ms, queue size 100% BDP" (caption). "The potential for large excursions is evident, and is
demonstrated experimentally in Figure 10" (section IV.C).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007 import _unsync as unsync

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
SESSIONS = 50


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
            f"largest cwnd of a flow / its median, {testbed.READINGS[reading]}"
            f"{', ' + unsync.BURSTS if bursts else ''}",
            "",
            testbed.estimate(rows, "excursion", algorithm=reading, bursts=bursts),
            "large",
        )
        for bursts in (False, True)
        for reading in testbed.SUFFIX
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [
        Claim(
            "leith2007.fig10.excursions" + suffix,
            "The cwnd of flows that miss drops makes large excursions",
            testbed.estimate(rows, "excursion", algorithm=reading, bursts=False),
            "",
            low=2,
        )
        for reading, suffix in testbed.SUFFIX.items()
    ]
