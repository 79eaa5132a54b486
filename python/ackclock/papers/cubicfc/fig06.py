"""Figure 6: convergence time over the RTT.

"Fig. 6 shows the convergence times with and without background traffic. We can see Cubic-FC needs
shorter time to achieve convergence than original Cubic, and with the RTT gets bigger, Cubic-FC can
achieve more improvement [...] even background traffic breaks the global synchronization, Cubic-FC
can converge faster than original Cubic" (section IV.B). "Bandwidth is 800Mbps, the running time is
600s, and RTT is varied from 50ms to 300ms. 100%BDP" (caption).
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
    return rtts.plot(rows, two_flows.convergence, "convergence time (s)")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        *(
            Measure(
                f"{label}: {style.of(algorithm).label}",
                "s",
                two_flows.convergence(rtts.runs(rows, background, algorithm, rtt_ms)),
            )
            for label, background, rtt_ms in rtts.points()
            for algorithm in rtts.ALGORITHMS
        ),
        *(
            Measure(f"{part.id}: {part.says}", part.unit, part.estimate, "> 0")
            for part in _faster(rows)
        ),
    ]


def claims(rows: pl.DataFrame) -> list[Every]:
    return [
        Every(
            "cubicfc.fig6.faster-everywhere",
            "Cubic-FC converges faster than CUBIC at every RTT, with and without background, "
            "and its gain grows with the RTT",
            _faster(rows),
        )
    ]


def _faster(rows: pl.DataFrame) -> list[Claim]:
    """The gain at each point, and the trend of the gain over the RTT."""
    return [
        *rtts.at_every_point(rows, two_flows.faster_by, "CUBIC − Cubic-FC, same seed", "s", low=0),
        *(
            Claim(background, "gain per 100 ms of RTT", _trend(rows, background), "s", low=0)
            for background in rtts.BACKGROUNDS
        ),
    ]


def _trend(rows: pl.DataFrame, background: str) -> stats.Estimate:
    """Slope of the gain over the RTT, s per 100 ms."""
    gains, cut_off = [], []
    for rtt_ms in rtts.RTTS_MS:
        cubic, cubic_fc = rtts.pairs(rows, background, rtt_ms)
        known = [each["convergence_s"].fill_null(each["cut_off_s"]) for each in (cubic, cubic_fc)]
        gains.append((known[0] - known[1]).to_list())
        cut_off.append(cubic["convergence_s"].is_null().to_list())
    return stats.slope(
        [rtt_ms / 100 for rtt_ms in rtts.RTTS_MS],
        list(zip(*gains, strict=True)),
        list(zip(*cut_off, strict=True)),
    )
