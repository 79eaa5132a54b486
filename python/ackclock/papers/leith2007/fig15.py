"""Figure 15: a standard flow beside a CUBIC flow.

"Ratio of throughputs of competing Cubic TCP and standard TCP flows as path propagation delay is
varied. Results are shown for 10Mbit/sec and 250Mbit/sec bottleneck bandwidths. Both flows have the
same RTT. Queue size is 100% BDP, no web traffic. Results for two competing standard TCP flows are
also shown for reference" (caption). "The first flow operates the standard TCP algorithm while the
second flow operates Cubic TCP" (section VII); tests with standard TCP last an hour.
"""

import math

from ackclock.figures import Claim, Column, Figure, Part, Quantity, slope
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

RTTS_MS = (16, 40, 80, 160, 200)
MIXED = ratios.pair([testbed.RENO, testbed.CUBIC], RTTS_MS)
STANDARD = ratios.pair([testbed.RENO] * 2, RTTS_MS)

RATIO = ratios.column(MIXED, "ratio", "standard / CUBIC")
LAST = ratios.column(MIXED, "last_ratio", "standard / CUBIC, last 200 s")
STANDARDS = ratios.column(STANDARD, "ratio", "standard / standard", "for reference")


def _falls(ratio: dict[int, Column]) -> Quantity:
    """How the logarithm of the ratio falls over RTT × rate."""
    points = {
        math.log10(rate * rtt): ratio[rate].at(rtt_ms=rtt).geometric()
        for rate in ratios.RATES_MBPS
        for rtt in RTTS_MS
    }
    return slope("ln(standard / CUBIC) per decade of RTT × rate", "", points)


FIGURE = Figure(
    plot=ratios.plot(
        {"CUBIC": RATIO, "standard TCP": STANDARDS}, "throughput of the standard flow / the other"
    ),
    quantities=[*ratios.everywhere(RATIO), *ratios.everywhere(STANDARDS), _falls(RATIO)],
    claims=[
        Claim(
            "leith2007.fig15.backward-compat",
            "Throughput of a standard flow beside a CUBIC flow, over the RTT",
            [Part(_falls(RATIO)), Part(_falls(LAST)), *map(Part, ratios.everywhere(RATIO))],
            paper="a curve",
            quote="“The first flow operates the standard TCP algorithm while the second flow "
            "operates Cubic TCP” (VII)",
            reported=True,
        )
    ],
)
