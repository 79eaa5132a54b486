"""Figure 6: three CUBIC flows among 25 on-off sessions.

"Two examples of Cubic TCP cwnd time histories. Three long-lived flows sharing a bottleneck link
with 25 on-off sessions (mean time between requests of 10 seconds, connection sizes are Pareto
distributed with shape parameter of 1.2 and mean 600 packets). Bandwidth is 250 Mbit/sec, RTT is
200ms, queue size 100% BDP" (caption). "While the long-term (measured over a period of an hour)
throughputs of the flows are similar, it can be seen that sustained periods (extending to hundreds
of seconds) of unfairness occur" (section IV.B).
"""

from ackclock.figures import Claim, Column, Figure, plots
from ackclock.papers.leith2007._testbed import CUBIC
from ackclock.papers.leith2007._unsync import WITH_25, WITHOUT

RUN = {"algorithm": CUBIC}
HOUR = Column(WITH_25, "hour_ratio", "largest / smallest throughput of the hour", "", "similar").at(
    **RUN
)
WINDOW = Column(
    WITH_25, "window_ratio", "most of that in any 200 s", "", "unfair for hundreds of seconds"
).at(**RUN)
CONTROL = Column(WITHOUT, "window_ratio", "most of that in any 200 s, no sessions").at()
AGAINST = (WINDOW / CONTROL).named("most unequal 200 s, 25 sessions / none")
STRETCH = Column(
    WITH_25, "unfair_stretch_s", "longest stretch with a ratio above 2 in each 10 s", "s"
).at(**RUN)
ALL_LOSE = Column(WITH_25, "all_lose", "share of congestion events in which all three lose").at(
    **RUN
)

FIGURE = Figure(
    plot=plots.windows({"25 sessions": (WITH_25, RUN)}),
    quantities=[HOUR, WINDOW, CONTROL, AGAINST, STRETCH, ALL_LOSE],
    claims=[
        Claim(
            "leith2007.fig6.unsync",
            "Means over an hour are similar, but unfairness lasts hundreds of seconds",
            [HOUR.below(1.5).ours, AGAINST.above(1.2).ours],
            paper="similar; unfair",
            reported=True,
            quote="“sustained periods (extending to hundreds of seconds) of unfairness occur” "
            "(IV.B)",
            readings={
                "above 1.5 in some 200 s": [HOUR.below(1.5).ours, WINDOW.above(1.5).ours],
                "above 2 in every 10 s for 100 s": [
                    HOUR.below(1.5).ours,
                    STRETCH.above(100).ours,
                ],
            },
        )
    ],
)
