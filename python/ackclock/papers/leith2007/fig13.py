"""Figure 13: the outcome with different RTTs depends on when the second flow starts.

"Cubic TCP cwnd time histories following startup of a second flow. Startup time of second flow is
93s in top plot and 98s in lower plot. 250Mbps link, flow 1 RTT is 16ms, flow 2 RTT is 162ms, 100%
BDP queue" (caption). "The degree of unfairness in Cubic TCP is strongly dependent on the start time
of the flows" (section VI).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
STARTS_S = tuple(range(90, 101))
SHOWN_S = (93, 98)
RTTS_MS = (16, 162)
# assumed: the long-run ratio is that of the last 300 s of 600 s.
LAST_S = 300
READINGS = (testbed.CUBIC, testbed.CUBIC_SOURCE)


def grid(seeds: testbed.Seeds, starts_s: Sequence[int] = STARTS_S) -> list[Scenario]:
    return [
        scenario(reading, start_s, seed)
        for reading in READINGS
        for start_s in starts_s
        for seed in seeds
    ]


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(seeds, SHOWN_S), "420s")


def scenario(reading: str, start_s: int, seed: int) -> Scenario:
    """The second flow starts at exactly `start_s`; only the hosts' jitter differs by seed."""
    of = testbed.scenario(250, [reading] * 2, RTTS_MS, seed, starts_s=(0, start_s))
    return of.replace(flow=[flow.model_copy(update={"start_spread": "0s"}) for flow in of.flows])


def reduce(result: Result) -> dict[str, Any]:
    first, second = testbed.last_throughputs_mbps(result, LAST_S)
    return testbed.describe(result) | {
        "start_s": int(result.resolved["flows"][1]["start_ns"] // 1_000_000_000),
        "ratio": float(first / second),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    seed = rows["seed"][0]
    with style.applied():
        figure = Figure(figsize=(9, 6))
        panels = figure.subplots(len(SHOWN_S) + 1, len(READINGS))
        for column, reading in enumerate(READINGS):
            for row, start_s in enumerate(SHOWN_S):
                axes = panels[row][column]
                drawing.cwnd(
                    axes,
                    load(scenario(reading, start_s, seed).replace(duration=rows["duration"][0])),
                )
                axes.set_title(
                    f"flow 2 starts at {start_s} s, {testbed.READINGS[reading]}", fontsize="small"
                )
            axes = panels[-1][column]
            runs = rows.filter(algorithms="+".join([reading] * 2))
            axes.plot(
                runs["start_s"],
                runs["ratio"],
                "o",
                markersize=3,
                alpha=0.5,
                color=style.of("cubic").colour,
            )
            axes.set_xlabel("start of flow 2 (s)")
            axes.set_ylabel("flow 1 / flow 2")
            axes.set_ylim(bottom=0)
    return figure


def spread(rows: pl.DataFrame, reading: str) -> list[float]:
    """Largest over smallest ratio among the start times, seed by seed."""
    runs = rows.filter(algorithms="+".join([reading] * 2))
    return [
        float(np.max(ratios) / np.min(ratios))
        for ratios in (
            some["ratio"].to_numpy() for some in runs.partition_by("seed", maintain_order=True)
        )
    ]


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"largest / smallest ratio among starts of {STARTS_S[0]} to {STARTS_S[-1]} s, "
            f"{testbed.READINGS[reading]}",
            "",
            stats.mean_ci(spread(rows, reading)),
            "large",
        )
        for reading in READINGS
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    return [
        Claim(
            "leith2007.fig13.start-time" + testbed.SUFFIX[reading],
            "The throughput ratio depends strongly on when the second flow starts",
            stats.mean_ci(spread(rows, reading)),
            "",
            low=1.5,
        )
    ]
