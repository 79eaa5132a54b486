"""The experiment of figures 6 and 7 and of table 2: two flows at several RTTs.

"RTT is varied from 50ms to 300ms"; "in each experiment, flow 1 starts at 0(s) and ends at 600(s),
flow 2 start at 100+x(s) (0<x<1) and ends at 600(s)" (section IV), all else as in `fig02`.
"Background traffic by Surge and Iperf. The amount of background traffic is about 10% of the
bandwidth bottleneck link in both forward and backward directions".
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style, traffic
from ackclock.claims import Claim, Every
from ackclock.papers.cubicfc import _two_flows as two_flows
from ackclock.plot import estimates

SEEDS, QUICK_SEEDS = 10, 1

RTTS_MS = (50, 100, 150, 200, 300)
ALGORITHMS = {"cubic": f"cubic@{two_flows.PRESET}", "cubic_fc": f"cubic_fc@{two_flows.PRESET}"}
# assumed: the background is composed as in Ha et al. Alone it carries 15 % of the link. Beside the
# two flows, whose queue slows it down, it carries about 10 %.
_SESSIONS = traffic.background(two_flows.RATE, 0.15, ALGORITHMS["cubic"])
#: The part of the link that the background takes from the two flows.
BACKGROUND_SHARE = 0.1
#: What each kind of background adds to the scenario.
BACKGROUNDS: dict[str, dict[str, Any]] = {
    "without background": {},
    "with background": {"sessions": _SESSIONS},
}


def grid(seeds: Sequence[int]) -> list[Scenario]:
    """Figures 6 and 7 and table 2 show the same runs."""
    return [
        two_flows.scenario(algorithm, seed, duration="600s", rtt=f"{rtt_ms}ms", **fields)
        for fields, algorithm, rtt_ms, seed in product(
            BACKGROUNDS.values(), ALGORITHMS.values(), RTTS_MS, seeds
        )
    ]


def quick_grid(seeds: Sequence[int]) -> list[Scenario]:
    """A quarter of each run: it ends 50 s after the second flow starts."""
    return [each.replace(duration="150s") for each in grid(seeds)]


def reduce(result: Result) -> dict[str, Any]:
    """As figures 2 and 5, with the difference and the sum of the throughputs.

    With background the flows have converged when they share fairly what the background leaves.
    Throughputs are measured from flow 2's start on. Over the whole run their sum would exceed the
    772 Mb/s of payload that the link carries and that table 2 reports.
    """
    row = two_flows.reduce(result)
    background = "with background" if result.scenario.sessions else "without background"
    share = BACKGROUND_SHARE if result.scenario.sessions else 0
    sent_bytes = result.sessions.filter(direction="forward")["delivered_bytes"].to_numpy().sum()
    first, second = row["throughput_1_mbps"], row["throughput_2_mbps"]
    return row | {
        "rtt_ms": result.resolved["flows"][0]["rtt_ns"] // 1_000_000,
        "background": background,
        "background_mbps": float(8e-6 * sent_bytes / metrics.duration_s(result)),
        "convergence_s": metrics.convergence_time_s(result, background=share),
        "difference_mbps": first - second,
        "total_mbps": first + second,
    }


def runs(rows: pl.DataFrame, background: str, algorithm: str, rtt_ms: int) -> pl.DataFrame:
    """The runs of a point, in the order of the seeds."""
    name = ALGORITHMS[algorithm]
    return rows.filter(background=background, algorithm=name, rtt_ms=rtt_ms).sort("seed")


def pairs(rows: pl.DataFrame, background: str, rtt_ms: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs of CUBIC and the runs of Cubic-FC with the same seeds."""
    cubic, cubic_fc = (runs(rows, background, each, rtt_ms) for each in ALGORITHMS)
    return cubic, cubic_fc


def points() -> list[tuple[str, str, int]]:
    """Label, background and RTT of each point of the paper's figures."""
    return [
        (f"{rtt_ms} ms {background}", background, rtt_ms)
        for background, rtt_ms in product(BACKGROUNDS, RTTS_MS)
    ]


def at_every_point(
    rows: pl.DataFrame,
    of: Callable[[pl.DataFrame, pl.DataFrame], stats.Estimate],
    says: str,
    unit: str,
    **bound: float,
) -> list[Claim]:
    """One claim for each point, about the runs of CUBIC and of Cubic-FC."""
    return [
        Claim(label, says, of(*pairs(rows, background, rtt_ms)), unit, **bound)
        for label, background, rtt_ms in points()
    ]


def plot(rows: pl.DataFrame, of: Callable[[pl.DataFrame], stats.Estimate], quantity: str) -> Figure:
    """The paper's axes, one panel per background; bands are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        panels = figure.subplots(1, len(BACKGROUNDS), sharey=True, squeeze=False)[0]
        for axes, background in zip(panels, BACKGROUNDS, strict=True):
            for algorithm in ALGORITHMS:
                look = style.of(algorithm)
                estimates(
                    axes,
                    RTTS_MS,
                    [of(runs(rows, background, algorithm, rtt_ms)) for rtt_ms in RTTS_MS],
                    color=look.colour,
                    marker=look.marker,
                    label=look.label,
                )
            axes.set_title(background)
            axes.set_xlabel("RTT (ms)")
            axes.set_xticks(RTTS_MS)
        panels[0].set_ylabel(quantity)
        panels[0].set_ylim(bottom=min(0, panels[0].get_ylim()[0]))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


Claims = list[Claim | Every]
