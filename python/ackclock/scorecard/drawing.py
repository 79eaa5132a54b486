"""The pictures of a scorecard: lines over one column of the points, heat maps over two."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ackclock.draw import plot, style
from ackclock.estimates.stats import Estimate, mean_ci
from ackclock.figures.experiment import Runs
from ackclock.hosts.contained import contained
from ackclock.hosts.threads import LOCAL
from ackclock.hosts.work import whole
from ackclock.pages.offered import Offered
from ackclock.questions.card import ALONE, Number
from ackclock.results import metrics
from ackclock.results.result import Result
from ackclock.scorecard.attack import DATA, PICTURE, SCENARIO, Found, as_json
from ackclock.scorecard.evaluated import Answered, Evaluated
from ackclock.store.entries import write_json

#: Text on any colour.
OUTLINE = [withStroke(linewidth=1.5, foreground="#0008")]
#: Heat maps beside each other, and the height of a row of them, inches.
ACROSS, ROW = 4, 2.6
#: What a value or the name of a column ends with, and how an axis says it.
UNITS = {"bdp": "BDP", "mbit": "Mb/s", "mbps": "Mb/s", "percent": "%", "ms": "ms", "s": "s"}


def write(found: Found, directory: Path) -> None:
    """Writes attack.toml, its C files, attack.json and, unless it crashed, attack.png."""
    scenario = Offered(directory).beside(found.scenario)
    (directory / SCENARIO).write_text(scenario.to_toml(), encoding="utf-8")
    write_json(as_json(found), directory / DATA)
    if found.crash:
        return
    names = [found.algorithm, *([found.against] if found.against else [])]
    with closing(contained(_runs, names, found, progress=lambda _: None)) as runs:
        plot.write(attacked(found, dict(runs)), directory, PICTURE, only=".png")


def _runs(
    names: Sequence[str], found: Found, _: Callable[[float], None]
) -> Generator[tuple[str, Result], None, None]:
    results: dict[int, Result] = {}
    LOCAL.run([found.with_algorithm(each) for each in names], whole, results.__setitem__)
    yield from ((name, results[index]) for index, name in enumerate(names))


def attacked(found: Found, runs: Mapping[str, Result]) -> Figure:
    """What an attack does: throughput and queue, with the algorithm and with another in its place.

    A line is the sum of the flows of those who send (`Trouble.groups`).
    """
    with style.applied():
        drawing = plot.Picture(figsize=(1 + 4 * len(runs), 4.5))
        grid = drawing.subplots(2, len(runs), sharex=True, sharey="row", squeeze=False)
        for (name, result), (rates, queue) in zip(runs.items(), grid.T, strict=True):
            end_s = metrics.duration_s(result)
            edges_s = np.linspace(0, end_s, 101)
            per_flow = metrics.throughput_bps(result, edges_s) / 1e6
            first = 0
            groups = found.near.groups(Path(name).name)
            for (label, count), colour in zip(groups.items(), style.FLOWS, strict=False):
                total = per_flow[first : first + count].sum(axis=0)
                rates.stairs(total, edges_s, color=colour, label=label, baseline=None)
                first += count
            rates.axhline(
                found.trouble.rate_bps / 1e6,
                color=style.INK,
                linestyle=":",
                label="rate of the link",
            )
            plot.queue(queue, result)
            if box := queue.get_legend():
                box.remove()
            queue.set_xlabel("time (s)")
            rates.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        for panel in grid[:, 0]:
            panel.set_ylim(bottom=0)
        grid[0, 0].set_ylabel("throughput (Mb/s)")
        for panel in grid[:, 1:].flat:
            panel.set_ylabel("")
    return drawing


def figure(asked: Answered, evaluated: Evaluated) -> Figure:
    """The first numbers over the points."""
    points = asked.experiment.points
    values = {column: list(dict.fromkeys(each[column] for each in points)) for column in points[0]}
    del values["algorithm"]
    varied = {column: some for column, some in values.items() if len(some) > 1}
    in_figure = asked.question.shown or list(varied)
    over = [column for column in varied if column not in in_figure]
    varied = {column: some for column, some in varied.items() if column in in_figure}
    shown = list({number.column: number for number in asked.question.numbers}.values())[:2]
    with style.applied():
        if len(varied) < 2:
            drawing = Figure(figsize=(9, 3))
            for axes, number in zip(drawing.subplots(1, 2), shown, strict=False):
                _lines(axes, asked, evaluated, list(varied), number)
                axes.set_ylabel(_label(number))
            drawing.axes[0].legend(fontsize="small")
            drawing.axes[1].set_visible(len(shown) > 1)
        else:
            drawing = _heat_maps(asked, evaluated, varied, shown[0])
            words = [_axis(each, ())[0].partition(" (")[0] for each in over]
            mean = f", mean over every {' and '.join(words)}" if over else ""
            drawing.suptitle(_label(shown[0]) + mean, fontsize="small")
    return drawing


def _heat_maps(
    asked: Answered, evaluated: Evaluated, varied: Mapping[str, list[Any]], number: Number
) -> Figure:
    """One for each algorithm, over the last two columns; new rows for each value of a third."""
    *before, down, across = varied
    names = list(evaluated.names.items())
    columns = min(ACROSS, len(names))
    rows_of_each = -(-len(names) // columns)
    cases = [dict(zip(before, case, strict=True)) for case in product(*(varied[b] for b in before))]
    rows = rows_of_each * len(cases)
    drawing = Figure(figsize=(9.5, 0.6 + ROW * rows))
    grid = drawing.subplots(rows, columns, squeeze=False)
    whole = asked.runs.table.filter(pl.col("algorithm") != ALONE)[number.column].drop_nulls()
    most = 100.0 if number.needs_alone else float(whole.max() or 1)  # type: ignore[arg-type]
    for index, case in enumerate(cases):
        panels = grid[rows_of_each * index : rows_of_each * (index + 1)].flat
        for place, axes in enumerate(panels):
            axes.set_visible(place < len(names))
            if place >= len(names):
                continue
            name, title = names[place]
            where = {"algorithm": name} | case
            _heat(axes, asked, where, (down, varied[down]), (across, varied[across]), number, most)
            axes.set_title(" beside ".join([title, *case.values()]), fontsize="small")
            if place % columns:
                axes.set_ylabel("")
                axes.tick_params(labelleft=False)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    return drawing


def _label(number: Number) -> str:
    words, _, unit = number.column.rpartition("_")
    words = words if unit in UNITS else number.column
    words = words.replace("_", " ").replace("rtt", "RTT").replace("jain", "Jain's index")
    return f"{words} ({UNITS[unit]})" if unit in UNITS else words


def _axis(column: str, values: Sequence[Any]) -> tuple[str, list[str]]:
    """What an axis and its ticks say: a unit that all values have is said once."""
    words, _, unit = column.rpartition("_")
    words, unit = (words, unit) if unit in UNITS else (column, "")
    texts = [str(each) for each in values]
    parts = [re.fullmatch(r"([\d.]+)([a-z]+)", text) for text in texts]
    found = {part[2] if part else "" for part in parts}
    if not unit and len(found) == 1 and (own := found.pop()) in UNITS:
        unit, texts = own, [text.removesuffix(own) for text in texts]
    words = words.replace("_", " ").replace("rtt", "RTT")
    return f"{words} ({UNITS[unit]})" if unit else words, texts


def _mean(runs: Runs, number: Number, where: Mapping[str, Any]) -> Estimate | None:
    values = runs.table.filter(**where)[number.column].drop_nulls().to_list()
    return mean_ci([float(value) for value in values]) if values else None


def _lines(
    axes: Axes, asked: Answered, evaluated: Evaluated, varied: Sequence[str], number: Number
) -> None:
    xs = (
        list(dict.fromkeys(point[varied[0]] for point in asked.experiment.points))
        if varied
        else [""]
    )
    linux = asked.linux.runs if asked.linux else None
    has_order = len(xs) > 1 and all(str(x)[0].isdigit() for x in xs)
    for index, (name, shown) in enumerate(evaluated.names.items()):
        aside = 0 if has_order else 0.1 * (index - (len(evaluated.names) - 1) / 2)
        at = [x + aside for x in range(len(xs))]
        where = [{"algorithm": name} | ({varied[0]: x} if varied else {}) for x in xs]
        of = style.look(name)
        look: dict[str, Any] = {"color": of.colour, "marker": of.marker, "linestyle": of.line}
        look["zorder"] = 3 - 0.1 * index  # the algorithm that is asked for is on top
        found = [_mean(asked.runs, number, each) for each in where]
        if has_order:
            plot.estimates(axes, at, found, label=shown, markersize=5, **look)
        else:
            plot.error_bars(axes, at, found, label=shown, **look | {"linestyle": ""})
        if linux is not None:
            found = [_mean(linux, number, each) for each in where]
            at = [x + 0.1 for x in at]
            look |= {"linestyle": "", "markerfacecolor": "none"}
            label = f"{shown}, {evaluated.on}"
            plot.estimates(axes, at, found, label=label, markersize=7, **look)
    label, ticks = _axis(varied[0], xs) if varied else ("", [""])
    axes.set_xticks(range(len(xs)), ticks, fontsize="small")
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.set_xlabel(label)
    axes.set_ylim(min(0, axes.dataLim.y0), 1.04 * axes.get_ylim()[1])


def _heat(
    axes: Axes,
    asked: Answered,
    where: Mapping[str, Any],
    down: tuple[str, list[Any]],
    across: tuple[str, list[Any]],
    number: Number,
    most: float,
) -> None:
    """A cell for each pair of values; each column with its values."""
    (row, ys), (column, xs) = down, across
    table = asked.runs.table.filter(**where).group_by(row, column)
    means = {(y, x): mean for y, x, mean in table.agg(pl.col(number.column).mean()).iter_rows()}
    cells = np.array([[means.get((y, x)) for x in xs] for y in ys], float)
    axes.imshow(cells, aspect="auto", cmap="viridis", vmin=0, vmax=most)
    for (y, x), value in np.ndenumerate(cells):
        text = f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"
        axes.text(x, y, text, ha="center", va="center", fontsize="x-small",
                  color="white", path_effects=OUTLINE)  # fmt: skip
    label, ticks = _axis(column, xs)
    axes.set_xticks(range(len(xs)), ticks, fontsize="small")
    axes.set_xlabel(label)
    label, ticks = _axis(row, ys)
    axes.set_yticks(range(len(ys)), ticks, fontsize="small")
    axes.set_ylabel(label)
