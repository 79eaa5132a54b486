"""Algorithm 1: the features of Linux 2.6.18's CUBIC, seen in a run.

Initial ssthresh 100 (line 2); cwnd grows by one packet per 50 ACKs before the first back-off (lines
25 and 26), "equivalently, cwnd doubles approximately every 35 round-trip times"; at most 20 packets
per s of delay_min in an RTT (line 23); back-off to 0.8 cwnd (line 44); last_max = 0.9 cwnd where a
loss comes below the last maximum (line 39). Tests in crates/host/tests (eras.rs, cubic/versions.rs)
check each line; this module looks at a whole run of the algorithm as it is printed.

One flow runs at 250 Mb/s and 200 ms with one BDP of buffer.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, plots
from ackclock.papers.leith2007 import _testbed as testbed

RATE_MBPS, RTT_MS = 250, 200


def _scenario() -> Scenario:
    return testbed.scenario(RATE_MBPS, [testbed.TEXT], [RTT_MS])


class Row(NamedTuple):
    """The end of the first slow start, growth before the first loss, clamp and back-off."""

    initial_ssthresh_packets: float
    doubling_rtts: float
    growth_per_rtt_packets: float
    back_off: float


def row(result: Result) -> Row:
    """The features that Algorithm 1 lists, as the run shows them."""
    samples = metrics.regular_samples(result).filter(pl.col("state") == "open")
    entries = testbed.losses(result, 1)
    time_s = samples["time_us"].to_numpy() / 1e6
    rtt_s = samples["srtt_us"].to_numpy() / 1e6
    cwnd = samples["cwnd_packets"].to_numpy().astype(float)
    losses_s = entries["time_us"].to_numpy() / 1e6
    # Below the BDP there is no queue, so the RTT is constant.
    bdp_packets = RATE_MBPS * 1e6 * RTT_MS / 1e3 / 12e3
    probing = (time_s < losses_s[0]) & (cwnd > 150) & (cwnd < 0.9 * bdp_packets)
    growth_per_s = np.polyfit(time_s[probing], np.log(cwnd[probing]), 1)[0]
    epochs = [
        (time_s > start_s + 5) & (time_s < stop_s) for start_s, stop_s in pairwise(losses_s[1:])
    ]
    per_rtt = [
        np.polyfit(time_s[inside], cwnd[inside], 1)[0] * rtt_s[inside].mean() for inside in epochs
    ]
    return Row(
        float(result.events["ssthresh_packets"][0]),
        float(np.log(2) / growth_per_s / (RTT_MS / 1e3)),
        float(np.mean(per_rtt)),
        float((entries["ssthresh_packets"] / entries["cwnd_packets"]).to_numpy().mean()),
    )


ALONE = Experiment(
    "Algorithm 1",
    [{}],
    _scenario,
    row,
    variants=(
        Variant("algorithm", "the testbed's kernel", ["cubic@=2.6.18.2"]),
        testbed.WITH_TSO,
        testbed.WITHOUT_TICK,
        testbed.JITTER,
    ),
    assumed=testbed.ASSUMED
    | {
        "flow.algorithm": "as Algorithm 1 is printed",
        "bottleneck.rate": "as the middle of figure 2",
        "flow.rtt": "as figure 2",
        "bottleneck.buffer": "as figure 2",
    },
)

#: Quantity, unit, column, value by Algorithm 1, tolerance.
FEATURES = (
    ("initial ssthresh", "packets", "initial_ssthresh_packets", 100, 0),
    # ln 2 / ln (1 + 1/51): cwnd_cnt > cnt is true at every 51st ACK.
    ("doubling before the first back-off", "RTTs", "doubling_rtts", 35.7, 0.05),
    ("clamped growth per RTT", "packets", "growth_per_rtt_packets", 20 * RTT_MS / 1e3, 0.05),
    ("window kept at a back-off", "", "back_off", 0.8, 0.01),
)


def _paper(axes: Axes) -> None:
    """The paper's first ssthresh, and a window that doubles every 35 RTTs from there."""
    ssthresh_packets, doubling_rtts = 100, 35
    time_s, cwnd = (np.asarray(each, dtype=float) for each in axes.lines[0].get_data())
    start_s = time_s[np.argmax(cwnd >= ssthresh_packets)]
    packets = np.geomspace(ssthresh_packets, np.nanmax(cwnd))
    since_s = np.log2(packets / ssthresh_packets) * doubling_rtts * RTT_MS / 1e3
    name = f"the paper: from {ssthresh_packets} packets on it doubles every {doubling_rtts} RTTs"
    axes.plot(start_s + since_s, packets, **plots.PAPER, label=name)
    axes.legend(loc="lower right", fontsize="x-small", ncols=2)


FIGURE = Figure(
    plot=plots.windows({"Algorithm 1": (ALONE, {})}, after=_paper),
    quantities=[
        Column(ALONE, column, name, unit, paper=value).at()
        for name, unit, column, value, _ in FEATURES
    ],
    claims=[
        Claim(
            "leith2007.alg1",
            "CUBIC has the features that Algorithm 1 lists",
            [
                Column(ALONE, column, name, unit)
                .at()
                .within(value * (1 - tolerance), value * (1 + tolerance))
                .ours
                for name, unit, column, value, tolerance in FEATURES
            ],
            paper="as listed",
            quote="“cwnd doubles approximately every 35 round-trip times” (III)",
        )
    ],
)
