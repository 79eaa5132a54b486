"""Table 1: the versions of CUBIC.

"2.0-pre (2.6.13) … 2.0 (2.6.15) … 2.6.19: the original implementation of CUBIC has a scaling bug. …
2.1 (2.6.22): the original implementation of CUBIC clamped the maximum window increment to 32
packets per RTT. … CUBIC can safely remove this window clamping in the concave region. …
2.6.22-rc4: CUBIC improves slow start for fast start-up by removing initial_ssthresh. … 2.2
(2.6.25-rc3): the window clamping during the convex growth phase is also removed."

One flow of each version runs at 400 Mb/s and 162 ms. The slow starts of four short flows cost it a
loss while its window is small. Then it has the link for itself: first far above its last maximum
(convex), and after the next loss below its last maximum (concave). Nothing is random, so a run is
not repeated. All versions have the cube root of 2.6.21 (Newton-Raphson); `make bench` has the older
one.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS = QUICK_SEEDS = 1
#: Preset: (kernels by the table, initial ssthresh?, clamp below Wmax?, clamp above Wmax?).
VERSIONS = {
    "2.0-pre": ("2.6.13, the authors' patch", True, False, False),
    "2.6.18.1": ("2.6.15 to 2.6.18.1, with the scaling bug", True, True, True),
    "2.0": ("2.6.19 to 2.6.21", True, True, True),
    "2.1": ("2.6.22", True, False, True),
    "2.6.22-rc4": ("2.6.22-rc4 to 2.6.24", False, False, True),
    "2.2": ("2.6.25", False, False, False),
}
CLAMP_PACKETS = 32
INITIAL_SSTHRESH = 100
SOME_RTTS = 4


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001 (nothing is random)
    others = Flow(algorithm=testbed.SACK, start="20s", size="10MB", count=4)
    return [
        Scenario(
            duration="120s",
            rtt="162ms",
            profile=testbed.PROFILE,
            jitter="0s",
            bottleneck=Bottleneck(rate="400mbit", buffer="0.5bdp"),
            flows=(Flow(algorithm=f"cubic@{version}"), others),
        )
        for version in VERSIONS
    ]


def reduce(result: Result) -> dict[str, Any]:
    events = result.events.filter(flow=1)
    losses = events.filter(pl.col("kind") == "recovery")
    samples = metrics.regular_samples(result).filter(flow=1)
    time_s, cwnd, srtt_s, ssthresh = (
        samples[column].to_numpy().astype(float) / unit
        for column, unit in (
            ("time_us", 1e6),
            ("cwnd_packets", 1),
            ("srtt_us", 1e6),
            ("ssthresh_packets", 1),
        )
    )
    # A mean over some RTTs, because the growth of one RTT comes in bursts.
    later_s = time_s + SOME_RTTS * srtt_s
    growth = (np.interp(later_s, time_s, cwnd) - cwnd) / SOME_RTTS
    below, above = [0.0], [0.0]
    edges_s = [*(losses["time_us"] / 1e6), metrics.duration_s(result)]
    for (start_s, stop_s), w_max in zip(pairwise(edges_s), losses["cwnd_packets"], strict=True):
        # From the end of the recovery to the next loss.
        inside = (time_s > start_s + 1) & (later_s < stop_s) & (cwnd > ssthresh)
        below.append(growth[inside & (cwnd < w_max)].max(initial=0))
        above.append(growth[inside & (cwnd >= w_max)].max(initial=0))
    return testbed.describe(result) | {
        "initial_ssthresh_packets": int(events["ssthresh_packets"][0]),
        "growth_below_packets": float(max(below)),
        "growth_above_packets": float(max(above)),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        axes = figure.subplots()
        for version, colour, scenario in zip(VERSIONS, style.FLOWS, grid([1]), strict=False):
            samples = load(scenario).samples.filter(flow=1)
            axes.plot(
                samples["time_us"] / 1e6, samples["cwnd_packets"], color=colour, label=version
            )
        axes.set_xlabel("time (s)")
        axes.set_ylabel("cwnd (packets)")
        axes.set_ylim(bottom=0)
        axes.legend(title="CUBIC", ncols=2)
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(f"{version}: {what}", "packets", stats.exact(_at(rows, version, column)), paper)
        for version, (_, _, clamp_below, clamp_above) in VERSIONS.items()
        for what, column, paper in (
            ("largest growth per RTT below Wmax", "growth_below_packets", _clamp(clamp_below)),
            ("largest growth per RTT above Wmax", "growth_above_packets", _clamp(clamp_above)),
        )
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    parts = []
    for version, (_, ssthresh, clamp_below, clamp_above) in VERSIONS.items():
        starts = stats.exact(_at(rows, version, "initial_ssthresh_packets"))
        bounds: dict[str, float] = (
            {"low": INITIAL_SSTHRESH, "high": INITIAL_SSTHRESH} if ssthresh else {"low": 2**30}
        )
        parts.append(Claim(f"{version}: initial ssthresh", "", starts, "packets", **bounds))
        for where, clamped in (("below", clamp_below), ("above", clamp_above)):
            growth = stats.exact(_at(rows, version, f"growth_{where}_packets"))
            # The number of ACKs per packet is whole, so growth may be a tenth more.
            bounds = {"high" if clamped else "low": 1.1 * CLAMP_PACKETS}
            name = f"{version}: growth per RTT {where} Wmax"
            parts.append(Claim(name, "", growth, "packets", **bounds))
    return [
        Every("ha2008.table1.versions", "Each version of CUBIC changed what table 1 says", parts)
    ]


def _at(rows: pl.DataFrame, version: str, column: str) -> float:
    return float(rows.filter(algorithm=f"cubic@{version}")[column][0])


def _clamp(clamped: bool) -> str:
    return f"≤ {CLAMP_PACKETS}" if clamped else f"> {CLAMP_PACKETS}"
