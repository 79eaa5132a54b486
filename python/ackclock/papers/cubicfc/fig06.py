"""Figure 6: convergence time over the RTT.

"Fig. 6 shows the convergence times with and without background traffic. We can see Cubic-FC needs
shorter time to achieve convergence than original Cubic, and with the RTT gets bigger, Cubic-FC can
achieve more improvement [...] even background traffic breaks the global synchronization, Cubic-FC
can converge faster than original Cubic" (section IV.B). "Bandwidth is 800Mbps, the running time is
600s, and RTT is varied from 50ms to 300ms. 100%BDP" (caption).

Convergence is measured as in figure 2. A run that had not converged at its end counts as at least
that long, for either algorithm.
"""

from ackclock.figures import Claim, Column, Figure, Part, above, plots, slope
from ackclock.papers.cubicfc._experiments import NAMES, RTTS, RTTS_MS, WITH, WITHOUT, gain

CONVERGENCE = Column(RTTS, "convergence_s", "convergence time", "s")
FIRST_95 = Column(RTTS, "first_95_s", "first window with 95 %", "s")
FIRST_80 = Column(RTTS, "first_80_s", "first window with 80 %", "s")


def _faster(column: Column) -> list[Part]:
    """The gain at each point, and its trend over the RTT."""
    at_each = [
        above(gain(column, **point), 0)
        for point in ({"background": b, "rtt_ms": r} for b in (WITHOUT, WITH) for r in RTTS_MS)
    ]
    trends = [
        slope(
            f"gain per 100 ms of RTT, {background}",
            "s",
            {rtt / 100: gain(column, background=background, rtt_ms=rtt) for rtt in RTTS_MS},
        )
        for background in (WITHOUT, WITH)
    ]
    return at_each + [above(each, 0) for each in trends]


FIGURE = Figure(
    plot=plots.curves(
        {
            background: plots.by(CONVERGENCE, "rtt_ms", "algorithm", NAMES, background=background)
            for background in (WITHOUT, WITH)
        },
        xlabel="RTT (ms)",
        ylabel="convergence time (s)",
        ylim=(0, None),
    ),
    quantities=[
        *CONVERGENCE.everywhere(),
        *(part.quantity.beside("> 0") for part in _faster(CONVERGENCE)),
    ],
    claims=[
        Claim(
            "cubicfc.fig6.faster-everywhere",
            "Cubic-FC converges faster than CUBIC at every RTT, with and without background, "
            "and its gain grows with the RTT",
            _faster(CONVERGENCE),
            readings={
                "first window with 95 %": _faster(FIRST_95),
                "first window with 80 %": _faster(FIRST_80),
            },
        )
    ],
)
