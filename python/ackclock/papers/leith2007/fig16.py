"""Figure 16: a CUBIC flow and a standard flow at 1 Mb/s.

"Cubic TCP (flow 1) and standard TCP (flow 2) flows. 1Mbps link, BDP queue, flow 1 RTT 160ms, flow 2
RTT 16ms" (caption). "At low cwnds, Cubic TCP can exhibit gross unfairness when competing with
standard TCP flows ... this appears to be due to quantisation issues" (section VII).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _starved as starved
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
PAIRS = ((testbed.CUBIC, testbed.RENO), (testbed.CUBIC_SOURCE, testbed.RENO))


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return starved.grid(PAIRS, seeds)


def reduce(result: Result) -> dict[str, Any]:
    return starved.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    return starved.plot(PAIRS, rows["seed"][0], load)


def measures(rows: pl.DataFrame) -> list[Measure]:
    return starved.measures(rows, PAIRS)


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return starved.claims(
        rows,
        PAIRS,
        "leith2007.fig16.std-1M",
        "At 1 Mb/s CUBIC and standard TCP share grossly unfairly",
    )
