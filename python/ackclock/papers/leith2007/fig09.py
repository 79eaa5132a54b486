"""Figure 9: the distribution of cwnd with CUBIC and with H-TCP.

"Measured distribution of cwnd. Measurements are shown for both Cubic-TCP and H-TCP using a backoff
factor of 0.8. Experimental setup as in Figure 6 – three Cubic flows and 25 background sessions.
Bandwidth is 250 Mbit/sec, RTT 200ms, queue size 100% BDP" (caption). "The cwnd distributions are
extremely similar" (section IV.C).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007 import _unsync as unsync

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
SESSIONS = 25
HTCP = "htcp:adaptive_backoff=0"
NAMES = {HTCP: "H-TCP, back-off 0.8"} | {
    reading: f"CUBIC, {testbed.READINGS[reading]}" for reading in testbed.SUFFIX
}


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return unsync.grid(NAMES, SESSIONS, seeds)


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:
    return unsync.quick_grid(NAMES, SESSIONS, seeds)


def reduce(result: Result) -> dict[str, Any]:
    return unsync.reduce(result)


def _cumulative(rows: pl.DataFrame, algorithm: str, *, bursts: bool) -> np.ndarray:
    """Share of the samples at or below each bin's upper edge; shape (runs, bins)."""
    runs = rows.filter(algorithm=algorithm, bursts=bursts).sort("seed")
    counts = np.array(runs["cwnd_counts"].to_list())
    shares: np.ndarray = counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True)
    return shares


def distance(rows: pl.DataFrame, reading: str, *, bursts: bool = False) -> stats.Estimate:
    """Kolmogorov-Smirnov distance: the largest difference of the two shares, seed by seed."""
    cubic, htcp = (_cumulative(rows, each, bursts=bursts) for each in (reading, HTCP))
    apart = np.abs(cubic - htcp).max(axis=1)
    return stats.mean_ci(apart.tolist())


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    edges = np.arange(unsync.BINS + 1) * unsync.BIN_PACKETS
    with style.applied():
        figure = Figure(figsize=(6, 3.4))
        axes = figure.subplots()
        for algorithm, colour in zip(NAMES, ("#CC79A7", "#0072B2", "#56B4E9"), strict=True):
            runs = rows.filter(algorithm=algorithm, bursts=False)
            counts = np.array(runs["cwnd_counts"].to_list()).sum(axis=0)
            axes.stairs(100 * counts / counts.sum(), edges, color=colour, label=NAMES[algorithm])
        axes.set_xlim(0, 6000)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("cwnd (packets)")
        axes.set_ylabel(f"samples per {unsync.BIN_PACKETS} packets (%)")
        axes.legend(fontsize="small")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"Kolmogorov–Smirnov distance of {NAMES[reading]} from H-TCP"
            f"{', ' + unsync.BURSTS if bursts else ''}",
            "",
            distance(rows, reading, bursts=bursts),
            "extremely similar",
        )
        for bursts in (False, True)
        for reading in testbed.SUFFIX
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [
        Claim(
            "leith2007.fig9.cwnd-distribution" + suffix,
            "CUBIC and H-TCP with the same back-off have the same distribution of cwnd",
            distance(rows, reading),
            "",
            high=0.15,
        )
        for reading, suffix in testbed.SUFFIX.items()
    ]
