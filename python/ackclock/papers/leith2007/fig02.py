"""Figure 2: a second CUBIC flow joins, at 10, 250 and 500 Mb/s.

"Cubic TCP cwnd time histories following startup of a second flow. Bandwidth is 10 Mbits/s (top),
250 Mbit/sec (middle) and 500 Mbit/sec (bottom). RTT is 200ms, queue size 100% BDP, no web traffic"
(caption). "The cwnds converge very slowly. The rate of convergence decreases as the bandwidth-delay
product (BDP) is increased, with convergence times in excess of 300s commonly observed"; "for cwnds
above about 5000 packets ... the cubic increase function becomes replaced by a simple linear AIMD
increase. This is particularly evident for flow 1 in the lower plot" (section IV).

Single flows at 250 to 750 Mb/s show the lengths of epochs: "the congestion epoch duration
eventually scales linearly with BDP".
"""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import Result, Scenario, metrics, stats, style
from ackclock import plot as drawing
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.leith2007 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
RTT_MS = 200
RATES_MBPS = (10, 250, 500)
#: Single flows, with BDPs of 4167, 8333 and 12500 packets.
SINGLE_SEEDS = 5
SINGLE_RATES_MBPS = (250, 500, 750)
# assumed: long enough for all flows to converge. The paper does not state the figure's time axis.
DURATION = "1200s"
READINGS = (testbed.CUBIC, testbed.CUBIC_SOURCE)
LINEAR_PACKETS = 5000


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    pairs = [
        testbed.scenario(rate, [reading] * 2, [RTT_MS] * 2, seed, duration=DURATION)
        for reading in READINGS
        for rate in RATES_MBPS
        for seed in seeds
    ]
    singles = [
        testbed.scenario(rate, [reading], [RTT_MS], seed, starts_s=[0], duration=DURATION)
        for reading in READINGS
        for rate in SINGLE_RATES_MBPS
        for seed in seeds[:SINGLE_SEEDS]
    ]
    return pairs + singles


def reduce(result: Result) -> dict[str, Any]:
    """When two flows converged; how linearly flow 1 grows above 5000 packets; its epoch."""
    flows = len(result.flows)
    row = testbed.describe(result) | {"flows": flows}
    if flows > 1:
        end_s = metrics.duration_s(result)
        row["convergence_s"] = metrics.convergence_time_s(result)
        row["cut_off_s"] = end_s - metrics.last_start_s(result)
    slopes = _slopes_above(result, LINEAR_PACKETS)
    early, late = slopes or (None, None)
    row["early_slope_pps"], row["late_slope_pps"] = early, late
    epochs = metrics.epochs_s(result, 1)
    row["epoch_s"] = float(epochs[1:].mean()) if len(epochs) > 1 else None
    return row


def _slopes_above(result: Result, packets: int) -> tuple[float, float] | None:
    """Growth of flow 1 above `packets` in the first and second half of its epochs, packets/s.

    Mean over the epochs that stay at least 5 s above `packets`. Slow start and the first epoch do
    not count.
    """
    entries_us = result.events.filter((pl.col("flow") == 1) & (pl.col("kind") == "recovery"))
    samples = metrics.regular_samples(result).filter(
        (pl.col("flow") == 1) & (pl.col("state") == "open") & (pl.col("cwnd_packets") > packets)
    )
    times_s, cwnd = samples["time_us"].to_numpy() / 1e6, samples["cwnd_packets"].to_numpy()
    edges_s = entries_us["time_us"].to_numpy() / 1e6
    found = []
    for start_s, stop_s in pairwise(edges_s[1:]):
        inside = (times_s > start_s + 1) & (times_s < stop_s)
        t, w = times_s[inside], cwnd[inside]
        if len(t) > 4 and t[-1] - t[0] >= 5:
            middle = (t[0] + t[-1]) / 2
            found.append([np.polyfit(t[h], w[h], 1)[0] for h in (t <= middle, t >= middle)])
    return tuple(np.mean(found, axis=0)) if found else None


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    seed = rows["seed"][0]
    runs = grid([seed])
    with style.applied():
        figure = Figure(figsize=(9, 7))
        panels = figure.subplots(len(RATES_MBPS), len(READINGS), sharex=True)
        for column, reading in enumerate(READINGS):
            for row, rate in enumerate(RATES_MBPS):
                axes = panels[row][column]
                result = load(runs[column * len(RATES_MBPS) + row])
                drawing.cwnd(axes, result)
                converged_s = metrics.convergence_time_s(result)
                if converged_s is not None:
                    at_s = metrics.last_start_s(result) + converged_s
                    axes.axvline(at_s, color=style.INK, linewidth=0.8, linestyle=":")
                axes.set_title(f"{rate} Mb/s, {testbed.READINGS[reading]}", fontsize="small")
                if column:
                    axes.set_ylabel("")
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
    return figure


