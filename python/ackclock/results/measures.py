"""What a run comes to: the quantities of `metrics` that need no numpy.

Importing numpy takes 0.06 s of processor time, a fifth of a short `ackclock run`, which prints only
these. Times are in s from the start of a run, rates in bit/s. A quantity is NaN where samples are
missing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.results.result import Result
from ackclock.scenario.links import capacity_bits

#: Flows of which it takes longer to start polars' engine than to look at one after another.
FEW = 16


def mss_bytes(resolved: Mapping[str, Any], flow: Mapping[str, Any]) -> int:
    """Payload of a full segment of a flow; both in canonical form."""
    return int(flow.get("mss_bytes", resolved["mss_bytes"]))


def capacity_bps(result: Result) -> float:
    """Payload that the bottleneck can carry, bit/s: its mean rate without the headers."""
    resolved = result.resolved
    packet_bytes = resolved["mss_bytes"] + resolved["header_bytes"]
    rate_bps = capacity_bits(resolved["bottleneck"], 0, duration_s(result)) / duration_s(result)
    return float(rate_bps * resolved["mss_bytes"] / packet_bytes)


def duration_s(result: Result) -> float:
    """Simulated time, s."""
    return float(result.resolved["duration_ns"] / 1e9)


def common_ns(resolved: Mapping[str, Any], starts_us: Iterable[int]) -> tuple[int, int]:
    """The common interval of a scenario in canonical form, from ns to ns.

    All flows without a size are active in it: from their last start to their first stop, or to the
    end. If they never are at once, or there are none, it is the whole run. `starts_us` has when
    each flow connects. So `common_interval_ns` of crates/sim/src/common.rs.
    """
    end_ns: int = resolved["duration_ns"]
    flows = zip(starts_us, resolved["flows"], strict=True)
    long = [(start_us, flow) for start_us, flow in flows if flow.get("size_bytes") is None]
    from_ns = 1000 * max((start_us for start_us, _ in long), default=0)
    stops_ns = (flow.get("stop_ns") for _, flow in long)
    until_ns = min((stop_ns for stop_ns in stops_ns if stop_ns is not None), default=end_ns)
    until_ns = min(until_ns, end_ns)
    return (from_ns, until_ns) if from_ns < until_ns else (0, end_ns)


def common_s(result: Result) -> tuple[float, float]:
    """The common interval of a run (`common_ns`), from s to s: that of its goodputs."""
    from_ns, until_ns = common_ns(result.resolved, result.flows["start_us"])
    return from_ns / 1e9, until_ns / 1e9


def goodputs_bps(result: Result) -> list[float]:
    """Payload sent and acknowledged in the common interval, of each flow, bit/s.

    The goodputs of the flows and sessions on a link never add up to more than it can carry.
    """
    from_s, until_s = common_s(result)
    return [8 * common_bytes / (until_s - from_s) for common_bytes in result.flows["common_bytes"]]


def lifetimes_bps(result: Result) -> list[float]:
    """Payload acknowledged in order, from each flow's start to its end, bit/s.

    Of flows that start or end at other times such rates are not to be compared or added.
    """
    end_us = result.resolved["duration_ns"] / 1e3
    columns = (result.flows[name] for name in ("delivered_bytes", "start_us", "completed_us"))
    return [
        8e6 * delivered_bytes / ((completed_us or end_us) - start_us)
        for delivered_bytes, start_us, completed_us in zip(*columns, strict=True)
    ]


def forward(result: Result) -> list[bool]:
    """Whether each flow carries data forward."""
    return [direction == "forward" for direction in result.flows["direction"].to_list()]


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
    use). The rate is that of each time, if it changes. A full token bucket counts as one that the
    link could send beside. NaN of a link that is dead all the time.
    """
    if queue is None:
        links = range(1, 2 + len(result.resolved.get("links", ())))
        shares = [utilisation(result, start_s, stop_s, queue=number) for number in links]
        return max((share for share in shares if not math.isnan(share)), default=math.nan)
    time_us, sent_bytes = queue_columns(result, queue, "time_us", "sent_bytes")
    if time_us.is_empty():
        return math.nan
    last_s = time_us[-1] / 1e6
    stop_s = last_s if stop_s is None else stop_s
    if not start_s < stop_s <= last_s:
        return math.nan
    before, after = (_at(each_s * 1e6, time_us, sent_bytes) for each_s in (start_s, stop_s))
    link = link_of(result, queue)
    capacity = capacity_bits(link, start_s, stop_s) + 8 * link.get("burst_bytes", 0)
    return float(8 * (after - before) / capacity) if capacity else math.nan


