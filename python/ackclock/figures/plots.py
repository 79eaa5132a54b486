"""Plots of quantities, runs and claims."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from ackclock.draw import plot, style
from ackclock.estimates.repeats import Repeats
from ackclock.estimates.stats import Estimate
from ackclock.figures.claim import CROSSED, Judged, JudgedClaim, JudgedEither
from ackclock.figures.experiment import Experiment, Point
from ackclock.figures.figure import Plot, View
from ackclock.figures.quantity import Column, Quantity, needs_of
from ackclock.results import metrics
from ackclock.scenario.scenario import name_in

#: Colours of the verdicts, as on the pages.
VERDICTS = {
    "holds": "#1a7f37",
    "fails": "#c62828",
    "open": "#d9a400",
    "reported": "#888888",
    "not testable": "#888888",
}

#: Lines at what we found, and at what the paper says.
MARK: dict[str, Any] = {"color": style.INK, "linewidth": 0.8, "linestyle": ":"}
#: A legend above a panel, at the right: off the curves.
ABOVE: Mapping[str, Any] = {
    "loc": "lower right",
    "bbox_to_anchor": (1, 0.98),
    "fontsize": "x-small",
    "ncols": 4,
}
PAPER: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (5, 3))}
#: x → the quantity there.
Curve = Mapping[float, Quantity]
#: Label → what `Axes.plot` takes, and the curve.
Curves = Mapping[str, tuple[Mapping[str, Any], Curve]]


def line_style(algorithm: str) -> dict[str, Any]:
    """Colour and marker of an algorithm's curves."""
    of = style.look(name_in(algorithm))
    return {"color": of.colour, "marker": of.marker}


def over(
    column: Column,
    x: str | Callable[[Point], float],
    as_drawn: Callable[[Quantity], Quantity] = lambda of: of,
    **some: Any,
) -> Curve:
    """A column over one of the points' columns, or over a function, at points with these values."""
    found = {
        float(point[x] if isinstance(x, str) else x(point)): as_drawn(column.at(**point))
        for point in column.experiment.where(**some)
    }
    return dict(sorted(found.items()))


def by(
    column: Column,
    x: str | Callable[[Point], float],
    of: str,
    names: Mapping[Any, str],
    *,
    looks: Callable[[Any], Mapping[str, Any]] = line_style,
    as_drawn: Callable[[Quantity], Quantity] = lambda of: of,
    **some: Any,
) -> Curves:
    """A curve as of `over` for each of these values of the column `of`, which has a name."""
    return {
        name: (looks(value), over(column, x, as_drawn, **{of: value}, **some))
        for value, name in names.items()
    }


