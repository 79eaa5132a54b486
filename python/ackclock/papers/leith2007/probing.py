"""Sentences: who probes faster, and what the order of two transfers decides.

"In standard TCP flows with the same RTT probe for available bandwidth at the same rate. Strategies
such as H-TCP seek to mimic this behaviour … Other strategies, such as High-Speed TCP, BIC-TCP and
Cubic-TCP, result in flows with larger window sizes probing more aggressively than those with
smaller windows" (section IV.A). "Two identical file transfers may have very different completion
times depending on the order in which they are started" (section IV.B).

The paper shows no runs of either. Probing: a second flow joins at 10 Mb/s and 200 ms, where an
epoch of standard TCP is half a minute; growth is that from each recovery to the next loss, while
flow 1 has the larger window. Order: two transfers of 500 MB on the path of figure 5, which follows
the sentence (250 Mb/s, 50 ms), the second 5 to 10 s after the first.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from ackclock import Flow, Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, grid, plots
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC, HTCP, RENO

HSTCP, BIC = "highspeed", "bic"
LARGER_FASTER, ALIKE = (CUBIC, BIC, HSTCP), (RENO, HTCP)
NAMES = testbed.NAMES | {HSTCP: "HSTCP", BIC: "BIC"}
#: Both transfers end within it.
SHOWN_S = 60
#: Windows that differ by less tell nothing.
LARGER = 1.5


def _joining(algorithm: str) -> Scenario:
    return testbed.scenario(10, [algorithm] * 2, [200] * 2)


def _transfers(algorithm: str) -> Scenario:
    flows = (
        Flow(algorithm=algorithm, size="500MB"),
        Flow(algorithm=algorithm, size="500MB", start="5s", start_spread="5s"),
    )
    pipe = testbed.pipe(250)
    return testbed.hosts(flows=flows, bottleneck=pipe, rtt="50ms", duration="300s")


class Probing(NamedTuple):
    """Growth of flow 1 over that of flow 2, packets/s, while its window is larger."""

    ratio: float | None


def probing(result: Result) -> Probing:
    """The median over the epochs that begin while flow 1's window is 1.5 times flow 2's or more."""
    kinds = pl.col("kind").is_in(["recovered", "recovery"])
    from_us = metrics.last_start_s(result) * 1e6
    events = result.events.filter(kinds & (pl.col("time_us") >= from_us))
    first, second = (_epochs(events.filter(flow=flow)) for flow in (1, 2))
    ratios = []
    for start_s, growth, cwnd in first:
        beside = [each for each in second if abs(each[0] - start_s) < 1]
        if beside and beside[0][1] > 0 and cwnd > LARGER * beside[0][2]:
            ratios.append(growth / beside[0][1])
    return Probing(float(np.median(ratios)) if ratios else None)


def _epochs(events: pl.DataFrame) -> list[tuple[float, float, int]]:
    """Of each epoch of a second or more: when it begins, its growth per s, its first window."""
    columns = events.select(pl.col("time_us") / 1e6, "kind", "cwnd_packets")
    return [
        (start_s, (end - cwnd) / (end_s - start_s), cwnd)
        for (start_s, kind, cwnd), (end_s, until, end) in pairwise(columns.iter_rows())
        if (kind, until) == ("recovered", "recovery") and end_s - start_s >= 1
    ]


class Order(NamedTuple):
    """Completion time of the second transfer over that of the first; None: not both completed."""

    ratio: float | None


def order(result: Result) -> Order:
    """Both transfers of a run."""
    ends_us, starts_us = (result.flows[each].to_list() for each in ("completed_us", "start_us"))
    if not all(ends_us):
        return Order(None)
    first_us, second_us = (end - start for end, start in zip(ends_us, starts_us, strict=True))
    return Order(second_us / first_us)


PROBING = Experiment(
    "probing",
    grid(algorithm=[*LARGER_FASTER, *ALIKE]),
    _joining,
    probing,
    seeds=10,
    variants=(*testbed.OPEN[1:], *testbed.BUFFERS),
    assumed=testbed.ASSUMED | {"*": "the paper shows no runs of this"},
    says={"algorithm": NAMES},
)
ORDER = Experiment(
    "order of transfers",
    grid(algorithm=[CUBIC, HTCP]),
    _transfers,
    order,
    seeds=10,
    variants=(
        *testbed.OPEN[1:],
        *testbed.BUFFERS,
        Variant("RTT", "200 ms, figure 2's", ["rtt=200ms"]),
        Variant("ssthresh", "none kept", ["cubic:initial_ssthresh=0"]),
    ),
    assumed=testbed.ASSUMED | {"*": "the paper shows no runs of this"},
    says={"algorithm": NAMES},
)
GROWTH = Column(PROBING, "ratio", "growth of flow 1 / flow 2, the smaller")
SECOND = Column(ORDER, "ratio", "completion time, second / first transfer")

FIGURE = Figure(
    plot=plots.windows(
        {NAMES[each]: (ORDER, {"algorithm": each}) for each in (CUBIC, HTCP)},
        after=lambda axes: axes.set_xlim(0, SHOWN_S),
    ),
    quantities=[
        *(each.geometric() for each in GROWTH.everywhere()),
        *(each.geometric() for each in SECOND.everywhere()),
    ],
    claims=[
        Claim(
            "leith2007.s4.probing",
            "The flow with the larger window grows faster in CUBIC, BIC and HSTCP, and as fast "
            "in standard TCP and H-TCP",
            [
                *(GROWTH.at(algorithm=each).geometric().above(1) for each in LARGER_FASTER),
                *(GROWTH.at(algorithm=each).geometric().within(0.8, 1.25).ours for each in ALIKE),
            ],
            paper="larger, faster",
            quote="“High-Speed TCP, BIC-TCP and Cubic-TCP, result in flows with larger window "
            "sizes probing more aggressively” (IV.A)",
        ),
        Claim(
            "leith2007.s4.order",
            "Of two CUBIC transfers of one size the second takes at least 1.2 times as long",
            [SECOND.at(algorithm=CUBIC).geometric().above(1.2).ours],
            paper="very different",
            quote="“two identical file transfers may have very different completion times "
            "depending on the order” (IV.B)",
        ),
    ],
)