def _at(at_us: float, times_us: pl.Series, totals: pl.Series) -> float:
    """A cumulative column, which is 0 at time 0, at a time: interpolated, as by `numpy.interp`."""
    after = int((times_us <= at_us).sum())
    if after == len(times_us):
        return float(totals[-1])
    from_us, total = (times_us[after - 1], totals[after - 1]) if after else (0, 0)
    slope = (totals[after] - total) / (times_us[after] - from_us)
    return float(slope * (at_us - from_us) + total)


def jain_index(shares: Iterable[float]) -> float:
    """(Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one share has all (Jain et al. 1984)."""
    values = [float(share) for share in shares]
    squares = len(values) * math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / squares if squares else math.nan


def completions_us(result: Result) -> pl.Series:
    """Duration of each transfer of the sessions from its first SYN, µs.

    A transfer that the end of the run cut off is infinite, so that quantiles count it as slow.
    """
    start_us, completed_us = columns_of(result.transfers, "start_us", "completed_us")
    taken_us = completed_us.cast(pl.Float64) - start_us
    return taken_us.set(completed_us == 0, math.inf)


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


def _means(result: Result, column: str, start_s: float, stop_s: float | None) -> dict[int, float]:
    """Mean of each flow over the regular samples in [start_s, stop_s], until it completes.

    Only values that are measured: above 0. Needs little memory beside one part of the samples.
    """
    stop_us = 1e6 * (duration_s(result) if stop_s is None else stop_s)
    interval_us = result.resolved["sample_interval_ns"] // 1000
    until_us = pl.Series(
        [stop_us, *(min(each or stop_us, stop_us) for each in result.flows["completed_us"])],
        dtype=pl.Float64,
    )
    sums: dict[int, int] = {}
    counts: dict[int, int] = {}
    for part in result.sample_parts("time_us", "flow", column) if interval_us else ():
        time_us, flow = part["time_us"], part["flow"]
        values = part[column].cast(pl.UInt64)  # so is its sum
        within = (time_us >= start_s * 1e6) & (time_us <= until_us[flow])
        within &= time_us % interval_us == 0
        time_us, flow, values = (each.filter(within) for each in (time_us, flow, values))
        # Of the rows of a flow at one time the last counts.
        moments = time_us * len(until_us) + flow
        within = values > 0
        if moments.n_unique() < len(moments):
            within &= moments.is_last_distinct()
        of_flows = _of_flows(flow.filter(within), values.filter(within), len(until_us) - 1)
        for number, total, count in of_flows:
            sums[number] = sums.get(number, 0) + total
            counts[number] = counts.get(number, 0) + count
    return {flow: sums[flow] / counts[flow] for flow in sorted(sums)}


def _of_flows(flow: pl.Series, values: pl.Series, flows: int) -> Iterable[tuple[int, int, int]]:
    """Number, sum and count of the values of each flow that has some."""
    if flows > FEW:
        of_flows = pl.DataFrame({"flow": flow, "value": values}).group_by("flow")
        yield from of_flows.agg(pl.col("value").sum(), pl.len()).iter_rows()
        return
    for number in range(1, flows + 1):
        mine = values.filter(flow == number)
        if len(mine):
            yield number, int(mine.sum()), len(mine)


def sojourns_us(
    result: Result, queue: int = 1, start_s: float = 0, stop_s: float | None = None
) -> pl.Series:
    """Sojourn times in a queue at the samples in [start_s, stop_s], µs.

    Each is of the last packet that had left by then, from its arrival to its last bit.
    """
    stop_s = duration_s(result) if stop_s is None else stop_s
    time_us, sojourn_us = queue_columns(result, queue, "time_us", "sojourn_us")
    within = (time_us >= start_s * 1e6) & (time_us <= stop_s * 1e6)
    return sojourn_us.filter(within)


def queue_columns(result: Result, queue: int, *columns: str) -> Sequence[pl.Series]:
    """These columns of a queue's rows."""
    number, *found = columns_of(result.queues, "queue", *columns)
    mine = number == queue
    return found if mine.all() else [each.filter(mine) for each in found]


def columns_of(table: pl.DataFrame | pl.LazyFrame, *columns: str) -> list[pl.Series]:
    """Columns of a table; those of a `Streamed` result are lazy."""
    found = table.select(columns).collect() if isinstance(table, pl.LazyFrame) else table
    return [found[name] for name in columns]
