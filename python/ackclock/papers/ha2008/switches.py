"""Sentences: what CUBIC's parts do.

"A side effect of setting β to a smaller value than 0.5 is slower convergence" (section 3.6). "To
improve the convergence speed of CUBIC, we add a heuristic in the protocol": fast convergence (3.7).
"CUBIC improves slow start for fast start-up by removing initial_ssthresh"; 2.2, without a clamp in
the convex region, has an improved "convergence speed" (table 1).

The paper describes no runs. Here two flows have figure 4's path without background traffic. Flow 2
starts within one cycle of flow 1, and convergence is that of the rule for all papers. The start-up
is the time until flow 1 carries 90 % of the link in one second.
"""

from typing import NamedTuple

import numpy as np

from ackclock import Flow, Result, Scenario, metrics
from ackclock.figures import AtLeast, Claim, Column, Experiment, Figure, Quantity, grid, plots
from ackclock.papers import _converged as converged
from ackclock.papers.ha2008 import _testbed as testbed

PLAIN = testbed.CUBIC
LARGER_BETA = f"{PLAIN}:beta=0.5"
NO_FAST_CONVERGENCE = f"{PLAIN}:fast_convergence=0"
CLAMPED = "cubic@2.6.22-rc4"
INITIAL_SSTHRESH = f"{PLAIN}:initial_ssthresh=100"
NAMES = {
    PLAIN: "CUBIC 2.2",
    LARGER_BETA: "with β = 0.5",
    NO_FAST_CONVERGENCE: "without fast convergence",
    CLAMPED: "with 2.1's clamp",
    INITIAL_SSTHRESH: "with initial_ssthresh = 100",
}
CYCLE = (100, 50)
FULL = 0.9


def _scenario(algorithm: str) -> Scenario:
    flows = [Flow(algorithm=algorithm)] * 2
    return testbed.scenario(flows, rtt_ms=240, background=0)


class Row(NamedTuple):
    """Convergence, from flow 2's start; when flow 1 alone first filled the link."""

    convergence_s: float
    start_up_s: float


def row(result: Result) -> Row:
    """The two flows of a run."""
    joined_s = metrics.last_start_s(result)
    first = metrics.throughput_bps(result, np.arange(int(joined_s)))[0]
    full = np.flatnonzero(first >= FULL * metrics.capacity_bps(result))
    start_up_s = float(full[0] + 1) if len(full) else AtLeast(joined_s)
    return Row(converged.convergence_s(result), start_up_s)


PARTS = Experiment(
    "CUBIC's parts",
    grid(algorithm=list(NAMES)),
    _scenario,
    row,
    seeds=12,
    cycle=CYCLE,
    quick=["duration=300s"],
    variants=(testbed.TSO, testbed.TICK, testbed.NO_JITTER, *testbed.BUFFERS[:2]),
    assumed=testbed.ASSUMED
    | {
        "*": "the paper describes no runs here",
        "flow.start": "over one cycle of flow 1, which has the link for itself before",
    },
    says={"algorithm": NAMES},
)
CONVERGENCE = Column(PARTS, "convergence_s", "convergence", "s")
START_UP = Column(PARTS, "start_up_s", "start-up", "s")


def _later(column: Column, slow: str, fast: str = PLAIN) -> Quantity:
    """How much longer one takes."""
    name = f"{column.name}, {NAMES[slow]} − {NAMES[fast]}"
    return column.difference(name, algorithm=(slow, fast)).beside("> 0")


BETA = _later(CONVERGENCE, PLAIN, LARGER_BETA)
FAST = _later(CONVERGENCE, NO_FAST_CONVERGENCE)
CLAMP = _later(CONVERGENCE, CLAMPED)
SSTHRESH = _later(START_UP, INITIAL_SSTHRESH)

FIGURE = Figure(
    plot=plots.windows(
        {NAMES[each]: (PARTS, {"algorithm": each}) for each in (PLAIN, LARGER_BETA, CLAMPED)},
        converged={
            NAMES[each]: CONVERGENCE.at(algorithm=each) for each in (PLAIN, LARGER_BETA, CLAMPED)
        },
    ),
    quantities=[*CONVERGENCE.everywhere(), *START_UP.everywhere(), BETA, FAST, CLAMP, SSTHRESH],
    claims=[
        Claim(
            "ha2008.s3.beta-slower",
            "A β smaller than 0.5 converges more slowly",
            [BETA.above(0)],
            paper="slower",
            quote="“A side effect of setting β to a smaller value than 0.5 is slower convergence” "
            "(3.6)",
        ),
        Claim(
            "ha2008.s3.fast-convergence",
            "Fast convergence improves the convergence speed",
            [FAST.above(0)],
            paper="faster",
            quote="“To improve the convergence speed of CUBIC, we add a heuristic in the "
            "protocol” (3.7)",
        ),
        Claim(
            "ha2008.table1.no-clamp",
            "Without the clamp in the convex region (2.2) flows converge faster than with it (2.1)",
            [CLAMP.above(0)],
            paper="faster",
            quote="“improved the scalability and convergence speed of the protocol, which doesn't "
            "clamp the increment” (table 1)",
        ),
        Claim(
            "ha2008.table1.start-up",
            "Without initial_ssthresh a flow starts up faster",
            [SSTHRESH.above(0)],
            paper="fast start-up",
            quote="“CUBIC improves slow start for fast start-up by removing initial_ssthresh” "
            "(table 1)",
        ),
    ],
)
