"""Figure 9: fairness between flows with different RTTs.

"The bottleneck bandwidth is set to 400Mbps and 2Mbyte buffer is used. One flow has a fixed RTT of
162ms and the other flow varies its RTT from 16ms to 162ms" (caption). "TCP-SACK achieves RTT
fairness linearly proportional to the inverse of the RTT ratio. … CUBIC has a similar slope with
TCP-SACK but with a higher fairness ratio … while HSTCP fails in achieving a similar slope. Even
though BIC-TCP shows the similar slope with TCP-SACK, it shows the lowest fairness ratios. … The
slow convergence of HSTCP flows hinders even two flows of the same RTT from reaching to a fair share
within a reasonable amount of time" (section 6.3).

The ratio is that of the flow with 162 ms to the other. Each flow starts at U(0, 10 s); the first
200 s of a run are left out. Of two HSTCP flows with 162 ms the second starts after 50 s. They are
measured in the 50 s that end 200 s after its start.
"""

import math
from typing import NamedTuple

from matplotlib.axes import Axes

from ackclock import Flow, Result, Scenario, metrics
from ackclock.figures import (
    Claim,
    Column,
    Either,
    Experiment,
    Figure,
    Point,
    Quantity,
    Variant,
    grid,
    mean_of,
    plots,
    slope,
)
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.papers.ha2008._testbed import ALGORITHMS, BIC, CUBIC, HSTCP, NAMES, SACK

RTT_1_MS = 162
RTTS_MS = (16, 42, 82, 122)
#: "A reasonable amount of time", and how long before its end two HSTCP flows are measured.
REASONABLE_S, LAST_S = 200, 50
FAIR = 0.8


def _scenario(algorithm: str, rtt_ms: int, background: float = 0.15) -> Scenario:
    flows = [testbed.flow(algorithm, each) for each in (RTT_1_MS, rtt_ms)]
    return testbed.scenario(flows, buffer="2MB", background=background)


TWO_RTTS = Experiment(
    "two RTTs",
    grid(algorithm=ALGORITHMS, rtt_ms=RTTS_MS),
    _scenario,
    testbed.two_flows,
    seeds=5,
    quick=["duration=60s"],
    variants=(
        *testbed.VARIANTS,
        testbed.SHORTER,
        Variant("start", "162 ms flow 30 s before", ["flow.2.start=30s"]),
    ),
    assumed=testbed.ASSUMED | {"flow.rtt": "the paper gives only the ends of the range"},
    says={"algorithm": NAMES, "rtt_ms": "162 v {} ms"},
)

RATIO = Column(TWO_RTTS, "ratio", "throughput, 162 ms / shorter RTT")
FAIRNESS = Column(TWO_RTTS, "fairness", "throughput, slower / faster flow")
UTILISATION = Column(TWO_RTTS, "utilisation", "utilisation")


def _late_scenario(background: float = 0.15) -> Scenario:
    first = Flow(algorithm=HSTCP)
    second = Flow(algorithm=HSTCP, start="50s", start_spread="1s")
    return testbed.scenario(
        [first, second], rtt_ms=RTT_1_MS, buffer="2MB", duration="252s", background=background
    )


class Late(NamedTuple):
    """Two flows after a reasonable amount of time."""

    fairness: float


def late(result: Result) -> Late:
    """Of the slower to the faster flow."""
    end_s = metrics.last_start_s(result) + REASONABLE_S
    bps = metrics.throughput_bps(result, [end_s - LAST_S, end_s])[:, 0]
    return Late(testbed.fairness(bps))


LATE_HSTCP = Experiment(
    "HSTCP joins",
    [{}],
    _late_scenario,
    late,
    variants=(
        Variant("start", "together", ["flow.start=0s", "flow.start_spread=10s"]),
        Variant("start", "100 s later", ["flow.2.start=100s", "duration=302s"]),
        *testbed.VARIANTS[1:-1],
        *testbed.MORE_VARIANTS,
    ),
    assumed=testbed.ASSUMED | {"flow.start": "the paper does not say when flows start"},
)

SHARE_HSTCP = Column(
    LATE_HSTCP, "fairness", "two HSTCP, 162 ms, slower / faster after 150 … 200 s", "", "not fair"
).at()


def _mean(column: Column, algorithm: str) -> Quantity:
    each = [column.at(algorithm=algorithm, rtt_ms=rtt).geometric() for rtt in RTTS_MS]
    return mean_of(f"{column.name}, {NAMES[algorithm]}, mean", each)


def _slope(column: Column, algorithm: str, paper: float | str = "") -> Quantity:
    """Of the ratio over the inverse RTT ratio, both as logarithms."""
    by_rtt = {
        math.log(rtt / RTT_1_MS): column.at(algorithm=algorithm, rtt_ms=rtt).geometric()
        for rtt in RTTS_MS
    }
    return slope(f"{column.name}, log-log slope, {NAMES[algorithm]}", "", by_rtt).beside(paper)


