"""Three long-lived flows among on-off sessions for an hour: figures 6, 9 and 10."""

from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Bottleneck, Flow, Result, Scenario, Session, metrics, style
from ackclock import plot as drawing
from ackclock.papers.leith2007 import _testbed as testbed

LONG_FLOWS = 3
DURATION = "3600s"
# assumed: the flows start together, and the time before this is not counted.
WARM_UP_S = 200
# assumed: "unfair" is judged over windows of 10 s.
WINDOW_S = 10
# The claims are judged packet by packet. With bursts of up to 64 KB (TSO, see figure 11) fewer
# flows lose at a time; the figures show this beside the judged runs.
BURSTS = "bursts of up to 64 KB"
VARIANT_SEEDS = 5
# assumed: losses closer than this are one congestion event. It is more than two RTTs with a full
# queue.
EPISODE_S = 1
#: Bins of the distribution of cwnd, packets.
BIN_PACKETS, BINS = 50, 400


def scenario(algorithm: str, sessions: int, seed: int, **fields: Any) -> Scenario:
    """The sessions of figure 6's caption.

    "mean time between requests of 10 seconds, connection sizes are Pareto distributed with shape
    parameter of 1.2 and mean 600 packets".
    """
    # assumed: the sessions run the algorithm of the long flows, in their direction.
    return Scenario(
        duration=DURATION,
        rtt="200ms",
        profile=testbed.PROFILE,
        seed=seed,
        sample_interval="1s",
        bottleneck=Bottleneck(rate="250mbit", buffer="1bdp"),
        flows=(Flow(algorithm=algorithm, count=LONG_FLOWS, start_spread=testbed.START_SPREAD),),
        sessions=(
            Session(algorithm=algorithm, count=sessions, gap="10s", size="600packets", pareto=1.2),
        ),
        **fields,
    )


def grid(algorithms: Collection[str], sessions: int, seeds: testbed.Seeds) -> list[Scenario]:
    """The runs as assumed, then the runs with bursts."""
    return [scenario(algorithm, sessions, seed) for algorithm in algorithms for seed in seeds] + [
        scenario(algorithm, sessions, seed, tso=True)
        for algorithm in algorithms
        for seed in seeds[:VARIANT_SEEDS]
    ]


def quick_grid(algorithms: Collection[str], sessions: int, seeds: testbed.Seeds) -> list[Scenario]:
    return testbed.shortened(grid(algorithms, sessions, seeds), "600s")


def reduce(result: Result) -> dict[str, Any]:
    """Mean throughputs over the hour, the longest unfair stretch, the distribution of cwnd."""
    edges_s = np.arange(WARM_UP_S, metrics.duration_s(result), WINDOW_S)
    windows = metrics.throughput_bps(result, edges_s)
    hour = windows.mean(axis=1)
    unfair = windows.max(axis=0) > 2 * windows.min(axis=0)
    late = pl.col("time_us") >= WARM_UP_S * 1e6
    samples = metrics.regular_samples(result).filter(late)
    cwnds = [some["cwnd_packets"].to_numpy() for some in samples.partition_by("flow")]
    counts = np.histogram(np.concatenate(cwnds), BINS, (0, BINS * BIN_PACKETS))[0]
    return testbed.describe(result) | {
        "algorithm": result.scenario.flows[0].algorithm,
        "bursts": result.scenario.tso is True,
        "all_lose": all_lose(result),
        "hour_ratio": float(hour.max() / hour.min()),
        "longest_unfair_s": float(longest(unfair) * WINDOW_S),
        "excursion": float(max(cwnd.max() / np.median(cwnd) for cwnd in cwnds)),
        "cwnd_counts": counts.tolist(),
    }


def all_lose(result: Result) -> float:
    """The share of congestion events in which all long flows enter recovery."""
    entries = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= WARM_UP_S * 1e6)
    ).sort("time_us")
    begins = entries["time_us"].diff() > EPISODE_S * 1e6
    episodes = entries.group_by(begins.fill_null(value=True).cum_sum().alias("episode")).agg(
        pl.col("flow").n_unique()
    )
    share = (episodes["flow"] == LONG_FLOWS).mean()
    return float("nan") if share is None else float(share)  # type: ignore[arg-type]


def longest(true: NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], true, [False]]).astype(int)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def plot(rows: pl.DataFrame, load: testbed.Load, sessions: int) -> Figure:
    """The windows of the first run, with CUBIC by the source."""
    run = scenario(testbed.CUBIC_SOURCE, sessions, rows["seed"][0])
    result = load(run.replace(duration=rows["duration"][0]))
    with style.applied():
        figure = Figure(figsize=(9, 3.2))
        axes = figure.subplots()
        drawing.cwnd(axes, result)
        axes.set_title(testbed.READINGS[testbed.CUBIC_SOURCE], fontsize="small")
        axes.set_xlabel("time (s)")
        axes.legend(fontsize="small", ncols=3)
    return figure
