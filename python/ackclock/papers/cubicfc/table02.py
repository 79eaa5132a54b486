"""Table II: total throughput.

"Table II shows the compare of total throughput of two mechanisms. [...] in the environment without
background traffic, the maximum decrement of total throughput is only 0.098%, and the average value
is only 0.014%; in the environment with background traffic, these two values are 0.63% and 0.46%,
respectively" (section IV.C), in the runs of figure 6.
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.cubicfc import _rtts as rtts
from ackclock.papers.cubicfc import _two_flows as two_flows
from ackclock.plot import estimates

SEEDS, QUICK_SEEDS = rtts.SEEDS, rtts.QUICK_SEEDS

#: The paper's table, Mb/s.
PAPER = {
    "without background": {
        "cubic": (772.173, 772.259, 772.590, 772.334, 772.814),
        "cubic_fc": (772.058, 772.062, 772.181, 772.135, 772.057),
    },
    "with background": {
        "cubic": (685.203, 685.680, 686.053, 684.754, 683.844),
        "cubic_fc": (680.896, 681.452, 683.176, 681.869, 682.086),
    },
}
#: Largest loss that is not a "serious impact", percent.
LARGEST_LOSS_PERCENT = {"without background": 0.2, "with background": 1}


def grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return rtts.grid(seeds)


def quick_grid(seeds: two_flows.Seeds) -> list[Scenario]:
    return rtts.quick_grid(seeds)


def reduce(result: Result) -> dict[str, Any]:
    return rtts.reduce(result)


def plot(rows: pl.DataFrame, load: two_flows.Load) -> Figure:  # noqa: ARG001
    """The measured loss of throughput beside the paper's; bands are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.2))
        axes = figure.subplots()
        for background, colour in zip(rtts.BACKGROUNDS, style.FLOWS, strict=False):
            estimates(
                axes,
                rtts.RTTS_MS,
                [_loss(*rtts.pairs(rows, background, rtt_ms)) for rtt_ms in rtts.RTTS_MS],
                color=colour,
                marker="o",
                label=f"{background}: measured",
            )
            cubic, cubic_fc = PAPER[background].values()
            axes.plot(
                rtts.RTTS_MS,
                [100 * (1 - fc / plain) for plain, fc in zip(cubic, cubic_fc, strict=True)],
                "x--",
                color=colour,
                label=f"{background}: the paper",
            )
        axes.axhline(0, color=style.INK, linewidth=0.6)
        axes.set_xticks(rtts.RTTS_MS)
        axes.set_xlabel("RTT (ms)")
        axes.set_ylabel("throughput that Cubic-FC loses (%)")
        axes.legend()
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        *(
            Measure(
                f"{rtt_ms} ms {background}: {style.of(algorithm).label}, total throughput",
                "Mb/s",
                _total(rtts.runs(rows, background, algorithm, rtt_ms)),
                f"{paper:.1f} Mb/s",
            )
            for background in rtts.BACKGROUNDS
            for algorithm in rtts.ALGORITHMS
            for rtt_ms, paper in zip(rtts.RTTS_MS, PAPER[background][algorithm], strict=True)
        ),
        *(
            Measure(
                f"{label}: the background's throughput",
                "Mb/s",
                stats.mean_ci(both["background_mbps"].to_list()),
                "≈ 80 Mb/s",
            )
            for label, background, rtt_ms in rtts.points()
            if background == "with background"
            for both in [pl.concat(rtts.pairs(rows, background, rtt_ms))]
        ),
        *(Measure(f"{part.id}: {part.says}", part.unit, part.estimate) for part in _losses(rows)),
    ]


def claims(rows: pl.DataFrame) -> list[Every]:
    return [
        Every(
            "cubicfc.table2.throughput",
            "Cubic-FC loses at most 0.1 % of CUBIC's total throughput, and 0.65 % with background",
            _losses(rows),
        )
    ]


def _total(runs: pl.DataFrame) -> stats.Estimate:
    return stats.mean_ci(runs["total_mbps"].to_list())


def _losses(rows: pl.DataFrame) -> list[Claim]:
    return [
        Claim(
            label,
            "loss, same seed",
            _loss(*rtts.pairs(rows, background, rtt_ms)),
            "%",
            high=LARGEST_LOSS_PERCENT[background],
        )
        for label, background, rtt_ms in rtts.points()
    ]


def _loss(cubic: pl.DataFrame, cubic_fc: pl.DataFrame) -> stats.Estimate:
    """Share of CUBIC's total throughput that Cubic-FC loses, percent."""
    loss = 100 * (1 - cubic_fc["total_mbps"] / cubic["total_mbps"])
    return stats.mean_ci(loss.to_list())
