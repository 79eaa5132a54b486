"""Figures 2 and 3 by queue and unit of RTT: how many cells hold each claim.

The paper gives neither the bridge's queue nor the unit of RTT in "K = (W_max β / C)^⅓ / RTT^½"
(equation 4): half the unit makes every K 0.7 times as long. Here each claim is judged in every
cell: with queues from 256 packets to one BDP of 128 ms, and with units that an implementer could
have had. The framed cell is the one that is judged: the queue of the testbed's card, and 1 ms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ackclock.draw import style
from ackclock.figures import Column, Experiment, Figure, Part, Plot, Quantity, View, computed, plots
from ackclock.figures.claim import Verdict, judged, verdict_of
from ackclock.figures.quantity import Rows
from ackclock.papers.squareff import fig03
from ackclock.papers.squareff._experiments import (
    ASSUMED,
    CBRT,
    CUBIC,
    NAMES,
    QUEUE,
    QUEUES,
    RTTS_MS,
    SQUARE,
    UNITS_MS,
    HasPoints,
    ratio,
    row,
    scenario,
)

#: What the claims need of each algorithm.
NEEDED_MS = {CUBIC: RTTS_MS, CBRT: (32, 64, 128), SQUARE: (4, 8, 64, 128)}


def _scenario(queue: str, unit_ms: float, algorithm: str, rtt_ms: int) -> Any:
    if algorithm != CUBIC:
        algorithm = f"{algorithm.partition('=')[0]}={unit_ms:g}"
    return scenario(algorithm, rtt_ms, queue)


CELLS = Experiment(
    "queues and units",
    [
        {"queue": queue, "unit_ms": unit_ms, "algorithm": algorithm, "rtt_ms": rtt_ms}
        for queue in QUEUES
        for algorithm, rtts_ms in NEEDED_MS.items()
        for unit_ms in ([1] if algorithm == CUBIC else UNITS_MS)
        for rtt_ms in rtts_ms
    ],
    _scenario,
    row,
    seeds=12,
    quick=["duration=60s"],
    assumed=ASSUMED,
    says={
        "algorithm": NAMES,
        "rtt_ms": "2 v {} ms",
        "queue": QUEUES,
        "unit_ms": {unit: f"unit {name}" for unit, name in UNITS_MS.items()},
    },
)
JAIN = Column(CELLS, "jain", "fairness index")
RATIO = Column(CELLS, "ratio", "throughput of flow 1 / flow 2")


@dataclass(frozen=True)
class _Cell:
    """A column in one cell; CUBIC has no unit."""

    column: Column
    queue: str
    unit_ms: float

    def at(self, **point: Any) -> Quantity:
        unit_ms = 1 if point["algorithm"] == CUBIC else self.unit_ms
        return self.column.at(queue=self.queue, unit_ms=unit_ms, **point)


def _unfair(_: HasPoints, ratios: HasPoints) -> list[Part]:
    return [ratio(ratios, CUBIC, 128).above(2)]


CLAIMS: dict[str, Callable[[HasPoints, HasPoints], list[Part]]] = {
    "fig2.cubic-unfair": _unfair,
    **{f"fig3.{name}": parts for name, parts in fig03.PARTS.items()},
}


def verdict(rows: Rows, claim: str, queue: str, unit_ms: float) -> Verdict:
    """The verdict on a claim in one cell."""
    cells = [_Cell(column, queue, unit_ms) for column in (JAIN, RATIO)]
    return verdict_of(judged(CLAIMS[claim](*cells), rows))


def _holding(claim: str) -> Quantity:
    def count(rows: Rows) -> float:
        cells = [verdict(rows, claim, queue, unit) for queue in QUEUES for unit in UNITS_MS]
        return cells.count("holds")

    name = f"cells of {len(QUEUES) * len(UNITS_MS)} that hold {claim}"
    return computed(name, "", CELLS.needs(), count)


HOLDING = {claim: _holding(claim) for claim in CLAIMS}


@plots.drawn(11, 3.1, 1, len(CLAIMS))
def _plot(panels: Sequence[Axes], view: View) -> None:
    for axes, claim in zip(panels, CLAIMS, strict=True):
        for y, queue in enumerate(QUEUES):
            for x, unit in enumerate(UNITS_MS):
                found = verdict(view.rows, claim, queue, unit)
                is_judged = (queue, unit) == (QUEUE, 1)
                cell = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=plots.VERDICTS[found])
                cell.set_edgecolor(style.INK if is_judged else "white")
                cell.set(alpha=0.75, linewidth=2.5 if is_judged else 0.8, zorder=2 + is_judged)
                axes.add_patch(cell)
                axes.text(x, y, found[0], ha="center", va="center", color="white", zorder=4)
        axes.set_xlim(-0.55, len(UNITS_MS) - 0.45)
        axes.set_ylim(len(QUEUES) - 0.45, -0.55)
        axes.set_xticks(range(len(UNITS_MS)), UNITS_MS.values(), fontsize="x-small")
        first = axes is panels[0]
        axes.set_yticks(range(len(QUEUES)), QUEUES.values() if first else [""] * len(QUEUES))
        holding = view.estimate(HOLDING[claim])
        cells = len(QUEUES) * len(UNITS_MS)
        count = f"{holding.mean:.0f}" if holding else "?"
        axes.set_title(f"{claim}\n{count} of {cells} hold", fontsize="small")
    panels[len(panels) // 2].set_xlabel("unit of RTT; h: holds, f: fails, o: open")


FIGURE = Figure(
    plot=Plot(_plot.draw, CELLS.needs()),
    quantities=[
        *HOLDING.values(),
        *(
            JAIN.at(queue=queue, unit_ms=unit, algorithm=algorithm, rtt_ms=128)
            for queue in QUEUES
            for algorithm in NAMES
            for unit in ([1] if algorithm == CUBIC else UNITS_MS)
        ),
    ],
)
