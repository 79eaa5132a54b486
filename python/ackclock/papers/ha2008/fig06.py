"""Figure 6: four TCP-SACK flows and four CUBIC flows.

"We set the bandwidth to 400Mbps, RTT to 40ms, and buffer size to 100% BDP of a flow. We observe
that four flows of CUBIC converge to a fair share nicely within a short period of time. … The total
network utilization is around 95%: the four CUBIC flows take about 72% of the total bandwidth, the
four TCP flows take 23%" (section 5.2).

95 % is the sum of 72 and 23 %: that of the eight flows. Each flow starts at U(0, 10 s). The second
half of a run of 200 s is measured. Section 5.2 names background traffic for figure 4 only; here it
is the testbed's, and 0 and 5 % are beside it. The CUBIC flows converge by the rule for all papers,
the slowest against the fastest of the four.
"""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ackclock import Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import AtLeast, Claim, Column, Experiment, Figure, Plot, Variant, View, plots
from ackclock.papers import _converged as converged
from ackclock.papers.ha2008 import _testbed as testbed


def _scenario(background: float = 0.15) -> Scenario:
    flows = [testbed.flow(each, count=4) for each in (testbed.CUBIC, testbed.SACK)]
    return testbed.scenario(flows, rtt_ms=40, duration="200s", background=background)


class Row(NamedTuple):
    """As of `testbed.FourAndFour`, and when the four CUBIC flows converge."""

    first_share: float
    second_share: float
    both_share: float
    fairness: float
    utilisation: float
    convergence_s: float


def row(result: Result) -> Row:
    """In the measured part of the run; convergence from the last start."""
    of = testbed.four_and_four(result)
    until_s = metrics.unfair_until_s(result, converged.SHARE, flows=(1, 2, 3, 4))
    cut_off = AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))
    return Row(
        of.first_share,
        of.second_share,
        of.both_share,
        of.fairness,
        of.utilisation,
        cut_off if until_s is None else until_s,
    )


MIX = Experiment(
    "mix",
    [{}],
    _scenario,
    row,
    variants=(
        *(
            Variant("background", f"{percent} % offered", arguments={"background": percent / 100})
            for percent in (5, 7, 10)
        ),
        *testbed.VARIANTS,
        *testbed.MORE_VARIANTS,
        Variant("duration", "200 … 600 s", ["duration=600s"]),
    ),
    assumed=testbed.ASSUMED,
)

TOTAL = Column(MIX, "utilisation", "utilisation, with the background").at()
CUBIC = Column(MIX, "first_share", "share of the four CUBIC flows", "", 0.72).at()
SACK = Column(MIX, "second_share", "share of the four SACK flows", "", 0.23).at()
ALL = Column(MIX, "both_share", "share of the eight flows", "", 0.95).at()
CONVERGENCE = Column(MIX, "convergence_s", "convergence of the four CUBIC flows", "s").at()
FAIRNESS = Column(
    MIX, "fairness", "slowest / fastest CUBIC flow", "", "“converge to a fair share nicely”"
).at()


def _by_algorithm(axes: Axes) -> None:
    for number, line in enumerate(axes.lines):
        line.set_color(style.look("cubic" if number < 4 else "reno").colour)
    plots.shown_from(axes, 10, 200, headroom=1.2)
    axes.set_ylim(bottom=0)
    axes.legend([axes.lines[0], axes.lines[4]], ["four CUBIC", "four SACK"], **plots.ABOVE)


_WINDOWS = plots.windows({"": (MIX, {})}, after=_by_algorithm)


def _draw(view: View) -> Drawing:
    """The windows, with our shares beside the paper's."""
    figure = _WINDOWS(view)
    found = [view.estimate(each) for each in (ALL, CUBIC, SACK)]
    of_ours = " / ".join("?" if each is None else f"{100 * each.mean:.0f}" for each in found)
    text = f"together / CUBIC / SACK: the paper 95 / 72 / 23 %,\nours {of_ours} %"
    axes = figure.axes[0]
    with style.applied():
        axes.annotate(text, (0.01, 0.97), xycoords="axes fraction", va="top", fontsize="small")
    return figure


FIGURE = Figure(
    plot=Plot(_draw, _WINDOWS.needs),
    quantities=[ALL, CUBIC, SACK, TOTAL, FAIRNESS, CONVERGENCE],
    claims=[
        Claim(
            "ha2008.fig6.mix",
            "The eight flows use ≈ 95 %: CUBIC 72 %, SACK 23 %",
            [
                ALL.within(0.9, 1).ours,
                CUBIC.within(0.62, 0.82).ours,
                SACK.within(0.13, 0.33).ours,
            ],
            paper="95, 72, 23 %",
            quote="“The total network utilization is around 95%: the four CUBIC flows take about "
            "72% …, the four TCP flows take 23%” (5.2)",
        ),
        Claim(
            "ha2008.fig6.converge",
            "The four CUBIC flows converge within a short period",
            [CONVERGENCE.below(100).ours],
            paper="soon",
            quote="“four flows of CUBIC converge to a fair share nicely within a short period of "
            "time” (5.2)",
        ),
    ],
)
