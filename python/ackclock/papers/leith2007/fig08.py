"""Figure 8: the increase functions after a missed drop, from the formulas.

"Cubic TCP increase function for the situation where the cwnd at last backoff is 10000 packets. The
y-axis is normalised so that the origin lies at the cwnd immediately after backoff, the dashed line
then marks the normalised cwnd at last backoff" (caption); the curves "correspond ... to the two
possible increase functions that can occur due to the adaptation of the inflection point". "For
comparison, also plotted is the increase function used by H-TCP ... on the right-hand side of the
plot, corresponding to the behaviour after missing a drop, the H-TCP cubic function is similar to
that of Cubic TCP", "slightly less aggressive" (section IV.C).

CUBIC is equation (1) with W_max = W and 0.9 W (section III, item 5). The figure's labels say 0.8 W
and 0.9 W, but the caption puts the inflection of the 0.8 W curve at the dashed line, which is W.
H-TCP grows by 2 (1 − β) (1 + 10 (Δ − 1) + (Δ − 1)²/4) per RTT, Δ in s since the back-off, and by
2 (1 − β) in the first second.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = 1, 1
W_PACKETS = 10_000
B, C, BETA = 2.5, 0.4, 0.8
W_MAX_SHARES = (1.0, 0.9)
# assumed: H-TCP has CUBIC's back-off, as in figure 9. The RTT is that of the neighbouring figures.
RTT_S = 0.2
Array = NDArray[np.float64]
# assumed: the plot ends at 100 s. Its "right-hand side" is where CUBIC is above W.
TIMES_S = np.arange(0, 100.1, 0.1)


def cubic(w_max_share: float) -> Array:
    """Growth since the back-off by equation (1), packets; shape of `TIMES_S`."""
    w_max = w_max_share * W_PACKETS
    k_s = np.cbrt(B * (w_max - BETA * W_PACKETS))
    grown: Array = w_max + C * (TIMES_S - k_s) ** 3 - BETA * W_PACKETS
    return grown


def htcp() -> Array:
    """Growth of H-TCP since the back-off: the integral of its increase per RTT."""
    since_s = np.maximum(TIMES_S - 1, 0)
    alpha = 2 * (1 - BETA) * (1 + 10 * since_s + since_s**2 / 4)
    steps = (alpha[1:] + alpha[:-1]) / 2 * np.diff(TIMES_S) / RTT_S
    return np.concatenate([[0], np.cumsum(steps)])


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001
    """Nothing to simulate."""
    return []


def reduce(result: Result) -> dict[str, Any]:  # noqa: ARG001
    return {}


def ratios(w_max_share: float) -> Array:
    """H-TCP's growth over CUBIC's, where CUBIC is above W."""
    grown = cubic(w_max_share)
    right = grown > (1 - BETA) * W_PACKETS
    ratio: Array = htcp()[right] / grown[right]
    return ratio


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(6, 3.4))
        axes = figure.subplots()
        for share, line in zip(W_MAX_SHARES, ("-", "--"), strict=True):
            axes.plot(
                TIMES_S,
                cubic(share),
                line,
                color=style.of("cubic").colour,
                label=f"CUBIC, W_max = {share:g} W",
            )
        axes.plot(TIMES_S, htcp(), color=style.of("htcp").colour, label="H-TCP")
        axes.axhline((1 - BETA) * W_PACKETS, color=style.INK, linewidth=0.8, linestyle="--")
        axes.set_yscale("symlog", linthresh=1000)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time since back-off (s)")
        axes.set_ylabel("growth (packets)")
        axes.legend()
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:  # noqa: ARG001
    return [
        Measure(
            f"H-TCP / CUBIC beyond W, W_max = {share:g} W, {name}",
            "",
            stats.exact(float(value(ratios(share)))),
            "alike, slightly below 1",
        )
        for share in W_MAX_SHARES
        for name, value in (
            ("smallest", np.min),
            ("largest", np.max),
            ("at 100 s", lambda all_: all_[-1]),
        )
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:  # noqa: ARG001
    parts = [
        Claim(
            f"W_max = {share:g} W, {name}",
            "",
            stats.exact(float(value(ratios(share)))),
            "",
            low=0.5,
            high=2,
        )
        for share in W_MAX_SHARES
        for name, value in (("smallest", np.min), ("largest", np.max))
    ]
    return [
        Every(
            "leith2007.fig8.increase-functions",
            "After a missed drop H-TCP and CUBIC grow alike",
            parts,
        )
    ]
