"""Queues: the delays of CoDel and PIE, and the shares of FQ-CoDel and DualPI2.

RFC 8033: PIE controls the queue delay to QDELAY_REF, 15 ms. RFC 8289: CoDel's TARGET is 5 ms, the
least sojourn time of an interval that it accepts. RFC 8290: FQ-CoDel gives each flow its share
whatever its algorithm. RFC 9332: the coupling of DualPI2 gives a scalable and a classic flow of
one RTT about the same rate.

Links of 40 Mb/s and 40 ms for two minutes, measured after 30 s. For PIE and CoDel five Reno flows.
FQ-CoDel has CUBIC, Reno, Vegas and BBR; DualPI2 has CUBIC with ECN beside Prague at four rates, at
20 ms.
"""

from typing import NamedTuple

import numpy as np

from ackclock import Bottleneck, Flow, Result, Scenario, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, Variant, grid, plots

WARM_UP_S = 30
MIXED = ("cubic", "reno", "vegas", "bbr")
RATES_MBPS = (4, 12, 40, 120)
TARGET_MS, QDELAY_REF_MS = 5, 15


def _flows(queue: str) -> tuple[Flow, ...]:
    if queue == "dualpi2":
        return Flow(algorithm="cubic", ecn=True), Flow(algorithm="prague", start_spread="1s")
    algorithms = MIXED if queue == "fq_codel" else ("reno",) * 5
    return tuple(Flow(algorithm=each, start_spread="1s") for each in algorithms)


def _scenario(queue: str, rate_mbps: int) -> Scenario:
    return Scenario(
        duration="120s",
        rtt="20ms" if queue == "dualpi2" else "40ms",
        bottleneck=Bottleneck(rate=f"{rate_mbps}mbit", buffer="4000packets", queue=queue),
        flows=_flows(queue),
    )


class Row(NamedTuple):
    """Sojourn times, and how the flows share."""

    delay_ms: float
    #: The lower 5 % of the samples are below it.
    least_delay_ms: float
    #: Throughput of the first flow over that of the last.
    ratio: float
    jain: float


def row(result: Result) -> Row:
    """After 30 s."""
    delays_ms = metrics.queue_delays_s(result, start_s=WARM_UP_S) * 1e3
    bps = metrics.throughput_bps(result, [WARM_UP_S, metrics.duration_s(result)])[:, 0]
    jain = float(bps.sum() ** 2 / (len(bps) * (bps**2).sum()))
    least_ms = float(np.percentile(delays_ms, 5))
    return Row(float(delays_ms.mean()), least_ms, float(bps[0] / bps[-1]), jain)


QUEUES = Experiment(
    "flows in a managed queue",
    [
        *grid(queue=["codel", "pie", "fq_codel"], rate_mbps=[40]),
        *grid(queue=["dualpi2"], rate_mbps=RATES_MBPS),
    ],
    _scenario,
    row,
    seeds=10,
    variants=(
        Variant("RTT", "twice", ["rtt=80ms"]),
        Variant("hosts", "linux-7", ["profile=linux-7"]),
    ),
    assumed={"*": "the RFCs name no path"},
    says={
        "queue": {"codel": "CoDel", "pie": "PIE", "fq_codel": "FQ-CoDel", "dualpi2": "DualPI2"},
        "rate_mbps": "{} Mb/s",
    },
)
DELAY = Column(QUEUES, "delay_ms", "mean queue delay", "ms")
LEAST = Column(QUEUES, "least_delay_ms", "5th percentile of the queue delay", "ms")
RATIO = Column(QUEUES, "ratio", "throughput, CUBIC / Prague")
JAIN = Column(QUEUES, "jain", "Jain's index")
SHARES = [
    RATIO.at(queue="dualpi2", rate_mbps=rate_mbps).geometric().beside(1) for rate_mbps in RATES_MBPS
]

FIGURE = Figure(
    plot=plots.curves(
        {
            "DualPI2": {
                "CUBIC / Prague": (
                    plots.line_style("cubic"),
                    dict(zip(map(float, RATES_MBPS), SHARES, strict=True)),
                )
            }
        },
        xlabel="rate (Mb/s)",
        ylabel="throughput, CUBIC / Prague",
        log_x=True,
        ylim=(0, 2),
        after=lambda axes: plots.by_paper(axes, 1, "equal rates"),
    ),
    quantities=[
        DELAY.at(queue="pie").beside(QDELAY_REF_MS),
        LEAST.at(queue="codel").beside(f"≤ {TARGET_MS}"),
        JAIN.at(queue="fq_codel").beside(1),
        *SHARES,
    ],
    claims=[
        Claim(
            "standards.rfc8033.pie",
            "PIE holds the mean queue delay near 15 ms",
            [
                DELAY.at(queue="pie")
                .beside(QDELAY_REF_MS)
                .within(0.8 * QDELAY_REF_MS, 1.2 * QDELAY_REF_MS)
                .ours
            ],
            paper="15 ms",
            quote="“AQM Latency Target (default: 15 milliseconds)” (RFC 8033, A)",
        ),
        Claim(
            "standards.rfc8289.codel",
            "CoDel's queue falls to 5 ms or less",
            [LEAST.at(queue="codel").below(TARGET_MS)],
            paper="5 ms",
            quote="“5ms TARGET queue delay” (RFC 8289)",
        ),
        Claim(
            "standards.rfc8290.fq-codel",
            "FQ-CoDel gives CUBIC, Reno, Vegas and BBR equal shares",
            [JAIN.at(queue="fq_codel").above(0.98).ours],
            paper="equal",
            quote="“reduces the impact of head-of-line blocking from bursty traffic” (RFC 8290)",
        ),
        Claim(
            "standards.rfc9332.dualpi2",
            "Prague and a classic flow of the same RTT share about equally in DualPI2",
            [each.within(0.8, 1.25).ours for each in SHARES],
            paper="1",
            quote="A classic packet is dropped by the square of what marks a scalable one, "
            "“k = 2” (RFC 9332, A.1)",
        ),
    ],
)
