"""Three long-lived flows among on-off sessions for an hour: figures 6, 9 and 10."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ackclock import Flow, Result, Scenario, Session, metrics
from ackclock.figures import Experiment, Variant
from ackclock.papers.leith2007 import _testbed as testbed
from ackclock.papers.leith2007._testbed import CUBIC

#: "measurements are taken using a backoff factor of 0.8 for H-TCP" (section IV.C).
HTCP = "htcp:adaptive_backoff=0"
#: The control: with its own, adaptive back-off.
OWN = "htcp"
LONG_FLOWS = 3
#: What comes before is not counted, s.
WARM_UP_S = 200
#: "extending to hundreds of seconds": unfairness is that of means over windows of this.
WINDOW_S, STEP_S = 200, 10
#: Losses closer than this are one congestion event: more than two RTTs with a full queue.
EPISODE_S = 1
#: Bins of the distribution of cwnd, packets.
BIN_PACKETS, BINS = 50, 400


def scenario(algorithm: str, sessions: int, ways: int = 1) -> Scenario:
    """The sessions of figure 6's caption, in one direction or in both, or none.

    "mean time between requests of 10 seconds, connection sizes are Pareto distributed with shape
    parameter of 1.2 and mean 600 packets".
    """
    on_off: dict[str, Any] = {"gap": "10s", "size": "600packets", "pareto": 1.2}
    directions = ("forward", "reverse")[:ways] if sessions else ()
    return testbed.hosts(
        duration="3600s",
        rtt="200ms",
        bottleneck=testbed.pipe(250),
        flows=(Flow(algorithm=algorithm, count=LONG_FLOWS, start_spread="1s"),),
        sessions=tuple(
            Session(algorithm=algorithm, count=sessions, direction=each, **on_off)
            for each in directions
        ),
    )


class Row(NamedTuple):
    """A run after its first 200 s."""

    #: Largest / smallest mean throughput of a flow: of the run; most in any 200 s.
    hour_ratio: float
    window_ratio: float
    #: The longest time for which the ratio is above 2 in every window of 10 s.
    unfair_stretch_s: float
    #: Share of the congestion events in which all long flows lose.
    all_lose: float | None
    #: Most that a flow's cwnd at a back-off is above that at the one before.
    excursion: float | None
    #: Largest cwnd of a flow over its median.
    over_median: float
    #: How many samples of all flows are in each bin of cwnd.
    cwnd_counts: list[int]


def row(result: Result) -> Row:
    """How fair the flows are, and how far their windows go."""
    edges_s = np.arange(WARM_UP_S, metrics.duration_s(result) + 1e-6, STEP_S)
    steps = metrics.throughput_bps(result, edges_s)
    window = min(WINDOW_S // STEP_S, steps.shape[1])
    windows = np.lib.stride_tricks.sliding_window_view(steps, window, axis=1).mean(2)
    late = pl.col("time_us") >= WARM_UP_S * 1e6
    samples = metrics.regular_samples(result).filter(late)
    cwnds = [some["cwnd_packets"].to_numpy() for some in samples.partition_by("flow")]
    counts = np.histogram(np.concatenate(cwnds), BINS, (0, BINS * BIN_PACKETS))[0]
    peaks = [
        testbed.losses(result, flow, WARM_UP_S)["cwnd_packets"].to_numpy().astype(float)
        for flow in range(1, LONG_FLOWS + 1)
    ]
    rises = np.concatenate([each[1:] / each[:-1] for each in peaks])
    hour = steps.mean(axis=1)
    return Row(
        float(hour.max() / hour.min()),
        float((windows.max(axis=0) / windows.min(axis=0)).max()),
        float(_longest(steps.max(axis=0) > 2 * steps.min(axis=0)) * STEP_S),
        _all_lose(result),
        float(rises.max()) if len(rises) else None,
        float(max(cwnd.max() / np.median(cwnd) for cwnd in cwnds)),
        counts.tolist(),
    )


def _all_lose(result: Result) -> float | None:
    entries = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= WARM_UP_S * 1e6)
    ).sort("time_us")
    begins = entries["time_us"].diff() > EPISODE_S * 1e6
    episodes = entries.group_by(begins.fill_null(value=True).cum_sum().alias("episode")).agg(
        pl.col("flow").n_unique()
    )
    return (episodes["flow"] == LONG_FLOWS).mean()  # type: ignore[return-value]


def _longest(true: NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], true, [False]]).astype(int)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _hour(name: str, sessions: int, algorithms: dict[str, str]) -> Experiment:
    return Experiment(
        name,
        [{"algorithm": each, "sessions": sessions} for each in algorithms],
        scenario,
        row,
        seeds=5,
        quick=["duration=600s"],
        variants=[
            *testbed.OPEN,
            *testbed.BUFFERS,
            *((Variant("sessions", "as many each way", arguments={"ways": 2}),) * (sessions > 0)),
        ],
        assumed=testbed.ASSUMED
        | {
            "flow.start_spread": "the flows start together; the first 200 s are not counted",
            "session.algorithm": "that of the long flows",
            "session.direction": "the paper does not say; a variant has both",
        },
        says={"algorithm": algorithms},
    )


#: Figures 6 and 9; figure 10; the control of figure 10.
WITH_25 = _hour(
    "25 sessions",
    25,
    {CUBIC: "CUBIC", HTCP: "H-TCP, back-off 0.8", OWN: "H-TCP, its own back-off"},
)
WITH_50 = _hour("50 sessions", 50, {CUBIC: "CUBIC"})
WITHOUT = _hour("no sessions", 0, {CUBIC: "CUBIC"})
