"""Figure 1: window growth functions of BIC-TCP and CUBIC.

(a) BIC-TCP: "additive increase", "binary search", then past Wmax "max probing": "a window growth
function exactly symmetric to those used in additive increase and binary search (which is
logarithmic; its reciprocal will be exponential) and then additive increase" (section 3.1). (b)
CUBIC: "W(t) = C(t − K)³ + Wmax", "where C is a CUBIC parameter, t is the elapsed time from the last
window reduction, and K is the time period that the above function takes to increase W to Wmax when
there is no further loss event" (section 3.2).

A flow with a window of about 1000 packets loses packets when four short flows slow-start. Then it
has the link for itself. 400 Mb/s, 100 ms.
"""

from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats, style
from ackclock.claims import Claim, Every, Measure
from ackclock.papers.ha2008 import _testbed as testbed

SEEDS, QUICK_SEEDS = testbed.SEEDS, testbed.QUICK_SEEDS
#: The CUBIC of the paper's equations, and the paper's C.
CUBIC, C = "cubic@ha2008", 0.4
#: BIC's S_max: packets per RTT.
S_MAX = 16
PHASES = ["additive", "logarithmic", "exponential", "additive"]


def grid(seeds: testbed.Seeds) -> list[Scenario]:
    # Small enough that they cause one episode of losses.
    others = Flow(algorithm=testbed.SACK, start="1s", size="4MB", count=4)
    return [
        Scenario(
            duration="25s",
            rtt="100ms",
            profile=testbed.PROFILE,
            seed=seed,
            bottleneck=Bottleneck(rate="400mbit", buffer="400packets"),
            flows=(Flow(algorithm=algorithm, initial_ssthresh_packets=1000), others),
        )
        for algorithm in (testbed.BIC, CUBIC)
        for seed in seeds
    ]


def reduce(result: Result) -> dict[str, Any]:
    time_s, cwnd, w_max = _growth(result)
    found = testbed.describe(result) | {"w_max_packets": w_max}
    return found | (_cubic if found["algorithm"] == CUBIC else _bic)(time_s, cwnd, w_max)


def _growth(result: Result) -> tuple[np.ndarray, np.ndarray, float]:
    """Flow 1 after its reduction: seconds since then, and windows; the window before it."""
    events = result.events.filter(flow=1)
    w_max = events.filter(pl.col("kind") == "recovery")["cwnd_packets"][0]
    start_us = events.filter(pl.col("kind") == "recovered")["time_us"][0]
    samples = metrics.regular_samples(result).filter(pl.col("time_us") >= start_us, flow=1)
    time_s = (samples["time_us"].to_numpy() - start_us) / 1e6
    return time_s, samples["cwnd_packets"].to_numpy().astype(float), float(w_max)


def _formula(time_s: np.ndarray, w_max: float) -> tuple[np.ndarray, float]:
    """Eq. (1) with the K of eq. (2), β = 0.2; K."""
    k_s = (0.2 * w_max / C) ** (1 / 3)
    return C * (time_s - k_s) ** 3 + w_max, k_s


def _cubic(time_s: np.ndarray, cwnd: np.ndarray, w_max: float) -> dict[str, Any]:
    formula, k_s = _formula(time_s, w_max)
    beyond = np.abs(cwnd - formula) / (1 + 0.01 * formula)
    return {"of_tolerance": float(beyond[time_s <= 2 * k_s].max())}


def _bic(time_s: np.ndarray, cwnd: np.ndarray, w_max: float) -> dict[str, Any]:
    # Growth per RTT, as a mean over five RTTs.
    growth = (cwnd[5:] - cwnd[:-5]) / 5
    names = np.where(
        growth > 0.9 * S_MAX,
        "additive",
        np.where(cwnd[:-5] < w_max, "logarithmic", "exponential"),
    )
    # The plateau is flat, so its middle in time is the one that fits best.
    middles_s = time_s[np.abs(cwnd - w_max) < 0.01 * w_max]
    return {
        "in_order": [name for name, _ in groupby(names)] == PHASES,
        "asymmetry": min(_asymmetry(time_s, cwnd, w_max, middle_s) for middle_s in middles_s),
    }


def _asymmetry(time_s: np.ndarray, cwnd: np.ndarray, w_max: float, middle_s: float) -> float:
    """Largest distance of the curve before (middle, Wmax) from its mirror image, over Wmax."""
    before = time_s <= middle_s
    mirrored = 2 * w_max - np.interp(2 * middle_s - time_s[before], time_s, cwnd)
    return float(np.abs(mirrored - cwnd[before]).max() / w_max)


def plot(rows: pl.DataFrame, load: testbed.Load) -> Figure:
    seed = rows["seed"][0]
    with style.applied():
        figure = Figure(figsize=(8, 3.2))
        panels = figure.subplots(1, 2)
        for axes, scenario, title in zip(
            panels, grid([seed]), ("(a) BIC", "(b) CUBIC"), strict=True
        ):
            _panel(axes, load(scenario))
            axes.set_title(title)
        panels[0].set_ylabel("cwnd (packets)")
        panels[1].legend(loc="upper left")
    return figure


def _panel(axes: Axes, result: Result) -> None:
    time_s, cwnd, w_max = _growth(result)
    algorithm = result.scenario.flows[0].algorithm
    axes.plot(time_s, cwnd, color=style.of(algorithm.split("@")[0]).colour, label="simulated")
    axes.axhline(w_max, color=style.INK, linewidth=0.6, linestyle=":")
    axes.annotate("Wmax", (time_s[-1], w_max), ha="right", va="bottom", fontsize="small")
    if algorithm == CUBIC:
        formula, _ = _formula(time_s, w_max)
        axes.plot(time_s, formula, color=style.INK, linestyle="--", linewidth=0.8, label="eq. (1)")
    axes.set_xlabel("time since the reduction (s)")


def measures(rows: pl.DataFrame) -> list[Measure]:
    return [
        Measure("CUBIC: distance from eq. (1) / (1 packet + 1 %)", "", _of(rows, "of_tolerance")),
        Measure("BIC: distance from its mirror image / Wmax", "", _of(rows, "asymmetry"), "0"),
    ]


def claims(rows: pl.DataFrame) -> list[Claim | Every]:
    return [
        Every(
            "ha2008.fig1.bic-growth",
            "BIC grows symmetrically: additive, logarithmic to Wmax, exponential, additive",
            [
                Claim("share of runs with these phases", "", _of(rows, "in_order"), "", 1, 1),
                Claim("asymmetry", "", _of(rows, "asymmetry"), "of Wmax", high=0.05),
            ],
        ),
        Claim(
            "ha2008.fig1.cubic-growth",
            "CUBIC's window follows W(t) = C(t − K)³ + Wmax",
            _of(rows, "of_tolerance"),
            "of 1 packet + 1 %",
            high=1,
        ),
    ]


def _of(rows: pl.DataFrame, column: str) -> stats.Estimate:
    return stats.mean_ci(rows[column].drop_nulls().cast(pl.Float64).to_list())
