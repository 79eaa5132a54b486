"""Introduction: how long standard TCP takes to fill 10 Gb/s.

"If the bandwidth of a network path is 10 Gbps and the RTT is 100 ms, with packets of 1250 bytes,
the BDP of the path is around 100,000 packets. For TCP to grow its window from the mid-point of the
BDP, say 50,000, it takes about 50,000 RTTs which amounts to 5000 seconds (1.4 hours)" (section 1).

One flow starts congestion avoidance at 50 000 packets. Its growth in the first 20 s is extrapolated
to the full window. Nothing is random, so the run is not repeated.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.scenario import HEADER_BYTES

SEEDS = QUICK_SEEDS = 1
PACKET_BYTES = 1250
HALF_PACKETS = 50_000
GROWTH_S = 20


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001 (nothing is random)
    return [
        Scenario(
            duration=f"{GROWTH_S + 5}s",
            rtt="100ms",
            profile=testbed.PROFILE,
            jitter="0s",
            mss=PACKET_BYTES - HEADER_BYTES,
            delayed_ack_segments=1,  # "TCP grows its window one per round trip time"
            bottleneck=Bottleneck(rate="10gbit", buffer="1bdp"),
            flows=(Flow(algorithm=testbed.SACK, initial_ssthresh_packets=HALF_PACKETS),),
        )
    ]


def reduce(result: Result) -> dict[str, Any]:
    samples = metrics.regular_samples(result).filter(pl.col("cwnd_packets") > HALF_PACKETS)
    growth_per_s, _ = np.polyfit(samples["time_us"] / 1e6, samples["cwnd_packets"], 1)
    link = result.resolved["bottleneck"]["rate_bps"]
    rtt_s = result.resolved["flows"][0]["rtt_ns"] / 1e9
    return testbed.describe(result) | {
        "bdp_packets": link * rtt_s / 8 / PACKET_BYTES,
        "regrow_s": HALF_PACKETS / float(growth_per_s),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(8, 3))
        axes = figure.subplots()
        drawing.cwnd(axes, load(*grid([1])))
        axes.set_xlabel("time (s)")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure("BDP", "packets", stats.exact(rows["bdp_packets"][0]), "≈ 100 000"),
        Measure(
            "time to grow by 50 000 packets", "s", stats.exact(rows["regrow_s"][0]), "≈ 5000 s"
        ),
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    bdp, regrow = (stats.exact(rows[column][0]) for column in ("bdp_packets", "regrow_s"))
    return [
        Every(
            "ha2008.intro.reno-10g",
            "At 10 Gb/s and 100 ms the BDP is ≈ 100 000 packets; regrowth takes 5000 s",
            [
                Claim("BDP", "", bdp, "packets", 80_000, 100_000),
                Claim("time to regrow", "", regrow, "s", 4750, 5250),
            ],
        )
    ]
