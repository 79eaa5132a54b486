"""What the scorecard keeps of a run: the same numbers of every row."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ackclock.estimates.repeats import AtLeast
from ackclock.figures.experiment import as_row
from ackclock.results import metrics
from ackclock.results.result import Result

#: What a run leaves out at its start, s.
WARM_UP_S = 10
#: Windows in which a newcomer must have its share, s.
FAIR_WINDOW_S = 10
#: A flow starves in a second in which it has less than this part of its fair share.
STARVED = 0.1


class Numbers(NamedTuple):
    """Of a run from `WARM_UP_S` on. "Mine" are the flows of the scenario's first table."""

    #: Share of the bottleneck's rate in use.
    utilisation: float
    #: Mean throughput of a flow of payload while all flows are active, Mb/s.
    mine_mbps: float
    others_mbps: float | None
    #: What part of their throughput alone the others lose. One run does not say it:
    #: `card.with_harm` fills it in.
    harm_percent: float | None
    #: Of a flow of mine, over its fair share.
    mine_share: float
    #: Jain's index over all long flows.
    jain: float | None
    #: Throughput of the slowest flow over that of the fastest.
    slowest_over_fastest: float | None
    #: Time until the last flow has 80 % of its fair share, s.
    convergence_s: float | None
    #: Sojourn time in the bottleneck's queue.
    delay_mean_ms: float
    delay_p95_ms: float
    delay_p99_ms: float
    #: Data packets that queues dropped, of those sent, in the whole run.
    loss_percent: float
    others_loss_percent: float | None
    marked_percent: float
    #: Retransmissions of mine, of the packets sent; those whose reduction was undone.
    retransmitted_percent: float
    undos: int
    timeouts: int
    #: Data packets of a flow of mine per base RTT, in the whole run.
    sent_per_rtt: float
    #: Retransmissions of a flow of mine per base RTT, in the last half of the run.
    late_retransmissions_per_rtt: float
    #: Time from one timeout of a flow of mine to the next, over the time from the one before.
    backoff: float | None
    #: Seconds in which a flow of the others starved, percent.
    others_starved_percent: float | None
    #: Completion times of the transfers of sessions, over the time that an empty link would need.
    slowdown_median: float | None
    slowdown_p99: float | None
    completed_percent: float | None
    completion_p99_ms: float | None
    #: Time from the start until 90 % of the link was in use over 1 s, s.
    full_s: float | None
    #: Of the flows that send frames: from the writing of a frame until its last byte is ACKed.
    frame_median_ms: float | None
    frame_p95_ms: float | None


def numbers(result: Result) -> Numbers:
    """The numbers of a run."""
    end_s = metrics.duration_s(result)
    start_s = WARM_UP_S if end_s > 2 * WARM_UP_S else 0.0
    flows = result.flows
    count = result.scenario.flows[0].count if result.scenario.flows else 0
    mine, others = flows[:count], flows[count:]
    mbps = _rates_mbps(result, start_s)
    fair_mbps = metrics.capacity_bps(result) / 1e6 / max(len(flows), 1)
    delays_ms = 1e3 * metrics.queue_delays_s(result, 1, start_s)
    delays_ms = delays_ms if len(delays_ms) else np.zeros(1)
    rtt_s = min(flow["rtt_ns"] for flow in result.resolved["flows"]) / 1e9
    some = len(flows) > 1
    return Numbers(
        metrics.utilisation(result, start_s),
        float(mbps[:count].mean()),
        float(mbps[count:].mean()) if len(others) else None,
        None,
        float(mbps[:count].mean() / fair_mbps),
        metrics.jain_index(mbps) if some else None,
        float(mbps.min() / mbps.max()) if some and mbps.max() else None,
        _convergence_s(result) if some else None,
        float(delays_ms.mean()),
        float(np.quantile(delays_ms, 0.95)),
        float(np.quantile(delays_ms, 0.99)),
        _lost_percent(flows),
        _lost_percent(others) if len(others) else None,
        _percent(_sum(flows, "marked_packets"), _sum(flows, "sent_packets")),
        _percent(_sum(mine, "retransmitted_packets"), _sum(mine, "sent_packets")),
        _sum(mine, "undos"),
        _sum(mine, "timeouts"),
        _sum(mine, "sent_packets") / count / (end_s / rtt_s),
        _late_retransmissions(result, count) / (end_s / 2 / rtt_s),
        _backoff(result, count),
        _starved_percent(result, count, fair_mbps) if len(others) else None,
        *_transfers(result),
        _full_s(result),
        *_frames(result, start_s),
    )


def _rates_mbps(result: Result, start_s: float) -> metrics.Array:
    """Of each flow from `start_s` on, while all are active.

    What a receiver acknowledges that hides losses may not have come: such a run has its goodputs,
    warm-up included.
    """
    if any(flow.hides == "losses" for flow in result.scenario.flows):
        return metrics.goodput_bps(result) / 1e6
    from_s, until_s = metrics.common_s(result)
    return metrics.throughput_bps(result, [max(start_s, from_s), until_s])[:, 0] / 1e6


