"""Sentences: what slows convergence.

"The convergence rate of the network depends on two factors: (a) the rate at which individual flows
release bandwidth when informed of congestion", which "depends on the backoff factors" (section
IV.A): CUBIC's 0.8 against 0.5. "This adaptation [of the inflection point] improves the convergence
rate of Cubic TCP over the original algorithm" (section IV.C).

The paper shows no runs of either. Here two flows have figure 2's path at 250 Mb/s; convergence is
that of figure 2.
"""

from typing import NamedTuple

from ackclock import Result, Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, Quantity, grid, plots
from ackclock.papers import _converged as converged
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007 import fig02
from ackclock.papers.leith2007._testbed import CUBIC

HALVED, ORIGINAL = f"{CUBIC}:beta=0.5", f"{CUBIC}:fast_convergence=0"
#: Starts of flow 2: one cycle of flow 1.
CYCLE = (100, 60)
NAMES = {
    CUBIC: "CUBIC",
    HALVED: "back-off 0.5",
    ORIGINAL: "without the adaptation",
}


def _scenario(algorithm: str) -> Scenario:
    return testbed.scenario(250, [algorithm] * 2, [fig02.RTT_MS] * 2, duration="1200s", spread="0s")


class Row(NamedTuple):
    """From flow 2's start."""

    convergence_s: float


def row(result: Result) -> Row:
    """When two flows share fairly."""
    return Row(converged.convergence_s(result))


PARTS = Experiment(
    "back-off and adaptation",
    grid(algorithm=list(NAMES)),
    _scenario,
    row,
    seeds=fig02.STARTS,
    cycle=CYCLE,
    quick=["duration=400s"],
    variants=(*testbed.OPEN[1:], *testbed.BUFFERS),
    assumed=testbed.ASSUMED | {"duration": "long enough for the flows to converge"},
    says={"algorithm": NAMES},
)
CONVERGENCE = Column(PARTS, "convergence_s", "convergence", "s")


def _later(slow: str, fast: str) -> Quantity:
    name = f"convergence, {NAMES[slow]} − {NAMES[fast]}"
    return CONVERGENCE.difference(name, algorithm=(slow, fast)).beside("> 0")


BACK_OFF, ADAPTATION = _later(CUBIC, HALVED), _later(ORIGINAL, CUBIC)

FIGURE = Figure(
    plot=plots.windows(
        {name: (PARTS, {"algorithm": each}) for each, name in NAMES.items()},
        converged={name: CONVERGENCE.at(algorithm=each) for each, name in NAMES.items()},
    ),
    quantities=[*CONVERGENCE.everywhere(), BACK_OFF, ADAPTATION],
    claims=[
        Claim(
            "leith2007.s4.back-off",
            "A back-off of 0.8 converges more slowly than one of 0.5",
            [BACK_OFF.above(0)],
            paper="slower",
            quote="“The first depends on the backoff factors employed in the network” (IV.A)",
        ),
        Claim(
            "leith2007.s4.adaptation",
            "The adaptation of the inflection point converges faster than the original algorithm",
            [ADAPTATION.above(0)],
            paper="faster",
            quote="“This adaptation improves the convergence rate of Cubic TCP over the original "
            "algorithm” (IV.C)",
        ),
    ],
)
