"""Figure 3: response functions of standard TCP, HSTCP and CUBIC.

"Response function of standard TCP, HSTCP, and CUBIC in networks with 10ms (a) and 100ms (b) RTTs"
(caption); "the average window size of CUBIC is calculated by using (6) and CUBIC TCP-friendly
equation in (4)", "with a deterministic loss model where the number of packets between two
successive loss events is always 1/p". "In a network with RTT = 10ms and p = 10^-6, TCP has an
average window of 1200 packets. If the packet size is 1500 bytes, then TCP can achieve an average
rate of 1.44 Gbps. In this case, CUBIC achieves exactly the same rate as Standard TCP, whereas HSTCP
is about ten times more aggressive" (section 5.1).

Lines are the formulas, marks are simulated. One flow runs with an ACK for each packet, as in the
formulas. The mean window is that over the last 3 of 12 losses, or over the last quarter of more
losses at high loss rates. Nothing is random, so a run is not repeated. The windows of standard TCP
and HSTCP do not depend on the RTT; they are simulated at 10 ms.
"""

import math
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, response, stats
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS = QUICK_SEEDS = 1
CUBIC = "cubic@ha2008"
HSTCP = "highspeed@rfc3649"
SIMULATED = ((testbed.SACK, 10), (HSTCP, 10), (CUBIC, 10), (CUBIC, 100))
#: The point that section 5.1 compares.
COMPARED_RTT_MS, COMPARED_LOSS_RATE = 10, 1e-6
#: A quick run has this point and the loss rates above this one, which need few packets.
QUICK_FROM = 0.9e-5


def grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001 (nothing is random)
    return [_scenario(*point) for point in product(SIMULATED, response.LOSS_RATES)]


def quick_grid(seeds: testbed.Seeds) -> list[Scenario]:  # noqa: ARG001 (nothing is random)
    return [
        _scenario((algorithm, rtt_ms), loss_rate)
        for (algorithm, rtt_ms), loss_rate in product(SIMULATED, response.LOSS_RATES)
        if loss_rate > QUICK_FROM or _is_compared(rtt_ms, loss_rate)
    ]


def _scenario(of: tuple[str, int], loss_rate: float) -> Scenario:
    algorithm, rtt_ms = of
    return response.scenario(algorithm, loss_rate, f"{rtt_ms}ms", profile=testbed.PROFILE)


def _is_compared(rtt_ms: int, loss_rate: float) -> bool:
    return rtt_ms == COMPARED_RTT_MS and math.isclose(loss_rate, COMPARED_LOSS_RATE, rel_tol=0.01)


def reduce(result: Result) -> dict[str, Any]:
    every = result.resolved["bottleneck"]["drop_every_packets"]
    point = testbed.describe(result)
    window = response.window(result)
    analytic = response.analytic(point["algorithm"], 1 / every, point["rtt_ms"] / 1e3)
    return point | {
        "rtt": f"{point['rtt_ms']}ms",
        "loss_rate": 1 / every,
        "analytic_packets": analytic,
        "simulated_packets": window.mean_packets,
        "drift": window.drift,
    }


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:  # noqa: ARG001
    at_100 = rows.filter(pl.col("algorithm") != CUBIC).with_columns(rtt=pl.lit("100ms"))
    return response.plot(pl.concat([rows, at_100]))


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure(
            f"{row['algorithm']}, RTT {row['rtt']}, p = {row['loss_rate']:.1e}",
            "packets",
            stats.exact(row["simulated_packets"]),
            f"{row['analytic_packets']:.1f}",
        )
        for row in rows.iter_rows(named=True)
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    of_formula = [
        Claim(
            f"{row['rtt']}, p = {row['loss_rate']:.1e}",
            "",
            stats.exact(row["simulated_packets"] / _paper(row["loss_rate"], row["rtt_ms"] / 1e3)),
            "of the formula",
            0.9,
            1.1,
        )
        for row in rows.filter(algorithm=CUBIC).iter_rows(named=True)
    ]
    windows = {
        row["algorithm"]: row["simulated_packets"]
        for row in rows.iter_rows(named=True)
        if _is_compared(row["rtt_ms"], row["loss_rate"])
    }
    tcp = windows[testbed.SACK]
    compared = Every(
        "ha2008.fig3.1g44",
        "At 10 ms and p = 1e-6 TCP has 1200 packets, CUBIC exactly the same, HSTCP ten times more",
        [
            Claim("TCP", "", stats.exact(tcp), "packets", 1140, 1260),
            Claim("CUBIC / TCP", "", stats.exact(windows[CUBIC] / tcp), "", 0.95, 1.05),
            Claim("HSTCP / TCP", "", stats.exact(windows[HSTCP] / tcp), "", 7, 13),
        ],
    )
    response_function = Every(
        "ha2008.fig3.response",
        "CUBIC's mean window is the larger of eq. (6) and standard TCP's",
        of_formula,
    )
    return [response_function, compared]


def _paper(loss_rate: float, rtt_s: float) -> float:
    """The larger of eq. (6) and standard TCP's formula."""
    return float(max(1.17 * (rtt_s / loss_rate) ** 0.75, 1.2 / loss_rate**0.5))
