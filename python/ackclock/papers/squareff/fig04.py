"""Figure 4: why the flow with the longer RTT loses.

"All connections encounter congestion and a packet loss at the same time" (section III.B): then
connection L, whose K is larger, meets the next loss before its K, with a smaller window, and
connection S after its K, with a larger one. "Congestion window size of a larger RTT connection will
be decreased as congestion avoidance phases will be repeated."

The runs are those of figures 2 and 3. Losses less than half a second apart are one congestion
event.
"""

from typing import NamedTuple

import polars as pl

from ackclock import Result, metrics
from ackclock.figures import Claim, Column, Experiment, Figure, grid, plots
from ackclock.papers.squareff._experiments import (
    ASSUMED,
    CUBIC,
    TWO_PATHS,
    WARM_UP_S,
    scenario,
)

RTTS_MS = (32, 64, 128)
EPISODE_S = 0.5
#: "At the same time": the part of the events is ours.
TOGETHER = 0.9


class Row(NamedTuple):
    """Congestion events after the first 20 s."""

    #: Part of those in which both flows lose.
    both_lose: float | None
    #: Losses of the 2 ms flow for each of the other.
    more_often: float | None


def row(result: Result) -> Row:
    """Which flows lose at the events."""
    from_us = (metrics.last_start_s(result) + WARM_UP_S) * 1e6
    losses = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= from_us)
    ).sort("time_us")
    if losses.is_empty():
        return Row(None, None)
    begins = (losses["time_us"].diff() > EPISODE_S * 1e6).fill_null(value=True)
    flows = losses.group_by(begins.cum_sum().alias("event")).agg(pl.col("flow").n_unique())
    counts = [len(losses.filter(pl.col("flow") == flow)) for flow in (1, 2)]
    both = float((flows["flow"] == 2).to_numpy().mean())
    return Row(both, counts[0] / counts[1] if counts[1] else None)


EVENTS = Experiment(
    "congestion events",
    grid(algorithm=[CUBIC], rtt_ms=RTTS_MS),
    scenario,
    row,
    seeds=TWO_PATHS.seeds,
    quick=["duration=60s"],
    variants=[each for each in TWO_PATHS.variants if each.of != "unit of RTT"],
    assumed=ASSUMED,
    says={"rtt_ms": "2 v {} ms"},
)
BOTH = Column(EVENTS, "both_lose", "part of congestion events in which both lose", "", "all")
OFTEN = Column(EVENTS, "more_often", "losses of the 2 ms flow for each of the other")

FIGURE = Figure(
    plot=plots.windows(
        {f"2 v {rtt} ms": (EVENTS, {"rtt_ms": rtt}) for rtt in RTTS_MS[::2]},
    ),
    quantities=[*BOTH.everywhere(), *OFTEN.everywhere()],
    claims=[
        Claim(
            "squareff.fig4.synchronised",
            "All connections encounter congestion and a packet loss at the same time",
            [BOTH.at(rtt_ms=rtt).above(TOGETHER).ours for rtt in RTTS_MS],
            paper="all",
            quote="“all connections encounter congestion and a packet loss at the same time” "
            "(III.B)",
        )
    ],
)
