"""Figures 1 and 3: the phases of a CUBIC flow, and of a Cubic-FC flow that meets another.

"W_max of phase P2 is greater than phase P1, it leads to the fact that the duration of P2 is much
less than P1" (section III). Figure 1 is judged by one flow that has the link of figure 2 for
itself, by its epochs after the first 100 s.

Figure 3: Cubic-FC "divides the congestion avoidance into two phases" (section I), detection (CP1
and CP2) and releasing (BR1 and BR2). "Set ssthresh to loss_cwnd (1 − β) − f(Δ) Δ_max"; "prolong the
duration of two congestion event by decrease t to t (1 − f(Δ))"; "set W_max of BR2 phase to the cwnd
of congestion event at the end of BR1 phase and set f(Δ) to 0" (section III.B). It is judged by the
first release in the runs of figures 2 and 5. Until then Cubic-FC is CUBIC, so that CUBIC's run with
the same seed has the same t0, t1 and t2: both epochs after t2 are compared.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario
from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, Plot, Variant, View, plots
from ackclock.papers.cubicfc import _phases as phases
from ackclock.papers.cubicfc._experiments import ASSUMED, CUBIC, CUBIC_FC, JOINING, NAMES, RATE
from ackclock.papers.cubicfc._experiments import scenario as joining

#: What comes before is not counted, s.
WARM_UP_S = 100


def _scenario() -> Scenario:
    return Scenario(
        duration="600s",
        rtt="200ms",
        profile="linux-2.6.32",
        bottleneck=Bottleneck(rate=RATE, buffer="1bdp"),
        flows=(Flow(algorithm=CUBIC),),
    )


class Row(NamedTuple):
    """Of the epochs P1 over those of P2: mean length, and mean W_max the other way round."""

    longer: float | None
    higher: float | None
    #: Of the epochs, the part that are P1.
    p1_part: float | None


def row(result: Result) -> Row:
    """The phases after the first 100 s."""
    epochs: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for loss, after in pairwise(phases.losses(result)):
        if loss.time_s >= WARM_UP_S:
            epochs[loss.lowers].append((after.time_s - loss.time_s, loss.w_max))
    if not (epochs[True] and epochs[False]):
        return Row(None, None, None)
    (p1_s, p1_max), (p2_s, p2_max) = (np.mean(epochs[each], axis=0) for each in (True, False))
    part = len(epochs[True]) / sum(map(len, epochs.values()))
    return Row(float(p1_s / p2_s), float(p2_max / p1_max), part)


class Released(NamedTuple):
    """The first release of flow 1; None: it detects no competition."""

    #: ssthresh at t2 over that of CUBIC, and over that of the paper's formula; at t3 over CUBIC's.
    t2_reduced: float | None
    t2_of_formula: float | None
    t3_reduced: float | None
    #: Lengths of BR1 and BR2; of CUBIC, those of the epochs after the same loss.
    br1_s: float | None
    br2_s: float | None


def released(result: Result) -> Released:
    """By the paper's rule for competition, whatever the algorithm did."""
    found = phases.release(phases.losses(result))
    if found is None:
        return Released(None, None, None, None, None)
    t0, _, t2, t3, t4 = found
    formula = (1 - phases.BETA - phases.f_of(t0, t2) * phases.BETA) * t2.cwnd
    return Released(
        t2.reduced,
        t2.ssthresh / formula,
        t3.reduced,
        t3.time_s - t2.time_s,
        t4.time_s - t3.time_s,
    )


ALONE = Experiment(
    "a flow alone",
    [{}],
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
)
LONGER = Column(ALONE, "longer", "length of P1 / P2", "", "much more than 1").at()
HIGHER = Column(ALONE, "higher", "W_max of P2 / P1", "", "> 1").at()
PART = Column(ALONE, "p1_part", "part of the epochs that are P1", "", 0.5).at()

RELEASES = Experiment(
    "releases",
    JOINING.points,
    joining,
    released,
    seeds=JOINING.seeds,
    cycle=JOINING.cycle,
    quick_seeds=JOINING.quick_seeds,
    # Of distributions and of 2008: their β is not that of the formulas.
    variants=[each for each in JOINING.variants if each.of != "CUBIC"],
    assumed=ASSUMED,
    says={"algorithm": NAMES},
)


def _of(column: str, name: str) -> Any:
    return Column(RELEASES, column, name).at(algorithm=CUBIC_FC)


T2 = _of("t2_reduced", "ssthresh at t2 / CUBIC's")
FORMULA = _of("t2_of_formula", "ssthresh at t2 / the formula's")
T3 = _of("t3_reduced", "ssthresh at t3 / CUBIC's")
BR1, BR2 = (Column(RELEASES, f"br{number}_s", f"length of BR{number}", "s") for number in (1, 2))
PROLONGED = BR1.ratio("length of BR1 / CUBIC's epoch", algorithm=(CUBIC_FC, CUBIC))
SHORTER = (BR2.at(algorithm=CUBIC_FC) / BR1.at(algorithm=CUBIC_FC)).named("length of BR2 / BR1")


@plots.drawn(8, 6, 2)
def _drawn(panels: Sequence[Axes], view: View) -> None:
    _cubic(panels[0], view)
    _cubic_fc(panels[1], view)
    panels[1].set_xlabel("time (s)")


