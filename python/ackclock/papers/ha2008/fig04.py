"""Figure 4: two CUBIC flows.

"Two CUBIC flows with 246ms RTT" (caption); "the bottleneck capacity is 400Mbps and the RTT is set
to 240ms. Drop tail routers are used. There are two CUBIC flows, and they have the same RTT and
bottleneck. Note that the curves have plateaus around Wmax. … Two flows converges to a fair share
within 200 seconds" (section 5.2), "with significant background traffic in both directions".

Flow 2 starts within one cycle of flow 1. Convergence is that of the mean over the runs, because
there is background traffic: the time from flow 2's start to the start of the last window in which
the slower flow gets less than 0.8 times the faster; a window has 10 s or one mean epoch, whichever
is longer. A plateau is where a flow's window is within 10 % of its window at the last loss: more
often in the middle half of an epoch than outside it.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ackclock import Flow, Result, Scenario, metrics
from ackclock.figures import (
    Claim,
    Column,
    Experiment,
    Figure,
    Part,
    Quantity,
    Variant,
    plots,
)
from ackclock.papers import _converged as converged
from ackclock.papers.ha2008 import _testbed as testbed

#: One cycle of a CUBIC flow alone.
CYCLE = (0, 50)
#: A window so near its last maximum is on the plateau.
NEAR = 0.1


def _scenario(background: float = 0.15) -> Scenario:
    flows = [Flow(algorithm=testbed.CUBIC)] * 2
    return testbed.scenario(
        flows, rtt_ms=240, background=background, duration="500s", sample_interval="200ms"
    )


class Row(NamedTuple):
    """Times are from the second flow's start."""

    #: Convergence of this run alone.
    convergence_s: float
    #: Part of the samples near the last maximum: in the middle half of epochs, and outside it.
    near_inside: float | None
    near_outside: float | None
    near_part: float | None
    utilisation: float
    window_s: float
    first_mbps: list[float]
    second_mbps: list[float]


def row(result: Result) -> Row:
    """The two flows of a run."""
    inside, outside, part = _near(result)
    return Row(
        converged.convergence_s(result),
        inside,
        outside,
        part,
        testbed.utilisation(result),
        metrics.fairness_window_s(result),
        *converged.per_second_mbps(result),
    )


def _near(result: Result) -> tuple[float | None, float | None, float | None]:
    """Part of the samples within 10 % of the last maximum: middle half, outer half, and all."""
    samples = metrics.regular_samples(result).filter(pl.col("state") == "open")
    found: dict[bool, list[bool]] = {True: [], False: []}
    for flow in (1, 2):
        own = samples.filter(flow=flow)
        times_s = own["time_us"].to_numpy() / 1e6
        cwnd = own["cwnd_packets"].to_numpy()
        losses = result.events.filter((pl.col("flow") == flow) & (pl.col("kind") == "recovery"))
        edges = zip(losses["time_us"] / 1e6, losses["cwnd_packets"], strict=True)
        for (start_s, maximum), (stop_s, _) in pairwise(edges):
            epoch = (times_s > start_s) & (times_s < stop_s)
            part = (times_s[epoch] - start_s) / (stop_s - start_s)
            near = np.abs(cwnd[epoch] / maximum - 1) <= NEAR
            middle = (part >= 0.25) & (part <= 0.75)
            for is_inside in found:
                found[is_inside] += near[middle == is_inside].tolist()
    every = [*found.values(), found[True] + found[False]]
    inside, outside, part = (float(np.mean(each)) if each else None for each in every)
    return inside, outside, part


TWO_CUBIC = Experiment(
    "two CUBIC",
    [{}],
    _scenario,
    row,
    # One number of all runs together.
    seeds=24,
    cycle=CYCLE,
    variants=(
        *testbed.BUFFERS,
        *testbed.VARIANTS[1:],
        Variant("start", "within 10 s, each", ["flow.start_spread=10s"]),
        *testbed.MORE_VARIANTS,
        Variant("RTT", "246 ms, the caption's", ["rtt=246ms"]),
    ),
    assumed=testbed.ASSUMED | {"bottleneck.buffer": "that of section 6.1", "rtt": "the text's"},
)


