"""The quantities that papers measure. Times are in s from the start of a run, rates in bit/s.

Rates come from cumulative columns. These are interpolated where the edge of a window lies between
two samples, so samples need not be equally spaced. A quantity is NaN where samples are missing.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from ackclock.links import capacity_bits
from ackclock.runs import Result

Array = NDArray[np.float64]


def capacity_bps(result: Result) -> float:
    """Payload that the bottleneck can carry, bit/s: its mean rate without the headers."""
    resolved = result.resolved
    packet_bytes = resolved["mss_bytes"] + resolved["header_bytes"]
    rate_bps = capacity_bits(resolved["bottleneck"], 0, duration_s(result)) / duration_s(result)
    return float(rate_bps * resolved["mss_bytes"] / packet_bytes)


def duration_s(result: Result) -> float:
    """Simulated time, s."""
    return float(result.resolved["duration_ns"] / 1e9)


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
    """Payload acknowledged in order, from each flow's start to its end, bit/s; shape (flows,)."""
    flows = result.flows
    end_us = np.where(
        flows["completed_us"] > 0, flows["completed_us"], result.resolved["duration_ns"] / 1e3
    )
    goodput: Array = (
        8e6 * flows["delivered_bytes"].to_numpy() / (end_us - flows["start_us"].to_numpy())
    )
    return goodput


def link_of(result: Result, queue: int) -> dict[str, Any]:
    """The link of a queue, in the canonical form."""
    resolved = result.resolved
    links = [resolved["bottleneck"], *resolved.get("links", ())]
    # A queue beyond the links is the bottleneck's copy on the way back.
    return links[queue - 1] if queue <= len(links) else links[0]  # type: ignore[no-any-return]


def discipline(result: Result, queue: int) -> str:
    """The kind of a queue: "codel"."""
    kind = link_of(result, queue).get("queue", "drop_tail")
    return kind if isinstance(kind, str) else next(iter(kind))


def utilisation(
    result: Result, start_s: float = 0, stop_s: float | None = None, *, queue: int | None = None
) -> float:
    """Share of a link's rate in use from `start_s` to `stop_s` (default: the last sample).

    `queue` is the link's number in the table `queues` (default: of several links, the one in most
    use). The rate is that of each time, if it changes.
    """
    if queue is None:
        links = range(1, 2 + len(result.resolved.get("links", ())))
        return max(utilisation(result, start_s, stop_s, queue=number) for number in links)
    queues = queue_rows(result, queue, "time_us", "sent_bytes")
    if queues.is_empty():
        return float("nan")
    last_s = queues["time_us"][-1] / 1e6
    stop_s = last_s if stop_s is None else stop_s
    if not start_s < stop_s <= last_s:
        return float("nan")
    edges_us = [start_s * 1e6, stop_s * 1e6]
    sent = np.interp(edges_us, *_from_zero(queues["time_us"], queues["sent_bytes"]))
    can = capacity_bits(link_of(result, queue), start_s, stop_s)
    return float(8 * (sent[1] - sent[0]) / can)


def jain_index(shares: ArrayLike) -> float:
    """(Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one share has all (Jain et al. 1984)."""
    shares = np.asarray(shares, dtype=float)
    squares = len(shares) * (shares**2).sum()
    return float(shares.sum() ** 2 / squares) if squares else float("nan")


def convergence_time_s(
    result: Result,
    window_s: float = 10,
    share: float = 0.8,
    background: float = 0,
    *,
    lasting: bool = False,
) -> float | None:
    """Time from the last start until the forward flows share fairly, s; None: not by the end.

    The time ends with the first window in which every flow has at least `share` of its fair share.
    With `lasting` every later window is like that, too. The fair share is an equal part of the
    bottleneck's payload capacity, without the part `background`. Windows slide by 1 s from the last
    start. The default of 80 % is that of Leith et al. 2007, section III.
    """
    joined_s = last_start_s(result)
    starts_s = np.arange(joined_s, duration_s(result) - window_s + 1e-6)
    delivered = _delivered_bits(result, np.concatenate([starts_s, starts_s + window_s]))
    bps = np.diff(delivered.reshape(len(result.flows), 2, -1), axis=1)[:, 0] / window_s
    bps = bps[(result.flows["direction"] == "forward").to_numpy()]
    fair_bps = (1 - background) * capacity_bps(result) / len(bps)
    fair = (bps >= share * fair_bps).all(axis=0)
    if lasting:
        fair = np.logical_and.accumulate(fair[::-1])[::-1]
    return float(window_s + fair.argmax()) if fair.any() else None


