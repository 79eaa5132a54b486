"""What the scorecard keeps of a run: the same numbers of every row."""

from typing import Any, NamedTuple

from ackclock import _core
from ackclock.estimates.repeats import AtLeast
from ackclock.figures.experiment import as_row
from ackclock.results.result import Result


class Numbers(NamedTuple):
    """Of a run from 10 s on. "Mine" are the flows of the scenario's first table."""

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
    """The numbers of a run; `crates/measure` makes them."""
    count = result.scenario.flows[0].count if result.scenario.flows else 0
    found: dict[str, Any] = {
        name: AtLeast(value) if is_bound and value is not None else value
        for name, value, is_bound in _core.numbers(result, count)
    }
    counts = {name: int(found[name]) for name in ("undos", "timeouts")}
    return Numbers(**found | counts, harm_percent=None)


def row_of(result: Result) -> dict[str, Any]:
    """The numbers of a run, and what it cost; it can be pickled."""
    return as_row(numbers, result)
