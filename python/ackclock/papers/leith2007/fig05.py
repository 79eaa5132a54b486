"""Figure 5: how long a download takes, alone and beside one long-lived flow.

"Completion time vs connection size for (i) baseline case with no competing flows and (ii) with a
competing long-lived flow. Measurements are shown for standard TCP, Cubic-TCP and H-TCP. Bandwidth
is 250 Mbit/sec, RTT is 50ms, queue size 100% BDP" (caption). "In the baseline situation, Cubic-TCP,
standard TCP and H-TCP all exhibit similar completion times ... the completion time of the
short-lived flow approximately doubles with H-TCP ... the completion time for the short-lived flow
increases by more than a factor of four [with CUBIC] ... the completion time [with standard TCP] is
essentially the same", and "the throughput of the long-lived flow is much lower (by a factor 5)
compared with that of the long-lived flow when using H-TCP" (section IV.B).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTT = "50ms"
# assumed: the sizes. One download per run starts after the long flow has run for 100 to 200 s. This
# is more than an epoch of standard TCP (78 s).
SIZES_MB = (1, 2, 5, 10, 20, 50, 100)
START, START_SPREAD = "100s", "100s"
DURATION = "260s"
ALGORITHMS = (testbed.RENO, testbed.CUBIC, testbed.CUBIC_SOURCE, testbed.HTCP)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return [
        scenario(algorithm, size_mb, seed, beside_long=beside_long)
        for algorithm in ALGORITHMS
        for beside_long in (False, True)
        for size_mb in SIZES_MB
        for seed in seeds
    ]


def scenario(algorithm: str, size_mb: int, seed: int, *, beside_long: bool) -> Scenario:
    download = Flow(
        algorithm=algorithm,
        size=f"{size_mb}MB",
        start=START if beside_long else "0s",
        start_spread=START_SPREAD if beside_long else "1s",
    )
    return Scenario(
        duration=DURATION,
        rtt=RTT,
        profile=testbed.PROFILE,
        seed=seed,
        bottleneck=Bottleneck(rate="250mbit", buffer="1bdp"),
        flows=(Flow(algorithm=algorithm), download) if beside_long else (download,),
    )


def reduce(result: Result) -> dict[str, Any]:
    download = result.flows.row(-1, named=True)
    end_us = download["completed_us"] or result.resolved["duration_ns"] / 1e3
    row = testbed.describe(result) | {
        "algorithm": result.scenario.flows[-1].algorithm,
        "size_mb": download_size_mb(result),
        "beside_long": len(result.flows) > 1,
        "completion_s": (end_us - download["start_us"]) / 1e6,
        "completed": download["completed_us"] > 0,
        "long_mbps": None,
    }
    if row["beside_long"]:
        edges_s = [download["start_us"] / 1e6, end_us / 1e6]
        row["long_mbps"] = float(metrics.throughput_bps(result, edges_s)[0, 0] / 1e6)
    return row


def download_size_mb(result: Result) -> int:
    return int(result.resolved["flows"][-1]["size_bytes"] // 1_000_000)


def medians(
    rows: pl.DataFrame, algorithm: str, column: str, *, beside_long: bool
) -> dict[int, float]:
    """Median over the runs, by size in MB."""
    runs = rows.filter(algorithm=algorithm, beside_long=beside_long)
    return {
        size: float(np.median(runs.filter(size_mb=size)[column].to_numpy())) for size in SIZES_MB
    }


def slowdown(rows: pl.DataFrame, algorithm: str) -> stats.Estimate:
    """Completion time beside the long flow over the time alone: median over sizes, by seed."""
    runs = rows.filter(algorithm=algorithm).pivot(
        on="beside_long", index=["seed", "size_mb"], values="completion_s"
    )
    ratios = (
        runs.with_columns(ratio=pl.col("true") / pl.col("false"))
        .group_by("seed")
        .agg(pl.col("ratio").median())
    )
    return stats.mean_ci(ratios.sort("seed")["ratio"].to_list())


def long_htcp_over(rows: pl.DataFrame, algorithm: str) -> stats.Estimate:
    """During the download: throughput of H-TCP's long flow over that of the other, by seed."""
    htcp, other = (
        rows.filter(algorithm=each, beside_long=True)
        .group_by("seed")
        .agg(pl.col("long_mbps").median())
        .sort("seed")["long_mbps"]
        for each in (testbed.HTCP, algorithm)
    )
    return stats.mean_ci((htcp / other).to_list())


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(6, 3.8))
        axes = figure.subplots()
        for algorithm in ALGORITHMS:
            look = style.of(algorithm.split("@")[0])
            colour = "#56B4E9" if algorithm == testbed.CUBIC_SOURCE else look.colour
            for beside_long, line in ((False, "--"), (True, "-")):
                times = medians(rows, algorithm, "completion_s", beside_long=beside_long)
                axes.plot(
                    list(times.keys()),
                    list(times.values()),
                    line,
                    marker=look.marker,
                    markersize=4,
                    color=colour,
                    label=testbed.READINGS[algorithm]
                    + (", with long flow" if beside_long else ", alone"),
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size (MB)")
        axes.set_ylabel("median completion time (s)")
        axes.legend(fontsize="small", ncols=2)
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    papers = {
        testbed.RENO: "≈ 1",
        testbed.CUBIC: "> 4",
        testbed.CUBIC_SOURCE: "> 4",
        testbed.HTCP: "≈ 2",
    }
    slower = [
        Measure(
            f"completion beside the long flow / alone, {testbed.READINGS[algorithm]}",
            "",
            slowdown(rows, algorithm),
            papers[algorithm],
        )
        for algorithm in ALGORITHMS
    ]
    return [
        *slower,
        Measure(
            "long flow's throughput, H-TCP / standard",
            "",
            long_htcp_over(rows, testbed.RENO),
            "≈ 5",
        ),
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    parts = [
        Claim("H-TCP, times slower", "", slowdown(rows, testbed.HTCP), "", low=1.5, high=3),
        Claim("CUBIC, times slower", "", slowdown(rows, reading), "", low=3),
        Claim("standard, times slower", "", slowdown(rows, testbed.RENO), "", high=1.5),
        Claim(
            "H-TCP's long flow / standard's",
            "",
            long_htcp_over(rows, testbed.RENO),
            "",
            low=3,
            high=8,
        ),
    ]
    return [
        Every(
            "leith2007.fig5.short-flow" + testbed.SUFFIX[reading],
            "Beside a long flow a download takes 2 × as long with H-TCP, more than 4 × with CUBIC",
            parts,
        )
    ]
