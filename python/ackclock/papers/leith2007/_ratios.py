"""Two long-lived flows and the ratio of their throughputs: figures 3, 12 and 15.

Figure 3's throughputs are "averaged over the last 200s of each test run and so approximate
asymptotic behaviour" (caption); figures 12 and 15 do not say. We take the same, but in the hour of
standard TCP everything after the first ten minutes: its epochs take up to 2000 s.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Column, Experiment, Point, Quantity, Variant, grid, plots
from ackclock.figures.figure import Plot
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC, NAMES, RENO

RATES_MBPS = (10, 250)
LAST_S, FIRST_S = 200, 600


class Row(NamedTuple):
    """A run, from ten minutes on, but its last 200 s at least."""

    throughput_1_mbps: float
    throughput_2_mbps: float
    #: Flow 1 / flow 2.
    ratio: float
    #: Smaller / larger.
    fairness: float
    #: The same of the last 200 s alone.
    last_ratio: float
    last_fairness: float


def row(result: Result) -> Row:
    """The two throughputs and their ratio."""
    end_s = metrics.duration_s(result)
    first, second = testbed.last_throughputs_mbps(result, min(FIRST_S, end_s - LAST_S))
    one, two = testbed.last_throughputs_mbps(result, end_s - LAST_S)
    return Row(
        first,
        second,
        first / second,
        min(first, second) / max(first, second),
        one / two,
        min(one, two) / max(one, two),
    )


def pair(
    algorithms: Sequence[str],
    rtts_ms: Sequence[int],
    rtt_1_ms: int | None = None,
    variants: Sequence[Variant] = (),
) -> dict[int, Experiment]:
    """Rate → two flows, the second with each RTT, the first with `rtt_1_ms` or the same.

    With standard TCP for an hour.
    """
    hour = RENO in algorithms

    def scenario(rate_mbps: int, rtt_ms: int) -> Scenario:
        rtts = [rtt_1_ms or rtt_ms, rtt_ms]
        return testbed.scenario(rate_mbps, algorithms, rtts, duration="3600s" if hour else "600s")

    names = " and ".join(dict.fromkeys(NAMES[each] for each in algorithms))
    return {
        rate: Experiment(
            f"{names}, {rate} Mbit",
            grid(rate_mbps=[rate], rtt_ms=rtts_ms),
            scenario,
            row,
            seeds=5 if hour and rate > 10 else 10,
            quick=["duration=320s"],
            quick_points=grid(rate_mbps=[rate], rtt_ms=[rtts_ms[0], rtts_ms[-1]]),
            variants=[
                *testbed.OPEN,
                *((testbed.TEN_MINUTES,) if hour else ()),
                *variants,
            ],
            assumed=(testbed.ASSUMED if CUBIC in algorithms else testbed.OF_HOSTS)
            | (
                {"flow.2.rtt": "from 16 to 162 ms; the points between are not given"}
                if rtt_1_ms
                else {}
            ),
            says={"rtt_ms": "{} ms"},
        )
        for rate in RATES_MBPS
    }


def column(
    of: Mapping[int, Experiment],
    name: str,
    label: str,
    paper: float | str | Callable[[Point], float | str] = "",
) -> dict[int, Column]:
    """Rate → a column."""
    return {
        rate: Column(experiment, name, f"{label}, {rate} Mb/s", "", paper)
        for rate, experiment in of.items()
    }


def everywhere(of: Mapping[int, Column]) -> list[Quantity]:
    """A ratio at every rate and RTT, as a geometric mean."""
    return [each.geometric() for column in of.values() for each in column.everywhere()]


LOOKS = {
    "CUBIC": plots.line_style(CUBIC),
    "standard TCP": plots.line_style(RENO),
}


def plot(
    of: Mapping[str, Mapping[int, Column]],
    ylabel: str,
    xlabel: str = "RTT of both flows (ms)",
    never_below: float | None = None,
) -> Plot:
    """The paper's axes: the ratio over the RTT, a panel for each rate."""

    def marked(axes: Axes) -> None:
        axes.axhline(1, color=style.INK, linewidth=0.6, linestyle=":")
        if never_below is not None:
            plots.by_paper(axes, never_below, f"CUBIC never below ≈ {never_below:g}")
            axes.set_ylim(bottom=0.8 * never_below)

    return plots.curves(
        {
            f"{rate} Mb/s": {
                label: (LOOKS[label], plots.over(column[rate], "rtt_ms", Quantity.geometric))
                for label, column in of.items()
            }
            for rate in RATES_MBPS
        },
        xlabel=xlabel,
        ylabel=ylabel,
        log_y=True,
        after=marked,
    )