def drawn(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> Callable[[Callable[[Any, View], None]], Plot]:
    """Makes a plot of a function that draws a view on axes: `rows` by `columns` of them."""

    def plot_of(draw: Callable[[Any, View], None]) -> Plot:
        def plot(view: View) -> Drawing:
            with style.applied():
                figure = Drawing(figsize=(width, height))
                draw(figure.subplots(rows, columns), view)
            return figure

        return Plot(plot)

    return plot_of


def curves(
    panels: Mapping[str, Curves],
    *,
    xlabel: str | Sequence[str],
    ylabel: str | Sequence[str],
    log_x: bool = False,
    log_y: bool = False,
    ylim: tuple[float | None, float | None] = (None, None),
    columns: int = 0,
    size: tuple[float, float] | None = None,
    after: Callable[[Axes], object] | None = None,
) -> Plot:
    """Panels of curves: means with the band of their intervals; crosses for the paper's numbers.

    A label is that of all panels, or of each. `after` has the last word on each panel's axes.
    """
    columns = columns or len(panels)
    lines = -(-len(panels) // columns)

    def draw(view: View) -> Drawing:
        with style.applied():
            figure = Drawing(figsize=size or (min(4 * columns + 1, 11), 3.2 * lines + 0.2))
            grid = figure.subplots(lines, columns, squeeze=False, sharey=isinstance(ylabel, str))
            found: list[Estimate] = []
            for number, (title, some) in enumerate(panels.items()):
                axes = grid.flat[number]
                found += _draw_curves(axes, view, some)
                axes.set_title(title, fontsize="small")
                axes.set_xlabel(xlabel if isinstance(xlabel, str) else xlabel[number])
                if log_x:
                    _log_x(axes, sorted({x for _, curve in some.values() for x in curve}))
                if log_y:
                    axes.set_yscale("log")
                if not isinstance(ylabel, str) or number % columns == 0:
                    axes.set_ylabel(ylabel if isinstance(ylabel, str) else ylabel[number])
            # Limits that panels share are known once all are drawn.
            for axes in grid.flat[: len(panels)]:
                if ylim != (None, None):
                    axes.set_ylim(*ylim)
                if log_y:
                    _log_y(axes)
                if after:
                    after(axes)
            _finish(figure, grid, len(panels), _keys(found))
        return figure

    every = (curve for some in panels.values() for _, curve in some.values())
    return Plot(draw, needs_of(quantity for curve in every for quantity in curve.values()))


def _draw_curves(axes: Axes, view: View, curves: Curves) -> list[Estimate]:
    every: list[Estimate] = []
    for label, (as_drawn, curve) in curves.items():
        found = [view.estimate(quantity) for quantity in curve.values()]
        plot.estimates(axes, list(curve), found, markersize=5, label=label, **as_drawn)
        papers = {x: of.paper for x, of in curve.items() if isinstance(of.paper, int | float)}
        if papers:
            colour, name = axes.lines[-1].get_color(), f"{label}: the paper"
            axes.plot(list(papers), list(papers.values()), "x", color=colour, label=name)
        every += [each for each in found if each is not None]
    return every


def _keys(found: Sequence[Estimate]) -> dict[str, Any]:
    """What a legend says of the bands of these estimates, and of their open marks."""
    keys: dict[str, Any] = {}
    if any(np.isfinite(each.high - each.low) and each.high > each.low for each in found):
        keys["band: 95 % interval"] = Patch(color=style.INK, alpha=0.2, linewidth=0)
    cut_off = [each for each in found if each.censored]
    for mark, said, is_so in (
        ("^", "at least: the end cut runs off", any(np.isinf(each.high) for each in cut_off)),
        ("v", "at most: the end cut runs off", any(np.isfinite(each.high) for each in cut_off)),
    ):
        if is_so:
            look: dict[str, Any] = {
                "color": style.INK,
                "marker": mark,
                "fillstyle": "none",
                "linestyle": "",
            }
            keys[f"open: {said}"] = Line2D([], [], **look)
    return keys


def _log_x(axes: Axes, xs: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()


def _log_y(axes: Axes) -> None:
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high > 4 * low else (1, 1.2, 1.5, 2, 3, 4, 6, 8)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _finish(figure: Drawing, grid: Any, panels: int, keys: Mapping[str, Any]) -> None:
    """Hides the panels that nothing is in, and puts one legend above the others."""
    handles: dict[str, Any] = {}
    for axes in grid.flat[:panels]:
        found, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    handles |= keys
    for axes in grid.flat[panels:]:
        axes.set_visible(False)
    plot.legend(figure, list(handles.values()), list(handles))


def windows(
    runs: Mapping[str, tuple[Experiment, Point]],
    *,
    converged: Mapping[str, Quantity] | None = None,
    paper: tuple[float, str] | None = None,
    after: Callable[[Axes], object] | None = None,
) -> Plot:
    """Congestion windows over time, of the first repeat of each point, under its title and seed.

    A line marks when the run under a title `converged`: a quantity that is a time after the last
    flow's start, s. `paper` is the paper's time after it, and its words. `after` has the last word
    on each panel's axes.
    """

    def draw(view: View) -> Drawing:
        with style.applied():
            figure = Drawing(figsize=(8, 2.4 * len(runs) + 0.8))
            panels = figure.subplots(len(runs), 1, squeeze=False)[:, 0]
            for axes, (title, (experiment, point)) in zip(panels, runs.items(), strict=True):
                result = view.result(experiment, **point)
                plot.cwnd(axes, result)
                start_s = metrics.last_start_s(result)
                found_s = _of_first(view, converged[title]) if converged else None
                end_s = metrics.duration_s(result)
                is_first = paper is not None and found_s is not None and found_s < paper[0]
                if found_s is not None:
                    text = f"converged\nafter {found_s:.0f} s"
                    is_late = start_s + found_s > 0.85 * end_s
                    marked(axes, start_s + found_s, text, left=is_first or is_late)
                elif converged:
                    marked(axes, end_s, "not converged", left=True, look={"linewidth": 0})
                if paper:
                    text = f"the paper:\n{paper[1]}"
                    marked(axes, start_s + paper[0], text, left=not is_first, look=PAPER)
                axes.set_title(view.titled(title, experiment, **point), fontsize="small")
                axes.legend(**ABOVE)
                if after:
                    after(axes)
            panels[-1].set_xlabel("time (s)")
        return figure

    return Plot(draw, tuple((of, of.the(**point)) for of, point in runs.values()))


def shown_from(axes: Axes, first_s: float, last_s: float, headroom: float = 1.1) -> None:
    """Limits of a panel of windows: this time, and as high as the windows are then."""
    axes.set_xlim(first_s, last_s)
    shown = []
    for line in axes.lines:
        times_s, cwnd = (np.asarray(each, float) for each in line.get_data())
        shown += cwnd[(times_s >= first_s) & (times_s <= last_s)].tolist()
    axes.set_ylim(0.95 * min(shown), headroom * max(shown))


def _of_first(view: View, of: Quantity) -> float | None:
    """A quantity of seed 1; None if the run's end cut it off."""
    repeats = of.of(view.rows)
    assert isinstance(repeats, Repeats)
    at = repeats.seeds.index(1)
    return float(repeats.value[at]) if np.isfinite(repeats.high[at]) else None


def marked(
    axes: Axes, time_s: float, text: str, *, left: bool = False, look: Mapping[str, Any] = MARK
) -> None:
    """An upright line at a time, with a text on one side."""
    axes.axvline(time_s, **look)
    axes.annotate(
        text,
        (time_s, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if left else 4, -2),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        fontsize="small",
    )


def by_paper(
    axes: Axes, y: float, text: str, colour: str = style.INK, *, beside: bool = False
) -> None:
    """A dashed line where the paper has a number, with its words below, or beside the panel."""
    axes.axhline(y, **{**PAPER, "color": colour})
    axes.annotate(
        f"paper:\n{text}" if beside else f"the paper: {text}",
        (1, y),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0) if beside else (-2, -3),
        textcoords="offset points",
        ha="left" if beside else "right",
        va="center" if beside else "top",
        fontsize="small",
        color=colour,
    )


def sensitivity(claim: JudgedClaim) -> Drawing:
    """The verdict of each part of a claim, as set up and with each thing changed: a table of dots.

    One part: also its estimate with its interval, and where it must lie.
    """
    rows = [("as set up", claim.parts)]
    rows += [
        (f"{of}: {value}", parts)
        for of, values in claim.otherwise.items()
        if not of.endswith(CROSSED)
        for value, parts in values.items()
    ]
    first = claim.parts[0]
    alone = first if len(claim.parts) == 1 and isinstance(first, Judged) else None
    with style.applied():
        figure = Drawing(figsize=(8, 0.7 + 0.26 * len(rows)))
        axes = figure.subplots()
        for y, (_, parts) in enumerate(rows):
            if alone:
                _interval(axes, y, parts[0])
            else:
                _dots(axes, y, [JudgedClaim(claim.claim, parts), *parts])
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        if alone:
            _bounds(axes, alone)
        else:
            names = ["all", *(str(number) for number in range(1, len(claim.parts) + 1))]
            axes.set_xticks(range(len(names)), names)
            axes.set_xlabel("parts, in the order of the table above")
            axes.set_xlim(-0.6, max(len(names), 12) - 0.4)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    return figure


def _dots(axes: Axes, y: int, parts: Sequence[Judged | JudgedEither | JudgedClaim]) -> None:
    for x, part in enumerate(parts):
        verdict = part.verdict if isinstance(part, JudgedClaim) else part.verdict()
        size = 10 if x == 0 else 7
        full = "none" if verdict == "open" else "full"
        axes.plot([x], [y], "o", color=VERDICTS[verdict], markersize=size, fillstyle=full)


def _interval(axes: Axes, y: int, part: Judged | JudgedEither) -> None:
    if not isinstance(part, Judged) or part.estimate is None:
        return
    found, colour = part.estimate, VERDICTS[part.verdict()]
    ends = [found.mean if not np.isfinite(end) else end for end in (found.low, found.high)]
    axes.plot(ends, [y, y], color=colour, linewidth=2)
    axes.plot([found.mean], [y], "o", color=colour, markersize=6)
    for end, mark in ((found.low, "<"), (found.high, ">")):
        if not np.isfinite(end):
            axes.plot([found.mean], [y], mark, color=colour, markersize=9)


def _bounds(axes: Axes, part: Judged) -> None:
    """Grey where the claim does not hold."""
    low, high = axes.get_xlim()
    for bound in (part.part.low, part.part.high):
        if np.isfinite(bound):
            low, high = (
                min(low, bound - 0.05 * (high - low)),
                max(high, bound + 0.05 * (high - low)),
            )
    axes.set_xlim(low, high)
    if np.isfinite(part.part.low):
        axes.axvspan(low, part.part.low, color="#8883", linewidth=0)
    if np.isfinite(part.part.high):
        axes.axvspan(part.part.high, high, color="#8883", linewidth=0)
    axes.set_xlabel(
        f"{part.name} {f'({part.part.quantity.unit})' if part.part.quantity.unit else ''}"
    )