def measures(rows: pl.DataFrame) -> list[Measure]:
    found = []
    for reading in READINGS:
        name = testbed.READINGS[reading]
        for rate in RATES_MBPS:
            runs = _pairs(rows, reading, rate)
            found.append(
                Measure(
                    f"convergence at {rate} Mb/s, {name}", "s", _convergence(runs), "> 300 s common"
                )
            )
        for rate in SINGLE_RATES_MBPS:
            found.append(
                Measure(
                    f"growth above {LINEAR_PACKETS} packets at {rate} Mb/s alone, second half of "
                    f"an epoch / first, {name}",
                    "",
                    _straightness(rows, reading, rate),
                    "1: linear",
                )
            )
            found.append(
                Measure(
                    f"epoch at {rate} Mb/s alone, {name}",
                    "s",
                    testbed.estimate(rows, "epoch_s", algorithms=reading, rate_mbps=rate),
                    "∝ BDP",
                )
            )
        found.append(
            Measure(f"epoch ∝ BDP to the power, {name}", "", _epoch_power(rows, reading), "1")
        )
    return found


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [claim for reading in testbed.SUFFIX for claim in _claims(rows, reading)]


def _claims(rows: pl.DataFrame, reading: str) -> list[Claim | Every]:
    pairs = [_pairs(rows, reading, rate) for rate in RATES_MBPS]
    growth = [
        Claim(
            f"{fast} Mb/s later than {slow} Mb/s",
            "",
            stats.paired_difference_censored(
                b["convergence_s"].to_list(), a["convergence_s"].to_list(), b["cut_off_s"].to_list()
            ),
            "s",
            low=0,
        )
        for slow, fast, a, b in zip(RATES_MBPS, RATES_MBPS[1:], pairs, pairs[1:], strict=False)
    ]
    beyond = [
        Claim(f"{rate} Mb/s", "", _convergence(runs), "s", low=300)
        for rate, runs in zip(RATES_MBPS[1:], pairs[1:], strict=True)
    ]
    straight = [
        Claim(
            f"slope, second half / first, {rate} Mb/s",
            "",
            _straightness(rows, reading, rate),
            "",
            low=0.8,
            high=1.2,
        )
        for rate in SINGLE_RATES_MBPS[1:]
    ]
    linear = Claim(
        "epoch ∝ BDP to this power", "", _epoch_power(rows, reading), "", low=0.9, high=1.1
    )
    return [
        Every(
            "leith2007.fig2.slow-convergence" + testbed.SUFFIX[reading],
            "Convergence takes more than 300 s, and takes longer as the BDP grows",
            [*growth, *beyond],
        ),
        Every(
            "leith2007.fig2.linear-5000" + testbed.SUFFIX[reading],
            "Above ≈ 5000 packets growth is linear, and the epoch grows with the BDP",
            [*straight, linear],
        ),
    ]


def _pairs(rows: pl.DataFrame, reading: str, rate: int) -> pl.DataFrame:
    return rows.filter(algorithms="+".join([reading] * 2), rate_mbps=rate).sort("seed")


def _singles(rows: pl.DataFrame, reading: str, rate: int) -> pl.DataFrame:
    return rows.filter(algorithms=reading, rate_mbps=rate).sort("seed")


def _convergence(runs: pl.DataFrame) -> stats.Estimate:
    return stats.mean_ci_censored(runs["convergence_s"].to_list(), runs["cut_off_s"].to_list())


def _straightness(rows: pl.DataFrame, reading: str, rate: int) -> stats.Estimate:
    runs = _singles(rows, reading, rate)
    return stats.mean_ci((runs["late_slope_pps"] / runs["early_slope_pps"]).to_list())


def _epoch_power(rows: pl.DataFrame, reading: str) -> stats.Estimate:
    """The power of the BDP with which the epoch grows, above 5000 packets."""
    rates = SINGLE_RATES_MBPS[1:]
    epochs = [_singles(rows, reading, rate)["epoch_s"].to_numpy() for rate in rates]
    return stats.slope(np.log(rates).tolist(), np.log(epochs).T.tolist())
