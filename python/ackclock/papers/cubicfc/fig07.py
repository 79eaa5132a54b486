"""Figure 7: difference of the two flows' throughputs over the RTT.

"Fig. 7 shows us the difference of the average throughput of two flows, i.e. average throughput of
Flow 1 - average throughput of Flow 2. We can see that, whether with or without background traffic,
the two flows of Cubic-FC always can achieve fairer throughput than original Cubic" (section IV.C),
in the runs of figure 6.
"""

from ackclock.figures import Claim, Column, Figure, plots
from ackclock.papers.cubicfc._experiments import NAMES, RTTS, RTTS_MS, WITH, WITHOUT, gain

DIFFERENCE = Column(RTTS, "difference_mbps", "throughput of flow 1 − flow 2", "Mb/s")

GAINS = [
    gain(DIFFERENCE, background=background, rtt_ms=rtt)
    for background in (WITHOUT, WITH)
    for rtt in RTTS_MS
]

FIGURE = Figure(
    plot=plots.curves(
        {
            background: plots.by(DIFFERENCE, "rtt_ms", "algorithm", NAMES, background=background)
            for background in (WITHOUT, WITH)
        },
        xlabel="RTT (ms)",
        ylabel="throughput of flow 1 − flow 2 (Mb/s)",
    ),
    quantities=[*DIFFERENCE.everywhere(), *(each.beside("> 0") for each in GAINS)],
    claims=[
        Claim(
            "cubicfc.fig7.fairer",
            "At every RTT two Cubic-FC flows differ less in throughput than two CUBIC flows",
            [each.above(0) for each in GAINS],
            paper="> 0 everywhere",
            quote="“Whether with or without background traffic, the two flows of Cubic-FC always "
            "can achieve fairer throughput than original Cubic” (IV.C)",
        )
    ],
)