def _higher(column: Column, a: str, b: str, rtt_ms: int) -> Quantity:
    name = f"{column.name}, 162 v {rtt_ms} ms, {NAMES[a]} / {NAMES[b]}"
    return column.ratio(name, algorithm=(a, b), rtt_ms=rtt_ms)


def _lowest(column: Column) -> list[Quantity]:
    """Mean ratios of the others over that of BIC."""
    return [
        (_mean(column, each) / _mean(column, BIC)).named(
            f"{column.name}, mean, {NAMES[each]} / BIC"
        )
        for each in (CUBIC, HSTCP, SACK)
    ]


def _steeper(algorithm: str) -> Quantity:
    return (_slope(RATIO, algorithm) - _slope(RATIO, SACK)).named(
        f"log-log slope, {NAMES[algorithm]} − SACK"
    )


EQUAL = [
    Column(TWO_RTTS, "window_ratio", "mean window, 162 ms / shorter RTT", "", 1).at(
        algorithm=CUBIC, rtt_ms=rtt
    ).geometric()
    for rtt in RTTS_MS
]  # fmt: skip
RATIO_LABEL = "throughput, 162 ms / shorter RTT"
HIGHER = [_higher(RATIO, CUBIC, SACK, rtt) for rtt in RTTS_MS]


def _x(point: Point) -> float:
    return float(point["rtt_ms"] / RTT_1_MS)


def _paper(axes: Axes) -> None:
    """SACK's ratio as the text has it: proportional to the inverse RTT ratio; room for marks."""
    axes.set_ylim(top=max(1.04, axes.get_ylim()[1]))
    if axes.get_ylabel() == RATIO_LABEL:
        look = plots.line_style(SACK) | {"marker": "", "linestyle": "--", "linewidth": 0.9}
        axes.plot([0, 1], [0, 1], **look, label="SACK: the paper")


FIGURE = Figure(
    plot=plots.curves(
        {
            "(a) fairness": plots.by(RATIO, _x, "algorithm", NAMES, as_drawn=Quantity.geometric),
            "(b) utilisation": plots.by(UTILISATION, _x, "algorithm", NAMES),
        },
        xlabel="inverse RTT ratio (RTT / 162 ms)",
        ylabel=[RATIO_LABEL, "link utilisation"],
        ylim=(0, None),
        after=_paper,
    ),
    quantities=[
        _slope(RATIO, CUBIC, "≈ SACK's"),
        _slope(RATIO, BIC, "≈ SACK's"),
        _slope(RATIO, HSTCP, "not SACK's"),
        _slope(RATIO, SACK, 1),
        *(each.geometric() for each in RATIO.everywhere()),
        *(_mean(RATIO, algorithm) for algorithm in ALGORITHMS),
        *UTILISATION.everywhere(),
        *EQUAL,
        SHARE_HSTCP,
    ],
    claims=[
        Claim(
            "ha2008.fig9.rtt-fairness",
            "SACK's ratio ∝ inverse RTT ratio; CUBIC's has this slope, but is higher; BIC's is "
            "lowest; HSTCP's has another slope",
            [
                _slope(RATIO, SACK).within(0.7, 1.5).ours,
                _steeper(CUBIC).within(-0.4, 0.4).ours,
                *(each.above(1) for each in HIGHER),
                *(each.above(1) for each in _lowest(RATIO)),
                Either(
                    "HSTCP's slope is not SACK's",
                    [_steeper(HSTCP).above(0), _steeper(HSTCP).below(0)],
                ),
            ],
            paper="∝ 1 / RTT ratio",
            quote="“CUBIC has a similar slope with TCP-SACK but with a higher fairness ratio … "
            "HSTCP fails in achieving a similar slope. … BIC-TCP … shows the lowest "
            "fairness ratios” (6.3)",
            readings={
                "slower / faster": [
                    _slope(FAIRNESS, SACK).within(0.7, 1.5).ours,
                    *(_higher(FAIRNESS, CUBIC, SACK, rtt).above(1) for rtt in RTTS_MS),
                    *(each.above(1) for each in _lowest(FAIRNESS)),
                ]
            },
        ),
        Claim(
            "ha2008.fig9b.hstcp-full",
            "Two HSTCP flows fully utilise the link regardless of their RTT ratio",
            [UTILISATION.at(algorithm=HSTCP, rtt_ms=rtt).above(0.95).ours for rtt in RTTS_MS],
            paper="full",
            quote="“two HSTCP flows fully utilize the link regardless of their RTT ratio” (6.3)",
        ),
        Claim(
            "ha2008.s1.equal-windows",
            "Competing CUBIC flows have approximately the same window whatever their RTTs",
            [each.within(0.67, 1.5).ours for each in EQUAL],
            paper="≈ 1",
            quote="“approximately the same window size independent of their RTTs” (1)",
        ),
        Claim(
            "ha2008.fig9.hstcp-no-converge",
            "Two HSTCP flows with equal RTTs do not reach a fair share in a reasonable time",
            [SHARE_HSTCP.below(FAIR).ours],
            paper="not fair",
            quote="“slow convergence of HSTCP flows hinders even two flows of the same RTT from "
            "reaching to a fair share” (6.3)",
        ),
    ],
)
