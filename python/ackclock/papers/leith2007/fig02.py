"""Figure 2: a second CUBIC flow joins, at 10, 250 and 500 Mb/s.

"Cubic TCP cwnd time histories following startup of a second flow. Bandwidth is 10 Mbits/s (top),
250 Mbit/sec (middle) and 500 Mbit/sec (bottom). RTT is 200ms, queue size 100% BDP, no web traffic"
(caption). "The cwnds converge very slowly. The rate of convergence decreases as the bandwidth-delay
product (BDP) is increased, with convergence times in excess of 300s commonly observed"; "for cwnds
above about 5000 packets ... the cubic increase function becomes replaced by a simple linear AIMD
increase. This is particularly evident for flow 1 in the lower plot" (section IV).

Convergence is the time from flow 2's start to the start of the last window in which the slower flow
gets less than 0.8 times the faster; a window has 10 s or one mean epoch, whichever is longer. The
starts of flow 2 cover one cycle of flow 1.

Single flows at 250 to 750 Mb/s show the lengths of epochs: "the congestion epoch duration
eventually scales linearly with BDP".
"""

import math
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics, stats
from ackclock.estimates.stats import Estimate
from ackclock.figures import (
    AtLeast,
    Check,
    Claim,
    Column,
    Experiment,
    Figure,
    Part,
    Quantity,
    Repeats,
    Variant,
    computed,
    grid,
    plots,
    slope,
)
from ackclock.figures.quantity import Rows
from ackclock.papers import _converged as converged
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC

RTT_MS = 200
RATES_MBPS = (10, 250, 500)
#: Of single flows, with BDPs of 4167, 8333 and 12500 packets.
ALONE_MBPS = (250, 500, 750)
LINEAR_PACKETS = 5000
#: Flow 2 starts within so long after 100 s: one cycle of flow 1 at 500 Mb/s.
CYCLE = "60s"
STARTS = 12
#: With more starts it stays open whether flows at 250 Mb/s take longer than at 10 Mb/s: the end
#: cuts some runs at 10 Mb/s off.
MANY_STARTS = 48
#: The period-two cycle of figure 7 is that of the flows after this time.
CONVERGED_S = 600


def _scenario(rate_mbps: int, flows: int) -> Scenario:
    of = testbed.scenario(
        rate_mbps, [CUBIC] * flows, [RTT_MS] * flows, duration="1200s", sample_interval="100ms"
    )
    return of.assign(f"flow.2.start_spread={CYCLE}") if flows == 2 else of


class Joined(NamedTuple):
    """Times are from flow 2's start."""

    #: Convergence (`papers._converged`) at 0.8, 0.9 and 0.95.
    convergence_s: float
    convergence_90_s: float
    convergence_95_s: float
    #: The start of the first window in which both have 80 % of the fair share.
    first_80_s: float
    #: Of flow 1 after 600 s.
    epochs_lag_1: float | None
    peaks_lag_1: float | None


def joined(result: Result) -> Joined:
    """When two flows were fair, and how epochs alternate."""
    cut_off = AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))
    first = metrics.convergence_time_s(result)
    losses = testbed.losses(result, 1, CONVERGED_S)
    meets, meets_90, meets_95 = (
        converged.convergence_s(result, share) for share in converged.columns()
    )
    return Joined(
        meets,
        meets_90,
        meets_95,
        cut_off if first is None else first,
        testbed.lag_1(np.diff(losses["time_us"].to_numpy()).tolist()),
        testbed.lag_1(losses["cwnd_packets"].to_list()),
    )


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
    seeds=MANY_STARTS,
    quick=["duration=700s"],
    variants=(
        *VARIANTS,
        *testbed.BUFFERS,
        Variant("duration", "40 min", ["duration=2400s"]),
        Variant("start of flow 2", "100 … 101 s, one phase", ["flow.2.start_spread=1s"]),
    ),
    **_ABOUT,
)
ALONE = Experiment(
    "a flow alone",
    grid(rate_mbps=ALONE_MBPS, flows=[1]),
    _scenario,
    alone,
    seeds=10,
    quick=["duration=300s"],
    quick_points=grid(rate_mbps=ALONE_MBPS[1:], flows=[1]),
    variants=VARIANTS,
    **_ABOUT,
)

CONVERGENCE = {
    share: Column(JOINED, column, converged.words(share), "s", "> 300 s commonly")
    for share, column in converged.columns().items()
}
FIRST = Column(JOINED, "first_80_s", "first window, 80 %", "s")
STRAIGHT = Column(ALONE, "straightness", "growth, second half of an epoch / first", "", 1)
EPOCH = Column(ALONE, "epoch_s", "epoch of a flow alone", "s", "∝ BDP")
POWER = slope(
    "epoch ∝ BDP to this power",
    "",
    {math.log(rate): EPOCH.at(rate_mbps=rate).geometric() for rate in ALONE_MBPS[1:]},
).beside(1)


