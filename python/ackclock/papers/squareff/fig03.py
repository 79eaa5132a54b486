"""Figure 3: fairness index of two flows with different RTTs.

"The vertical axis of Fig. 3 depicts Jain's Fairness Index" of the runs of figure 2 (section III.A).
For CUBIC "Fairness Index declines as RTT difference grows"; with the third root "RTT fairness is
improved. However, the complete fairness is not obtained, especially with large RTT difference such
as RTT 2ms and 128ms" (III.C); SQUARE:FF "achieved much better fairness with large RTT difference
than standard CUBIC TCP and the straightforward method with third root of RTT. In the cases of
small RTTs, such as 2ms vs 4ms and 2ms vs 8ms, a little overshooting is detected. That is, the
larger RTT connection obtained higher throughput" (V).
"""

from collections.abc import Sequence
from functools import partial
from math import log2
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Result, Scenario, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.crosscheck import Check, mean
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
    """The paper's axes; bands are 95 % intervals."""
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        axes = figure.subplots()
        for method in two_paths.METHODS:
            points = [
                stats.mean_ci(two_paths.values(rows, method.algorithm, rtt_ms, "jain"))
                for rtt_ms in two_paths.RTTS_MS
            ]
            estimates(
                axes,
                two_paths.RTTS_MS,
                points,
                color=method.colour,
                marker=method.marker,
                label=method.label,
            )
        two_paths.over_rtt(axes)
        axes.set_ylim(0.5, 1.005)
        axes.set_ylabel("Jain's fairness index")
        axes.legend(loc="lower left")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"2 v {rtt_ms} ms, {method.label}: fairness index",
            "",
            stats.mean_ci(two_paths.values(rows, method.algorithm, rtt_ms, "jain")),
        )
        for rtt_ms in (4, 8, 32, 64, 128)
        for method in two_paths.METHODS
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    cubic = two_paths.CUBIC.algorithm
    by_rtt = [two_paths.values(rows, cubic, rtt_ms, "jain") for rtt_ms in two_paths.RTTS_MS]
    octaves = [log2(rtt_ms / 2) for rtt_ms in two_paths.RTTS_MS]
    return [
        Claim(
            "squareff.fig3.grows",
            "CUBIC's fairness index falls as the RTT difference grows "
            "(slope per doubling of the RTT)",
            stats.slope(octaves, list(zip(*by_rtt, strict=True))),
            "",
            high=0,
        ),
        *of_feedback(rows, two_paths.CBRT.algorithm, two_paths.SQUARE.algorithm),
    ]


def of_feedback(rows: pl.DataFrame, cbrt: str, square: str, **of: str) -> list[Every]:
    """The claims about equations (3) and (4), as these algorithms.

    `of` may name another `buffer`.
    """

    def jain(algorithm: str, rtt_ms: int) -> list[float]:
        return two_paths.values(rows, algorithm, rtt_ms, "jain", **of)

    def fairer(by: str, than: str, rtt_ms: int) -> Claim:
        gain = stats.paired_difference(jain(by, rtt_ms), jain(than, rtt_ms))
        return Claim(f"{rtt_ms} ms", "gain of the index", gain, "", low=0)

    not_fully = Claim("128 ms", "index", stats.mean_ci(jain(cbrt, 128)), "", high=0.98)
    return [
        Every(
            "squareff.fig3.cbrt-better",
            "The third root is fairer than CUBIC, but not fully fair at 2 v 128 ms",
            [
                *(fairer(cbrt, two_paths.CUBIC.algorithm, rtt_ms) for rtt_ms in (32, 64, 128)),
                not_fully,
            ],
        ),
        Every(
            "squareff.fig3.square-best",
            "At large RTT differences SQUARE:FF is much fairer than the third root",
            [fairer(square, cbrt, rtt_ms) for rtt_ms in (64, 128)],
        ),
        Every(
            "squareff.fig3.overshoot",
            "SQUARE:FF at 2 v 4 and 2 v 8 ms: the flow with the larger RTT gets more",
            [
                Claim(
                    f"{rtt_ms} ms",
                    "throughput of flow 1 / flow 2",
                    stats.mean_ci(two_paths.values(rows, square, rtt_ms, "ratio", **of)),
                    "times",
                    high=1,
                )
                for rtt_ms in (4, 8)
            ],
        ),
    ]


def _scaled(algorithm: str, rtt_ms: int, seed: int) -> Scenario:
    return two_paths.scenario(algorithm, rtt_ms, seed).replace(
        duration="80s",
        profile="linux-6",
        bottleneck=Bottleneck(rate="100mbit", buffer="1067packets"),
    )


KERNEL = Check(
    setup="100 Mb/s instead of 1 Gb/s, and a tenth of the buffer. Runs of 80 s. "
    "The TCP around the algorithms is of today.",
    points={
        f"{method.label}\n2 v {rtt_ms} ms": partial(_scaled, method.algorithm, rtt_ms)
        for rtt_ms in (16, 128)
        for method in two_paths.METHODS
    },
    reduce=reduce,
    quantities={
        "throughput of flow 1 / flow 2": mean("ratio"),
        "fairness index": mean("jain"),
        "utilisation": mean("utilisation"),
    },
)
