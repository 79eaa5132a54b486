"""Figure 7: the period-two cycle under synchronised conditions.

"Under synchronised conditions this adaptive action leads to a period two cycle, illustrated in
Figure 7 and is also evident in many of the cwnd time histories ... Observe that in every second
period the cubic increase is aggressively probing for bandwidth at the point of backoff" (section
IV.C). The figure states no conditions; these are figure 2's, after 600 s.

What alternates is the epoch's length. The peaks cannot alternate: with a drop-tail queue the sum of
synchronised peaks is pipe and queue.
"""

from ackclock.figures import Claim, Column, Figure, plots
from ackclock.papers.leith2007.fig02 import CONVERGED_S, JOINED

RATES_MBPS = (10, 250)
EPOCHS = Column(
    JOINED, "epochs_lag_1", "lag-1 autocorrelation of the epoch's length", "", "period two"
)
PEAKS = Column(JOINED, "peaks_lag_1", "lag-1 autocorrelation of the peaks", "", "no cycle")


FIGURE = Figure(
    plot=plots.windows(
        {f"{rate} Mb/s": (JOINED, {"rate_mbps": rate}) for rate in RATES_MBPS},
        after=lambda axes: plots.shown_from(axes, CONVERGED_S, CONVERGED_S + 100),
    ),
    quantities=[column.at(rate_mbps=rate) for column in (EPOCHS, PEAKS) for rate in RATES_MBPS],
    claims=[
        Claim(
            "leith2007.fig7.period-two",
            "With synchronised flows every second epoch is short: a period-two cycle",
            [EPOCHS.at(rate_mbps=rate).below(-0.5).ours for rate in RATES_MBPS],
            paper="period two",
            quote="“Under synchronised conditions this adaptive action leads to a period two "
            "cycle” (IV.C)",
            readings={
                "of the peaks": [PEAKS.at(rate_mbps=rate).below(-0.5).ours for rate in RATES_MBPS]
            },
        )
    ],
)
