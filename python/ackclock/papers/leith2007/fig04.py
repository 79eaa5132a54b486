"""Figure 4: convergence among 200 web flows, as a mean over runs.

"Impact of web traffic on convergence. Evolution of mean bandwidth, averaged over 20 test runs,
following startup of a second flow. 200 background web flows (100 in each direction). Link bandwidth
is 250 Mbit/sec, RTT is 200ms, queue size 100% BDP" (caption; the text says 25 runs). "While
de-synchronisation of drops sometimes speeds up convergence ... on balance this yields similarly
slow convergence" (section IV). Web flows: "mean time between requests of 1 second and a Pareto
shape parameter of 1.2 and mean 6.0" packets (section II.A).

Convergence is that of figure 2, of the mean over the runs; the claim compares both.
"""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ackclock import Result, Scenario, Session, metrics
from ackclock.draw import style
from ackclock.estimates.stats import Estimate
from ackclock.figures import (
    Claim,
    Experiment,
    Figure,
    Quantity,
    Repeats,
    Variant,
    View,
    computed,
    plots,
)
from ackclock.figures.quantity import Rows
from ackclock.papers import _converged as converged
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007 import fig02
from ackclock.papers.leith2007._testbed import CUBIC

RTT_MS = 200


def _scenario() -> Scenario:
    web: dict[str, Any] = {
        "algorithm": CUBIC,
        "rtt": f"{RTT_MS}ms",
        "count": 100,
        "gap": "1s",
        "size": "6packets",
        "pareto": 1.2,
    }
    of = testbed.scenario(
        250,
        [CUBIC] * 2,
        [RTT_MS] * 2,
        duration="800s",
        sessions=(Session(**web), Session(**web, direction="reverse")),
    )
    return of.assign(f"flow.2.start_spread={fig02.CYCLE}")


class Row(NamedTuple):
    """A window that tells whether the flows share fairly; throughput in each second, Mb/s."""

    window_s: float
    first_mbps: list[float]
    second_mbps: list[float]


def row(result: Result) -> Row:
    """The two flows of a run."""
    return Row(metrics.fairness_window_s(result), *converged.per_second_mbps(result))


WEB = Experiment(
    "web flows",
    [{}],
    _scenario,
    row,
    seeds=25,
    quick=["duration=400s"],
    quick_seeds=2,
    variants=(
        *testbed.OPEN,
        Variant("start of flow 2", "100 … 101 s, one phase", ["flow.2.start_spread=1s"]),
    ),
    assumed=testbed.ASSUMED
    | {
        "duration": "long enough for the mean to converge",
        "session.algorithm": "that of the long flows",
        "session.rtt": "that of the long flows",
    },
)


def _against_alone(share: float) -> Quantity:
    """The convergence over that without web flows, of figure 2; both are resampled."""
    alone = fig02.CONVERGENCE[share].at(rate_mbps=250)

    def estimate(rows: Rows) -> Estimate:
        runs, without = converged.Ensemble(rows[WEB], {}), alone.of(rows)
        assert isinstance(without, Repeats)
        random = np.random.default_rng(converged.SEED + 1)
        values = without.value

        def ratio(chosen: np.ndarray) -> float:
            same = np.array_equal(chosen, np.arange(len(chosen)))
            some = values if same else random.choice(values, len(values))
            return float(min(runs.until_s(chosen, share), runs.seconds) / some.mean())

        return converged.estimate(ratio, len(runs.seeds), np.inf)

    name = f"{converged.words(share)}, with web flows (mean over runs) / without"
    return computed(name, "", (*WEB.needs(), *alone.needs), estimate)


OF_MEAN = {share: converged.of_mean(WEB, share) for share in converged.columns()}
AGAINST = {share: _against_alone(share) for share in converged.columns()}
JUDGED = converged.SHARE


@plots.drawn(7, 3.2)
def _plot(axes: Axes, view: View) -> None:
    every = converged.Ensemble(view.rows[WEB], {}).mbps
    mean = every.mean(axis=0)
    axes.set_title(f"mean over {len(every)} runs", fontsize="small")
    for number, (throughput, colour) in enumerate(zip(mean, style.FLOWS, strict=False), 1):
        axes.plot(throughput, color=colour, label=f"flow {number}", linewidth=0.9)
    axes.set_xlabel("time since flow 2 started (s)")
    axes.set_ylabel("mean throughput (Mb/s)")
    axes.set_ylim(0, 250)
    axes.legend(fontsize="small")


FIGURE = Figure(
    plot=_plot,
    quantities=[*OF_MEAN.values(), AGAINST[JUDGED].beside("similarly slow"), AGAINST[0.9]],
    claims=[
        Claim(
            "leith2007.fig4.web-ensemble",
            "With web traffic convergence is about as slow as without",
            [AGAINST[JUDGED].within(0.67, 1.5).ours],
            paper="similarly slow",
            quote="“on balance this yields similarly slow convergence” (IV)",
            readings={
                f"x = {share:g}": [AGAINST[share].within(0.67, 1.5).ours]
                for share in converged.OTHERS
            },
        )
    ],
)
