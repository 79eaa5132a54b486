"""Figure 7: the period-two cycle under synchronised conditions.

"Under synchronised conditions this adaptive action leads to a period two cycle, illustrated in
Figure 7 and is also evident in many of the cwnd time histories ... in every second period the cubic
increase is aggressively probing for bandwidth at the point of backoff" (section IV.C).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
# assumed: the conditions of figure 2, after the flows have converged. The figure states none.
RATES_MBPS = (10, 250)
RTT_MS = 200
DURATION = "1200s"
AFTER_S = 600
READINGS = (testbed.CUBIC, testbed.CUBIC_SOURCE)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return [
        testbed.scenario(rate, [reading] * 2, [RTT_MS] * 2, seed, duration=DURATION)
        for reading in READINGS
        for rate in RATES_MBPS
        for seed in seeds
    ]


def reduce(result: Result) -> dict[str, Any]:
    """Autocorrelation at a lag of one loss: of the window at a loss, of the epoch's length."""
    peaks = [testbed.peaks_packets(result, flow, AFTER_S) for flow in (1, 2)]
    late = max(int(AFTER_S / metrics.duration_s(result) * len(metrics.epochs_s(result, 1))), 1)
    return testbed.describe(result) | {
        "peaks_lag_1": testbed.lag_1(peaks[0]),
        "epochs_lag_1": testbed.lag_1(metrics.epochs_s(result, 1)[-late:]),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    runs = grid([rows["seed"][0]])
    with style.applied():
        figure = Figure(figsize=(9, 4.5))
        panels = figure.subplots(len(RATES_MBPS), len(READINGS), squeeze=False)
        for index, run in enumerate(runs):
            column, row = divmod(index, len(RATES_MBPS))
            axes = panels[row][column]
            drawing.cwnd(axes, load(run))
            axes.set_xlim(AFTER_S, AFTER_S + (60, 300)[row])
            axes.set_title(
                f"{RATES_MBPS[row]} Mb/s, {testbed.READINGS[READINGS[column]]}", fontsize="small"
            )
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    names = {"peaks_lag_1": "window at a loss", "epochs_lag_1": "length of the epoch"}
    return [
        Measure(
            f"lag-1 autocorrelation of the {name}, {rate} Mb/s, {testbed.READINGS[reading]}",
            "",
            _mean(rows, column, rate, reading),
            "period two: −1",
        )
        for column, name in names.items()
        for reading in READINGS
        for rate in RATES_MBPS
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    return [
        Every(
            "leith2007.fig7.period-two" + testbed.SUFFIX[reading],
            "With synchronised flows the cwnd at a loss has a period-two cycle",
            [
                Claim(
                    f"{rate} Mb/s",
                    "",
                    _mean(rows, "peaks_lag_1", rate, reading),
                    "",
                    high=-0.5,
                )
                for rate in RATES_MBPS
            ],
        )
    ]


def _mean(rows: pl.DataFrame, column: str, rate: int, reading: str) -> stats.Estimate:
    return testbed.estimate(rows, column, rate_mbps=rate, algorithms="+".join([reading] * 2))
