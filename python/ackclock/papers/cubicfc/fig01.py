"""Figures 1 and 3: the phases of one flow.

"W_max of phase P2 is greater than phase P1, it leads to the fact that the duration of P2 is much
less than P1" (section III): after a loss below the last W_max, CUBIC lowers W_max further (phase
P1); after one above it W_max is the window at the loss (P2). "Cubic-FC does not change the
increasing function of Cubic but divides the congestion avoidance into two phases" (section I):
detection, CP1 and CP2, and releasing, BR1 and BR2 (figure 3).

One flow has the link of figure 2 for itself. Epochs are those between losses after the first 100 s.
Alone, Cubic-FC detects no competition, so that its phases are CUBIC's.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, grid, plots
from ackclock.papers.cubicfc._experiments import ASSUMED, CUBIC, CUBIC_FC, NAMES, RATE

#: What comes before is not counted, s; what is drawn after it, s.
WARM_UP_S, SHOWN_S = 100, 150
#: CUBIC's β in Linux 2.6.32.
BETA = 0.3


def _scenario(algorithm: str) -> Scenario:
    return Scenario(
        duration="600s",
        rtt="200ms",
        profile="linux-2.6.32",
        bottleneck=Bottleneck(rate=RATE, buffer="1bdp"),
        flows=(Flow(algorithm=algorithm),),
    )


class Row(NamedTuple):
    """Of the epochs P1 over those of P2: mean length, and mean W_max the other way round."""

    longer: float | None
    higher: float | None
    #: Of the epochs, the part that are P1.
    p1_part: float | None


def row(result: Result) -> Row:
    """The phases after the first 100 s."""
    losses = result.events.filter((pl.col("flow") == 1) & (pl.col("kind") == "recovery")).select(
        "time_us", "cwnd_packets"
    )
    epochs: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    last_max = 0.0
    for (start_us, cwnd), (stop_us, _) in pairwise(losses.rows()):
        is_p1 = cwnd < last_max
        last_max = cwnd * (2 - BETA) / 2 if is_p1 else float(cwnd)
        if start_us >= WARM_UP_S * 1e6:
            epochs[is_p1].append(((stop_us - start_us) / 1e6, last_max))
    if not (epochs[True] and epochs[False]):
        return Row(None, None, None)
    (p1_s, p1_max), (p2_s, p2_max) = (np.mean(epochs[each], axis=0) for each in (True, False))
    part = len(epochs[True]) / sum(map(len, epochs.values()))
    return Row(float(p1_s / p2_s), float(p2_max / p1_max), part)


ALONE = Experiment(
    "a flow alone",
    grid(algorithm=[CUBIC, CUBIC_FC]),
    _scenario,
    row,
    quick=["duration=300s"],
    variants=(
        Variant("jitter", "none", ["jitter=0s"]),
        Variant("TSO", "on", ["tso=true"]),
        Variant("buffer", "0.5 BDP", ["bottleneck.buffer=0.5bdp"]),
        Variant("hosts", "linux-6", ["profile=linux-6"]),
    ),
    assumed=ASSUMED | {"duration": "the figures are drawings"},
    says={"algorithm": NAMES},
)
LONGER = Column(ALONE, "longer", "length of P1 / P2", "", "much more than 1")
HIGHER = Column(ALONE, "higher", "W_max of P2 / P1", "", "> 1")
PART = Column(ALONE, "p1_part", "part of the epochs that are P1", "", 0.5)


def _some(axes: Axes) -> None:
    plots.shown_from(axes, WARM_UP_S, WARM_UP_S + SHOWN_S, headroom=1.2)
    text = "the paper: the longer epochs (P1)\nfollow a loss below the last W_max"
    axes.annotate(text, (0.01, 0.97), xycoords="axes fraction", va="top", fontsize="small")


FIGURE = Figure(
    plot=plots.windows(
        {name: (ALONE, {"algorithm": each}) for each, name in NAMES.items()}, after=_some
    ),
    quantities=[*LONGER.everywhere(), *HIGHER.everywhere(), *PART.everywhere()],
    claims=[
        Claim(
            "cubicfc.fig1.phases",
            "After a loss below the last W_max an epoch (P1) is longer, and its W_max lower",
            [LONGER.at(algorithm=CUBIC).above(1), HIGHER.at(algorithm=CUBIC).above(1)],
            paper="P1 longer",
            quote="“W_max of phase P2 is greater than phase P1, it leads to the fact that the "
            "duration of P2 is much less than P1” (III)",
        ),
        Claim(
            "cubicfc.fig3.phases",
            "Cubic-FC has the phases of CUBIC while it detects no competition",
            [LONGER.at(algorithm=CUBIC_FC).above(1), HIGHER.at(algorithm=CUBIC_FC).above(1)],
            paper="P1 longer",
            quote="“This new mechanism does not change the increasing function of Cubic” (I)",
        ),
    ],
)
