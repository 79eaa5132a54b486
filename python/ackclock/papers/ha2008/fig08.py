"""Figure 8: intra-protocol fairness and link utilisation.

"The bottleneck bandwidth is set to 400Mbps and 2Mbyte bottleneck buffer is used. RTT is varied
between 16ms and 324ms and two flows have the same RTT" (caption). "We use a throughput ratio
between these two flows. … CUBIC and BIC-TCP show higher fairness index than TCP-SACK and HSTCP. …
With 16ms RTT, TCP-SACK shows the best fairness index. … CUBIC, BIC-TCP, and HSTCP utilize the link
regardless of RTTs while TCP-SACK suffers under-utilization with larger RTTs" (section 6.2).
"""

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

# The shares scatter widely here, so ten runs decide little.
SEEDS, QUICK_SEEDS = 20, testbed.QUICK_SEEDS
# assumed: the paper does not list the figure's points.
RTTS_MS = (16, 42, 82, 162, 324)


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    return [
        testbed.scenario([testbed.flow(algorithm, count=2)], seed, rtt_ms=rtt, buffer="2MB")
        for algorithm in testbed.ALGORITHMS
        for rtt in RTTS_MS
        for seed in seeds
    ]


def reduce(result: Result) -> dict[str, Any]:
    return testbed.describe(result) | {
        "fairness": testbed.fairness(testbed.throughputs_mbps(result)),
        "utilisation": testbed.utilisation(result),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(8, 3.4))
        fairness, utilisation = figure.subplots(1, 2)
        testbed.curves(fairness, rows, "rtt_ms", "fairness")
        testbed.curves(utilisation, rows, "rtt_ms", "utilisation")
        fairness.set_ylabel("throughput ratio, slower / faster")
        utilisation.set_ylabel("link utilisation")
        for axes in (fairness, utilisation):
            axes.set_xlabel("RTT (ms)")
            axes.set_ylim(0, 1.05)
        utilisation.legend(loc="lower left")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"{column}, {testbed.NAMES[algorithm]}, {rtt} ms",
            "",
            testbed.estimate(rows, column, algorithm=algorithm, rtt_ms=rtt),
        )
        for column in ("fairness", "utilisation")
        for algorithm in testbed.ALGORITHMS
        for rtt in RTTS_MS
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    overall = [
        Claim(
            f"{testbed.NAMES[better]} − {testbed.NAMES[worse]}, all RTTs",
            "",
            testbed.fairer(rows, better, worse, RTTS_MS),
            "",
            low=0,
        )
        for better in (testbed.CUBIC, testbed.BIC)
        for worse in (testbed.SACK, testbed.HSTCP)
    ]
    at_16 = [
        Claim(
            f"SACK − {testbed.NAMES[worse]}, 16 ms",
            "",
            testbed.fairer(rows, testbed.SACK, worse, [16]),
            "",
            low=0,
        )
        for worse in (testbed.CUBIC, testbed.BIC, testbed.HSTCP)
    ]
    full = [
        Claim(
            f"{testbed.NAMES[algorithm]}, {rtt} ms",
            "",
            testbed.estimate(rows, "utilisation", algorithm=algorithm, rtt_ms=rtt),
            "",
            low=0.9,
        )
        for algorithm in (testbed.CUBIC, testbed.BIC, testbed.HSTCP)
        for rtt in RTTS_MS
    ]
    sack = testbed.estimate(rows, "utilisation", algorithm=testbed.SACK, rtt_ms=324)
    return [
        Every(
            "ha2008.fig8a.fairness",
            "CUBIC and BIC are fairer than SACK and HSTCP; at 16 ms SACK is the fairest",
            [*overall, *at_16],
        ),
        Every(
            "ha2008.fig8b.utilisation",
            "CUBIC, BIC and HSTCP fill the link at all RTTs; SACK does not at large RTTs",
            [*full, Claim("SACK, 324 ms", "", sack, "", high=0.9)],
        ),
    ]