#: Standard TCP's growth, which is straight, with CUBIC's back-off. HSTCP's own leaves 0.74 to 0.78
#: of windows of 4000 to 8000 packets (RFC 3649).
STRAIGHT = f"{Path(__file__).with_name('two_hooks.c')}:keep=0.8"
GROWTHS = {testbed.CUBIC: "CUBIC", testbed.HSTCP: "HSTCP", STRAIGHT: "straight growth"}


#: At 400 Mb/s straight growth needs longer than a run from one loss to the next.
AT_MBPS = {testbed.HSTCP: 400, STRAIGHT: 40}


def _growing(algorithm: str, rate_mbps: int, background: float = 0.15) -> Scenario:
    flows = [Flow(algorithm=algorithm)] * 2
    fields: dict[str, Any] = {"duration": "500s", "sample_interval": "200ms"}
    return testbed.scenario(flows, rtt_ms=240, rate_mbps=rate_mbps, background=background, **fields)


class Near(NamedTuple):
    """As of `Row`."""

    near_part: float | None


def near(result: Result) -> Near:
    """The two flows of a run."""
    return Near(_near(result)[2])


GROWING = Experiment(
    "near Wmax",
    [
        {"algorithm": each, "rate_mbps": rate}
        for other, rate in AT_MBPS.items()
        for each in (testbed.CUBIC, other)
    ],
    _growing,
    near,
    seeds=12,
    cycle=CYCLE,
    variants=(
        *testbed.BUFFERS[:2],
        testbed.TSO,
        Variant("background", "none", arguments={"background": 0}),
    ),
    assumed=testbed.ASSUMED,
    says={"algorithm": GROWTHS, "rate_mbps": "{} Mb/s"},
)
NEAR_WMAX = Column(GROWING, "near_part", "part of the time near Wmax")
LONGER = [
    NEAR_WMAX.difference(
        f"part of the time near Wmax, CUBIC − {GROWTHS[other]}",
        algorithm=(testbed.CUBIC, other),
        rate_mbps=rate,
    )
    for other, rate in AT_MBPS.items()
]
OF_MEAN = {share: converged.of_mean(TWO_CUBIC, share) for share in converged.columns()}
EACH = Column(TWO_CUBIC, "convergence_s", "convergence of a run, median", "s").at().as_median()
INSIDE, OUTSIDE = (
    Column(TWO_CUBIC, column, f"part of the time near Wmax, {where} half of epochs").at()
    for column, where in (("near_inside", "middle"), ("near_outside", "outer"))
)
NEAR_PART = Column(TWO_CUBIC, "near_part", "part of the time near Wmax", "", "most").at()
PLATEAU = (INSIDE - OUTSIDE).named("time near Wmax, middle − outer half of epochs").beside("> 0")


def _parts(of: Quantity) -> list[Part]:
    return [of.beside(200).below(200), PLATEAU.above(0).ours]


FIGURE = Figure(
    plot=plots.windows(
        {"": (TWO_CUBIC, {})}, converged={"": EACH}, paper=(200, "fair within 200 s")
    ),
    quantities=[
        OF_MEAN[converged.SHARE].beside("< 200 s"),
        *(OF_MEAN[share] for share in converged.OTHERS),
        EACH,
        INSIDE,
        OUTSIDE,
        PLATEAU,
        NEAR_PART,
        *NEAR_WMAX.everywhere(),
        *LONGER,
        Column(TWO_CUBIC, "utilisation", "utilisation").at(),
    ],
    claims=[
        Claim(
            "ha2008.fig4.plateau",
            "Two CUBIC flows reach a fair share within 200 s; windows have plateaus at Wmax",
            _parts(OF_MEAN[converged.SHARE]),
            paper="< 200 s",
            quote="“The curves have plateaus around Wmax. … Two flows converges to a fair share "
            "within 200 seconds” (5.2)",
            readings={
                **{f"x = {share:g}": _parts(OF_MEAN[share]) for share in converged.OTHERS},
                "of each run, median": _parts(EACH),
            },
        ),
        Claim(
            "ha2008.s3.near-wmax",
            "Window samples are close to Wmax more often than with HSTCP's and a straight growth",
            [each.above(0) for each in LONGER],
            paper="most",
            quote="“under steady state, most window size samples of CUBIC are close to Wmax” (3.2)",
            readings={
                "more than half of them": [
                    each.above(0.5).ours for each in NEAR_WMAX.everywhere(algorithm=testbed.CUBIC)
                ]
            },
        ),
    ],
)
