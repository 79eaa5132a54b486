"""Figure 2: throughput of two flows with different RTTs.

"The network delay time of one connection was always 2ms. The delay time of the other connection
ranged from 2ms to 128ms. The horizontal axes of these graphs represent RTTs of the two
connections" (section III.A). "In the case of RTT 2ms and RTT 128ms, one connection obtained more
than twice performance."

The algorithms are CUBIC, K with the third root of the RTT (equation 3) and SQUARE:FF (equation 4).
The paper gives no unit of RTT; here the unit is the default of `reference_rtt_ms`.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Measure
from ackclock.papers.squareff import _two_paths as two_paths
from ackclock.plot import estimates

SEEDS, QUICK_SEEDS = two_paths.SEEDS, two_paths.QUICK_SEEDS


def grid(seeds: Sequence[int]) -> list[Scenario]:
    return two_paths.grid(seeds)


def quick_grid(seeds: Sequence[int]) -> list[Scenario]:
    return two_paths.shortened(grid(seeds))


def reduce(result: Result) -> dict[str, Any]:
    return two_paths.reduce(result)


def plot(rows: pl.DataFrame, load: two_paths.Load) -> Figure:  # noqa: ARG001
    """The paper's axes, one panel per algorithm; bands are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.2))
        panels = figure.subplots(1, len(two_paths.METHODS), sharey=True)
        for axes, method in zip(panels, two_paths.METHODS, strict=True):
            for flow, rtt, look in (
                (1, "2 ms", {"color": style.INK, "linestyle": "--"}),
                (2, "the RTT below", {"color": method.colour, "marker": method.marker}),
            ):
                points = [
                    stats.mean_ci(
                        two_paths.values(rows, method.algorithm, rtt_ms, f"throughput_{flow}_mbps")
                    )
                    for rtt_ms in two_paths.RTTS_MS
                ]
                estimates(
                    axes,
                    two_paths.RTTS_MS,
                    points,
                    label=f"flow {flow}: {rtt}",
                    markersize=4,
                    **look,
                )
            two_paths.over_rtt(axes)
            axes.set_title(method.label)
        panels[0].legend(loc="lower left")
        panels[0].set_ylabel("throughput (Mb/s)")
        panels[0].set_ylim(bottom=0)
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"2 v {rtt_ms} ms, {method.label}: throughput of flow {flow}",
            "Mb/s",
            stats.mean_ci(
                two_paths.values(rows, method.algorithm, rtt_ms, f"throughput_{flow}_mbps")
            ),
        )
        for method in two_paths.METHODS
        for rtt_ms in (2, 8, 128)
        for flow in (1, 2)
    ]


def claims(rows: pl.DataFrame) -> list[Claim]:
    return [
        Claim(
            "squareff.fig2.cubic-unfair",
            "CUBIC at 2 v 128 ms: one flow gets more than twice the throughput of the other",
            stats.mean_ci(two_paths.values(rows, two_paths.CUBIC.algorithm, 128, "ratio")),
            "times",
            low=2,
        )
    ]
