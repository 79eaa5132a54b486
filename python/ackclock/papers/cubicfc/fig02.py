"""Figure 2: congestion windows of two CUBIC flows.

"Cubic needs about 400s to get to the convergence status" (section II). "Bandwidth of bottleneck
link is 800Mbps, RTT is 200ms, and queue size is 100% BDP, no web traffic. Flow 1 starts at 0(s) and
ends at 800(s), flow 2 start at 100+x(s) (0<x<1) and ends at 800(s)" (caption). "We use the
drop-tail router at the bottleneck"; "for each scenario, we took at least 10 times and calculated
average value" (section IV).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario
from ackclock.claims import Claim, Measure
from ackclock.papers.cubicfc import _two_flows as two_flows

SEEDS, QUICK_SEEDS = two_flows.SEEDS, two_flows.QUICK_SEEDS


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return [two_flows.scenario(f"cubic@{two_flows.PRESET}", seed) for seed in seeds]


def reduce(result: Result) -> dict[str, Any]:
    return two_flows.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:
    seed = rows["seed"][0]
    return two_flows.plot_cwnd(load(*grid([seed])), f"CUBIC, run {seed} of {len(rows)}")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return two_flows.measures(rows, "≈ 400 s")


def claims(rows: pl.DataFrame) -> list[Claim]:
    return [
        Claim(
            "cubicfc.fig2.cubic-400s",
            "CUBIC needs ≈ 400 s to converge at 200 ms",
            two_flows.convergence(rows),
            "s",
            low=250,
            high=600,
        )
    ]
