"""What a window of time on a screen shows of a curve.

Each column of the window has two points, the lowest and the highest value in it in the order of
their times. So a peak of one sample is never lost.
"""

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Window(NamedTuple):
    """A span of time on a screen, in columns."""

    start: float
    end: float
    columns: int


def shown(times: Array, values: Array, window: Window) -> Array:
    """The lowest and highest values in each column: `2 * columns` numbers, in the unit of values.

    Where a column has no sample, they are of the straight line between two; before the first and
    after the last they are NaN.
    """
    edges_at = np.linspace(window.start, window.end, window.columns + 1)
    edges = np.searchsorted(times, edges_at)
    filled = np.flatnonzero(np.diff(edges))
    step = (window.end - window.start) / (2 * window.columns)
    grid = window.start + (np.arange(2 * window.columns) + 0.5) * step
    drawn: Array = np.interp(grid, times, values, np.nan, np.nan)
    if len(filled):
        starts, inside = edges[filled], values[: edges[-1]]
        low, high = (extreme.reduceat(inside, starts) for extreme in (np.minimum, np.maximum))
        falls = values[starts] > values[np.append(starts[1:], edges[-1]) - 1]
        drawn[2 * filled] = np.where(falls, high, low)
        drawn[2 * filled + 1] = np.where(falls, low, high)
    return drawn
