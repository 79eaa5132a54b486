"""Figure 9: the distribution of cwnd with CUBIC and with H-TCP.

"Measured distribution of cwnd. Measurements are shown for both Cubic-TCP and H-TCP using a backoff
factor of 0.8. Experimental setup as in Figure 6 – three Cubic flows and 25 background sessions.
Bandwidth is 250 Mbit/sec, RTT 200ms, queue size 100% BDP" (caption). "The cwnd distributions are
extremely similar" (section IV.C): the back-off makes the difference. The control is H-TCP with its
own, adaptive back-off.
"""

import numpy as np
from matplotlib.axes import Axes

from ackclock.draw import style
from ackclock.figures import Claim, Column, Figure, Quantity, Repeats, View, computed, plots
from ackclock.figures.quantity import Rows
from ackclock.papers.leith2007._testbed import CUBIC
from ackclock.papers.leith2007._unsync import BIN_PACKETS, BINS, HTCP, OWN, WITH_25

NAMES = {CUBIC: "CUBIC", HTCP: "H-TCP, back-off 0.8", OWN: "H-TCP, its own back-off"}


def _distance(of_htcp: str) -> Quantity:
    """Kolmogorov–Smirnov: the largest difference of the shares at or below a cwnd, by seed."""

    def by_seed(rows: Rows) -> Repeats:
        cubic, htcp = (
            {
                seed: np.cumsum(counts) / np.sum(counts)
                for seed, counts in rows[WITH_25]
                .at(WITH_25.the(algorithm=each))
                .select("seed", "cwnd_counts")
                .iter_rows()
            }
            for each in (CUBIC, of_htcp)
        )
        both = cubic.keys() & htcp.keys()
        apart = {seed: float(np.abs(cubic[seed] - htcp[seed]).max()) for seed in sorted(both)}
        return Repeats.by_seed(apart)

    name = f"Kolmogorov–Smirnov distance of CUBIC from {NAMES[of_htcp]}"
    needs = tuple((WITH_25, WITH_25.the(algorithm=each)) for each in (CUBIC, of_htcp))
    return computed(name, "", needs, by_seed)


DISTANCE, CONTROL = _distance(HTCP).beside("extremely similar"), _distance(OWN)
AGAINST = (DISTANCE / CONTROL).named("distance from H-TCP, with 0.8 / with its own back-off")


def _variation(algorithm: str) -> Quantity:
    """Standard deviation of cwnd over its mean, by seed, from the counts of its bins."""

    def by_seed(rows: Rows) -> Repeats:
        middles = (np.arange(BINS) + 0.5) * BIN_PACKETS
        runs = rows[WITH_25].at(WITH_25.the(algorithm=algorithm))
        found = {}
        for seed, counts in runs.select("seed", "cwnd_counts").iter_rows():
            mean = np.average(middles, weights=counts)
            found[seed] = float(np.average((middles - mean) ** 2, weights=counts) ** 0.5 / mean)
        return Repeats.by_seed(found)

    needs = ((WITH_25, WITH_25.the(algorithm=algorithm)),)
    return computed(f"coefficient of variation of cwnd, {NAMES[algorithm]}", "", needs, by_seed)


VARIATION = {algorithm: _variation(algorithm) for algorithm in NAMES}
#: How far CUBIC's is from H-TCP's, in logarithms.
APART = {of: VARIATION[CUBIC] / VARIATION[of] for of in (HTCP, OWN)}


@plots.drawn(6, 3.4)
def _plot(axes: Axes, view: View) -> None:
    edges = np.arange(BINS + 1) * BIN_PACKETS
    for algorithm, name in NAMES.items():
        counts = np.sum(view.runs(WITH_25, algorithm=algorithm)["cwnd_counts"].to_list(), 0)
        colour = style.FLOWS[4] if algorithm == OWN else plots.line_style(algorithm)["color"]
        axes.stairs(100 * counts / counts.sum(), edges, color=colour, label=name)
    axes.set_xlim(0, 4000)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("cwnd (packets)")
    axes.set_ylabel(f"samples per {BIN_PACKETS} packets (%)")
    axes.legend(fontsize="small")


FIGURE = Figure(
    plot=_plot,
    quantities=[
        DISTANCE,
        CONTROL,
        AGAINST,
        *VARIATION.values(),
        *APART.values(),
        *Column(
            WITH_25, "all_lose", "share of congestion events in which all three lose"
        ).everywhere(),
    ],
    claims=[
        Claim(
            "leith2007.fig9.cwnd-distribution",
            "CUBIC and H-TCP with the same back-off have the same distribution of cwnd",
            [AGAINST.below(0.5).ours],
            paper="extremely similar",
            quote="“the cwnd distributions are extremely similar” (IV.C)",
            readings={"distance below 0.15": [DISTANCE.below(0.15).ours]},
        ),
        Claim(
            "leith2007.fig9.variation",
            "With the same back-off the coefficients of variation of CUBIC and H-TCP are alike, "
            "with H-TCP's own they are not",
            [APART[HTCP].within(0.8, 1.25).ours, APART[OWN].below(0.8).ours],
            paper="due to the back-off",
            quote="“differences between the coefficient of variation … attributed to the "
            "differences in backoff factors” (IV.C)",
        ),
    ],
)
