"""Figure 15: a standard flow beside a CUBIC flow.

"Ratio of throughputs of competing Cubic TCP and standard TCP flows as path propagation delay is
varied. Results are shown for 10Mbit/sec and 250Mbit/sec bottleneck bandwidths. Both flows have the
same RTT. Queue size is 100% BDP, no web traffic. Results for two competing standard TCP flows are
also shown for reference" (caption). "The first flow operates the standard TCP algorithm while the
second flow operates Cubic TCP" (section VII).
"""

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTTS_MS = (16, 40, 80, 160, 200)
PAIRS = ratios.against(testbed.RENO) | ratios.STANDARD


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return ratios.grid(list(PAIRS), [(rtt, rtt) for rtt in RTTS_MS], seeds)


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(seeds), ratios.QUICK_DURATION)


def reduce(result: Result) -> dict[str, Any]:
    return ratios.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    return ratios.plot(rows, PAIRS, RTTS_MS, ylabel="throughput of the standard flow / the other")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return ratios.measures(rows, PAIRS, RTTS_MS, "standard / other")


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    pair = (testbed.RENO, reading)
    points = sorted(
        ((rate, rtt) for rate in ratios.RATES_MBPS for rtt in RTTS_MS), key=lambda p: p[0] * p[1]
    )
    runs = [ratios.at(rows, rate, pair, rtt) for rate, rtt in points]
    by_seed = np.log([some["ratio"].to_numpy() for some in runs]).T
    return [
        Claim(
            "leith2007.fig15.backward-compat" + testbed.SUFFIX[reading],
            "The standard flow's share falls as RTT × rate grows",
            stats.slope([math.log10(rate * rtt) for rate, rtt in points], by_seed.tolist()),
            "ln(standard / CUBIC) per decade",
            high=0,
        )
    ]
