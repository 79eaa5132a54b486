"""Figure 12: two flows with different RTTs.

"Ratio of throughputs of two competing Cubic TCP flows as the propagation delay of the second flow
is varied. Results are shown for 10Mbit/sec and 250Mbit/sec bottleneck bandwidths. Flow 1 has RTT of
162ms, the RTT of Flow 2 is marked on the x-axis of the plots. Queue size is 100% BDP, no web
traffic" (caption). "Cubic TCP is generally significantly more fair than standard TCP, with the
ratio of flow throughputs never falling below about 0.25" (section VI).

"In the case of tests involving Standard TCP, we ran individual tests for up to an hour" (section
II.A). "Fairness" is the smaller throughput over the larger.
"""

from ackclock.figures import Claim, Figure, Part, Quantity, mean_of
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

RTT_1_MS = 162
#: From 16 to 162 ms; the paper does not list the figure's points.
RTTS_MS = (16, 40, 80, 120, 162)
CUBIC = ratios.pair([testbed.CUBIC] * 2, RTTS_MS, RTT_1_MS)
STANDARD = ratios.pair([testbed.RENO] * 2, RTTS_MS, RTT_1_MS)

RATIO = ratios.column(CUBIC, "ratio", "CUBIC, flow 1 / flow 2", "never below ≈ 0.25")
STANDARDS = ratios.column(STANDARD, "ratio", "standard TCP, flow 1 / flow 2", "less fair")


def _fairer(name: str = "fairness") -> list[Quantity]:
    """Fairness of CUBIC minus that of standard TCP at each rate and RTT."""
    both = [ratios.column(each, name, "fairness") for each in (CUBIC, STANDARD)]
    return [
        (cubic - standard).named(f"{cubic.name}, CUBIC − standard")
        for rate in ratios.RATES_MBPS
        for cubic, standard in zip(*(each[rate].everywhere() for each in both), strict=True)
    ]


def _parts(fairer: list[Quantity]) -> list[Part]:
    """Generally fairer, at each rate, and never too unfair."""
    some = len(RTTS_MS)
    means = [
        mean_of(f"fairness, mean over RTTs, {rate} Mb/s, CUBIC − standard", fairer[at : at + some])
        for at, rate in zip((0, some), ratios.RATES_MBPS, strict=True)
    ]
    never_below = [each.above(0.2).ours for each in ratios.everywhere(RATIO)]
    return [*(each.above(0) for each in means), *never_below]


FIGURE = Figure(
    plot=ratios.plot(
        {"CUBIC": RATIO, "standard TCP": STANDARDS},
        "throughput of flow 1 / flow 2",
        "RTT of flow 2 (ms); flow 1 has 162 ms",
        never_below=0.25,
    ),
    quantities=[
        *ratios.everywhere(RATIO),
        *ratios.everywhere(STANDARDS),
        *(part.quantity for part in _parts(_fairer())[:2]),
        *_fairer(),
    ],
    claims=[
        Claim(
            "leith2007.fig12.rtt-ratio",
            "CUBIC is generally fairer than standard TCP; its ratio is never below ≈ 0.25",
            _parts(_fairer()),
            paper="fairer; > ≈ 0.25",
            quote="“generally significantly more fair than standard TCP, with the ratio of flow "
            "throughputs never falling below about 0.25” (VI)",
            readings={
                "over the last 200 s": _parts(_fairer("last_fairness")),
                "fairer at every RTT": [
                    *(each.above(0) for each in _fairer()),
                    *_parts(_fairer())[2:],
                ],
            },
        )
    ],
)
