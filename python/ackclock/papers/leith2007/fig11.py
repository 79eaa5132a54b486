"""Figure 11: utilisation over the size of the buffer.

"Aggregate throughput of two competing Cubic TCP flows with 10Mbit/sec and 250Mbit/sec bottleneck
bandwidths. Both flows have end-to-end round-trip propagation delays of 100ms" (caption); the buffer
"is varied from 2.5% to 100% of the bandwidth-delay product". "In the case of a 10Mb/s link ... for
buffers sized about 5% BDP Cubic TCP achieves greater link utilisation than standard TCP"; at 250
Mb/s "for buffer sizes below 30% BDP the link utilisation achieved by Cubic TCP falls to around 50%
of link capacity and is significantly lower than the link utilisation achieved by standard TCP ...
this behaviour appears to be associated with the generation of large packet bursts" (section V).

Tests with standard TCP last an hour. Utilisation is that after the first 100 s.
"""

from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Part, Quantity, Variant, grid, plots
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC, NAMES, RENO

RTT_MS = 100
RATES_MBPS = (10, 250)
#: From 2.5 to 100 %; the points between are not given.
BUFFERS_PERCENT = (2.5, 5, 10, 20, 50, 100)
#: "Below 2.5 %": one packet at 10 Mb/s.
SMALLEST_PERCENT = 1.2
WARM_UP_S = 100
FROM_5 = [percent for percent in BUFFERS_PERCENT if percent >= 5]
BELOW_30 = [percent for percent in BUFFERS_PERCENT if percent < 30]


def _scenario(algorithm: str, rate_mbps: int, buffer_percent: float) -> Scenario:
    return testbed.scenario(
        rate_mbps,
        [algorithm] * 2,
        [RTT_MS] * 2,
        starts_s=(0, 0),
        buffer=f"{buffer_percent / 100:g}bdp",
        duration="3600s" if algorithm == RENO else "600s",
    )


class Row(NamedTuple):
    """A run; utilisation after the first 100 s."""

    utilisation: float
    timeouts: int


def row(result: Result) -> Row:
    """How full the link is."""
    utilisation = metrics.utilisation(result, WARM_UP_S)
    return Row(utilisation, int(result.flows["timeouts"].sum()))


UTILISATION = {
    (algorithm, rate): Column(
        Experiment(
            f"{NAMES[algorithm]}, {rate} Mbit",
            grid(
                algorithm=[algorithm],
                rate_mbps=[rate],
                buffer_percent=[SMALLEST_PERCENT] * (rate == RATES_MBPS[0]) + [*BUFFERS_PERCENT],
            ),
            _scenario,
            row,
            seeds=5 if (algorithm, rate) == (RENO, 250) else 10,
            quick=["duration=160s"],
            variants=(
                *testbed.OPEN,
                Variant("pacing", "on", ["pacing=true"]),
                *(
                    Variant("router's tick", f"{tick} ms", [f"bottleneck.tick={tick}ms"])
                    for tick in (2, 5, 10)
                ),
                Variant("cost of an ACK with SACK", "300 ns a packet", ["sack_cost=300ns"]),
                *((testbed.TEN_MINUTES,) if algorithm == RENO else ()),
            ),
            assumed=(testbed.ASSUMED if algorithm == CUBIC else testbed.OF_HOSTS)
            | {
                "flow.start": "both flows start together",
                "bottleneck.buffer": "from 2.5 to 100 %; the points between are not given",
            },
            says={"buffer_percent": "buffer {:g} %"},
        ),
        "utilisation",
        f"utilisation, {NAMES[algorithm]}, {rate} Mb/s",
        "",
        (lambda point: 0.5 if point["buffer_percent"] < 30 else "")
        if (algorithm, rate) == (CUBIC, 250)
        else "",
    )
    for algorithm in (CUBIC, RENO)
    for rate in RATES_MBPS
}


