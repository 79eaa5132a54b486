"""Figure 2: the interface of a pluggable congestion module.

"It is dynamically loadable and allows switching between different congestion control algorithm
modules on the fly without recompilation. … A new congestion control algorithm requires to define
cong_avoid and ssthresh, but the other methods are optional" (section 4.2).

two_hooks.c is standard TCP in these two hooks. It is compiled when the scenario runs, and compared
with the built-in standard TCP. A test in crates/linux loads such a file into a kernel. Nothing is
random, so a run is not repeated.
"""

from pathlib import Path
from typing import NamedTuple

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, grid, plots
from ackclock.papers.ha2008 import _testbed as testbed

TWO_HOOKS, BUILT_IN = "two hooks", "built-in"
FILES = {TWO_HOOKS: str(Path(__file__).with_name("two_hooks.c")), BUILT_IN: testbed.SACK}


def _scenario(of: str) -> Scenario:
    return Scenario(
        duration="60s",
        rtt="40ms",
        profile=testbed.PROFILE,
        jitter="0s",
        bottleneck=Bottleneck(rate="100mbit", buffer="1bdp"),
        flows=(Flow(algorithm=FILES[of]),),
    )


class Row(NamedTuple):
    """A run."""

    delivered_mb: float


def row(result: Result) -> Row:
    """By the flow's end."""
    return Row(float(result.flows["delivered_bytes"][0]) / 1e6)


HOOKS = Experiment(
    "hooks",
    grid(of=[TWO_HOOKS, BUILT_IN]),
    _scenario,
    row,
    seeds=1,
    variants=(testbed.TSO, *testbed.HOSTS),
    assumed={"*": "the paper describes no runs here"},
)

DELIVERED = Column(HOOKS, "delivered_mb", "delivered", "MB")
SAME = DELIVERED.ratio("delivered, two hooks / built-in", of=(TWO_HOOKS, BUILT_IN))

FIGURE = Figure(
    plot=plots.windows({name: (HOOKS, {"of": name}) for name in FILES}),
    quantities=[*DELIVERED.everywhere(), SAME.beside(1)],
    claims=[
        Claim(
            "ha2008.s4.hooks",
            "A new algorithm needs only ssthresh and cong_avoid",
            [SAME.within(0.99, 1.01).ours],
            paper="two hooks",
            quote="“A new congestion control algorithm requires to define cong_avoid and "
            "ssthresh, but the other methods are optional” (4.2)",
        )
    ],
)
