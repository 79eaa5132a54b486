"""The testbed of section 6.1: a dumbbell of Linux hosts around two dummynet routers.

"The maximum bandwidth of the bottleneck router is set to 400Mbps. The bottleneck buffer size is set
to 100% BDP if it is not explicitly specified. … We use the drop-tail router at the bottleneck";
"high-speed TCP machines are configured to have a very large buffer so that the transmission rates
of high-speed flows are only limited by the congestion control algorithm".
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from ackclock import Bottleneck, Flow, Result, Scenario, metrics, stats, style, traffic
from ackclock.plot import error_bars

SEEDS = 10
QUICK_SEEDS = 1

# "We used the latest update of CUBIC (v2.2)" (footnote to section 6.4), as its kernel had it.
CUBIC = "cubic@2.2"
# assumed: the BIC of the same kernel. Like CUBIC, it no longer had an initial ssthresh (table 1).
BIC = "bic@linux-2.6.18:initial_ssthresh=0"
HSTCP = "highspeed"
SACK = "reno"
#: In the order of the paper's legends.
ALGORITHMS = (CUBIC, BIC, HSTCP, SACK)
NAMES = {CUBIC: "CUBIC", BIC: "BIC", HSTCP: "HSTCP", SACK: "SACK"}
# CUBIC 2.2 came with Linux 2.6.25; the testbed's page [5] names 2.6.23.9.
PROFILE = "linux-2.6.25"
# assumed: the paper states neither the length of its runs nor which part was measured.
DURATION_S = 200
MEASURED_FROM_S = 100
# assumed: each flow starts at U(0, 10 s).
START_SPREAD = "10s"

# "The amount of background traffic comparable to around 15% of the bottleneck bandwidth is pushed
# into forward and backward directions of the dumbbell". `traffic.background` is its composition.
BACKGROUND_SHARE = 0.15

Load = Callable[[Scenario], Result]
Seeds = Sequence[int]


def flow(algorithm: str, rtt_ms: int | None = None, count: int = 1) -> Flow:
    """Long flows of an algorithm."""
    rtt: dict[str, Any] = {} if rtt_ms is None else {"rtt": f"{rtt_ms}ms"}
    return Flow(algorithm=algorithm, start_spread=START_SPREAD, count=count, **rtt)


def scenario(
    flows: Sequence[Flow],
    seed: int,
    *,
    rtt_ms: int | None = None,
    rate_mbps: int = 400,
    buffer: str = "1bdp",
    **fields: Any,
) -> Scenario:
    """Flows over the bottleneck."""
    settings: dict[str, Any] = {
        "duration": f"{DURATION_S}s",
        "profile": PROFILE,
        "sample_interval": "1s",
        "seed": seed,
        "bottleneck": Bottleneck(rate=f"{rate_mbps}mbit", buffer=buffer),
        "flows": tuple(flows),
        "sessions": traffic.background(f"{rate_mbps}mbit", BACKGROUND_SHARE),
    }
    if rtt_ms is not None:
        settings["rtt"] = f"{rtt_ms}ms"
    return Scenario(**settings | fields)


def describe(result: Result) -> dict[str, Any]:
    """Which point of a grid a run is; `algorithm` is that of the first flow."""
    flows = result.resolved["flows"]
    return {
        "algorithm": flows[0]["algorithm"],
        "rate_mbps": result.resolved["bottleneck"]["rate_bps"] // 1_000_000,
        "rtt_ms": flows[-1]["rtt_ns"] // 1_000_000,
        "seed": result.scenario.seed,
    }


def throughputs_mbps(
    result: Result, start_s: float = MEASURED_FROM_S, stop_s: float | None = None
) -> np.ndarray:
    """Mean throughput of each flow in the measured part of the run, Mb/s; shape (flows,)."""
    stop_s = metrics.duration_s(result) if stop_s is None else stop_s
    return metrics.throughput_bps(result, [start_s, stop_s])[:, 0] / 1e6


def utilisation(result: Result) -> float:
    """Share of the bottleneck in use, in the measured part of the run."""
    return metrics.utilisation(result, MEASURED_FROM_S)


def fairness(throughputs: np.ndarray) -> float:
    """Throughput of the slowest flow over that of the fastest flow."""
    return float(throughputs.min() / throughputs.max())


def values(rows: pl.DataFrame, column: str, **where: Any) -> list[float]:
    """A column of the runs at a point, in the order of the seeds."""
    return rows.filter(**where).sort("seed")[column].to_list()


def estimate(rows: pl.DataFrame, column: str, **where: Any) -> stats.Estimate:
    """Mean of a column over the runs at a point."""
    return stats.mean_ci(values(rows, column, **where))


def curves(
    axes: Axes, rows: pl.DataFrame, x: str, y: str, algorithms: Iterable[str] = ALGORITHMS
) -> None:
    """One line per algorithm: means over the seeds with their intervals."""
    for algorithm in algorithms:
        look = style.of(algorithm.split("@")[0])
        points = sorted(rows.filter(algorithm=algorithm)[x].unique().to_list())
        of_points = [estimate(rows, y, algorithm=algorithm, **{x: point}) for point in points]
        error_bars(
            axes,
            points,
            of_points,
            color=look.colour,
            marker=look.marker,
            label=NAMES[algorithm],
        )


def fairer(rows: pl.DataFrame, a: str, b: str, rtts_ms: Sequence[int]) -> stats.Estimate:
    """Fairness of algorithm a minus that of b, mean over the RTTs, seed by seed."""
    means = (
        rows.filter(pl.col("rtt_ms").is_in(rtts_ms))
        .group_by("algorithm", "seed")
        .agg(pl.col("fairness").mean())
    )
    of_a, of_b = (values(means, "fairness", algorithm=algorithm) for algorithm in (a, b))
    return stats.paired_difference(of_a, of_b)