def _more(rate_mbps: int, percent: float) -> Quantity:
    """Utilisation of CUBIC minus that of standard TCP."""
    cubic, standard = (
        UTILISATION[each, rate_mbps].at(buffer_percent=percent) for each in (CUBIC, RENO)
    )
    name = f"utilisation, CUBIC − standard, {rate_mbps} Mb/s, buffer {percent:g} %"
    return (cubic - standard).named(name)


def _falls(algorithm: str) -> Quantity:
    """Utilisation at 10 Mb/s with a buffer of 5 % minus that below 2.5 %."""
    name = f"utilisation, {NAMES[algorithm]}, 10 Mb/s, buffer 5 % − {SMALLEST_PERCENT} %"
    return UTILISATION[algorithm, 10].difference(name, buffer_percent=(5, SMALLEST_PERCENT))


def _half(percent: float) -> Part:
    return UTILISATION[CUBIC, 250].at(buffer_percent=percent).within(0.35, 0.65).ours


def _paper(axes: Axes) -> None:
    """What the text says of CUBIC at 250 Mb/s."""
    if axes.get_title(loc="left") == "250 Mb/s":
        look = plots.line_style(CUBIC) | {"marker": "", "linestyle": "--", "linewidth": 0.9}
        axes.plot([BUFFERS_PERCENT[0], 30], [0.5, 0.5], **look)
        axes.annotate("the paper: CUBIC ≈ 50 %", (BUFFERS_PERCENT[0], 0.47), va="top",
                      fontsize="small", color=look["color"])  # fmt: skip


FIGURE = Figure(
    plot=plots.curves(
        {
            f"{rate} Mb/s": {
                NAMES[algorithm]: (
                    plots.line_style(algorithm),
                    plots.over(UTILISATION[algorithm, rate], "buffer_percent"),
                )
                for algorithm in (CUBIC, RENO)
            }
            for rate in RATES_MBPS
        },
        xlabel="buffer (% of the BDP)",
        ylabel="utilisation",
        log_x=True,
        ylim=(0, 1.03),
        after=_paper,
    ),
    quantities=[
        *(each for column in UTILISATION.values() for each in column.everywhere()),
        *(_more(10, percent) for percent in FROM_5),
        *(_more(250, percent) for percent in BELOW_30),
    ],
    claims=[
        Claim(
            "leith2007.fig11.util-10M",
            "At 10 Mb/s and with buffers from 5 % of the BDP on CUBIC uses more than standard TCP",
            [_more(10, percent).above(0) for percent in FROM_5],
            paper="> 0",
            quote="“for buffers sized about 5% BDP Cubic TCP achieves greater link utilisation "
            "than standard TCP” (V)",
        ),
        Claim(
            "leith2007.fig11.util-250M",
            "At 250 Mb/s and with buffers below 30 % CUBIC uses ≈ 50 %, less than standard TCP",
            [
                *(_more(250, percent).below(0) for percent in BELOW_30),
                *(_half(percent) for percent in BELOW_30),
            ],
            paper="≈ 0.5",
            quote="“for buffer sizes below 30% BDP the link utilisation achieved by Cubic TCP "
            "falls to around 50% of link capacity” (V)",
            hardware=True,
            readings={
                "only less than standard TCP": [
                    _more(250, percent).below(0) for percent in BELOW_30
                ]
            },
        ),
        Claim(
            "leith2007.fig11.small-buffer",
            "At 10 Mb/s the utilisation of both falls substantially below 2.5 %, and not before",
            [
                *(_falls(each).above(0.1).ours for each in (CUBIC, RENO)),
                *(
                    UTILISATION[each, 10].at(buffer_percent=2.5).above(0.5).ours
                    for each in (CUBIC, RENO)
                ),
            ],
            paper="falls much",
            quote="“At buffer sizes below 2.5%, the link utilisation achieved by both … falls "
            "substantially” (V)",
        ),
    ],
)
