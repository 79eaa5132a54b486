"""Pictures of a sweep: heat maps over two axes, lines with intervals over one."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from ackclock.base.errors import AckclockError
from ackclock.draw import plot, style
from ackclock.scenario.table import toml
from ackclock.sweeps import in_units
from ackclock.sweeps.axes import Axis
from ackclock.sweeps.sweep import Sweep, estimate, measured

#: Most panels beside each other, lines in a panel, and cells that show their number.
MOST_PANELS, MOST_LINES, MOST_NUMBERS = 6, 8, 100
#: Values from which on an axis is one of a heat map.
LONG = 4
#: A list from whose least to whose largest value is this factor is drawn logarithmically.
LOG_FROM = 20
#: A part of the table, and the values of the other axes there, as text.
_Part = tuple[pl.DataFrame, str]


def layout(sweep: Sweep) -> tuple[list[Axis], list[Axis]]:
    """The axes that a panel shows, and those of which each value has a panel, or a line.

    Raises `AckclockError` if there is nothing to draw, or too much.
    """
    axes = [axis for axis in sweep.axes if axis.values is None or len(axis.values) > 1]
    if not axes:
        raise AckclockError("--plot: nothing to draw: each axis has one value")
    if sweep.samples is not None:
        _check_number(len(axes), "panels", MOST_PANELS)
        return axes, []
    numbers = [axis for axis in axes if axis.numeric]
    long = [axis for axis in numbers if len(axis.values or ()) >= LONG]
    shown = long[:2] or numbers[:1] or axes[:1]
    others = [axis for axis in axes if axis not in shown]
    number = math.prod(len(axis.values or ()) for axis in others)
    if len(shown) == 2:
        _check_number(number, "panels", MOST_PANELS)
    else:
        _check_number(number, "lines", MOST_LINES)
    return shown, others


def _check_number(number: int, what: str, most: int) -> None:
    if number > most:
        raise AckclockError(
            f"--plot: {number} {what} are more than {most}; give fewer values to the axes beside "
            "the first two, or draw the table yourself"
        )


def figure(sweep: Sweep, table: pl.DataFrame) -> Figure:
    """A row of panels for each metric of a sweep's table.

    Two axes with four or more numbers make heat maps of the means, with a panel for each value of
    the other axes. Otherwise there are lines of the means, with 95 % intervals over seeds, and a
    line for each value of the other axes. A hypercube has a panel for each axis, with a dot for
    each point. Raises `AckclockError` as `layout` does, or if no metric is a number.
    """
    shown, others = layout(sweep)
    metrics = [metric for metric in measured(table) if table[metric].count()]
    if not metrics:
        raise AckclockError("--plot: nothing to draw: no metric is a number")
    parts = _parts(table, others)
    sampled, mapped = sweep.samples is not None, sweep.samples is None and len(shown) == 2
    columns = len(shown) if sampled else len(parts) if mapped else 1
    with style.applied():
        size = (max(6, 1.5 + (2.6 if sampled else 3.6) * columns), 1 + 2.1 * len(metrics))
        drawn = Figure(figsize=size)
        panels = drawn.subplots(len(metrics), columns, squeeze=False, sharex="col", sharey="row")
        for row, metric in zip(panels, metrics, strict=True):
            if mapped:
                _maps(drawn, row, shown, parts, metric)
            elif sampled:
                _dots(row, sweep, shown, table, metric)
            else:
                _lines(row[0], shown[0], parts, metric)
        for number, panel in enumerate(panels[-1]):
            # The ticks of a map have units.
            panel.set_xlabel(shown[0].key if mapped else in_units.label(shown[number]))
        if len(parts) > 1 and not mapped:
            panels[0, 0].legend(fontsize="small")
    return drawn


def _parts(table: pl.DataFrame, axes: Sequence[Axis]) -> list[_Part]:
    """The table by the values of these axes."""
    if not axes:
        return [(table, "")]
    names = [axis.column for axis in axes]
    return [
        (
            part,
            ", ".join(
                f"{axis.key} = {_value(axis, value)}"
                for axis, value in zip(axes, values, strict=True)
            ),
        )
        for values, part in table.group_by(names, maintain_order=True)
    ]


def _maps(
    drawn: Figure,
    panels: Sequence[Axes],
    shown: Sequence[Axis],
    parts: Sequence[_Part],
    metric: str,
) -> None:
    """Means over two axes, in one colour scale."""
    across, up = shown
    columns = [across.column, up.column]
    maps = []
    for part, _ in parts:
        cells = part.group_by(columns, maintain_order=True).agg(pl.col(metric).mean())
        maps.append(cells)
    scale, unit = in_units.unit(metric, max(_ends(part[metric].to_numpy())[1] for part, _ in parts))
    means = [cells[metric].to_numpy().astype(float) * scale for cells in maps]
    colours = ScalarMappable(Normalize(*_ends(np.concatenate(means))), "viridis")
    for panel, cells, mean, (_, title) in zip(panels, maps, means, parts, strict=True):
        _map(panel, shown, cells, mean, colours)
        panel.set_title(title)
    panels[0].set_ylabel(up.key)
    drawn.colorbar(colours, ax=list(panels), label=in_units.named(metric, unit))


def _map(
    panel: Axes,
    shown: Sequence[Axis],
    cells: pl.DataFrame,
    means: np.ndarray,
    colours: ScalarMappable,
) -> None:
    """A cell of equal size for each pair of values, with its number if there is room."""
    across, up = (list(axis.values or ()) for axis in shown)
    places = [
        {axis.in_table(value): at for at, value in enumerate(values)}
        for axis, values in zip(shown, (across, up), strict=True)
    ]
    grid = np.full((len(up), len(across)), np.nan)
    for row, mean in zip(cells.iter_rows(), means, strict=True):
        grid[places[1][row[1]], places[0][row[0]]] = mean
    panel.imshow(colours.to_rgba(grid), origin="lower", aspect="auto")
    for axis, values, set_ticks in (
        (shown[0], across, panel.set_xticks),
        (shown[1], up, panel.set_yticks),
    ):
        every = math.ceil(len(values) / 12)
        at = range(0, len(values), every)
        set_ticks(list(at), [_value(axis, axis.in_table(values[index])) for index in at])
    if grid.size <= MOST_NUMBERS:
        for (y, x), mean in np.ndenumerate(grid):
            light = sum(colours.to_rgba(mean)[:3]) > 1.5
            text = "" if math.isnan(mean) else f"{mean:.3g}"
            panel.text(x, y, text, ha="center", va="center", fontsize="x-small",
                       color="black" if light else "white")  # fmt: skip


def _lines(panel: Axes, axis: Axis, parts: Sequence[_Part], metric: str) -> None:
    """Means with 95 % intervals over one axis."""
    scale, unit = in_units.unit(metric, max(_ends(part[metric].to_numpy())[1] for part, _ in parts))
    for number, (part, label) in enumerate(parts):
        groups = list(part.group_by(axis.column, maintain_order=True))
        if axis.numeric:
            groups.sort(key=lambda group: float(group[0][0]))
        values = [value for (value,), _ in groups]
        found = [estimate(rows, metric) for _, rows in groups]
        known = [index for index, each in enumerate(found) if each is not None]
        estimates = [in_units.scaled(each, scale) for each in found if each is not None]
        colour, line = style.FLOWS[number % len(style.FLOWS)], "-"
        if (name := label.rpartition("= ")[2]) in style.ALGORITHMS:
            colour, line = style.look(name).colour, style.look(name).line
        if not known:
            continue
        if axis.numeric:
            x = [values[index] * in_units.scale(axis)[0] for index in known]
            look = {"color": colour, "linestyle": line, "marker": "o", "markersize": 3}
            plot.estimates(panel, x, estimates, label=label, **look)
        else:
            shift = (number - (len(parts) - 1) / 2) * 0.8 / len(parts)
            at = [index + shift for index in known]
            plot.error_bars(panel, at, estimates, color=colour, label=label, fmt="o")
            panel.set_xticks(range(len(values)), values)
    if axis.numeric:
        _set_scale(panel, axis)
    panel.set_ylabel(in_units.named(metric, unit))


def _dots(
    panels: Sequence[Axes],
    sweep: Sweep,
    shown: Sequence[Axis],
    table: pl.DataFrame,
    metric: str,
) -> None:
    """The mean of each point of a hypercube over each axis."""
    names = [axis.column for axis in sweep.axes]
    points = table.group_by(names, maintain_order=True).agg(pl.col(metric).mean())
    scale, unit = in_units.unit(metric, _ends(table[metric].to_numpy())[1])
    means = points[metric].to_numpy().astype(float) * scale
    for panel, axis in zip(panels, shown, strict=True):
        values = points[axis.column]
        x = values.to_numpy() * in_units.scale(axis)[0] if axis.numeric else values.to_list()
        panel.scatter(x, means, s=10, alpha=0.6, linewidths=0, color=style.FLOWS[0])
        if axis.numeric:
            _set_scale(panel, axis)
    panels[0].set_ylabel(in_units.named(metric, unit))


def _ends(values: np.ndarray) -> tuple[float, float]:
    known = values.astype(float)
    known = known[np.isfinite(known)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def _set_scale(panel: Axes, axis: Axis) -> None:
    """Logarithmic where a range is, or a list spans much."""
    ends = axis.values or (axis.low, axis.high)
    low, *_, high = sorted(axis.in_table(value) for value in ends)
    if axis.log or (axis.low is None and low > 0 and high >= LOG_FROM * low):
        panel.set_xscale("log")
        scale, _ = in_units.scale(axis)
        ticks = _log_ticks(low * scale, high * scale)
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.xaxis.set_minor_formatter(NullFormatter())


def _log_ticks(low: float, high: float) -> list[float]:
    """Three to six numbers for a logarithmic axis: decades if there are so many, or 1, 2, 5, 10."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits, least in (((1,), 3), ((1, 3), 4), ((1, 2, 5), 3)):
        numbers = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = _between(low, numbers, high)
        if len(ticks) >= least:
            return ticks[:: math.ceil(len(ticks) / 6)]
    return _between(low, MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high), high)


def _between(low: float, numbers: Iterable[float], high: float) -> list[float]:
    """Those from `low` to `high`, which floating point may have moved a little."""
    return [float(each) for each in numbers if low * (1 - 1e-9) <= each <= high * (1 + 1e-9)]


def _value(axis: Axis, value: Any) -> str:
    """A value of the table as in the sweep file."""
    written = next((each for each in axis.values or () if axis.in_table(each) == value), value)
    return written if isinstance(written, str) else toml(written)