def _late_retransmissions(result: Result, count: int) -> float:
    """Of a flow of mine, in the last half of the run."""
    samples = metrics.regular_samples(result).filter(pl.col("flow") <= count)
    half_us = result.resolved["duration_ns"] / 2e3
    so_far = samples.group_by("flow").agg(
        early=pl.col("retransmitted_packets").filter(pl.col("time_us") <= half_us).max(),
        all=pl.col("retransmitted_packets").max(),
    )
    return float((so_far["all"] - so_far["early"].fill_null(0)).to_numpy().sum() / count)


def _backoff(result: Result, count: int) -> float | None:
    """The median over all timeouts that have two before them; None without any."""
    timeouts = result.events.filter(pl.col("kind") == "timeout", pl.col("flow") <= count)
    waits = [np.diff(times) for times in timeouts.group_by("flow").agg("time_us")["time_us"]]
    ratios = np.concatenate([np.zeros(0), *(each[1:] / each[:-1] for each in waits)])
    return float(np.median(ratios)) if len(ratios) else None


def _sum(table: pl.DataFrame, column: str) -> int:
    return int(table[column].sum())


def _percent(some: float, of: float) -> float:
    return 100.0 * some / of if of else 0.0


def _lost_percent(flows: pl.DataFrame) -> float:
    lost = _sum(flows, "dropped_packets") - _sum(flows, "link_lost_packets")
    return _percent(lost, _sum(flows, "sent_packets"))


def _convergence_s(result: Result) -> float:
    """Until the end of the first fair window, when a newcomer has had its share."""
    found = metrics.convergence_time_s(result, FAIR_WINDOW_S)
    if found is None:
        return AtLeast(metrics.duration_s(result) - metrics.last_start_s(result))
    return found + FAIR_WINDOW_S


def _starved_percent(result: Result, count: int, fair_mbps: float) -> float:
    end_s = metrics.duration_s(result)
    edges_s = np.arange(min(WARM_UP_S, end_s / 2), metrics.duration_s(result) + 1e-9)
    rates = metrics.throughput_bps(result, edges_s)[count:] / 1e6
    return float(100 * (rates < STARVED * fair_mbps).mean()) if rates.size else 0.0


def _transfers(result: Result) -> tuple[float | None, float | None, float | None, float | None]:
    """Slowdown (median, 99th percentile), share that completed, 99th percentile of the time.

    A transfer on an empty link would need its handshake, an RTT, and its size over the rate.
    """
    transfers = result.transfers
    if transfers.is_empty():
        return None, None, None, None
    resolved = result.resolved
    rtt_s = resolved["sessions"][0]["flow"]["rtt_ns"] / 1e9
    sizes = transfers["size_bytes"].to_numpy()
    ideal_s = 2 * rtt_s + 8 * sizes / metrics.capacity_bps(result)
    times_s = metrics.completion_s(result)
    done = np.isfinite(times_s)
    end_s = metrics.duration_s(result)
    late_s = np.where(done, times_s, end_s - transfers["start_us"].to_numpy() / 1e6)
    slowdowns = np.maximum(late_s / ideal_s, 1.0)
    # A transfer without end counts with the time that it had; then a quantile is only a bound.
    share = float(done.mean())
    return (
        _bounded(float(np.median(slowdowns)), share >= 0.5),
        _bounded(float(np.quantile(slowdowns, 0.99, method="higher")), share >= 0.99),
        100 * share,
        _bounded(float(1e3 * np.quantile(late_s, 0.99, method="higher")), share >= 0.99),
    )


def _frames(result: Result, start_s: float) -> tuple[float | None, float | None]:
    """Median and 95th percentile of the delays of frames, to one sample interval."""
    end_s = metrics.duration_s(result) - 1
    flows = range(1, len(result.resolved["flows"]) + 1)
    delay_ms = 1e3 * np.concatenate(
        [metrics.frame_delays_s(result, number, start_s, end_s) for number in flows]
    )
    if not len(delay_ms):
        return None, None
    return float(np.median(delay_ms)), float(np.quantile(delay_ms, 0.95))


def _bounded(value: float, known: bool) -> float:
    return value if known else AtLeast(value)


def _full_s(result: Result) -> float:
    """Time until a second in which the link carried 90 % of what it can."""
    end_s = metrics.duration_s(result)
    edges_s = np.arange(0, end_s + 1e-9, min(1.0, end_s / 50))
    rates = metrics.throughput_bps(result, edges_s).sum(axis=0)
    full = rates >= 0.9 * metrics.capacity_bps(result)
    return float(edges_s[1:][full.argmax()]) if full.any() else AtLeast(end_s)


def row_of(result: Result) -> dict[str, Any]:
    """The numbers of a run, and what it cost; it can be pickled."""
    return as_row(numbers, result)
