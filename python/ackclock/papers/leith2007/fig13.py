"""Figure 13: the outcome with different RTTs depends on when the second flow starts.

"Cubic TCP cwnd time histories following startup of a second flow. Startup time of second flow is
93s in top plot and 98s in lower plot. 250Mbps link, flow 1 RTT is 16ms, flow 2 RTT is 162ms, 100%
BDP queue" (caption). "The degree of unfairness in Cubic TCP is strongly dependent on the start time
of the flows" (section VI).

Each start is repeated, where only the hosts' jitter differs. The outcome depends on the start if
the ratio of the throughputs in the last 300 s varies more between starts than within a start: an
F test of its logarithm.
"""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics, plot, stats
from ackclock.draw import style
from ackclock.figures import (
    Claim,
    Experiment,
    Figure,
    Quantity,
    Repeats,
    Variant,
    View,
    computed,
    grid,
    plots,
)
from ackclock.figures.quantity import Rows
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC

STARTS_S = tuple(range(90, 101))
SHOWN_S = (93, 98)
RTTS_MS = (16, 162)
LAST_S = 300


def _scenario(start_s: int) -> Scenario:
    """The second flow starts at exactly `start_s`."""
    return testbed.scenario(250, [CUBIC] * 2, RTTS_MS, starts_s=(0, start_s), spread="0s")


class Row(NamedTuple):
    """Flow 1 / flow 2 in the last 300 s."""

    ratio: float


def row(result: Result) -> Row:
    """How unfair the run is."""
    first, second = testbed.last_throughputs_mbps(result, metrics.duration_s(result) - LAST_S)
    return Row(first / second)


STARTS = Experiment(
    "starts",
    grid(start_s=STARTS_S),
    _scenario,
    row,
    seeds=5,
    quick=["duration=420s"],
    quick_points=grid(start_s=SHOWN_S),
    quick_seeds=2,
    variants=(
        *testbed.OPEN,
        Variant("duration", "20 min", ["duration=1200s"]),
    ),
    assumed=testbed.ASSUMED
    | {
        "flow.start": "figure 13 has 93 and 98 s; the others are around them",
        "flow.start_spread": "only jitter differs between the repeats of a start",
    },
    says={"start_s": "{} s"},
)


def _logs(rows: Rows) -> dict[int, Repeats]:
    """Logarithm of the ratio, by start."""
    runs = rows[STARTS]
    found = runs.table["start_s"].unique().to_list()
    return {start: runs.repeats("ratio", {"start_s": start}).log() for start in sorted(found)}


def _between_over_within() -> Quantity:
    name = "variance of the log ratio, between starts / within a start"
    return computed(
        name,
        "",
        STARTS.needs(),
        lambda rows: stats.variance_ratio([each.value.tolist() for each in _logs(rows).values()]),
    ).beside("strongly dependent")


@plots.drawn(8, 7, len(SHOWN_S) + 1)
def _plot(panels: Sequence[Axes], view: View) -> None:
    for axes, start_s in zip(panels, SHOWN_S, strict=False):
        plot.cwnd(axes, view.result(STARTS, start_s=start_s))
        title = view.titled(f"flow 2 starts at {start_s} s", STARTS, start_s=start_s)
        axes.set_title(title, fontsize="small")
        axes.legend(**plots.ABOVE)
    runs = view.runs(STARTS)
    colour = style.look("cubic").colour
    panels[-1].plot(runs["start_s"], runs["ratio"], "o", alpha=0.5, color=colour)
    panels[-1].set_xlabel("start of flow 2 (s)")
    panels[-1].set_ylabel("flow 1 / flow 2")
    panels[-1].set_ylim(0, 1.1 * max(runs["ratio"]))
    panels[-1].set_xlim(STARTS_S[0] - 0.5, STARTS_S[-1] + 0.5)


FIGURE = Figure(
    plot=_plot,
    quantities=[_between_over_within()],
    claims=[
        Claim(
            "leith2007.fig13.start-time",
            "The throughput ratio depends strongly on when the second flow starts",
            [_between_over_within().above(1)],
            paper="strongly",
            quote="“The degree of unfairness in Cubic TCP is strongly dependent on the start time "
            "of the flows” (VI)",
        )
    ],
)
