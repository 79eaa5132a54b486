"""Two flows at 1 Mb/s with RTTs of 160 and 16 ms: figures 14 and 16.

The figures do not give the buffer: a "BDP queue" (figure 16) holds 13 packets at 160 ms and 1
packet at 16 ms. Nor do they say where ACKs go. A dummynet rule for all packets "from any to any"
sends both directions through one pipe, and then each ACK takes one of its slots, and its turn,
among the data. With a rule for each direction ACKs have a pipe that they do not fill. Both are
natural; `back` has either.
"""

from typing import NamedTuple

from ackclock import Flow, Result, Scenario
from ackclock.figures import Column, Experiment, Part, Quantity, Variant, grid, plots
from ackclock.figures.figure import Plot
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC, RENO

RTTS_MS = (160, 16)
BUFFERS = (1, 2, 3, 4, 6, 8, 13, 20, 50)
#: The BDP of the longer RTT.
BDP = 13
OWN, SHARED = "ACKs in their own pipe", "ACKs in the data's pipe"
PIPES = (OWN, SHARED)
#: Shares are those of the run after this time.
WARM_UP_S = 100
#: Of a flow that carries nothing, so that ratios are finite.
LEAST_SHARE = 1e-4

PAIRS = {
    f"{CUBIC} {CUBIC}": "two CUBIC flows",
    f"{CUBIC} {RENO}": "CUBIC and standard TCP",
    f"{RENO} {RENO}": "two standard flows",
}
BOTH, MIXED, STANDARD = PAIRS


def _scenario(pair: str, pipe: str, slots: int) -> Scenario:
    back = (1,) if pipe == SHARED else ()
    return testbed.hosts(
        links=(testbed.pipe(1, f"{slots}packets"),),
        flows=tuple(
            Flow(algorithm=algorithm, rtt=f"{rtt_ms}ms", start_spread="1s", back=back)
            for algorithm, rtt_ms in zip(pair.split(), RTTS_MS, strict=True)
        ),
    )


class Row(NamedTuple):
    """Shares of the throughput after the first 100 s."""

    smaller_share: float
    #: Of the larger flow to the smaller.
    unequal: float
    share_1: float
    timeouts: int


def row(result: Result) -> Row:
    """The share of flow 1, and of the smaller flow."""
    one, two = testbed.last_throughputs_mbps(result, WARM_UP_S)
    share = one / (one + two)
    smaller = max(min(share, 1 - share), LEAST_SHARE)
    return Row(smaller, 1 / smaller - 1, share, int(result.flows["timeouts"].sum()))


PIPE = Experiment(
    "one pipe",
    grid(pair=list(PAIRS), pipe=PIPES, slots=BUFFERS),
    _scenario,
    row,
    variants=(
        testbed.READING,
        testbed.WITH_TSO,
        Variant("router's tick", "none", ["link.1.tick=0s"]),
        testbed.JITTER,
        Variant("start of flow 2", "100 s", ["flow.2.start=100s"]),
        Variant("duration", "an hour", ["duration=3600s"]),
    ),
    assumed=testbed.ASSUMED
    | {
        "link.buffer": "the figures do not say: from 1 to 50 packets",
        "link.tick": testbed.ASSUMED["bottleneck.tick"],
        "flow.back": "the paper does not say: both",
    },
    says={"pair": PAIRS, "slots": "{} packets"},
)
SMALLER = Column(PIPE, "smaller_share", "share of the smaller flow", "", "starved")
UNEQUAL = Column(PIPE, "unequal", "larger / smaller flow")


def against_standard(pair: str, pipe: str, slots: int = BDP) -> Quantity:
    """How unequal a pair is against two standard flows."""
    name = f"larger / smaller flow, {PAIRS[pair]} / two standard flows, {pipe}"
    return UNEQUAL.ratio(name, pair=(pair, STANDARD), pipe=pipe, slots=slots)


def starved(pair: str) -> list[Part]:
    """Less than a fifth at 13 packets in each pipe, and more so than two standard flows."""
    return [
        *(SMALLER.at(pair=pair, pipe=each, slots=BDP).below(0.2).ours for each in PIPES),
        *(against_standard(pair, each).above(1.5).ours for each in PIPES),
    ]


def with_any_buffer(pair: str) -> dict[str, list[Part]]:
    """Both parts in one pipe alone, with each buffer."""
    return {
        f"{pipe} only, {slots} packet{'s' * (slots > 1)}": [
            SMALLER.at(pair=pair, pipe=pipe, slots=slots).below(0.2).ours,
            against_standard(pair, pipe, slots).above(1.5).ours,
        ]
        for pipe in PIPES
        for slots in BUFFERS
    }


def histories(pair: str) -> Plot:
    """The windows of both flows at 13 packets, in each pipe."""
    point = {"pair": pair, "slots": BDP}
    return plots.windows({pipe: (PIPE, {**point, "pipe": pipe}) for pipe in PIPES})
