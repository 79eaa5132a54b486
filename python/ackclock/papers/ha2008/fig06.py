"""Figure 6: four TCP-SACK flows and four CUBIC flows.

"We set the bandwidth to 400Mbps, RTT to 40ms, and buffer size to 100% BDP of a flow. We observe
that four flows of CUBIC converge to a fair share nicely within a short period of time. … The total
network utilization is around 95%: the four CUBIC flows take about 72% of the total bandwidth, the
four TCP flows take 23%" (section 5.2).

Each flow starts at U(0, 10 s). The second half of a run of 200 s is measured.
"""

from matplotlib.axes import Axes

from ackclock import Scenario
from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, plots, within
from ackclock.papers.ha2008 import _testbed as testbed


def _scenario(background: float = 0.15) -> Scenario:
    flows = [testbed.flow(each, count=4) for each in (testbed.CUBIC, testbed.SACK)]
    return testbed.scenario(flows, rtt_ms=40, duration="200s", background=background)


MIX = Experiment(
    "mix",
    [{}],
    _scenario,
    testbed.four_and_four,
    variants=(
        *testbed.VARIANTS,
        *testbed.MORE_VARIANTS,
        Variant("duration", "200 … 600 s", ["duration=600s"]),
    ),
    assumed=testbed.ASSUMED,
)

TOTAL = Column(MIX, "utilisation", "utilisation", "", 0.95).at()
CUBIC = Column(MIX, "first_share", "share of the four CUBIC flows", "", 0.72).at()
SACK = Column(MIX, "second_share", "share of the four SACK flows", "", 0.23).at()
ALL = Column(MIX, "both_share", "share of the eight flows, without the background").at()
FAIRNESS = Column(
    MIX, "fairness", "slowest / fastest CUBIC flow", "", "“converge to a fair share nicely”"
).at()


def _by_algorithm(axes: Axes) -> None:
    for number, line in enumerate(axes.lines):
        line.set_color(style.of("cubic" if number < 4 else "reno").colour)
    axes.legend([axes.lines[0], axes.lines[4]], ["four CUBIC", "four SACK"])


FIGURE = Figure(
    plot=plots.windows({"": (MIX, {})}, after=_by_algorithm),
    quantities=[TOTAL, CUBIC, SACK, ALL, FAIRNESS],
    claims=[
        Claim(
            "ha2008.fig6.mix",
            "Utilisation is ≈ 95 %; CUBIC gets 72 %, SACK 23 %",
            [within(TOTAL, 0.9, 1), within(CUBIC, 0.62, 0.82), within(SACK, 0.13, 0.33)],
            readings={
                "the total without the background": [
                    within(ALL, 0.9, 1),
                    within(CUBIC, 0.62, 0.82),
                    within(SACK, 0.13, 0.33),
                ]
            },
        )
    ],
)
