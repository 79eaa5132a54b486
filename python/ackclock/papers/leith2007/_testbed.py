"""The testbed of section II: a dumbbell of Linux 2.6.18 hosts around a dummynet router."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats

SEEDS = 10
QUICK_SEEDS = 1

# "Linux 2.6.18 with Cubic bug fix" (table I): Algorithm 1 as printed, whose clamp is 20 packets/s.
CUBIC = "cubic@2.6.18"
# The source of that kernel (2.6.18.2) has 8 times that clamp: in `8 * cwnd / (20 * delay_min)`
# delay_min counts eighths of a jiffy. Figures show both readings wherever the clamp may matter.
CUBIC_SOURCE = "cubic@2.6.18:max_rate=160"
RENO = "reno"
HTCP = "htcp"
# assumed: the profile nearest to the testbed's Linux 2.6.18.
PROFILE = "linux-2.6.25"
# "Each individual test was run at least ten minutes" (section II.A).
DURATION_S = 600
# assumed: each flow starts within one second, so that runs with different seeds differ.
START_SPREAD = "1s"

READINGS = {
    CUBIC: "Algorithm 1",
    CUBIC_SOURCE: "2.6.18.2's source",
    RENO: "standard",
    HTCP: "H-TCP",
}

#: The end of a claim's id. Each claim is judged by both readings.
SUFFIX = {CUBIC: "", CUBIC_SOURCE: "@source"}

Load = Callable[[Scenario], Result]
Seeds = Sequence[int]


def scenario(
    rate_mbps: int,
    algorithms: Sequence[str],
    rtts_ms: Sequence[int],
    seed: int,
    *,
    starts_s: Sequence[float] = (0, 100),
    buffer: str = "1bdp",
    **fields: Any,
) -> Scenario:
    """One long-lived flow for each algorithm, RTT and start; the sequences have equal length."""
    settings: dict[str, Any] = {
        "duration": f"{DURATION_S}s",
        "profile": PROFILE,
        "sample_interval": "1s",
        "seed": seed,
        "bottleneck": Bottleneck(rate=f"{rate_mbps}mbit", buffer=buffer),
        "flows": tuple(
            Flow(
                algorithm=algorithm,
                rtt=f"{rtt_ms}ms",
                start=f"{start_s:g}s",
                start_spread=START_SPREAD,
            )
            for algorithm, rtt_ms, start_s in zip(algorithms, rtts_ms, starts_s, strict=True)
        ),
    }
    return Scenario(**settings | fields)


def shortened(scenarios: Sequence[Scenario], duration: str) -> list[Scenario]:
    """The scenarios, shortened for a quick run."""
    return [each.replace(duration=duration) for each in scenarios]


def describe(result: Result) -> dict[str, Any]:
    """Which point of a grid a run is."""
    of = result.scenario
    return {
        "algorithms": "+".join(flow.algorithm for flow in of.flows),
        "rate_mbps": result.resolved["bottleneck"]["rate_bps"] // 1_000_000,
        "rtts_ms": "+".join(str(flow["rtt_ns"] // 1_000_000) for flow in result.resolved["flows"]),
        "rtt_2_ms": result.resolved["flows"][-1]["rtt_ns"] // 1_000_000,
        "seed": of.seed,
        "duration": of.duration,
    }


def last_throughputs_mbps(result: Result, last_s: float) -> np.ndarray:
    """Mean throughput of each flow over the last seconds of the run, Mb/s; shape (flows,)."""
    end_s = metrics.duration_s(result)
    return metrics.throughput_bps(result, [end_s - last_s, end_s])[:, 0] / 1e6


def peaks_packets(result: Result, flow: int, after_s: float = 0) -> np.ndarray:
    """The congestion window at each entry into recovery."""
    entries = result.events.filter(
        (pl.col("flow") == flow)
        & (pl.col("kind") == "recovery")
        & (pl.col("time_us") >= after_s * 1e6)
    )
    return entries["cwnd_packets"].to_numpy().astype(float)


def lag_1(values: np.ndarray) -> float:
    """Autocorrelation of a series at a lag of one step; NaN for fewer than 4 values."""
    if len(values) < 4:
        return float("nan")
    x = values - values.mean()
    power = float((x**2).sum())
    return float((x[1:] * x[:-1]).sum() / power) if power else float("nan")


def estimate(rows: pl.DataFrame, column: str, **where: Any) -> stats.Estimate:
    """Mean of a column over the runs at a point; runs where it is undefined are left out."""
    values = rows.filter(**where)[column].drop_nulls().drop_nans()
    return stats.mean_ci(values.to_list())
