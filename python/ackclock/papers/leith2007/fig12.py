"""Figure 12: two flows with different RTTs.

"Ratio of throughputs of two competing Cubic TCP flows as the propagation delay of the second flow
is varied. Results are shown for 10Mbit/sec and 250Mbit/sec bottleneck bandwidths. Flow 1 has RTT of
162ms, the RTT of Flow 2 is marked on the x-axis of the plots. Queue size is 100% BDP, no web
traffic" (caption). "Cubic TCP is generally significantly more fair than standard TCP, with the
ratio of flow throughputs never falling below about 0.25" (section VI).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTT_1_MS = 162
# assumed: from 16 to 162 ms. The paper does not list the figure's points.
RTTS_MS = (16, 40, 80, 120, 162)
PAIRS = ratios.against() | ratios.STANDARD


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return ratios.grid(list(PAIRS), [(RTT_1_MS, rtt) for rtt in RTTS_MS], seeds)


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(seeds), ratios.QUICK_DURATION)


def reduce(result: Result) -> dict[str, Any]:
    return ratios.reduce(result)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    return ratios.plot(rows, PAIRS, RTTS_MS)


def measures(rows: pl.DataFrame) -> list[Measure]:
    return ratios.measures(rows, PAIRS, RTTS_MS, "flow 1 / flow 2", "CUBIC never below ≈ 0.25")


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    points = [(rate, rtt) for rate in ratios.RATES_MBPS for rtt in RTTS_MS]
    fairer = [
        Claim(
            f"{rate} Mb/s, {rtt} ms (smaller / larger, CUBIC − standard)",
            "",
            _fairer(rows, reading, rate, rtt),
            "",
            low=0,
        )
        for rate, rtt in points
    ]
    never_below = [
        Claim(
            f"{rate} Mb/s, {rtt} ms (flow 1 / flow 2)",
            "",
            ratios.ratio(ratios.at(rows, rate, (reading,) * 2, rtt)),
            "",
            low=0.2,
        )
        for rate, rtt in points
    ]
    return [
        Every(
            "leith2007.fig12.rtt-ratio" + testbed.SUFFIX[reading],
            "CUBIC is fairer than standard TCP at every RTT; its ratio is never below ≈ 0.25",
            [*fairer, *never_below],
        )
    ]


def _fairer(rows: pl.DataFrame, reading: str, rate: int, rtt: int) -> stats.Estimate:
    """Smaller over larger throughput: CUBIC's minus standard TCP's, seed by seed."""
    cubic, reno = (
        ratios.at(rows, rate, (each,) * 2, rtt)["fairness"].to_list()
        for each in (reading, testbed.RENO)
    )
    return stats.paired_difference(cubic, reno)
