"""Figure 6: convergence time over the RTT.

"Fig. 6 shows the convergence times with and without background traffic. We can see Cubic-FC needs
shorter time to achieve convergence than original Cubic, and with the RTT gets bigger, Cubic-FC can
achieve more improvement [...] even background traffic breaks the global synchronization, Cubic-FC
can converge faster than original Cubic" (section IV.B). "Bandwidth is 800Mbps, the running time is
600s, and RTT is varied from 50ms to 300ms. 100%BDP" (caption).

Convergence is measured as in figure 2. A time that the end of a run cuts off counts as the time to
the end: its mean is a restricted mean. When flows first share fairly is a part of its own, as they
may drift apart again. Beside it: how fairly the flows share in the last 100 s.
"""

from ackclock.figures import Claim, Column, Figure, Part, plots, slope
from ackclock.papers import _converged as converged
from ackclock.papers.cubicfc._experiments import (
    NAMES,
    RTTS,
    RTTS_MS,
    WITH,
    WITHOUT,
    gain,
)

LAST = Column(RTTS, "last_ratio", "slower / faster flow, last 100 s")
SETTLED = Column(RTTS, "settled_s", "convergence", "s")
FIRST = Column(RTTS, "first_fair_s", "first fair window", "s")
OTHERS = {
    f"x = {share:g}": Column(RTTS, column, converged.words(share), "s")
    for share, column in converged.columns(converged.OTHERS).items()
}
BOTH = (WITHOUT, WITH)


def _faster(column: Column) -> list[Part]:
    """The gain at each point, and its trend over the RTT."""
    gains = {
        background: {rtt: gain(column, background=background, rtt_ms=rtt) for rtt in RTTS_MS}
        for background in BOTH
    }
    trends = [
        slope(
            f"gain per 100 ms of RTT, {column.name}, {background}",
            "s",
            {rtt / 100: each for rtt, each in by_rtt.items()},
        )
        for background, by_rtt in gains.items()
    ]
    every = [each for by_rtt in gains.values() for each in by_rtt.values()]
    return [each.above(0) for each in [*every, *trends]]


def _first() -> list[Part]:
    """The gain at each point alone: the paper's trend is that of the convergence."""
    return _faster(FIRST)[: len(BOTH) * len(RTTS_MS)]


FIGURE = Figure(
    plot=plots.curves(
        {
            background: plots.by(SETTLED, "rtt_ms", "algorithm", NAMES, background=background)
            for background in BOTH
        },
        xlabel="RTT (ms)",
        ylabel="convergence time (s)",
        ylim=(0, None),
    ),
    quantities=[
        *SETTLED.everywhere(),
        *FIRST.everywhere(),
        *(part.quantity.beside("> 0") for part in _faster(SETTLED)),
        *LAST.everywhere(),
    ],
    claims=[
        Claim(
            "cubicfc.fig6.faster-everywhere",
            "Cubic-FC converges faster than CUBIC at every RTT, with and without background, "
            "and its gain grows with the RTT",
            [*_faster(SETTLED), *_first()],
            paper="> 0 everywhere",
            quote="“Cubic-FC needs shorter time …, and with the RTT gets bigger, Cubic-FC can "
            "achieve more improvement” (IV.B)",
            readings={name: _faster(of) for name, of in OTHERS.items()}
            | {"the first fair window": _first()},
        )
    ],
)