def _most(column: Column, rate_mbps: int) -> Quantity:
    """The end of the range in which 95 % of the starts are."""
    of = column.at(rate_mbps=rate_mbps)

    def end(rows: Rows) -> Estimate:
        found = of.of(rows)
        assert isinstance(found, Repeats)
        return stats.mean_ci(found.value.tolist(), statistic=partial(np.quantile, q=0.975))

    return computed(f"{of.name}: 97.5 % of the starts are below", "s", of.needs, end)


def _slow(column: Column, rates: tuple[int, ...] = RATES_MBPS) -> list[Part]:
    """Convergence takes longer at a higher rate, and commonly more than 300 s at the highest."""
    later = [
        column.difference(f"{column.name}, {fast} Mb/s − {slow} Mb/s", rate_mbps=(fast, slow))
        for slow, fast in pairwise(rates)
    ]
    return [*(each.above(0) for each in later), _most(column, rates[-1]).beside(300).above(300)]


def _today(rate_mbps: int) -> Scenario:
    """On hosts of today, for the paper's least duration."""
    of = testbed.scenario(rate_mbps, [CUBIC] * 2, [RTT_MS] * 2)
    pipe = of.bottleneck.replace(tick="0s")
    return of.replace(profile="linux-6", tso=None, jitter="0s", bottleneck=pipe)


class Today(NamedTuple):
    """When two flows were fair, and throughput of the second and of both from its start on."""

    #: The end of the last window of 10 s in which flow 2 gets less than 80 % of flow 1.
    unfair_s: float
    first_80_s: float
    newcomer_mbps: float
    utilisation: float


def today(result: Result) -> Today:
    """A run on hosts of today."""
    start_s = metrics.last_start_s(result)
    windows = converged.sliding_bps(result)
    below = np.flatnonzero(windows[1] < 0.8 * windows[0])
    end_s = float(below[-1] + 10) if len(below) else 0.0
    is_cut_off = end_s >= windows.shape[1] + 9
    first = metrics.convergence_time_s(result)
    newcomer_mbps = testbed.last_throughputs_mbps(result, start_s)[1]
    utilisation = metrics.utilisation(result, start_s)
    return Today(
        AtLeast(end_s) if is_cut_off else end_s,
        AtLeast(metrics.duration_s(result) - start_s) if first is None else first + 10,
        newcomer_mbps,
        utilisation,
    )


def _linear(axes: Axes) -> None:
    """From where on growth is linear, where the windows are as large."""
    if axes.get_ylim()[1] > LINEAR_PACKETS:
        plots.by_paper(axes, LINEAR_PACKETS, f"linear above ≈ {LINEAR_PACKETS} packets")


FIGURE = Figure(
    plot=plots.windows(
        {f"{r} Mb/s": (JOINED, {"rate_mbps": r}) for r in RATES_MBPS},
        converged={f"{r} Mb/s": CONVERGENCE[converged.SHARE].at(rate_mbps=r) for r in RATES_MBPS},
        paper=(300, "> 300 s"),
        after=_linear,
    ),
    quantities=[
        *(each for column in (*CONVERGENCE.values(), FIRST) for each in column.everywhere()),
        *(_most(CONVERGENCE[converged.SHARE], rate) for rate in RATES_MBPS),
        *(STRAIGHT.at(rate_mbps=rate) for rate in ALONE_MBPS[1:]),
        *EPOCH.everywhere(),
        POWER,
    ],
    claims=[
        Claim(
            "leith2007.fig2.slow-convergence",
            "Convergence takes longer as the BDP grows, and often more than 300 s",
            _slow(CONVERGENCE[converged.SHARE]),
            paper="> 300 s commonly",
            quote="“rate of convergence decreases as the … BDP … is increased, with convergence "
            "times in excess of 300s commonly observed” (IV)",
            readings={
                **{f"x = {share:g}": _slow(CONVERGENCE[share]) for share in converged.OTHERS},
                "first window with 80 %": _slow(FIRST),
            },
        ),
        Claim(
            "leith2007.fig2.linear-5000",
            "Above ≈ 5000 packets growth is linear, and the epoch grows with the BDP",
            [
                *(STRAIGHT.at(rate_mbps=rate).within(0.8, 1.2).ours for rate in ALONE_MBPS[1:]),
                POWER.within(0.9, 1.1).ours,
            ],
            paper="linear; ∝ BDP",
            quote="“above about 5000 packets … the cubic increase function becomes replaced by a "
            "simple linear AIMD increase” (IV)",
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
