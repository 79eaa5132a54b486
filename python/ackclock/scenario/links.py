"""What a link can carry."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

#: IP bytes that an opportunity of a trace carries.
OPPORTUNITY_BYTES = 1500


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
