"""Figure 6: convergence time over the RTT.

"Fig. 6 shows the convergence times with and without background traffic. We can see Cubic-FC needs
shorter time to achieve convergence than original Cubic, and with the RTT gets bigger, Cubic-FC can
achieve more improvement [...] even background traffic breaks the global synchronization, Cubic-FC
can converge faster than original Cubic" (section IV.B). "Bandwidth is 800Mbps, the running time is
600s, and RTT is varied from 50ms to 300ms. 100%BDP" (caption).

Convergence is measured as in figure 2; with background it is that of the mean over the runs, whose
interval is a bootstrap over the seeds. A time that the end of the runs cut off counts as at least
that long, for either algorithm. Beside it: how fairly the flows share in the last 100 s.
"""

from functools import partial
from typing import Any

import numpy as np

from ackclock.estimates.stats import Estimate
from ackclock.figures import Claim, Column, Figure, Part, Quantity, computed, plots, slope
from ackclock.figures.quantity import Rows
from ackclock.papers import _converged as converged
from ackclock.papers.cubicfc._experiments import (
    CUBIC,
    CUBIC_FC,
    NAMES,
    RTTS,
    RTTS_MS,
    WITH,
    WITHOUT,
    gain,
)

LAST = Column(RTTS, "last_ratio", "slower / faster flow, last 100 s")


class _Times:
    """Convergence at a threshold: of each run, or with background of the mean over the runs."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.name = converged.words(share)
        self.column = Column(RTTS, converged.columns()[share], self.name, "s")

    def at(self, **point: Any) -> Quantity:
        """At one point."""
        if point["background"] == WITHOUT:
            return self.column.at(**point)
        name = f"{self.name} of the mean, {RTTS.say(RTTS.the(**point))}"
        return converged.of_mean(RTTS, self.share, **point).named(name)

    def gain(self, background: str, rtt_ms: int) -> Quantity:
        """CUBIC minus Cubic-FC."""
        point: dict[str, Any] = {"background": background, "rtt_ms": rtt_ms}
        if background == WITHOUT:
            return gain(self.column, **point)
        points = [RTTS.the(algorithm=each, **point) for each in (CUBIC, CUBIC_FC)]

        def estimate(rows: Rows) -> Estimate:
            later, sooner = (converged.Ensemble(rows[RTTS], each) for each in points)
            count, end_s = len(later.seeds), min(later.seconds, sooner.seconds)
            a, b = (partial(each.until_s, share=self.share) for each in (later, sooner))
            return converged.difference(a, b, count, end_s)

        name = f"{self.name}, CUBIC − Cubic-FC, {background}, {rtt_ms} ms"
        return computed(name, "s", tuple((RTTS, each) for each in points), estimate)

    def trend(self, background: str) -> Quantity:
        """How the gain grows over the RTT."""
        name = f"gain per 100 ms of RTT, {background}"
        if background == WITHOUT:
            gains = {rtt / 100: gain(self.column, background=background, rtt_ms=rtt)
                     for rtt in RTTS_MS}  # fmt: skip
            return slope(name, "s", gains)
        x = np.array(RTTS_MS) / 100
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()

        def estimate(rows: Rows) -> Estimate:
            pairs = [
                [
                    converged.Ensemble(
                        rows[RTTS], RTTS.the(background=background, rtt_ms=rtt, algorithm=each)
                    )
                    for each in (CUBIC, CUBIC_FC)
                ]
                for rtt in RTTS_MS
            ]
            ends_s = min(each.seconds for pair in pairs for each in pair)

            def trend(chosen: np.ndarray) -> float:
                gains = [
                    min(a.until_s(chosen, self.share), ends_s)
                    - min(b.until_s(chosen, self.share), ends_s)
                    for a, b in pairs
                ]
                return float(weights @ gains)

            return converged.estimate(trend, len(pairs[0][0].seeds), ends_s)

        return computed(name, "s", RTTS.needs(background=background), estimate)


TIMES = {share: _Times(share) for share in (converged.SHARE, *converged.OTHERS)}
JUDGED = TIMES[converged.SHARE]


def _faster(times: _Times) -> list[Part]:
    """The gain at each point, and its trend over the RTT."""
    both = (WITHOUT, WITH)
    at_each = [times.gain(background, rtt).above(0) for background in both for rtt in RTTS_MS]
    return at_each + [times.trend(background).above(0) for background in both]


def _curves(background: str) -> plots.Curves:
    return {
        name: (
            plots.line_style(algorithm),
            {
                rtt: JUDGED.at(algorithm=algorithm, background=background, rtt_ms=rtt)
                for rtt in RTTS_MS
            },
        )
        for algorithm, name in NAMES.items()
    }


FIGURE = Figure(
    plot=plots.curves(
        {background: _curves(background) for background in (WITHOUT, WITH)},
        xlabel="RTT (ms)",
        ylabel="convergence time (s)",
        ylim=(0, None),
    ),
    quantities=[
        *(JUDGED.at(**point) for point in RTTS.points),
        *(part.quantity.beside("> 0") for part in _faster(JUDGED)),
        *LAST.everywhere(),
    ],
    claims=[
        Claim(
            "cubicfc.fig6.faster-everywhere",
            "Cubic-FC converges faster than CUBIC at every RTT, with and without background, "
            "and its gain grows with the RTT",
            _faster(JUDGED),
            paper="> 0 everywhere",
            quote="“Cubic-FC needs shorter time …, and with the RTT gets bigger, Cubic-FC can "
            "achieve more improvement” (IV.B)",
            readings={f"x = {share:g}": _faster(TIMES[share]) for share in converged.OTHERS},
        )
    ],
)
