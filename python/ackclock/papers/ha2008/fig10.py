"""Figure 10: impact on standard TCP traffic.

"We first measure the throughput shares of four TCP-SACK flows when they are competing with the
other four TCP-SACK flows. After that, we replace four flows with a new protocol." (a) "We fix the
bottleneck bandwidth to 400Mbps and vary RTT between 10ms and 160ms. … With 400Mbps and 160ms RTT, 8
TCP-SACK flows achieve around 80% of the link bandwidth. … CUBIC, BIC-TCP, and HSTCP fully utilize
the link. … CUBIC gives more room to TCP-SACK than BIC-TCP and HSTCP for whole range of tested
RTTs". (b) "With 10ms RTT … CUBIC flows employs a window growth function that is comparable to
TCP-SACK. … BIC-TCP and HSTCP show a tendency to operate in a scalable mode (being more aggressive)
as the link speed increases". (c) "100ms RTT. … As the bandwidth gets larger than 10Mbps, the
throughput ratio drops quite rapidly. … CUBIC and BIC-TCP show a similar aggressiveness which is
slightly more aggressive than HSTCP especially for the bandwidth less than 100Mbps" (section 6.4).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
# assumed: the paper does not list the figure's points.
RTTS_MS = (10, 40, 80, 160)
RATES_MBPS = (10, 50, 100, 400)
OTHERS = (testbed.CUBIC, testbed.BIC, testbed.HSTCP)
#: (rate in Mb/s, RTT in ms) of each panel.
PANELS = {
    "a": [(400, rtt) for rtt in RTTS_MS],
    "b": [(rate, 10) for rate in RATES_MBPS],
    "c": [(rate, 100) for rate in RATES_MBPS],
}
POINTS = list(dict.fromkeys(point for points in PANELS.values() for point in points))


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    sack = testbed.flow(testbed.SACK, count=4)
    return [
        testbed.scenario([testbed.flow(algorithm, count=4), sack], seed, rtt_ms=rtt, rate_mbps=rate)
        for algorithm in testbed.ALGORITHMS
        for rate, rtt in POINTS
        for seed in seeds
    ]


def reduce(result: Result) -> dict[str, Any]:
    shares = testbed.throughputs_mbps(result) * 1e6 / metrics.capacity_bps(result)
    new, sack = float(shares[:4].sum()), float(shares[4:].sum())
    return testbed.describe(result) | {
        "new_share": new,
        "sack_share": sack,
        "both_share": new + sack,
        "ratio": new / sack,
        "utilisation": testbed.utilisation(result),
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    with style.applied():
        figure = Figure(figsize=(9, 5))
        panels = figure.subplots(2, 3, sharey="row")
        for column, (name, points) in enumerate(PANELS.items()):
            some = rows.join(
                pl.DataFrame(points, schema=["rate_mbps", "rtt_ms"], orient="row"),
                on=["rate_mbps", "rtt_ms"],
                how="semi",
            )
            x = "rtt_ms" if name == "a" else "rate_mbps"
            for axes, y in zip(panels[:, column], ("sack_share", "new_share"), strict=True):
                testbed.curves(axes, some, x, y)
                axes.set_ylim(0, 1)
            panels[1, column].set_xlabel("RTT (ms)" if name == "a" else "bottleneck (Mb/s)")
        titles = ("(a) 400 Mb/s", "(b) RTT 10 ms", "(c) RTT 100 ms")
        for axes, title in zip(panels[0], titles, strict=True):
            axes.set_title(title)
        panels[0, 0].set_ylabel("share of the four SACK")
        panels[1, 0].set_ylabel("share of the four others")
        panels[0, 2].legend(title="the others", loc="upper right")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"{what}, {rate} Mb/s, {rtt} ms, beside {testbed.NAMES[algorithm]}",
            "",
            testbed.estimate(rows, column, algorithm=algorithm, rate_mbps=rate, rtt_ms=rtt),
        )
        for what, column in (("share of SACK", "sack_share"), ("utilisation", "utilisation"))
        for rate, rtt in POINTS
        for algorithm in testbed.ALGORITHMS
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    eight = {"algorithm": testbed.SACK, "rate_mbps": 400, "rtt_ms": 160}
    room = [
        Claim(
            f"SACK beside CUBIC − beside {testbed.NAMES[other]}, {rtt} ms",
            "",
            _more_room(rows, other, rtt),
            "",
            low=0,
        )
        for other in (testbed.BIC, testbed.HSTCP)
        for rtt in RTTS_MS
    ]
    friendly = [
        Claim(f"CUBIC / SACK, {rate} Mb/s", "", _ratio(rows, testbed.CUBIC, rate), "", 0.8, 1.25)
        for rate in RATES_MBPS
    ]
    rising = [
        Claim(
            f"trend of log ({testbed.NAMES[other]} / SACK) over log rate",
            "",
            _trend(rows, other, 10, "ratio"),
            "",
            low=0,
        )
        for other in (testbed.BIC, testbed.HSTCP)
    ]
    falling = [
        Claim(
            f"trend of log SACK share over log rate, beside {testbed.NAMES[other]}",
            "",
            _trend(rows, other, 100, "sack_share"),
            "",
            high=0,
        )
        for other in OTHERS
    ]
    alike = [
        Claim(
            f"CUBIC's share / BIC's, {rate} Mb/s", "", _cubic_over_bic(rows, rate), "", 0.75, 1.25
        )
        for rate in RATES_MBPS
    ]
    return [
        Every(
            "ha2008.fig10a.friendliness-rtt",
            "8 SACK flows reach ≈ 80 % at 160 ms; CUBIC leaves SACK more than BIC and HSTCP do",
            [
                Claim(
                    "8 SACK, 160 ms",
                    "",
                    testbed.estimate(rows, "both_share", **eight),
                    "",
                    0.7,
                    0.9,
                ),
                *room,
            ],
        ),
        Every(
            "ha2008.fig10b.friendliness-10ms",
            "CUBIC is as friendly as SACK; BIC and HSTCP take more as the rate grows",
            [*friendly, *rising],
        ),
        Every(
            "ha2008.fig10c.friendliness-100ms",
            "SACK's share falls as the rate grows; CUBIC is about as aggressive as BIC",
            [*falling, *alike],
        ),
    ]


def _more_room(rows: pl.DataFrame, other: str, rtt_ms: int) -> stats.Estimate:
    """SACK's share beside CUBIC minus its share beside the other, seed by seed."""
    point = {"rate_mbps": 400, "rtt_ms": rtt_ms}
    beside_cubic, beside_other = (
        testbed.values(rows, "sack_share", algorithm=algorithm, **point)
        for algorithm in (testbed.CUBIC, other)
    )
    return stats.paired_difference(beside_cubic, beside_other)


def _ratio(rows: pl.DataFrame, algorithm: str, rate_mbps: int) -> stats.Estimate:
    return testbed.estimate(rows, "ratio", algorithm=algorithm, rate_mbps=rate_mbps, rtt_ms=10)


def _trend(rows: pl.DataFrame, algorithm: str, rtt_ms: int, column: str) -> stats.Estimate:
    """Slope of the column's logarithm over that of the rate, seed by seed."""
    by_rate = [
        testbed.values(rows, column, algorithm=algorithm, rate_mbps=rate, rtt_ms=rtt_ms)
        for rate in RATES_MBPS
    ]
    return stats.slope(np.log(RATES_MBPS).tolist(), np.log(np.transpose(by_rate)).tolist())


def _cubic_over_bic(rows: pl.DataFrame, rate_mbps: int) -> stats.Estimate:
    point = {"rate_mbps": rate_mbps, "rtt_ms": 100}
    cubic, bic = (
        testbed.values(rows, "new_share", algorithm=algorithm, **point)
        for algorithm in (testbed.CUBIC, testbed.BIC)
    )
    return stats.mean_ci([a / b for a, b in zip(cubic, bic, strict=True)])