def completion_s(result: Result) -> Array:
    """Duration of each transfer of the sessions from its first SYN, s; shape (transfers,).

    A transfer that the end of the run cut off is infinite, so that quantiles count it as slow.
    """
    times = result.transfers.lazy().select("start_us", "completed_us").collect()
    start_us, completed_us = (times[name].to_numpy() for name in times.columns)
    return np.where(completed_us == 0, np.inf, (completed_us.astype(float) - start_us) / 1e6)


def epochs_s(result: Result, flow: int) -> Array:
    """Times between successive entries into fast recovery, s; shape (entries - 1,)."""
    entries_us = _of(result.events, flow).filter(pl.col("kind") == "recovery")["time_us"]
    return np.diff(entries_us.to_numpy() / 1e6)


def mean_cwnd_packets(
    result: Result, start_s: float = 0, stop_s: float | None = None
) -> dict[int, float]:
    """Mean congestion window of each flow, over the regular samples in [start_s, stop_s].

    A flow counts until it completes. A flow without a sample has no entry.
    """
    return _means(result, "cwnd_packets", start_s, stop_s)


def mean_rtt_s(result: Result, start_s: float = 0, stop_s: float | None = None) -> dict[int, float]:
    """Mean smoothed RTT of each flow, s, as `mean_cwnd_packets`; only once it is measured."""
    means = _means(result, "srtt_us", start_s, stop_s)
    return {flow: mean_us / 1e6 for flow, mean_us in means.items()}


def queue_delays_s(
    result: Result, queue: int = 1, start_s: float = 0, stop_s: float | None = None
) -> Array:
    """Sojourn times in a queue at the samples in [start_s, stop_s], s; shape (samples,).

    Each is of the last packet that had left by then, from its arrival to its last bit.
    """
    stop_s = duration_s(result) if stop_s is None else stop_s
    rows = queue_rows(result, queue, "time_us", "sojourn_us")
    within = rows["time_us"].is_between(start_s * 1e6, stop_s * 1e6)
    return rows["sojourn_us"].filter(within).to_numpy() / 1e6


def queue_rows(result: Result, queue: int, *columns: str) -> pl.DataFrame:
    """These columns of a queue's rows."""
    rows = result.queues.lazy().filter(pl.col("queue") == queue)
    return rows.select(columns).collect()


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


def _means(result: Result, column: str, start_s: float, stop_s: float | None) -> dict[int, float]:
    """Mean of each flow over the regular samples in [start_s, stop_s], until it completes.

    Only values that are measured: above 0. Needs little memory beside one part of the samples.
    """
    stop_s = duration_s(result) if stop_s is None else stop_s
    interval_us = result.resolved["sample_interval_ns"] // 1000
    completed_us = np.append(0, result.flows["completed_us"])
    until_us = np.where(completed_us == 0, stop_s * 1e6, np.minimum(completed_us, stop_s * 1e6))
    sums, counts = np.zeros(len(until_us)), np.zeros(len(until_us))
    for part in result.sample_parts("time_us", "flow", column) if interval_us else ():
        time_us, flow = part["time_us"].to_numpy(), part["flow"].to_numpy()
        within = (start_s * 1e6 <= time_us) & (time_us <= until_us[flow])
        rows = np.flatnonzero(within & (time_us % interval_us == 0))[::-1]
        # Of the rows of a flow at one time the last counts.
        _, first = np.unique(time_us[rows] * len(until_us) + flow[rows], return_index=True)
        values = part[column].to_numpy()[rows[first]]
        flow = flow[rows[first]][values > 0]
        sums += np.bincount(flow, values[values > 0], len(until_us))
        counts += np.bincount(flow, minlength=len(until_us))
    return {flow: float(sums[flow] / counts[flow]) for flow in np.flatnonzero(counts).tolist()}


def _delivered_bits(result: Result, times_s: Array) -> Array:
    """Payload delivered until each time, bits; shape (flows, times)."""
    mss_bits = 8 * result.resolved["mss_bytes"]
    by_flow = result.samples.partition_by("flow", as_dict=True)
    rows = []
    for flow in result.flows["flow"]:
        samples = by_flow.get((flow,), result.samples.clear())
        known = _from_zero(samples["time_us"], samples["delivered_packets"])
        rows.append(np.interp(times_s * 1e6, *known, right=np.nan) * mss_bits)
    return np.array(rows).reshape(len(rows), len(times_s))


def _from_zero(times_us: pl.Series, totals: pl.Series) -> tuple[Array, Array]:
    """A cumulative column with a 0 at time 0 in front."""
    return np.append(0.0, times_us), np.append(0.0, totals)


def _of(table: pl.DataFrame, flow: int) -> pl.DataFrame:
    return table.filter(pl.col("flow") == flow)
