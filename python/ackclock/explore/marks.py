"""What is marked on the curves: a sender's events, and the plateaus of CUBIC's curves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

#: Events that are marked.
MARKED = ("slow_start_exit", "recovery", "timeout", "undo", "cwr", "completed")
#: Most epochs of a flow in one window: more plateaus nobody tells apart.
MOST_EPOCHS = 40


class Epoch(NamedTuple):
    """One curve W(t) = C (t − K)³ + W_max of CUBIC's, from the end of a recovery."""

    start_us: int
    k_us: int
    w_max_packets: float


@dataclass
class Cubic:
    """Follows W_max and K of one CUBIC flow through its events, as `cubic.h` does (RFC 9438, 4.2).

    W_max is the window at a loss, or less by fast convergence (section 4.7). K is the cube root of
    (W_max − cwnd) / C. A timeout forgets both (4.8), and a curve that an undo ends is none.
    """

    values: Mapping[str, Any]
    epochs: list[Epoch] = field(default_factory=list)
    _w_max: float = 0
    _reduced_to: int | None = None

    def add(self, time_us: int, kind: str, cwnd: int, ssthresh: int) -> None:
        if kind in ("recovery", "cwr"):
            lower = cwnd < self._w_max and self.values["fast_convergence"]
            self._w_max = cwnd * (1 + self.values["beta"]) / 2 if lower else cwnd
            self._reduced_to = ssthresh
        elif kind == "timeout":
            self._w_max, self._reduced_to = 0, None
        elif kind == "undo":
            self._reduced_to = None
        elif kind == "recovered" and self._reduced_to is not None:
            below = max(self._w_max - self._reduced_to, 0)
            k_us = round((below / self.values["C"]) ** (1 / 3) * 1e6)
            self.epochs.append(Epoch(time_us, k_us, self._w_max))
            self._reduced_to = None


class Marks:
    """The events of a run, as they come, and the epochs of its CUBIC flows."""

    def __init__(self) -> None:
        self._tables: list[pl.DataFrame] = []
        self.cubic: dict[int, Cubic] = {}

    def append(self, events: pl.DataFrame) -> None:
        for time_us, flow, kind, cwnd, ssthresh, _ in events.iter_rows():
            if flow in self.cubic:
                self.cubic[flow].add(time_us, kind, cwnd, ssthresh)
        self._tables.append(events.filter(pl.col("kind").cast(str).is_in(MARKED)))

    def within(self, start_us: float, end_us: float, columns: int) -> list[list[Any]]:
        """[time in s, flow, kind, cwnd] of events in a window: one of a kind in each column."""
        if not self._tables:
            return []
        column = (pl.col("time_us") - start_us) * columns // (end_us - start_us)
        events = pl.concat(self._tables).filter(pl.col("time_us").is_between(start_us, end_us))
        events = events.with_columns(column=column).unique(
            ["flow", "kind", "column"], keep="first", maintain_order=True
        )
        at_s = (events["time_us"] / 1e6).to_list()
        kinds = events["kind"].cast(str).to_list()
        flows, cwnds = events["flow"].to_list(), events["cwnd_packets"].to_list()
        return [list(each) for each in zip(at_s, flows, kinds, cwnds, strict=True)]

    def epochs_within(self, start_us: float, end_us: float) -> list[list[float]]:
        """[flow, start in s, K in s, W_max, end in s] of CUBIC's epochs in a window."""
        found = []
        for flow, cubic in self.cubic.items():
            starts = np.array([epoch.start_us for epoch in cubic.epochs])
            first = max(int(np.searchsorted(starts, start_us)) - 1, 0)
            last = int(np.searchsorted(starts, end_us))
            if last - first > MOST_EPOCHS:
                continue
            for index in range(first, last):
                epoch = cubic.epochs[index]
                following = cubic.epochs[index + 1 : index + 2]
                end = following[0].start_us if following else max(end_us, epoch.start_us)
                found.append(
                    [flow, epoch.start_us / 1e6, epoch.k_us / 1e6, epoch.w_max_packets, end / 1e6]
                )
        return found
