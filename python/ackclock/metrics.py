"""What the papers measure of a run. Times in s from the start of the run, rates in bit/s.

Rates come from cumulative columns, interpolated where a window's edge falls
between two samples, so nothing here assumes equally spaced rows.
"""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from ackclock.run import Result

Array = NDArray[np.float64]


def capacity_bps(result: Result) -> float:
    """Payload that the bottleneck can carry, bit/s: its rate less the headers."""
    resolved = result.resolved
    packet_bytes = resolved["mss_bytes"] + resolved["header_bytes"]
    return float(resolved["bottleneck"]["rate_bps"] * resolved["mss_bytes"] / packet_bytes)


def duration_s(result: Result) -> float:
    """Simulated time."""
    return float(result.resolved["duration_ns"] / 1e9)


def last_start_s(result: Result) -> float:
    """When the last flow connected, its drawn spread included."""
    return float(result.flows["start_us"].to_numpy().max() / 1e6)


def throughput_bps(result: Result, edges_s: ArrayLike) -> Array:
    """Payload delivered (ACKed or SACKed) per flow and window.

    `edges_s` has the n + 1 edges of n windows; the answer's shape is (flows, n).
    """
    edges_s = np.asarray(edges_s, dtype=float)
    mss_bits = 8 * result.resolved["mss_bytes"]
    rows = []
    for flow in result.flows["flow"]:
        samples = _of(result.samples, flow)
        delivered = np.interp(
            edges_s * 1e6, samples["time_us"], samples["delivered_packets"], left=0
        )
        rows.append(np.diff(delivered) * mss_bits / np.diff(edges_s))
    return np.array(rows)


def goodput_bps(result: Result) -> Array:
    """Payload acknowledged in order over each flow's time, from its start to its end; (flows,)."""
    flows = result.flows
    end_us = np.where(
        flows["completed_us"] > 0, flows["completed_us"], result.resolved["duration_ns"] / 1e3
    )
    goodput: Array = (
        8e6 * flows["delivered_bytes"].to_numpy() / (end_us - flows["start_us"].to_numpy())
    )
    return goodput


def utilisation(result: Result, start_s: float = 0, stop_s: float | None = None) -> float:
    """Share of the bottleneck's rate in use from `start_s` to `stop_s` (default: the end)."""
    stop_s = duration_s(result) if stop_s is None else stop_s
    sent = np.interp(
        [start_s * 1e6, stop_s * 1e6], result.queues["time_us"], result.queues["sent_bytes"], left=0
    )
    rate_bps = result.resolved["bottleneck"]["rate_bps"]
    return float(8 * (sent[1] - sent[0]) / (rate_bps * (stop_s - start_s)))


def jain_index(shares: ArrayLike) -> float:
    """(Σx)² / (n Σx²): 1 when all shares are equal, 1/n when one has all (Jain et al., 1984)."""
    shares = np.asarray(shares, dtype=float)
    return float(shares.sum() ** 2 / (len(shares) * (shares**2).sum()))


def convergence_time_s(result: Result, window_s: float = 10, share: float = 0.8) -> float | None:
    """Time from the last start until the flows share fairly; None: not before the end.

    It is the end of the first window in which every flow has at least `share` of its fair share
    of the bottleneck's payload capacity; windows are laid end to end from the last start
    (80 % as in Leith et al. 2007, section III; windows of 10 s).
    """
    joined_s = last_start_s(result)
    edges_s = np.arange(joined_s, duration_s(result) + 1e-6, window_s)
    if len(edges_s) < 2:
        return None
    fair_bps = capacity_bps(result) / len(result.flows)
    fair = (throughput_bps(result, edges_s) >= share * fair_bps).all(axis=0)
    return float(window_s * (fair.argmax() + 1)) if fair.any() else None


def epochs_s(result: Result, flow: int) -> Array:
    """Times between one entry into fast recovery and the next."""
    entries_us = _of(result.events, flow).filter(pl.col("kind") == "recovery")["time_us"]
    return np.diff(entries_us.to_numpy() / 1e6)


def mean_cwnd_packets(
    result: Result, flow: int, start_s: float = 0, stop_s: float | None = None
) -> float:
    """Mean congestion window over the regular samples in [start_s, stop_s]."""
    stop_s = duration_s(result) if stop_s is None else stop_s
    regular = regular_samples(result).filter(
        pl.col("flow") == flow, pl.col("time_us").is_between(start_s * 1e6, stop_s * 1e6)
    )
    mean = regular["cwnd_packets"].mean()
    return float("nan") if mean is None else float(mean)  # type: ignore[arg-type]


def peak_cwnd_packets(result: Result, flow: int) -> int:
    """Largest congestion window, at a sample or just before an event."""
    windows = [_of(table, flow)["cwnd_packets"] for table in (result.samples, result.events)]
    return int(pl.concat(windows).to_numpy().max(initial=0))


def regular_samples(result: Result) -> pl.DataFrame:
    """The samples at multiples of the interval only, equally spaced."""
    interval_us = result.resolved["sample_interval_ns"] / 1e3
    regular = result.samples.filter(pl.col("time_us") % interval_us == 0)
    return regular.unique(["flow", "time_us"], keep="last", maintain_order=True)


def _of(table: pl.DataFrame, flow: int) -> pl.DataFrame:
    return table.filter(pl.col("flow") == flow)
