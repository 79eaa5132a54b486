"""Introduction: how long standard TCP takes to fill 10 Gb/s.

"If the bandwidth of a network path is 10 Gbps and the RTT is 100 ms, with packets of 1250 bytes,
the BDP of the path is around 100,000 packets. For TCP to grow its window from the mid-point of the
BDP, say 50,000, it takes about 50,000 RTTs which amounts to 5000 seconds (1.4 hours)" (section 1).

One flow starts congestion avoidance at 50 000 packets. Its growth in the first 20 s is extrapolated
to the full window. Nothing is random, so the run is not repeated.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.draw import style
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, plots
from ackclock.papers.ha2008 import _testbed as testbed
from ackclock.scenario.scenario import HEADER_BYTES

PACKET_BYTES = 1250
HALF_PACKETS = 50_000


def _scenario() -> Scenario:
    return Scenario(
        duration="25s",
        rtt="100ms",
        profile=testbed.PROFILE,
        jitter="0s",
        mss=PACKET_BYTES - HEADER_BYTES,
        delayed_ack_segments=1,
        bottleneck=Bottleneck(rate="10gbit", buffer="1bdp"),
        flows=(Flow(algorithm=testbed.SACK, initial_ssthresh_packets=HALF_PACKETS),),
    )


class Row(NamedTuple):
    """A run."""

    bdp_packets: float
    regrow_s: float


def row(result: Result) -> Row:
    """Growth is that after slow start."""
    samples = metrics.regular_samples(result).filter(pl.col("cwnd_packets") > HALF_PACKETS)
    growth_per_s, _ = np.polyfit(samples["time_us"] / 1e6, samples["cwnd_packets"], 1)
    link = result.resolved["bottleneck"]["rate_bps"]
    rtt_s = result.resolved["flows"][0]["rtt_ns"] / 1e9
    return Row(link * rtt_s / 8 / PACKET_BYTES, HALF_PACKETS / float(growth_per_s))


GROWTH = Experiment(
    "growth",
    [{}],
    _scenario,
    row,
    seeds=1,
    variants=(Variant("ACKs", "one for 2 packets", ["delayed_ack_segments=2"]), *testbed.HOSTS),
    assumed={"*": "", "duration": "enough to see the growth", "profile": "as in section 6"}
    | {"delayed_ack_segments": '"TCP grows its window one per round trip time"'}
    | dict.fromkeys(("jitter", "bottleneck.buffer"), "nothing is random, and no queue is full"),
)

BDP = Column(GROWTH, "bdp_packets", "BDP", "packets", 100_000).at()
REGROW = Column(GROWTH, "regrow_s", "time to grow by 50 000 packets", "s", 5000).at()


def _paper(axes: Axes) -> None:
    """Growth as in the text."""
    time_s, cwnd = (np.asarray(each, float) for each in axes.lines[0].get_data())
    start_s, end_s = time_s[cwnd > HALF_PACKETS][0], time_s[-1]
    plots.shown_from(axes, start_s, end_s)
    packets = [HALF_PACKETS, HALF_PACKETS * (1 + (end_s - start_s) / 5000)]
    axes.set_ylim(HALF_PACKETS - 10, packets[1] + 30)
    label = "the paper: 50 000 packets in 5000 s"
    axes.plot([start_s, end_s], packets, "--", color=style.INK, linewidth=0.9, label=label)
    axes.legend(loc="lower right", fontsize="x-small")


FIGURE = Figure(
    plot=plots.windows({"": (GROWTH, {})}, after=_paper),
    quantities=[BDP, REGROW],
    claims=[
        Claim(
            "ha2008.intro.reno-10g",
            "At 10 Gb/s and 100 ms the BDP is ≈ 100 000 packets; regrowth takes 5000 s",
            [BDP.within(80_000, 100_000).ours, REGROW.within(4750, 5250).ours],
            paper="100 000; 5000 s",
            quote="“it takes about 50,000 RTTs which amounts to 5000 seconds (1.4 hours)” (1)",
        )
    ],
)
