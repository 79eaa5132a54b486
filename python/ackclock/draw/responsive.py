"""A drawing on a page: as wide as the page, redrawn for a phone, with curves to zoom into."""

import base64
import io
import json
import textwrap
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ackclock.draw import html, plot, style
from ackclock.draw.curves import Window, shown

#: Width of a drawing for a phone, inches, and the height of a panel there.
NARROW, PANEL = 4.3, 2.4
#: A line with so many points is a history, and is worth a zoom.
LEAST_POINTS = 200
#: Columns of a history on a page: the lowest and the highest value in each.
COLUMNS = 1200
#: A panel's part of the width there.
PANEL_WIDTH = 0.7
#: Labels of axes that are longer get a second line there.
LONG_X, LONG_Y = 44, 30
#: Where a panel has a title.
_TITLES: tuple[Literal["left", "center"], ...] = ("left", "center")


def to_html(figure: Figure, caption: str = "") -> str:
    """The figure as HTML. Afterwards it is the one for a phone."""
    panels = list(_histories(figure))
    wide = plot.inline_svg(figure)
    with style.applied():
        _narrow(figure)
    data = json.dumps(panels, ensure_ascii=False, separators=(",", ":")) if panels else ""
    return html.picture(wide, plot.inline_svg(figure), caption, data)


def thumbnail(figure: Figure) -> str:
    """The first panel alone, without words, as an address of an image. The figure is spent."""
    axes = figure.axes[0]
    out = io.BytesIO()
    with style.applied():
        for other in [*figure.axes[1:], *figure.legends, *figure.texts]:
            other.remove()
        figure.set_layout_engine("none")
        figure.set_size_inches(2.4, 1.3)
        axes.set_position((0.02, 0.04, 0.96, 0.92))
        axes.set_axis_off()
        axes.set_title("")
        for each in axes.texts:
            each.set_visible(False)
        if legend := axes.get_legend():
            legend.remove()
        figure.savefig(out, format="png", dpi=160, transparent=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def _narrow(figure: Figure) -> None:
    """Puts the panels under each other."""
    figure.set_layout_engine("constrained")
    panels = [axes for axes in figure.axes if axes.get_visible()]
    places = [axes.get_subplotspec() for axes in panels]
    width, height = figure.get_size_inches()
    if figure.subfigs or None in places or len({_column(axes) for axes in panels}) == 1:
        figure.set_size_inches(NARROW, height * max(1, min(1.25, 9 / width)))
    else:
        _label_each(panels)
        grid = figure.add_gridspec(len(panels), 1)
        for number, axes in enumerate(panels):
            axes.set_subplotspec(grid[number])
        figure.set_size_inches(NARROW, PANEL * len(panels) + 0.5)
    for axes in panels:
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), LONG_X))
        axes.set_ylabel(textwrap.fill(axes.get_ylabel(), LONG_Y))
    for legend in list(figure.legends):
        labels = [text.get_text() for text in legend.get_texts()]
        handles = legend.legend_handles
        legend.remove()
        plot.legend(figure, handles, labels)
    for axes in panels:
        _clear_of_legend(axes)


def _clear_of_legend(axes: Axes) -> None:
    """Lifts a title over a legend above the panel, where there is no room for both."""
    if (legend := axes.get_legend()) is None:
        return
    box, room = legend.get_window_extent(), PANEL_WIDTH * axes.figure.bbox.width
    for loc in _TITLES:
        if text := axes.get_title(loc=loc):
            title = axes.set_title(text, loc=loc, fontsize="small")
            if title.get_window_extent().width + box.width > room:
                height_points = 4 + 72 * box.height / axes.figure.dpi
                axes.set_title(text, loc=loc, fontsize="small", pad=height_points)


def _column(axes: Axes) -> int:
    place = axes.get_subplotspec()
    return place.colspan.start if place is not None else 0


def _label_each(panels: list[Axes]) -> None:
    """Says again what a panel had left to its neighbours: labels and ticks of the axes, titles."""
    _entitle_columns(panels)
    for axes in panels:
        place = axes.get_subplotspec()
        assert place is not None
        for other in panels:
            at = other.get_subplotspec()
            assert at is not None
            if at.rowspan.start == place.rowspan.start and not axes.get_ylabel():
                axes.set_ylabel(other.get_ylabel())
            if at.colspan.start == place.colspan.start and not axes.get_xlabel():
                axes.set_xlabel(other.get_xlabel())
        axes.tick_params(labelleft=True, labelbottom=True)


def _entitle_columns(panels: list[Axes]) -> None:
    """Where titles stand over columns alone, each panel gets that of its column."""
    rows: dict[int, dict[int, Axes]] = {}
    for axes in panels:
        if place := axes.get_subplotspec():
            rows.setdefault(place.rowspan.start, {})[place.colspan.start] = axes
    first, *others = (rows[row] for row in sorted(rows))
    if any(axes.get_title(loc) for row in others for axes in row.values() for loc in _TITLES):
        return
    for column, axes in ((column, axes) for row in others for column, axes in row.items()):
        for loc in _TITLES:
            if column in first and (title := first[column].get_title(loc)):
                axes.set_title(title, loc=loc)


def _histories(figure: Figure) -> Iterator[dict[str, Any]]:
    """The panels with a long line, over linear axes, as the script takes them."""
    for axes in figure.axes:
        lines = []
        for line in axes.get_lines():
            x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            of_data = line.get_transform() == axes.transData
            if of_data and len(x) > 1 and np.all(np.diff(x) >= 0):
                lines.append((line, x, y))
        long = any(len(x) >= LEAST_POINTS for _, x, _ in lines)
        if not long or axes.get_xscale() != "linear" or axes.get_yscale() != "linear":
            continue
        start, end = axes.get_xlim()
        window = Window(start, end, COLUMNS)
        series = []
        for line, x, y in lines:
            colour = to_hex(line.get_color())
            label = line.get_label()
            series.append(
                {
                    "label": "" if str(label).startswith("_") else str(label),
                    "colour": "" if colour == style.INK else colour,
                    "dashed": line.get_linestyle() != "-",
                    "values": [_short(value) for value in shown(x, y, window)],
                }
            )
        yield {
            "title": axes.get_title(loc="left") or axes.get_title(),
            "x": axes.get_xlabel() or figure.axes[-1].get_xlabel(),
            "y": axes.get_ylabel() or figure.axes[0].get_ylabel(),
            "from": start,
            "to": end,
            "series": series,
        }


def _short(value: float) -> float | int | None:
    """With four digits, as on a screen."""
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded == int(rounded) else rounded
