"""The quantities of `metrics` that need no numpy; `crates/measure` makes them.

Importing numpy takes 0.06 s of processor time, a third of a short `ackclock run`, which prints only
these. Times are in s from the start of a run, rates in bit/s. A quantity is NaN where samples are
missing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ackclock import _core
from ackclock.base import pl
from ackclock.results.result import Result


def mss_bytes(resolved: Mapping[str, Any], flow: Mapping[str, Any]) -> int:
    """Payload of a full segment of a flow; both in canonical form."""
    return int(flow.get("mss_bytes", resolved["mss_bytes"]))


def capacity_bps(result: Result) -> float:
    """Payload that the bottleneck can carry, bit/s: its mean rate without the headers."""
    return _core.capacity_bps(result.resolved)


def duration_s(result: Result) -> float:
    """Simulated time, s."""
    return float(result.resolved["duration_ns"] / 1e9)


def common_s(result: Result) -> tuple[float, float]:
    """The common interval of a run, from s to s: that of its goodputs.

    All flows without a size are active in it: from their last start to their first stop, or to the
    end. If they never are at once, or there are none, it is the whole run.
    """
    from_ns, until_ns = _core.common_ns(result.resolved, result.flows["start_us"].to_list())
    return from_ns / 1e9, until_ns / 1e9


def goodputs_bps(result: Result) -> list[float]:
    """Payload sent and acknowledged in the common interval, of each flow, bit/s.

    The goodputs of the flows and sessions on a link never add up to more than it can carry.
    """
    return _core.goodputs_bps(result)


def forward(result: Result) -> list[bool]:
    """Whether each flow carries data forward."""
    return [direction == "forward" for direction in result.column("flows", "direction")]


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
    return _core.utilisation(result, start_s, stop_s, queue)


def jain_index(shares: Iterable[float]) -> float:
    """(Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one share has all (Jain et al. 1984)."""
    return _core.jain_index([float(share) for share in shares])


def completions_us(result: Result) -> "pl.Series":
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
    return _core.means(result, column, start_s, duration_s(result) if stop_s is None else stop_s)


def sojourns_us(
    result: Result, queue: int = 1, start_s: float = 0, stop_s: float | None = None
) -> "pl.Series":
    """Sojourn times in a queue at the samples in [start_s, stop_s], µs.

    Each is of the last packet that had left by then, from its arrival to its last bit.
    """
    stop_s = duration_s(result) if stop_s is None else stop_s
    time_us, sojourn_us = queue_columns(result, queue, "time_us", "sojourn_us")
    within = (time_us >= start_s * 1e6) & (time_us <= stop_s * 1e6)
    return sojourn_us.filter(within)


def queue_columns(result: Result, queue: int, *columns: str) -> "Sequence[pl.Series]":
    """These columns of a queue's rows."""
    number, *found = columns_of(result.queues, "queue", *columns)
    mine = number == queue
    return found if mine.all() else [each.filter(mine) for each in found]


def columns_of(table: "pl.DataFrame | pl.LazyFrame", *columns: str) -> "list[pl.Series]":
    """Columns of a table; those of a `Streamed` result are lazy."""
    found = table.select(columns).collect() if isinstance(table, pl.LazyFrame) else table
    return [found[name] for name in columns]
