"""Figures. Headless: they are drawn to files, never to a screen."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.lines import Line2D
from polars.dataframe.group_by import GroupBy

from ackclock import metrics, style
from ackclock.links import capacity_bits
from ackclock.runs import Result
from ackclock.stats import Estimate

#: Lines of several queues.
QUEUE_LINES = ("-", "--", ":", "-.")
#: Column of `queues`, colour and label of what an AQM tells the senders.
SIGNALS = (
    ("marked_packets", "#E69F00", "marks"),
    ("early_dropped_packets", "#D55E00", "early drops"),
)
#: Width of an entry of a legend: that of its key with the gaps, and of a letter, inches.
LEGEND_KEY, LEGEND_LETTER = 0.6, 0.072
#: Formats of a figure, and how each is told to have no date in it.
ENDINGS: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
#: Flows that a legend names.
MOST_LABELS = 8


def cwnd(axes: Axes, result: Result) -> None:
    """Congestion window of each flow over time, in packets."""
    by_flow = metrics.until_completed(result, result.samples).partition_by("flow", as_dict=True)
    for flow, colour, label in _flows(result):
        samples = by_flow.get((flow,), result.samples.clear())
        axes.plot(
            samples["time_us"] / 1e6, samples["cwnd_packets"], color=colour, label=label, zorder=2
        )
    axes.set_ylabel("cwnd (packets)")
    _over_time(axes, result)


def throughput(axes: Axes, result: Result, window_s: float | None = None) -> None:
    """Throughput of each flow in windows (default: 100 of them), in Mb/s.

    Dashed: what a link can carry whose rate changes.
    """
    end_s = metrics.duration_s(result)
    edges_s = np.arange(0, end_s * (1 + 1e-9), window_s or end_s / 100)
    rates = metrics.throughput_bps(result, edges_s) / 1e6
    for (_, colour, label), rate in zip(_flows(result), rates, strict=True):
        axes.stairs(rate, edges_s, color=colour, label=label, baseline=None)
    _rates(axes, result, edges_s)
    axes.set_ylabel("throughput (Mb/s)")
    _over_time(axes, result)


def _rates(axes: Axes, result: Result, edges_s: np.ndarray) -> None:
    """The payload that each link can carry, if its rate changes, in Mb/s."""
    resolved = result.resolved
    payload = resolved["mss_bytes"] / (resolved["mss_bytes"] + resolved["header_bytes"])
    for index, link in enumerate([resolved["bottleneck"], *resolved.get("links", ())]):
        if link.keys() & {"rate_at", "trace_ms"}:
            windows = pairwise(edges_s)
            bits = np.array([capacity_bits(link, *window) for window in windows])
            look = QUEUE_LINES[(index + 1) % len(QUEUE_LINES)]
            rates = axes.stairs(payload * bits / np.diff(edges_s) / 1e6, edges_s, baseline=None)
            rates.set(color=style.INK, linewidth=0.8, linestyle=look, zorder=1)


def queue(axes: Axes, result: Result) -> None:
    """Packets in each queue over time; at the top, when AQM marked or dropped packets."""
    for index, ((number,), queue) in enumerate(_queues(result)):
        (line,) = axes.plot(queue["time_us"] / 1e6, queue["queue_packets"], color=style.INK)
        look = QUEUE_LINES[index % len(QUEUE_LINES)]
        line.set(linewidth=0.8, alpha=1 / (1 + index), linestyle=look, label=f"queue {number}")
    signals(axes, result)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=6, fontsize="x-small")
    axes.set_ylabel("queue (packets)")
    _over_time(axes, result)


def signals(axes: Axes, result: Result) -> None:
    """Short lines at the top: sample intervals in which AQM marked or dropped packets."""
    for column, colour, label in SIGNALS:
        rose = pl.col(column).diff(1).over("queue").fill_null(0) > 0
        at_s = result.queues.filter(rose)["time_us"].unique().to_numpy() / 1e6
        if len(at_s):
            lines = axes.vlines(at_s, 0.95, 1, transform=axes.get_xaxis_transform())
            lines.set(color=colour, linewidth=0.8, label=label, zorder=3)


def _queues(result: Result) -> GroupBy:
    return result.queues.group_by("queue", maintain_order=True)


def estimates(
    axes: Axes, x: Sequence[float], points: Sequence[Estimate | None], **look: Any
) -> None:
    """Means over x in one colour, with the band of their intervals where these are finite.

    A mean of runs that were cut off is no data: it is an open mark, and the line leaves it out.
    `look` is what `Axes.plot` takes.
    """
    known = [math.nan if point is None or point.censored else point.mean for point in points]
    (line,) = axes.plot(x, known, **look)
    ends = [[math.nan] * 2 if point is None else [point.low, point.high] for point in points]
    low, high = np.where(np.isfinite(ends), ends, np.nan).T
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    for at, point in zip(x, points, strict=True):
        if point is not None and point.censored:
            mark = "^" if math.isinf(point.high) else "v"
            axes.plot([at], [point.mean], mark, color=line.get_color(), fillstyle="none")


def error_bars(
    axes: Axes,
    at: Sequence[float],
    points: Sequence[Estimate | None],
    *,
    across: bool = False,
    **look: Any,
) -> None:
    """Means with their intervals where these are finite, upright over `at` or `across` beside it.

    `look` is what `Axes.errorbar` takes.
    """
    means = np.array([math.nan if point is None else point.mean for point in points])
    ends = np.array(
        [[math.nan] * 2 if point is None else [point.low, point.high] for point in points]
    )
    bars = np.where(np.isfinite(ends), np.abs(ends - means[:, None]), 0).T
    look |= {"markersize": 5, "capsize": 2}
    if across:
        axes.errorbar(means, at, xerr=bars, **look)
    else:
        axes.errorbar(at, means, yerr=bars, **look)


class Picture(Figure):
    """A figure that a notebook shows."""

    def _repr_html_(self) -> str:
        return inline_svg(self)


def rtt(axes: Axes, result: Result) -> None:
    """Smoothed RTT of each flow over time, in ms."""
    by_flow = metrics.until_completed(result, result.samples).partition_by("flow", as_dict=True)
    for flow, colour, label in _flows(result):
        samples = by_flow.get((flow,), result.samples.clear()).filter(pl.col("srtt_us") > 0)
        axes.plot(samples["time_us"] / 1e6, samples["srtt_us"] / 1e3, color=colour, label=label)
    axes.set_ylabel("smoothed RTT (ms)")
    _over_time(axes, result)


#: What `overview` can draw, over time.
PANELS = {"cwnd": cwnd, "throughput": throughput, "queue": queue, "rtt": rtt}


def title(result: Result) -> str:
    """What ran, in a line: "100mbit, buffer 1bdp, RTT 40ms, seed 1"."""
    scenario = result.scenario
    link = scenario.bottleneck
    rates = [link.rate or Path(link.trace or "").name, f"buffer {link.buffer}"]
    rtts = dict.fromkeys(flow.rtt or scenario.rtt or "" for flow in scenario.flows)
    said = [f"{len(rtts)} RTTs"] if len(rtts) > 3 else [f"RTT {' and '.join(rtts)}"] * bool(rtts)
    return ", ".join([*rates, *said, f"seed {scenario.seed}"])


def overview(result: Result, panels: Sequence[str] = ("cwnd", "throughput", "queue")) -> Picture:
    """A run on one page: these of `PANELS`."""
    with style.applied():
        figure = Picture(figsize=(8, 1 + 2 * len(panels)))
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, name in zip(grid, panels, strict=True):
            PANELS[name](axes, result)
        grid[0].set_title(title(result), fontsize="small")
        lines = [Line2D([], [], color=colour) for _, colour, _ in _flows(result)]
        labels = [label for *_, label in _flows(result)]
        more = [f"… {len(labels) - MOST_LABELS} more"] if len(labels) > MOST_LABELS else []
        figure.legend(
            [*lines[:MOST_LABELS], *(Line2D([], [], linestyle="") for _ in more)],
            [*labels[:MOST_LABELS], *more],
            loc="outside upper left",
            ncols=4,
        )
        grid[-1].set_xlabel("time (s)")
    return figure


def legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """One legend above all panels, in as many columns as there is room for, but four at most."""
    widest = LEGEND_KEY + LEGEND_LETTER * max(map(len, labels), default=0)
    columns = max(1, min(4, int(figure.get_figwidth() / widest)))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns)


@contextmanager
def _placed(figure: Figure, engine: LayoutEngine | None) -> Iterator[None]:
    """Our look, and this layout engine; None: all parts stay where they are.

    matplotlib takes None for what its settings say, also when it has saved a figure. With "none" it
    would draw everything twice.
    """
    with style.applied(), mpl.rc_context({"figure.constrained_layout.use": engine is not None}):
        if engine is None:
            figure.set_layout_engine(None)
        yield


def write(
    figure: Figure, directory: Path, name: str, *, pdf: bool = True, only: str | None = None
) -> list[Path]:
    """Writes `name`.png, .svg and .pdf (which takes 10 MB of memory); returns their paths.

    `only`: the one of `ENDINGS` to write. The figure is laid out once for all, and stays so.
    """
    wanted = [only] if only else [each for each in ENDINGS if pdf or each != ".pdf"]
    undated = {each: ENDINGS[each] for each in wanted}
    paths = {directory / f"{name}{suffix}": metadata for suffix, metadata in undated.items()}
    with style.applied():
        figure.draw_without_rendering()
    with _placed(figure, None):
        for path, metadata in paths.items():
            figure.savefig(path, dpi=150, metadata=metadata)
    return list(paths)


def inline_svg(figure: Figure) -> str:
    """The figure as an SVG element that takes on the text colour of the page around it."""
    out = io.StringIO()
    with _placed(figure, figure.get_layout_engine()):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :].replace(style.INK, "currentColor")


def _flows(result: Result) -> list[tuple[int, str, str]]:
    """Number, colour and label of each flow: coloured by algorithm where each has its own."""
    specs = [flow["algorithm"] for flow in result.resolved["flows"]]
    names = [result.manifest["algorithms"][spec]["name"] for spec in specs]
    colours = [style.of(name).colour for name in names]
    if not len(set(colours)) == len(colours) > 1:
        colours = [style.FLOWS[index % len(style.FLOWS)] for index in range(len(specs))]
    labels = [_label(spec, name, specs, names) for spec, name in zip(specs, names, strict=True)]
    ways = ["" if way == "forward" else f", {way}" for way in result.flows["direction"]]
    return [
        (number, colour, f"flow {number}, {label}{way}")
        for number, (colour, label, way) in enumerate(zip(colours, labels, ways, strict=True), 1)
    ]


def _label(spec: str, name: str, specs: list[str], names: list[str]) -> str:
    """An algorithm's name, with preset and settings where the run has it with others too."""
    if not re.match(rf"{name}(@|:|$)", spec):
        return Path(spec).name  # a user's own file
    alike = {each for each, of in zip(specs, names, strict=True) if of == name}
    return style.of(name).label + (spec[len(name) :] if len(alike) > 1 else "")


def _over_time(axes: Axes, result: Result) -> None:
    axes.set_xlim(0, metrics.duration_s(result))
    axes.set_ylim(bottom=0)
