"""Figure 16: a CUBIC flow and a standard flow at 1 Mb/s.

"Cubic TCP (flow 1) and standard TCP (flow 2) flows. 1Mbps link, BDP queue, flow 1 RTT 160ms, flow 2
RTT 16ms" (caption). "At low cwnds, Cubic TCP can exhibit gross unfairness when competing with
standard TCP flows ... this appears to be due to quantisation issues" (section VII).
"""

from ackclock.figures import Claim, Figure
from ackclock.papers.leith2007 import _starved as starved

FIGURE = Figure(
    plot=starved.histories(starved.MIXED),
    quantities=[
        *starved.SMALLER.everywhere(pair=starved.MIXED),
        *starved.SMALLER.everywhere(pair=starved.STANDARD),
        *(starved.against_standard(starved.MIXED, pipe) for pipe in starved.PIPES),
    ],
    claims=[
        Claim(
            "leith2007.fig16.std-1M",
            "At 1 Mb/s CUBIC and standard TCP share grossly unfairly",
            starved.starved(starved.MIXED),
            paper="gross unfairness",
            quote="“Cubic TCP can exhibit gross unfairness when competing with standard TCP "
            "flows” (VII)",
            readings=starved.with_any_buffer(starved.MIXED),
        )
    ],
)
