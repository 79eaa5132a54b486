"""Figure 6: four TCP-SACK flows and four CUBIC flows.

"We set the bandwidth to 400Mbps, RTT to 40ms, and buffer size to 100% BDP of a flow. … The total
network utilization is around 95%: the four CUBIC flows take about 72% of the total bandwidth, the
four TCP flows take 23%" (section 5.2).
"""

import math
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
SHARES = (
    ("utilisation", "utilisation", "≈ 0.95", 0.90, math.inf),
    ("share of the four CUBIC flows", "cubic_share", "≈ 0.72", 0.62, 0.82),
    ("share of the four SACK flows", "sack_share", "≈ 0.23", 0.13, 0.33),
)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    flows = [testbed.flow(testbed.SACK, count=4), testbed.flow(testbed.CUBIC, count=4)]
    return [testbed.scenario(flows, seed, rtt_ms=40) for seed in seeds]


def reduce(result: Result) -> dict[str, Any]:
    throughputs = testbed.throughputs_mbps(result) * 1e6 / metrics.capacity_bps(result)
    return testbed.describe(result) | {
        "sack_share": float(throughputs[:4].sum()),
        "cubic_share": float(throughputs[4:].sum()),
        "cubic_fairness": testbed.fairness(throughputs[4:]),
        "utilisation": testbed.utilisation(result),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    seed = rows["seed"][0]
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        axes = figure.subplots()
        drawing.cwnd(axes, load(*grid([seed])))
        for line in axes.lines:
            name = str(line.get_label()).split(", ")[1]
            line.set_color(style.of("cubic" if name.startswith("CUBIC") else "reno").colour)
        axes.legend([axes.lines[-1], axes.lines[0]], ["four CUBIC", "four SACK"])
        axes.set_title(f"run {seed} of {len(rows)}")
        axes.set_xlabel("time (s)")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    shares = [
        Measure(name, "", testbed.estimate(rows, column), paper)
        for name, column, paper, _, _ in SHARES
    ]
    fairness = testbed.estimate(rows, "cubic_fairness")
    return [*shares, Measure("slowest CUBIC flow / fastest", "", fairness, "“converge nicely”")]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    parts = [
        Claim(name, "", testbed.estimate(rows, column), "", low, high)
        for name, column, _, low, high in SHARES
    ]
    says = "Utilisation is ≈ 95 %; CUBIC gets 72 %, SACK 23 %"
    return [Every("ha2008.fig6.mix", says, parts)]
