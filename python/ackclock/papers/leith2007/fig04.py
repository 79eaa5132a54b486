"""Figure 4: convergence among 200 web flows, as a mean over runs.

"Impact of web traffic on convergence. Evolution of mean bandwidth, averaged over 20 test runs,
following startup of a second flow. 200 background web flows (100 in each direction). Link bandwidth
is 250 Mbit/sec, RTT is 200ms, queue size 100% BDP" (caption; the text says 25 runs). "While
de-synchronisation of drops sometimes speeds up convergence ... on balance this yields similarly
slow convergence" (section IV). Web flows: "mean time between requests of 1 second and a Pareto
shape parameter of 1.2 and mean 6.0" packets (section II.A).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, Scenario, Session, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = 25, testbed.QUICK_SEEDS
RATE_MBPS, RTT_MS = 250, 200
DURATION = "800s"
WINDOW_S, SHARE = 10, 0.8
#: How often the runs are resampled for the interval.
RESAMPLES, RESAMPLING_SEED = 1000, 1979
Array = NDArray[np.float64]


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return [scenario(reading, seed) for reading in testbed.SUFFIX for seed in seeds]


def scenario(reading: str, seed: int) -> Scenario:
    # assumed: web flows run the algorithm of the long flows.
    web: dict[str, Any] = {
        "algorithm": reading,
        "rtt": f"{RTT_MS}ms",
        "count": 100,
        "gap": "1s",
        "size": "6packets",
        "pareto": 1.2,
    }
    return testbed.scenario(
        RATE_MBPS,
        [reading] * 2,
        [RTT_MS] * 2,
        seed,
        duration=DURATION,
        sessions=(Session(**web), Session(**web, direction="reverse")),
    )


def reduce(result: Result) -> dict[str, Any]:
    """Throughput of both flows in each second from flow 2's start on, Mb/s."""
    start_s = metrics.last_start_s(result)
    seconds = int(metrics.duration_s(result) - start_s)
    first, second = metrics.throughput_bps(result, start_s + np.arange(seconds)) / 1e6
    return testbed.describe(result) | {
        "reading": result.scenario.flows[0].algorithm,
        "first_mbps": first.tolist(),
        "second_mbps": second.tolist(),
    }


def _runs(rows: pl.DataFrame, reading: str) -> Array:
    """Throughput; shape (runs, 2 flows, seconds)."""
    some = rows.filter(reading=reading).sort("seed")
    pairs = [some["first_mbps"].to_list(), some["second_mbps"].to_list()]
    seconds = min(len(each) for flow in pairs for each in flow)
    return np.array([[each[:seconds] for each in flow] for flow in pairs]).transpose(1, 0, 2)


def _convergence_s(mean: Array) -> float:
    """End of the first window in which both means are at least 80 % of a fair share; inf: none.

    The fair share is half of what the two flows get together, not half of the link, because web
    traffic takes a part of the link.
    """
    windows = np.lib.stride_tricks.sliding_window_view(mean, WINDOW_S, axis=1).mean(axis=2)
    fair = windows.min(axis=0) >= SHARE * windows.mean(axis=0)
    return float(WINDOW_S + fair.argmax()) if fair.any() else float("inf")


def convergence(rows: pl.DataFrame, reading: str) -> stats.Estimate:
    """Convergence of the mean over the runs; the interval comes from resampling the runs."""
    runs = _runs(rows, reading)
    n = len(runs)
    random = np.random.default_rng(RESAMPLING_SEED)
    times = [
        _convergence_s(runs[random.integers(n, size=n)].mean(axis=0)) for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(times, [0.025, 0.975], method="nearest")
    return stats.Estimate(_convergence_s(runs.mean(axis=0)), float(low), float(high), n)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(9, 3.2))
        for axes, reading in zip(figure.subplots(1, 2, sharey=True), testbed.SUFFIX, strict=True):
            mean = _runs(rows, reading).mean(axis=0)
            for number, (throughput, colour) in enumerate(zip(mean, style.FLOWS, strict=False), 1):
                axes.plot(throughput, color=colour, label=f"flow {number}", linewidth=0.9)
            axes.set_title(testbed.READINGS[reading], fontsize="small")
            axes.set_xlabel("time since flow 2 started (s)")
            axes.set_ylim(0, 250)
            if reading == testbed.CUBIC:
                axes.set_ylabel("mean throughput (Mb/s)")
        axes.legend(fontsize="small")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"convergence of the mean over runs, {testbed.READINGS[reading]}",
            "s",
            convergence(rows, reading),
            "as slow as without web",
        )
        for reading in testbed.SUFFIX
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [
        Claim(
            "leith2007.fig4.web-ensemble" + suffix,
            "With web traffic convergence is about as slow as without",
            convergence(rows, reading),
            "s",
            low=200,
        )
        for reading, suffix in testbed.SUFFIX.items()
    ]
