"""Figure 10: large excursions of cwnd among 50 on-off sessions.

"Example of Cubic TCP cwnd time histories with three long-lived flows sharing a bottleneck link with
50 on-off sessions (mean time between requests of 10 seconds, connection sizes are Pareto
distributed with shape parameter of 1.2 and mean 600 packets). Bandwidth is 250 Mbit/sec, RTT is
200ms, queue size 100% BDP" (caption). "The potential for large excursions is evident, and is
demonstrated experimentally in Figure 10" (section IV.C).

An excursion is a cwnd at a back-off far above that at the flow's back-off before.
"""

from ackclock.figures import Claim, Column, Figure, plots
from ackclock.papers.leith2007._unsync import WITH_50, WITHOUT

EXCURSION, CONTROL = (
    Column(each, "excursion", f"largest cwnd at a back-off / at the one before, {each.name}").at()
    for each in (WITH_50, WITHOUT)
)
AGAINST = (EXCURSION / CONTROL).named("largest excursion, 50 sessions / none")
OVER_MEDIAN = Column(WITH_50, "over_median", "largest cwnd of a flow / its median").at()

FIGURE = Figure(
    plot=plots.windows({"50 sessions": (WITH_50, {}), "no sessions": (WITHOUT, {})}),
    quantities=[
        EXCURSION.beside("large"),
        CONTROL,
        AGAINST,
        OVER_MEDIAN,
        Column(WITH_50, "all_lose", "share of congestion events in which all three lose").at(),
    ],
    claims=[
        Claim(
            "leith2007.fig10.excursions",
            "The cwnd of flows that miss drops makes large excursions",
            [AGAINST.above(1.2).ours],
            paper="large",
            quote="“the potential for large excursions is evident, and is demonstrated "
            "experimentally in Figure 10” (IV.C)",
            readings={
                "largest / previous > 1.5": [EXCURSION.above(1.5).ours],
                "largest / median cwnd": [OVER_MEDIAN.above(2).ours],
            },
        )
    ],
)
