"""Figure 7: difference of the two flows' throughputs over the RTT.

"Fig. 7 shows us the difference of the average throughput of two flows, i.e. average throughput of
Flow 1 - average throughput of Flow 2. We can see that, whether with or without background traffic,
the two flows of Cubic-FC always can achieve fairer throughput than original Cubic" (section IV.C),
in the runs of figure 6.
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.cubicfc import _rtts as rtts
from ackclock.papers.cubicfc import _two_flows as two_flows

SEEDS, QUICK_SEEDS = rtts.SEEDS, rtts.QUICK_SEEDS


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return rtts.grid(seeds)


def quick_grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return rtts.quick_grid(seeds)


def reduce(result: Result) -> dict[str, Any]:
    return rtts.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:  # noqa: ARG001
    return rtts.plot(rows, _difference, "throughput of flow 1 − flow 2 (Mb/s)")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        *(
            Measure(
                f"{label}: {style.of(algorithm).label}",
                "Mb/s",
                _difference(rtts.runs(rows, background, algorithm, rtt_ms)),
            )
            for label, background, rtt_ms in rtts.points()
            for algorithm in rtts.ALGORITHMS
        ),
        *(
            Measure(f"{part.id}: {part.says}", part.unit, part.estimate, "> 0")
            for part in _fairer(rows)
        ),
    ]


def claims(rows: pl.DataFrame) -> list[Every]:
    return [
        Every(
            "cubicfc.fig7.fairer",
            "At every RTT two Cubic-FC flows differ less in throughput than two CUBIC flows",
            _fairer(rows),
        )
    ]


def _difference(runs: pl.DataFrame) -> stats.Estimate:
    return stats.mean_ci(runs["difference_mbps"].to_list())


def _fairer(rows: pl.DataFrame) -> list[Claim]:
    def by(cubic: pl.DataFrame, cubic_fc: pl.DataFrame) -> stats.Estimate:
        return stats.paired_difference(
            cubic["difference_mbps"].to_list(), cubic_fc["difference_mbps"].to_list()
        )

    return rtts.at_every_point(rows, by, "CUBIC − Cubic-FC, same seed", "Mb/s", low=0)
