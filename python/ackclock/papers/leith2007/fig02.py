"""Figure 2: a second CUBIC flow joins, at 10, 250 and 500 Mb/s.

"Cubic TCP cwnd time histories following startup of a second flow. Bandwidth is 10 Mbits/s (top),
250 Mbit/sec (middle) and 500 Mbit/sec (bottom). RTT is 200ms, queue size 100% BDP, no web traffic"
(caption). "The cwnds converge very slowly. The rate of convergence decreases as the bandwidth-delay
product (BDP) is increased, with convergence times in excess of 300s commonly observed"; "for cwnds
above about 5000 packets ... the cubic increase function becomes replaced by a simple linear AIMD
increase. This is particularly evident for flow 1 in the lower plot" (section IV).

"Prolonged unfairness" ends with the last window of 10 s in which the newcomer gets less than 80 %
of what the incumbent gets. Single flows at 250 to 750 Mb/s show the lengths of epochs: "the
congestion epoch duration eventually scales linearly with BDP".
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics
from ackclock.figures import (
    AtLeast,
    Check,
    Claim,
    Column,
    Experiment,
    Figure,
    Part,
    Variant,
    above,
    geometric,
    grid,
    plots,
    slope,
    within,
)
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC

RTT_MS = 200
RATES_MBPS = (10, 250, 500)
#: Of single flows, with BDPs of 4167, 8333 and 12500 packets.
ALONE_MBPS = (250, 500, 750)
LINEAR_PACKETS = 5000
WINDOW_S = 10
#: The period-two cycle of figure 7 is that of the flows after this time.
CONVERGED_S = 600


def _scenario(rate_mbps: int, flows: int) -> Scenario:
    return testbed.scenario(rate_mbps, [CUBIC] * flows, [RTT_MS] * flows, duration="1200s")


class Joined(NamedTuple):
    """Times are from flow 2's start."""

    #: The end of the last window in which flow 2 gets less than 80 (90, 70) % of flow 1.
    unfair_s: float
    unfair_90_s: float
    unfair_70_s: float
    #: The end of the first window in which both have 80 % of the fair share.
    first_80_s: float
    #: Of flow 1 after 600 s.
    epochs_lag_1: float | None
    peaks_lag_1: float | None


def joined(result: Result) -> Joined:
    """When two flows were fair, and how epochs alternate."""
    cut_off = AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))
    first = metrics.convergence_time_s(result)
    losses = testbed.losses(result, 1, CONVERGED_S)
    return Joined(
        _last_below_s(result, 0.8),
        _last_below_s(result, 0.9),
        _last_below_s(result, 0.7),
        cut_off if first is None else first,
        testbed.lag_1(np.diff(losses["time_us"].to_numpy()).tolist()),
        testbed.lag_1(losses["cwnd_packets"].to_list()),
    )


def _last_below_s(result: Result, share: float) -> float:
    """End of the last window in which flow 2 has less than this share of flow 1."""
    seconds = np.arange(metrics.last_start_s(result), metrics.duration_s(result))
    per_second = metrics.throughput_bps(result, seconds)
    first, second = np.lib.stride_tricks.sliding_window_view(per_second, WINDOW_S, axis=1).mean(2)
    below = np.flatnonzero(second < share * first)
    if not len(below):
        return 0.0
    end_s = float(below[-1] + WINDOW_S)
    return AtLeast(end_s) if below[-1] == len(first) - 1 else end_s


class Alone(NamedTuple):
    """Growth above 5000 packets, in the second half of an epoch over the first; the epoch."""

    straightness: float | None
    epoch_s: float | None


def alone(result: Result) -> Alone:
    """How linearly a single flow grows; slow start and the first epoch do not count."""
    slopes = _slopes_above(result, LINEAR_PACKETS)
    epochs = metrics.epochs_s(result, 1)
    return Alone(
        slopes[1] / slopes[0] if slopes else None,
        float(epochs[1:].mean()) if len(epochs) > 1 else None,
    )


def _slopes_above(result: Result, packets: int) -> tuple[float, float] | None:
    """Growth above `packets` in the first and second half of the epochs, packets/s.

    Mean over the epochs that stay at least 5 s above `packets`.
    """
    samples = metrics.regular_samples(result).filter(
        (pl.col("state") == "open") & (pl.col("cwnd_packets") > packets)
    )
    times_s, cwnd = samples["time_us"].to_numpy() / 1e6, samples["cwnd_packets"].to_numpy()
    edges_s = testbed.losses(result, 1)["time_us"].to_numpy() / 1e6
    found = []
    for start_s, stop_s in pairwise(edges_s[1:]):
        inside = (times_s > start_s + 1) & (times_s < stop_s)
        t, w = times_s[inside], cwnd[inside]
        if len(t) > 4 and t[-1] - t[0] >= 5:
            middle = (t[0] + t[-1]) / 2
            found.append([np.polyfit(t[h], w[h], 1)[0] for h in (t <= middle, t >= middle)])
    return tuple(np.mean(found, axis=0)) if found else None


_ABOUT: dict[str, Any] = {
    "assumed": testbed.ASSUMED | {"duration": "long enough for all flows to converge"},
    "says": {"rate_mbps": "{} Mb/s"},
}
VARIANTS = (*testbed.OPEN, testbed.TEN_MINUTES)

