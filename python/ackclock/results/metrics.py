"""The quantities that papers measure. Times are in s from the start of a run, rates in bit/s.

Rates come from cumulative columns. These are interpolated where the edge of a window lies between
two samples, so samples need not be equally spaced. A quantity is NaN where samples are missing.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from ackclock import _core
from ackclock.results import measures
from ackclock.results.measures import (
    capacity_bps,
    common_s,
    discipline,
    duration_s,
    jain_index,
    link_of,
    mean_cwnd_packets,
    mean_rtt_s,
    utilisation,
)
from ackclock.results.result import Result

__all__ = [
    "Array",
    "capacity_bps",
    "common_s",
    "completion_s",
    "convergence_time_s",
    "discipline",
    "duration_s",
    "epochs_s",
    "fairness_window_s",
    "frame_delays_s",
    "goodput_bps",
    "jain_index",
    "last_start_s",
    "lifetime_bps",
    "link_of",
    "mean_cwnd_packets",
    "mean_rtt_s",
    "peak_cwnd_packets",
    "queue_delays_s",
    "regular_samples",
    "throughput_bps",
    "unfair_until_s",
    "until_completed",
    "utilisation",
]

Array = NDArray[np.float64]


def last_start_s(result: Result) -> float:
    """When the last flow connected, s; its random spread is included."""
    return float(result.flows["start_us"].to_numpy().max() / 1e6)


def throughput_bps(result: Result, edges_s: ArrayLike) -> Array:
    """Payload delivered (ACKed or SACKed) per flow and window, bit/s; shape (flows, n).

    `edges_s` has the n + 1 edges of n windows.
    """
    edges_s = np.asarray(edges_s, dtype=float)
    return np.diff(_delivered_bits(result, edges_s)) / np.diff(edges_s)


def goodput_bps(result: Result) -> Array:
    """Payload sent and acknowledged in the common interval, bit/s; shape (flows,).

    That is the time in which all flows without a size are active (`common_s`), or the whole run.
    """
    return np.array(measures.goodputs_bps(result))


def lifetime_bps(result: Result) -> Array:
    """Payload acknowledged in order, from each flow's start to its end, bit/s; shape (flows,).

    Of flows that start or end at other times such rates are not to be compared or added.
    """
    return np.array(_core.lifetimes_bps(result))


def convergence_time_s(result: Result, window_s: float = 10, share: float = 0.8) -> float | None:
    """Time from the last start until the forward flows share fairly, s; None: not by the end.

    The time ends where the first window begins in which every flow has at least `share` of its
    fair share: an equal part of the bottleneck's payload capacity. Windows slide by 1 s from the
    last start. The default of 80 % is ours.
    """
    return _core.convergence_s(result, last_start_s(result), window_s, share)


def unfair_until_s(
    result: Result,
    share: float = 0.8,
    window_s: float | None = None,
    flows: Sequence[int] | None = None,
) -> float | None:
    """Time from the last start until unfairness has ended, s; None: not by the end.

    The time ends where the last window begins in which the slowest of the flows (default: the
    forward ones) gets less than `share` times the fastest. Windows slide by 1 s from the last
    start. Each has `window_s`; default: 10 s or a mean epoch after the last start, whichever is
    longer.
    """
    of = _forward(result) if flows is None else np.isin(np.arange(len(result.flows)) + 1, flows)
    bps = _window_bps(result, fairness_window_s(result) if window_s is None else window_s)[of]
    unfair = np.flatnonzero(bps.min(axis=0) < share * bps.max(axis=0))
    if not bps.shape[1] or (len(unfair) and unfair[-1] == bps.shape[1] - 1):
        return None
    return float(unfair[-1]) if len(unfair) else 0.0


def fairness_window_s(result: Result) -> float:
    """10 s or a mean epoch of the forward flows after the last start, whichever is longer, s."""
    events = result.events.filter(
        (pl.col("kind") == "recovery") & (pl.col("time_us") >= last_start_s(result) * 1e6)
    )
    forward = np.flatnonzero(_forward(result)) + 1
    times_s = [_of(events, int(flow))["time_us"].to_numpy() / 1e6 for flow in forward]
    epochs_s = np.concatenate([np.diff(each) for each in times_s])
    return max(10.0, float(np.ceil(epochs_s.mean()))) if len(epochs_s) else 10.0


def _forward(result: Result) -> NDArray[np.bool_]:
    """Which flows send forward; shape (flows,)."""
    return (result.flows["direction"] == "forward").to_numpy()


def _window_bps(result: Result, window_s: float) -> Array:
    """Throughput in windows that slide by 1 s from the last start; shape (flows, windows)."""
    starts_s = np.arange(last_start_s(result), duration_s(result) - window_s + 1e-6)
    delivered = _delivered_bits(result, np.concatenate([starts_s, starts_s + window_s]))
    windows = delivered.reshape(len(result.flows), 2, -1)
    return np.diff(windows, axis=1)[:, 0] / window_s


def completion_s(result: Result) -> Array:
    """Duration of each transfer of the sessions from its first SYN, s; shape (transfers,).

    A transfer that the end of the run cut off is infinite, so that quantiles count it as slow.
    """
    return measures.completions_us(result).to_numpy() / 1e6


def epochs_s(result: Result, flow: int) -> Array:
    """Times between successive entries into fast recovery, s; shape (entries - 1,)."""
    entries_us = _of(result.events, flow).filter(pl.col("kind") == "recovery")["time_us"]
    return np.diff(entries_us.to_numpy() / 1e6)


def frame_delays_s(
    result: Result, flow: int, start_s: float = 0, stop_s: float | None = None
) -> Array:
    """From the writing of each frame of a flow until it is delivered, to one sample interval.

    Of the frames that it writes from `start_s` to `stop_s` (default: in the whole run). A frame
    that never comes counts with the time that it had. Empty if the flow has no `frames`, or never
    connects.
    """
    connected_us = _of(result.events, flow).filter(kind="established")["time_us"]
    first_us = None if connected_us.is_empty() else connected_us[0]
    stop_s = duration_s(result) if stop_s is None else stop_s
    return np.array(_core.frame_delays_s(result, flow, first_us, start_s, stop_s))


def queue_delays_s(
    result: Result, queue: int = 1, start_s: float = 0, stop_s: float | None = None
) -> Array:
    """Sojourn times in a queue at the samples in [start_s, stop_s], s; shape (samples,).

    Each is of the last packet that had left by then, from its arrival to its last bit.
    """
    return measures.sojourns_us(result, queue, start_s, stop_s).to_numpy() / 1e6


def peak_cwnd_packets(result: Result, flow: int) -> int:
    """Largest congestion window at a sample or just before an event."""
    windows = [_of(table, flow)["cwnd_packets"] for table in (result.samples, result.events)]
    return int(pl.concat(windows).to_numpy().max(initial=0))


def regular_samples(result: Result) -> pl.DataFrame:
    """Only the samples at multiples of the sample interval, which are equally spaced."""
    interval_us = result.resolved["sample_interval_ns"] // 1000
    regular = result.samples.filter(pl.col("time_us") % interval_us == 0)
    return regular.unique(["flow", "time_us"], keep="last", maintain_order=True)


def until_completed(result: Result, samples: pl.DataFrame) -> pl.DataFrame:
    """The samples of each flow until it completes, or until the end of the run."""
    ends = result.flows.select("flow", "completed_us")
    running = (pl.col("completed_us") == 0) | (pl.col("time_us") <= pl.col("completed_us"))
    return samples.join(ends, on="flow", maintain_order="left").filter(running)


def _delivered_bits(result: Result, times_s: Array) -> Array:
    """Payload delivered until each time, bits; shape (flows, times)."""
    bits = _core.delivered_bits(result, times_s.tolist())
    return np.frombuffer(bits).reshape(len(result.flows), len(times_s))


def _of(table: pl.DataFrame, flow: int) -> pl.DataFrame:
    return table.filter(pl.col("flow") == flow)
