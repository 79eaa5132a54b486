"""Figure 4: two CUBIC flows.

"Two CUBIC flows with 246ms RTT" (caption); "the bottleneck capacity is 400Mbps and the RTT is set
to 240ms. Drop tail routers are used. There are two CUBIC flows, and they have the same RTT and
bottleneck. Note that the curves have plateaus around Wmax. … Two flows converges to a fair share
within 200 seconds" (section 5.2), "with significant background traffic in both directions".

Each flow starts at U(0, 10 s). The share is fair when each flow has at least 80 % of the mean of
both in a window of 10 s.
"""

from typing import NamedTuple

import numpy as np

from ackclock import Result, Scenario, metrics
from ackclock.figures import AtLeast, Claim, Column, Experiment, Figure, Variant, below, plots
from ackclock.papers.ha2008 import _testbed as testbed

WINDOW_S = 10
FAIR = 0.8


def _scenario(background: float = 0.15) -> Scenario:
    flows = [testbed.flow(testbed.CUBIC, count=2)]
    return testbed.scenario(flows, rtt_ms=240, duration="250s", background=background)


class Row(NamedTuple):
    """Times are from the second flow's start, to the end of a window."""

    #: The first window that is fair.
    fair_s: float
    #: The first from which on all are.
    lasting_s: float
    fair_part: float
    utilisation: float


def row(result: Result) -> Row:
    """Windows slide by 1 s."""
    joined_s, end_s = metrics.last_start_s(result), metrics.duration_s(result)
    starts_s = np.arange(joined_s, end_s - WINDOW_S)
    edges_s = np.stack([starts_s, starts_s + WINDOW_S], axis=1).ravel()
    # Every second interval is a window. The others lead back to the start of the next window.
    got = metrics.throughput_bps(result, edges_s)[:, ::2]
    fair = got.min(axis=0) >= FAIR * got.mean(axis=0)

    def first_s(of: np.ndarray) -> float:
        return float(WINDOW_S + of.argmax()) if of.any() else AtLeast(end_s - joined_s)

    lasting = np.logical_and.accumulate(fair[::-1])[::-1]
    return Row(first_s(fair), first_s(lasting), float(fair.mean()), testbed.utilisation(result))


TWO_CUBIC = Experiment(
    "two CUBIC",
    [{}],
    _scenario,
    row,
    # The times spread widely, so their median needs more runs than the other figures' ten.
    seeds=40,
    variant_seeds=20,
    variants=(
        *testbed.BUFFERS,
        *testbed.VARIANTS,
        Variant("start", "50 s apart", ["flow.2.start=50s", "duration=300s"]),
        *testbed.MORE_VARIANTS,
        Variant("RTT", "246 ms, the caption's", ["rtt=246ms"]),
    ),
    assumed=testbed.ASSUMED | {"bottleneck.buffer": "that of section 6.1", "rtt": "the text's"},
)

FAIR_S = (
    Column(TWO_CUBIC, "fair_s", "time until both are within 20 % of equal, median", "s", "< 200 s")
    .at()
    .as_median()
)
LASTING_S = Column(TWO_CUBIC, "lasting_s", "the same, and stay so, median", "s").at().as_median()

FIGURE = Figure(
    plot=plots.windows({"": (TWO_CUBIC, {})}, paper=(200, "fair within 200 s")),
    quantities=[
        FAIR_S,
        LASTING_S,
        Column(TWO_CUBIC, "fair_part", "part of the windows of 10 s in which both are").at(),
        Column(TWO_CUBIC, "utilisation", "utilisation").at(),
    ],
    claims=[
        Claim(
            "ha2008.fig4.plateau",
            "Two CUBIC flows reach a fair share within 200 s",
            [below(FAIR_S, 200)],
            readings={"from then on": [below(LASTING_S, 200)]},
        )
    ],
)
