"""Two long-lived flows and the ratio of their throughputs: figures 3, 12 and 15."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Measure
from ackclock.papers.leith2007 import _testbed as testbed

RATES_MBPS = (10, 250)
# "averaged over the last 200s of each test run" (caption of figure 3).
# assumed: figures 12 and 15 use the same interval.
LAST_S = 200
QUICK_DURATION = "320s"

#: The label and the colour of each pair of algorithms.
Pairs = dict[tuple[str, ...], tuple[str, str]]


def against(first: str | None = None) -> Pairs:
    """CUBIC by both readings, each beside `first` or beside a flow of the same reading."""
    return {
        (first or testbed.CUBIC, testbed.CUBIC): ("CUBIC, Algorithm 1", "#0072B2"),
        (first or testbed.CUBIC_SOURCE, testbed.CUBIC_SOURCE): (
            "CUBIC, 2.6.18.2's source",
            "#56B4E9",
        ),
    }


STANDARD: Pairs = {(testbed.RENO,) * 2: ("standard TCP", "#999999")}


def grid(
    pairs: Sequence[Sequence[str]],
    rtts_ms: Sequence[Sequence[int]],
    seeds: testbed.Seeds,
    **fields: Any,
) -> list[Scenario]:
    """Every pair of algorithms at every pair of RTTs at both rates."""
    return [
        testbed.scenario(rate, pair, rtts, seed, **fields)
        for rate in RATES_MBPS
        for pair in pairs
        for rtts in rtts_ms
        for seed in seeds
    ]


def reduce(result: Result) -> dict[str, Any]:
    """Throughputs, the ratio of the first to the second, and of the smaller to the larger."""
    first, second = testbed.last_throughputs_mbps(result, LAST_S)
    return testbed.describe(result) | {
        "throughput_1_mbps": float(first),
        "throughput_2_mbps": float(second),
        "ratio": float(first / second),
        "fairness": float(min(first, second) / max(first, second)),
    }


def at(rows: pl.DataFrame, rate_mbps: int, pair: Sequence[str], rtt_2_ms: int) -> pl.DataFrame:
    """The runs at a point, in the order of the seeds."""
    return rows.filter(rate_mbps=rate_mbps, algorithms="+".join(pair), rtt_2_ms=rtt_2_ms).sort(
        "seed"
    )


def ratio(runs: pl.DataFrame) -> stats.Estimate:
    return stats.mean_ci(runs["ratio"].to_list())


def measures(
    rows: pl.DataFrame, pairs: Pairs, rtts_ms: Sequence[int], quantity: str, paper: str = ""
) -> list[Measure]:
    """The ratio at every point."""
    return [
        Measure(
            f"{quantity}, {rate} Mb/s, {rtt} ms, {label}",
            "",
            ratio(at(rows, rate, pair, rtt)),
            paper,
        )
        for pair, (label, _) in pairs.items()
        for rate in RATES_MBPS
        for rtt in rtts_ms
    ]


def plot(
    rows: pl.DataFrame,
    pairs: Pairs,
    rtts_ms: Sequence[int],
    ylabel: str = "throughput of flow 1 / flow 2",
) -> Figure:
    """The paper's axes: the ratio over flow 2's RTT, a panel per rate; bars are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        for axes, rate in zip(figure.subplots(1, 2, sharey=True), RATES_MBPS, strict=True):
            for shift, (pair, (label, colour)) in enumerate(pairs.items()):
                points = [at(rows, rate, pair, rtt) for rtt in rtts_ms]
                means = [ratio(runs) for runs in points]
                axes.errorbar(
                    [rtt + 1.5 * shift for rtt in rtts_ms],
                    [each.mean for each in means],
                    [
                        [each.mean - max(each.low, 0) for each in means],
                        [min(each.high, 1e3) - each.mean for each in means],
                    ],
                    marker="os^v"[shift],
                    markersize=4,
                    color=colour,
                    label=label,
                    capsize=2,
                )
            axes.axhline(1, color=style.INK, linewidth=0.6, linestyle=":")
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_title(f"{rate} Mb/s", fontsize="small")
            axes.set_xlabel("RTT of flow 2 (ms)")
            if rate == RATES_MBPS[0]:
                axes.set_ylabel(ylabel)
        axes.legend(fontsize="small")
    return figure