JOINED = Experiment(
    "a second flow joins",
    grid(rate_mbps=RATES_MBPS, flows=[2]),
    _scenario,
    joined,
    quick=["duration=700s"],
    variants=(
        *VARIANTS,
        *testbed.BUFFERS,
        Variant("duration", "40 min", ["duration=2400s"]),
        Variant("start of flow 2", "200 s", ["flow.2.start=200s"]),
    ),
    **_ABOUT,
)
ALONE = Experiment(
    "a flow alone",
    grid(rate_mbps=ALONE_MBPS, flows=[1]),
    _scenario,
    alone,
    seeds=5,
    quick=["duration=300s"],
    quick_points=grid(rate_mbps=ALONE_MBPS[1:], flows=[1]),
    variants=VARIANTS,
    **_ABOUT,
)

UNFAIR = Column(JOINED, "unfair_s", "last window below 80 %", "s", "> 300 s commonly")
OTHERS = {
    "last window below 90 %": Column(JOINED, "unfair_90_s", "last window below 90 %", "s"),
    "last window below 70 %": Column(JOINED, "unfair_70_s", "last window below 70 %", "s"),
    "first window with 80 %": Column(JOINED, "first_80_s", "first window, 80 %", "s"),
}
STRAIGHT = Column(ALONE, "straightness", "growth, second half of an epoch / first", "", 1)
EPOCH = Column(ALONE, "epoch_s", "epoch of a flow alone", "s", "∝ BDP")
POWER = slope(
    "epoch ∝ BDP to this power",
    "",
    {math.log(rate): geometric(EPOCH.at(rate_mbps=rate)) for rate in ALONE_MBPS[1:]},
).beside(1)


def _slow(column: Column, rates: tuple[int, ...] = RATES_MBPS) -> list[Part]:
    """It takes longer at a higher rate, and more than 300 s at the highest."""
    later = [
        (column.at(rate_mbps=fast) - column.at(rate_mbps=slow)).named(
            f"{column.name}, {fast} Mb/s − {slow} Mb/s"
        )
        for slow, fast in pairwise(rates)
    ]
    return [*(above(each, 0) for each in later), above(column.at(rate_mbps=rates[-1]), 300)]


def _today(rate_mbps: int) -> Scenario:
    """On hosts of today, for the paper's least duration."""
    of = testbed.scenario(rate_mbps, [CUBIC] * 2, [RTT_MS] * 2)
    pipe = of.bottleneck.model_copy(update={"tick": "0s"})
    return of.replace(profile="linux-6", tso=None, jitter="0s", bottleneck=pipe)


class Today(NamedTuple):
    """When two flows were fair, and throughput of the second and of both from its start on."""

    unfair_s: float
    first_80_s: float
    newcomer_mbps: float
    utilisation: float


def today(result: Result) -> Today:
    """A run on hosts of today."""
    unfair, start_s = joined(result), metrics.last_start_s(result)
    newcomer_mbps = testbed.last_throughputs_mbps(result, start_s)[1]
    utilisation = metrics.utilisation(result, start_s)
    return Today(unfair.unfair_s, unfair.first_80_s, newcomer_mbps, utilisation)


def _linear(axes: Axes) -> None:
    """From where on growth is linear, where the windows are as large."""
    if axes.get_ylim()[1] > LINEAR_PACKETS:
        plots.by_paper(axes, LINEAR_PACKETS, f"linear above ≈ {LINEAR_PACKETS} packets")


FIGURE = Figure(
    plot=plots.windows(
        {f"{r} Mb/s": (JOINED, {"rate_mbps": r}) for r in RATES_MBPS},
        paper=(300, "> 300 s"),
        after=_linear,
    ),
    quantities=[
        *UNFAIR.everywhere(),
        *(each for column in OTHERS.values() for each in column.everywhere()),
        *(STRAIGHT.at(rate_mbps=rate) for rate in ALONE_MBPS[1:]),
        *EPOCH.everywhere(),
        POWER,
    ],
    claims=[
        Claim(
            "leith2007.fig2.slow-convergence",
            "Convergence takes longer as the BDP grows, and often more than 300 s",
            _slow(UNFAIR),
            readings={name: _slow(column) for name, column in OTHERS.items()},
        ),
        Claim(
            "leith2007.fig2.linear-5000",
            "Above ≈ 5000 packets growth is linear, and the epoch grows with the BDP",
            [
                *(within(STRAIGHT.at(rate_mbps=rate), 0.8, 1.2) for rate in ALONE_MBPS[1:]),
                within(POWER, 0.9, 1.1),
            ],
        ),
    ],
    vlinux=Check(
        setup="The figure's rates. Runs of 600 s, a router without ticks, no jitter. "
        "The TCP around the algorithm is of today.",
        experiment=Experiment(
            "600 s",
            grid(rate_mbps=RATES_MBPS),
            _today,
            today,
            says={"rate_mbps": "{} Mb/s"},
        ),
        quantities={
            "last window below 80 % (s)": "unfair_s",
            "first window with 80 % (s)": "first_80_s",
            "throughput of flow 2 (Mb/s)": "newcomer_mbps",
            "utilisation": "utilisation",
        },
    ),
)
