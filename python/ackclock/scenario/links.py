"""What the keys of a link, and of a flow, must be together, and what a link can carry."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ackclock import _core
from ackclock.base import units
from ackclock.scenario import snapshot
from ackclock.scenario.keys import Flow, Session
from ackclock.scenario.link_keys import Bernoulli, Bottleneck, Outages, Red
from ackclock.scenario.model import kind_of
from ackclock.scenario.timeline import Steps

#: IP bytes that an opportunity of a trace carries.
OPPORTUNITY_BYTES = 1500
#: The least rate of a link that is not dead.
LEAST_BPS = 1_000


def check(prefix: str, link: Bottleneck, packet_bytes: int) -> None:
    """Raises `ValueError` that names table (`prefix`), key, value and fix."""
    if link.rate is None and link.trace is None and link.timeline is None:
        raise ValueError(f'{prefix}rate is missing; write for example rate = "100mbit", or a trace')
    if link.trace is not None:
        others = {
            "rate": link.rate is not None,
            "rate_at": link.rate_at,
            "burst": link.burst != "0B",
        }
        for key in (key for key, given in others.items() if given):
            raise ValueError(
                f'{prefix}trace = "{link.trace}": it says when packets leave; remove {key}, or '
                "trace"
            )
    _check_steps(prefix, link)
    if link.drop_packets and link.drop_every_packets:
        raise ValueError(f"{prefix}drop_packets and drop_every_packets: keep one of the two")
    if list(link.drop_packets) != sorted(set(link.drop_packets)):
        raise ValueError(
            f"{prefix}drop_packets = {list(link.drop_packets)}: write the numbers in order, each "
            "once"
        )
    if isinstance(link.loss, Outages) and not (
        units.duration_ns(link.loss.lasts) < units.duration_ns(link.loss.every)
    ):
        raise ValueError(
            f'{prefix}loss.lasts = "{link.loss.lasts}": must be less than {link.loss.every}, from '
            "the start of one outage to the next"
        )
    bursts = {"burst": link.burst, "policer.burst": link.policer.burst if link.policer else "0B"}
    for key, burst in bursts.items():
        if 0 < units.size_bytes(burst) < packet_bytes:
            raise ValueError(
                f'{prefix}{key} = "{burst}": give room for a packet, at least {packet_bytes}B'
            )
    queue = link.queue
    if isinstance(queue, Red) and units.size_bytes(queue.max) < units.size_bytes(queue.min):
        raise ValueError(
            f'{prefix}queue.max = "{queue.max}": is less than {queue.min}, the min; write at least '
            "that"
        )


def check_sizes(name: str, flow: Flow | Session, most: int) -> None:
    """Refuses segments above the scenario's, and sizes that have no room for them.

    `most`: payload of the scenario's segments, bytes. Raises `ValueError`, as `check` does.
    """
    mss = flow.mss or most
    if mss > most:
        raise ValueError(f"{name}: mss = {mss}: choose at most the scenario's mss, {most}")
    # With room for one segment Linux offers no window that holds.
    two = ("receive_window", "two segments", 2 * mss)
    eight = ("receive_buffer", "eight segments", 8 * mss)
    for field, room, least in (two, eight, ("send_buffer", "a segment", mss)):
        size = getattr(flow, field)
        if size is not None and units.size_bytes(size) < least:
            fix = f"give room for {room}, at least {least}B"
            raise ValueError(f'{name}: {field} = "{size}": {fix}')
    if flow.size is not None:
        try:
            kind_of(type(flow), "size").canonical(flow.size, mss)
        except ValueError as error:
            raise ValueError(f'{name}: size = "{flow.size}": {error}') from None


def _check_steps(prefix: str, link: Bottleneck) -> None:
    times = {
        "rate_at": [step.time for step in link.rate_at],
        "delay_at": [step.time for step in link.delay_at],
        "loss_at": [step.time for step in link.loss_at],
    }
    for key, each in times.items():
        for number, (before, after) in enumerate(pairwise(each), 2):
            if units.duration_ns(after) <= units.duration_ns(before):
                raise ValueError(
                    f'{prefix}{key} {number}: time = "{after}": is not after {before}, the time '
                    "before it; write them in order"
                )
    for number, step in enumerate(link.rate_at, 1):
        if 0 < units.rate_bps(step.rate) < LEAST_BPS:
            raise ValueError(
                f'{prefix}rate_at {number}: rate = "{step.rate}": choose from 1kbit to 1tbit, or '
                "0bit: nothing leaves"
            )


def read(link: Bottleneck, fields: dict[str, Any]) -> None:
    """Puts what the files of a link say into its canonical fields.

    Raises `ValueError` that names key, file, line and fix.
    """
    del fields["timeline"]
    if link.trace is not None:
        try:
            fields["trace_ms"] = snapshot.trace(link.trace)
        except ValueError as error:
            raise ValueError(f'trace = "{link.trace}": {error}') from None
        fields["rate_bps"] = _core.trace_mean_bps(fields["trace_ms"])
    if link.timeline is not None:
        try:
            _read_timeline(link, fields, link.timeline)
        except ValueError as error:
            raise ValueError(f'timeline = "{link.timeline}": {error}') from None


def _read_timeline(link: Bottleneck, fields: dict[str, Any], path: str) -> None:
    timeline = snapshot.timeline(path)
    loses = timeline.loss is not None or timeline.up is not None
    columns = {"rate_at": timeline.rate, "delay_at": timeline.delay, "loss_at": loses or None}
    for key in (key for key, given in columns.items() if given is not None and fields[key]):
        raise ValueError(f"has {key.removesuffix('_at')} too; remove {key}, or that column")
    if timeline.rate is not None:
        _read_rates(link, fields, timeline.rate)
    elif link.rate is None and link.trace is None:
        raise ValueError('has no rate; write for example rate = "100mbit" too')
    delays = timeline.delay or []
    if delays and delays[0][0] == 0:
        fields["delay_ns"] = delays[0][1]
        delays = delays[1:]
    if delays:
        fields["delay_at"] = [{"time_ns": at_ns, "delay_ns": delay} for at_ns, delay in delays]
    if loses:
        base = link.loss
        if base is not None and not (isinstance(base, Bernoulli) and timeline.loss is None):
            raise ValueError("has losses, and so has loss; remove loss, or that column")
        base_ppb = base.canonical(0)["p_ppb"] if base else 0
        steps = timeline.losses(base_ppb)
        fields["loss_at"] = [{"time_ns": at_ns, "p_ppb": p_ppb} for at_ns, p_ppb in steps]


def _read_rates(link: Bottleneck, fields: dict[str, Any], rates: Steps) -> None:
    if link.trace is not None:
        raise ValueError("has a rate, and so has the trace; remove the column, or trace")
    at_once = bool(rates) and rates[0][0] == 0
    if at_once == (link.rate is not None):
        fix = "remove rate" if at_once else "write rate too, the rate until its first row"
        raise ValueError(f"has {'the rate' if at_once else 'no rate'} from 0 s on; {fix}")
    if at_once:
        fields["rate_bps"] = next((rate for _, rate in rates if rate), None)
    if fields["rate_bps"] is None:
        raise ValueError("has a rate of 0 and no other; write one at a later time")
    usual = [step for step in rates if step != (0, fields["rate_bps"])]
    fields["rate_at"] = [{"time_ns": at_ns, "rate_bps": rate} for at_ns, rate in usual]


def capacity_bits(link: Mapping[str, Any], start_s: float, stop_s: float) -> float:
    """What a link of a resolved scenario can carry from one time to another, IP bits.

    The opportunities of a trace count at their times, with 1500 bytes each.
    """
    if times_ms := link.get("trace_ms"):
        counts = []
        for at_s in (start_s, stop_s):
            periods, rest_us = divmod(round(at_s * 1e6), times_ms[-1] * 1_000)
            counts.append(periods * len(times_ms) + bisect_right(times_ms, rest_us / 1e3))
        return float(8 * OPPORTUNITY_BYTES * (counts[1] - counts[0]))
    steps = [(step["time_ns"] / 1e9, step["rate_bps"]) for step in link.get("rate_at", ())]
    edges = [(0.0, link["rate_bps"]), *steps, (float("inf"), 0)]
    return float(
        sum(
            rate_bps * max(0.0, min(after_s, stop_s) - max(from_s, start_s))
            for (from_s, rate_bps), (after_s, _) in pairwise(edges)
        )
    )
