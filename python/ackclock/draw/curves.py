"""The curves of a run, as they grow, and what of them a window of time on a screen shows.

Every curve of every run comes on the same grid of times: two points for each column of the window,
the lowest and the highest value in it in the order of their times. So a peak of one sample is never
lost, all curves share one time axis, and 10⁷ samples cost no more to draw than 10³.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray

#: Samples in a block whose lowest and highest value are kept, for windows with many samples.
BLOCK = 16
#: From so many samples a column of the window takes whole blocks: its edges are off by 1/8 at most.
COARSE = 8 * BLOCK


class Column:
    """Numbers that grow, with the lowest and highest of each whole block of them."""

    def __init__(self, dtype: str) -> None:
        self._values = np.empty(256, dtype)
        self._low = np.empty(256 // BLOCK, dtype)
        self._high = np.empty(256 // BLOCK, dtype)
        self.size = 0

    def append(self, values: Array) -> None:
        end = self.size + len(values)
        if end > len(self._values):
            room = BLOCK * (2 * end // BLOCK + 1)
            self._values = _grown(self._values, room)
            self._low = _grown(self._low, room // BLOCK)
            self._high = _grown(self._high, room // BLOCK)
        self._values[self.size : end] = values
        first, last = self.size // BLOCK, end // BLOCK
        blocks = self._values[first * BLOCK : last * BLOCK].reshape(-1, BLOCK)
        self._low[first:last] = blocks.min(axis=1)
        self._high[first:last] = blocks.max(axis=1)
        self.size = end

    @property
    def values(self) -> Array:
        return self._values[: self.size]

    def ranges(self, edges: Array) -> tuple[Array, Array]:
        """The lowest and the highest value from each edge to the next; the edges rise."""
        if np.diff(edges).min() < COARSE:
            values = self._values[: edges[-1]]
            return np.minimum.reduceat(values, edges[:-1]), np.maximum.reduceat(values, edges[:-1])
        edges = edges // BLOCK
        return (
            np.minimum.reduceat(self._low[: edges[-1]], edges[:-1]),
            np.maximum.reduceat(self._high[: edges[-1]], edges[:-1]),
        )


def _grown(values: Array, room: int) -> Array:
    grown = np.empty(room, values.dtype)
    grown[: len(values)] = values
    return grown


@dataclass(frozen=True)
class Window:
    """A span of time on a screen, in columns."""

    start_us: float
    end_us: float
    columns: int

    @property
    def column_us(self) -> float:
        return (self.end_us - self.start_us) / self.columns

    @property
    def times_us(self) -> Array:
        """The grid: two times for each column."""
        times_us: Array = self.start_us + (np.arange(2 * self.columns) + 0.5) * self.column_us / 2
        return times_us


@dataclass
class Curve:
    """What was sampled of one flow or of one queue: columns over time."""

    columns: Mapping[str, Column]
    times_us: Column = field(default_factory=lambda: Column("i8"))

    @classmethod
    def empty(cls, **dtypes: str) -> "Curve":
        return cls({name: Column(dtype) for name, dtype in dtypes.items()})

    def append(self, times_us: Array, columns: Mapping[str, Array]) -> None:
        self.times_us.append(times_us)
        for name, column in self.columns.items():
            column.append(columns[name])

    def shown(self, name: str, window: Window) -> Array:
        """The lowest and highest values of a column in the window, on its grid.

        Between two samples the line is straight; before the first and after the last there is none.
        """
        times, column = self.times_us.values, self.columns[name]
        grid_us = window.times_us
        if len(times) == 0:
            return np.full(len(grid_us), np.nan, "f4")
        edges_us = window.start_us + np.arange(window.columns + 1) * window.column_us
        edges = np.searchsorted(times, edges_us)
        filled = np.flatnonzero(np.diff(edges))
        if len(filled) < window.columns:
            around = slice(max(edges[0] - 1, 0), edges[-1] + 1)
            shown = np.interp(
                grid_us, times[around], column.values[around], left=np.nan, right=np.nan
            )
        else:
            shown = np.empty(len(grid_us))
        if len(filled):
            starts = np.append(edges[filled], edges[-1])
            low, high = column.ranges(starts)
            falls = column.values[starts[:-1]] > column.values[starts[1:] - 1]
            shown[2 * filled] = np.where(falls, high, low)
            shown[2 * filled + 1] = np.where(falls, low, high)
        values: Array = shown.astype("f4")
        return values

    def rate_per_s(self, name: str, window: Window, over_us: float) -> Array:
        """How fast a cumulative column rises at each time of the grid, over so long a time."""
        times, values = self.times_us.values, self.columns[name].values
        grid_us = window.times_us
        if len(times) < 2:
            return np.full(len(grid_us), np.nan, "f4")
        over_us = max(over_us, window.column_us)
        after = np.clip(grid_us + over_us / 2, times[0], times[-1])
        before = np.clip(grid_us - over_us / 2, times[0], times[-1])
        around = slice(
            max(int(np.searchsorted(times, before[0])) - 1, 0),
            int(np.searchsorted(times, after[-1])) + 1,
        )
        times, values = times[around], values[around]
        with np.errstate(divide="ignore", invalid="ignore"):
            rose = np.interp(after, times, values) - np.interp(before, times, values)
            rate = rose / (after - before) * 1e6
        rate[(grid_us < self.times_us.values[0]) | (grid_us > self.times_us.values[-1])] = np.nan
        rates: Array = rate.astype("f4")
        return rates
