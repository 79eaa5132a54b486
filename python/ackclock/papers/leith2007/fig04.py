"""Figure 4: convergence among 200 web flows, as a mean over runs.

"Impact of web traffic on convergence. Evolution of mean bandwidth, averaged over 20 test runs,
following startup of a second flow. 200 background web flows (100 in each direction). Link bandwidth
is 250 Mbit/sec, RTT is 200ms, queue size 100% BDP" (caption; the text says 25 runs). "While
de-synchronisation of drops sometimes speeds up convergence ... on balance this yields similarly
slow convergence" (section IV). Web flows: "mean time between requests of 1 second and a Pareto
shape parameter of 1.2 and mean 6.0" packets (section II.A).

The mean over the runs has converged at the end of the first window of 10 s in which each flow has
80 % of its fair share: half of what both get, because web traffic takes a part of the link.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ackclock import Result, Scenario, Session, metrics
from ackclock.draw import style
from ackclock.estimates.stats import Estimate
from ackclock.figures import (
    Claim,
    Experiment,
    Figure,
    Quantity,
    Runs,
    Variant,
    View,
    above,
    computed,
    every,
    plots,
)
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC

RTT_MS = 200
WINDOW_S, SHARE = 10, 0.8
#: How often the runs are resampled for the interval.
RESAMPLES, RESAMPLING_SEED = 1000, 1979
Array = NDArray[np.float64]


def _scenario() -> Scenario:
    web: dict[str, Any] = {
        "algorithm": CUBIC,
        "rtt": f"{RTT_MS}ms",
        "count": 100,
        "gap": "1s",
        "size": "6packets",
        "pareto": 1.2,
    }
    return testbed.scenario(
        250,
        [CUBIC] * 2,
        [RTT_MS] * 2,
        duration="800s",
        sessions=(Session(**web), Session(**web, direction="reverse")),
    )


class Row(NamedTuple):
    """Throughput in each second from flow 2's start on, Mb/s."""

    first_mbps: list[float]
    second_mbps: list[float]


def row(result: Result) -> Row:
    """The two flows of a run."""
    start_s = metrics.last_start_s(result)
    seconds = int(metrics.duration_s(result) - start_s)
    first, second = metrics.throughput_bps(result, start_s + np.arange(seconds)) / 1e6
    return Row(first.tolist(), second.tolist())


WEB = Experiment(
    "web flows",
    [{}],
    _scenario,
    row,
    seeds=25,
    variant_seeds=25,
    quick=["duration=400s"],
    quick_seeds=2,
    variants=(
        *testbed.OPEN,
        Variant("start of flow 2", "200 s", ["flow.2.start=200s"]),
    ),
    assumed=testbed.ASSUMED
    | {
        "duration": "long enough for the mean to converge",
        "session.algorithm": "that of the long flows",
        "session.rtt": "that of the long flows",
    },
)


def _throughputs(runs: Runs) -> Array:
    """Shape (runs, 2 flows, seconds)."""
    pairs = runs.at({}).select("first_mbps", "second_mbps").rows()
    seconds = min(len(flow) for pair in pairs for flow in pair)
    return np.array([[flow[:seconds] for flow in pair] for pair in pairs])


def _windows(mean: Array) -> Array:
    """Means of the two flows in sliding windows of 10 s; shape (2 flows, windows)."""
    windows: Array = np.lib.stride_tricks.sliding_window_view(mean, WINDOW_S, axis=1).mean(axis=2)
    return windows


def _first_fair_s(mean: Array) -> float:
    windows = _windows(mean)
    fair = windows.min(axis=0) >= SHARE * windows.mean(axis=0)
    return float(WINDOW_S + fair.argmax()) if fair.any() else math.inf


def _last_unfair_s(mean: Array) -> float:
    first, second = _windows(mean)
    below = np.flatnonzero(second < SHARE * first)
    if not len(below):
        return 0
    return float(below[-1] + WINDOW_S) if below[-1] < len(first) - 1 else math.inf


def _convergence(name: str, of_mean: Callable[[Array], float]) -> Quantity:
    """When the mean over the runs converged; its interval comes from resampling the runs."""

    def of(rows: Any) -> Estimate:
        runs = _throughputs(rows[WEB])
        n = len(runs)
        random = np.random.default_rng(RESAMPLING_SEED)
        times = [of_mean(runs[random.integers(n, size=n)].mean(axis=0)) for _ in range(RESAMPLES)]
        low, high = np.quantile(times, [0.025, 0.975], method="nearest")
        found, end_s = of_mean(runs.mean(axis=0)), runs.shape[2]
        censored = int(found == math.inf)
        return Estimate(
            min(found, end_s), min(low, end_s), float(high), n, censored, resamples=tuple(times)
        )

    return computed(name, "s", every(WEB), of)


FIRST = _convergence("convergence of the mean over runs", _first_fair_s)
LAST = _convergence("the mean's last window below 80 %, as in figure 2", _last_unfair_s)


@plots.drawn(7, 3.2)
def _plot(axes: Axes, view: View) -> None:
    mean = _throughputs(view.rows[WEB]).mean(axis=0)
    for number, (throughput, colour) in enumerate(zip(mean, style.FLOWS, strict=False), 1):
        axes.plot(throughput, color=colour, label=f"flow {number}", linewidth=0.9)
    axes.set_xlabel("time since flow 2 started (s)")
    axes.set_ylabel("mean throughput (Mb/s)")
    axes.set_ylim(0, 250)
    axes.legend(fontsize="small")


FIGURE = Figure(
    plot=_plot,
    quantities=[FIRST.beside("as slow as without web flows"), LAST],
    claims=[
        Claim(
            "leith2007.fig4.web-ensemble",
            "With web traffic convergence is about as slow as without",
            [above(FIRST, 200)],
            readings={"last window below 80 %, as in figure 2": [above(LAST, 200)]},
        )
    ],
)
