"""Figure 9: fairness between flows with different RTTs.

"The bottleneck bandwidth is set to 400Mbps and 2Mbyte buffer is used. One flow has a fixed RTT of
162ms and the other flow varies its RTT from 16ms to 162ms" (caption). "TCP-SACK achieves RTT
fairness linearly proportional to the inverse of the RTT ratio. … CUBIC has a similar slope with
TCP-SACK but with a higher fairness ratio … while HSTCP fails in achieving a similar slope. Even
though BIC-TCP shows the similar slope with TCP-SACK, it shows the lowest fairness ratios. … The
slow convergence of HSTCP flows hinders even two flows of the same RTT from reaching to a fair share
within a reasonable amount of time" (section 6.3).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

# As figure 8; the runs at 162 ms are the same.
SEEDS, QUICK_SEEDS = 20, testbed.QUICK_SEEDS
RTT_1_MS = 162
# assumed: the paper does not list the figure's points.
RTTS_MS = (16, 42, 82, 162)
#: After "a reasonable amount of time": the interval in which two HSTCP flows are judged, s.
LATE_S = (200, 250)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return [
        testbed.scenario(
            [testbed.flow(algorithm, RTT_1_MS), testbed.flow(algorithm, rtt)],
            seed,
            buffer="2MB",
            duration=f"{_duration_s(algorithm, rtt)}s",
        )
        for algorithm in testbed.ALGORITHMS
        for rtt in RTTS_MS
        for seed in seeds
    ]


def _duration_s(algorithm: str, rtt_ms: int) -> int:
    """Longer for two HSTCP flows with equal RTTs, whose claim is judged after 200 s."""
    return LATE_S[1] if (algorithm, rtt_ms) == (testbed.HSTCP, RTT_1_MS) else testbed.DURATION_S


def reduce(result: Result) -> dict[str, Any]:
    throughputs = testbed.throughputs_mbps(result, stop_s=testbed.DURATION_S)
    late = metrics.duration_s(result) > testbed.DURATION_S
    return testbed.describe(result) | {
        "fairness": testbed.fairness(throughputs),
        "log_fairness": float(np.log(testbed.fairness(throughputs))),
        "late_fairness": testbed.fairness(testbed.throughputs_mbps(result, *LATE_S))
        if late
        else None,
        "utilisation": testbed.utilisation(result),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        fairness, utilisation = figure.subplots(1, 2)
        inverse = rows.with_columns(inverse=pl.col("rtt_ms") / RTT_1_MS)
        testbed.curves(fairness, inverse, "inverse", "fairness")
        testbed.curves(utilisation, inverse, "inverse", "utilisation")
        fairness.set_ylabel("throughput ratio, slower / faster")
        utilisation.set_ylabel("link utilisation")
        for axes in (fairness, utilisation):
            axes.set_xlabel("inverse RTT ratio (RTT / 162 ms)")
            axes.set_xlim(0, 1.05)
            axes.set_ylim(0, 1.05)
        utilisation.legend(loc="lower right")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    slopes = [
        Measure(f"log-log slope, {name}", "", _slope(rows, algorithm), paper)
        for (algorithm, name), paper in zip(
            testbed.NAMES.items(), ("≈ SACK's", "≈ SACK's", "not SACK's", "≈ 1"), strict=True
        )
    ]
    ratios = [
        Measure(
            f"slower / faster, {name}, {rtt} v {RTT_1_MS} ms",
            "",
            testbed.estimate(rows, "fairness", algorithm=algorithm, rtt_ms=rtt),
        )
        for algorithm, name in testbed.NAMES.items()
        for rtt in RTTS_MS
    ]
    return [*slopes, *ratios]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    higher = [
        Claim(
            f"CUBIC − SACK, {rtt} ms",
            "",
            testbed.fairer(rows, testbed.CUBIC, testbed.SACK, [rtt]),
            "",
            0,
        )
        for rtt in RTTS_MS
    ]
    lowest = [
        Claim(
            f"{testbed.NAMES[other]} − BIC, mean",
            "",
            testbed.fairer(rows, other, testbed.BIC, RTTS_MS),
            "",
            low=0,
        )
        for other in (testbed.CUBIC, testbed.HSTCP, testbed.SACK)
    ]
    slope = Claim("log-log slope of SACK", "", _slope(rows, testbed.SACK), "", 0.7, 1.5)
    hstcp = testbed.estimate(rows, "late_fairness", algorithm=testbed.HSTCP, rtt_ms=RTT_1_MS)
    return [
        Every(
            "ha2008.fig9.rtt-fairness",
            "SACK's ratio ∝ inverse RTT ratio; CUBIC's has this slope, but higher; BIC's is lowest",
            [slope, *higher, *lowest],
        ),
        Claim(
            "ha2008.fig9.hstcp-no-converge",
            "Two HSTCP flows with equal RTTs do not reach a fair share in a reasonable time",
            hstcp,
            "",
            high=0.8,
        ),
    ]


def _slope(rows: pl.DataFrame, algorithm: str) -> stats.Estimate:
    """Slope of log fairness over the log of the inverse RTT ratio."""
    by_rtt = [
        testbed.values(rows, "log_fairness", algorithm=algorithm, rtt_ms=rtt) for rtt in RTTS_MS
    ]
    return stats.slope(np.log(np.array(RTTS_MS) / RTT_1_MS).tolist(), np.transpose(by_rtt).tolist())
