"""What tc is told of a link: percentages, buckets and weights, in its own way of counting."""

import json
from collections.abc import Mapping
from typing import Any

from ackclock.base.errors import AckclockError

#: In canonical form.
Link = Mapping[str, Any]


def impairments(link: Link) -> str:
    """What a netem before the queue does."""
    text = ""
    match link.get("loss"):
        case {"bernoulli": {"p_ppb": p}}:
            text += f" loss random {percent(p)}"
        case {"gilbert_elliott": of}:
            bad, good = (1_000_000_000 - of[name] for name in ("h_ppb", "k_ppb"))
            text += " loss gemodel " + " ".join(map(percent, (of["p_ppb"], of["r_ppb"], bad, good)))
        case {"bad_times": _} | {"outages": _}:  # begin with a good time
            text += " loss random 0%"
        case None:
            pass
        case other:
            raise AckclockError(f"loss = {json.dumps(other)}: not on the virtual Linux")
    if link.get("duplicate_ppb"):
        text += f" duplicate {percent(link['duplicate_ppb'])}"
    if late := link.get("reorder"):
        # netem's reorder is the probability of no delay.
        text += f" delay {late['delay_ns'] / 1e6:.6f}ms"
        text += f" reorder {percent(1_000_000_000 - late['p_ppb'])}"
    return text


def police_burst(rate_bps: int, burst_bytes: int) -> int:
    """A bucket that is not smaller than asked for, bytes.

    tc takes the whole microseconds of a bucket's time, and of these the whole units of 64 ns. So
    this is the next microsecond.
    """
    return (burst_bytes * 8_000_000 // rate_bps + 1) * rate_bps // 8_000_000 + 1


def percent(ppb: int) -> str:
    return f"{ppb / 1e7:.7f}%"


def red_burst(least: float, weight_log2: int) -> int:
    """The burst, packets, of which `tc` makes this weight (iproute2's tc_red_eval_ewma)."""
    for burst in range(max(1, int(least)), 1_000_000):
        allowed = burst + 1 - least
        weight, log2 = 0.5, 1
        while log2 < 32 and allowed > (1 - (1 - weight) ** burst) / weight:
            weight, log2 = weight / 2, log2 + 1
        if log2 == weight_log2:
            return burst
        if log2 > weight_log2:
            break
    raise AckclockError(
        f"bottleneck.queue.weight_log2 = {weight_log2}: tc cannot set it; use the simulator"
    )
