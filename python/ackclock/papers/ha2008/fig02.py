"""Figure 2: the interface of a pluggable congestion module.

"It is dynamically loadable and allows switching between different congestion control algorithm
modules on the fly without recompilation. … A new congestion control algorithm requires to define
cong_avoid and ssthresh, but the other methods are optional" (section 4.2).

two_hooks.c is standard TCP in these two hooks. It is compiled when the scenario runs, and compared
with the built-in standard TCP. A test in crates/linux loads such a file into a kernel. Nothing is
random, so a run is not repeated.
"""

from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS = QUICK_SEEDS = 1
TWO_HOOKS = str(Path(__file__).with_name("two_hooks.c"))


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001 (nothing is random)
    return [
        Scenario(
            duration="60s",
            rtt="40ms",
            profile=testbed.PROFILE,
            jitter="0s",
            bottleneck=Bottleneck(rate="100mbit", buffer="1bdp"),
            flows=(Flow(algorithm=algorithm),),
        )
        for algorithm in (TWO_HOOKS, testbed.SACK)
    ]


def reduce(result: Result) -> dict[str, Any]:
    return testbed.describe(result) | {
        "name": result.manifest["algorithms"][result.scenario.flows[0].algorithm]["name"],
        "delivered_bytes": int(result.flows["delivered_bytes"][0]),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    with style.applied():
        figure = Figure(figsize=(8, 3))
        axes = figure.subplots()
        for scenario, name, line in zip(grid([1]), rows["name"], ("-", "--"), strict=True):
            samples = load(scenario).samples
            axes.plot(
                samples["time_us"] / 1e6,
                samples["cwnd_packets"],
                color=style.of(name).colour,
                linestyle=line,
                label=name,
            )
        axes.set_xlabel("time (s)")
        axes.set_ylabel("cwnd (packets)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [Measure("delivered, two hooks / built-in", "", _ratio(rows), "1")]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    says = "A new algorithm needs only ssthresh and cong_avoid"
    return [Claim("ha2008.s4.hooks", says, _ratio(rows), "of standard TCP's", 0.99, 1.01)]


def _ratio(rows: pl.DataFrame) -> stats.Estimate:
    two_hooks, built_in = rows["delivered_bytes"]
    return stats.exact(two_hooks / built_in)