def _cubic(axes: Axes, view: View) -> None:
    """Figure 1: two epochs of P1 and two of P2."""
    result = view.result(ALONE)
    found = phases.losses(result)
    first = next(
        at for at, each in enumerate(found) if each.time_s >= WARM_UP_S and not each.lowers
    )
    shown = found[first : first + 5]
    _window(axes, result, shown, style.look("cubic").colour)
    for loss, after in pairwise(shown):
        _named(axes, "P1" if loss.lowers else "P2", loss, after)
        _w_max(axes, loss, after, loss.w_max)
    _times(axes, shown)
    axes.set_title(view.titled("figure 1: CUBIC alone", ALONE), fontsize="small")
    axes.legend(**plots.ABOVE)


def _cubic_fc(axes: Axes, view: View) -> None:
    """Figure 3: detection and release."""
    result = view.result(RELEASES, algorithm=CUBIC_FC)
    found = phases.release(phases.losses(result))
    title = "figure 3: Cubic-FC, while another flow joins"
    axes.set_title(view.titled(title, RELEASES, algorithm=CUBIC_FC), fontsize="small")
    if found is None:
        axes.text(0.5, 0.5, "no competition detected", ha="center", transform=axes.transAxes)
        return
    t0, t1, t2, t3, _ = found
    _window(axes, result, found, style.look("cubic_fc").colour)
    f = phases.f_of(t0, t2)
    lowered = t2.cwnd * (1 - phases.BETA / 2) - f * phases.BETA * t2.cwnd / 2
    w_max = {"CP1": t0.w_max, "CP2": t1.w_max, "BR1": lowered, "BR2": t3.cwnd}
    for (name, height), (loss, after) in zip(w_max.items(), pairwise(found), strict=True):
        _named(axes, name, loss, after)
        _w_max(axes, loss, after, height)
    since_s = np.linspace(0, 0.9 * (t3.time_s - t2.time_s), 100)
    original = phases.cubic(since_s, t2.w_max, (1 - phases.BETA) * t2.cwnd)
    look: dict[str, Any] = {"color": style.look("cubic").colour, "linestyle": ":"}
    axes.plot(t2.time_s + since_s, original, **look, label="CUBIC instead of BR1, eq. (1)")
    _times(axes, found)
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.05 * original.max()))
    axes.legend(**plots.ABOVE)


def _window(axes: Axes, result: Result, shown: Sequence[phases.Loss], colour: str) -> None:
    """Flow 1 from the first loss to the last."""
    start_s, end_s = shown[0].time_s, shown[-1].time_s
    before_s, after_s = start_s - 0.06 * (end_s - start_s), end_s + 0.04 * (end_s - start_s)
    at_s = pl.col("time_us") / 1e6
    samples = result.samples.filter(pl.col("flow") == 1, at_s.is_between(before_s, after_s))
    cwnd = samples["cwnd_packets"]
    axes.plot(samples["time_us"] / 1e6, cwnd, color=colour, label="cwnd of flow 1")
    axes.set_xlim(before_s, after_s)
    low, high = cwnd.min(), cwnd.max()
    assert isinstance(low, int)
    assert isinstance(high, int)
    axes.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
    axes.set_ylabel("cwnd (packets)")


def _named(axes: Axes, name: str, loss: phases.Loss, after: phases.Loss) -> None:
    """A phase in the middle of its time, at the bottom."""
    middle_s = (loss.time_s + after.time_s) / 2
    axes.annotate(
        name, (middle_s, 0.03), xycoords=("data", "axes fraction"), ha="center", fontsize="small"
    )


def _w_max(axes: Axes, loss: phases.Loss, after: phases.Loss, w_max: float) -> None:
    is_first = not any(each.get_label() == "W_max of the phase" for each in axes.lines)
    label = "W_max of the phase" if is_first else "_"
    axes.plot([loss.time_s, after.time_s], [w_max, w_max], "--", color=style.INK, label=label)
    axes.lines[-1].set(linewidth=0.8)


def _times(axes: Axes, shown: Sequence[phases.Loss]) -> None:
    """t0, t1, …: the losses."""
    for number, loss in enumerate(shown):
        axes.axvline(loss.time_s, color=style.INK, linewidth=0.5, linestyle=":")
        axes.annotate(
            f"t{number}", (loss.time_s, 1), (2, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="top", fontsize="small",
        )  # fmt: skip


FIGURE = Figure(
    plot=Plot(_drawn.draw, ((RELEASES, RELEASES.the(algorithm=CUBIC_FC)), (ALONE, {}))),
    quantities=[LONGER, HIGHER, PART, T2, FORMULA, T3, PROLONGED, SHORTER],
    claims=[
        Claim(
            "cubicfc.fig1.phases",
            "After a loss below the last W_max an epoch (P1) is longer, and its W_max lower",
            [LONGER.above(1), HIGHER.above(1)],
            paper="P1 longer",
            quote="“W_max of phase P2 is greater than phase P1, it leads to the fact that the "
            "duration of P2 is much less than P1” (III)",
        ),
        Claim(
            "cubicfc.fig3.phases",
            "At t2 Cubic-FC releases what the formula says, BR1 lasts longer than CUBIC's epoch "
            "after the same loss, and BR2 is CUBIC again",
            [
                T2.below(1),
                FORMULA.beside(1).within(0.98, 1.02).ours,
                PROLONGED.above(1),
                T3.beside(1).within(0.98, 1.02).ours,
                SHORTER.below(1),
            ],
            paper="as its formulas",
            quote="“Set ssthresh to loss_cwnd * (1 − β) − f(Δ) * Δmax”, “prolong the duration of "
            "two congestion event” (III.B)",
        ),
    ],
)
