"""Two flows at 1 Mb/s with RTTs of 160 and 16 ms: figures 14 and 16."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

RTTS_MS = (160, 16)
RATE_MBPS = 1
# assumed: both flows start within the first second. The share is that of the last 500 of 600 s.
STARTS_S = (0, 0)
LAST_S = 500
# A "BDP queue" holds 13 packets at 160 ms and 1 packet at 16 ms. The paper does not say which.
BUFFERS = {"1bdp": "BDP of 160 ms", "2packets": "2 packets, the BDP of 16 ms rounded up"}


def grid(pairs: Sequence[Sequence[str]], seeds: testbed.Seeds) -> list[Scenario]:
    return [scenario(pair, buffer, seed) for pair in pairs for buffer in BUFFERS for seed in seeds]


def scenario(pair: Sequence[str], buffer: str, seed: int) -> Scenario:
    return testbed.scenario(RATE_MBPS, pair, RTTS_MS, seed, starts_s=STARTS_S, buffer=buffer)


def reduce(result: Result) -> dict[str, Any]:
    throughputs = testbed.last_throughputs_mbps(result, LAST_S)
    return testbed.describe(result) | {
        "buffer": result.scenario.bottleneck.buffer,
        "smaller_share": float(throughputs.min() / throughputs.sum()),
        "share_1": float(throughputs[0] / throughputs.sum()),
        "timeouts": int(result.flows["timeouts"].sum()),
    }


def smaller_share(rows: pl.DataFrame, pair: Sequence[str], buffer: str) -> stats.Estimate:
    runs = rows.filter(algorithms="+".join(pair), buffer=buffer)
    return stats.mean_ci(runs["smaller_share"].to_list())


def measures(rows: pl.DataFrame, pairs: Sequence[Sequence[str]]) -> list[Measure]:
    """The smaller share of each pair with each buffer."""
    return [
        Measure(
            f"share of the smaller flow, {name}, {testbed.READINGS[pair[0]]}",
            "",
            smaller_share(rows, pair, buffer),
            "starved",
        )
        for pair in pairs
        for buffer, name in BUFFERS.items()
    ]


def claims(
    rows: pl.DataFrame, pairs: Sequence[Sequence[str]], claim: str, says: str
) -> list[Claim | Every]:
    """One claim by both readings; the first flow of each pair is CUBIC by one reading."""
    return [
        Claim(
            claim + testbed.SUFFIX[pair[0]], says, smaller_share(rows, pair, "1bdp"), "", high=0.2
        )
        for pair in pairs
    ]


def plot(pairs: Sequence[Sequence[str]], seed: int, load: testbed.Load) -> Figure:
    with style.applied():
        figure = Figure(figsize=(8, 2.4 * len(BUFFERS)))
        panels = figure.subplots(len(BUFFERS), 1, sharex=True)
        for axes, (buffer, name) in zip(panels, BUFFERS.items(), strict=True):
            drawing.cwnd(axes, load(scenario(pairs[0], buffer, seed)))
            axes.set_title(f"buffer: {name}", fontsize="small")
            axes.legend(fontsize="small", ncols=2)
        panels[-1].set_xlabel("time (s)")
    return figure
