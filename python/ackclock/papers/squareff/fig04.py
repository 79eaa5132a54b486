"""Figure 4: why the flow with the longer RTT loses.

"All connections encounter congestion and a packet loss at the same time" (section III.B): then
connection L, whose K is larger, meets the next loss before its K, with a smaller window, and
connection S after its K, with a larger one. "Congestion window size of a larger RTT connection will
be decreased as congestion avoidance phases will be repeated."

The runs are those of figures 2 and 3. Losses less than half a second apart are one congestion
event.
"""

from typing import NamedTuple

import numpy as np
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
#: CUBIC's, in Linux 2.6.32.
C, BETA = 0.4, 0.3
#: "At the same time": the part of the events is ours.
TOGETHER = 0.9


class Row(NamedTuple):
    """Congestion events after the first 20 s."""

    #: Part of those in which both flows lose.
    both_lose: float | None
    #: Losses of the 2 ms flow for each of the other.
    more_often: float | None
    #: Of the times between two events in which both lose, the part that is between both K; and the
    #: part after which the window of the flow with the larger K is smaller, and the other's larger.
    between: float | None
    apart: float | None


def row(result: Result) -> Row:
    """Which flows lose at the events."""
    from_us = (metrics.last_start_s(result) + WARM_UP_S) * 1e6
    losses = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= from_us)
    ).sort("time_us")
    if losses.is_empty():
        return Row(None, None, None, None)
    begins = (losses["time_us"].diff() > EPISODE_S * 1e6).fill_null(value=True)
    flows = losses.group_by(begins.cum_sum().alias("event")).agg(pl.col("flow").n_unique())
    counts = [len(losses.filter(pl.col("flow") == flow)) for flow in (1, 2)]
    both = float((flows["flow"] == 2).to_numpy().mean())
    often = counts[0] / counts[1] if counts[1] else None
    return Row(both, often, *_epochs(losses.with_columns(begins.cum_sum().alias("event"))))


def _epochs(losses: pl.DataFrame) -> tuple[float | None, float | None]:
    """Of neighbouring events in which both lose; K as of equation (2), with the kernel's beta."""
    both: dict[int, tuple[float, dict[int, int]]] = {}
    for event, some in losses.rows_by_key("event", named=True).items():
        windows = {each["flow"]: each["cwnd_packets"] for each in some}
        if len(windows) == 2:
            both[event] = some[0]["time_us"] / 1e6, windows
    between, apart = [], []
    for event, (time_s, before) in both.items():
        if event + 1 in both:
            next_s, after = both[event + 1]
            k_s = {flow: (BETA * cwnd / C) ** (1 / 3) for flow, cwnd in before.items()}
            longer = max(k_s, key=lambda flow: k_s[flow])
            between.append(min(k_s.values()) < next_s - time_s < k_s[longer])
            shorter = 3 - longer
            apart.append(after[longer] < before[longer] and after[shorter] > before[shorter])
    return (float(np.mean(between)), float(np.mean(apart))) if between else (None, None)


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

BETWEEN = Column(EVENTS, "between", "part of the epochs that end between K_S and K_L").everywhere()
APART = Column(
    EVENTS, "apart", "part of the epochs after which L's window is smaller, S's larger"
).everywhere()

FIGURE = Figure(
    plot=plots.windows(
        {f"2 v {rtt} ms": (EVENTS, {"rtt_ms": rtt}) for rtt in RTTS_MS[::2]},
    ),
    quantities=[*BOTH.everywhere(), *OFTEN.everywhere(), *BETWEEN, *APART],
    claims=[
        Claim(
            "squareff.fig4.synchronised",
            "All connections encounter congestion and a packet loss at the same time",
            [BOTH.at(rtt_ms=rtt).above(TOGETHER).ours for rtt in RTTS_MS],
            paper="all",
            quote="“all connections encounter congestion and a packet loss at the same time” "
            "(III.B)",
        ),
        Claim(
            "squareff.fig4.between",
            "Congestion comes again between K_S and K_L, and L's window is then smaller than "
            "before, S's larger",
            [each.above(0.5).ours for each in (*BETWEEN, *APART)],
            paper="always",
            quote="“timeB was between K_L and K_S” (III.B)",
        ),
    ],
)
