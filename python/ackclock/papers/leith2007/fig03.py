"""Figure 3: two CUBIC flows with the same RTT share fairly in the long run.

"Ratio of throughputs of two Cubic TCP flows with the same RTT ... as path propagation delay is
varied. Flow throughputs are averaged over the last 200s of each test run and so approximate
asymptotic behaviour, neglecting initial transients. Results are shown for 10Mbit/sec and
250Mbit/sec bottleneck bandwidths. The bottleneck queue size is 100% BDP, no web traffic" (caption);
delays are "16ms, 40ms, 80ms, 160ms, 200ms" (section II.C).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTTS_MS = (16, 40, 80, 160, 200)
PAIRS = ratios.against()


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return ratios.grid(list(PAIRS), [(rtt, rtt) for rtt in RTTS_MS], seeds)


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(seeds), ratios.QUICK_DURATION)


def reduce(result: Result) -> dict[str, Any]:
    return ratios.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    return ratios.plot(rows, PAIRS, RTTS_MS)


def measures(rows: pl.DataFrame) -> list[Measure]:
    return ratios.measures(rows, PAIRS, RTTS_MS, "flow 1 / flow 2", "≈ 1")


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    parts = [
        Claim(
            f"{rate} Mb/s, {rtt} ms",
            "",
            ratios.ratio(ratios.at(rows, rate, (reading,) * 2, rtt)),
            "",
            low=0.7,
            high=1.4,
        )
        for rate in ratios.RATES_MBPS
        for rtt in RTTS_MS
    ]
    return [
        Every(
            "leith2007.fig3.asymptotic-fair" + testbed.SUFFIX[reading],
            "In the long run CUBIC flows with the same RTT get about the same throughput",
            parts,
        )
    ]
