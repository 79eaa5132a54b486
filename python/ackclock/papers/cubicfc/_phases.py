"""The phases of a flow's congestion avoidance, from its losses: P1, P2 and CP1, CP2, BR1, BR2.

A loss below the last W_max lowers W_max to `cwnd (2 − β) / 2` and starts P1; a loss above it makes
its window W_max and starts P2 (section II). Cubic-FC counts from a loss t0 that lowers W_max: CP1
until t1, CP2 until t2. If t2 shows competition, BR1 lasts until t3 and BR2 until t4 (figure 3).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from ackclock import Result

#: CUBIC's C, and its β in Linux 2.6.32.
C, BETA = 0.4, 0.3
#: The paper's sigma and f_max.
SIGMA, F_MAX = 0.05, 0.6
#: t0 … t4 of a release: losses before it, and after it.
BEFORE, AFTER = 2, 2


class Loss(NamedTuple):
    """A loss: when, the window there, ssthresh after it, and the W_max that CUBIC then has."""

    time_s: float
    cwnd: int
    ssthresh: int
    w_max: float
    #: Whether it lowers W_max: P1 follows, else P2.
    lowers: bool

    @property
    def reduced(self) -> float:
        """What ssthresh is over that of CUBIC."""
        return self.ssthresh / ((1 - BETA) * self.cwnd)


def losses(result: Result) -> list[Loss]:
    """The losses of flow 1. W_max is CUBIC's, also where Cubic-FC has another."""
    events = result.events.filter((pl.col("flow") == 1) & (pl.col("kind") == "recovery"))
    found: list[Loss] = []
    for time_us, cwnd, ssthresh in events.select(
        "time_us", "cwnd_packets", "ssthresh_packets"
    ).rows():
        lowers = bool(found) and cwnd < found[-1].w_max
        w_max = cwnd * (2 - BETA) / 2 if lowers else float(cwnd)
        found.append(Loss(time_us / 1e6, cwnd, ssthresh, w_max, lowers))
    return found


def release(found: Sequence[Loss]) -> list[Loss] | None:
    """t0, t1, t2, t3 and t4 where the paper's rule first detects competition; None if nowhere.

    Until then Cubic-FC is CUBIC: a run of CUBIC with the same seed has the same t0, t1 and t2.
    """
    start = None
    for at, each in enumerate(found[:-AFTER]):
        if start is not None and at == start + BEFORE:
            if found[start].cwnd - each.cwnd > SIGMA * each.cwnd:
                return list(found[start : at + AFTER + 1])
            start = None
        if start is None and each.lowers:
            start = at
    return None


def f_of(t0: Loss, t2: Loss) -> float:
    """The paper's linear f at Δ = cwnd(t0) − cwnd(t2), with Δ_i = Δ_max / 2."""
    most = BETA * t2.cwnd
    delta = min(t0.cwnd - t2.cwnd, most)
    return F_MAX * min(delta, most - delta) / (most / 2)


def cubic(times_s: np.ndarray, w_max: float, cwnd: float) -> np.ndarray:
    """Equation (1) since a loss that left `cwnd`, packets."""
    k_s = np.cbrt(max(w_max - cwnd, 0) / C)
    curve: np.ndarray = C * (times_s - k_s) ** 3 + w_max
    return curve
