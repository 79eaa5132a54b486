"""What the keys of a link must be together, and what a link can carry."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ackclock.base import units
from ackclock.scenario.link_keys import Bottleneck, Red

#: IP bytes that an opportunity of a trace carries.
OPPORTUNITY_BYTES = 1500
#: The least rate of a link that is not dead.
LEAST_BPS = 1_000


def check(prefix: str, link: Bottleneck, packet_bytes: int) -> None:
    """Raises `ValueError` that names table (`prefix`), key, value and fix."""
    if link.rate is None and link.trace is None:
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


def _check_steps(prefix: str, link: Bottleneck) -> None:
    times = {
        "rate_at": [step.time for step in link.rate_at],
        "delay_at": [step.time for step in link.delay_at],
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
